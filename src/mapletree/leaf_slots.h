/* SPDX-License-Identifier: MIT */
/*
 * leaf_slots.h - slots of leaves that nobody is reading, moved and copied two at a time.
 *
 * As few slots are concerned as a call of memmove() costs; their number is not known beforehand.
 */
#ifndef MT_LEAF_SLOTS_H
#define MT_LEAF_SLOTS_H

#include "node.h"

/* Two words, loaded and stored at once; they need not be aligned as such. */
typedef unsigned long two_words
	__attribute__((vector_size(2 * sizeof(long)), aligned(sizeof(long)), may_alias));

static ALWAYS_INLINE void copy_two(void *to, const void *from)
{
	*(two_words *)to = *(const two_words *)from;
}

/* slots_up - move the slots @at .. @end, and the pivots of all but the last, @by slots up. */
static ALWAYS_INLINE void slots_up(struct mt_node *leaf, size_t at, size_t end, size_t by)
{
	void **slot = leaf->wide.slot;
	size_t i = end;

	slot[i + by] = slot[i];
	for (; i >= at + 2; i -= 2) {
		copy_two(&slot[i - 2 + by], &slot[i - 2]);
		copy_two(&leaf->pivot[i - 2 + by], &leaf->pivot[i - 2]);
	}
	if (i > at) {
		slot[at + by] = slot[at];
		leaf->pivot[at + by] = leaf->pivot[at];
	}
}

/*
 * slots_copy - copy @count > 0 slots of @from, beginning with @first, and the pivots of all but the
 * last, to those from @at on of @to, which may be the same leaf if @at < @first.
 */
static ALWAYS_INLINE void slots_copy(struct mt_node *to, size_t at, const struct mt_node *from,
				     size_t first, size_t count)
{
	size_t i;

	for (i = 0; i + 2 < count; i += 2) {
		copy_two(&to->wide.slot[at + i], &from->wide.slot[first + i]);
		copy_two(&to->pivot[at + i], &from->pivot[first + i]);
	}
	if (i + 1 < count) {
		to->wide.slot[at + i] = from->wide.slot[first + i];
		to->pivot[at + i] = from->pivot[first + i];
	}
	to->wide.slot[at + count - 1] = from->wide.slot[first + count - 1];
}

/* slots_pad - make the slots behind @end, up to @old_end, as those behind a leaf's last one are. */
static ALWAYS_INLINE void slots_pad(struct mt_node *leaf, size_t end, size_t old_end)
{
	const two_words none = { 0, 0 }, most = { ULONG_MAX, ULONG_MAX };
	size_t i = end;

	for (; i + 2 <= old_end; i += 2) {
		*(two_words *)&leaf->wide.slot[i + 1] = none;
		*(two_words *)&leaf->pivot[i] = most;
	}
	if (i < old_end) {
		leaf->wide.slot[i + 1] = NULL;
		leaf->pivot[i] = ULONG_MAX;
	}
}

/* slots_cut_off - make slot @end the last one of @leaf, of which those up to @old_end were in use. */
static inline void slots_cut_off(struct mt_node *leaf, unsigned int end, unsigned int old_end)
{
	slots_pad(leaf, end, old_end);
	node_set_end(leaf, KIND_LEAF, end);
}

#endif
