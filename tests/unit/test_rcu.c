/* SPDX-License-Identifier: MIT */
/*
 * test_rcu.c - a tree's own RCU flavour is used for everything; a reader whose leaf changed.
 */
#include "fixture.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <urcu/urcu-bp.h>

#include "node.h"

static struct {
	int nested;
	int entered;
	int deferred;
	int waited;
} seen;

static void count_lock(void)
{
	seen.nested++;
	seen.entered++;
}

static void count_unlock(void)
{
	seen.nested--;
}

/* No thread reads while the test writes: a grace period has passed whenever it is asked for. */
static void count_call(struct rcu_head *head, void (*func)(struct rcu_head *head))
{
	seen.deferred++;
	func(head);
}

static void count_synchronize(void)
{
	assert_int_equal(seen.nested, 0);
	seen.waited++;
}

static int count_ongoing(void)
{
	return seen.nested;
}

static const struct mt_rcu counting = {
	count_call, count_synchronize, count_lock, count_unlock, count_ongoing,
};

static long blocks, blocks_max;

static void *limited_alloc(void *ctx, size_t size, size_t align)
{
	(void)ctx;
	if (blocks == blocks_max)
		return NULL;
	blocks++;
	return aligned_alloc(align, size);
}

static void limited_free(void *ctx, void *block, size_t size)
{
	(void)ctx;
	(void)size;
	blocks--;
	free(block);
}

static const struct mt_allocator limited = { limited_alloc, limited_free, NULL };

static void begin(struct maple_tree *mt)
{
	seen.nested = seen.entered = seen.deferred = seen.waited = 0;
	blocks = 0;
	blocks_max = LONG_MAX;
	mt_init_flags(mt, MT_FLAGS_USE_RCU);
	assert_int_equal(mt_set_rcu_flavour(mt, &counting), 0);
	assert_int_equal(mt_set_allocator(mt, &limited), 0);
}

static void the_trees_flavour_is_used(void **state)
{
	struct maple_tree mt;
	unsigned long index = 0, first, last;

	(void)state;
	begin(&mt);
	fill(&mt, 4, 3, 4, 100);
	seen.entered = 0;
	assert_ptr_equal(mtree_load(&mt, 5), xa_mk_value(0));
	assert_int_equal(seen.entered, 1);
	assert_ptr_equal(mt_find(&mt, &index, ULONG_MAX), xa_mk_value(0));
	assert_ptr_equal(mt_next(&mt, 4, ULONG_MAX), xa_mk_value(1));
	assert_ptr_equal(mt_prev(&mt, 8, 0), xa_mk_value(0));
	assert_true(mtree_gap_around(&mt, 7, &first, &last));
	assert_int_equal(seen.entered, 5);
	assert_int_equal(seen.nested, 0);
	mtree_destroy(&mt);
	assert_true(seen.deferred > 0);
	assert_int_equal(seen.waited, 0);
	assert_int_equal(blocks, 0);
}

/* A flavour may run callbacks in a thread of the program's, which may wait for readers after. */
static void regress_a_thread_that_ran_a_callback_may_wait(void **state)
{
	struct maple_tree mt;

	(void)state;
	begin(&mt);
	fill(&mt, 4, 3, 4, 100);
	mtree_destroy(&mt);
	assert_true(seen.deferred > 0);
	assert_int_equal(mt_synchronize(), 0);
	assert_int_equal(mt_barrier(), 0);
}

static void destroying_without_memory_waits_for_readers(void **state)
{
	struct maple_tree mt;

	(void)state;
	begin(&mt);
	assert_int_equal(mtree_store(&mt, 5, E('a'), GFP_KERNEL), 0); /* one node, none replaced */
	blocks_max = blocks;
	mtree_destroy(&mt);
	assert_int_equal(seen.waited, 1);
	assert_int_equal(blocks, 0);
}

static void what_a_tree_uses_stays_while_it_has_nodes(void **state)
{
	struct maple_tree mt;

	(void)state;
	begin(&mt);
	mtree_store(&mt, 5, E('a'), GFP_KERNEL);
	assert_int_equal(mt_set_allocator(&mt, NULL), -EBUSY);
	assert_int_equal(mt_set_rcu_flavour(&mt, NULL), -EBUSY);
	assert_ptr_equal(mtree_erase(&mt, 5), E('a'));
	assert_true(mtree_empty(&mt));
	assert_int_equal(blocks, 0); /* handed over, with their batch */
	assert_int_equal(mt_set_allocator(&mt, NULL), 0);
	assert_int_equal(mt_set_rcu_flavour(&mt, NULL), 0);
}

/*
 * Whatever number of nodes a write retires, the batches it takes for them are no more than needed.
 */
static void no_write_keeps_blocks(void **state)
{
	struct maple_tree mt;
	unsigned long last;

	(void)state;
	for (last = 40; last < 8000; last += 50) {
		begin(&mt);
		fill(&mt, 4, 3, 4, 2000);
		assert_int_equal(mtree_store_range(&mt, 30, last, E('a'), GFP_KERNEL), 0);
		mtree_destroy(&mt);
		assert_int_equal(blocks, 0);
	}
}

static void a_failed_reservation_gives_back_the_one_before(void **state)
{
	struct maple_tree mt;
	MA_STATE(mas, &mt, 401, 401); /* in the last leaf, which has room */
	long before;

	(void)state;
	begin(&mt);
	fill(&mt, 4, 3, 4, 100);
	before = blocks;
	mtree_lock(&mt);
	assert_int_equal(mas_preallocate(&mas, E('x'), GFP_KERNEL), 0);
	assert_true(blocks > before);
	blocks_max = blocks;
	mas_set(&mas, 5); /* in one that splits */
	assert_int_equal(mas_preallocate(&mas, E('x'), GFP_KERNEL), -ENOMEM);
	assert_int_equal(blocks, before);
	mas_destroy(&mas);
	mtree_unlock(&mt);
	mtree_destroy(&mt);
	assert_int_equal(blocks, 0);
}

/* What a reader at a limit does when the leaf it stands on is not what it was. */
static void a_reader_looks_again_at_a_changed_leaf(void **state)
{
	struct maple_tree mt;
	MA_STATE(mas, &mt, 0x20, 0x20);

	(void)state;
	mt_init_flags(&mt, MT_FLAGS_USE_RCU);
	mtree_store_range(&mt, 0x10, 0x1f, E('a'), GFP_KERNEL);
	mtree_store_range(&mt, 0x20, 0x2f, E('b'), GFP_KERNEL);
	urcu_bp_read_lock();
	assert_ptr_equal(mas_walk(&mas), E('b'));
	assert_null(mas_prev(&mas, 0x20));
	expect_place(&mas, 0x20, 0x2f, ma_underflow);
	mtree_store_range(&mt, 0x10, 0x23, E('a'), GFP_KERNEL);
	assert_ptr_equal(mas_next(&mas, ULONG_MAX), E('a'));
	expect_place(&mas, 0x10, 0x23, ma_active);
	mtree_store_range(&mt, 0x10, 0x21, E('a'), GFP_KERNEL);
	mtree_store_range(&mt, 0x22, 0x2f, E('b'), GFP_KERNEL);
	assert_ptr_equal(mas_next(&mas, ULONG_MAX), E('b')); /* behind 23, where it had stood */
	urcu_bp_read_unlock();
	end(&mt);
}

/* Each node is a mapping of its own, so that nothing is at the place of a freed one. */
static void *map_alloc(void *ctx, size_t size, size_t align)
{
	void *block = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	(void)ctx, (void)align;
	return block == MAP_FAILED ? NULL : block;
}

static void map_free(void *ctx, void *block, size_t size)
{
	(void)ctx;
	munmap(block, size);
}

/* Another cursor stores over what two cursors stand on, again and again, until it is freed. */
static void no_step_looks_at_a_freed_leaf(void **state)
{
	static const struct mt_allocator maps = { map_alloc, map_free, NULL };
	static const struct mt_rcu silent = { /* it does not tell who reads */
		count_call, count_synchronize, count_lock, count_unlock, NULL,
	};
	struct maple_tree mt;

	(void)state;
	for (int i = 0; i < 3; i++) {
		MA_STATE(up, &mt, 400, 400);
		MA_STATE(down, &mt, 400, 400);
		MA_STATE(other, &mt, 0, 0);

		mt_init_flags(&mt, i ? MT_FLAGS_USE_RCU : 0);
		assert_int_equal(mt_set_rcu_flavour(&mt, i < 2 ? &counting : &silent), 0);
		assert_int_equal(mt_set_allocator(&mt, &maps), 0);
		fill(&mt, 0, 2, 4, 200);
		mtree_lock(&mt);
		assert_ptr_equal(mas_walk(&up), xa_mk_value(100));
		assert_ptr_equal(mas_walk(&down), xa_mk_value(100));
		for (int n = 0; n < 100; n++) {
			mas_set_range(&other, 240, 560);
			assert_int_equal(mas_store_gfp(&other, E('x'), GFP_KERNEL), 0);
			mas_set(&other, 400);
			assert_int_equal(mas_store_gfp(&other, E('y'), GFP_KERNEL), 0);
		}
		assert_ptr_equal(mas_next(&up, ULONG_MAX), E('x'));
		expect_place(&up, 401, 560, ma_active);
		assert_ptr_equal(mas_prev(&down, 0), E('x'));
		expect_place(&down, 240, 399, ma_active);
		mtree_unlock(&mt);
		mtree_destroy(&mt);
	}
}

/* How many pivots and slots of two states of a leaf differ. */
static unsigned int words_changed(const struct mt_node *a, const struct mt_node *b)
{
	unsigned int i, count = 0;

	for (i = 0; i < WIDE_SLOTS; i++) {
		count += a->wide.slot[i] != b->wide.slot[i];
		count += i < WIDE_PIVOTS && a->pivot[i] != b->pivot[i];
	}
	return count;
}

/* Under one version a leaf changes by one word at most: see publish.c. */
static void every_store_to_a_leaf_raises_its_version(void **state)
{
	static const struct change {
		unsigned long first, last;
		void *entry;
		unsigned int words; /* changed, if no slots move */
	} changes[] = {
		{ 0x20, 0x2f, E('c'), 1 }, /* another entry */
		{ 0x10, 0x24, E('a'), 1 }, /* a boundary */
		{ 0x40, 0x41, E('d'), 3 }, /* an entry into the last gap */
		{ 0x40, 0x41, NULL, 3 },   /* and away again */
		{ 0x40, ULONG_MAX, E('d'), 2 },
		{ 0x40, ULONG_MAX, NULL, 2 },
		{ 0x25, 0x2f, NULL, 2 },
		{ 2, 3, E('e'), 0 },	   /* an entry into a gap with ranges behind it */
		{ 8, 0xf, E('f'), 0 },	   /* at the end of one */
		{ 0x20, 0x24, E('g'), 0 }, /* over the end of an entry */
		{ 0x10, 0x13, E('h'), 0 }, /* over the beginning of one */
		{ 0x18, 0x1f, NULL, 0 },   /* the same, leaving a gap */
		{ 0x14, 0x1f, E('a'), 0 }, /* an entry takes over all of the gap behind it */
		{ 0x10, 0x1f, E('a'), 0 }, /* and of the entry before it */
		{ 2, 3, NULL, 0 },	   /* an entry goes from between gaps, with ranges behind */
		{ 0x10, 0x1f, NULL, 0 },   /* and from between entries */
	};
	struct maple_tree mt;
	struct mt_node *leaf, before;
	size_t i;

	(void)state;
	mt_init_flags(&mt, MT_FLAGS_USE_RCU);
	mtree_store_range(&mt, 0x10, 0x1f, E('a'), GFP_KERNEL);
	mtree_store_range(&mt, 0x20, 0x2f, E('b'), GFP_KERNEL);
	leaf = enode_node(mt.ma_root);
	for (i = 0; i < LENGTH(changes); i++) {
		const struct change *c = &changes[i];

		before = *leaf;
		mtree_store_range(&mt, c->first, c->last, c->entry, GFP_KERNEL);
		assert_ptr_equal(enode_node(mt.ma_root), leaf);
		if (c->words)
			assert_int_equal(words_changed(&before, leaf), c->words);
		assert_true(leaf->wide.meta >> 8 >=
			    (before.wide.meta >> 8) + words_changed(&before, leaf));
		assert_true(mt_check(&mt, NULL));
	}
	expect_content(&mt, "8-f:f 20-24:g");
	end(&mt);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_trees_flavour_is_used),
		cmocka_unit_test(regress_a_thread_that_ran_a_callback_may_wait),
		cmocka_unit_test(destroying_without_memory_waits_for_readers),
		cmocka_unit_test(what_a_tree_uses_stays_while_it_has_nodes),
		cmocka_unit_test(no_write_keeps_blocks),
		cmocka_unit_test(a_failed_reservation_gives_back_the_one_before),
		cmocka_unit_test(a_reader_looks_again_at_a_changed_leaf),
		cmocka_unit_test(no_step_looks_at_a_freed_leaf),
		cmocka_unit_test(every_store_to_a_leaf_raises_its_version),
	};

	return cmocka_run_group_tests_name("rcu", tests, NULL, NULL);
}
