/* SPDX-License-Identifier: MIT */
/*
 * test_gap_search.c - searches for gaps, by each variant that this processor runs, against a list.
 *
 * Trees are random; so are leaves as they are between two stores of a writer: with gaps in
 * several parts and slots of width zero. Arguments: the seed and the number of trees.
 */
#include "fixture.h"

#include <stdlib.h>
#include <string.h>

#include "../model/random.h"
#include "gap.h"
#include "variants.h"

typedef struct mt_place_found find_function(struct maple_tree *mt,
					    const struct mt_area *want);
typedef struct mt_place_found find_anywhere(struct maple_tree *mt, unsigned long min,
					    unsigned long max, unsigned long size);

#ifdef ISA_VARIANTS
find_function gap_find_base, gap_find_avx2, gap_find_avx512;
find_anywhere gap_find_lowest_base, gap_find_lowest_avx2, gap_find_lowest_avx512;
find_anywhere gap_find_highest_base, gap_find_highest_avx2, gap_find_highest_avx512;
#endif

static struct variant {
	const char *name;
	find_function *find;
	find_anywhere *lowest;
	find_anywhere *highest;
} variants[] = {
	{ "chosen", gap_find, gap_find_lowest, gap_find_highest },
#ifdef ISA_VARIANTS
	{ "base", gap_find_base, gap_find_lowest_base, gap_find_highest_base },
	{ "avx2", gap_find_avx2, gap_find_lowest_avx2, gap_find_highest_avx2 },
	{ "avx512", gap_find_avx512, gap_find_lowest_avx512, gap_find_highest_avx512 },
#endif
};

static size_t variant_count = LENGTH(variants);
static unsigned long seed = 1, trees = 400;
static struct random random_numbers;

/* The free ranges, in order. Those of a tree are maximal, those of a leaf are its slots. */
#define MOST_FREE 2100

static struct list {
	struct range {
		unsigned long first;
		unsigned long last;
	} range[MOST_FREE];
	size_t count;
} list;

static unsigned long below(unsigned long limit)
{
	return (unsigned long)random_below(&random_numbers, limit);
}

static void add_free(unsigned long first, unsigned long last)
{
	assert_true(list.count < MOST_FREE);
	list.range[list.count++] = (struct range){ first, last };
}

/* The place in a free range, found by trying: no more than the steps that alignment leaves. */
static bool place_in(const struct range *range, const struct mt_area *want, unsigned long *start)
{
	unsigned long first = range->first > want->min ? range->first : want->min;
	unsigned long last = range->last < want->max ? range->last : want->max;
	unsigned long align = want->align ? want->align : 1;
	unsigned long at;

	if (first > last || last - first < want->size - 1)
		return false;
	if (want->fit == MT_FIT_HIGHEST) {
		at = last - (want->size - 1);
		at -= at % align;
		*start = at;
		return at >= first;
	}
	at = first;
	if (at % align && __builtin_add_overflow(at, align - at % align, &at))
		return false;
	*start = at;
	return at <= last && last - at >= want->size - 1;
}

static bool place_in_list(const struct mt_area *want, unsigned long *start)
{
	for (size_t i = 0; i < list.count; i++) {
		size_t at = want->fit == MT_FIT_LOWEST ? i : list.count - 1 - i;

		if (place_in(&list.range[at], want, start))
			return true;
	}
	return false;
}

static void compare_place(struct mt_place_found place, const char *name, bool found,
			  unsigned long expected, const struct mt_area *want)
{
	if (!place.found == !found && (!found || place.start == expected))
		return;
	fail_msg("seed %lu, %s: %lu indexes of [%#lx, %#lx], multiple of %lu, %s: found %#lx, "
		 "expected %#lx", seed, name, want->size, want->min, want->max, want->align,
		 want->fit == MT_FIT_LOWEST ? "lowest" : "highest", place.start, expected);
}

static void compare_search(struct maple_tree *mt, const struct mt_area *want)
{
	unsigned long expected = 0;
	bool found = place_in_list(want, &expected);

	for (size_t i = 0; i < variant_count; i++) {
		const struct variant *variant = &variants[i];
		find_anywhere *find = want->fit == MT_FIT_LOWEST ? variant->lowest
								 : variant->highest;

		compare_place(variant->find(mt, want), variant->name, found, expected, want);
		if (want->align <= 1)
			compare_place(find(mt, want->min, want->max, want->size), variant->name,
				      found, expected, want);
	}
}

/* A bound of a free range or next to it; an index of the domain or around it. */
static unsigned long draw_index(unsigned long base, unsigned long length)
{
	unsigned long kind = below(8);

	if (kind == 0)
		return 0;
	if (kind == 1)
		return ULONG_MAX;
	if (kind < 4 && list.count) {
		const struct range *range = &list.range[below(list.count)];

		return (below(2) ? range->first : range->last) + below(3) - 1;
	}
	return base + below(length + 20) - 10;
}

static unsigned long draw_size(void)
{
	unsigned long kind = below(8);

	if (kind == 0)
		return ULONG_MAX - below(3);
	if (kind == 1)
		return 1ul << below(sizeof(long) * 8);
	if (kind < 4 && list.count) {
		const struct range *range = &list.range[below(list.count)];
		unsigned long size = range->last - range->first + below(3);

		return size ? size : 1;
	}
	return 1 + below(below(4) ? 8 : 40);
}

static struct mt_area draw_area(unsigned long base, unsigned long length)
{
	struct mt_area area = {
		.min = draw_index(base, length),
		.max = draw_index(base, length),
		.size = draw_size(),
		.fit = below(2) ? MT_FIT_LOWEST : MT_FIT_HIGHEST,
	};
	unsigned long other = area.min;

	if (area.min > area.max) {
		area.min = area.max;
		area.max = other;
	}
	if (below(3) == 0)
		area.align = 1ul << (below(4) ? below(7) : below(sizeof(long) * 8));
	return area;
}

static void compare_searches(struct maple_tree *mt, unsigned long base,
			     unsigned long length)
{
	for (int i = 0; i < 300; i++) {
		struct mt_area area = draw_area(base, length);

		compare_search(mt, &area);
	}
}

static unsigned long widest_in_list(unsigned long min, unsigned long max)
{
	unsigned long widest = 0;

	for (size_t i = 0; i < list.count; i++) {
		const struct range *range = &list.range[i];

		if (range->first <= max && range->last >= min &&
		    range->last - range->first + 1 > widest)
			widest = range->last - range->first + 1;
	}
	return widest;
}

static void compare_widest(struct mt_node *node, enum node_kind kind, unsigned long min,
			   unsigned long max, unsigned long expected)
{
	unsigned long widest = gap_widest(node, kind, min, max);

	if (widest != expected)
		fail_msg("seed %lu: widest gap %#lx, expected %#lx", seed, widest, expected);
}

/* Of every node. A gap that reaches out of a leaf does not exist in a settled tree. */
static void compare_gaps(struct maple_enode *enode, unsigned long min, unsigned long max)
{
	struct mt_node *node = enode_node(enode);
	enum node_kind kind = enode_kind(enode);

	compare_widest(node, kind, min, max, widest_in_list(min, max));
	if (kind == KIND_LEAF)
		return;
	for (unsigned int i = 0; i <= node_end(node, kind); i++)
		compare_gaps(slot_child(node, kind, i), slot_first(node, i, min),
			     slot_last(node, kind, i, max));
}

/* Which indexes are used, one byte each; all before and after are free. */
#define DOMAIN 4000
static unsigned char used[DOMAIN];

static void list_domain(unsigned long base)
{
	unsigned long first = 0;
	bool free = true;

	list.count = 0;
	if (base == 0)
		free = false;
	for (unsigned long i = 0; i < DOMAIN; i++) {
		if (used[i] && free && base + i > first)
			add_free(first, base + i - 1);
		if (!used[i] && !free)
			first = base + i;
		free = !used[i];
	}
	if (!free && base + DOMAIN)
		add_free(base + DOMAIN, ULONG_MAX);
	else if (free)
		add_free(first, ULONG_MAX);
}

static unsigned long draw_base(void)
{
	switch (below(4)) {
	case 0:
		return 0;
	case 1:
		return ULONG_MAX - (DOMAIN - 1);
	case 2:
		return ULONG_MAX / 2 - DOMAIN / 2; /* around the sign bit */
	default:
		return (unsigned long)random_next(&random_numbers) / 2;
	}
}

static void random_trees(void **state)
{
	(void)state;
	for (unsigned long tree = 0; tree < trees; tree++) {
		unsigned long base = draw_base();
		unsigned long writes = below(below(3) ? 60 : 2000), longest = 1 + below(30);
		bool rcu = below(2);
		struct maple_tree mt;

		mt_init_flags(&mt, MT_FLAGS_ALLOC_RANGE | (rcu ? MT_FLAGS_USE_RCU : 0));
		memset(used, 0, sizeof(used));
		for (unsigned long i = 0; i < writes; i++) {
			unsigned long first = below(DOMAIN), length = 1 + below(longest);
			bool store = below(5) != 0;

			if (first + length > DOMAIN)
				length = DOMAIN - first;
			memset(&used[first], store, length);
			assert_int_equal(mtree_store_range(&mt, base + first,
							   base + first + length - 1,
							   store ? E('a') : NULL,
							   GFP_KERNEL), 0);
		}
		list_domain(base);
		compare_searches(&mt, base, DOMAIN);
		if (root_is_node(mt.ma_root))
			compare_gaps((struct maple_enode *)mt.ma_root, 0, ULONG_MAX);
		end(&mt);
	}
}

/* A leaf that covers everything: @end slots behind the first, some of them of width zero. */
static void draw_leaf(struct mt_node *leaf, unsigned int slots, unsigned long base)
{
	unsigned long first = 0, pivot = base;
	bool zero = false; /* the slot before this one begins behind everything */

	memset(leaf, 0, sizeof(*leaf));
	list.count = 0;
	for (unsigned int i = 0; i < WIDE_SLOTS; i++) {
		unsigned long last = ULONG_MAX;
		bool free = i >= slots || below(2);

		if (i + 1 < slots) {
			pivot += below(3) ? below(40) : 0;
			last = pivot;
		}
		if (i < WIDE_PIVOTS)
			leaf->pivot[i] = last;
		leaf->wide.slot[i] = free ? NULL : E('a');
		if (free && !zero && first <= last)
			add_free(first, last);
		zero = zero || last == ULONG_MAX;
		first = last + 1;
	}
	node_set_end(leaf, KIND_LEAF, slots - 1);
}

static void unsettled_leaves(void **state)
{
	(void)state;
	for (unsigned long i = 0; i < trees * 4; i++) {
		struct mt_node leaf;
		struct maple_tree mt;
		unsigned long base = below(4) ? 10 + below(ULONG_MAX / 2) : 0;

		draw_leaf(&leaf, 2 + (unsigned int)below(WIDE_SLOTS - 1), base);
		mt_init_flags(&mt, MT_FLAGS_ALLOC_RANGE);
		mt.ma_root = enode_make(&leaf, KIND_LEAF);
		compare_searches(&mt, base, 400);
		compare_widest(&leaf, KIND_LEAF, 0, ULONG_MAX, widest_in_list(0, ULONG_MAX));
	}
}

/* A tree without nodes: all is free, or all but the entry in its root. */
static void trees_without_nodes(void **state)
{
	struct maple_tree mt;

	(void)state;
	mt_init_flags(&mt, MT_FLAGS_ALLOC_RANGE);
	list.count = 0;
	add_free(0, ULONG_MAX);
	compare_searches(&mt, 10, 20);
	mtree_store(&mt, 0, E('a'), GFP_KERNEL);
	assert_false(root_is_node(mt.ma_root));
	list.range[0].first = 1;
	compare_searches(&mt, 10, 20);
	end(&mt);
}

/* Wide gaps are no use where they lie outside the window, or are cut by it or by the alignment. */
static void gaps_of_no_use(void **state)
{
	struct mt_area want = { .size = 8, .align = 16 };
	struct maple_tree mt;

	(void)state;
	list.count = 0;
	mt_init_flags(&mt, MT_FLAGS_ALLOC_RANGE);
	mtree_store_range(&mt, 0, 3, E('a'), GFP_KERNEL);
	for (unsigned long i = 0; i < 2000; i++) {
		add_free(i * 32 + 4, i * 32 + 17); /* 14 of 32 */
		mtree_store_range(&mt, i * 32 + 18, i * 32 + 35, E('a'), GFP_KERNEL);
	}
	add_free(2000 * 32 + 4, ULONG_MAX);
	for (want.max = 2000 * 32 + 3; want.max > 60000; want.max -= 101) {
		for (want.fit = MT_FIT_LOWEST; want.fit <= MT_FIT_HIGHEST; want.fit++)
			compare_search(&mt, &want); /* nowhere: all 2000 are tried */
	}
	want.size = 2;
	for (want.min = 0, want.max = 2000 * 32; want.min < 60000; want.min += 1001) {
		want.fit = MT_FIT_LOWEST;
		compare_search(&mt, &want);
		want.fit = MT_FIT_HIGHEST;
		compare_search(&mt, &want);
	}
	end(&mt);
}

static int say_seed(void **state)
{
	(void)state;
	print_message("# seed %lu, %lu trees, %zu variants\n", seed, trees, variant_count);
	return 0;
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(random_trees),
		cmocka_unit_test(unsettled_leaves),
		cmocka_unit_test(trees_without_nodes),
		cmocka_unit_test(gaps_of_no_use),
	};

	if (argc > 1)
		seed = strtoul(argv[1], NULL, 0);
	if (argc > 2)
		trees = strtoul(argv[2], NULL, 0);
#ifdef ISA_VARIANTS
	if (!runs_avx512())
		variant_count--;
	if (!runs_avx2())
		variant_count--;
#endif
	random_seed(&random_numbers, seed);
	return cmocka_run_group_tests_name("gap_search", tests, say_seed, NULL);
}
