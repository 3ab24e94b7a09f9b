/* SPDX-License-Identifier: MIT */
/*
 * watch.c - a reader that looks at the tree between any two stores of a write.
 */
#include "watch.h"

/* What one cursor is to find: entry and range, or NULL. */
struct found {
	void *entry;
	unsigned long first;
	unsigned long last;
};

/*
 * @cursor: one on each range of @before. @after_seen: the write has become visible.
 */
static struct {
	struct maple_tree *mt; /* NULL: nobody watches */
	unsigned int points;
	const struct listing *before;
	const struct listing *after;
	struct ma_state cursor[POINTS_MAX];
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

/* Whether all indexes hold, and an iteration finds, what the list says. */
static bool shows(const struct listing *l)
{
	unsigned int point, i = 0, first;
	struct found want, got;
	void *entry;

	for (point = 0; point < watch.points; point++) {
		MA_STATE(at, watch.mt, point_index(point), point_index(point));

		if (mas_walk(&at) != l->range[listing_at(l, point, &first)].entry)
			return false;
	}
	MA_STATE(mas, watch.mt, 0, 0);
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

/* The range next to the cursor's, in the direction of @step. */
static bool steps(unsigned int i, int step)
{
	struct ma_state mas = watch.cursor[i];
	const struct listing *now = watch.after, *was = watch.before;
	unsigned int unused, first, last;
	struct found got, want;
	void *entry = step > 0 ? mas_next(&mas, ULONG_MAX) : mas_prev(&mas, 0);

	got = cursor_found(&mas, entry);
	want = entry_from(was, i + (unsigned int)step, step);
	if (same(&want, &got))
		return true;
	first = (unsigned int)range_first(was, i);
	last = was->range[i].last;
	want = entry_from(now, listing_at(now, first, &unused) + (unsigned int)step, step);
	if (same(&want, &got))
		return true;
	if (step > 0 ? last + 1 == watch.points : first == 0)
		return false;
	want = entry_from(now, listing_at(now, step > 0 ? last + 1 : first - 1, &unused), step);
	return same(&want, &got);
}

static void look(void)
{
	unsigned int i;
	bool before = shows(watch.before), after = shows(watch.after);

	if (!before && !after)
		watch.wrong = "a reader could see half of a write";
	else if (watch.after_seen && !after)
		watch.wrong = "a reader could see a write undone";
	watch.after_seen |= after && !before;
	for (i = 0; i < watch.before->ranges && !watch.wrong; i++)
		if (!steps(i, 1) || !steps(i, -1))
			watch.wrong = "a reader's cursor steps to what is next to it at no time";
}

void watch_store(void)
{
	if (watch.mt && !watch.wrong)
		look();
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
	return watch.wrong;
}
