/* SPDX-License-Identifier: MIT */
/* edit_remove.c - removes areas, and cuts what stays of those at both ends. */
#include <assert.h>

#include "accounting.h"
#include "change.h"
#include "edit.h"
#include "inherited.h"
#include "outcome.h"
#include "store.h"
#include "sync.h"
#include "words.h"

/* [start, end) is being removed. */
struct removal {
	struct vmspace *space;
	unsigned long start, end;
	struct vma *low, *high;      /* areas that stay in part, below and above; or NULL */
	struct vma *below, *above;   /* ... what they become */
	uint64_t word_below, word_above;
	struct vma *own;             /* areas of the space that go as a whole, by list_next */
	unsigned long count;         /* areas but `low` */
	bool inherited;              /* areas of an ancestor go as well, which cannot be listed */
};

static void unmapped(struct vmspace *space, const struct vma *vma, unsigned long start,
		     unsigned long end)
{
	account_pages(space, vma->flags, space_pages(space, end - start), -1);
	outcome_event(space, VMSPACE_EVENT_UNMAP, start, end, 0);
}

/* Drop the pages of what was unmapped, and free the tables that no neighbour needs. */
static void drop_pages(struct vmspace *space, unsigned long start, unsigned long end)
{
	unsigned long first = start, last = end - 1;

	if (!space->pages)
		return;
	/* Neighbours end and begin where the gap does that there is now. */
	mtree_gap_around(&space->tree, start, &first, &last);
	pages_unmap(space->pages, start, end, first, last + 1);
}

/* The next area that goes as a whole, after a cursor that was set to begin(). */
static unsigned long begin(const struct removal *r)
{
	return r->low ? r->low->end : r->start;
}

static struct vma *next(const struct removal *r, struct ma_state *mas)
{
	unsigned long to = r->high ? r->high->start : r->end;

	return mas->index < to ? mas_find(mas, to - 1) : NULL;
}

/* The words of areas that go as a whole. */
static void drop_whole_words(const struct removal *r)
{
	MA_STATE(mas, &r->space->tree, begin(r), begin(r));
	const struct vma *vma;

	while ((vma = next(r, &mas)))
		words_drop(r->space, vma->start, vma->end, vma->word);
}

/* The words of what goes, and of what stays. */
static void tell_words(struct removal *r)
{
	const struct vmspace *space = r->space;
	const struct vma *low = r->low, *high = r->high;
	uint64_t word, above = 0;

	if (low)
		words_split(space, low->start, r->start, low->end, low->word, &r->word_below, &word);
	if (high)
		words_split(space, high->start, r->end, high->end, high->word, &above,
			    &r->word_above);
	if (!words_told(space))
		return;
	if (low)
		words_drop(space, r->start, low->end, word);
	drop_whole_words(r);
	if (high)
		words_drop(space, high->start, r->end, above);
}

/* The areas that overlap the range, from *mas on, which stands on the first; NULL: only that one. */
static void collect(struct removal *r, struct ma_state *mas, struct vma *first)
{
	struct vma **tail = &r->own, *vma = first;

	if (r->low)
		vma = mas ? mas_find(mas, r->end - 1) : NULL;
	for (; vma; vma = mas ? mas_find(mas, r->end - 1) : NULL) {
		sync_write_lock(r->space, vma);
		r->count++;
		if (vma->end > r->end) {
			r->high = vma;
			break;
		}
		if (is_inherited(r->space, vma)) {
			r->inherited = true;
		} else {
			*tail = vma;
			tail = &vma->list_next;
		}
		if (vma->end == r->end)
			break;
	}
	*tail = NULL;
}

/* Of areas that go as a whole. */
static void report_inherited(const struct removal *r)
{
	MA_STATE(mas, &r->space->tree, begin(r), begin(r));
	const struct vma *vma;

	while ((vma = next(r, &mas))) {
		unmapped(r->space, vma, vma->start, vma->end);
		if (is_inherited(r->space, vma))
			account_area(r->space, vma, -1);
	}
}

/*
 * Events and counters, but for what goes of the upper end. Areas of an ancestor are out of reach
 * once they are out of the tree, and so are told of before; the store cannot fail then.
 */
static void report(const struct removal *r)
{
	struct vmspace *space = r->space;
	const struct vma *low = r->low, *high = r->high, *vma;

	if (low)
		outcome_event(space, VMSPACE_EVENT_SPLIT, low->start, low->end, r->start);
	if (high)
		outcome_event(space, VMSPACE_EVENT_SPLIT, high->start, high->end, r->end);
	if (low)
		unmapped(space, low, r->start, low->end);
	if (!r->inherited) {
		for (vma = r->own; vma; vma = vma->list_next)
			unmapped(space, vma, vma->start, vma->end);
		return;
	}
	report_inherited(r);
}

/* 0, or -ENOMEM: nothing has changed. */
static int erase(struct removal *r)
{
	unsigned long stores = 1 + r->count / 64;
	int err = r->inherited ? store_reserve(r->space, stores, 0) : words_secure(r->space, stores);

	if (err)
		return err;
	tell_words(r);
	if (r->inherited)
		report(r);
	err = store_area(r->space, r->start, r->end, NULL);
	assert(!err || !r->inherited);
	if (!err && !r->inherited)
		report(r);
	return err;
}

static int remove_areas(struct removal *r)
{
	struct vmspace *space = r->space;
	struct vma *vma;

	/* If nothing was reserved for it, it is the call's first change, and may fail. */
	if (r->count > 64 && !reserve_covers(&space->reserve, r->count))
		space->reserve.guaranteed = 0;
	if (change_secure(space, 2))
		return -ENOMEM;
	if (r->low)
		r->below = change_begin(space, r->low);
	if (r->high)
		r->above = change_begin(space, r->high);
	if (erase(r)) {
		if (r->low)
			change_cancel(space, r->low, r->below);
		if (r->high)
			change_cancel(space, r->high, r->above);
		return -ENOMEM;
	}
	if (r->low) {
		r->below->end = r->start;
		r->below->word = r->word_below;
		change_end(space, r->low, r->below);
	}
	while ((vma = r->own)) {
		r->own = vma->list_next;
		edit_free_area(space, vma);
	}
	if (r->high) {
		unmapped(space, r->high, r->high->start, r->end);
		r->above->pgoff += space_pages(space, r->end - r->high->start);
		r->above->start = r->end;
		r->above->word = r->word_above;
		change_end(space, r->high, r->above);
	}
	return 0;
}

int edit_remove_whole(struct vmspace *space, struct vma *vma, unsigned long start,
		      unsigned long end)
{
	assert(start <= vma->start && vma->end <= end && !is_inherited(space, vma));
	if (words_secure(space, 1))
		return -ENOMEM;
	sync_write_lock(space, vma);
	if (words_told(space))
		words_drop(space, vma->start, vma->end, vma->word);
	if (store_area(space, start, end, NULL))
		return -ENOMEM;
	unmapped(space, vma, vma->start, vma->end);
	edit_free_area(space, vma);
	drop_pages(space, start, end);
	assert(!find_at(space, start) && !find_at(space, end - 1) && edit_valid(space, NULL));
	return 0;
}

int edit_remove(struct vmspace *space, struct ma_state *mas, struct vma *first,
		unsigned long start, unsigned long end)
{
	struct removal r = { .space = space, .start = start, .end = end };
	int err;

	assert(start < end && first->start < end && start < first->end);
	if (first->start < start)
		r.low = first;
	if (r.low)
		sync_write_lock(space, r.low);
	if (r.low && r.low->end > end) {
		err = edit_replace_middle(space, r.low, start, end, NULL);
		if (!err)
			unmapped(space, r.low, start, end);
	} else {
		collect(&r, mas, first);
		err = remove_areas(&r);
	}
	if (err)
		return err;
	drop_pages(space, start, end);
	assert(!find_at(space, start) && !find_at(space, end - 1) && edit_valid(space, NULL));
	return 0;
}
