/* SPDX-License-Identifier: MIT */
/* Marks: which areas may have what nothing shows, mostly since they were there at an attach. */
#include "mirror/marks.h"

#include <assert.h>
#include <limits.h>

static struct maple_tree *tree_of(const struct maple_tree *tree)
{
	return (struct maple_tree *)tree;
}

void marks_init(struct marks *marks)
{
	mt_init(&marks->emptied);
	mt_init(&marks->past_end);
	mt_init(&marks->moved);
	marks->origins = 0;
}

void marks_end(struct marks *marks)
{
	mtree_destroy(&marks->emptied);
	mtree_destroy(&marks->past_end);
	mtree_destroy(&marks->moved);
}

bool marks_none(const struct marks *marks)
{
	return mtree_empty(&marks->emptied) && mtree_empty(&marks->moved);
}

static int set_range(struct maple_tree *tree, unsigned long start, unsigned long end, void *mark)
{
	return start < end ? mtree_store_range(tree, start, end - 1, mark, GFP_KERNEL) : 0;
}

static int mark_emptied(struct marks *marks, unsigned long start, unsigned long end)
{
	return set_range(&marks->emptied, start, end, xa_mk_value(1));
}

static int mark_moved(struct marks *marks, unsigned long start, unsigned long end,
		      unsigned long origin)
{
	return set_range(&marks->moved, start, end, origin ? xa_mk_value(origin) : NULL);
}

int marks_attached(struct marks *marks, const struct vmspace *space)
{
	struct vma_info info;
	int rc = 0;

	for (unsigned long at = 0; rc == 0 && vmspace_next(space, at, &info); at = info.end) {
		if (!info.anon_id && !(info.flags & VMA_MAYSHARE))
			rc = mark_emptied(marks, info.start, info.end);
		/* What never had a page takes the offsets of wherever it is moved to. */
		if (rc == 0 && info.backing.kind == VMA_BACKING_ANON)
			rc = mark_moved(marks, info.start, info.end, ++marks->origins);
	}
	return rc;
}

int marks_past_end(struct marks *marks, const struct vmspace *space, unsigned long start,
		   unsigned long end)
{
	struct vma_info info;

	if (vmspace_lookup(space, start, &info) && info.flags & VMA_WRITE)
		return mark_emptied(marks, start, end);
	return set_range(&marks->past_end, start, end, xa_mk_value(1));
}

bool marks_emptied(const struct marks *marks, unsigned long start, unsigned long end)
{
	return mt_find(tree_of(&marks->emptied), &start, end - 1) != NULL;
}

unsigned long marks_origin(const struct marks *marks, unsigned long addr)
{
	void *mark = mtree_load(tree_of(&marks->moved), addr);

	return mark ? xa_to_value(mark) : 0;
}

bool marks_next(const struct marks *marks, unsigned long origin, unsigned long *start,
		unsigned long *end)
{
	MA_STATE(mas, tree_of(&marks->moved), *start, *start);
	void *mark;

	mas_for_each(&mas, mark, ULONG_MAX) {
		if (xa_to_value(mark) != origin)
			continue;
		*start = mas.index > *start ? mas.index : *start;
		*end = mas.last + 1;
		return true;
	}
	return false;
}

int marks_unite(struct marks *marks, unsigned long origin, unsigned long other)
{
	unsigned long start = 0, end;
	int rc = 0;

	assert(origin && origin != other);
	for (; rc == 0 && marks_next(marks, origin, &start, &end); start = end)
		rc = mark_moved(marks, start, end, other);
	return rc;
}

/* The part of [@start, @end) that lies in [*@low, *@high) becomes [*@low, *@high). */
static void clip(unsigned long start, unsigned long end, unsigned long *low, unsigned long *high)
{
	*low = *low > start ? *low : start;
	*high = *high < end ? *high : end;
}

/* Copies the marks of [@from, @from + @length) to @to. */
static int copy_range(const struct maple_tree *source, unsigned long from, unsigned long length,
		      struct maple_tree *target, unsigned long to)
{
	MA_STATE(mas, tree_of(source), from, from);
	void *mark;
	int rc = 0;

	while (rc == 0 && (mark = mas_find(&mas, from + length - 1))) {
		unsigned long low = mas.index, high = mas.last + 1;

		clip(from, from + length, &low, &high);
		rc = set_range(target, low - from + to, high - from + to, mark);
		mas_set(&mas, high);
		if (high == from + length)
			break;
	}
	return rc;
}

int marks_fork(struct marks *marks, const struct marks *parent, const struct vmspace *space)
{
	struct vma_info info;
	int rc = 0;

	marks->origins = parent->origins;
	for (unsigned long at = 0; rc == 0 && vmspace_next(space, at, &info); at = info.end) {
		unsigned long length = info.end - info.start;

		if (info.flags & (VMA_MAYSHARE | VMA_WIPEONFORK))
			continue;
		/* If the parent's area had an anon_vma, the child's has an inherited one. */
		if (!info.anon_id)
			rc = copy_range(&parent->emptied, info.start, length, &marks->emptied,
					info.start);
		if (rc == 0)
			rc = copy_range(&parent->past_end, info.start, length, &marks->past_end,
					info.start);
		if (rc == 0)
			rc = copy_range(&parent->moved, info.start, length, &marks->moved,
					info.start);
	}
	return rc;
}

/*
 * A move to @event's range. What has no anon_vma gets the offsets of its new address. Where it is
 * uncertain whether there is one, the offsets are uncertain even if they were known, and other
 * parts of the same area say nothing about them any more.
 */
static int follow_move(struct marks *marks, const struct vmspace *space,
		       const struct vmspace_request *req, const struct vmspace_event *event)
{
	const unsigned long page = vmspace_config(space)->page_size;
	unsigned long length = event->end - event->start, asked = req->mremap.old_length;
	struct vma_info info;
	int rc;

	asked = (asked + page - 1) & ~(page - 1);
	if (req->op != VMSPACE_MREMAP || asked == 0)
		return 0;
	if (asked < length)
		length = asked;
	rc = copy_range(&marks->emptied, event->at, length, &marks->emptied, event->start);
	if (rc == 0)
		rc = copy_range(&marks->past_end, event->at, length, &marks->past_end, event->start);
	if (rc == 0)
		rc = copy_range(&marks->moved, event->at, length, &marks->moved, event->start);
	if (rc == 0 && vmspace_lookup(space, event->start, &info) &&
	    info.backing.kind == VMA_BACKING_ANON &&
	    marks_emptied(marks, event->start, event->end))
		rc = mark_moved(marks, event->start, event->end, ++marks->origins);
	/* What it was extended by belongs to the area. */
	else if (rc == 0 && event->start + length < event->end)
		rc = mark_moved(marks, event->start + length, event->end,
				marks_origin(marks, event->start + length - 1));
	return rc;
}

/* Both parts have the anon_vma, if the area has got one. */
static int follow_split(struct marks *marks, const struct vmspace *space,
			const struct vmspace_event *event)
{
	struct vma_info info;

	if (!marks_emptied(marks, event->start, event->end) ||
	    !(vmspace_lookup(space, event->start, &info) ||
	      vmspace_lookup(space, event->at, &info)) || !(info.flags & VMA_WRITE))
		return 0;
	return mark_emptied(marks, event->start, event->end);
}

/* An area was extended in place: down, as a stack, or by an mremap(). */
static int follow_growth(struct marks *marks, const struct vmspace_event *event)
{
	if (event->start >= event->at)
		return 0;
	return mark_moved(marks, event->start, event->at, marks_origin(marks, event->at));
}

static int follow_extension(struct marks *marks, const struct vmspace *space,
			    const struct vmspace_request *req)
{
	const unsigned long page = vmspace_config(space)->page_size;
	const struct vmspace_mremap *m = &req->mremap;
	unsigned long old_end = m->addr + ((m->old_length + page - 1) & ~(page - 1));
	unsigned long end = m->addr + ((m->new_length + page - 1) & ~(page - 1));
	unsigned long origin = old_end ? marks_origin(marks, old_end - 1) : 0;

	if (req->op != VMSPACE_MREMAP || req->out.result != (long)m->addr || !origin)
		return 0;
	return mark_moved(marks, old_end, end, origin);
}

/* From now on somebody may write where that was not possible before. */
static int follow_change(struct marks *marks, const struct vmspace *space,
			 const struct vmspace_event *event)
{
	unsigned long at = event->start;
	struct vma_info info;
	int rc = 0;

	if (mtree_empty(&marks->past_end))
		return 0;
	for (; rc == 0 && at < event->end && vmspace_next(space, at, &info); at = info.end)
		if (info.flags & VMA_WRITE)
			rc = copy_range(&marks->past_end, info.start, info.end - info.start,
					&marks->emptied, info.start);
	return rc;
}

/* What was merged has one anon_vma, if it has any. */
static int spread_emptied(struct marks *marks, const struct vmspace *space,
			  const struct vmspace_event *events, size_t count)
{
	struct vma_info info;
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < count; i++)
		if (events[i].kind == VMSPACE_EVENT_MERGE &&
		    vmspace_lookup(space, events[i].at, &info) &&
		    marks_emptied(marks, info.start, info.end))
			rc = mark_emptied(marks, info.start, info.end);
	return rc;
}

int marks_follow(struct marks *marks, const struct vmspace *space,
		 const struct vmspace_request *req, const struct vmspace_event *events,
		 size_t count)
{
	int rc = 0;

	if (marks_none(marks) && mtree_empty(&marks->past_end))
		return 0;
	for (size_t i = 0; rc == 0 && i < count; i++) {
		const struct vmspace_event *event = &events[i];

		switch (event->kind) {
		case VMSPACE_EVENT_MAP:
		case VMSPACE_EVENT_UNMAP:
			rc = set_range(&marks->emptied, event->start, event->end, NULL);
			if (rc == 0)
				rc = set_range(&marks->past_end, event->start, event->end, NULL);
			if (rc == 0)
				rc = mark_moved(marks, event->start, event->end, 0);
			break;
		case VMSPACE_EVENT_SPLIT:
			rc = follow_split(marks, space, event);
			break;
		case VMSPACE_EVENT_MOVE:
			rc = follow_move(marks, space, req, event);
			break;
		case VMSPACE_EVENT_CHANGE:
		case VMSPACE_EVENT_MERGE:
			rc = follow_change(marks, space, event);
			break;
		case VMSPACE_EVENT_GROW:
			rc = follow_growth(marks, event);
			break;
		default:
			break;
		}
	}
	if (rc == 0)
		rc = follow_extension(marks, space, req);
	return rc ? rc : spread_emptied(marks, space, events, count);
}
