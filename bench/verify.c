/* SPDX-License-Identifier: MIT */
/*
 * verify.c - compares an engine with the simplest model there is: an array with one entry per
 * index of a small universe.
 */
#include "verify.h"
#include "data.h"

#include <err.h>
#include <stdlib.h>
#include <string.h>

#define UNIVERSE 600
#define STEPS    6000
#define CHECK_EVERY 50

/* An engine under test; entries are distinct, so equal neighbours belong to one range. */
struct trial {
	const struct engine *engine;
	void *map;
	void *model[UNIVERSE];
	void *snapshot; /* of the map when it was last compared, and what it holds */
	void *then[UNIVERSE];
	struct random random;
	unsigned long stores;
	uint64_t seed;
	unsigned int step;
};

__attribute__((noreturn)) static void fail(const struct trial *trial, const char *what,
					   unsigned long index)
{
	errx(1, "%s answers wrongly: %s at index %lu (seed %lu, step %u)", trial->engine->name,
	     what, index, (unsigned long)trial->seed, trial->step);
}

static unsigned long below(struct trial *trial, unsigned long bound)
{
	return random_below(&trial->random, bound);
}

/* The extent of equal indexes around @index, a range or a gap. */
static struct range extent(const struct trial *trial, unsigned long index)
{
	struct range range = { index, index, trial->model[index] };

	while (range.first && trial->model[range.first - 1] == range.entry)
		range.first--;
	while (range.last + 1 < UNIVERSE && trial->model[range.last + 1] == range.entry)
		range.last++;
	return range;
}

static void paint(struct trial *trial, unsigned long first, unsigned long last, void *entry)
{
	for (unsigned long i = first; i <= last; i++)
		trial->model[i] = entry;
}

static size_t model_list(const struct trial *trial, struct range *out)
{
	size_t count = 0;

	for (unsigned long i = 0; i < UNIVERSE;) {
		struct range range = extent(trial, i);

		if (range.entry)
			out[count++] = range;
		i = range.last + 1;
	}
	return count;
}

static void compare_lists(const struct trial *trial, void *map, const char *what)
{
	const struct engine *engine = trial->engine;
	struct range expected[UNIVERSE], found[UNIVERSE];
	size_t count = model_list(trial, expected);

	for (int backward = 0; engine->list && backward < 2 - engine->forward_only; backward++) {
		unsigned long sum = 0;

		if (engine->list(map, backward, found, UNIVERSE) != count)
			fail(trial, what, 0);
		for (size_t i = 0; i < count; i++) {
			const struct range *a = &expected[i];
			const struct range *b = &found[backward ? count - 1 - i : i];

			if (a->first != b->first || a->last != b->last || a->entry != b->entry)
				fail(trial, what, a->first);
			sum += a->last + (unsigned long)a->entry;
		}
		if (engine->sum(map, backward) != sum)
			fail(trial, "the sum of all ranges", 0);
		if (engine->sum_each && engine->sum_each(map) != sum)
			fail(trial, "the sum without a cursor", 0);
	}
}

static void compare_loads(struct trial *trial, void *map)
{
	const struct engine *engine = trial->engine;
	unsigned long keys[UNIVERSE + 10], sum = 0;
	void *entries[UNIVERSE + 10];

	for (unsigned long i = 0; i < UNIVERSE + 10; i++) {
		void *expected = i < UNIVERSE ? trial->model[i] : NULL;

		keys[i] = i;
		sum += (unsigned long)expected;
		if (engine->load(map, i) != expected)
			fail(trial, "load", i);
	}
	if (engine->independent(map, keys, UNIVERSE + 10) != sum ||
	    engine->chained(map, keys, UNIVERSE + 10) != sum)
		fail(trial, "the loops of loads", 0);
	if (!engine->load_many)
		return;
	engine->load_many(map, keys, entries, UNIVERSE + 10);
	for (unsigned long i = 0; i < UNIVERSE + 10; i++) {
		if (entries[i] != (i < UNIVERSE ? trial->model[i] : NULL))
			fail(trial, "load_many", i);
	}
}

/* What a snapshot holds stays, whatever became of the map; then takes the next. */
static void compare_snapshot(struct trial *trial)
{
	void *now[UNIVERSE];

	if (trial->snapshot) {
		memcpy(now, trial->model, sizeof(now));
		memcpy(trial->model, trial->then, sizeof(now));
		compare_loads(trial, trial->snapshot);
		compare_lists(trial, trial->snapshot, "the list of a snapshot's ranges");
		trial->engine->destroy(trial->snapshot);
		memcpy(trial->model, now, sizeof(now));
	}
	trial->snapshot = trial->engine->snapshot(trial->map);
	if (!trial->snapshot)
		fail(trial, "the snapshot", 0);
	memcpy(trial->then, trial->model, sizeof(trial->then));
}

static void compare(struct trial *trial)
{
	const struct engine *engine = trial->engine;
	struct range ranges[UNIVERSE];
	size_t count = model_list(trial, ranges);

	if (trial->map) {
		compare_loads(trial, trial->map);
		compare_lists(trial, trial->map, "the list of ranges");
	}
	if (engine->dup) {
		void *copy = engine->dup(trial->map);

		if (!copy)
			fail(trial, "the copy", 0);
		compare_loads(trial, copy);
		compare_lists(trial, copy, "the list of a copy's ranges");
		engine->destroy(copy);
	}
	if (engine->snapshot)
		compare_snapshot(trial);
	if (engine->build) {
		void *built = engine->build(ranges, count);

		if (!built)
			fail(trial, "the bulk build", 0);
		compare_loads(trial, built);
		compare_lists(trial, built, "the list of a built map's ranges");
		engine->destroy(built);
	}
}

static void check_gap(struct trial *trial)
{
	const struct engine *engine = trial->engine;
	unsigned long start = 0, expected, last;
	struct gap gap = { below(trial, UNIVERSE / 2), 0, 1 + below(trial, 12) };
	void *entry = (void *)(8 * ++trial->stores);
	bool found, want = false;

	gap.max = gap.min + gap.size - 1 + below(trial, UNIVERSE - gap.min - gap.size + 1);
	for (expected = gap.max + 1 - gap.size; expected >= gap.min; expected--) {
		for (last = expected; last < expected + gap.size && !trial->model[last]; last++)
			;
		if (last == expected + gap.size) {
			want = true;
			break;
		}
		if (!expected)
			break;
	}
	found = engine->find_gap(trial->map, &gap, &start);
	if (found != want || (want && start != expected))
		fail(trial, "the highest gap", expected);
	if (below(trial, 2))
		return;
	found = engine->alloc(trial->map, &gap, entry, &start);
	if (found != want || (want && start != expected))
		fail(trial, "the place of an allocation", expected);
	if (want)
		paint(trial, start, start + gap.size - 1, entry);
}

static void insert_or_erase(struct trial *trial, unsigned long index)
{
	struct range range = extent(trial, index);
	bool gap = !range.entry, ok;

	if (gap) {
		range.first += below(trial, range.last - range.first + 1);
		range.last = range.first + below(trial, range.last - range.first + 1);
		if (range.last - range.first > 20)
			range.last = range.first + 20;
		range.entry = (void *)(8 * ++trial->stores);
		if (trial->engine->append && range.last < UNIVERSE &&
		    extent(trial, range.first).last == UNIVERSE - 1)
			ok = trial->engine->append(trial->map, &range);
		else
			ok = trial->engine->insert(trial->map, &range);
	} else {
		ok = trial->engine->erase(trial->map, &range);
	}
	if (!ok)
		fail(trial, gap ? "an insertion" : "an erasure", range.first);
	paint(trial, range.first, range.last, gap ? range.entry : NULL);
}

static void store(struct trial *trial, unsigned long index)
{
	struct range range = { index, index + below(trial, 40), (void *)(8 * ++trial->stores) };

	if (range.last >= UNIVERSE)
		range.last = UNIVERSE - 1;
	if (!trial->engine->store(trial->map, &range))
		fail(trial, "a store", index);
	paint(trial, range.first, range.last, range.entry);
}

static void resize(struct trial *trial, unsigned long index)
{
	struct range range = extent(trial, index);
	unsigned long last;

	if (!range.entry)
		return;
	for (last = range.last; last + 1 < UNIVERSE && !trial->model[last + 1]; last++)
		;
	last = range.first + below(trial, last - range.first + 1);
	if (last == range.last)
		return;
	if (!trial->engine->resize(trial->map, &range, last))
		fail(trial, "a change of a range's end", range.first);
	paint(trial, range.first, range.last, NULL);
	paint(trial, range.first, last, range.entry);
}

/* The loops leave the map as it was; their searches must succeed. */
static void check_loops(struct trial *trial)
{
	const struct engine *engine = trial->engine;
	struct range top = { 0, 0, NULL };
	struct gap gap = { UNIVERSE, UNIVERSE + 100, 10 };

	for (unsigned long i = 0; i < UNIVERSE; i++) {
		if (trial->model[i])
			top = extent(trial, i);
	}
	if (top.entry && engine->brk1 && !engine->brk1(trial->map, &top, 3))
		fail(trial, "brk1", top.first);
	if (top.entry && engine->brk2 && !engine->brk2(trial->map, &top, 3))
		fail(trial, "brk2", top.first);
	if (engine->gaps && !engine->gaps(trial->map, &gap, 3))
		fail(trial, "the loop of gap searches", gap.min);
	if (engine->malloc1 && !engine->malloc1(trial->map, &gap, (void *)(8 * ++trial->stores), 3))
		fail(trial, "malloc1", gap.min);
}

static void step(struct trial *trial)
{
	const struct engine *engine = trial->engine;
	unsigned long index = below(trial, UNIVERSE);

	switch (below(trial, 8)) {
	case 0:
		if (engine->store)
			store(trial, index);
		break;
	case 1:
		if (engine->resize)
			resize(trial, index);
		break;
	case 2:
		if (engine->find_gap)
			check_gap(trial);
		break;
	default:
		insert_or_erase(trial, index);
	}
}

/* An engine that can only be built: build random maps. */
static void verify_built(struct trial *trial)
{
	for (trial->step = 0; trial->step < STEPS / CHECK_EVERY; trial->step++) {
		memset(trial->model, 0, sizeof(trial->model));
		for (unsigned long i = 0; i < UNIVERSE; i += 1 + below(trial, 9)) {
			unsigned long last = i + below(trial, 9);

			paint(trial, i, last < UNIVERSE ? last : UNIVERSE - 1,
			      (void *)(8 * ++trial->stores));
		}
		compare(trial);
	}
}

void verify_engine(const struct engine *engine, uint64_t seed)
{
	static const struct engine *done[64];
	struct trial *trial;
	size_t i;

	for (i = 0; i + 1 < sizeof(done) / sizeof(*done) && done[i]; i++) {
		if (done[i] == engine)
			return;
	}
	done[i] = engine;
	trial = calloc(1, sizeof(*trial));
	if (!trial)
		err(1, "verify");
	trial->engine = engine;
	trial->seed = seed;
	random_seed(&trial->random, seed);
	if (!engine->create) {
		verify_built(trial);
	} else {
		trial->map = engine->create();
		for (trial->step = 0; trial->step < STEPS; trial->step++) {
			step(trial);
			if (trial->step % CHECK_EVERY == 0) {
				check_loops(trial);
				compare(trial);
			}
		}
		compare(trial);
		if (trial->snapshot)
			engine->destroy(trial->snapshot);
		engine->destroy(trial->map);
	}
	free(trial);
}
