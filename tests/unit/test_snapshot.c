/* SPDX-License-Identifier: MIT */
/*
 * test_snapshot.c - trees that share their nodes, case by case. test_family.c draws at random.
 */
#include "fixture.h"

#include "dead.h"
#include "share.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <urcu-bp.h>

/* ---- an allocator that counts ----------------------------------------------------------------- */

static long blocks, allowed, asked;

static void *counting_alloc(void *ctx, size_t size, size_t align)
{
	(void)ctx;
	asked++;
	if (!allowed)
		return NULL;
	allowed--;
	__atomic_add_fetch(&blocks, 1, __ATOMIC_RELAXED);
	return aligned_alloc(align, size);
}

static void counting_free(void *ctx, void *block, size_t size)
{
	(void)ctx, (void)size;
	__atomic_sub_fetch(&blocks, 1, __ATOMIC_RELAXED);
	free(block);
}

static const struct mt_allocator counting = { counting_alloc, counting_free, NULL };

static void begin_counted(struct maple_tree *mt, unsigned int flags)
{
	mt_init_flags(mt, flags);
	assert_int_equal(mt_set_allocator(mt, &counting), 0);
}

/* ---- single cases --------------------------------------------------------------------------- */

static void snapshots_of_every_size_are_equal_and_independent(void **state)
{
	static const unsigned long sizes[] = { 0, 1, 2, 15, 16, 17, 100, 300, 5000, 70000 };
	struct maple_tree old, snap;

	(void)state;
	for (size_t i = 0; i < 4 * LENGTH(sizes); i++) {
		unsigned int flags = i % 4;
		unsigned long size = sizes[i / 4];

		mt_init_flags(&old, flags);
		mt_init_flags(&snap, flags);
		fill(&old, 0, 2, 3, size);
		assert_int_equal(mtree_snapshot(&old, &snap, GFP_KERNEL), 0);
		assert_true(mt_check(&snap, NULL));
		assert_int_equal(mt_height(&snap), mt_height(&old));
		for (unsigned long j = 0; j < 3 * size + 3; j++)
			assert_ptr_equal(mtree_load(&snap, j), mtree_load(&old, j));
		assert_int_equal(mtree_store_range(&snap, 0, size, E('x'), GFP_KERNEL), 0);
		assert_ptr_equal(mtree_load(&old, 0), size ? xa_mk_value(0) : NULL);
		mtree_destroy(&old);
		assert_ptr_equal(mtree_load(&snap, 0), E('x'));
		assert_true(mt_check(&snap, NULL));
		end(&snap);
	}
}

/* Its leaf was marked as one that has left the tree, which it had not: the other tree had it. */
static void regress_the_last_entry_of_a_snapshot_goes(void **state)
{
	struct maple_tree old, snap;

	(void)state;
	for (unsigned int flags = 0; flags < 4; flags++) {
		mt_init_flags(&old, flags);
		mt_init_flags(&snap, flags);
		assert_int_equal(mtree_store_range(&old, 5, 6, E('a'), GFP_KERNEL), 0);
		assert_int_equal(mtree_snapshot(&old, &snap, GFP_KERNEL), 0);
		assert_ptr_equal(mtree_erase(&snap, 5), E('a'));
		assert_true(mt_check(&old, NULL));
		assert_true(mtree_empty(&snap));
		assert_ptr_equal(mtree_load(&old, 6), E('a'));
		end(&snap);
		end(&old);
	}
}

static void trees_that_cannot_share_are_refused(void **state)
{
	static const struct mt_rcu other = MT_RCU_FLAVOUR(bp);
	struct maple_tree old, snap;

	(void)state;
	for (unsigned int i = 0; i < 16; i++) {
		mt_init_flags(&old, i % 4);
		mt_init_flags(&snap, i / 4);
		mtree_store_range(&old, 1, 5, E('a'), GFP_KERNEL);
		assert_int_equal(mtree_snapshot(&old, &snap, GFP_KERNEL),
				 i % 4 == i / 4 ? 0 : -EINVAL);
		expect_content(&snap, i % 4 == i / 4 ? "1-5:a" : "");
		assert_int_equal(mtree_snapshot(&old, &old, GFP_KERNEL), -EINVAL);
		if (i % 4 == i / 4)
			assert_int_equal(mtree_snapshot(&old, &snap, GFP_KERNEL), -EINVAL);
		end(&old);
		end(&snap);
	}
	mt_init(&old);
	mt_init(&snap);
	mtree_store(&old, 7, E('a'), GFP_KERNEL);
	assert_int_equal(mt_set_rcu_flavour(&snap, &other), 0);
	assert_int_equal(mtree_snapshot(&old, &snap, GFP_KERNEL), -EINVAL);
	begin_counted(&snap, 0);
	assert_int_equal(mtree_snapshot(&old, &snap, GFP_KERNEL), -EINVAL);
	expect_content(&snap, "");
	end(&old);
}

static struct mt_node *first_leaf(const struct maple_tree *mt)
{
	struct maple_enode *at = mt->ma_root;

	while (enode_kind(at) != KIND_LEAF)
		at = slot_child(enode_node(at), enode_kind(at), 0);
	return enode_node(at);
}

/*
 * Without readers the versions of a leaf that changes in place, again and again, ran into the count
 * of references above them: shared by nobody, the leaf was copied, and never freed.
 */
static void versions_do_not_run_into_the_count_of_references(void **state)
{
	(void)state;
	for (unsigned int flags = 0; flags < 2; flags++) {
		struct maple_tree old, snap;

		begin_counted(&old, flags);
		begin_counted(&snap, flags);
		allowed = 100;
		fill(&old, 0, 2, 8, 20);
		for (unsigned long last = 2; last < 7; last++) {
			first_leaf(&old)->wide.meta |= META_VERSION_MAX << META_VERSION_SHIFT;
			assert_int_equal(mtree_store_range(&old, 0, last, xa_mk_value(0),
							   GFP_KERNEL),
					 0);
			first_leaf(&old)->wide.meta |= META_VERSION_MAX << META_VERSION_SHIFT;
			assert_int_equal(mtree_store_range(&old, 8, 9, E('a' + (char)last),
							   GFP_KERNEL),
					 0);
		}
		assert_int_equal(node_shares(first_leaf(&old), KIND_LEAF), 0);
		assert_int_equal(mtree_snapshot(&old, &snap, GFP_KERNEL), 0);
		end(&old);
		end(&snap);
		assert_int_equal(blocks, 0);
	}
}

/* A tree that has lost all it shared is like any other, and may be filled by a snapshot again. */
static void an_emptied_tree_begins_anew(void **state)
{
	(void)state;
	for (unsigned int flags = 0; flags < 4; flags++) {
		struct maple_tree old, snap;
		MA_STATE(mas, &old, 5, 9);

		mt_init_flags(&old, flags);
		mt_init_flags(&snap, flags);
		fill(&old, 0, 2, 3, 500);
		assert_int_equal(mtree_snapshot(&old, &snap, GFP_KERNEL), 0);
		assert_int_equal(mtree_store_range(&old, 0, ULONG_MAX, NULL, GFP_KERNEL), 0);
		assert_true(mtree_empty(&old));
		mtree_lock(&old);
		assert_int_equal(mas_preallocate(&mas, E('a'), GFP_KERNEL), 0);
		mas_store_prealloc(&mas, E('a'));
		mtree_unlock(&old);
		expect_content(&old, "5-9:a");
		mtree_erase(&old, 5);
		assert_int_equal(mtree_snapshot(&snap, &old, GFP_KERNEL), 0);
		assert_ptr_equal(mtree_load(&old, 1498), xa_mk_value(499));
		end(&snap);
		end(&old);
	}
}

static void a_lone_entry_is_shared_as_a_word(void **state)
{
	DEFINE_MTREE(old);
	DEFINE_MTREE(snap);

	(void)state;
	mtree_store(&old, 0, E('a'), GFP_KERNEL);
	assert_int_equal(mtree_snapshot(&old, &snap, GFP_KERNEL), 0);
	mtree_store(&snap, 0, E('b'), GFP_KERNEL);
	expect_content(&old, "0:a");
	expect_content(&snap, "0:b");
	end(&old);
	end(&snap);
}

static void a_snapshot_under_the_callers_locks(void **state)
{
	struct maple_tree old, snap;
	MA_STATE(mas, &old, 3, 8);

	(void)state;
	mt_init_flags(&old, MT_FLAGS_LOCK_EXTERN);
	mt_init_flags(&snap, MT_FLAGS_LOCK_EXTERN);
	assert_int_equal(mas_store_gfp(&mas, E('a'), GFP_KERNEL), 0);
	assert_int_equal(mas_snapshot(&mas, &snap, GFP_KERNEL), 0);
	assert_int_equal(mas_snapshot(&mas, &old, GFP_KERNEL), -EINVAL);
	assert_int_equal(mas_store_gfp(&mas, E('b'), GFP_KERNEL), 0); /* the cursor stands there */
	expect_content(&snap, "3-8:a");
	expect_content(&old, "3-8:b");
	end(&snap);
	assert_int_equal(mtree_snapshot(&old, &snap, GFP_KERNEL), 0); /* takes no lock of theirs */
	expect_content(&snap, "3-8:b");
	end(&old);
	end(&snap);
}

/* ---- memory --------------------------------------------------------------------------------- */

static unsigned long shared_nodes(struct maple_tree *mt)
{
	struct mt_statistics stats;

	mt_get_statistics(mt, &stats);
	return stats.shared;
}

/* A snapshot takes no memory, a first write as many nodes as there are levels, the second none. */
static void only_what_is_written_is_copied(void **state)
{
	struct maple_tree old, snap;

	(void)state;
	for (unsigned int flags = 0; flags <= MT_FLAGS_ALLOC_RANGE; flags++) {
		struct mt_statistics stats;
		long before;

		allowed = LONG_MAX;
		begin_counted(&old, flags);
		begin_counted(&snap, flags);
		fill(&old, 0, 2, 3, 20000);
		assert_int_equal(shared_nodes(&old), 0);
		before = blocks;
		assert_int_equal(mtree_snapshot(&old, &snap, GFP_KERNEL), 0);
		assert_int_equal(blocks, before);
		mt_get_statistics(&old, &stats);
		assert_int_equal(stats.shared, stats.nodes);
		mtree_store_range(&old, 30000, 30001, E('x'), GFP_KERNEL);
		assert_int_equal(blocks, before + (long)mt_height(&old));
		assert_int_equal(shared_nodes(&old), stats.nodes - mt_height(&old));
		assert_int_equal(shared_nodes(&snap), stats.nodes - mt_height(&old));
		mtree_store_range(&old, 30000, 30001, E('y'), GFP_KERNEL);
		assert_int_equal(blocks, before + (long)mt_height(&old));
		mtree_destroy(&snap);
		assert_int_equal(blocks, before);
		assert_int_equal(shared_nodes(&old), 0);
		mtree_store_range(&old, 300, 301, E('y'), GFP_KERNEL);
		assert_int_equal(blocks, before);
		end(&old);
		assert_int_equal(blocks, 0);
	}
}

/*
 * A store that finds too little memory, at whichever block, leaves both trees as they were, and
 * keeps no memory.
 */
static void stores_without_memory_change_nothing(void **state)
{
	(void)state;
	for (unsigned int flags = 0; flags < 4; flags++) {
		struct maple_tree old, snap;
		int failures = 0;

		allowed = LONG_MAX;
		begin_counted(&old, flags);
		fill(&old, 0, 2, 3, 3000);
		for (unsigned long i = 0; i < 300; i++) {
			unsigned long first = i * 37 % 8000, last = first + (i % 7) * (i % 7) * 9;
			void *before = mtree_load(&old, first);
			int error = -ENOMEM;
			unsigned long shared;
			long held;

			begin_counted(&snap, flags);
			allowed = 0;
			assert_int_equal(mtree_snapshot(&old, &snap, GFP_KERNEL), 0);
			if (mt_in_rcu(&old))
				rcu_barrier();
			shared = shared_nodes(&old);
			held = blocks;
			for (long room = 0; error; room++) {
				allowed = room;
				error = mtree_store_range(&old, first, last, E('x'), GFP_KERNEL);
				assert_true(!error || error == -ENOMEM);
				assert_ptr_equal(mtree_load(&snap, first), before);
				assert_true(mt_check(&old, NULL));
				if (!error)
					continue;
				failures++;
				assert_ptr_equal(mtree_load(&old, first), before);
				assert_int_equal(blocks, held);
				assert_int_equal(shared_nodes(&old), shared);
			}
			assert_ptr_equal(mtree_load(&old, first), E('x'));
			assert_true(mt_check(&snap, NULL));
			allowed = LONG_MAX;
			mtree_destroy(&snap);
		}
		assert_true(failures > 300);
		end(&old);
		rcu_barrier();
		assert_int_equal(blocks, 0);
	}
}

/* What was reserved, for one store or for many, suffices without any memory. */
static void reserves_cover_the_copies(void **state)
{
	(void)state;
	for (unsigned int flags = 0; flags < 4; flags++) {
		struct maple_tree old, snap;
		MA_STATE(mas, &old, 0, 0);

		allowed = LONG_MAX;
		begin_counted(&old, flags);
		fill(&old, 0, 2, 3, 3000);
		for (unsigned long i = 0; i < 1000; i++) {
			unsigned long first = i * 7919 % 8000, last = first + i % 5 * 8;
			void *entry = i % 3 ? E('x') : NULL;

			begin_counted(&snap, flags);
			allowed = LONG_MAX;
			assert_int_equal(mtree_snapshot(&old, &snap, GFP_KERNEL), 0);
			mas_set_range(&mas, first, last);
			mtree_lock(&old);
			if (i % 2)
				assert_int_equal(mas_preallocate(&mas, entry, GFP_KERNEL), 0);
			else
				assert_int_equal(mas_reserve(&mas, 3, 6), 0);
			allowed = 0;
			for (unsigned long j = 0; j < (i % 2 ? 1 : 3); j++) {
				mas_set_range(&mas, first + 100 * j, last + 100 * j);
				assert_int_equal(mas_store_gfp(&mas, entry, GFP_NOWAIT), 0);
			}
			mas_destroy(&mas);
			mtree_unlock(&old);
			assert_true(mt_check(&old, NULL) && mt_check(&snap, NULL));
			mtree_destroy(&snap);
		}
		allowed = LONG_MAX;
		end(&old);
		rcu_barrier();
		assert_int_equal(blocks, 0);
	}
}

/*
 * A store into a shared leaf has at hand: a copy of each node of the path and, beside readers, the
 * batch that what they replace goes to, and what the store itself may take. The second one, which
 * changes a leaf of the tree's own in place, takes nothing.
 */
static void a_store_takes_no_more_than_it_may_need(void **state)
{
	(void)state;
	for (unsigned int flags = 0; flags < 4; flags++) {
		struct maple_tree old, snap;
		long beside, height;

		allowed = LONG_MAX;
		begin_counted(&old, flags);
		begin_counted(&snap, flags);
		fill(&old, 0, 2, 3, 3000);
		height = mt_height(&old);
		beside = mt_in_rcu(&old) ? 1 + 3 : 0;
		assert_int_equal(mtree_snapshot(&old, &snap, GFP_KERNEL), 0);
		asked = 0;
		assert_int_equal(mtree_store_range(&snap, 300, 301, E('x'), GFP_KERNEL), 0);
		assert_int_equal(asked, height + beside);
		asked = 0;
		assert_int_equal(mtree_store_range(&snap, 300, 301, E('y'), GFP_KERNEL), 0);
		assert_int_equal(asked, 0);
		end(&snap);
		end(&old);
		rcu_barrier();
		assert_int_equal(blocks, 0);
	}
}

/* A tree whose nodes are shared with its snapshot, and one of the same content that shares none. */
struct trio {
	struct maple_tree old, snap, alone;
};

static void begin_trio(struct trio *t, unsigned int flags)
{
	allowed = LONG_MAX;
	begin_counted(&t->old, flags);
	begin_counted(&t->snap, flags);
	begin_counted(&t->alone, flags);
	fill(&t->old, 0, 2, 3, 300);
	fill(&t->alone, 0, 2, 3, 300);
	assert_int_equal(mtree_snapshot(&t->old, &t->snap, GFP_KERNEL), 0);
}

static void end_trio(struct trio *t)
{
	end(&t->snap);
	end(&t->old);
	end(&t->alone);
	rcu_barrier();
	assert_int_equal(blocks, 0);
}

/* So that all trees have nothing that is retired. */
static void let_retired_go(struct maple_tree *mt)
{
	if (mt_in_rcu(mt)) {
		mt_clear_in_rcu(mt);
		mt_set_in_rcu(mt);
	}
}

/*
 * What @mt has at hand for the store of half an entry in a full leaf, beside a leaf that has room.
 */
static long blocks_beside_a_leaf_with_room(struct maple_tree *mt)
{
	MA_STATE(mas, mt, 450, 450);

	mtree_lock(mt);
	assert_non_null(mas_walk(&mas));
	for (unsigned long at = mas.min - 6; at < mas.min; at++) {
		MA_STATE(beside, mt, at, at);

		mas_erase(&beside);
	}
	mtree_unlock(mt);
	let_retired_go(mt);
	asked = 0;
	mas_set(&mas, 450);
	mtree_lock(mt);
	assert_int_equal(mas_preallocate(&mas, E('x'), GFP_KERNEL), 0);
	mas_store_prealloc(&mas, E('x'));
	mtree_unlock(mt);
	assert_true(mt_check(mt, NULL));
	return asked;
}

/* A leaf that takes over slots of a shared one, and is the tree's own already, is not copied. */
static void a_leaf_beside_that_is_its_own_is_not_copied(void **state)
{
	(void)state;
	for (unsigned int flags = 0; flags < 4; flags++) {
		struct trio t;
		long takes;

		begin_trio(&t, flags);
		takes = blocks_beside_a_leaf_with_room(&t.alone);
		/* the copy of the full leaf; and batches for that, before and after the store */
		assert_int_equal(blocks_beside_a_leaf_with_room(&t.snap),
				 takes + 1 + (mt_in_rcu(&t.snap) ? 2 : 0));
		end_trio(&t);
	}
}

/*
 * Once all nodes are the tree's own, a store that changes many of them has at hand what it has in a
 * tree that shares none: nothing for nodes that others keep.
 */
static void a_store_among_own_nodes_takes_what_it_takes_alone(void **state)
{
	(void)state;
	for (unsigned int flags = 0; flags < 4; flags++) {
		struct trio t;
		struct maple_tree *trees[] = { &t.snap, &t.alone };
		long takes[LENGTH(trees)];

		begin_trio(&t, flags);
		for (size_t i = 0; i < LENGTH(trees); i++) {
			for (unsigned long at = 0; at < 900; at += 3)
				assert_int_equal(mtree_store_range(trees[i], at, at + 1, E('x'),
								   GFP_KERNEL),
						 0);
			let_retired_go(trees[i]);
			asked = 0;
			assert_int_equal(mtree_store_range(trees[i], 300, 600, E('y'), GFP_KERNEL),
					 0);
			takes[i] = asked;
		}
		assert_true(takes[0] > 0 || !mt_in_rcu(&t.snap));
		assert_int_equal(takes[0], takes[1]);
		end_trio(&t);
	}
}

/* Each snapshot of the one before, which is destroyed later or at once. */
static void a_long_chain(void **state)
{
	enum { LINKS = 100000, KEPT = 1000 };
	struct maple_tree *mt = calloc(LINKS, sizeof(*mt));

	(void)state;
	allowed = LONG_MAX;
	for (unsigned int flags = 0; flags < 4; flags += 3) {
		begin_counted(&mt[0], flags);
		fill(&mt[0], 0, 2, 3, 2000);
		for (unsigned long i = 1; i < LINKS; i++) {
			begin_counted(&mt[i], flags);
			assert_int_equal(mtree_snapshot(&mt[i - 1], &mt[i], GFP_KERNEL), 0);
			if (i % 8 == 0)
				mtree_store_range(&mt[i], i % 6000, i % 6000, xa_mk_value(i),
						  GFP_KERNEL);
			if (i >= KEPT)
				mtree_destroy(&mt[i - KEPT]);
		}
		for (unsigned long i = LINKS - KEPT; i < LINKS; i++)
			assert_ptr_equal(mtree_load(&mt[i], i / 8 * 8 % 6000),
					 xa_mk_value(i / 8 * 8));
		for (unsigned long i = LINKS - KEPT; i < LINKS; i++)
			mtree_destroy(&mt[i]);
		rcu_barrier();
		assert_int_equal(blocks, 0);
	}
	free(mt);
}

/* ---- cursors -------------------------------------------------------------------------------- */

/*
 * A reader's cursor in a tree or its snapshot, while either is written: what a step returns is in
 * the cursor's tree at that time.
 */
static void cursors_notice_writes_to_their_tree(void **state)
{
	(void)state;
	for (unsigned int way = 0; way < 16; way++) {
		bool in_snap = way & 1, write_snap = way & 2, walk_first = way & 4, loop = way & 8;
		struct maple_tree old, snap, *read = in_snap ? &snap : &old;
		struct maple_tree *write = write_snap ? &snap : &old;
		MA_STATE(mas, read, 300, 300);
		void *entry;

		mt_init_flags(&old, MT_FLAGS_USE_RCU);
		mt_init_flags(&snap, MT_FLAGS_USE_RCU);
		fill(&old, 0, 2, 3, 1000);
		urcu_bp_read_lock();
		if (walk_first && !in_snap)
			mas_walk(&mas);
		assert_int_equal(mtree_snapshot(&old, &snap, GFP_KERNEL), 0);
		mas_walk(&mas);
		mtree_store_range(write, 303, 304, E('x'), GFP_KERNEL);
		mtree_store_range(write, 390, 391, E('y'), GFP_KERNEL);
		mtree_erase(write, 306);
		if (loop)
			entry = mas_find(&mas, ULONG_MAX);
		else
			entry = mas_next(&mas, ULONG_MAX);
		assert_ptr_equal(entry, read == write ? E('x') : xa_mk_value(101));
		assert_ptr_equal(mas_next(&mas, ULONG_MAX),
				 xa_mk_value(read == write ? 103 : 102));
		while (mas.last < 388)
			entry = mas_next(&mas, ULONG_MAX);
		assert_ptr_equal(mas_next(&mas, ULONG_MAX), read == write ? E('y')
									  : xa_mk_value(130));
		mas_for_each(&mas, entry, 2000)
			if (mas.index == 900)
				mtree_store_range(write, 903, 904, E('z'), GFP_KERNEL);
			else if (mas.index == 903)
				assert_ptr_equal(entry, read == write ? E('z') : xa_mk_value(301));
		urcu_bp_read_unlock();
		end(&old);
		end(&snap);
	}
}

/* Lists the leaves below @enode, at most @room. */
static size_t list_leaves(struct maple_enode *enode, struct mt_node **leaf, size_t room)
{
	enum node_kind kind = enode_kind(enode);
	size_t count = 0;

	if (kind == KIND_LEAF) {
		assert_true(room);
		leaf[0] = enode_node(enode);
		return 1;
	}
	for (unsigned int i = 0; i <= node_end(enode_node(enode), kind); i++)
		count += list_leaves(slot_child(enode_node(enode), kind, i), leaf + count,
				     room - count);
	return count;
}

static bool is_listed(const struct mt_node *leaf, struct mt_node **list, size_t count)
{
	while (count--)
		if (list[count] == leaf)
			return true;
	return false;
}

/*
 * A reader of the first tree may stand in a leaf that this tree has lost and the snapshot still
 * has: whatever is written to the snapshot meanwhile, the leaf remains marked.
 */
static void a_lost_leaf_stays_marked_while_there_are_readers(void **state)
{
	enum { STEPS = 20, SIZE = WIDE_SLOTS > 4 ? 600 : 20, MAX = 200 };
	struct mt_node *was[MAX], *now[MAX];

	(void)state;
	for (unsigned long way = 0; way < STEPS * STEPS; way++) {
		unsigned long last = way / STEPS * (SIZE / STEPS);
		struct maple_tree old, snap;
		size_t count, left;

		mt_init_flags(&old, MT_FLAGS_USE_RCU);
		mt_init_flags(&snap, MT_FLAGS_USE_RCU);
		fill(&old, 0, 1, 1, SIZE);
		assert_int_equal(mtree_snapshot(&old, &snap, GFP_KERNEL), 0);
		count = list_leaves(old.ma_root, was, MAX);
		urcu_bp_read_lock();
		mtree_store_range(&old, 0, last, E('x'), GFP_KERNEL);
		mtree_store_range(&snap, 0, way % STEPS * (SIZE / STEPS), E('y'), GFP_KERNEL);
		left = list_leaves(old.ma_root, now, MAX);
		for (size_t i = 0; i < count; i++)
			assert_true(is_listed(was[i], now, left) || leaf_version(was[i]) & META_DEAD);
		urcu_bp_read_unlock();
		end(&old);
		end(&snap);
	}
}

/* A leaf that the first tree has left stays a leaf of the snapshot in which loops read ahead. */
static void a_snapshot_outlives_its_tree(void **state)
{
	struct maple_tree old, snap;
	unsigned long count = 0;
	void *entry;
	MA_STATE(mas, &snap, 0, 0);

	(void)state;
	mt_init_flags(&old, MT_FLAGS_USE_RCU);
	mt_init_flags(&snap, MT_FLAGS_USE_RCU);
	fill(&old, 0, 2, 3, 1000);
	assert_int_equal(mtree_snapshot(&old, &snap, GFP_KERNEL), 0);
	mtree_destroy(&old);
	rcu_barrier();
	urcu_bp_read_lock();
	mas_for_each(&mas, entry, ULONG_MAX)
		assert_ptr_equal(entry, xa_mk_value(count++));
	assert_int_equal(count, 1000);
	urcu_bp_read_unlock();
	/* its own now, and changed in place */
	mtree_store_range(&snap, 30, 31, E('x'), GFP_KERNEL);
	mtree_store_range(&snap, 300, 301, E('x'), GFP_KERNEL);
	assert_ptr_equal(mtree_load(&snap, 31), E('x'));
	assert_true(mt_check(&snap, NULL));
	mtree_destroy(&snap);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(snapshots_of_every_size_are_equal_and_independent),
		cmocka_unit_test(regress_the_last_entry_of_a_snapshot_goes),
		cmocka_unit_test(trees_that_cannot_share_are_refused),
		cmocka_unit_test(versions_do_not_run_into_the_count_of_references),
		cmocka_unit_test(an_emptied_tree_begins_anew),
		cmocka_unit_test(a_lone_entry_is_shared_as_a_word),
		cmocka_unit_test(a_snapshot_under_the_callers_locks),
		cmocka_unit_test(only_what_is_written_is_copied),
		cmocka_unit_test(stores_without_memory_change_nothing),
		cmocka_unit_test(reserves_cover_the_copies),
		cmocka_unit_test(a_store_takes_no_more_than_it_may_need),
		cmocka_unit_test(a_leaf_beside_that_is_its_own_is_not_copied),
		cmocka_unit_test(a_store_among_own_nodes_takes_what_it_takes_alone),
		cmocka_unit_test(a_long_chain),
		cmocka_unit_test(cursors_notice_writes_to_their_tree),
		cmocka_unit_test(a_lost_leaf_stays_marked_while_there_are_readers),
		cmocka_unit_test(a_snapshot_outlives_its_tree),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
