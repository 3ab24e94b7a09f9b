/* SPDX-License-Identifier: MIT */
/*
 * forkers.c - a thread that forks, and children that are looked at, changed and torn down by
 * threads of their own while the parent goes on.
 */
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "actors.h"

#define CHILDREN_MAX 3
#define SAMPLES 32

struct child {
	struct crowd *crowd;
	struct guest *guest;
	struct random random;
};

static bool fork_into(struct guest *parent, struct guest *child)
{
	struct vmspace_request req = { .op = VMSPACE_FORK };

	req.fork.child_memory = &child->memory;
	if (make_call(parent, &req))
		return false;
	child->space = req.fork.child;
	return true;
}

/* What the parent stores after the fork is not seen here, nor is what is stored here seen there. */
static void sample(struct child *child)
{
	unsigned long page[SAMPLES];
	uint64_t value[SAMPLES], again;

	for (int i = 0; i < SAMPLES; i++) {
		page[i] = STABLE + random_below(&child->random, STABLE_PAGES);
		if (guest_load(child->guest, page[i], &value[i]))
			page[i] = 0;
		else
			expect(!value[i] || value[i] >> (TAG_SHIFT + 4) == TAG_FAULTER >> 4,
			       "stable page %lu of a child: %llx", page[i],
			       (unsigned long long)value[i]);
	}
	sched_yield();
	for (int i = 0; i < SAMPLES; i++) {
		if (!page[i])
			continue;
		guest_forget(child->guest, page[i]);
		if (guest_load(child->guest, page[i], &again) == VMSPACE_FAULT_OK)
			expect(again == value[i], "page %lu of a child changed", page[i]);
	}
	for (int i = 0; i < SAMPLES; i++) {
		uint64_t mine = (uint64_t)TAG_CHILD << TAG_SHIFT | (uint64_t)i;

		if (page[i] && guest_store(child->guest, page[i], mine) == VMSPACE_FAULT_OK)
			expect(guest_load(child->guest, page[i], &again) == VMSPACE_FAULT_OK &&
			       again == mine, "page %lu of a child is not what it stored", page[i]);
	}
}

static void *child_run(void *arg)
{
	struct child *child = arg;
	struct guest *grandchild;
	const char *why = "";

	sample(child);
	for (int i = 0; i < 20; i++) {
		unsigned long n = MAPPERS + random_below(&child->random, MAPPERS_MAX * WINDOW - 64);

		if (i & 1)
			unmap_pages(child->guest, n, 64);
		else
			map_pages(child->guest, n, 64, PROT_READ | PROT_WRITE, MAP_POPULATE);
	}
	if (random_chance(&child->random, 30)) {
		grandchild = guest_for_child();
		fork_into(child->guest, grandchild);
		guest_end(grandchild);
	}
	expect(vmspace_check(child->guest->space, &why), "a child: %s", why);
	guest_end(child->guest);
	__atomic_fetch_sub(&child->crowd->children, 1, __ATOMIC_RELEASE);
	free(child);
	return NULL;
}

static void bear(struct actor *me)
{
	struct child *child = malloc(sizeof(*child));
	struct guest *guest = guest_for_child();
	pthread_t thread;

	if (!child)
		abort();
	*child = (struct child){ .crowd = me->crowd, .guest = guest, .random = me->random };
	random_next(&me->random);
	if (!fork_into(me->crowd->guest, guest)) {
		me->count[KIND_NO_MEMORY]++;
		guest_end(guest);
		free(child);
		return;
	}
	me->count[KIND_FORK]++;
	__atomic_fetch_add(&me->crowd->children, 1, __ATOMIC_RELAXED);
	if (pthread_create(&thread, NULL, child_run, child))
		abort();
	pthread_detach(thread);
}

void *forker_run(void *actor)
{
	struct actor *me = actor;
	const char *why = "";

	while (!stopped(me)) {
		if (__atomic_load_n(&me->crowd->children, __ATOMIC_ACQUIRE) < CHILDREN_MAX)
			bear(me);
		else
			usleep(500);
		if (random_chance(&me->random, 5))
			expect(vmspace_check(me->crowd->guest->space, &why), "%s", why);
	}
	while (__atomic_load_n(&me->crowd->children, __ATOMIC_ACQUIRE))
		usleep(500);
	return NULL;
}
