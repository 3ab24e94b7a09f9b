/* SPDX-License-Identifier: MIT */
/*
 * retire.c - free replaced nodes, in RCU mode in batches after a grace period.
 */
#include "retire.h"

#include "rcu.h"

/*
 * A batch takes the place of a node. Each word is a plain node (freed alone) or a tagged one
 * (freed with all below it). count <= BATCH_WORDS; a batch on a tree is never full.
 */
#define BATCH_WORDS \
	((NODE_BYTES - sizeof(struct rcu_head) - sizeof(void *) - sizeof(long)) / sizeof(long))

struct mt_retire_batch {
	struct rcu_head rcu;
	const struct mt_allocator *alloc;
	unsigned long count;
	uintptr_t word[BATCH_WORDS];
};

static_assert(sizeof(struct mt_retire_batch) <= NODE_BYTES, "a batch fits a block of the pool");

void retire_free_subtree(const struct mt_allocator *alloc, struct maple_enode *enode)
{
	struct mt_node *node = enode_node(enode);
	enum node_kind kind = enode_kind(enode);
	unsigned int i;

	if (kind != KIND_LEAF)
		for (i = 0; i <= node_end(node, kind); i++)
			retire_free_subtree(alloc, slot_child(node, kind, i));
	pool_free(alloc, node);
}

static void free_word(const struct mt_allocator *alloc, uintptr_t word)
{
	if (root_is_node((void *)word))
		retire_free_subtree(alloc, (struct maple_enode *)word);
	else
		pool_free(alloc, (void *)word);
}

static void free_batch(struct rcu_head *head)
{
	struct mt_retire_batch *batch = caa_container_of(head, struct mt_retire_batch, rcu);
	const struct mt_allocator *alloc = batch->alloc;
	unsigned long i;

	for (i = 0; i < batch->count; i++)
		free_word(alloc, batch->word[i]);
	pool_free(alloc, batch);
}

void retire_hand_over(struct maple_tree *mt)
{
	struct mt_retire_batch *batch = mt->ma_retired;

	mt->ma_retired = NULL;
	if (batch)
		rcu_defer(mt->ma_rcu, &batch->rcu, free_batch);
}

unsigned int retire_batches_needed(const struct maple_tree *mt, unsigned int count)
{
	unsigned int room = mt->ma_retired ? (unsigned int)(BATCH_WORDS - mt->ma_retired->count) : 0;

	if (count <= room)
		return 0;
	return (unsigned int)((count - room + BATCH_WORDS - 1) / BATCH_WORDS);
}

static void retire_word(struct maple_tree *mt, uintptr_t word, struct pool_list *reserve)
{
	struct mt_retire_batch *batch = mt->ma_retired;

	if (!mt_in_rcu(mt)) {
		free_word(mt->ma_alloc, word);
		return;
	}
	if (!batch) {
		batch = (struct mt_retire_batch *)pool_take(reserve);
		batch->alloc = mt->ma_alloc;
		batch->count = 0;
		mt->ma_retired = batch;
	}
	batch->word[batch->count++] = word;
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
	if (!mt_in_rcu(mt)) {
		if (root)
			retire_free_subtree(mt->ma_alloc, root);
		retire_hand_over(mt);
		return;
	}
	if (root && !mt->ma_retired) {
		struct pool_list one = { NULL, 0 };

		if (!pool_grow(mt->ma_alloc, &one, 1)) {
			rcu_wait(mt->ma_rcu);
			retire_free_subtree(mt->ma_alloc, root);
			return;
		}
		retire_word(mt, (uintptr_t)root, &one);
	} else if (root) {
		retire_word(mt, (uintptr_t)root, NULL);
	}
	retire_hand_over(mt);
}
