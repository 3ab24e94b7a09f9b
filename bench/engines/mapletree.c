/* SPDX-License-Identifier: MIT */
/*
 * mapletree.c - the engine of this project's tree, in its four modes.
 */
#include <stdlib.h>

#include <mapletree/maple_tree.h>
#include <urcu/urcu-bp.h>

static struct maple_tree *tree_new(unsigned int flags)
{
	struct maple_tree *tree = malloc(sizeof(*tree));

	if (!tree)
		abort();
	mt_init_flags(tree, flags | MT_FLAGS_LOCK_EXTERN);
	return tree;
}

static struct maple_tree *tree_with_lock(unsigned int flags)
{
	struct maple_tree *tree = tree_new(flags);

	mt_init_flags(tree, flags);
	return tree;
}

#define MAPLE_NEW(flags)     tree_new(flags)
#define MAPLE_DELETE(tree)   free(tree)
#define MAPLE_READ_LOCK()    urcu_bp_read_lock()
#define MAPLE_READ_UNLOCK()  urcu_bp_read_unlock()
#define MAPLE_SNAPSHOTS
#define MAPLE_ONE_CALL
#define MAPLE_STORE_MERGE
#include "maple.h"

static size_t tree_bytes(void *map)
{
	struct mt_statistics stats;

	mt_get_statistics(map, &stats);
	return stats.bytes;
}

#ifdef HAVE_LOAD_MANY
static void load_many(void *map, const unsigned long *keys, void **entries, size_t count)
{
	mtree_load_many(map, keys, entries, count);
}
#define LOAD_MANY , .load_many = load_many
#else
#define LOAD_MANY
#endif

#define GAPS MT_FLAGS_ALLOC_RANGE
#define RCU  MT_FLAGS_USE_RCU

/* ---- with the lock that is in the tree, by the calls that take it ------------------------------ */

#define OWN_LOCK_ENGINE(symbol, label, tree_flags) \
	static void *create_##symbol(void) \
	{ \
		return tree_with_lock(tree_flags); \
	} \
	const struct engine symbol = { \
		.name = label, \
		.sharing = (tree_flags) & MT_FLAGS_USE_RCU ? SHARING_FREE : SHARING_WRITE_FREE, \
		.create = create_##symbol, \
		.destroy = maple_destroy, \
		.load = maple_load, \
		.insert = maple_insert, \
		.store = maple_store, \
		.erase = maple_erase, \
		.sum_each = maple_sum_each, \
		.independent = loop_independent, \
		.chained = loop_chained, \
	}

OWN_LOCK_ENGINE(engine_mapletree_own, "mapletree own lock", 0);
OWN_LOCK_ENGINE(engine_mapletree_mm_own, "mapletree mm own lock", GAPS | RCU);

/* ---- the user brings the lock ----------------------------------------------------------------- */

MAPLE_ENGINE(engine_mapletree, "mapletree", 0, false, .bytes = tree_bytes LOAD_MANY);
MAPLE_ENGINE(engine_mapletree_gaps, "mapletree gaps", GAPS, true, .bytes = tree_bytes LOAD_MANY);
MAPLE_ENGINE(engine_mapletree_rcu, "mapletree rcu", RCU, true, .bytes = tree_bytes LOAD_MANY);
MAPLE_ENGINE(engine_mapletree_mm, "mapletree mm", GAPS | RCU, false,
	     .bytes = tree_bytes LOAD_MANY);
