/* SPDX-License-Identifier: MIT */
/*
 * trees.c - operations on whole trees: copy, destroy, fill in bulk, switch modes, count, print.
 */
#include "world.h"

#include <errno.h>
#include <stdio.h>

void op_renew(struct world *world, struct tree *tree)
{
	unsigned int how = input_byte(&world->in);
	unsigned int flags = 0;

	flags |= how & 1 ? MT_FLAGS_ALLOC_RANGE : 0;
	flags |= how & 2 ? MT_FLAGS_USE_RCU : 0;
	flags |= (how & 12) == 12 ? MT_FLAGS_LOCK_EXTERN : 0;
	record(world, tree, "mt_init_flags", flags, how >> 7, how & 16, NULL);
	world_renew(world, (unsigned int)(tree - world->tree), flags, !(how & 128), how & 16);
}

void op_destroy(struct world *world, struct tree *tree)
{
	record(world, tree, "mtree_destroy", 0, 0, 0, NULL);
	mtree_destroy(&tree->mt);
	oracle_clear(&tree->oracle);
	tree_changed(world, tree, NULL);
}

/* Out of RCU mode (its reader leaves before), or into it. */
void op_switch_rcu(struct world *world, struct tree *tree)
{
	bool on = tree->flags & MT_FLAGS_USE_RCU;

	record(world, tree, on ? "mt_clear_in_rcu" : "mt_set_in_rcu", 0, 0, 0, NULL);
	expect_number(world, "mt_in_rcu", mt_in_rcu(&tree->mt), on);
	reader_leave(tree);
	if (on)
		mt_clear_in_rcu(&tree->mt);
	else
		mt_set_in_rcu(&tree->mt);
	tree->flags ^= MT_FLAGS_USE_RCU;
	/* what a cursor has reserved was counted for the other mode */
	tree_changed(world, tree, NULL);
}

void op_dup(struct world *world, struct tree *tree)
{
	struct tree *to = &world->tree[input_byte(&world->in) % TREES];
	gfp_t gfp = take_gfp(world);
	bool locked = input_byte(&world->in) & 1;
	int got, expected = 0;

	if (to == tree)
		return;
	record(world, tree, locked ? "__mt_dup" : "mtree_dup",
	       (unsigned long)(to - world->tree), gfp, 0, NULL);
	if (!oracle_empty(&to->oracle) || to->flags != tree->flags ||
	    to->counted != tree->counted)
		expected = -EINVAL;
	if (locked) {
		mtree_lock(&tree->mt);
		mtree_lock(&to->mt);
		got = __mt_dup(&tree->mt, &to->mt, gfp);
		mtree_unlock(&to->mt);
		mtree_unlock(&tree->mt);
	} else {
		got = mtree_dup(&tree->mt, &to->mt, gfp);
	}
	if (!refused(world, got, expected, gfp) && !expected)
		oracle_copy(&to->oracle, &tree->oracle);
	tree_changed(world, to, NULL);
	tree_compare(world, tree);
}

void op_statistics(struct world *world, struct tree *tree)
{
	const struct oracle *oracle = &tree->oracle;
	struct mt_statistics stats;

	record(world, tree, "mt_get_statistics", 0, 0, 0, NULL);
	mtree_lock(&tree->mt);
	mt_get_statistics(&tree->mt, &stats);
	mtree_unlock(&tree->mt);
	expect_number(world, "height", stats.height, mt_height(&tree->mt));
	expect_number(world, "bytes", stats.bytes, stats.nodes * 256);
	expect_number(world, "entries", stats.entries, oracle_entries(oracle));
	expect_number(world, "gaps", stats.gaps, oracle->count - oracle_entries(oracle));
	expect_number(world, "no node", stats.nodes == 0, stats.height == 0);
	expect_number(world, "leaves", stats.leaves <= stats.nodes, true);
	mt_cache_shrink();
}

/* The printers, to nowhere. */
void op_print(struct world *world, struct tree *tree)
{
	static FILE *nowhere;
	FILE *saved = stderr;

	record(world, tree, "mt_dump, mas_dump", 0, 0, 0, NULL);
	if (!nowhere)
		nowhere = fopen("/dev/null", "w");
	if (!nowhere)
		return;
	stderr = nowhere;
	mtree_lock(&tree->mt);
	mt_dump(&tree->mt, input_byte(&world->in) & 1 ? mt_dump_hex : mt_dump_dec);
	mas_dump(&tree->cursor[0].mas);
	mt_validate(&tree->mt);
	mtree_unlock(&tree->mt);
	stderr = saved;
}

void op_fail_memory(struct world *world, struct tree *tree)
{
	unsigned int nth = input_byte(&world->in) % 16 + 1;

	record(world, tree, "fail an allocation", nth, 0, 0, NULL);
	heap_fail(&world->heap, nth);
}

void op_pass_grace(struct world *world, struct tree *tree)
{
	record(world, tree, "grace period", 0, 0, 0, NULL);
	world_pass_grace(world);
}

/* What bulk mode reserved suffices for the ascending stores, whatever the gaps between them. */
void op_bulk(struct world *world, struct tree *tree)
{
	unsigned int count = input_byte(&world->in) % 96;
	unsigned long index = input_byte(&world->in);
	int error;
	MA_STATE(mas, &tree->mt, 0, 0);

	op_destroy(world, tree);
	record(world, tree, "mas_expected_entries", count, index, 0, NULL);
	mtree_lock(&tree->mt);
	error = mas_expected_entries(&mas, count);
	mtree_unlock(&tree->mt);
	if (refused(world, error, 0, GFP_KERNEL))
		return;
	heap_deny(&world->heap);
	for (unsigned int i = 0; i < count; i++) {
		unsigned int shape = input_byte(&world->in);
		unsigned long first = index + (shape & 3);
		unsigned long last = first + (shape >> 2 & 3);
		void *entry = take_plain_entry(world);

		record(world, tree, "mas_store in bulk", first, last, 0, entry);
		mtree_lock(&tree->mt);
		__mas_set_range(&mas, first, last);
		expect_entry(world, mas_store(&mas, entry), NULL);
		if (mas_is_err(&mas))
			fail(world, "mas_store failed in bulk mode");
		mtree_unlock(&tree->mt);
		oracle_store(&tree->oracle, first, last, entry);
		index = last + 1;
	}
	mtree_lock(&tree->mt);
	mas_destroy(&mas);
	mtree_unlock(&tree->mt);
	heap_allow(&world->heap);
	tree_changed(world, tree, NULL);
}
