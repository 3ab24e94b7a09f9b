/* SPDX-License-Identifier: MIT */
/* rewrite.c - see rewrite.h. */
#include "rewrite.h"

#include "dead.h"
#include "gap.h"
#include "publish.h"
#include "retire.h"
#include "trace.h"

/*
 * Appends the slot that ends at @last. False: the leaf would be too full, or have two gaps side by
 * side, since what becomes of the second one reaches into the next leaf.
 */
static ALWAYS_INLINE bool push(struct mt_content *content, unsigned long last, void *entry)
{
	unsigned int count = content->count;

	if (count == WIDE_SLOTS || (!entry && count && !content->slot[count - 1]))
		return false;
	content->pivot[count] = last;
	content->slot[count] = entry;
	content->count = count + 1;
	return true;
}

/* Where slot @i of a leaf that covers indexes up to @max ends. */
static inline unsigned long end_of(const struct mt_node *leaf, unsigned int i, unsigned long max)
{
	return i < WIDE_PIVOTS && leaf->pivot[i] < max ? leaf->pivot[i] : max;
}

/*
 * Whether a leaf with @count slots, which had @before, is neither joined with another nor needless.
 */
static bool remains(const struct maple_tree *mt, unsigned int count, unsigned int before)
{
	const struct mt_finger *finger = &mt->ma_finger;

	if (finger->height == 1)
		return count > 2; /* as few may need no node */
	return count >= before || count >= leaf_min_slots(finger->height) ||
	       node_end(step_node(finger->step[1]), inner_kind(mt)) == 0;
}

bool rewrite_plan(struct mt_content *content, const struct maple_tree *mt, unsigned long step,
		  struct mt_range_at *at)
{
	const struct mt_finger *finger = &mt->ma_finger;
	struct mt_node *leaf = step_node(step);
	unsigned int end = node_end(leaf, KIND_LEAF), i = step_offset(step), count;
	unsigned long from = slot_first(leaf, i, finger->min); /* what is below is in the content */
	struct mt_range *range;
	bool fits = true;

	content->count = 0;
	add_first(content, leaf, KIND_LEAF, i, i ? from - 1 : 0);
	for (; (range = range_list_look(at)) != NULL && range->last <= finger->max;
	     range_list_next(at)) {
		assert(range->first >= from && i <= end);
		for (; end_of(leaf, i, finger->max) < range->first; i++) {
			from = leaf->pivot[i] + 1;
			fits &= push(content, leaf->pivot[i], leaf->wide.slot[i]);
		}
		if (from < range->first)
			fits &= push(content, range->first - 1, leaf->wide.slot[i]);
		fits &= push(content, range->last, range->entry);
		while (i <= end && end_of(leaf, i, finger->max) <= range->last)
			i++;
		from = range->last + 1;
	}
	count = content->count + end + 1 - i;
	if (!fits || count > WIDE_SLOTS || !remains(mt, count, end + 1))
		return false;
	if (i <= end && !leaf->wide.slot[i] && !content->slot[content->count - 1])
		return false;
	add_rest(content, leaf, KIND_LEAF, i, finger->max);
	return true;
}

unsigned int rewrite_blocks(const struct maple_tree *mt, unsigned int leaves)
{
	return mt_in_rcu(mt) && leaves ? leaves + retire_batches_needed(mt, leaves) : 0;
}

void rewrite_leaf(struct maple_tree *mt, const struct mt_content *content,
		  struct pool_list *reserve)
{
	struct mt_finger *finger = &mt->ma_finger;
	struct mt_node *old = step_node(finger->step[0]), *leaf = old;
	unsigned long was, now;

	TRACE_OP(mt, finger->min, finger->max, TRACE_REWRITE);
	tree_changes(mt);
	if (mt_in_rcu(mt))
		leaf = pool_take(reserve);
	content_fill(leaf, KIND_LEAF, content, 0, content->count);
	finger->step[0] = step_make(leaf, 0);
	if (leaf != old) {
		dead_mark(old);
		publish_node(mt, finger, 0, enode_make(leaf, KIND_LEAF));
		retire_node(mt, old, reserve);
	}
	if (!tree_tracks_gaps(mt) || finger->height == 1)
		return;
	was = gap_load(step_node(finger->step[1]), step_offset(finger->step[1]));
	now = gap_widest(leaf, KIND_LEAF, finger->min, finger->max);
	if (now != was)
		gap_tell(finger, 0, was, now);
}
