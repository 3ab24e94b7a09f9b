/* SPDX-License-Identifier: MIT */
/*
 * maple_tree_snapshot.h - snapshots of a tree. Not part of the kernel's interface. Included by
 * maple_tree.h, where the terms are explained.
 */
#ifndef MAPLETREE_MAPLE_TREE_SNAPSHOT_H
#define MAPLETREE_MAPLE_TREE_SNAPSHOT_H

#include <mapletree/maple_tree.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * mtree_snapshot, mas_snapshot - give the empty tree @snap the content that @mt (the cursor's tree)
 * has at this moment. Takes as long for ten million entries as for ten, and no memory: the trees
 * share their nodes. Both are full trees afterwards: read, written, snapshotted, copied and
 * destroyed in any order, by different threads, each under the lock of its tree and beside its
 * readers. The first write to a place that is shared copies the nodes above it, about one a level.
 *
 * @snap has the flags (but for the height and MT_FLAGS_ALLOC_WRAPPED), the allocator, the entry
 * operations and the flavour of RCU of @mt: mt_init_flags(&snap, mt.ma_flags) makes one for a tree
 * without any. Both trees may be switched into and out of RCU mode later. Entries are shared, too:
 * the pointers, not what they point to, which must outlive all trees that hold them, or be counted
 * (mt_set_entry_ops()).
 *
 * mtree_snapshot() takes both locks, that of @mt first; mas_snapshot() expects both held. Neither
 * disturbs readers of @mt, nor waits for a limit of mt_set_retire_limit(); both may be called
 * inside a read-side section. @gfp: not used; a snapshot needs no memory. Returns 0; -EINVAL: @snap
 * is not empty, is @mt itself, or differs in one of those; both trees are as before then.
 *
 * In a tree that has been snapshotted, or is a snapshot, a store may need memory where elsewhere it
 * would not; mas_preallocate() and mas_reserve() reserve it. Take a snapshot before either, not
 * between it and the store, which may then have to allocate.
 *
 * Both trees keep what they share until each has dropped it: memory is freed when the last of them
 * has, in RCU mode after a grace period. mt_get_statistics() tells how much is shared. Cursors of
 * readers of @snap in RCU mode go down from the root again after each write to @snap, wherever that
 * is; those of @mt only where they stand.
 */
MT_PUBLIC int mtree_snapshot(struct maple_tree *mt, struct maple_tree *snap, gfp_t gfp);
MT_PUBLIC int mas_snapshot(struct ma_state *mas, struct maple_tree *snap, gfp_t gfp);

/*
 * struct mt_entry_ops - who counts references to a tree's entries.
 * @get: take one more reference to @entry; called by writers, with the lock held. Cannot fail.
 * @put: drop one. Called by writers, with the lock held; in RCU mode by the thread that runs RCU
 *       callbacks, too, which must not wait for a grace period.
 * Neither may use a tree whose lock is held.
 */
struct mt_entry_ops {
	void (*get)(void *entry);
	void (*put)(void *entry);
};

/*
 * mt_set_entry_ops - let @mt hold references to its entries, counted by @ops (NULL: no longer).
 *
 * The tree holds one reference for each range of an entry, trees that share nodes hold them
 * together: an entry is referred to as long as one of them holds it. A store takes references of
 * its own, so the caller keeps, and drops, the one that it had. What is overwritten or erased is
 * dropped when no reader can find it any more: in RCU mode after a grace period, else at once. So
 * outside RCU mode what mtree_erase() and mas_erase() return may be freed already; have a reference
 * before. NULL and zero entries are not counted; value entries are, like any other.
 *
 * mtree_dup() and mtree_snapshot() want trees with the same @ops, which outlive both as the
 * allocator does. Stores then need memory where elsewhere they would not, as in a tree that has
 * been snapshotted. They take up to about twice as long, in RCU mode, too, where what they drop
 * waits for readers. Lock held. Returns 0; -EBUSY: the tree is not empty; -EINVAL: a function is
 * missing.
 */
MT_PUBLIC int mt_set_entry_ops(struct maple_tree *mt, const struct mt_entry_ops *ops);

#ifdef __cplusplus
}
#endif

#endif
