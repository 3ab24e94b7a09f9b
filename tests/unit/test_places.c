/* SPDX-License-Identifier: MIT */
/*
 * test_places.c - the same two writes over and over, at every place of a tree: after a few rounds
 * neither takes a node any more, wherever leaves begin and end, and none is much more work than
 * most.
 *
 * What undoes a write must not undo how leaves were divided for it, or the two would divide and
 * join them for ever. Trees have areas of 4 indexes, each followed by a gap of 4.
 */
#include "fixture.h"

#include <stdlib.h>
#include <string.h>

#include "node.h"
#include "work.h"

#ifdef NDEBUG

/* Work is counted with assertions only. */
static void a_release_counts_nothing(void **state)
{
	(void)state;
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(a_release_counts_nothing) };

	return cmocka_run_group_tests_name("places", tests, NULL, NULL);
}

#else

#define SETTLING 4 /* rounds until leaves are as they remain */
#define ROUNDS   4
#define WORST    3 /* times as much work as at half of all places */

static const unsigned int modes[] = {
	0,
	MT_FLAGS_ALLOC_RANGE,
	MT_FLAGS_USE_RCU,
	MT_FLAGS_ALLOC_RANGE | MT_FLAGS_USE_RCU,
};

/* Areas in trees of one level to four; of the largest not every place is looked at. */
static const struct {
	unsigned long areas, step;
} sizes[] = { { 6, 1 }, { 100, 1 }, { 900, 1 }, { 9000, 11 } };

/* Two writes, of which the second undoes the first, at the area or the gap that begins at @at. */
struct pattern {
	const char *name;
	unsigned long first, last; /* relative to @at */
	bool grows;                /* it is the area's entry that is written */
	bool removes;              /* the area is removed first, and put back */
	bool downwards;            /* the area grows into the gap before it; the first has none */
};

static const struct pattern patterns[] = {
	{ "an area grows and shrinks", 4, 5, true, false, false },
	{ "an area grows into all of the gap", 4, 7, true, false, false },
	{ "an area grows and shrinks at its lower end", -2ul, -1ul, true, false, true },
	{ "an area grows into all of the gap before it", -4ul, -1ul, true, false, true },
	{ "an area comes and goes beside another", 4, 5, false, false, false },
	{ "an area comes and goes in a gap", 5, 6, false, false, false },
	{ "an area comes and goes that fills a gap", 4, 7, false, false, false },
	{ "an area goes and comes back", 0, 3, true, true, false },
};

static struct maple_tree mt;

static void store(unsigned long first, unsigned long last, void *entry)
{
	assert_int_equal(mtree_store_range(&mt, first, last, entry, GFP_KERNEL), 0);
}

static void make_tree(unsigned int flags, unsigned long areas, bool ascending)
{
	unsigned long step = ascending ? 1 : 7; /* 7 divides no number of areas */

	mt_init_flags(&mt, flags);
	for (unsigned long i = 0; i < areas; i++) {
		unsigned long at = i * step % areas * 8;

		store(at, at + 3, xa_mk_value(at));
	}
}

static void one_round(const struct pattern *p, unsigned long at)
{
	void *entry = p->grows ? xa_mk_value(at) : E('x');
	unsigned long first = at + p->first, last = at + p->last;

	if (p->removes) {
		store(first, last, NULL);
		store(first, last, entry);
		return;
	}
	if (p->downwards)
		store(first, at + 3, entry);
	else
		store(p->grows ? at : first, last, entry);
	store(first, last, NULL);
}

static int by_size(const void *a, const void *b)
{
	unsigned long one = *(const unsigned long *)a, other = *(const unsigned long *)b;

	return (one > other) - (one < other);
}

/* All that was counted, whatever it was. */
static unsigned long work_of_all_kinds(void)
{
	unsigned long sum = 0;

	for (size_t i = 0; i < WORK_KINDS; i++)
		sum += work_done[i];
	return sum;
}

static void try_places(const struct pattern *p, unsigned long areas, unsigned long step)
{
	unsigned long *work = calloc(areas, sizeof(*work)), places = 0;

	assert_non_null(work);
	for (unsigned long i = p->downwards; i < areas; i += step) {
		for (int round = 0; round < SETTLING + ROUNDS; round++) {
			if (round == SETTLING)
				memset(work_done, 0, sizeof(work_done));
			one_round(p, 8 * i);
		}
		if (work_done[WORK_NODE_COPIED] || work_done[WORK_NODE_BUILT])
			fail_msg("%s at place %lu of %lu, flags %#x: %lu nodes copied, %lu built",
				 p->name, i, areas, mt.ma_flags, work_done[WORK_NODE_COPIED],
				 work_done[WORK_NODE_BUILT]);
		work[places++] = work_of_all_kinds();
	}
	qsort(work, places, sizeof(*work), by_size);
	if (work[places - 1] > WORST * work[places / 2])
		fail_msg("%s, %lu areas, flags %#x: %lu steps of work at most, half of them %lu",
			 p->name, areas, mt.ma_flags, work[places - 1], work[places / 2]);
	free(work);
}

static void no_two_writes_take_nodes_for_ever(void **state)
{
	(void)state;
	for (size_t m = 0; m < LENGTH(modes) * 2; m++) {
		for (size_t s = 0; s < LENGTH(sizes); s++) {
			for (size_t i = 0; i < LENGTH(patterns); i++) {
				make_tree(modes[m / 2], sizes[s].areas, m % 2);
				try_places(&patterns[i], sizes[s].areas, sizes[s].step);
				mt_validate(&mt);
				mtree_destroy(&mt);
			}
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_two_writes_take_nodes_for_ever),
	};

	return cmocka_run_group_tests_name("places", tests, NULL, NULL);
}

#endif
