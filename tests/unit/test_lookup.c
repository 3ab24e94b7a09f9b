/* SPDX-License-Identifier: MIT */
/*
 * test_lookup.c - lookups one by one and many at once, by each variant that this processor runs,
 * and the cursor's walks, on random trees against the list of what was stored.
 *
 * Arguments: the seed and the number of trees.
 */
#include "fixture.h"

#include <stdlib.h>
#include <string.h>
#include <urcu/urcu-bp.h>

#include "../model/random.h"
#include "variants.h"
#include "walk.h"

typedef void *load_function(struct maple_tree *mt, unsigned long index);
typedef void load_many_function(struct maple_tree *mt, const unsigned long *keys, void **entries,
				size_t count);
typedef void *range_function(struct maple_tree *mt, unsigned long index, unsigned long *first,
			     unsigned long *last);
typedef void *walk_function(struct ma_state *mas, unsigned long index);
typedef unsigned long batch_function(unsigned long *batch, unsigned long left,
				     unsigned long seen, struct ma_state *mas,
				     unsigned long max);

#ifdef ISA_VARIANTS
load_function lookup_load_base, lookup_load_avx2, lookup_load_avx512;
load_many_function lookup_load_many_base, lookup_load_many_avx2, lookup_load_many_avx512;
range_function lookup_range_base, lookup_range_avx2, lookup_range_avx512;
walk_function walk_to_base, walk_to_avx2, walk_to_avx512;
batch_function batch_find_base, batch_find_avx2, batch_find_avx512;
#endif

static struct variant {
	load_function *load;
	load_many_function *load_many;
	range_function *range;
	walk_function *walk;
	batch_function *batch;
} variants[] = {
	{ mtree_load, mtree_load_many, lookup_range, walk_to, mas_batch_find },
#ifdef ISA_VARIANTS
	{ lookup_load_base, lookup_load_many_base, lookup_range_base, walk_to_base,
	  batch_find_base },
	{ lookup_load_avx2, lookup_load_many_avx2, lookup_range_avx2, walk_to_avx2,
	  batch_find_avx2 },
	{ lookup_load_avx512, lookup_load_many_avx512, lookup_range_avx512, walk_to_avx512,
	  batch_find_avx512 },
#endif
};

static size_t variant_count = LENGTH(variants);
static unsigned long seed = 1, trees = 120;
static struct random random_numbers;

#define MOST_RANGES 3000
#define MOST_KEYS   100

/* What the tree holds: disjoint ranges in order, with gaps between some of them. */
static struct list {
	struct range {
		unsigned long first;
		unsigned long last;
		void *entry;
	} range[MOST_RANGES];
	size_t count;
} list;

static unsigned long below(unsigned long limit)
{
	return (unsigned long)random_below(&random_numbers, limit);
}

static void draw_list(size_t count)
{
	unsigned long next = below(2) ? 0 : below(100), step = below(2) ? 8 : ULONG_MAX / 8000;

	for (list.count = 0; list.count < count; list.count++) {
		struct range *range = &list.range[list.count];

		next += below(2) ? 0 : below(step);
		range->first = next;
		range->last = next + below(step);
		range->entry = below(20) ? xa_mk_value(list.count) : XA_ZERO_ENTRY;
		next = range->last + 1;
	}
	if (count && !below(4))
		list.range[count - 1].last = ULONG_MAX;
}

/* The range that holds @index, or the gap. */
static struct range range_at(unsigned long index)
{
	size_t low = 0, high = list.count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (list.range[middle].last < index)
			low = middle + 1;
		else
			high = middle;
	}
	if (low < list.count && list.range[low].first <= index)
		return list.range[low];
	return (struct range){ low ? list.range[low - 1].last + 1 : 0,
			       low < list.count ? list.range[low].first - 1 : ULONG_MAX, NULL };
}

/* The advanced API, since the other one refuses zero entries; in random order. */
static void store_list(struct maple_tree *mt)
{
	static size_t order[MOST_RANGES];

	for (size_t i = 0; i < list.count; i++) {
		size_t j = below(i + 1);

		order[i] = order[j];
		order[j] = i;
	}
	mtree_lock(mt);
	for (size_t i = 0; i < list.count; i++) {
		const struct range *range = &list.range[order[i]];
		MA_STATE(mas, mt, range->first, range->last);

		assert_int_equal(mas_store_gfp(&mas, range->entry, GFP_KERNEL), 0);
	}
	mtree_unlock(mt);
}

/* Anywhere, at a boundary or next to one; sometimes the same index repeatedly. */
static unsigned long draw_key(void)
{
	const struct range *range = &list.range[list.count ? below(list.count) : 0];

	if (!list.count || !below(8))
		return below(2) ? 0 - below(3) : below(200);
	switch (below(4)) {
	case 0:
		return range->first - below(2);
	case 1:
		return range->last + below(2);
	default:
		return range->first +
		       below(range->last > range->first ? range->last - range->first : 1);
	}
}

static void expect_answer(unsigned long key, void *entry)
{
	void *expected = range_at(key).entry;

	if (xa_is_zero(expected))
		expected = NULL;
	if (entry != expected)
		fail_msg("%p at %#lx, not %p; seed %lu", entry, key, expected, seed);
}

static void try_loads(struct maple_tree *mt, const struct variant *variant)
{
	static const size_t counts[] = { 0, 1, 15, 16, 17, 32, 33 };
	size_t count = below(3) ? counts[below(LENGTH(counts))] : below(MOST_KEYS);
	unsigned long keys[MOST_KEYS];
	void *entries[MOST_KEYS];

	for (size_t i = 0; i < MOST_KEYS; i++) {
		keys[i] = i && !below(8) ? keys[below(i)] : draw_key();
		entries[i] = E('x');
	}
	variant->load_many(mt, keys, entries, count);
	for (size_t i = 0; i < MOST_KEYS; i++) {
		if (i < count)
			expect_answer(keys[i], entries[i]);
		else
			assert_ptr_equal(entries[i], E('x'));
		expect_answer(keys[i], variant->load(mt, keys[i]));
	}
}

static void try_walks(struct maple_tree *mt, const struct variant *variant)
{
	MA_STATE(mas, mt, 0, 0);

	urcu_bp_read_lock();
	for (int i = 0; i < 20; i++) {
		unsigned long key = draw_key(), first, last;
		struct range range = range_at(key);

		assert_ptr_equal(variant->range(mt, key, &first, &last), range.entry);
		assert_int_equal(first, range.first);
		assert_int_equal(last, range.last);
		assert_ptr_equal(variant->walk(&mas, key), range.entry);
		assert_int_equal(mas.index, range.first);
		assert_int_equal(mas.last, range.last);
	}
	urcu_bp_read_unlock();
}

/* From @key on, leaf after leaf as a loop reads them. */
static void try_batches(struct maple_tree *mt, const struct variant *variant, unsigned long key)
{
	unsigned long batch[MAS_BATCH_WORDS] __attribute__((aligned(64)));
	unsigned long left, *last = &batch[MAS_BATCH_LAST];
	const struct range *next = list.range;
	MA_STATE(mas, mt, key, key);

	while (next < &list.range[list.count] && next->last < key)
		next++;
	mas_batch_begin(batch, &mas);
	urcu_bp_read_lock();
	while ((left = variant->batch(batch, 0, mas.last, &mas, ULONG_MAX))) {
		for (; left; left &= left - 1, next++) {
			unsigned int slot = (unsigned int)__builtin_ctzl(left);

			assert_true(next < &list.range[list.count]);
			assert_ptr_equal(batch[MAS_BATCH_ENTRY + slot], next->entry);
			mas.index = *(&last[slot] - 1) + 1;
			mas.last = last[slot];
			mas.offset = (unsigned char)slot;
			assert_int_equal(mas.index, next->first);
			assert_int_equal(mas.last, next->last);
		}
	}
	urcu_bp_read_unlock();
	assert_ptr_equal(next, &list.range[list.count]);
}

/* A number of ranges of any magnitude. */
static size_t draw_count(void)
{
	size_t count = below(MOST_RANGES);

	return count >> below(12);
}

static void random_trees_answer_as_the_list(void **state)
{
	(void)state;
	random_seed(&random_numbers, seed);
	for (unsigned long i = 0; i < trees; i++) {
		struct maple_tree mt;

		mt_init_flags(&mt, (unsigned int)(i % 4)); /* MT_FLAGS_ALLOC_RANGE, _USE_RCU */
		draw_list(draw_count());
		store_list(&mt);
		for (size_t v = 0; v < variant_count; v++) {
			for (int round = 0; round < 5; round++)
				try_loads(&mt, &variants[v]);
			try_walks(&mt, &variants[v]);
			try_batches(&mt, &variants[v], below(2) ? 0 : draw_key());
		}
		end(&mt);
	}
}

/* An iteration from any place, in both directions, turning round now and then. */
static void random_trees_are_walked_along(void **state)
{
	(void)state;
	random_seed(&random_numbers, seed + 1);
	for (unsigned long i = 0; i < trees; i++) {
		struct maple_tree mt;
		size_t at;

		mt_init_flags(&mt, (unsigned int)(i % 4));
		draw_list(1 + draw_count());
		store_list(&mt);
		at = below(list.count);
		MA_STATE(mas, &mt, list.range[at].first, list.range[at].first);
		urcu_bp_read_lock();
		assert_ptr_equal(mas_walk(&mas), list.range[at].entry);
		for (int turn = 0; turn < 20; turn++) {
			bool up = turn % 2;
			size_t steps = below(4) ? below(60) : below(2000);

			while (steps-- && (up ? at + 1 < list.count : at > 0)) {
				void *entry = up ? mas_next(&mas, ULONG_MAX) : mas_prev(&mas, 0);

				at += up ? 1 : SIZE_MAX;
				assert_ptr_equal(entry, list.range[at].entry);
				assert_int_equal(mas.index, list.range[at].first);
				assert_int_equal(mas.last, list.range[at].last);
			}
		}
		urcu_bp_read_unlock();
		end(&mt);
	}
}

/* A step from each range, with the limit anywhere up to the end of the next one. */
static void steps_end_at_their_limits(void **state)
{
	(void)state;
	random_seed(&random_numbers, seed + 2);
	for (unsigned long i = 0; i < trees; i++) {
		struct maple_tree mt;

		mt_init_flags(&mt, (unsigned int)(i % 4));
		draw_list(2 + draw_count() / 8);
		store_list(&mt);
		urcu_bp_read_lock();
		for (size_t at = 0; at + 1 < list.count; at++) {
			const struct range *low = &list.range[at], *high = low + 1;
			unsigned long up = low->last + below(high->last - low->last);
			unsigned long down = high->first - below(high->first - low->first);
			MA_STATE(mas, &mt, low->first, low->first);

			mas_walk(&mas);
			assert_ptr_equal(at % 2 ? mas_next(&mas, up) : mas_find(&mas, up),
					 up >= high->first ? high->entry : NULL);
			mas_set(&mas, high->first);
			mas_walk(&mas);
			assert_ptr_equal(at % 2 ? mas_prev(&mas, down) : mas_find_rev(&mas, down),
					 down <= low->last ? low->entry : NULL);
		}
		urcu_bp_read_unlock();
		end(&mt);
	}
}

/* Of a variant, and of the normal API. */
static void expect_range(struct maple_tree *mt, const struct variant *variant, unsigned long index,
			 struct range range)
{
	unsigned long first = 7, last = 7;

	assert_ptr_equal(variant->range(mt, index, &first, &last), range.entry);
	assert_int_equal(first, range.first);
	assert_int_equal(last, range.last);
	assert_ptr_equal(mtree_load_range(mt, index, &first, &last),
			 xa_is_zero(range.entry) ? NULL : range.entry);
	assert_int_equal(first, range.first);
	assert_int_equal(last, range.last);
}

static void trees_without_nodes_answer(void **state)
{
	const unsigned long keys[] = { 0, 1, 0, ULONG_MAX };
	void *entries[LENGTH(keys)];
	DEFINE_MTREE(mt);

	(void)state;
	for (size_t v = 0; v < variant_count; v++) {
		MA_STATE(mas, &mt, 0, 0);

		variants[v].load_many(&mt, keys, entries, LENGTH(keys));
		for (size_t i = 0; i < LENGTH(keys); i++)
			assert_null(entries[i]);
		expect_range(&mt, &variants[v], 3, (struct range){ 0, ULONG_MAX, NULL });
		assert_int_equal(mtree_store(&mt, 0, E('a'), GFP_KERNEL), 0);
		variants[v].load_many(&mt, keys, entries, LENGTH(keys));
		for (size_t i = 0; i < LENGTH(keys); i++)
			assert_ptr_equal(entries[i], keys[i] ? NULL : E('a'));
		expect_range(&mt, &variants[v], 0, (struct range){ 0, 0, E('a') });
		expect_range(&mt, &variants[v], 9, (struct range){ 1, ULONG_MAX, NULL });
		variants[v].load_many(&mt, NULL, NULL, 0);
		mtree_lock(&mt);
		mas_store(&mas, XA_ZERO_ENTRY);
		mtree_unlock(&mt);
		variants[v].load_many(&mt, keys, entries, LENGTH(keys));
		for (size_t i = 0; i < LENGTH(keys); i++)
			assert_null(entries[i]);
		assert_null(variants[v].load(&mt, 0));
		expect_range(&mt, &variants[v], 0, (struct range){ 0, 0, XA_ZERO_ENTRY });
		mtree_destroy(&mt);
	}
}

/* So that runs with another instruction set test that one. */
#ifdef ISA_BY_ENVIRONMENT
static void the_environment_chooses_the_variant(void **state)
{
	const char *wanted = getenv("MAPLETREE_ISA");
	enum isa best = runs_avx512() ? ISA_AVX512 : runs_avx2() ? ISA_AVX2 : ISA_BASE;

	(void)state;
	if (wanted && !strcmp(wanted, "scalar"))
		best = ISA_BASE;
	if (wanted && !strcmp(wanted, "avx2") && best > ISA_AVX2)
		best = ISA_AVX2;
	assert_int_equal(isa_chosen(), best);
}
#endif

static int say_seed(void **state)
{
	(void)state;
	print_message("# seed %lu, %lu trees\n", seed, trees);
	return 0;
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
#ifdef ISA_BY_ENVIRONMENT
		cmocka_unit_test(the_environment_chooses_the_variant),
#endif
		cmocka_unit_test(random_trees_answer_as_the_list),
		cmocka_unit_test(random_trees_are_walked_along),
		cmocka_unit_test(steps_end_at_their_limits),
		cmocka_unit_test(trees_without_nodes_answer),
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
	return cmocka_run_group_tests(tests, say_seed, NULL);
}
