/* SPDX-License-Identifier: MIT */
/*
 * test_races.c - a read in RCU mode beside one write: the reader starts between any two stores of
 * the writer, and the writer makes some more stores before any of the reader's loads.
 *
 * Both run in one thread, the writer on its own stack. The library is compiled with races.h
 * included first, which defines where they may be switched. docs/concurrency.md says what a read
 * may return: each answer is from the tree before the write or after it. The order in which another
 * processor would see the stores is not tested here.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "race.h"

/* ---- all schedules ------------------------------------------------------------------------- */

static void expect_listing(const struct listing *want)
{
	struct listing got;

	take(&got, &race.mt);
	assert_int_equal(got.ranges, want->ranges);
	for (unsigned int i = 0; i < got.ranges; i++) {
		assert_int_equal(got.range[i].first, want->range[i].first);
		assert_int_equal(got.range[i].last, want->range[i].last);
		assert_ptr_equal(got.range[i].entry, want->range[i].entry);
	}
	assert_true(mt_check(&race.mt, NULL));
}

/* Returns whether the reader came to the load at which the two were to be switched. */
static bool run(struct maple_tree *original, unsigned int which, unsigned long index,
		const struct schedule *schedule)
{
	const char *wrong;

	begin_race(original);
	race.schedule = *schedule;
	if (race_readers[which].prepare)
		race_readers[which].prepare(index);
	go_on(schedule->before);
	race.loads_left = schedule->load;
	race.armed = true;
	wrong = race_readers[which].read(index);
	race.armed = false;
	if (wrong)
		fail_msg("%s: %s(%#lx) at load %lu, after %lu stores, then %lu again after %lu",
			 wrong, race_readers[which].name, index, schedule->load, schedule->before,
			 schedule->burst, schedule->again);
	go_on(ULONG_MAX);
	return race.met;
}

/*
 * Where the writer makes many stores, not every schedule is run by every reader at every index,
 * unless asked for; but from each store on some are.
 */
static bool every_schedule;
static bool few_schedules; /* RACE_SCHEDULES=few: for what makes programs many times slower */

static void race_all(struct maple_tree *original, unsigned long stores, unsigned int which,
		     unsigned long index)
{
	static const struct schedule bursts[] = {
		{ .burst = 1 }, { .burst = 2 },		    { .burst = ULONG_MAX },
		{ .burst = 1, .again = 1 }, { .burst = 1, .again = 3 },
	};
	struct schedule s;

	for (size_t i = 0; i < LENGTH(bursts); i++) {
		unsigned long step = every_schedule ? 1 : 1 + stores / (i ? 4 : 12);

		if (few_schedules)
			step = 1 + stores;
		s = bursts[i];
		for (s.before = (which + index) % step; s.before < stores; s.before += step)
			for (s.load = 0; run(original, which, index, &s); s.load++)
				;
	}
}

static void race_scenario(const struct scenario *s, unsigned int flags)
{
	unsigned long points[] = { 0, s->first ? s->first - 1 : 0, s->first, s->last, s->last + 1 };
	struct maple_tree original;

	mt_init_flags(&original, flags | MT_FLAGS_USE_RCU);
	mt_set_rcu_flavour(&original, &alone);
	for (unsigned long i = 0; i < s->count; i++)
		mtree_store_range(&original, s->base + 4 * i, s->base + 4 * i + s->width - 1,
				  xa_mk_value(i), GFP_KERNEL);
	race.scenario = s;
	begin_race(&original);
	take(&race.old, &race.mt);
	go_on(ULONG_MAX);
	take(&race.new, &race.mt);
	assert_true(race.stores > 0);
	for (unsigned int which = 0; which < race_readers_count; which++)
		for (size_t i = 0; i < (race_readers[which].prepare ? 2 : LENGTH(points)); i++)
			race_all(&original, race.stores, which, points[i]);
	expect_listing(&race.new);
	mtree_destroy(&original);
}

static void race_scenarios(const struct scenario *scenarios, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		race_scenario(&scenarios[i], 0);
		race_scenario(&scenarios[i], MT_FLAGS_ALLOC_RANGE);
	}
}

static void nodes_come_and_go(void **state)
{
	static const struct scenario scenarios[] = {
		{ 0, 0, 0, 0, 0, 9 },	      /* an entry at 0 into an empty tree */
		{ 0, 0, 0, 5, 9, 9 },	      /* a node for an empty tree */
		{ 0, 0, 0, 0, ULONG_MAX, 9 }, /* one that is full */
		{ 0, 1, 1, 0, 0, -1 },	      /* away with a lone entry at 0 */
		{ 0, 1, 1, 0, 0, 9 },	      /* another */
		{ 0, 1, 1, 3, 5, 9 },	      /* a node for a lone entry */
		{ 0, 1, 1, 0, 5, 9 },
		{ 0, 2, 1, 4, 4, -1 }, /* back to a lone entry */
		{ 4, 1, 3, 4, 6, -1 }, /* the last entry goes */
		{ 4, 12, 3, 0, ULONG_MAX, -1 },
		{ 4, 12, 3, 0, ULONG_MAX, 9 },
	};

	(void)state;
	race_scenarios(scenarios, LENGTH(scenarios));
}

static void words_of_a_leaf_change(void **state)
{
	static const struct scenario scenarios[] = {
		{ 4, 2, 4, 4, 9, 0 },	       /* a boundary goes up */
		{ 4, 2, 4, 6, 11, 1 },	       /* and down */
		{ 4, 2, 4, 8, 11, 9 },	       /* another entry */
		{ 4, 2, 4, 12, 13, 9 },	       /* one more behind the last */
		{ 4, 2, 4, 14, 15, 9 },	       /* in the middle of the last gap */
		{ 4, 2, 4, 12, ULONG_MAX, 9 }, /* all of it */
		{ 4, 2, 4, 8, 11, -1 },	       /* the last entry goes */
		{ 4, 1, 4, 8, 9, 9 },
		{ 4, 2, 3, 8, 10, -1 },
	};

	(void)state;
	race_scenarios(scenarios, LENGTH(scenarios));
}

static void slots_of_a_leaf_move(void **state)
{
	static const struct scenario scenarios[] = {
		{ 4, 4, 1, 10, 10, 9 }, /* into the middle of a gap, entries behind */
		{ 4, 4, 1, 9, 10, 9 },	/* at its beginning */
		{ 4, 4, 1, 10, 11, 9 }, /* at its end */
		{ 4, 4, 1, 8, 8, -1 },	/* away from between two gaps */
		{ 4, 4, 4, 10, 11, 9 }, /* over the end of an entry */
		{ 4, 4, 4, 8, 9, 9 },	/* over the beginning of one */
		{ 4, 4, 4, 10, 11, -1 },
		{ 4, 4, 4, 4, 11, 0 },	/* an entry takes over all of the next */
		{ 4, 4, 4, 4, 11, 1 },	/* and of the one before */
	};

	(void)state;
	race_scenarios(scenarios, LENGTH(scenarios));
}

static void nodes_are_replaced(void **state)
{
	static const struct scenario scenarios[] = {
		{ 4, 12, 3, 9, 9, 9 },	   /* in the middle of a range */
		{ 4, 12, 3, 7, 7, 9 },	   /* into a gap */
		{ 4, 12, 3, 16, 18, -1 },  /* an entry between others goes */
		{ 4, 12, 3, 4, 6, -1 },	   /* the first one */
		{ 4, 12, 3, 48, 50, -1 },  /* the last one */
		{ 4, 12, 3, 5, 40, -1 },   /* many */
		{ 4, 12, 3, 9, 30, 9 },	   /* one for many */
	};

	(void)state;
	race_scenarios(scenarios, LENGTH(scenarios));
}

static void leaves_are_divided_and_joined(void **state)
{
	static const struct scenario scenarios[] = {
		{ 4, 40, 4, 70, 70, 9 },   /* into a full leaf between full ones */
		{ 4, 40, 4, 5, 5, 9 },	   /* into the first one */
		{ 4, 24, 3, 32, 34, -1 },  /* the last entry of a leaf, a gap in the next one */
		{ 0, 24, 3, 32, 34, -1 },  /* the first entry of one, a gap in the one before */
		{ 4, 33, 4, 68, 115, -1 }, /* a leaf too empty, its neighbour nearly so */
		{ 4, 40, 4, 68, 115, -1 }, /* its neighbours full */
		{ 4, 40, 4, 68, 115, 9 },
	};

	(void)state;
	race_scenarios(scenarios, LENGTH(scenarios));
}

/* --full: every schedule, about a minute. */
int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nodes_come_and_go),
		cmocka_unit_test(words_of_a_leaf_change),
		cmocka_unit_test(slots_of_a_leaf_move),
		cmocka_unit_test(nodes_are_replaced),
		cmocka_unit_test(leaves_are_divided_and_joined),
	};

	few_schedules = getenv("RACE_SCHEDULES") && !strcmp(getenv("RACE_SCHEDULES"), "few");
	every_schedule = argc > 1 && !strcmp(argv[1], "--full");
	return cmocka_run_group_tests_name("races", tests, NULL, NULL);
}
