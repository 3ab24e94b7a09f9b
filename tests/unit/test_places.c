/* SPDX-License-Identifier: MIT */
/*
 * test_places.c - the same two writes over and over, at every place of a tree: after a few rounds
 * neither takes a node any more, wherever leaves begin and end.
 *
 * What undoes a write must not undo how leaves were divided for it, or the two would divide and
 * join them for ever. Trees have areas of 4 indexes, each followed by a gap of 4.
 */
#include "fixture.h"

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
};

static const struct pattern patterns[] = {
	{ "an area grows and shrinks", 4, 5, true, false },
	{ "an area grows into all of the gap", 4, 7, true, false },
	{ "an area comes and goes beside another", 4, 5, false, false },
	{ "an area comes and goes in a gap", 5, 6, false, false },
	{ "an area comes and goes that fills a gap", 4, 7, false, false },
	{ "an area goes and comes back", 0, 3, true, true },
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
	bool grown = p->grows && !p->removes;

	if (p->removes)
		store(at + p->first, at + p->last, NULL);
	store(grown ? at : at + p->first, at + p->last, entry);
	if (!p->removes)
		store(at + p->first, at + p->last, NULL);
}

static void try_places(const struct pattern *p, unsigned long areas, unsigned long step)
{
	for (unsigned long i = 0; i < areas; i += step) {
		for (int round = 0; round < SETTLING + ROUNDS; round++) {
			if (round == SETTLING)
				memset(work_done, 0, sizeof(work_done));
			one_round(p, 8 * i);
		}
		if (work_done[WORK_NODE_COPIED] || work_done[WORK_NODE_BUILT])
			fail_msg("%s at place %lu of %lu, flags %#x: %lu nodes copied, %lu built",
				 p->name, i, areas, mt.ma_flags, work_done[WORK_NODE_COPIED],
				 work_done[WORK_NODE_BUILT]);
	}
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
