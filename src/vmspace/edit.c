/* SPDX-License-Identifier: MIT */
/* edit.c - splits, merges, inserts and removes areas; tree, areas and counters stay in step. */
#include <errno.h>
#include <stdlib.h>

#include "edit.h"
#include "find.h"
#include "host.h"
#include "merge.h"

static uint64_t pages_between(const struct vmspace *space, unsigned long from, unsigned long to)
{
	return (to - from) / space->config.page_size;
}

int edit_split_unchecked(struct vmspace *space, struct vma *vma, unsigned long at)
{
	struct space_store store;
	struct vma *upper = vma_new(vma);

	if (!upper)
		return (int)space_no_memory(space);
	upper->start = at;
	upper->pgoff += pages_between(space, vma->start, at);
	if (space_reserve(space, &store, at, vma->end, upper)) {
		vma_free(upper);
		return (int)space_no_memory(space);
	}
	space_commit(&store);
	space_event(space, VMSPACE_EVENT_SPLIT, vma->start, vma->end, at);
	vma->end = at;
	space_count_area(space, upper, 1);
	return 0;
}

int edit_split(struct vmspace *space, struct vma *vma, unsigned long at)
{
	if (space->areas >= space->config.max_map_count)
		return (int)space_fail(space, -ENOMEM, "max_map_count areas: no room for a split");
	return edit_split_unchecked(space, vma, at);
}

struct edit_want edit_same(const struct vma *vma)
{
	return (struct edit_want){ .flags = vma->flags, .name = vma->name, .pkey = vma->pkey };
}

/* Which neighbours take part in a merge, and what came of asking. */
struct join {
	struct vma *left, *right; /* NULL: not merged with */
};

static void report(struct vmspace *space, const struct vma *left, const struct vma *right,
		   enum vma_verdict verdict, vma_flags_t differ)
{
	if (verdict != VMA_MERGED && verdict != VMA_MERGE_NONE)
		space_merge_event(space, verdict, left->start, right->end, right->start, differ);
}

/* May `middle` (not in the tree in this form) merge to its left, its right, or both? */
static struct join decide(struct vmspace *space, const struct vma *middle, struct vma *left,
			  struct vma *right)
{
	unsigned long page = space->config.page_size;
	struct join join = { NULL, NULL };
	enum vma_verdict verdict;
	vma_flags_t differ;

	if (left) {
		verdict = merge_verdict(left, middle, page, &differ);
		report(space, left, middle, verdict, differ);
		if (verdict == VMA_MERGED)
			join.left = left;
	}
	if (right) {
		verdict = merge_verdict(middle, right, page, &differ);
		if (verdict == VMA_MERGED && join.left) {
			verdict = merge_anon_verdict(left, right);
			if (verdict == VMA_MERGED && backing_has_close(right->backing))
				verdict = VMA_SPECIAL;
		}
		report(space, middle, right, verdict, differ);
		if (verdict == VMA_MERGED)
			join.right = right;
	}
	return join;
}

/* The area that stays takes over the anon_vma, and what else is kept, of one that goes. */
static void adopt(struct vma *keep, const struct vma *gone)
{
	keep->flags |= gone->flags & VMA_STICKY_FLAGS;
	keep->may_have_anon |= gone->may_have_anon;
	if (keep->anon_id || !gone->anon_id)
		return;
	keep->anon_id = gone->anon_id;
	keep->anon_shared = gone->anon_shared;
}

static void drop(struct vmspace *space, struct vma *vma)
{
	space_count_area(space, vma, -1);
	vma_free(vma);
}

/* The neighbour `keep` of the join covers [start, end) from now on. */
static int take_over(struct vmspace *space, struct vma *keep, unsigned long start,
		     unsigned long end)
{
	struct space_store store;

	if (space_reserve(space, &store, start, end, keep))
		return (int)space_no_memory(space);
	space_commit(&store);
	keep->pgoff -= pages_between(space, start, keep->start);
	keep->start = start;
	keep->end = end;
	return 0;
}

/* Merge [middle->start, middle->end), which may be (part of) the area `old`, as `join` says. */
static int merge(struct vmspace *space, const struct join *join, const struct vma *middle,
		 struct vma *old)
{
	struct vma *keep = join->left ? join->left : join->right;
	unsigned long start = join->left ? join->left->start : middle->start;
	unsigned long end = join->right ? join->right->end : middle->end;
	int err = take_over(space, keep, start, end);

	if (err)
		return err;
	adopt(keep, middle);
	if (join->left)
		space_merge_event(space, VMA_MERGED, start, end, middle->start, 0);
	if (join->right)
		space_merge_event(space, VMA_MERGED, start, end, middle->end, 0);
	if (join->left && join->right) {
		adopt(keep, join->right);
		drop(space, join->right);
	}
	if (!old)
		return 0;
	if (old->start == middle->start && old->end == middle->end) {
		drop(space, old);
	} else if (old->start == middle->start) {
		old->pgoff += pages_between(space, old->start, middle->end);
		old->start = middle->end;
	} else {
		old->end = middle->start;
	}
	return 0;
}

static void apply(struct vmspace *space, struct vma *vma, const struct edit_want *want)
{
	struct anon_name *old = vma->name;

	if ((vma->flags ^ want->flags) & VMA_GROWSDOWN)
		space->grow_areas += want->flags & VMA_GROWSDOWN ? 1UL : -1UL;
	vma->flags = want->flags;
	vma->pkey = want->pkey;
	vma->name = anon_name_get(want->name);
	anon_name_put(old);
	if (vma->flags & VMA_WRITE)
		vma->may_have_anon = true;
}

static int cut_out(struct vmspace *space, struct vma **vma, unsigned long start, unsigned long end)
{
	int err;

	if (start > (*vma)->start) {
		err = edit_split(space, *vma, start);
		if (err)
			return err;
		*vma = find_at(space, start);
	}
	return end < (*vma)->end ? edit_split(space, *vma, end) : 0;
}

int edit_change(struct vmspace *space, struct vma *vma, unsigned long start, unsigned long end,
		const struct edit_want *want)
{
	struct vma middle = *vma;
	bool whole = start == vma->start && end == vma->end;
	struct join join = { NULL, NULL };
	vma_flags_t old_flags = vma->flags;
	int err;

	host_learn(space, start, end);
	middle = *vma;
	middle.start = start;
	middle.end = end;
	middle.pgoff += pages_between(space, vma->start, start);
	middle.flags = want->flags;
	middle.name = want->name;
	middle.pkey = want->pkey;
	if (middle.flags & VMA_WRITE)
		middle.may_have_anon = true;
	if (!whole || !backing_has_close(vma->backing))
		join = decide(space, &middle, start == vma->start ? find_left(space, vma) : NULL,
			      end == vma->end ? find_right(space, vma) : NULL);
	if (join.left || join.right) {
		err = merge(space, &join, &middle, vma);
	} else {
		err = cut_out(space, &vma, start, end);
		if (!err) {
			apply(space, vma, want);
			space_event(space, VMSPACE_EVENT_CHANGE, start, end, 0);
		}
	}
	if (err)
		return err;
	space_account(space, old_flags, space_pages(space, end - start), -1);
	space_account(space, want->flags, space_pages(space, end - start), 1);
	return 0;
}

int edit_insert(struct vmspace *space, const struct vma *proto, bool may_merge, struct vma **out)
{
	struct join join = { NULL, NULL };
	struct space_store store;
	struct vma *vma;
	int err;

	if (may_merge) {
		host_learn(space, proto->start, proto->end);
		join = decide(space, proto, find_left(space, proto), find_right(space, proto));
	}
	if (join.left || join.right) {
		vma = join.left ? join.left : join.right;
		err = merge(space, &join, proto, NULL);
		if (err)
			return err;
	} else {
		vma = vma_new(proto);
		if (!vma || space_reserve(space, &store, vma->start, vma->end, vma)) {
			if (vma)
				vma_free(vma);
			return (int)space_no_memory(space);
		}
		space_commit(&store);
		space_count_area(space, vma, 1);
	}
	space_account(space, proto->flags, space_pages(space, proto->end - proto->start), 1);
	space_event(space, VMSPACE_EVENT_MAP, proto->start, proto->end, 0);
	if (out)
		*out = vma;
	return 0;
}

int edit_remove(struct vmspace *space, unsigned long start, unsigned long end)
{
	struct vma *vma = find_first(space, start);
	struct space_store store;

	if (!vma || vma->start >= end)
		return 0;
	if (vma->start < start) {
		if (edit_split_unchecked(space, vma, start))
			return -ENOMEM;
	}
	vma = find_at(space, end - 1);
	if (vma && vma->end > end && edit_split_unchecked(space, vma, end))
		return -ENOMEM;
	vma = find_first(space, start);
	if (space_reserve(space, &store, start, end, NULL))
		return (int)space_no_memory(space);
	for (; vma && vma->start < end; vma = find_first(space, start)) {
		start = vma->end;
		space_account(space, vma->flags, space_pages(space, vma->end - vma->start), -1);
		space_event(space, VMSPACE_EVENT_UNMAP, vma->start, vma->end, 0);
		drop(space, vma);
	}
	space_commit(&store);
	return 0;
}

int edit_grow_up(struct vmspace *space, struct vma *vma, unsigned long end, bool merge_right)
{
	struct vma middle = *vma, *right = merge_right ? find_at(space, end) : NULL;
	struct join join = { vma, NULL };
	unsigned long old_end = vma->end;
	vma_flags_t flags = vma->flags, differ;
	int err;

	middle.start = old_end;
	middle.end = end;
	middle.pgoff += pages_between(space, vma->start, old_end);
	if (right) {
		enum vma_verdict verdict;

		host_learn(space, vma->start, end);
		middle.anon_id = vma->anon_id;
		middle.anon_shared = vma->anon_shared;
		verdict = merge_verdict(&middle, right, space->config.page_size, &differ);
		report(space, &middle, right, verdict, differ);
		if (verdict == VMA_MERGED)
			join.right = right;
	}
	if (join.right) {
		err = merge(space, &join, &middle, NULL);
	} else {
		err = take_over(space, vma, vma->start, end);
		if (!err)
			space_event(space, VMSPACE_EVENT_GROW, vma->start, end, old_end);
	}
	if (!err)
		space_account(space, flags, space_pages(space, end - old_end), 1);
	return err;
}

int edit_grow_down(struct vmspace *space, struct vma *vma, unsigned long start)
{
	unsigned long old = vma->start;
	int err = take_over(space, vma, start, vma->end);

	if (err)
		return err;
	space_account(space, vma->flags, space_pages(space, old - start), 1);
	space_event(space, VMSPACE_EVENT_GROW, start, vma->end, old);
	return 0;
}

long edit_each(struct vmspace *space, unsigned long start, unsigned long end,
	       long (*part)(struct vmspace *space, struct vma *vma, unsigned long start,
			    unsigned long end, void *arg),
	       void *arg)
{
	long hole = 0;

	while (start < end) {
		struct vma *vma = find_first(space, start);
		unsigned long stop;
		long err;

		if (!vma || vma->start >= end)
			return -ENOMEM;
		if (vma->start > start) {
			hole = -ENOMEM;
			start = vma->start;
		}
		stop = vma->end < end ? vma->end : end;
		err = part(space, vma, start, stop, arg);
		if (err)
			return err;
		start = stop;
	}
	return hole;
}
