/* SPDX-License-Identifier: MIT */
/*
 * publish.c - see publish.h.
 */
#include "publish.h"

void publish_root(struct maple_tree *mt, void *root, unsigned int height)
{
	unsigned int flags = mt->ma_flags & ~MT_FLAGS_HEIGHT_MASK;

	assert(height <= MAPLE_HEIGHT_MAX && (height > 0) == root_is_node(root));
	flags |= height << MT_FLAGS_HEIGHT_OFFSET;
	__atomic_store_n(&mt->ma_root, root, __ATOMIC_RELEASE);
	if (flags != mt->ma_flags)
		__atomic_store_n(&mt->ma_flags, flags, __ATOMIC_RELAXED);
	finger_forget(mt);
}

void publish_new_height(struct maple_tree *mt, struct maple_enode *enode, unsigned int height)
{
	struct mt_finger *finger = &mt->ma_finger;

	publish_root(mt, enode, height);
	finger->height = height;
	finger->min = 0;
	finger->max = ULONG_MAX;
}

void publish_node(struct maple_tree *mt, const struct mt_finger *way, unsigned int level,
		  struct maple_enode *enode)
{
	unsigned long above;

	if (level + 1 == way->height) {
		__atomic_store_n(&mt->ma_root, enode, __ATOMIC_RELEASE);
		return;
	}
	above = way->step[level + 1];
	slot_publish(step_node(above), inner_kind(mt), step_offset(above), enode);
}
