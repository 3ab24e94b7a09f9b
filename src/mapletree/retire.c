/* SPDX-License-Identifier: MIT */
/*
 * retire.c - free replaced nodes, in RCU mode in batches after a grace period.
 */
#include "retire.h"

#include <time.h>

#include "rcu.h"
#include "share.h"

/*
 * A batch occupies the memory of a node. Each word is a plain node (freed alone) or a tagged one
 * (freed with all below it). count <= BATCH_WORDS; a batch on a tree is never full.
 * @nodes: how many nodes it frees, including itself; what it drops of other trees' nodes counts as
 *         one.
 * @shared: its subtrees may belong to other trees, too.
 */
#define BATCH_WORDS \
	((NODE_BYTES - sizeof(struct rcu_head) - 2 * sizeof(void *) - 2 * sizeof(int)) / \
	 sizeof(long))

struct mt_retire_batch {
	struct rcu_head rcu;
	const struct mt_allocator *alloc;
	unsigned int count;
	unsigned int nodes;
	bool shared;
	uintptr_t word[BATCH_WORDS];
};

/* Nodes in batches that were handed over but are not freed yet. */
static unsigned long nodes_waiting;

unsigned long retire_limit;

/* This thread has run callbacks: if it waited for callbacks, it might wait for ever. */
static _Thread_local bool frees_batches __attribute__((tls_model("initial-exec")));

static_assert(sizeof(struct mt_retire_batch) <= NODE_BYTES, "a batch fits a block of the pool");

void retire_free_subtree(const struct mt_allocator *alloc, struct maple_enode *enode)
{
	struct mt_node *node = enode_node(enode);
	enum node_kind kind = enode_kind(enode);
	unsigned int i, end;

	if (kind != KIND_LEAF)
		for (i = 0, end = node_end(node, kind); i <= end; i++)
			retire_free_subtree(alloc, slot_child(node, kind, i));
	pool_free(alloc, node);
}

/* Drops a reference to a subtree of which parts may belong to other trees, too. */
static void drop_subtree(const struct mt_allocator *alloc, struct maple_enode *enode)
{
	struct mt_node *node = enode_node(enode);
	enum node_kind kind = enode_kind(enode);
	unsigned int i, end;

	if (node_unshare(node, kind))
		return;
	if (kind != KIND_LEAF) {
		shares_prefetch(node, kind);
		for (i = 0, end = node_end(node, kind); i <= end; i++)
			drop_subtree(alloc, slot_child(node, kind, i));
	}
	pool_free(alloc, node);
}

static void free_subtree(const struct mt_allocator *alloc, struct maple_enode *enode, bool shared)
{
	if (shared)
		drop_subtree(alloc, enode);
	else
		retire_free_subtree(alloc, enode);
}

/*
 * Counts the nodes of a subtree. Reads inner nodes only: the pointer to a leaf already says that it
 * is one.
 */
static unsigned int count_subtree(struct maple_enode *enode)
{
	struct mt_node *node = enode_node(enode);
	enum node_kind kind = enode_kind(enode);
	unsigned int i, end, count = 1;

	if (kind == KIND_LEAF)
		return 1;
	if (enode_kind(slot_child(node, kind, 0)) == KIND_LEAF)
		return count + node_end(node, kind) + 1;
	for (i = 0, end = node_end(node, kind); i <= end; i++)
		count += count_subtree(slot_child(node, kind, i));
	return count;
}

static void free_word(const struct mt_allocator *alloc, uintptr_t word, bool shared)
{
	if (root_is_node((void *)word))
		free_subtree(alloc, (struct maple_enode *)word, shared);
	else
		pool_free(alloc, (void *)word);
}

static void free_batch(struct rcu_head *head)
{
	struct mt_retire_batch *batch = caa_container_of(head, struct mt_retire_batch, rcu);
	const struct mt_allocator *alloc = batch->alloc;
	unsigned int i, nodes = batch->nodes;
	unsigned long waiting;

	assert(batch->count <= BATCH_WORDS && nodes > batch->count);
	frees_batches = true;
	for (i = 0; i < batch->count; i++)
		free_word(alloc, batch->word[i], batch->shared);
	pool_free(alloc, batch);
	waiting = __atomic_fetch_sub(&nodes_waiting, nodes, __ATOMIC_RELAXED);
	assert(waiting >= nodes);
	(void)waiting;
}

void retire_hand_over(struct maple_tree *mt)
{
	struct mt_retire_batch *batch = mt->ma_retired;

	mt->ma_retired = NULL;
	if (!batch)
		return;
	assert(batch->count && batch->count <= BATCH_WORDS && batch->nodes > batch->count);
	__atomic_add_fetch(&nodes_waiting, batch->nodes, __ATOMIC_RELAXED);
	rcu_defer(mt->ma_rcu, &batch->rcu, free_batch);
}

bool retire_reserve(const struct maple_tree *mt, struct pool_list *reserve, unsigned int count)
{
	if (mt_in_rcu(mt) && !rcu_prepare(mt->ma_rcu))
		return false;
	return pool_grow(mt->ma_alloc, reserve, count);
}

unsigned int retire_batches_needed(const struct maple_tree *mt, unsigned int count)
{
	unsigned int room = mt->ma_retired ? (unsigned int)BATCH_WORDS - mt->ma_retired->count : 0;

	if (count <= room)
		return 0;
	return (unsigned int)((count - room + BATCH_WORDS - 1) / BATCH_WORDS);
}

static void retire_word(struct maple_tree *mt, uintptr_t word, struct pool_list *reserve)
{
	struct mt_retire_batch *batch = mt->ma_retired;

	assert(word);
	if (!mt_in_rcu(mt)) {
		free_word(mt->ma_alloc, word, tree_is_shared(mt));
		return;
	}
	if (!batch) {
		batch = (struct mt_retire_batch *)pool_take(reserve);
		batch->alloc = mt->ma_alloc;
		batch->count = 0;
		batch->nodes = 1;
		batch->shared = false;
		mt->ma_retired = batch;
	}
	assert(batch->count < BATCH_WORDS && batch->alloc == mt->ma_alloc);
	batch->word[batch->count++] = word;
	if (tree_is_shared(mt)) {
		batch->shared = true;
		batch->nodes++;
	} else {
		batch->nodes += root_is_node((void *)word)
					? count_subtree((struct maple_enode *)word) : 1;
	}
	if (batch->count == BATCH_WORDS)
		retire_hand_over(mt);
}

void retire_node(struct maple_tree *mt, struct mt_node *node, struct pool_list *reserve)
{
	retire_word(mt, (uintptr_t)node, reserve);
}

void retire_subtree(struct maple_tree *mt, struct maple_enode *enode, struct pool_list *reserve)
{
	retire_word(mt, (uintptr_t)enode, reserve);
}

void retire_whole(struct maple_tree *mt, struct maple_enode *root)
{
	struct pool_list one = { NULL, 0 };

	if (!mt_in_rcu(mt)) {
		if (root)
			free_subtree(mt->ma_alloc, root, tree_is_shared(mt));
	} else if (root && (!rcu_prepare(mt->ma_rcu) ||
			    (!mt->ma_retired && !pool_grow(mt->ma_alloc, &one, 1)))) {
		rcu_wait(mt->ma_rcu);
		free_subtree(mt->ma_alloc, root, tree_is_shared(mt));
	} else if (root) {
		retire_word(mt, (uintptr_t)root, &one);
	}
	retire_hand_over(mt);
	assert(!one.count && !mt->ma_retired);
}

/* ---- how much waits, and a limit of it ------------------------------------------------------- */

unsigned long mt_retired_bytes(void)
{
	return __atomic_load_n(&nodes_waiting, __ATOMIC_RELAXED) * NODE_BYTES;
}

void mt_set_retire_limit(unsigned long bytes)
{
	unsigned long nodes = bytes / NODE_BYTES;

	__atomic_store_n(&retire_limit, bytes && !nodes ? 1 : nodes, __ATOMIC_RELAXED);
}

static bool above_limit(void)
{
	unsigned long limit = __atomic_load_n(&retire_limit, __ATOMIC_RELAXED);

	return limit && __atomic_load_n(&nodes_waiting, __ATOMIC_RELAXED) > limit;
}

/*
 * After a grace period, batches are freed as soon as the thread that runs callbacks gets the time.
 */
void mt_wait_retired(struct maple_tree *mt)
{
	const struct timespec moment = { 0, 1000000 };

	while (above_limit()) {
		if (frees_batches || urcu_bp_read_ongoing() || !rcu_retry())
			return;
		rcu_wait(mt->ma_rcu);
		if (above_limit())
			nanosleep(&moment, NULL);
	}
}
