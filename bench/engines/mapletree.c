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

#define MAPLE_NEW(flags)     tree_new(flags)
#define MAPLE_DELETE(tree)   free(tree)
#define MAPLE_READ_LOCK()    urcu_bp_read_lock()
#define MAPLE_READ_UNLOCK()  urcu_bp_read_unlock()
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

MAPLE_ENGINE(engine_mapletree, "mapletree", 0, false, .bytes = tree_bytes LOAD_MANY);
MAPLE_ENGINE(engine_mapletree_gaps, "mapletree gaps", GAPS, true, .bytes = tree_bytes LOAD_MANY);
MAPLE_ENGINE(engine_mapletree_rcu, "mapletree rcu", RCU, true, .bytes = tree_bytes LOAD_MANY);
MAPLE_ENGINE(engine_mapletree_mm, "mapletree mm", GAPS | RCU, false,
	     .bytes = tree_bytes LOAD_MANY);
