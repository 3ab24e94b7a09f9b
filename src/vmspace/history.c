/* SPDX-License-Identifier: MIT */
/*
 * history.c - the areas of a space at each moment that was recorded.
 *
 * A moment is a tree of areas: a snapshot of the tree of the moment before, with what has changed
 * stored into it. The trees count references to the areas, which never change.
 */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include <mapletree/maple_tree.h>
#include <mapletree/vmspace_history.h>

#include "space.h"

/* An area as it was, and its line of maps. Strings of `is` lie behind the line. */
struct past_area {
	unsigned long refs;          /* ranges of trees, and who is making it */
	struct vma_info is;
	size_t length;               /* of the line */
	char line[];
};

/* @gate: the line of [vsyscall], which is no area; a reference, or NULL. */
struct moment {
	uint64_t time;
	struct maple_tree areas;     /* of struct past_area */
	struct past_area *gate;
};

#define MOMENTS_PER_BLOCK 64

/* Where [vsyscall] is, on 64 bits. */
#define GATE_START (0UL - (10UL << 20))
#define GATE_BYTES 4096UL

/*
 * Invariants: the times of moments ascend, equal ones allowed; blocks[i] holds the moments from
 * i * MOMENTS_PER_BLOCK on, and there are as many blocks as these take, or one more.
 */
struct vmspace_history {
	struct moment **blocks;
	size_t block_count, block_capacity;
	size_t count;
	uint64_t latest;             /* time recorded, also if nothing had changed */
	const struct vmspace *space; /* recorded last; may be gone */
	unsigned long changes;       /* of it, by then */
};

static void get_area(void *entry)
{
	((struct past_area *)entry)->refs++;
}

static void put_area(void *entry)
{
	struct past_area *area = entry;

	if (!--area->refs)
		free(area);
}

static void free_moment(struct moment *moment)
{
	mtree_destroy(&moment->areas);
	if (moment->gate)
		put_area(moment->gate);
}

static const struct mt_entry_ops area_ops = { get_area, put_area };

int vmspace_history_create(struct vmspace_history **out)
{
	*out = calloc(1, sizeof(**out));
	return *out ? 0 : -ENOMEM;
}

static struct moment *moment_at(const struct vmspace_history *history, size_t at)
{
	return &history->blocks[at / MOMENTS_PER_BLOCK][at % MOMENTS_PER_BLOCK];
}

void vmspace_history_destroy(struct vmspace_history *history)
{
	if (!history)
		return;
	/* The newest first: each then gives up what it alone holds. */
	while (history->count)
		free_moment(moment_at(history, --history->count));
	while (history->block_count)
		free(history->blocks[--history->block_count]);
	free(history->blocks);
	free(history);
}

size_t vmspace_history_count(const struct vmspace_history *history)
{
	return history->count;
}

/* ---- recording ------------------------------------------------------------------------------ */

/* A moment being recorded. */
struct recording {
	struct maple_tree *areas;    /* of this moment */
	struct past_area **gate;     /* of this moment */
	const struct vmspace *space;
	bool changed;
};

/* Room for one more moment, or NULL. */
static struct moment *reserve_moment(struct vmspace_history *history)
{
	if (history->count < history->block_count * MOMENTS_PER_BLOCK)
		return moment_at(history, history->count);
	if (history->block_count == history->block_capacity) {
		size_t capacity = history->block_capacity ? 2 * history->block_capacity : 16;
		struct moment **blocks = realloc(history->blocks, capacity * sizeof(*blocks));

		if (!blocks)
			return NULL;
		history->blocks = blocks;
		history->block_capacity = capacity;
	}
	history->blocks[history->block_count] =
		malloc(MOMENTS_PER_BLOCK * sizeof(struct moment));
	if (!history->blocks[history->block_count])
		return NULL;
	history->block_count++;
	return moment_at(history, history->count);
}

static const char *copy_text(char **to, const char *text)
{
	size_t size = text ? strlen(text) + 1 : 0;
	const char *copy = memcpy(*to, text ? text : "", size);

	*to += size;
	return text ? copy : NULL;
}

/* What `info` describes, at addr, with one reference. NULL: no memory. */
static struct past_area *make_area(const struct vmspace *space, unsigned long addr,
				   const struct vma_info *info)
{
	size_t name = info->backing.name ? strlen(info->backing.name) + 1 : 0;
	size_t anon_name = info->anon_name ? strlen(info->anon_name) + 1 : 0;
	size_t length = vmspace_show_area(space, addr, NULL, 0);
	struct past_area *area = malloc(sizeof(*area) + length + 1 + name + anon_name);
	char *text;

	if (!area)
		return NULL;
	area->refs = 1;
	area->is = *info;
	area->length = length;
	vmspace_show_area(space, addr, area->line, length + 1);
	text = area->line + length + 1;
	area->is.backing.name = copy_text(&text, info->backing.name);
	area->is.anon_name = copy_text(&text, info->anon_name);
	return area;
}

static bool same_text(const char *a, const char *b)
{
	return a == b || (a && b && !strcmp(a, b));
}

static bool same_area(const struct past_area *a, const struct past_area *b)
{
	const struct vma_info *x = &a->is, *y = &b->is;

	return a->length == b->length && !memcmp(a->line, b->line, a->length) &&
	       x->flags == y->flags && x->page_offset == y->page_offset && x->pkey == y->pkey &&
	       x->policy == y->policy && x->policy_nodes == y->policy_nodes &&
	       x->anon_id == y->anon_id && x->anon_shared == y->anon_shared &&
	       x->uffd == y->uffd && x->backing.kind == y->backing.kind &&
	       x->backing.flags == y->backing.flags && x->backing.file_id == y->backing.file_id &&
	       same_text(x->backing.name, y->backing.name) &&
	       same_text(x->anon_name, y->anon_name);
}

/* There is nothing from `first` to `last` now. */
static int record_gap(struct recording *r, unsigned long first, unsigned long last)
{
	unsigned long index = first;

	if (!mt_find(r->areas, &index, last))
		return 0;
	r->changed = true;
	return mtree_store_range(r->areas, first, last, NULL, GFP_KERNEL);
}

static int record_area(struct recording *r, const struct vma_info *info)
{
	struct past_area *area = make_area(r->space, info->start, info);
	MA_STATE(mas, r->areas, info->start, info->start);
	const struct past_area *old;
	int err = 0;

	if (!area)
		return -ENOMEM;
	mtree_lock(r->areas);
	old = mas_walk(&mas);
	if (!old || mas.index != info->start || mas.last != info->end - 1 ||
	    !same_area(old, area)) {
		mas_set_range(&mas, info->start, info->end - 1);
		err = mas_store_gfp(&mas, area, GFP_KERNEL);
		r->changed = true;
	}
	mas_destroy(&mas);
	mtree_unlock(r->areas);
	put_area(area);
	return err;
}

/* Widens [*first, *last] to the whole areas at both ends, those before and those now. */
static void widen(const struct recording *r, unsigned long *first, unsigned long *last)
{
	const struct past_area *old;
	struct vma_info info;
	unsigned long low, high;

	do {
		low = *first;
		high = *last;
		old = mtree_load(r->areas, low);
		if (old && old->is.start < *first)
			*first = old->is.start;
		if (vmspace_lookup(r->space, low, &info) && info.start < *first)
			*first = info.start;
		old = mtree_load(r->areas, high);
		if (old && old->is.end - 1 > *last)
			*last = old->is.end - 1;
		if (vmspace_lookup(r->space, high, &info) && info.end - 1 > *last)
			*last = info.end - 1;
	} while (low != *first || high != *last);
}

/* The areas from `first` to `last` may have changed. */
static int record_range(struct recording *r, unsigned long first, unsigned long last)
{
	struct vma_info info;
	int err = 0;

	widen(r, &first, &last);
	while (!err && vmspace_next(r->space, first, &info) && info.start <= last) {
		if (info.start > first)
			err = record_gap(r, first, info.start - 1);
		if (!err)
			err = record_area(r, &info);
		if (info.end - 1 >= last)
			return err;
		first = info.end;
	}
	return err ? err : record_gap(r, first, last);
}

static int record_event(struct recording *r, const struct vmspace_event *event)
{
	int err = 0;

	if (event->start < event->end)
		err = record_range(r, event->start, event->end - 1);
	if (!err && event->kind == VMSPACE_EVENT_MOVE) /* what is left where it was moved from */
		err = record_range(r, event->at, event->at + (event->end - event->start) - 1);
	return err;
}

/* [vsyscall] has a line above all areas. Only an exec changes that. */
static int record_gate(struct recording *r)
{
	static const struct vma_info none;
	struct past_area *gate = NULL;
	struct vma_info info;

	if (!vmspace_lookup(r->space, ULONG_MAX, &info) &&
	    vmspace_show_area(r->space, ULONG_MAX, NULL, 0)) {
		gate = make_area(r->space, ULONG_MAX, &none);
		if (!gate)
			return -ENOMEM;
	}
	if (gate ? !*r->gate || !same_area(*r->gate, gate) : *r->gate != NULL)
		r->changed = true;
	if (*r->gate)
		put_area(*r->gate);
	*r->gate = gate;
	return 0;
}

static int record_all(struct recording *r)
{
	int err = record_gate(r);

	return err ? err : record_range(r, 0, ULONG_MAX);
}

static int record_events(struct recording *r, const struct vmspace_outcome *out)
{
	int err = 0;

	for (unsigned int i = 0; i < out->event_count && !err; i++)
		err = record_event(r, &out->events[i]);
	return err;
}

/*
 * Are the events of @out all changes of @space since it was recorded? A mirror also learns from the
 * host how far a stack has grown; other requests may have been made.
 */
static bool tells_all(const struct vmspace_history *history, const struct vmspace *space,
		      const struct vmspace_outcome *out)
{
	return out && history->count && history->space == space &&
	       space->changes - history->changes == out->event_count;
}

int vmspace_history_record(struct vmspace_history *history, const struct vmspace *space,
			   const struct vmspace_outcome *out, uint64_t time)
{
	struct moment *last = history->count ? moment_at(history, history->count - 1) : NULL;
	struct moment *moment;
	struct recording r;
	int err;

	if (last && time < history->latest)
		return -EINVAL;
	moment = reserve_moment(history);
	if (!moment)
		return -ENOMEM;
	moment->time = time;
	mt_init_flags(&moment->areas, 0);
	mt_set_entry_ops(&moment->areas, &area_ops);
	moment->gate = last ? last->gate : NULL;
	if (last)
		mtree_snapshot(&last->areas, &moment->areas, GFP_KERNEL);
	if (moment->gate)
		get_area(moment->gate);
	r = (struct recording){ .areas = &moment->areas, .gate = &moment->gate, .space = space,
				.changed = !last };
	err = tells_all(history, space, out) ? record_events(&r, out) : record_all(&r);
	if (!err) {
		history->latest = time;
		history->space = space;
		history->changes = space->changes;
	} else {
		history->space = NULL;
	}
	if (err || !r.changed) {
		free_moment(moment);
		return err;
	}
	history->count++;
	return 0;
}

/* ---- answering ------------------------------------------------------------------------------ */

/* The last moment that is not later than `time`, or NULL. */
static struct moment *moment_of(const struct vmspace_history *history, uint64_t time)
{
	size_t low = 0, high = history->count; /* below low: not later; from high on: later */

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (moment_at(history, middle)->time <= time)
			low = middle + 1;
		else
			high = middle;
	}
	return low ? moment_at(history, low - 1) : NULL;
}

bool vmspace_history_lookup(const struct vmspace_history *history, uint64_t time,
			    unsigned long addr, struct vma_info *info)
{
	struct moment *moment = moment_of(history, time);
	const struct past_area *area = moment ? mtree_load(&moment->areas, addr) : NULL;

	if (area)
		*info = area->is;
	return area;
}

bool vmspace_history_next(const struct vmspace_history *history, uint64_t time,
			  unsigned long addr, struct vma_info *info)
{
	struct moment *moment = moment_of(history, time);
	const struct past_area *area = moment ? mt_find(&moment->areas, &addr, ULONG_MAX) : NULL;

	if (area)
		*info = area->is;
	return area;
}

int vmspace_history_show(const struct vmspace_history *history, uint64_t time,
			 int (*emit)(void *ctx, const char *line, size_t length), void *ctx)
{
	struct moment *moment = moment_of(history, time);
	MA_STATE(mas, moment ? &moment->areas : NULL, 0, 0);
	const struct past_area *area;
	int err = 0;

	while (moment && !err && (area = mas_find(&mas, ULONG_MAX)))
		err = emit(ctx, area->line, area->length);
	if (moment && !err && moment->gate)
		err = emit(ctx, moment->gate->line, moment->gate->length);
	return err;
}

int vmspace_history_show_area(const struct vmspace_history *history, uint64_t time,
			      unsigned long addr,
			      int (*emit)(void *ctx, const char *line, size_t length), void *ctx)
{
	struct moment *moment = moment_of(history, time);
	const struct past_area *area = moment ? mtree_load(&moment->areas, addr) : NULL;

	if (moment && !area && addr - GATE_START < GATE_BYTES)
		area = moment->gate;
	return area ? emit(ctx, area->line, area->length) : 0;
}
