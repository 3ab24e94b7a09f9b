/* SPDX-License-Identifier: MIT */
/* pkey.c - memory protection keys: which are allocated, and the one of execute-only areas. */
#include <assert.h>
#include <errno.h>
#include <sys/mman.h>

#include "pkey.h"

#define KEYS 16 /* of x86 */
#define ALL_KEYS ((1u << KEYS) - 1)

void pkey_reset(struct pkeys *keys)
{
	*keys = (struct pkeys){ .allocated = 1 };
}

static bool is_key(long pkey)
{
	return pkey >= 0 && pkey < KEYS;
}

static bool is_allocated(const struct pkeys *keys, long pkey)
{
	return is_key(pkey) && keys->allocated >> pkey & 1;
}

/* The lowest key that is free, or KEYS. */
static unsigned int lowest_free(const struct pkeys *keys)
{
	return (unsigned int)__builtin_ctz(~(unsigned int)keys->allocated | 1u << KEYS);
}

static bool is_execute_only(const struct vma *vma)
{
	return (vma->flags & VMA_ACCESS_FLAGS) == VMA_EXEC;
}

void pkey_take_over(struct vmspace *space, const struct vma *vma)
{
	if (!vma->tags.pkey || !is_key(vma->tags.pkey))
		return;
	space->pkeys.allocated |= (uint16_t)(1u << vma->tags.pkey);
	if (is_execute_only(vma))
		space->pkeys.execute_only = (uint8_t)vma->tags.pkey;
}

/* The key that execute-only areas have, or will get; 0: none is free. */
static unsigned int find_execute_only(const struct vmspace *space)
{
	unsigned int pkey = space->pkeys.execute_only;

	if (!space->config.pkeys)
		return 0;
	return pkey ? pkey : lowest_free(&space->pkeys) % KEYS;
}

unsigned int pkey_execute_only(struct vmspace *space)
{
	unsigned int pkey = find_execute_only(space);

	space->pkeys.allocated |= (uint16_t)(1u << pkey);
	__atomic_store_n(&space->pkeys.execute_only, (uint8_t)pkey, __ATOMIC_RELAXED);
	assert(is_allocated(&space->pkeys, pkey) || !space->config.pkeys);
	return pkey;
}

unsigned int pkey_protected(const struct vmspace *space, const struct vma *vma, int prot)
{
	unsigned int pkey = prot == PROT_EXEC ? find_execute_only(space) : 0;

	if (pkey)
		return pkey;
	/* An area leaves the execute-only ones; a key of the program's own stays. */
	if (is_execute_only(vma) && vma->tags.pkey == space->pkeys.execute_only)
		return 0;
	return vma->tags.pkey;
}

/* In a process that was attached to, the host knows more about its keys. */
static bool host_knows(const struct vmspace *space)
{
	return space->image.pkeys_unknown && (space->host_succeeded || space->host_error);
}

bool pkey_usable(struct vmspace *space, int pkey)
{
	if (!is_key(pkey) || !(space->config.pkeys || (space->config.key_0 && !pkey)))
		return false;
	if (host_knows(space) && space->host_succeeded)
		space->pkeys.allocated |= (uint16_t)(1u << pkey);
	return is_allocated(&space->pkeys, pkey) && (!pkey || pkey != space->pkeys.execute_only);
}

void pkey_learn(struct vmspace *space, long result)
{
	struct pkeys *keys = &space->pkeys;

	if (!host_knows(space))
		return;
	if (result == -ENOSPC)
		keys->allocated = ALL_KEYS;
	else if (is_key(result))
		keys->allocated |= (uint16_t)((1u << result) - 1);
}

long pkey_allocate(struct vmspace *space)
{
	unsigned int pkey = lowest_free(&space->pkeys);

	if (!space->config.pkeys || pkey == KEYS)
		return -ENOSPC;
	space->pkeys.allocated |= (uint16_t)(1u << pkey);
	return pkey;
}

void pkey_release(struct vmspace *space, int pkey)
{
	assert(is_allocated(&space->pkeys, pkey));
	space->pkeys.allocated &= (uint16_t)~(1u << pkey);
}
