/* SPDX-License-Identifier: MIT */
/*
 * rust.c - the engines of Rust's maps, whose functions are in rust/.
 */
#include "../loops.h"

/* @copy, @share: what its dup() is, a copy or what shares with the original; the other is NULL. */
#define RUST_ENGINE(prefix, label, copy, share, ...) \
	void *prefix##_create(void); \
	void prefix##_destroy(void *map); \
	void *prefix##_load(void *map, unsigned long index); \
	bool prefix##_insert(void *map, const struct range *range); \
	bool prefix##_store(void *map, const struct range *range); \
	bool prefix##_erase(void *map, const struct range *range); \
	bool prefix##_resize(void *map, const struct range *range, unsigned long last); \
	unsigned long prefix##_sum(void *map, bool backward); \
	size_t prefix##_list(void *map, bool backward, struct range *out, size_t max); \
	void *prefix##_dup(void *map); \
	unsigned long prefix##_independent(void *map, const unsigned long *keys, size_t count); \
	unsigned long prefix##_chained(void *map, const unsigned long *keys, size_t count); \
	LOOPS_WRITE_NAMED(prefix##_, prefix##_insert, prefix##_erase, prefix##_resize) \
	const struct engine engine_##prefix = { \
		.name = label, \
		.create = prefix##_create, \
		.destroy = prefix##_destroy, \
		.load = prefix##_load, \
		.insert = prefix##_insert, \
		.store = prefix##_store, \
		.erase = prefix##_erase, \
		.resize = prefix##_resize, \
		.sum = prefix##_sum, \
		.list = prefix##_list, \
		.dup = copy, \
		.snapshot = share, \
		.independent = prefix##_independent, \
		.chained = prefix##_chained, \
		.brk1 = prefix##_loop_brk1, \
		.brk2 = prefix##_loop_brk2, \
		__VA_ARGS__ \
	}

/* Beyond, a sample of these takes many seconds, and tells nothing that this many do not. */
#define MOST 1000000

RUST_ENGINE(btreemap, "Rust BTreeMap", btreemap_dup, NULL, .extra = false);
#ifdef HAVE_IMBL
RUST_ENGINE(ordmap, "imbl::OrdMap", ordmap_dup, ordmap_dup, .extra = false);
#endif
#ifdef HAVE_SHARING
RUST_ENGINE(redblack, "rpds", redblack_dup, redblack_dup, .extra = true, .most = MOST);
/* What stands still is a view. */
RUST_ENGINE(transactions, "concread", NULL, transactions_dup, .extra = true, .most = MOST);
#endif
#ifdef HAVE_CRATES
RUST_ENGINE(rangemap, "rangemap", rangemap_dup, NULL, .extra = true, .most = MOST);
RUST_ENGINE(skiplist, "crossbeam-skiplist", skiplist_dup, NULL, .sharing = SHARING_FREE,
	    .most = MOST);
/* Its search for a key at or above an index often falls back to walking from the first one. */
RUST_ENGINE(treeindex, "scc::TreeIndex", treeindex_dup, NULL, .sharing = SHARING_FREE,
	    .extra = true, .forward_only = true, .most = 100);
#endif
