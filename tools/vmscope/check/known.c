/* SPDX-License-Identifier: MIT */
/* Known differences. */
#include "check/known.h"

#include <sys/mman.h>

static bool is_placed(const struct vmspace_request *r)
{
	switch (r->op) {
	case VMSPACE_MMAP:
		return !(r->mmap.flags & (MAP_FIXED | MAP_FIXED_NOREPLACE));
	case VMSPACE_MREMAP:
		return (r->mremap.flags & (MREMAP_MAYMOVE | MREMAP_FIXED)) == MREMAP_MAYMOVE;
	case VMSPACE_SHMAT:
		return !r->shmat.addr;
	default:
		return false;
	}
}

/*
 * Searching from below, Linux 5.10 leaves out a part of its tree of areas where the topmost area of
 * that part has a guard gap that begins below the base. Which areas are in it depends on the order
 * in which they came and went, and on how the tree was balanced then.
 */
static bool guarded_base(const struct pair *p, const struct vmspace_request *r)
{
	const struct vmspace_config *c = vmspace_config(p->space);
	unsigned long gap = c->stack_guard_gap * c->page_size, base;
	struct vmspace_stats stats;
	struct vma_info info;

	if (!c->mmap_bottom_up || !is_placed(r))
		return false;
	vmspace_stats(p->space, &stats);
	base = stats.mmap_base ? stats.mmap_base : c->mmap_base_legacy;
	for (unsigned long at = base; vmspace_next(p->space, at, &info); at = info.end)
		if (info.flags & VMA_GROWSDOWN && info.start < base + gap)
			return true;
	return false;
}

/* Ended by an entry without a name. */
static const struct known {
	const char *name;
	const char *rule;	/* it only shows where this rule holds */
	bool (*may_show)(const struct pair *p, const struct vmspace_request *r);
} known[] = {
	{ "a guard gap below the base, from below", "guard-own-hole", guarded_base },
	{ NULL, NULL, NULL },
};

_Static_assert(sizeof(known) / sizeof(known[0]) <= KNOWN_MAX, "struct tally counts each");

bool known_applies(int i, const struct vmspace_config *config)
{
	return rule_holds(config, known[i].rule);
}

int known_find(const struct pair *p, const struct vmspace_request *r)
{
	for (int i = 0; known[i].name; i++)
		if (known_applies(i, vmspace_config(p->space)) && known[i].may_show(p, r))
			return i;
	return KNOWN_NONE;
}

const char *known_name(int i)
{
	return known[i].name;
}
