/* SPDX-License-Identifier: MIT */
/*
 * compare.c - compares the tree with its oracle, and reports a difference with what led to it.
 */
#include "model.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <urcu-bp.h>

/* Trees of up to so many ranges are checked after every change, others at intervals. */
#define SMALL_RANGES      300
#define CHECK_INTERVAL    512
#define SMALL_COMPARE     32
#define COMPARE_INTERVAL  16384

void record(struct run *run, const char *name, unsigned long a, unsigned long b, unsigned long c,
	    const void *entry)
{
	run->records[run->recorded++ % RECORDS] = (struct record){ name, { a, b, c }, entry };
}

static void print_entry(const void *entry)
{
	if (!entry)
		printf("NULL");
	else if (xa_is_zero(entry))
		printf("zero");
	else if (xa_is_value(entry))
		printf("value %lu", xa_to_value(entry));
	else
		printf("%p", entry);
}

void fail(struct run *run, const char *format, ...)
{
	unsigned long from = run->recorded > RECORDS ? run->recorded - RECORDS : 0;
	va_list arguments;

	fflush(stdout);
	printf("model: mix %s, seed %llu, operation %lu: ", run->mix->name,
	       (unsigned long long)run->seed, run->op);
	va_start(arguments, format);
	vprintf(format, arguments);
	va_end(arguments);
	printf("\nThe last calls:\n");
	for (unsigned long i = from; i < run->recorded; i++) {
		const struct record *r = &run->records[i % RECORDS];

		printf("  %-16s 0x%lx 0x%lx 0x%lx ", r->name, r->arguments[0], r->arguments[1],
		       r->arguments[2]);
		print_entry(r->entry);
		printf("\n");
	}
	printf("Repeat with: model --mix=%s --flags=%s%s --seed=%llu --ops=%lu\n", run->mix->name,
	       run->flags & MT_FLAGS_ALLOC_RANGE ? "alloc" : "plain",
	       run->flags & MT_FLAGS_USE_RCU ? "+rcu" : "", (unsigned long long)run->seed,
	       run->op + 1);
	fflush(stdout);
	if (run->oracle.count <= SMALL_RANGES)
		mt_dump(&run->mt, mt_dump_hex);
	exit(1);
}

void expect_number(struct run *run, const char *what, unsigned long got, unsigned long expected)
{
	if (got != expected)
		fail(run, "%s is 0x%lx, expected 0x%lx", what, got, expected);
}

void expect_error(struct run *run, int got, int expected)
{
	if (got != expected)
		fail(run, "returned %d, expected %d", got, expected);
}

void expect_entry(struct run *run, const void *got, const void *expected)
{
	if (got != expected)
		fail(run, "entry %p, expected %p", got, expected);
}

static void expect_range(struct run *run, const struct ma_state *mas, const void *entry,
			 const struct oracle_range *range)
{
	if (entry != range->entry || mas->index != range->first || mas->last != range->last)
		fail(run, "walk gives 0x%lx-0x%lx:%p, expected 0x%lx-0x%lx:%p", mas->index,
		     mas->last, entry, range->first, range->last, range->entry);
}

static void check(struct run *run, struct maple_tree *mt)
{
	const char *reason = NULL;

	if (!mt_check(mt, &reason))
		fail(run, "mt_check: %s", reason ? reason : "no reason given");
}

void compare_all(struct run *run, struct maple_tree *mt, const struct oracle *oracle)
{
	MA_STATE(mas, mt, 0, 0);

	mtree_lock(mt);
	check(run, mt);
	expect_number(run, "mtree_empty", mtree_empty(mt), oracle_empty(oracle));
	for (size_t i = 0; i < oracle->count; i++) {
		void *entry;

		mas_set(&mas, oracle->ranges[i].first);
		entry = mas_walk(&mas);
		expect_range(run, &mas, entry, &oracle->ranges[i]);
	}
	mtree_unlock(mt);
}

static void compare_at(struct run *run, unsigned long index)
{
	MA_STATE(mas, &run->mt, index, index);

	expect_range(run, &mas, mas_walk(&mas),
		     &run->oracle.ranges[oracle_at(&run->oracle, index)]);
}

void compare_change(struct run *run, unsigned long first, unsigned long last)
{
	bool small = run->oracle.count <= SMALL_RANGES;

	urcu_bp_read_lock();
	compare_at(run, first - (first > 0));
	compare_at(run, first);
	compare_at(run, last);
	compare_at(run, last + (last < ULONG_MAX));
	urcu_bp_read_unlock();
	if (small || run->op % CHECK_INTERVAL == 0) {
		mtree_lock(&run->mt);
		check(run, &run->mt);
		mtree_unlock(&run->mt);
	}
	if (run->op % (small ? SMALL_COMPARE : COMPARE_INTERVAL) == 0)
		compare_all(run, &run->mt, &run->oracle);
}
