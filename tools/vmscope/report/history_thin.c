/* SPDX-License-Identifier: MIT */
/* Making a history smaller: fewer moments, and no areas of small address spaces that have ended. */
#include <stdlib.h>

#include "report/history.h"

enum { SPACES_KEPT = 8192 };

static unsigned int half(unsigned int moment)
{
	return moment == HISTORY_OPEN ? moment : moment >> 1;
}

/* Areas that no moment shows any more go. */
static void join_areas(struct history *history, struct history_space *space)
{
	size_t kept = 0;

	for (size_t i = 0; i < space->area_count; i++) {
		struct history_area *area = &space->areas[i];

		area->begin = half(area->begin);
		area->until = half(area->until);
		if (area->begin == area->until)
			continue;
		if (area->until == HISTORY_OPEN && i != kept && space->live_count &&
		    mtree_store_range(&space->live, area->start, area->end - 1, xa_mk_value(kept),
				      GFP_KERNEL))
			history->failed = true;
		space->areas[kept++] = *area;
	}
	history->area_count -= space->area_count - kept;
	history->transient += space->area_count - kept;
	space->area_count = kept;
}

static void join_counts(struct history_space *space)
{
	size_t kept = 0;

	for (size_t i = 0; i < space->count_count; i++) {
		const struct history_count count = { half(space->counts[i].moment),
						     space->counts[i].areas };

		if (kept && space->counts[kept - 1].moment == count.moment)
			kept--;
		space->counts[kept++] = count;
	}
	space->count_count = kept;
}

/* Each two moments become one, which shows what the second did. */
static void join_moments(struct history *history)
{
	const size_t moments = (history->moments + 1) / 2;

	for (size_t i = 0; i < moments; i++) {
		const size_t second = 2 * i + 1 < history->moments ? 2 * i + 1 : 2 * i;

		history->times[i] = history->times[second];
		history->lines[i] = history->lines[second];
	}
	if (history->moments % 2 == 0)
		history->in_last += history->per_moment;
	history->per_moment *= 2;
	history->moments = moments;
	for (size_t i = 0; i < history->space_count; i++) {
		struct history_space *space = history->spaces[i];

		join_areas(history, space);
		join_counts(space);
		space->begin = half(space->begin);
		space->until = half(space->until);
		for (size_t k = 0; k < space->fork_count; k++)
			space->forks[k].moment = half(space->forks[k].moment);
	}
}

static int by_areas(const void *a, const void *b)
{
	const struct history_space *left = *(struct history_space *const *)a;
	const struct history_space *right = *(struct history_space *const *)b;

	if (left->area_count != right->area_count)
		return left->area_count < right->area_count ? -1 : 1;
	return left->id < right->id ? -1 : 1;
}

static void leave_out(struct history *history, struct history_space *space)
{
	history->area_count -= space->area_count;
	history->left_out++;
	free(space->areas);
	space->areas = NULL;
	space->area_count = space->area_capacity = 0;
	space->left_out = true;
}

/* The ended spaces that have areas, those with fewest first. Returns how many areas they have. */
static size_t find_ended(const struct history *history, struct history_space **ended, size_t *count)
{
	size_t areas = 0;

	*count = 0;
	for (size_t i = 0; i < history->space_count; i++) {
		struct history_space *space = history->spaces[i];

		if (!space->ended || space->left_out)
			continue;
		areas += space->area_count;
		ended[(*count)++] = space;
	}
	qsort(ended, *count, sizeof(*ended), by_areas);
	return areas;
}

/* Leaves out the areas of ended spaces, until what they have is a quarter of @areas. */
static bool leave_out_ended(struct history *history, size_t areas)
{
	struct history_space **ended = calloc(history->space_count + 1, sizeof(*ended));
	size_t count, kept;
	bool any = false;

	if (!ended) {
		history->failed = true;
		return false;
	}
	kept = find_ended(history, ended, &count);
	/* The largest one stays. */
	for (size_t i = 0; kept > areas / 2 && i + 1 < count; i++) {
		kept -= ended[i]->area_count;
		leave_out(history, ended[i]);
		any = true;
	}
	free(ended);
	return any;
}

static int by_forgettable(const void *a, const void *b)
{
	const struct history_space *left = *(struct history_space *const *)a;
	const struct history_space *right = *(struct history_space *const *)b;

	if (left->ended != right->ended)
		return left->ended ? 1 : -1;
	if (left->area_count != right->area_count)
		return left->area_count < right->area_count ? 1 : -1;
	return left->id < right->id ? -1 : 1;
}

static int by_id(const void *a, const void *b)
{
	const struct history_space *left = *(struct history_space *const *)a;
	const struct history_space *right = *(struct history_space *const *)b;

	return left->id < right->id ? -1 : 1;
}

/* Of very many spaces those that have ended, and had fewest areas, are not even told of. */
static bool forget_spaces(struct history *history)
{
	bool any = false;

	qsort(history->spaces, history->space_count, sizeof(*history->spaces), by_forgettable);
	while (history->space_count > SPACES_KEPT &&
	       history->spaces[history->space_count - 1]->ended) {
		struct history_space *space = history->spaces[--history->space_count];

		history->area_count -= space->area_count;
		history->left_out -= space->left_out;
		history->forgotten++;
		free(space->areas);
		free(space->counts);
		free(space->forks);
		mtree_destroy(&space->live);
		free(space);
		any = true;
	}
	qsort(history->spaces, history->space_count, sizeof(*history->spaces), by_id);
	return any;
}

static void sweep_names(struct history *history)
{
	names_unmark(&history->whats);
	names_unmark(&history->causes);
	for (size_t i = 0; i < history->space_count; i++)
		for (size_t k = 0; k < history->spaces[i]->area_count; k++) {
			((struct name *)history->spaces[i]->areas[k].what)->number = 1;
			((struct name *)history->spaces[i]->areas[k].cause)->number = 1;
		}
	names_sweep(&history->whats);
	names_sweep(&history->causes);
}

bool history_thin(struct history *history, size_t areas)
{
	bool any = history->space_count > SPACES_KEPT && forget_spaces(history);

	any |= history->area_count > areas && leave_out_ended(history, areas);
	if (!any || history->area_count > areas) {
		if (history->moments < 3 && !any)
			return false;
		join_moments(history);
	}
	sweep_names(history);
	return !history->failed;
}
