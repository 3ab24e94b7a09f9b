/* SPDX-License-Identifier: MIT */
/* edit.c - splits, merges, inserts and removes areas; tree, areas and counters stay in step. */
#include <assert.h>
#include <errno.h>

#include "edit.h"
#include "merge.h"
#include "pages.h"
#include "sync.h"

static uint64_t pages_between(const struct vmspace *space, unsigned long from, unsigned long to)
{
	return space_pages(space, to - from);
}

int edit_split_unchecked(struct vmspace *space, struct vma *vma, unsigned long at)
{
	struct vma *upper = vma_new(&space->vmas, vma);

	if (!upper)
		return (int)space_no_memory(space);
	sync_write_lock(space, vma);
	upper->start = at;
	upper->pgoff += pages_between(space, vma->start, at);
	if (space_store(space, at, vma->end, upper)) {
		vma_free(&space->vmas, upper);
		return -ENOMEM;
	}
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

void edit_span_init(struct edit_span *span, struct vmspace *space, unsigned long start,
		    unsigned long end)
{
	assert(start < end);
	span->space = space;
	span->vma = NULL;
	span->from = span->to = start;
	span->hole = false;
	span->end = end;
	span->changes = ~(vma_flags_t)0;
	mas_init(&span->mas, &space->tree, start);
}

bool edit_next(struct edit_span *span)
{
	unsigned long behind = span->to;
	struct vma *vma = span->to < span->end ? mas_find(&span->mas, span->end - 1) : NULL;

	span->vma = vma;
	if (!vma) {
		span->hole = behind < span->end;
		return false;
	}
	span->from = vma->start > behind ? vma->start : behind;
	span->to = vma->end < span->end ? vma->end : span->end;
	span->hole = span->from > behind;
	return true;
}

struct edit_want edit_same(const struct vma *vma)
{
	return (struct edit_want){ .flags = vma->flags, .name = vma->name, .pkey = vma->pkey,
				   .policy = vma->policy,
				   .uffd = { vma->uffd, vma->uffd_moves, vma->uffd_forks } };
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
	assert(sync_write_locked(space, vma));
	space_count_area(space, vma, -1);
	vma_free(&space->vmas, vma);
}

/* `keep`, which is write-locked, covers [start, end) from now on. */
static int take_over(struct vmspace *space, struct vma *keep, unsigned long start,
		     unsigned long end)
{
	if (space_store(space, start, end, keep))
		return -ENOMEM;
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
	int err;

	sync_write_lock(space, keep);
	if (join->left && join->right)
		sync_write_lock(space, join->right);
	if (old)
		sync_write_lock(space, old);
	err = take_over(space, keep, start, end);
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

static void set_uffd(struct vma *vma, const struct vma_uffd *uffd)
{
	vma->uffd = uffd->context & VMSPACE_UFFD_CONTEXT_MAX;
	vma->uffd_moves = uffd->moves;
	vma->uffd_forks = uffd->forks;
}

static void apply(struct vmspace *space, struct vma *vma, const struct edit_want *want)
{
	struct anon_name *old = vma->name;
	struct policy *old_policy = vma->policy;

	sync_write_lock(space, vma);
	if ((vma->flags ^ want->flags) & VMA_GROWSDOWN)
		space->grow_areas += want->flags & VMA_GROWSDOWN ? 1UL : -1UL;
	vma->flags = want->flags;
	vma->pkey = want->pkey & VMA_PKEY_MAX;
	set_uffd(vma, &want->uffd);
	vma->name = anon_name_get(want->name);
	anon_name_put(old);
	vma->policy = policy_get(want->policy);
	policy_put(old_policy);
	if (vma_takes_anon(vma->flags))
		vma->may_have_anon = true;
}

/* The areas that touch the span's one. */
static struct vma *left_of(const struct edit_span *span)
{
	struct ma_state mas = span->mas;

	return mas_prev_range(&mas, 0);
}

static struct vma *right_of(const struct edit_span *span)
{
	struct ma_state mas = span->mas;

	return mas_next_range(&mas, ULONG_MAX);
}

/*
 * `what` (NULL: nothing) takes the place of [start, end) in the middle of vma, whose upper rest
 * becomes an area of its own.
 */
static int replace_middle(struct vmspace *space, struct vma *vma, unsigned long start,
			  unsigned long end, struct vma *what)
{
	struct vma *upper = vma_new(&space->vmas, vma);
	int err;

	if (!upper)
		return (int)space_no_memory(space);
	sync_write_lock(space, vma);
	upper->start = end;
	upper->pgoff += pages_between(space, vma->start, end);
	if (space_store(space, start, end, what)) {
		vma_free(&space->vmas, upper);
		return -ENOMEM;
	}
	err = space_store(space, end, vma->end, upper);
	assert(!err); /* the rest of vma stood there, at exactly this range */
	(void)err;
	space_event(space, VMSPACE_EVENT_SPLIT, vma->start, vma->end, start);
	space_event(space, VMSPACE_EVENT_SPLIT, start, vma->end, end);
	vma->end = start;
	space_count_area(space, upper, 1);
	return 0;
}

static int cut_middle(const struct edit_span *span, struct vma **vma)
{
	struct vma *middle = vma_new(&span->space->vmas, *vma);

	if (!middle)
		return (int)space_no_memory(span->space);
	middle->start = span->from;
	middle->end = span->to;
	middle->pgoff += pages_between(span->space, (*vma)->start, span->from);
	if (replace_middle(span->space, *vma, span->from, span->to, middle)) {
		vma_free(&span->space->vmas, middle);
		return -ENOMEM;
	}
	space_count_area(span->space, middle, 1);
	*vma = middle;
	return 0;
}

/*
 * Cut the part out of its area. *vma becomes the area that it is then. Where max_map_count allows
 * one cut and not the other, the one stays, as in Linux.
 */
static int cut_out(const struct edit_span *span, struct vma **vma)
{
	struct vmspace *space = span->space;
	bool low = span->from > (*vma)->start, high = span->to < (*vma)->end;
	int err;

	if (low && high && space->areas + 1 < space->config.max_map_count)
		return cut_middle(span, vma);
	if (low) {
		err = edit_split(space, *vma, span->from);
		if (err)
			return err;
		*vma = find_at(space, span->from);
	}
	return high ? edit_split(space, *vma, span->to) : 0;
}

static int change_alone(struct edit_span *span, const struct edit_want *want)
{
	struct vma *vma = span->vma;
	int err = cut_out(span, &vma);

	if (err)
		return err;
	apply(span->space, vma, want);
	space_event(span->space, VMSPACE_EVENT_CHANGE, span->from, span->to, 0);
	return 0;
}

void edit_count(struct vmspace *space, unsigned long start, unsigned long end,
		vma_flags_t changes, unsigned long *stores, unsigned long *areas)
{
	unsigned long from = start ? start - 1 : 0;
	MA_STATE(mas, &space->tree, from, from);
	const struct vma *left = mas_find(&mas, end), *right;

	/* A cut at either end; and wherever two may become one. */
	*stores += 2;
	*areas += 2;
	for (; left && (right = mas_find(&mas, end)); left = right)
		*stores += merge_conceivable(left, right, space->config.page_size, changes);
}

static __attribute__((noinline)) int reserve_span(const struct edit_span *span)
{
	struct vmspace *space = span->space;
	unsigned long stores = 0, areas = 0;

	edit_count(space, span->from, span->end, span->changes, &stores, &areas);
	space->whole = true;
	return space_reserve(space, stores, areas);
}

int edit_change(struct edit_span *span, const struct edit_want *want)
{
	struct vmspace *space = span->space;
	struct vma *vma = span->vma, middle;
	bool first = span->from == vma->start, last = span->to == vma->end;
	unsigned long pages = pages_between(space, span->from, span->to);
	vma_flags_t old_flags = vma->flags;
	struct join join = { NULL, NULL };
	int err;

	if (span->to < span->end && !space->whole && reserve_span(span))
		return -ENOMEM;
	vma_fill(&middle, vma);
	middle.start = span->from;
	middle.end = span->to;
	middle.pgoff += pages_between(space, vma->start, span->from);
	middle.flags = want->flags;
	middle.name = want->name;
	middle.pkey = want->pkey & VMA_PKEY_MAX;
	set_uffd(&middle, &want->uffd);
	middle.policy = want->policy;
	if (vma_takes_anon(middle.flags))
		middle.may_have_anon = true;
	if (!(first && last) || !backing_has_close(vma->backing))
		join = decide(space, &middle, first ? left_of(span) : NULL,
			      last ? right_of(span) : NULL);
	if (join.left || join.right)
		err = merge(space, &join, &middle, vma);
	else
		err = change_alone(span, want);
	/* Unless the area was changed as a whole, the tree was changed behind the cursor. */
	if (join.left || join.right || !first || !last)
		mas_set(&span->mas, span->to);
	if (err)
		return err;
	space_account(space, old_flags, pages, -1);
	space_account(space, want->flags, pages, 1);
	if (space->pages && (old_flags ^ want->flags) & VMA_ACCESS_FLAGS)
		pages_protect(space->pages, span->from, span->to, old_flags, want->flags);
	return 0;
}

int edit_insert(struct vmspace *space, const struct vma *proto, const struct hole *hole,
		struct vma **out)
{
	struct join join = { NULL, NULL };
	struct vma *vma;

	if (hole) {
		assert(hole->start == proto->start && hole->end == proto->end);
		vma = hole->next && hole->next->start == proto->end ? hole->next : NULL;
		join = decide(space, proto, hole->left, vma);
	}
	if (join.left || join.right) {
		vma = join.left ? join.left : join.right;
		if (merge(space, &join, proto, NULL))
			return -ENOMEM;
	} else {
		vma = vma_new(&space->vmas, proto);
		if (!vma)
			return (int)space_no_memory(space);
		if (space_store(space, vma->start, vma->end, vma)) {
			vma_free(&space->vmas, vma);
			return -ENOMEM;
		}
		space_count_area(space, vma, 1);
	}
	space_account(space, proto->flags, pages_between(space, proto->start, proto->end), 1);
	space_event(space, VMSPACE_EVENT_MAP, proto->start, proto->end, 0);
	if (out)
		*out = vma;
	return 0;
}

static void unmapped(struct vmspace *space, const struct vma *vma, unsigned long start,
		     unsigned long end)
{
	space_account(space, vma->flags, pages_between(space, start, end), -1);
	space_event(space, VMSPACE_EVENT_UNMAP, start, end, 0);
}

/* What was unmapped has no pages any more, nor tables that no neighbour needs. */
static void drop_pages(struct vmspace *space, unsigned long start, unsigned long end)
{
	const struct vma *below, *above;

	if (!space->pages)
		return;
	below = find_before(space, start);
	above = find_first(space, end);
	pages_unmap(space->pages, start, end, below ? below->end : 0, above ? above->start : 0);
}

static int remove_areas(struct vmspace *space, struct ma_state *mas, struct vma *first,
			unsigned long start, unsigned long end)
{
	struct vma *low = first->start < start ? first : NULL, *high = NULL;
	struct vma *gone = NULL, **tail = &gone, *vma;
	unsigned long count = 0;

	if (low)
		sync_write_lock(space, low);
	if (low && low->end > end) {
		if (replace_middle(space, low, start, end, NULL))
			return -ENOMEM;
		unmapped(space, low, start, end);
		return 0;
	}
	for (vma = low ? mas_find(mas, end - 1) : first; vma; vma = mas_find(mas, end - 1)) {
		sync_write_lock(space, vma);
		count++;
		if (vma->end > end) {
			high = vma;
			break;
		}
		*tail = vma;
		tail = &vma->next_gone;
	}
	*tail = NULL;
	/* Alone in its call it may fail, as nothing was done before it. */
	if (count > 64 && !space->whole)
		space->promised = 0;
	if (space_store(space, start, end, NULL))
		return -ENOMEM;
	if (low)
		space_event(space, VMSPACE_EVENT_SPLIT, low->start, low->end, start);
	if (high)
		space_event(space, VMSPACE_EVENT_SPLIT, high->start, high->end, end);
	if (low) {
		unmapped(space, low, start, low->end);
		low->end = start;
	}
	while ((vma = gone)) {
		gone = vma->next_gone;
		unmapped(space, vma, vma->start, vma->end);
		drop(space, vma);
	}
	if (high) {
		unmapped(space, high, high->start, end);
		high->pgoff += pages_between(space, high->start, end);
		high->start = end;
	}
	return 0;
}

int edit_remove(struct vmspace *space, struct ma_state *mas, struct vma *first,
		unsigned long start, unsigned long end)
{
	int err = remove_areas(space, mas, first, start, end);

	if (!err)
		drop_pages(space, start, end);
	return err;
}

int edit_grow_up(struct vmspace *space, struct vma *vma, unsigned long end, bool merge_right)
{
	struct vma middle, *right = merge_right ? find_at(space, end) : NULL;
	struct join join = { vma, NULL };
	unsigned long old_end = vma->end;
	vma_flags_t flags = vma->flags, differ;
	int err;

	vma_fill(&middle, vma);
	middle.start = old_end;
	middle.end = end;
	middle.pgoff += pages_between(space, vma->start, old_end);
	if (right) {
		enum vma_verdict verdict;

		/* Linux does not look whether the growing one's own anon_vma was inherited. */
		middle.anon_id = vma->anon_id;
		middle.anon_shared = false;
		verdict = merge_verdict(&middle, right, space->config.page_size, &differ);
		if (verdict == VMA_MERGED && backing_has_close(right->backing))
			verdict = VMA_SPECIAL;
		report(space, &middle, right, verdict, differ);
		if (verdict == VMA_MERGED)
			join.right = right;
	}
	if (join.right) {
		err = merge(space, &join, &middle, NULL);
	} else {
		sync_write_lock(space, vma);
		err = take_over(space, vma, vma->start, end);
		if (!err)
			space_event(space, VMSPACE_EVENT_GROW, vma->start, end, old_end);
	}
	if (!err)
		space_account(space, flags, pages_between(space, old_end, end), 1);
	return err;
}

int edit_grow_down(struct vmspace *space, struct vma *vma, unsigned long start)
{
	unsigned long old = vma->start;
	int err;

	sync_write_lock(space, vma);
	err = take_over(space, vma, start, vma->end);
	if (err)
		return err;
	space_account(space, vma->flags, pages_between(space, start, old), 1);
	space_event(space, VMSPACE_EVENT_GROW, start, vma->end, old);
	return 0;
}

long edit_each(struct vmspace *space, unsigned long start, unsigned long end,
	       vma_flags_t changes, long (*part)(struct edit_span *span, void *arg), void *arg)
{
	struct edit_span span;
	bool hole = false;
	long err;

	edit_span_init(&span, space, start, end);
	span.changes = changes;
	while (edit_next(&span)) {
		hole |= span.hole;
		err = part(&span, arg);
		if (err)
			return err;
	}
	return hole || span.hole ? -ENOMEM : 0;
}
