/* SPDX-License-Identifier: MIT */
/* faulters.c - threads that only touch pages and look areas up. */
#include <stdlib.h>
#include <sys/mman.h>

#include "actors.h"

/* What a faulter knows: the numbers in its own slice. */
struct slice {
	struct actor *me;
	unsigned long first;
	uint64_t value[SLICE];
	uint64_t stores;
};

static bool no_memory(struct actor *me, enum vmspace_fault_result result)
{
	me->count[KIND_NO_MEMORY] += result == VMSPACE_FAULT_NOMEM;
	return result == VMSPACE_FAULT_NOMEM;
}

/* A page of its own: what was stored is there until something else is stored. */
static void touch_own(struct slice *own)
{
	struct actor *me = own->me;
	struct guest *guest = me->crowd->guest;
	unsigned long i = random_below(&me->random, SLICE), n = own->first + i;
	enum vmspace_fault_result result;
	uint64_t value;

	if (me->crowd->calm || random_chance(&me->random, 30))
		guest_forget(guest, n);
	if (random_chance(&me->random, 50)) {
		me->count[KIND_LOADS]++;
		result = guest_load(guest, n, &value);
		if (no_memory(me, result))
			return;
		expect(!result, "stable page %lu: fault %d", n, result);
		expect(value == own->value[i], "stable page %lu: %llx, not %llx", n,
		       (unsigned long long)value, (unsigned long long)own->value[i]);
		return;
	}
	me->count[KIND_STORES]++;
	value = (uint64_t)(TAG_FAULTER + me->number) << TAG_SHIFT | i << 40 | ++own->stores;
	result = guest_store(guest, n, value);
	if (no_memory(me, result))
		return;
	expect(!result, "stable page %lu: fault %d", n, result);
	own->value[i] = value;
}

/* Nobody ever writes here. */
static void touch_readonly(struct actor *me)
{
	struct guest *guest = me->crowd->guest;
	unsigned long n = READONLY + random_below(&me->random, READONLY_PAGES);
	enum vmspace_fault_result result;
	uint64_t value;

	guest_forget(guest, n);
	result = guest_store(guest, n, 1);
	expect(result == VMSPACE_FAULT_ACCERR, "read-only page %lu: store ends with %d", n, result);
	result = guest_load(guest, n, &value);
	if (!no_memory(me, result))
		expect(!result && !value, "read-only page %lu: fault %d", n, result);
}

/* Pages that somebody maps, unmaps and moves: what is there is a mapper's number, or none. */
static void touch_others(struct actor *me)
{
	struct guest *guest = me->crowd->guest;
	unsigned long n = MAPPERS + random_below(&me->random, MAPPERS_MAX * WINDOW);
	enum vmspace_fault_result result;
	struct vmspace_page page;
	uint64_t value;

	if (random_chance(&me->random, 30)) {
		/* An access without a store, which would be the mapper's. */
		result = vmspace_touch(guest->space, BASE + n * PAGE, VMSPACE_ACCESS_WRITE, NULL);
	} else if (random_chance(&me->random, 30)) {
		/* One without a use of the page, which others may replace or drop at any time. */
		result = vmspace_touch(guest->space, BASE + n * PAGE, VMSPACE_ACCESS_READ, &page);
		expect(result || (page.frame && page.access & VMSPACE_ACCESS_READ),
		       "page %lu of a mapper has no frame", n);
	} else {
		result = guest_load(guest, n, &value);
		expect(result || !value || value >> (TAG_SHIFT + 4) == TAG_MAPPER >> 4,
		       "page %lu of a mapper: %llx", n, (unsigned long long)value);
	}
	expect(result != VMSPACE_FAULT_BUS, "page %lu of a mapper: SIGBUS", n);
	no_memory(me, result);
}

void *faulter_run(void *actor)
{
	struct actor *me = actor;
	struct slice *own = calloc(1, sizeof(*own));

	if (!own)
		abort();
	own->me = me;
	own->first = STABLE + me->number * SLICE;
	while (!stopped(me)) {
		for (int i = 0; i < 16; i++)
			touch_own(own);
		if (me->crowd->calm)
			continue;
		touch_readonly(me);
		for (int i = 0; i < 8; i++)
			touch_others(me);
	}
	free(own);
	return NULL;
}

/* The areas that never change are found always, as they are. */
static void look_at_stable(struct actor *me)
{
	const struct vmspace *space = me->crowd->guest->space;
	unsigned long n = STABLE + random_below(&me->random, STABLE_PAGES);
	struct vma_info info;

	expect(vmspace_lookup(space, BASE + n * PAGE, &info), "page %lu is in no area", n);
	expect(info.start == BASE + STABLE * PAGE &&
	       info.end == BASE + (STABLE + STABLE_PAGES) * PAGE && info.flags & VMA_WRITE,
	       "the stable area is another one");
	expect(vmspace_prev(space, info.end + PAGE, &info) &&
	       info.end == BASE + (STABLE + STABLE_PAGES) * PAGE, "the stable area is not before");
	expect(vmspace_next(space, info.end, &info) && info.start == BASE + READONLY * PAGE &&
	       !(info.flags & VMA_WRITE), "the read-only area is not next");
}

void *reader_run(void *actor)
{
	struct actor *me = actor;
	const struct vmspace *space = me->crowd->guest->space;
	struct vma_info info;
	unsigned long addr;

	while (!stopped(me)) {
		look_at_stable(me);
		for (addr = 0; vmspace_next(space, addr, &info); addr = info.end) {
			expect(info.end > addr && info.start < info.end &&
			       info.start % PAGE == 0 && info.end % PAGE == 0,
			       "the area after %lx is %lx-%lx", addr, info.start, info.end);
			me->count[KIND_LOOKUPS]++;
		}
		addr = BASE + GUEST_PAGES * PAGE;
		while (addr && vmspace_prev(space, addr, &info)) {
			expect(info.start < addr, "the area before %lx is %lx-%lx", addr,
			       info.start, info.end);
			addr = info.start;
			me->count[KIND_LOOKUPS]++;
		}
	}
	return NULL;
}
