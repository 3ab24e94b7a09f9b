/* SPDX-License-Identifier: MIT */
/*
 * watch_order.c [SEED] - events that arrive as threads return leave in the order of the kernel's lock.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <cmocka.h>

#include "watch/order.h"

enum { TURNS = 200, ROUNDS = 300, LATE = 8 };

static unsigned int seed;

/* An event of @turn; of turn 0, one that comes after turn @after. */
static void arrive(struct order *order, __u64 turn, __u64 after)
{
	const struct watch_head head = { .kind = WATCH_CALL, .turn = turn, .after = after };
	struct waiting *waiting = order_copy(&head, sizeof(head), NULL, 0);

	assert_non_null(waiting);
	order_add(order, waiting);
}

/* All that may leave does, and is what it should be. Returns how many have left. */
static unsigned int leave(struct order *order, __u64 *last)
{
	struct waiting *waiting;
	unsigned int count = 0;

	for (; (waiting = order_next(order)); count++) {
		if (waiting->turn) {
			assert_int_equal(waiting->turn, *last + 1);
			*last = waiting->turn;
		} else {
			assert_true(waiting->after <= *last);
		}
		order_free(waiting);
	}
	return count;
}

/* Each turn arrives up to LATE places late, and there are events between that took no lock. */
static void calls_leave_by_their_turn(void **state)
{
	struct order order;

	(void)state;
	for (int round = 0; round < ROUNDS; round++) {
		__u64 turns[TURNS], last = 0;
		unsigned int sent = 0, left = 0;

		for (unsigned int i = 0; i < TURNS; i++)
			turns[i] = i + 1;
		for (unsigned int i = 0; i + LATE < TURNS; i++) {
			unsigned int other = i + (unsigned int)rand_r(&seed) % LATE;
			__u64 turn = turns[i];

			turns[i] = turns[other];
			turns[other] = turn;
		}
		order_init(&order);
		for (unsigned int i = 0; i < TURNS; i++, sent++) {
			if (rand_r(&seed) % 4 == 0) {
				arrive(&order, 0, 1 + (unsigned int)rand_r(&seed) % TURNS);
				sent++;
			}
			arrive(&order, turns[i], 0);
			left += leave(&order, &last);
		}
		assert_int_equal(last, TURNS);
		assert_int_equal(left, sent);
		assert_null(order.first);
	}
}

static void a_turn_is_waited_for(void **state)
{
	struct order order;
	__u64 last = 0;

	(void)state;
	order_init(&order);
	arrive(&order, 2, 0);
	arrive(&order, 0, 2);
	assert_int_equal(leave(&order, &last), 0);
	arrive(&order, 0, 0); /* depends on none */
	assert_int_equal(leave(&order, &last), 1);
	arrive(&order, 1, 0);
	assert_int_equal(leave(&order, &last), 3);
	assert_int_equal(last, 2);
}

/* Turn 3 was lost: what comes after it goes on, in its order. */
static void what_was_lost_is_not_waited_for(void **state)
{
	struct order order;
	__u64 last = 0;

	(void)state;
	order_init(&order);
	arrive(&order, 1, 0);
	arrive(&order, 5, 0);
	arrive(&order, 2, 0);
	arrive(&order, 4, 0);
	assert_int_equal(leave(&order, &last), 2);
	order_skip(&order);
	last = 3;
	assert_int_equal(leave(&order, &last), 2);
	assert_int_equal(last, 5);
	/* Nor were those before it that have not arrived yet; until all is known again. */
	arrive(&order, 9, 0);
	last = 8;
	assert_int_equal(leave(&order, &last), 1);
	order_whole(&order);
	arrive(&order, 11, 0);
	assert_int_equal(leave(&order, &last), 0);
	order_clear(&order);
	assert_null(order.first);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(calls_leave_by_their_turn),
		cmocka_unit_test(a_turn_is_waited_for),
		cmocka_unit_test(what_was_lost_is_not_waited_for),
	};

	seed = argc > 1 ? (unsigned int)strtoul(argv[1], NULL, 0) : (unsigned int)time(NULL);
	printf("# seed %u\n", seed);
	return cmocka_run_group_tests_name("order", tests, NULL, NULL);
}
