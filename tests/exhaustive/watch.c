/* SPDX-License-Identifier: MIT */
/* watch.c - a reader that reads the tree between any two stores of a write. */
#include <urcu/urcu-bp.h>

#include "watch.h"

/* What one cursor must find: entry and range, or NULL. */
struct found {
	void *entry;
	unsigned long first;
	unsigned long last;
};

/* A mas_for_each() or mas_for_each_rev() that can be copied: in the body of a step. */
struct loop {
	unsigned long batch[MAS_BATCH_WORDS] __attribute__((aligned(64)));
	unsigned long step[2];
	struct ma_state mas;
};

/* A mt_for_each(), too. */
struct each {
	unsigned long batch[MAS_BATCH_WORDS] __attribute__((aligned(64)));
	unsigned long step[2];
	unsigned long index;
};

/*
 * @cursor: one on each range of @before; @up, @down, @each: one in the body at each entry. All in
 * one read-side section. @after_seen: the write has become visible.
 */
static struct {
	struct maple_tree *mt; /* NULL: nobody watches */
	unsigned int points;
	const struct listing *before;
	const struct listing *after;
	struct ma_state cursor[POINTS_MAX];
	struct loop up[POINTS_MAX];
	struct loop down[POINTS_MAX];
	struct each each[POINTS_MAX];
	bool after_seen;
	const char *wrong;
} watch;

static unsigned long range_first(const struct listing *l, unsigned int i)
{
	return i ? l->range[i - 1].last + 1ul : 0;
}

static struct found found_at(const struct listing *l, unsigned int i)
{
	struct found found = { NULL, 0, 0 };

	if (i < l->ranges) {
		found.entry = l->range[i].entry;
		found.first = range_first(l, i);
		found.last = point_last(l->range[i].last, watch.points);
	}
	return found;
}

/* The first entry at range @i or above (below) it. */
static struct found entry_from(const struct listing *l, unsigned int i, int step)
{
	while (i < l->ranges && !l->range[i].entry)
		i += (unsigned int)step; /* below 0 it is larger than any */
	return found_at(l, i);
}

static bool same(const struct found *a, const struct found *b)
{
	return a->entry == b->entry &&
	       (!a->entry || (a->first == b->first && a->last == b->last));
}

static struct found cursor_found(const struct ma_state *mas, void *entry)
{
	return (struct found){ entry, mas->index, mas->last };
}

static struct found range_at(const struct listing *l, unsigned int point)
{
	unsigned int unused;

	return found_at(l, listing_at(l, point, &unused));
}

/*
 * Whether a range that was found is the one of the list that holds @index; of a gap, a part will
 * do.
 */
static bool is_range(const struct listing *l, unsigned long index, const struct found *got)
{
	unsigned int point = index < watch.points ? (unsigned int)index : watch.points - 1;
	struct found want = range_at(l, point);

	if (want.entry)
		return same(&want, got);
	return !got->entry && got->first >= want.first && got->last <= want.last &&
	       got->first <= index && index <= got->last;
}

static bool walks(const struct listing *l, unsigned int point)
{
	unsigned long index = point_index(point);
	MA_STATE(at, watch.mt, index, index);
	struct found got, want = range_at(l, point);
	void *entry = mas_walk(&at);

	got = cursor_found(&at, entry);
	return is_range(l, index, &got) &&
	       mtree_load(watch.mt, index) == (xa_is_zero(want.entry) ? NULL : want.entry);
}

static bool finds_up(const struct listing *l)
{
	MA_STATE(mas, watch.mt, 0, 0);
	struct found want, got;
	unsigned int i = 0;
	void *entry;

	mas_for_each(&mas, entry, ULONG_MAX) {
		while (i < l->ranges && !l->range[i].entry)
			i++;
		want = found_at(l, i++);
		got = cursor_found(&mas, entry);
		if (!same(&want, &got))
			return false;
	}
	return !entry_from(l, i, 1).entry;
}

static bool finds_down(const struct listing *l)
{
	MA_STATE(mas, watch.mt, ULONG_MAX, ULONG_MAX);
	struct found want, got;
	unsigned int i = l->ranges - 1;
	void *entry;

	mas_for_each_rev(&mas, entry, 0) {
		want = entry_from(l, i, -1);
		got = cursor_found(&mas, entry);
		if (!same(&want, &got))
			return false;
		i = (unsigned int)-1;
		while (++i < l->ranges && range_first(l, i) != got.first)
			;
		i--;
	}
	return !entry_from(l, i, -1).entry;
}

/* All ranges, entries and gaps, in order and without holes. */
static bool ranges_follow(const struct listing *l, int step)
{
	unsigned long next = step > 0 ? 0 : ULONG_MAX;
	MA_STATE(mas, watch.mt, next, next);
	void *entry = mas_walk(&mas);

	for (;;) {
		struct found got = cursor_found(&mas, entry);

		if (!is_range(l, next, &got) || (step > 0 ? got.first : got.last) != next)
			return false;
		if (step > 0 ? got.last == ULONG_MAX : got.first == 0)
			return true;
		next = step > 0 ? got.last + 1 : got.first - 1;
		entry = step > 0 ? mas_next_range(&mas, ULONG_MAX) : mas_prev_range(&mas, 0);
	}
}

/* The same for the normal API, which skips zero entries. */
static struct found plain_from(const struct listing *l, unsigned int i, int step)
{
	while (i < l->ranges && (!l->range[i].entry || xa_is_zero(l->range[i].entry)))
		i += (unsigned int)step;
	return found_at(l, i);
}

static bool neighbours(const struct listing *l, unsigned int point)
{
	unsigned long index = point_index(point), from = index;
	unsigned int begin, at = listing_at(l, point, &begin);
	struct found here = plain_from(l, at, 1);

	if (mt_next(watch.mt, index, ULONG_MAX) != plain_from(l, at + 1, 1).entry ||
	    mt_prev(watch.mt, index, 0) != plain_from(l, at - 1, -1).entry)
		return false;
	return mt_find(watch.mt, &from, ULONG_MAX) == here.entry &&
	       from == (here.entry ? here.last + 1 : index);
}

/* A place that a search finds is free. That it finds one is not promised beside a writer. */
static bool gaps_are_free(const struct listing *l, unsigned long size)
{
	unsigned int lowest;

	for (lowest = 0; lowest < 2; lowest++) {
		MA_STATE(mas, watch.mt, 0, 0);
		struct found got, want;

		if (lowest ? mas_empty_area(&mas, 0, ULONG_MAX, size)
			   : mas_empty_area_rev(&mas, 0, ULONG_MAX, size))
			continue;
		got = cursor_found(&mas, NULL);
		want = range_at(l, got.first < watch.points ? (unsigned int)got.first
							    : watch.points - 1);
		if (want.entry || got.last - got.first != size - 1 || got.first < want.first ||
		    got.last > want.last)
			return false;
	}
	return true;
}

/* Whether all reads agree with the list. */
static bool shows(const struct listing *l)
{
	unsigned int point;

	for (point = 0; point < watch.points; point++)
		if (!walks(l, point))
			return false;
	if (!finds_up(l) || !finds_down(l) || !ranges_follow(l, 1) || !ranges_follow(l, -1))
		return false;
	for (point = 0; point < watch.points; point++)
		if (!neighbours(l, point))
			return false;
	if (watch.mt->ma_flags & MT_FLAGS_ALLOC_RANGE)
		for (point = 1; point <= watch.points; point++)
			if (!gaps_are_free(l, point))
				return false;
	return true;
}

/* The tree as readers see it now. */
static const struct listing *present(void)
{
	return watch.after_seen ? watch.after : watch.before;
}

/* The entry next to range @i of before, upwards or downwards, as the tree is now. */
static struct found next_to(unsigned int i, int step)
{
	unsigned int first = (unsigned int)range_first(watch.before, i), unused;
	unsigned int last = watch.before->range[i].last;

	if (step > 0 ? last + 1 == watch.points : first == 0)
		return (struct found){ NULL, 0, 0 };
	return entry_from(present(),
			  listing_at(present(), step > 0 ? last + 1 : first - 1, &unused), step);
}

/* The cursor steps to what is next to its range at that moment. */
static bool steps(unsigned int i, int step)
{
	struct ma_state mas = watch.cursor[i];
	void *entry = step > 0 ? mas_next(&mas, ULONG_MAX) : mas_prev(&mas, 0);
	struct found got = cursor_found(&mas, entry), want = next_to(i, step);

	return same(&want, &got);
}

/* The same for ranges, entries or gaps. */
static bool steps_range(unsigned int i, int step)
{
	struct ma_state mas = watch.cursor[i];
	unsigned long next = step > 0 ? mas.last + 1 : mas.index - 1;
	struct found got;
	void *entry;

	if (step > 0 ? mas.last == ULONG_MAX : mas.index == 0)
		return true;
	entry = step > 0 ? mas_next_range(&mas, ULONG_MAX) : mas_prev_range(&mas, 0);
	if (!mas.node) /* in a tree without nodes it reports the end instead */
		return true;
	got = cursor_found(&mas, entry);
	return is_range(present(), next, &got);
}

static void *loop_next(struct loop *loop, int step)
{
	return step > 0 ? mas_batch_next(loop->batch, loop->step, &loop->mas, ULONG_MAX)
			: mas_batch_prev(loop->batch, loop->step, &loop->mas, 0);
}

static void loop_copy(struct loop *to, const struct loop *from)
{
	*to = *from;
	if (from->mas.batch == from->batch)
		to->mas.batch = to->batch;
}

/*
 * And for a loop; from a lone entry at 0 it has nowhere to go, even if something is there by now.
 */
static bool loops(unsigned int i, int step)
{
	struct loop *at = step > 0 ? &watch.up[i] : &watch.down[i], loop;
	struct found got, want = next_to(i, step);
	void *entry;

	if (!watch.before->range[i].entry || !at->mas.node)
		return true;
	loop_copy(&loop, at);
	entry = loop_next(&loop, step);
	got = cursor_found(&loop.mas, entry);
	return same(&want, &got);
}

/* And without a cursor. */
static bool each_goes_on(unsigned int i)
{
	unsigned int last = watch.before->range[i].last, unused;
	struct found want = { NULL, 0, 0 };
	struct each each = watch.each[i];
	unsigned long index = each.index;
	void *entry;

	if (!watch.before->range[i].entry || xa_is_zero(watch.before->range[i].entry))
		return true;
	if (last + 1 < watch.points)
		want = plain_from(present(), listing_at(present(), last + 1, &unused), 1);
	entry = mt_loop_next(each.batch, each.step, watch.mt, &each.index, ULONG_MAX);
	return entry == want.entry && each.index == (entry ? want.last + 1 : index);
}

static void look(void)
{
	bool before = !watch.after_seen && shows(watch.before);
	bool after = !before && shows(watch.after);
	unsigned int i;

	if (!before && !after)
		watch.wrong = watch.after_seen && shows(watch.before)
				      ? "a reader could see a write undone"
				      : "a reader could see half of a write";
	watch.after_seen |= after;
	for (i = 0; i < watch.before->ranges && !watch.wrong; i++)
		if (!steps(i, 1) || !steps(i, -1) || !steps_range(i, 1) || !steps_range(i, -1) ||
		    !loops(i, 1) || !loops(i, -1) || !each_goes_on(i))
			watch.wrong = "a reader's cursor steps to what is not next to it then";
}

void watch_store(void)
{
	if (watch.mt && !watch.wrong)
		look();
}

/* A loop in its body at each entry of @l. */
static void begin_loops(struct maple_tree *mt, const struct listing *l, int step)
{
	unsigned long from = step > 0 ? 0 : ULONG_MAX;
	struct loop loop;
	unsigned int i;

	mas_init(&loop.mas, mt, from);
	loop.step[0] = mas_batch_begin(loop.batch, &loop.mas);
	loop.step[1] = 0;
	for (i = step > 0 ? 0 : l->ranges - 1; i < l->ranges; i += (unsigned int)step)
		if (l->range[i].entry && loop_next(&loop, step))
			loop_copy(step > 0 ? &watch.up[i] : &watch.down[i], &loop);
}

static void begin_each(struct maple_tree *mt, const struct listing *l)
{
	struct each each;
	unsigned int i;

	each.index = 0;
	each.step[0] = mt_loop_begin(each.batch);
	each.step[1] = 0;
	for (i = 0; i < l->ranges; i++)
		if (l->range[i].entry && !xa_is_zero(l->range[i].entry) &&
		    mt_loop_next(each.batch, each.step, mt, &each.index, ULONG_MAX))
			watch.each[i] = each;
}

void watch_begin(struct maple_tree *mt, unsigned int points, const struct listing *before,
		 const struct listing *after)
{
	unsigned int i;

	watch.points = points;
	watch.before = before;
	watch.after = after;
	watch.after_seen = false;
	watch.wrong = NULL;
	urcu_bp_read_lock();
	begin_loops(mt, before, 1);
	begin_loops(mt, before, -1);
	begin_each(mt, before);
	for (i = 0; i < before->ranges; i++) {
		mas_init(&watch.cursor[i], mt, range_first(before, i));
		mas_walk(&watch.cursor[i]);
	}
	watch.mt = mt;
}

const char *watch_end(void)
{
	watch_store();
	if (!watch.wrong && !shows(watch.after))
		watch.wrong = "a reader does not see the write that is done";
	watch.mt = NULL;
	urcu_bp_read_unlock();
	return watch.wrong;
}
