/* SPDX-License-Identifier: MIT */
/*
 * collectors.c - a thread that follows what faulters write, as a migration does: it collects the pages
 * that are dirty and copies these, while the faulters go on.
 */
#include <stdlib.h>
#include <string.h>

#include "actors.h"

/* The stable pages as they were copied. */
static uint64_t copy[STABLE_PAGES];
/* Found, and not copied yet: there was no frame for a moment. */
static bool pending[STABLE_PAGES];

void collector_begin(void)
{
	memset(copy, 0, sizeof(copy));
	memset(pending, 0, sizeof(pending));
}

static void note(void *ctx, unsigned long start, unsigned long end, unsigned int marks)
{
	bool *found = ctx;

	expect(marks & VMSPACE_MARK_DIRTY, "pages %lx-%lx are found, and not dirty", start, end);
	for (unsigned long n = (start - BASE) / PAGE; n < (end - BASE) / PAGE; n++)
		found[n - STABLE] = true;
}

static void copy_found(struct actor *me)
{
	for (unsigned long i = 0; i < STABLE_PAGES; i++) {
		enum vmspace_fault_result result;

		if (!pending[i])
			continue;
		result = guest_load(me->crowd->guest, STABLE + i, &copy[i]);
		expect(!result || result == VMSPACE_FAULT_NOMEM, "stable page %lu: fault %d", STABLE + i,
		       result);
		pending[i] = result;
		me->count[KIND_COLLECTED] += !result;
	}
}

void *collector_run(void *actor)
{
	struct actor *me = actor;
	struct vmspace *space = me->crowd->guest->space;
	unsigned long first, count;

	while (!stopped(me)) {
		first = STABLE + random_below(&me->random, STABLE_PAGES);
		count = 1 + random_below(&me->random, STABLE + STABLE_PAGES - first);
		expect(vmspace_collect(space, BASE + first * PAGE, BASE + (first + count) * PAGE,
				       VMSPACE_MARK_DIRTY, VMSPACE_COLLECT_CLEAR, note, pending) >= 0,
		       "marks are not collected");
		copy_found(me);
		/* Elsewhere all translations of what was accessed go now and then. */
		if (random_chance(&me->random, 10))
			expect(vmspace_collect(space, BASE + MAPPERS * PAGE,
					       BASE + (MAPPERS + MAPPERS_MAX * WINDOW) * PAGE,
					       VMSPACE_MARK_ACCESSED, VMSPACE_COLLECT_CLEAR, NULL,
					       NULL) >= 0, "marks are not collected");
	}
	return NULL;
}

void collector_check(struct guest *guest)
{
	uint64_t value;

	expect(vmspace_collect(guest->space, BASE + STABLE * PAGE, BASE + (STABLE + STABLE_PAGES) * PAGE,
			       VMSPACE_MARK_DIRTY, 0, note, pending) >= 0, "marks are not collected");
	for (unsigned long i = 0; i < STABLE_PAGES; i++)
		if (!pending[i] && !guest_load(guest, STABLE + i, &value))
			expect(value == copy[i], "stable page %lu has %llx, is clean, and was copied as %llx",
			       STABLE + i, (unsigned long long)value, (unsigned long long)copy[i]);
}
