/* SPDX-License-Identifier: MIT */
/*
 * engine.c - the engine of the kernel's maple tree.
 *
 * Compiled twice, each time linked with its own copy of the tree: KERNEL_RCU=0 for the modes
 * without readers beside a writer, 1 for those with. KERNEL_NAME is the
 * engines' name, which tells versions apart; their symbols are renamed accordingly (compile).
 */
#include <linux/maple_tree.h>
#include <stdlib.h>

_Static_assert(sizeof(struct maple_node) == 256, "not the layout of 64-bit machines");

#define RETIRED 64

/* Nodes retired by this thread, waiting to be handed over together. */
static __thread struct retired {
	struct kernel_rcu_head *head;
	unsigned int count;
} retired;

static void run_retired(struct kernel_rcu_head *head)
{
	while (head) {
		struct kernel_rcu_head *next = head->next;

		head->func(head);
		head = next;
	}
}

#if KERNEL_RCU
#undef rcu_head
struct batch {
	struct rcu_head rcu;
	struct kernel_rcu_head *head;
};

static void run_batch(struct rcu_head *rcu)
{
	struct batch *batch = (struct batch *)rcu;

	run_retired(batch->head);
	free(batch);
}

static void hand_over(struct kernel_rcu_head *head)
{
	struct batch *batch = malloc(sizeof(*batch));

	if (!batch)
		abort();
	batch->head = head;
	urcu_bp_call_rcu(&batch->rcu, run_batch);
}
#else
#define hand_over(head) run_retired(head)
#endif

void kernel_call_rcu(struct kernel_rcu_head *head, void (*func)(struct kernel_rcu_head *head))
{
	head->func = func;
	head->next = retired.head;
	retired.head = head;
	if (++retired.count == RETIRED) {
		head = retired.head;
		retired = (struct retired){ NULL, 0 };
		hand_over(head);
	}
}

static struct maple_tree *tree_new(unsigned int flags)
{
	static bool initialised;
	struct maple_tree *tree = malloc(sizeof(*tree));

	if (!tree)
		abort();
	if (!initialised)
		maple_tree_init();
	initialised = true;
	mt_init_flags(tree, flags | MT_FLAGS_LOCK_EXTERN);
	return tree;
}

#ifndef mas_for_each_rev
#define mas_for_each_rev(mas, entry, min) while (((entry) = mas_find_rev((mas), (min))) != NULL)
#endif
#define MAPLE_NEW(flags)    tree_new(flags)
#define MAPLE_DELETE(tree)  free(tree)
#define MAPLE_READ_LOCK()   rcu_read_lock()
#define MAPLE_READ_UNLOCK() rcu_read_unlock()
#include "../engines/maple.h"

#define GAPS MT_FLAGS_ALLOC_RANGE
#define RCU  MT_FLAGS_USE_RCU

#if KERNEL_RCU
MAPLE_ENGINE(engine_kernel_rcu, KERNEL_NAME " rcu", RCU, true);
MAPLE_ENGINE(engine_kernel_mm, KERNEL_NAME " mm", GAPS | RCU, false);
#else
/* As many nodes as a copy takes. */
static size_t tree_bytes(void *map)
{
	size_t before = kernel_slab_live(), nodes;
	void *copy = maple_dup(map);

	if (!copy)
		abort();
	nodes = kernel_slab_live() - before;
	maple_destroy(copy);
	return nodes * sizeof(struct maple_node);
}

MAPLE_ENGINE(engine_kernel, KERNEL_NAME, 0, false, .bytes = tree_bytes);
MAPLE_ENGINE(engine_kernel_gaps, KERNEL_NAME " gaps", GAPS, true, .bytes = tree_bytes);
#endif
