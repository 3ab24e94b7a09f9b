/* SPDX-License-Identifier: MIT */
/*
 * calls.c - random calls of the normal API, made to the tree and to the oracle.
 */
#include "model.h"

#include <errno.h>
#include <string.h>

/* Whether the population should grow now; random around the mix's target. */
static bool growing(struct run *run)
{
	size_t ranges = run->oracle.count;

	if (run->mix->phases) {
		if (ranges > 2 * run->mix->entries)
			run->shrinking = true;
		else if (oracle_empty(&run->oracle))
			run->shrinking = false;
		return chance(run, run->shrinking ? 3 : 97);
	}
	return chance(run, ranges < run->mix->entries ? 80 : 20);
}

static void store(struct run *run, bool erase)
{
	void *entry = erase ? NULL : draw_entry(run);
	unsigned long first, last;
	int expected;

	draw_range(run, &first, &last);
	if (chance(run, 15))
		last = first;
	record(run, "store_range", first, last, 0, entry);
	expected = oracle_store_checked(&run->oracle, first, last, entry);
	if (first == last && chance(run, 50))
		expect_error(run, mtree_store(&run->mt, first, entry, GFP_KERNEL), expected);
	else
		expect_error(run, mtree_store_range(&run->mt, first, last, entry, GFP_KERNEL),
			     expected);
	compare_change(run, first, last);
}

static void insert(struct run *run)
{
	void *entry = draw_entry(run);
	unsigned long first, last;
	int expected;

	draw_range(run, &first, &last);
	if (chance(run, 15))
		last = first;
	record(run, "insert_range", first, last, 0, entry);
	expected = oracle_insert(&run->oracle, first, last, entry);
	if (first == last && chance(run, 50))
		expect_error(run, mtree_insert(&run->mt, first, entry, GFP_KERNEL), expected);
	else
		expect_error(run, mtree_insert_range(&run->mt, first, last, entry, GFP_KERNEL),
			     expected);
	compare_change(run, first, last);
}

/* Erase at an index; mostly one that holds an entry. */
static void erase(struct run *run)
{
	unsigned long index = draw_index(run);
	struct oracle_range range;

	if (chance(run, 70))
		index = run->oracle.ranges[below(run, run->oracle.count)].last;
	range = run->oracle.ranges[oracle_at(&run->oracle, index)];
	if (xa_is_zero(range.entry)) /* what it returns is not promised */
		return;
	record(run, "erase", index, 0, 0, NULL);
	expect_entry(run, mtree_erase(&run->mt, index), oracle_erase(&run->oracle, index));
	compare_change(run, range.first, range.last);
}

static void refuse(struct run *run)
{
	void *reserved = (void *)(2 + 4 * below(run, 257));
	unsigned long first, last, start;

	draw_range(run, &first, &last);
	record(run, "refused", first, last, 0, reserved);
	expect_error(run, mtree_store_range(&run->mt, first, last, reserved, GFP_KERNEL), -EINVAL);
	expect_error(run, mtree_insert(&run->mt, first, reserved, GFP_KERNEL), -EINVAL);
	if (first < last)
		expect_error(run, mtree_store_range(&run->mt, last, first, &start, GFP_KERNEL),
			     -EINVAL);
	if (run->oracle.gaps)
		expect_error(run, mtree_alloc_range(&run->mt, &start, XA_ZERO_ENTRY, 1, 0,
						    ULONG_MAX, GFP_KERNEL), -EINVAL);
	compare_change(run, first, last);
}

static unsigned long draw_size(struct run *run, unsigned long first, unsigned long last)
{
	switch (below(run, 8)) {
	case 0: return last - first; /* may be 0 */
	case 1: return last - first + 1;
	case 2: return last - first + 2;
	default: return below(run, run->mix->length * 2 + 1) *
			(run->mix->unit ? run->mix->unit : 1);
	}
}

static void allocate(struct run *run, bool reverse)
{
	void *entry = draw_entry(run);
	unsigned long min, max, size;
	unsigned long start = 0;
	unsigned long expected_start = 0;
	int expected, error;

	draw_range(run, &min, &max);
	if (chance(run, 40)) {
		min = chance(run, 50) ? run->mix->low : min;
		max = run->mix->high;
	}
	if (min > max && chance(run, 90))
		max = ULONG_MAX;
	size = draw_size(run, min, max);
	record(run, reverse ? "alloc_rrange" : "alloc_range", size, min, max, entry);
	expected = oracle_alloc(&run->oracle, &expected_start, entry, size, min, max, reverse);
	if (reverse)
		error = mtree_alloc_rrange(&run->mt, &start, entry, size, min, max, GFP_KERNEL);
	else
		error = mtree_alloc_range(&run->mt, &start, entry, size, min, max, GFP_KERNEL);
	expect_error(run, error, expected);
	if (expected == 0) {
		expect_number(run, "start", start, expected_start);
		compare_change(run, start, start + (size - 1));
	}
}

static void allocate_area(struct run *run)
{
	void *entry = draw_entry(run);
	struct mt_area area = draw_area(run);
	unsigned long start = 0;
	int expected = -EINVAL;

	record(run, "alloc_area", area.size, area.min, area.align, entry);
	if (!oracle_reserved(entry, true))
		expected = oracle_area(&run->oracle, &area, &start);
	expect_error(run, mtree_alloc_area(&run->mt, &area, entry, GFP_KERNEL), expected);
	if (expected == 0) {
		expect_number(run, "start", area.start, start);
		oracle_store(&run->oracle, start, start + (area.size - 1), entry);
		compare_change(run, start, start + (area.size - 1));
	}
}

static void allocate_cyclic(struct run *run)
{
	void *entry = draw_entry(run);
	unsigned long start = 0;
	unsigned long expected_start = 0;
	unsigned long next = run->cyclic_next;
	unsigned long low, high;
	int expected;

	draw_range(run, &low, &high);
	record(run, "alloc_cyclic", low, high, next, entry);
	expected = oracle_alloc_cyclic(&run->oracle, &expected_start, entry, low, high,
				       &run->cyclic_next, &run->cyclic_wrapped);
	expect_error(run, mtree_alloc_cyclic(&run->mt, &start, entry, low, high, &next,
					     GFP_KERNEL), expected);
	if (expected >= 0) {
		expect_number(run, "start", start, expected_start);
		expect_number(run, "next", next, run->cyclic_next);
		compare_change(run, start, start);
	}
}

/* The gap around an index; filled, if the population is to grow. */
static void gap_around(struct run *run)
{
	unsigned long index = draw_index(run);
	const struct oracle_range range = run->oracle.ranges[oracle_at(&run->oracle, index)];
	unsigned long first = 0, last = 0;
	void *entry;

	record(run, "load_range", index, 0, 0, NULL);
	entry = mtree_load_range(&run->mt, index, &first, &last);
	expect_number(run, "same entry", entry == mtree_load(&run->mt, index), true);
	expect_number(run, "first", first, range.first);
	expect_number(run, "last", last, range.last);
	record(run, "gap_around", index, 0, 0, NULL);
	expect_number(run, "free", mtree_gap_around(&run->mt, index, &first, &last), !range.entry);
	if (!range.entry) {
		expect_number(run, "first", first, range.first);
		expect_number(run, "last", last, range.last);
	}
	if (!growing(run))
		return;
	entry = draw_entry(run);
	record(run, "fill_gap", index, 0, 0, entry);
	expect_error(run, mtree_fill_gap(&run->mt, index, entry, &first, &last, GFP_KERNEL),
		     range.entry ? -EEXIST : 0);
	if (!range.entry) {
		oracle_store(&run->oracle, range.first, range.last, entry);
		compare_change(run, range.first, range.last);
	}
}

static void find(struct run *run)
{
	unsigned long index = draw_index(run);
	unsigned long max = draw_limit(run, index, true);
	unsigned long got = index;
	unsigned long expected = index;

	record(run, "find", index, max, 0, NULL);
	expect_entry(run, mt_find(&run->mt, &got, max),
		     oracle_find(&run->oracle, &expected, max));
	expect_number(run, "index", got, expected);
	got = expected = index;
	expect_entry(run, mt_find_after(&run->mt, &got, max),
		     index ? oracle_find(&run->oracle, &expected, max) : NULL);
	expect_number(run, "index", got, expected);
}

static void look(struct run *run)
{
	unsigned long index = draw_index(run);
	unsigned long max = draw_limit(run, index, true);
	unsigned long min = draw_limit(run, index, false);
	void *next = oracle_next(&run->oracle, index, max);
	void *prev = oracle_prev(&run->oracle, index, min);

	record(run, "look", index, min, max, NULL);
	expect_entry(run, mtree_load(&run->mt, index), oracle_load(&run->oracle, index));
	if (!xa_is_zero(next)) /* zero entries: not promised */
		expect_entry(run, mt_next(&run->mt, index, max), next);
	if (!xa_is_zero(prev))
		expect_entry(run, mt_prev(&run->mt, index, min), prev);
	expect_number(run, "mtree_empty", mtree_empty(&run->mt), oracle_empty(&run->oracle));
}

static void iterate(struct run *run)
{
	unsigned long from = draw_index(run);
	unsigned long max = draw_limit(run, from, true);
	unsigned long index = from;
	unsigned long expected = from;
	unsigned int steps = 0;
	void *entry;

	record(run, "for_each", from, max, 0, NULL);
	mt_for_each(&run->mt, entry, index, max) {
		expect_entry(run, entry, oracle_find(&run->oracle, &expected, max));
		expect_number(run, "index", index, expected);
		if (++steps == 200)
			return;
	}
	if (steps == 0 || expected != 0)
		expect_entry(run, NULL, oracle_find(&run->oracle, &expected, max));
}

/* Copies the tree; sometimes the copy takes its place. */
static void duplicate(struct run *run)
{
	struct maple_tree copy;
	bool locked = chance(run, 50);
	int error;

	if (run->cyclic_wrapped || (run->oracle.count > 2000 && chance(run, 99)))
		return;
	record(run, locked ? "__mt_dup" : "mtree_dup", 0, 0, 0, NULL);
	mt_init_flags(&copy, run->flags);
	if (locked) {
		mtree_lock(&run->mt);
		mtree_lock(&copy);
		error = __mt_dup(&run->mt, &copy, GFP_KERNEL);
		mtree_unlock(&copy);
		mtree_unlock(&run->mt);
	} else {
		error = mtree_dup(&run->mt, &copy, GFP_KERNEL);
	}
	expect_error(run, error, 0);
	compare_all(run, &copy, &run->oracle);
	if (!mtree_empty(&copy))
		expect_error(run, mtree_dup(&run->mt, &copy, GFP_KERNEL), -EINVAL);
	if (chance(run, 50)) {
		mtree_destroy(&copy);
		compare_all(run, &run->mt, &run->oracle);
		return;
	}
	mtree_destroy(&run->mt);
	if (!mtree_empty(&run->mt))
		fail(run, "not empty after mtree_destroy");
	mt_init_flags(&run->mt, run->flags);
	if (mtree_dup(&copy, &run->mt, GFP_KERNEL))
		fail(run, "cannot copy the copy");
	mtree_destroy(&copy);
	compare_all(run, &run->mt, &run->oracle);
}

static void destroy(struct run *run)
{
	if (run->oracle.count > 100 && chance(run, 95))
		return;
	record(run, "destroy", 0, 0, 0, NULL);
	mtree_destroy(&run->mt);
	oracle_clear(&run->oracle);
	compare_all(run, &run->mt, &run->oracle);
}

/* Out of RCU mode and back (or into it and back), as nobody reads meanwhile. */
static void switch_rcu(struct run *run)
{
	bool on = run->flags & MT_FLAGS_USE_RCU;

	record(run, "switch_rcu", !on, 0, 0, NULL);
	expect_number(run, "mt_in_rcu", mt_in_rcu(&run->mt), on);
	if (on)
		mt_clear_in_rcu(&run->mt);
	else
		mt_set_in_rcu(&run->mt);
	run->flags ^= MT_FLAGS_USE_RCU;
}

void random_call(struct run *run)
{
	unsigned long kind = below(run, 1000);

	if (kind < 300) {
		if (growing(run))
			chance(run, 70) ? store(run, false) : insert(run);
		else
			chance(run, 70) ? erase(run) : store(run, true);
	} else if (kind < 400 && run->oracle.gaps && growing(run)) {
		allocate(run, kind % 2);
	} else if (kind < 430 && run->oracle.gaps && growing(run)) {
		allocate_cyclic(run);
	} else if (kind < 460 && run->oracle.gaps && growing(run)) {
		allocate_area(run);
	} else if (kind < 470) {
		gap_around(run);
	} else if (kind < 650) {
		look(run);
	} else if (kind < 850) {
		find(run);
	} else if (kind < 960) {
		iterate(run);
	} else if (kind < 990) {
		refuse(run);
	} else if (kind < 994) {
		duplicate(run);
	} else if (kind < 995) {
		destroy(run);
	} else {
		switch_rcu(run);
	}
}
