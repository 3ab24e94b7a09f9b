/* SPDX-License-Identifier: MIT */
/*
 * policy.c - mbind and set_mempolicy_home_node: memory policies, which prevent merges where they
 * differ.
 *
 * Source of the rules: mbind(2), set_mempolicy_home_node(2), Documentation/admin-guide/mm/
 * numa_memory_policy.rst, and what the running kernel answers.
 */
#include <errno.h>
#include <stdlib.h>

#include "edit.h"
#include "ops.h"
#include "outcome.h"
#include "stock.h"

/* <linux/mempolicy.h>, which may be older than the kernel. */
enum { MODE_DEFAULT, MODE_PREFERRED, MODE_BIND, MODE_INTERLEAVE, MODE_LOCAL, MODE_PREFERRED_MANY,
       MODE_WEIGHTED_INTERLEAVE, MODE_COUNT };
#define MODE_STATIC_NODES (1 << 15)
#define MODE_RELATIVE_NODES (1 << 14)
#define MODE_NUMA_BALANCING (1 << 13)
#define MODE_FLAGS (MODE_STATIC_NODES | MODE_RELATIVE_NODES | MODE_NUMA_BALANCING)
#define MOVE_STRICT 1u
#define MOVE_ALL 4u /* MPOL_MF_MOVE_ALL: also pages that other processes map */
#define MOVE_FLAGS 7u /* MPOL_MF_STRICT, MPOL_MF_MOVE, MPOL_MF_MOVE_ALL */

static struct policy *new_policy(const struct policy *like)
{
	struct policy *policy = stock_alloc(sizeof(*policy));

	if (policy) {
		*policy = *like;
		policy->refs = 1;
	}
	return policy;
}

/* The n-th bit of `nodes`, counted from 0, round and round. */
static uint64_t nth_node(uint64_t nodes, unsigned int n)
{
	n %= (unsigned int)__builtin_popcountll(nodes);
	while (n--)
		nodes &= nodes - 1;
	return nodes & -nodes;
}

static uint64_t effective_nodes(uint64_t asked, uint64_t memory, int mode)
{
	uint64_t nodes = 0;

	if (!(mode & MODE_RELATIVE_NODES))
		return asked & memory;
	for (unsigned int i = 0; i < 64; i++)
		if (asked >> i & 1)
			nodes |= nth_node(memory, i);
	return nodes;
}

static bool mode_valid(struct vmspace *space, int mode)
{
	int kind = mode & ~MODE_FLAGS;

	if (kind < 0 || kind >= MODE_COUNT ||
	    ((mode & MODE_STATIC_NODES) && (mode & MODE_RELATIVE_NODES)))
		return false;
	if (kind == MODE_WEIGHTED_INTERLEAVE && !rule_decides(space, RULE_WEIGHTED_INTERLEAVE))
		return false;
	if (kind == MODE_PREFERRED_MANY && !rule_decides(space, RULE_PREFERRED_MANY))
		return false;
	if (!(mode & MODE_NUMA_BALANCING))
		return true;
	if (kind == MODE_PREFERRED_MANY)
		return rule_decides(space, RULE_BALANCE_MANY);
	return kind == MODE_BIND && rule_decides(space, RULE_NUMA_BALANCING);
}

/* The policy that areas get; it->mode == MODE_DEFAULT: none. 0 or -EINVAL. */
static long plan_policy(struct vmspace *space, int mode, uint64_t asked, struct policy *it)
{
	int kind = mode & ~MODE_FLAGS, keeps_asked = MODE_STATIC_NODES | MODE_RELATIVE_NODES;

	*it = (struct policy){ .mode = mode, .home_node = -1 };
	if (kind == MODE_DEFAULT) {
		it->mode = MODE_DEFAULT;
		return asked ? -EINVAL : 0;
	}
	if (kind == MODE_LOCAL || (kind == MODE_PREFERRED && !asked)) {
		it->mode = MODE_LOCAL;
		return asked || (mode & (MODE_STATIC_NODES | MODE_RELATIVE_NODES)) ? -EINVAL : 0;
	}
	it->nodes = effective_nodes(asked, space->config.memory_nodes, mode);
	if (kind == MODE_PREFERRED)
		it->nodes &= -it->nodes;
	if (mode & MODE_NUMA_BALANCING && rule_decides(space, RULE_BALANCE_ASKED))
		keeps_asked |= MODE_NUMA_BALANCING;
	if (mode & keeps_asked)
		it->asked = asked;
	return it->nodes ? 0 : -EINVAL;
}

static long bind_part(struct edit_span *span, void *arg)
{
	struct policy *policy = arg;
	struct edit_attrs want = edit_attrs_of(span->vma);

	if (policy_same(span->vma->policy, policy))
		return 0;
	want.policy = policy;
	return edit_change(span, &want);
}

/* Is anything mapped in the range; or with `whole`, all of it? */
static bool is_mapped(struct vmspace *space, unsigned long start, unsigned long end, bool whole)
{
	struct edit_span span;
	bool found = false;

	edit_span_init(&span, space, start, end);
	while (edit_next(&span)) {
		found = true;
		if (span.hole && whole)
			return false;
	}
	return found && !(span.hole && whole);
}

long bind_call(struct vmspace *space, struct vmspace_request *req)
{
	const struct vmspace_mbind *m = &req->mbind;
	unsigned long end = m->addr + space_ceil(space, m->length);
	struct policy plan, *policy = NULL;
	long err;

	if (!space->config.memory_nodes)
		return -ENOSYS;
	if (!mode_valid(space, m->mode) || (m->flags & ~MOVE_FLAGS))
		return -EINVAL;
	if ((m->flags & MOVE_ALL) && !space->config.move_all_privileged) {
		err = outcome_limit(space, -EPERM, "MPOL_MF_MOVE_ALL takes CAP_SYS_NICE");
		if (err)
			return err;
	}
	if (space->host_error == -EPERM)
		return outcome_fail(space, -EPERM, "refused by the host");
	if (!space_aligned(space, m->addr) || end < m->addr)
		return -EINVAL;
	if (end == m->addr)
		return 0;
	if (space->host_error == -EIO && (m->flags & (MOVE_FLAGS & ~MOVE_STRICT)) == 0)
		return outcome_fail(space, -EIO, "a page lies on another node");
	err = plan_policy(space, m->mode, m->nodes, &plan);
	if (err)
		return err;
	if (!is_mapped(space, m->addr, end, plan.mode != MODE_DEFAULT))
		return -EFAULT;
	if (plan.mode != MODE_DEFAULT) {
		policy = new_policy(&plan);
		if (!policy)
			return outcome_no_memory(space);
	}
	err = edit_each(space, m->addr, end, 0, bind_part, policy);
	policy_put(policy);
	/* Holes are allowed when policies are removed. */
	if (err == -ENOMEM && !policy && !space->out->out_of_memory)
		err = 0;
	return !err && space->host_error == -EIO ? -EIO : err;
}

/* A call of set_mempolicy_home_node(). */
struct home_change {
	int node;
	long result;
	struct policy **made;        /* the new policies, in the order of the areas */
	size_t count, used;
};

/*
 * The policy that replaces `old`: 1, and *plan is set. 0: the area keeps the one it has. Or
 * -EOPNOTSUPP.
 */
static long plan_home(const struct policy *old, int node, struct policy *plan)
{
	int kind = old ? old->mode & ~MODE_FLAGS : MODE_DEFAULT;

	if (!old)
		return 0;
	if (kind != MODE_BIND && kind != MODE_PREFERRED_MANY)
		return -EOPNOTSUPP;
	*plan = *old;
	plan->home_node = node;
	return !policy_same(old, plan);
}

static long home_part(struct edit_span *span, void *arg)
{
	struct edit_attrs want = edit_attrs_of(span->vma);
	struct home_change *change = arg;
	struct policy plan;
	long found = plan_home(span->vma->policy, change->node, &plan);

	if (found < 0)
		return found;
	if (span->vma->policy)
		change->result = 0;
	if (!found)
		return 0;
	want.policy = change->made[change->used++];
	return edit_change(span, &want);
}

static void drop_homes(struct home_change *change)
{
	while (change->count)
		policy_put(change->made[--change->count]);
	free(change->made);
}

/* Allocate all policies before any area gets one. */
static long make_homes(struct vmspace *space, unsigned long start, unsigned long end,
		       struct home_change *change)
{
	struct edit_span span;
	struct policy plan;
	size_t most = 0;

	edit_span_init(&span, space, start, end);
	while (edit_next(&span))
		most += span.vma->policy != NULL;
	change->made = most ? stock_alloc(most * sizeof(*change->made)) : NULL;
	if (most && !change->made)
		return outcome_no_memory(space);
	edit_span_init(&span, space, start, end);
	while (edit_next(&span)) {
		long found = plan_home(span.vma->policy, change->node, &plan);

		if (found < 0)
			break;
		if (!found)
			continue;
		change->made[change->count] = new_policy(&plan);
		if (!change->made[change->count])
			return outcome_no_memory(space);
		change->count++;
	}
	return 0;
}

long home_node_call(struct vmspace *space, struct vmspace_request *req)
{
	const struct vmspace_home_node *h = &req->home_node;
	unsigned long end = h->addr + space_ceil(space, h->length);
	struct home_change change = { .node = (int)h->node, .result = -ENOENT };
	long err;

	if (!space->config.memory_nodes || !rule_decides(space, RULE_HOME_NODE))
		return -ENOSYS;
	if (!space_aligned(space, h->addr) || h->flags || h->node >= 64 ||
	    !(space->config.memory_nodes >> h->node & 1) || end < h->addr)
		return -EINVAL;
	if (end == h->addr)
		return 0;
	err = make_homes(space, h->addr, end, &change);
	if (!err)
		err = edit_each(space, h->addr, end, 0, home_part, &change);
	drop_homes(&change);
	if (err == -ENOMEM && !space->out->out_of_memory)
		err = 0; /* holes are ignored */
	return err ? err : change.result;
}
