/* SPDX-License-Identifier: MIT */
/*
 * retire.c - free replaced nodes, in RCU mode in batches after a grace period.
 */
#include "retire.h"

#include <errno.h>
#include <time.h>

#include "polled.h"
#include "rcu.h"
#include "refs.h"
#include "share.h"

/*
 * Where the nodes of a tree go, and the references to its entries.
 * @ops: who counts these references, or NULL.
 * @shared: subtrees may belong to other trees, too.
 */
struct origin {
	const struct mt_allocator *alloc;
	const struct mt_entry_ops *ops;
	bool shared;
};

/*
 * A batch occupies the memory of a node. Each word is a plain node (freed alone) or a tagged one
 * (freed with all below it), or the entry of a reference that is dropped: these have their bit in
 * @entries. count <= BATCH_WORDS; a batch on a tree is never full.
 * @linked: it is one of those that wait together (see gather()): the last word, which no batch that
 *          is not full needs, links it to the next one of them.
 * @nodes: how many nodes it frees, including itself; what it drops of other trees' nodes counts as
 *         one.
 */
#define BATCH_WORDS \
	((NODE_BYTES - sizeof(struct rcu_head) - sizeof(struct origin) - 2 * sizeof(int) - \
	  sizeof(uint64_t)) / sizeof(long))

struct mt_retire_batch {
	struct rcu_head rcu;
	uint64_t entries;	/* here, where it is aligned without a hole on machines of 32 bits, too */
	struct origin origin;
	uint16_t count;
	bool linked;
	unsigned int nodes;
	uintptr_t word[BATCH_WORDS];
};

/* Nodes in batches that were handed over but are not freed yet. */
static unsigned long nodes_waiting;

unsigned long retire_limit;

static_assert(sizeof(struct mt_retire_batch) <= NODE_BYTES, "a batch fits a block of the pool");
static_assert(BATCH_WORDS <= 64, "there is a bit for each word");

static struct origin origin_of(const struct maple_tree *mt)
{
	return (struct origin){ mt->ma_alloc, mt->ma_entry_ops, tree_is_shared(mt) };
}

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

/*
 * Drops a reference to a subtree of which parts may belong to other trees, too, or whose entries
 * are counted.
 */
static void drop_subtree(const struct origin *origin, struct maple_enode *enode)
{
	struct mt_node *node = enode_node(enode);
	enum node_kind kind = enode_kind(enode);
	unsigned int i, end;

	if (node_unshare(node, kind))
		return;
	if (kind != KIND_LEAF) {
		shares_prefetch(node, kind);
		for (i = 0, end = node_end(node, kind); i <= end; i++)
			drop_subtree(origin, slot_child(node, kind, i));
	} else if (origin->ops) {
		refs_put_leaf(origin->ops, node);
	}
	pool_free(origin->alloc, node);
}

static void free_subtree(const struct origin *origin, struct maple_enode *enode)
{
	if (origin->shared || origin->ops)
		drop_subtree(origin, enode);
	else
		retire_free_subtree(origin->alloc, enode);
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

static void free_word(const struct origin *origin, uintptr_t word)
{
	if (root_is_node((void *)word))
		free_subtree(origin, (struct maple_enode *)word);
	else
		pool_free(origin->alloc, (void *)word);
}

static void free_batch(struct mt_retire_batch *batch)
{
	const struct origin origin = batch->origin;
	unsigned int i, nodes = batch->nodes;
	unsigned long waiting;

	assert(batch->count <= BATCH_WORDS && nodes);
	for (i = 0; i < batch->count; i++)
		if (UNLIKELY(batch->entries >> i & 1))
			origin.ops->put((void *)batch->word[i]);
		else
			free_word(&origin, batch->word[i]);
	pool_free(origin.alloc, batch);
	waiting = __atomic_fetch_sub(&nodes_waiting, nodes, __ATOMIC_RELAXED);
	assert(waiting >= nodes);
	(void)waiting;
}

/*
 * ---- batches that wait together ---------------------------------------------------------------
 *
 * A tree that counts its entries hands over what it drops at each write, since an object must not
 * wait for the next one. One call_rcu() for each takes longer than the write. So while one batch
 * waits, others are only gathered in a list. When its grace period is over it takes the list and
 * hands that over as one: what the list held is freed after two grace periods at most, with no
 * further write, by one call_rcu() for each grace period.
 */

/* The last one first. */
static struct mt_retire_batch *gathered;

/* Whether a batch waits whose callback is going to look at the list. */
static bool gathering;

/*
 * Set by the thread that moves what was gathered to liburcu, so that mt_barrier() and fork() know
 * that nothing is on its way. A writer or a callback that finds it set leaves the list to that
 * thread, which looks at it again after having cleared this.
 */
static bool handing;

static struct mt_retire_batch *batch_of(struct rcu_head *head)
{
	return caa_container_of(head, struct mt_retire_batch, rcu);
}

static struct mt_retire_batch *linked_to(const struct mt_retire_batch *batch)
{
	return batch->linked ? (struct mt_retire_batch *)batch->word[BATCH_WORDS - 1] : NULL;
}

static void link_to(struct mt_retire_batch *batch, struct mt_retire_batch *next)
{
	assert(batch->count < BATCH_WORDS);
	batch->linked = true;
	batch->word[BATCH_WORDS - 1] = (uintptr_t)next;
}

static void free_batches(struct rcu_head *head);

/* Hands over what was gathered, if anything, as one. The caller has set `handing`, and clears it. */
static void hand_over_gathered(void)
{
	struct mt_retire_batch *batch = __atomic_exchange_n(&gathered, NULL, __ATOMIC_SEQ_CST);

	if (!batch)
		return;
	__atomic_store_n(&gathering, true, __ATOMIC_SEQ_CST);
	rcu_defer(NULL, &batch->rcu, free_batches);
}

/* Hands over what was gathered where no callback is going to. Never waits. */
static void defer_gathered(void)
{
	while (__atomic_load_n(&gathered, __ATOMIC_SEQ_CST) &&
	       !__atomic_load_n(&gathering, __ATOMIC_SEQ_CST) &&
	       !__atomic_exchange_n(&handing, true, __ATOMIC_SEQ_CST)) {
		hand_over_gathered();
		__atomic_store_n(&handing, false, __ATOMIC_SEQ_CST);
	}
}

/* The one callback of all batches. */
static void free_batches(struct rcu_head *head)
{
	struct mt_retire_batch *batch = batch_of(head), *next;
	bool before = rcu_in_callback; /* whose thread runs it is up to the flavour */

	rcu_in_callback = true;
	if (batch->linked) {
		__atomic_store_n(&gathering, false, __ATOMIC_SEQ_CST);
		defer_gathered();
	}
	for (; batch; batch = next) {
		next = linked_to(batch);
		free_batch(batch);
	}
	rcu_in_callback = before;
}

static void gather(struct mt_retire_batch *batch)
{
	struct mt_retire_batch *next = __atomic_load_n(&gathered, __ATOMIC_RELAXED);

	do
		link_to(batch, next);
	while (!__atomic_compare_exchange_n(&gathered, &next, batch, true, __ATOMIC_SEQ_CST,
					    __ATOMIC_RELAXED));
	if (__atomic_load_n(&gathering, __ATOMIC_SEQ_CST))
		rcu_retry(); /* the one that the others wait for may wait for a thread itself */
	else
		defer_gathered();
}

static void wait_a_moment(void)
{
	const struct timespec moment = { 0, 1000000 };

	nanosleep(&moment, NULL);
}

/*
 * Hands over all that gather() was given: liburcu's barrier waits for it then. No other thread hands
 * anything over until release_gathered(). The mutexes of polled.c and rcu.c are not held.
 */
static void hold_gathered(void)
{
	while (__atomic_exchange_n(&handing, true, __ATOMIC_SEQ_CST))
		wait_a_moment();
	hand_over_gathered();
}

static void release_gathered(void)
{
	__atomic_store_n(&handing, false, __ATOMIC_SEQ_CST);
	defer_gathered();
}

/* Takes the batch off the tree. Returns NULL if there is none. */
static struct mt_retire_batch *close_batch(struct maple_tree *mt)
{
	struct mt_retire_batch *batch = mt->ma_retired;

	mt->ma_retired = NULL;
	if (!batch)
		return NULL;
	assert(batch->count && batch->count <= BATCH_WORDS && batch->nodes);
	__atomic_add_fetch(&nodes_waiting, batch->nodes, __ATOMIC_RELAXED);
	return batch;
}

void retire_hand_over(struct maple_tree *mt)
{
	struct mt_retire_batch *batch = close_batch(mt);

	if (batch)
		rcu_defer(mt->ma_rcu, &batch->rcu, free_batches);
}

void retire_gather(struct maple_tree *mt)
{
	struct mt_retire_batch *batch;

	if (mt->ma_rcu) { /* its callbacks are its own affair */
		retire_hand_over(mt);
		return;
	}
	batch = close_batch(mt);
	if (batch)
		gather(batch);
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

/* The batch that the next word goes to. If a new one is needed, it comes from @reserve. */
static struct mt_retire_batch *open_batch(struct maple_tree *mt, struct pool_list *reserve)
{
	struct mt_retire_batch *batch = mt->ma_retired;

	if (!batch) {
		batch = (struct mt_retire_batch *)pool_take(reserve);
		batch->origin = origin_of(mt);
		batch->count = 0;
		batch->linked = false;
		batch->nodes = 1;
		batch->entries = 0;
		mt->ma_retired = batch;
	}
	assert(batch->count < BATCH_WORDS && batch->origin.alloc == mt->ma_alloc);
	return batch;
}

/* Adds a word, which stands for as many nodes, to the batch. */
static void add_word(struct maple_tree *mt, struct mt_retire_batch *batch, uintptr_t word,
		     unsigned int nodes)
{
	batch->word[batch->count++] = word;
	batch->nodes += nodes;
	if (batch->count == BATCH_WORDS)
		retire_hand_over(mt);
}

void retire_node(struct maple_tree *mt, struct mt_node *node, struct pool_list *reserve)
{
	assert(node);
	if (mt_in_rcu(mt))
		add_word(mt, open_batch(mt, reserve), (uintptr_t)node, 1);
	else
		pool_free(mt->ma_alloc, node);
}

void retire_subtree(struct maple_tree *mt, struct maple_enode *enode, struct pool_list *reserve)
{
	struct mt_retire_batch *batch;
	unsigned int nodes = 1;

	if (!mt_in_rcu(mt)) {
		struct origin origin = origin_of(mt);

		free_subtree(&origin, enode);
		return;
	}
	batch = open_batch(mt, reserve);
	if (tree_is_shared(mt))
		batch->origin.shared = true;
	else
		nodes = count_subtree(enode);
	add_word(mt, batch, (uintptr_t)enode, nodes);
}

void retire_entry(struct maple_tree *mt, void *entry, struct pool_list *reserve)
{
	struct mt_retire_batch *batch;

	assert(tree_is_counted(mt) && refs_counts(entry));
	if (!mt_in_rcu(mt)) {
		mt->ma_entry_ops->put(entry);
		return;
	}
	batch = open_batch(mt, reserve);
	batch->entries |= (uint64_t)1 << batch->count;
	add_word(mt, batch, (uintptr_t)entry, 0);
}

void retire_whole(struct maple_tree *mt, void *root)
{
	bool node = root_is_node(root), entry = tree_is_counted(mt) && refs_counts(root) && !node;
	struct pool_list one = { NULL, 0 };

	if (mt_in_rcu(mt) && (node || entry) &&
	    (!rcu_prepare(mt->ma_rcu) ||
	     (!mt->ma_retired && !pool_grow(mt->ma_alloc, &one, 1)))) {
		struct origin origin = origin_of(mt);

		rcu_wait(mt->ma_rcu);
		if (node)
			free_subtree(&origin, root);
		else
			refs_put(mt->ma_entry_ops, root);
	} else if (node) {
		retire_subtree(mt, root, &one);
	} else if (entry) {
		retire_entry(mt, root, &one);
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
 * After a grace period, batches are freed as soon as the thread that runs callbacks gets the time;
 * those of polled trees here.
 */
void mt_wait_retired(struct maple_tree *mt)
{
	if (retire_polls(mt))
		poll_queue();
	while (above_limit()) {
		if (rcu_in_callback || urcu_bp_read_ongoing())
			return;
		if (poll_queue())
			continue;
		if (!rcu_retry())
			return;
		rcu_wait(mt->ma_rcu);
		if (above_limit())
			wait_a_moment();
	}
}

/* ---- all that was retired; forks ------------------------------------------------------------- */

int mt_barrier(void)
{
	int error = rcu_may_wait();

	if (error)
		return error;
	if (!rcu_memory_available()) /* without, liburcu would end the process */
		return -ENOMEM;
	hold_gathered();
	release_gathered();
	poll_barrier();
	return 0;
}

/* Nobody is in the middle of handing over when the process forks. */
void mt_before_fork(void)
{
	hold_gathered();
	poll_before_fork();
}

void mt_after_fork_parent(void)
{
	poll_after_fork_parent();
	release_gathered();
}

/* What waits in the child, waits for liburcu's thread there: the next batch need not rely on it. */
void mt_after_fork_child(void)
{
	__atomic_store_n(&gathering, false, __ATOMIC_RELAXED);
	__atomic_store_n(&handing, false, __ATOMIC_RELAXED);
	poll_after_fork_child();
}
