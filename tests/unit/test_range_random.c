/* SPDX-License-Identifier: MIT */
/*
 * test_range_random.c - a tree as a map of intervals, at random against an array: stores that join
 * equal neighbours, updates and erasures, also when memory is refused; beside readers, snapshots and
 * with references. The single cases: test_range.c.
 *
 * Arguments: the seed and the number of operations for each kind of tree.
 */
#include "fixture.h"

#include "../model/random.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <urcu-bp.h>

static unsigned long seed = 1, operations = 3000;

#define CELLS 500 /* the last one stands for all indexes above */
#define KINDS 6	  /* of entries: those of one kind are equal */

/* A range is cells with the same @range; @entry 0: none, and then range is 0. */
struct map {
	unsigned long entry[CELLS];
	unsigned long range[CELLS];
};

/*
 * @refuse: how many of 16 allocations are refused. @many: pieces that a function was asked for, of
 * which nothing is to be asked again.
 */
struct run {
	struct maple_tree mt;
	struct maple_tree snap;
	struct mt_allocator alloc;
	struct random random;
	struct map map;
	struct map snapped;
	bool has_snap;
	bool counted;
	unsigned int refuse;
	unsigned long blocks;
	unsigned long refused;
	unsigned int most; /* ranges, at one time */
	unsigned long made;
	unsigned long salt;
	unsigned long pieces;
	struct {
		unsigned long first;
		unsigned long last;
		void *old;
	} piece[CELLS];
	const char *what;
};

static struct run the;

static unsigned long below(unsigned long limit)
{
	return random_below(&the.random, limit);
}

static void *refusing_alloc(void *ctx, size_t size, size_t align)
{
	struct run *run = ctx;

	if (below(16) < run->refuse) {
		run->refused++;
		return NULL;
	}
	__atomic_add_fetch(&run->blocks, 1, __ATOMIC_RELAXED);
	return aligned_alloc(align, size);
}

static void freeing(void *ctx, void *block, size_t size)
{
	struct run *run = ctx;

	(void)size;
	__atomic_sub_fetch(&run->blocks, 1, __ATOMIC_RELAXED);
	free(block);
}

static long references;

static void get(void *entry)
{
	(void)entry;
	__atomic_add_fetch(&references, 1, __ATOMIC_RELAXED);
}

static void put(void *entry)
{
	(void)entry;
	__atomic_sub_fetch(&references, 1, __ATOMIC_RELAXED);
}

static const struct mt_entry_ops counting = { get, put };

static void *value(unsigned long entry)
{
	return entry ? xa_mk_value(entry) : NULL;
}

static bool same_kind(const void *a, const void *b)
{
	return xa_to_value(a) % KINDS == xa_to_value(b) % KINDS;
}

static bool equal(unsigned long a, unsigned long b, mt_same_fn *same)
{
	return a == b || (same && a && b && a % KINDS == b % KINDS);
}

static unsigned long end_of(unsigned int cell)
{
	return cell == CELLS - 1 ? ULONG_MAX : cell;
}

static void map_store(struct map *map, unsigned int first, unsigned int last, unsigned long entry)
{
	static unsigned long ranges;

	ranges++;
	for (unsigned int i = first; i <= last; i++) {
		map->entry[i] = entry;
		map->range[i] = entry ? ranges : 0;
	}
}

static unsigned int range_first(const struct map *map, unsigned int at)
{
	while (at && map->range[at - 1] == map->range[at])
		at--;
	return at;
}

static unsigned int range_last(const struct map *map, unsigned int at)
{
	while (at + 1 < CELLS && map->range[at + 1] == map->range[at])
		at++;
	return at;
}

/* Widens [*first, *last], which is to hold @entry, to all that is joined with it. */
static void widen(const struct map *map, unsigned int *first, unsigned int *last,
		  unsigned long entry, mt_same_fn *same)
{
	if (*first && equal(map->entry[*first - 1], entry, same))
		*first = range_first(map, *first - 1);
	if (*last < CELLS - 1 && equal(map->entry[*last + 1], entry, same))
		*last = range_last(map, *last + 1);
}

static void expect_map(struct maple_tree *mt, const struct map *map)
{
	const char *reason = "";
	MA_STATE(mas, mt, 0, 0);
	unsigned int at = 0, count = 0;

	mtree_lock(mt);
	if (!mt_check(mt, &reason))
		fail_msg("seed %lu, after %s: %s", seed, the.what, reason);
	while (at < CELLS) {
		void *entry;

		mas_set(&mas, at);
		entry = mas_walk(&mas);
		if (entry != value(map->entry[at]) || mas.index != at ||
		    mas.last != end_of(range_last(map, at)))
			fail_msg("seed %lu, after %s: %lx-%lx, %p, not %p up to %lx", seed,
				 the.what, mas.index, mas.last, entry, value(map->entry[at]),
				 end_of(range_last(map, at)));
		at = range_last(map, at) + 1;
		count++;
	}
	mtree_unlock(mt);
	if (count > the.most)
		the.most = count;
}

static void draw(unsigned int *first, unsigned int *last)
{
	unsigned int width = (unsigned int)(below(40) ? below(8) : below(CELLS));

	*first = (unsigned int)below(CELLS);
	if (below(3) == 0) /* where a range begins */
		*first = range_first(&the.map, *first);
	*last = *first + width < CELLS ? *first + width : CELLS - 1;
	if (below(3) == 0)
		*last = range_last(&the.map, *last);
}

static void check_error(int error)
{
	if (error && (error != -ENOMEM || !the.refuse))
		fail_msg("seed %lu: %s: error %d", seed, the.what, error);
}

/* Whether the call did it; after an error nothing is changed, and the cursor is where it was. */
static bool done(int error)
{
	check_error(error);
	return !error;
}

static void store(void)
{
	unsigned long entry = below(3) ? ++the.made : 0;
	unsigned int first, last;

	the.what = "a store";
	draw(&first, &last);
	if (done(mtree_store_range(&the.mt, first, end_of(last), value(entry), GFP_KERNEL)))
		map_store(&the.map, first, last, entry);
}

static void merge(void)
{
	mt_same_fn *same = below(2) ? same_kind : NULL;
	unsigned long entry = ++the.made;
	unsigned int first, last, from, to;
	int error;

	the.what = "a joined store";
	draw(&first, &last);
	if (below(2))
		entry = the.map.entry[first ? first - 1 : last];
	from = first;
	to = last;
	if (below(2)) {
		error = mtree_store_merge(&the.mt, first, end_of(last), value(entry), same,
					  GFP_KERNEL);
	} else {
		MA_STATE(mas, &the.mt, first, end_of(last));

		mtree_lock(&the.mt);
		if (below(2))
			mas_walk(&mas);
		mas.index = first;
		mas.last = end_of(last);
		error = mas_store_merge(&mas, value(entry), same, GFP_KERNEL);
		widen(&the.map, &from, &to, entry, same);
		assert_int_equal(mas.index, error ? first : from);
		assert_int_equal(mas.last, end_of(error ? last : to));
		mas_destroy(&mas);
		mtree_unlock(&the.mt);
	}
	if (!done(error))
		return;
	widen(&the.map, &first, &last, entry, same);
	map_store(&the.map, first, last, entry);
}

/* What becomes of a piece, from nothing but the piece. */
static unsigned long become(unsigned long old, unsigned long first)
{
	switch ((first * 2654435761u + the.salt) % 7) {
	case 0: return the.salt % 2 ? 0 : old;
	case 1: case 2: return old;
	case 3: return (old + the.salt) % 5000 + 1;
	case 4: return first % KINDS + 1;
	case 5: return the.salt % KINDS + 1;
	default: return first + 1000;
	}
}

static void *update_fn(void *old, unsigned long first, unsigned long last, void *ctx)
{
	struct run *run = ctx;

	assert_true(run->pieces < CELLS);
	run->piece[run->pieces].first = first;
	run->piece[run->pieces].last = last;
	run->piece[run->pieces++].old = old;
	return value(become(old ? xa_to_value(old) : 0, first));
}

/* Joins the pieces of the array, and compares what the function was told. */
static void map_update(unsigned int first, unsigned int last, mt_same_fn *same)
{
	const struct map old = the.map;
	unsigned int at = first, to, from = first, piece = 0;
	unsigned long run = 0, entry;

	for (; at <= last; at = to + 1, piece++) {
		to = range_last(&old, at) < last ? range_last(&old, at) : last;
		assert_int_equal(the.piece[piece].first, at);
		assert_int_equal(the.piece[piece].last, end_of(to));
		assert_ptr_equal(the.piece[piece].old, value(old.entry[at]));
		entry = become(old.entry[at], at);
		if (at > first && equal(entry, run, same))
			continue;
		if (at > first) {
			unsigned int end = at - 1;

			if (from == first)
				widen(&old, &from, &end, run, same);
			map_store(&the.map, from, at - 1, run);
			from = at;
		}
		run = entry;
	}
	assert_int_equal(the.pieces, piece);
	at = from;
	widen(&old, &at, &last, run, same);
	map_store(&the.map, from == first ? at : from, last, run);
}

static void update(void)
{
	mt_same_fn *same = below(2) ? same_kind : NULL;
	unsigned int first, last;

	the.what = "an update";
	draw(&first, &last);
	the.salt = below(1000);
	the.pieces = 0;
	if (done(mtree_update_range(&the.mt, first, end_of(last), update_fn, &the, same,
				    GFP_KERNEL)))
		map_update(first, last, same);
}

static void erased_fn(void *old, unsigned long first, unsigned long last, void *ctx)
{
	(void)update_fn(old, first, last, ctx);
}

static void erase(void)
{
	unsigned int first, last, at, to, piece = 0;

	the.what = "an erasure";
	draw(&first, &last);
	the.pieces = 0;
	if (!done(mtree_erase_range(&the.mt, first, end_of(last), erased_fn, &the, GFP_KERNEL))) {
		assert_int_equal(the.pieces, 0);
		return;
	}
	for (at = first; at <= last; at = to + 1) {
		to = range_last(&the.map, at) < last ? range_last(&the.map, at) : last;
		if (!the.map.entry[at])
			continue;
		assert_int_equal(the.piece[piece].first, at);
		assert_int_equal(the.piece[piece].last, end_of(to));
		assert_ptr_equal(the.piece[piece++].old, value(the.map.entry[at]));
	}
	assert_int_equal(the.pieces, piece);
	map_store(&the.map, first, last, 0);
}

static void init_tree(struct maple_tree *mt, unsigned int flags)
{
	mt_init_flags(mt, flags);
	assert_int_equal(mt_set_allocator(mt, &the.alloc), 0);
	if (the.counted)
		assert_int_equal(mt_set_entry_ops(mt, &counting), 0);
}

static void snapshot(unsigned int flags)
{
	if (the.has_snap) {
		the.what = "writes beside a snapshot";
		expect_map(&the.snap, &the.snapped);
		mtree_destroy(&the.snap);
	}
	init_tree(&the.snap, flags);
	assert_int_equal(mtree_snapshot(&the.mt, &the.snap, GFP_KERNEL), 0);
	the.snapped = the.map;
	the.has_snap = true;
}

static void operate(unsigned int flags, bool snapshots)
{
	switch (below(16)) {
	case 0: case 1: case 2: case 3:
		store();
		break;
	case 4: case 5: case 6: case 7:
		merge();
		break;
	case 8: case 9: case 10: case 11: case 12: case 13:
		update();
		break;
	case 14:
		erase();
		break;
	default:
		if (snapshots && below(8) == 0)
			snapshot(flags);
	}
}

static void run_random(unsigned int flags, bool snapshots, bool counted)
{
	memset(&the, 0, sizeof(the));
	the.alloc = (struct mt_allocator){ refusing_alloc, freeing, &the };
	the.counted = counted;
	the.made = 10;
	random_seed(&the.random, seed);
	init_tree(&the.mt, flags);
	for (unsigned long op = 0; op < operations; op++) {
		the.refuse = op / 256 % 2 ? 1 + (unsigned int)below(6) : 0;
		operate(flags, snapshots);
		expect_map(&the.mt, &the.map);
	}
	if (operations >= 2000)
		assert_true(the.refused > 5 && the.most > CELLS / 5);
	print_message("# at most %u ranges, %lu allocations refused\n", the.most, the.refused);
	the.refuse = 0;
	if (the.has_snap)
		mtree_destroy(&the.snap);
	mtree_destroy(&the.mt);
	assert_int_equal(mt_barrier(), 0);
	assert_int_equal(the.blocks, 0);
	assert_int_equal(references, 0);
}

#define GAPS MT_FLAGS_ALLOC_RANGE
#define RCU  MT_FLAGS_USE_RCU

static void at_random(void **state)
{
	(void)state;
	run_random(0, false, false);
}

static void at_random_with_gaps(void **state)
{
	(void)state;
	run_random(GAPS, false, false);
}

static void at_random_beside_readers(void **state)
{
	(void)state;
	run_random(RCU, false, false);
	run_random(GAPS | RCU, false, false);
}

static void at_random_beside_snapshots(void **state)
{
	(void)state;
	run_random(0, true, false);
	run_random(GAPS | RCU, true, false);
}

static void at_random_with_references(void **state)
{
	(void)state;
	run_random(GAPS, false, true);
	run_random(RCU, true, true);
}

/* Behind the plan: see tests/tap.sh. */
static int say_seed(void **state)
{
	(void)state;
	print_message("# seed %lu, %lu operations\n", seed, operations);
	return 0;
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(at_random),
		cmocka_unit_test(at_random_with_gaps),
		cmocka_unit_test(at_random_beside_readers),
		cmocka_unit_test(at_random_beside_snapshots),
		cmocka_unit_test(at_random_with_references),
	};

	if (argc > 1)
		seed = strtoul(argv[1], NULL, 0);
	if (argc > 2)
		operations = strtoul(argv[2], NULL, 0);
	return cmocka_run_group_tests(tests, say_seed, NULL);
}
