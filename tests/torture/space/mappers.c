/* SPDX-License-Identifier: MIT */
/*
 * mappers.c - a thread that maps, unmaps, protects, moves and discards in a window of its own, in
 * which it therefore knows of each page whether it is mapped, how, and what is in it.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "actors.h"

#define ABSENT (-1)
#define PLAIN (WINDOW - STACK_PAGES)

struct window {
	struct actor *me;
	struct guest *guest;
	unsigned long first;
	uint64_t stores;
	int prot[PLAIN];             /* ABSENT or PROT_* */
	uint64_t value[PLAIN];
};

/* Pages [at, at + count) of the window. */
struct run {
	unsigned long at, count;
};

static unsigned long address(const struct window *w, unsigned long at)
{
	return BASE + (w->first + at) * PAGE;
}

static struct run any_run(struct window *w)
{
	struct run run = { .count = 1 + random_below(&w->me->random, 40) };

	run.at = random_below(&w->me->random, PLAIN - run.count + 1);
	return run;
}

/* A run of which all is mapped; count 0: there was none where it was looked for. */
static struct run mapped_run(struct window *w)
{
	struct run run = any_run(w);
	unsigned long count = 0;

	while (count < run.count && w->prot[run.at + count] != ABSENT)
		count++;
	run.count = count;
	return run;
}

static void set_run(struct window *w, const struct run *run, int prot)
{
	for (unsigned long i = run->at; i < run->at + run->count; i++) {
		w->prot[i] = prot;
		w->value[i] = 0;
	}
}

/* Compare a page with what is known of it. */
static void check_page(struct window *w, unsigned long i)
{
	unsigned long n = w->first + i;
	enum vmspace_fault_result result;
	uint64_t value;

	w->me->count[KIND_LOADS]++;
	result = guest_load(w->guest, n, &value);
	if (result == VMSPACE_FAULT_NOMEM)
		return;
	if (w->prot[i] == ABSENT) {
		expect(result == VMSPACE_FAULT_MAPERR, "unmapped page %lu: %d", n, result);
		return;
	}
	expect(!result, "mapped page %lu: fault %d", n, result);
	expect(value == w->value[i], "page %lu: %llx, not %llx", n, (unsigned long long)value,
	       (unsigned long long)w->value[i]);
	if (w->prot[i] & PROT_WRITE)
		return;
	expect(!(guest_access(w->guest, n) & VMSPACE_ACCESS_WRITE), "page %lu may be written", n);
	result = guest_store(w->guest, n, 1);
	expect(result == VMSPACE_FAULT_ACCERR, "read-only page %lu: store ends with %d", n, result);
}

static void check_run(struct window *w, const struct run *run)
{
	for (unsigned long i = run->at; i < run->at + run->count && !w->me->crowd->calm; i++)
		if (random_chance(&w->me->random, 30))
			check_page(w, i);
}

static void store_run(struct window *w)
{
	struct run run = any_run(w);

	for (unsigned long i = run.at; i < run.at + run.count && !w->me->crowd->calm; i++) {
		uint64_t value = (uint64_t)(TAG_MAPPER + w->me->number) << TAG_SHIFT | ++w->stores;

		if (w->prot[i] == ABSENT || !(w->prot[i] & PROT_WRITE))
			continue;
		w->me->count[KIND_STORES]++;
		if (guest_store(w->guest, w->first + i, value) == VMSPACE_FAULT_OK)
			w->value[i] = value;
	}
}

/* Whether the call succeeded; else it failed for want of memory, and counts as such. */
static bool succeeded(struct window *w, long result, const char *call)
{
	expect(result >= 0 || result == -ENOMEM, "%s: %ld", call, result);
	w->me->count[KIND_NO_MEMORY] += result < 0;
	return result >= 0;
}

static void map(struct window *w)
{
	struct run run = any_run(w);
	int prot = random_chance(&w->me->random, 70) ? PROT_READ | PROT_WRITE : PROT_READ;
	int flags = random_chance(&w->me->random, 10) ? MAP_POPULATE : 0;

	if (succeeded(w, map_pages(w->guest, w->first + run.at, run.count, prot, flags), "mmap"))
		set_run(w, &run, prot);
	check_run(w, &run);
}

static void unmap(struct window *w)
{
	struct run run = any_run(w);

	if (succeeded(w, unmap_pages(w->guest, w->first + run.at, run.count), "munmap"))
		set_run(w, &run, ABSENT);
	check_run(w, &run);
}

/* After a failure in the middle: the areas before it are changed. */
static void learn_protection(struct window *w, const struct run *run)
{
	struct vma_info info;

	for (unsigned long i = run->at; i < run->at + run->count; i++) {
		expect(vmspace_lookup(w->guest->space, address(w, i), &info), "a page is gone");
		w->prot[i] = PROT_READ | (info.flags & VMA_WRITE ? PROT_WRITE : 0);
	}
}

static void protect(struct window *w)
{
	struct run run = mapped_run(w);
	int prot = random_chance(&w->me->random, 50) ? PROT_READ | PROT_WRITE : PROT_READ;
	struct vmspace_request req = { .op = VMSPACE_MPROTECT };

	if (!run.count)
		return;
	req.mprotect = (struct vmspace_mprotect){ address(w, run.at), run.count * PAGE, prot, -1 };
	if (succeeded(w, make_call(w->guest, &req), "mprotect"))
		for (unsigned long i = run.at; i < run.at + run.count; i++)
			w->prot[i] = prot;
	else
		learn_protection(w, &run);
	check_run(w, &run);
}

static bool is_one_area(const struct window *w, const struct run *run)
{
	struct vma_info info;

	return vmspace_lookup(w->guest->space, address(w, run->at), &info) &&
	       info.end >= address(w, run->at + run->count);
}

static void move(struct window *w)
{
	struct run from = mapped_run(w), to = from;
	struct vmspace_request req = { .op = VMSPACE_MREMAP };
	bool keep = random_chance(&w->me->random, 25);

	if (!from.count || !is_one_area(w, &from))
		return;
	to.at = random_below(&w->me->random, PLAIN - to.count + 1);
	if (to.at < from.at + from.count && from.at < to.at + to.count)
		return;
	req.mremap = (struct vmspace_mremap){
		.addr = address(w, from.at), .old_length = from.count * PAGE,
		.new_length = from.count * PAGE, .new_addr = address(w, to.at),
		.flags = MREMAP_MAYMOVE | MREMAP_FIXED | (keep ? MREMAP_DONTUNMAP : 0),
	};
	if (succeeded(w, make_call(w->guest, &req), "mremap")) {
		memcpy(w->prot + to.at, w->prot + from.at, from.count * sizeof(w->prot[0]));
		memcpy(w->value + to.at, w->value + from.at, from.count * sizeof(w->value[0]));
		for (unsigned long i = from.at; i < from.at + from.count; i++) {
			w->value[i] = 0;
			if (!keep)
				w->prot[i] = ABSENT;
		}
	}
	check_run(w, &from);
	check_run(w, &to);
}

static void discard(struct window *w)
{
	struct run run = mapped_run(w);
	struct vmspace_request req = { .op = VMSPACE_MADVISE };

	if (!run.count)
		return;
	req.madvise = (struct vmspace_madvise){ address(w, run.at), run.count * PAGE,
						MADV_DONTNEED };
	if (succeeded(w, make_call(w->guest, &req), "madvise"))
		for (unsigned long i = run.at; i < run.at + run.count; i++)
			w->value[i] = 0;
	check_run(w, &run);
}

/* Names split and merge areas, and change nothing that a page shows. */
static void name(struct window *w)
{
	struct run run = mapped_run(w);
	struct vmspace_request req = { .op = VMSPACE_SET_ANON_NAME };

	if (!run.count)
		return;
	req.set_anon_name = (struct vmspace_set_anon_name){
		address(w, run.at), run.count * PAGE,
		random_chance(&w->me->random, 50) ? "torture" : NULL,
	};
	succeeded(w, make_call(w->guest, &req), "prctl");
	check_run(w, &run);
}

/* A stack at the end of the window, grown by faults; the area below it stops those of others. */
static void stack(struct window *w)
{
	unsigned long first = w->first + PLAIN, n = w->first + WINDOW - 2;
	uint64_t tag = (uint64_t)(TAG_MAPPER + w->me->number) << TAG_SHIFT, value;
	enum vmspace_fault_result result;

	if (w->me->crowd->calm)
		return;
	if (!succeeded(w, map_pages(w->guest, first, 1, PROT_READ, 0), "mmap") ||
	    !succeeded(w, map_pages(w->guest, n, 2, PROT_READ | PROT_WRITE, MAP_GROWSDOWN), "mmap"))
		return;
	while (n > first + 16) {
		n -= random_below(&w->me->random, 8);
		result = guest_store(w->guest, n, tag | n);
		expect(!result || result == VMSPACE_FAULT_NOMEM, "stack page %lu: %d", n, result);
		if (result)
			continue;
		result = guest_load(w->guest, n, &value);
		expect(result == VMSPACE_FAULT_NOMEM || (!result && value == (tag | n)),
		       "stack page %lu is not what was stored: %d", n, result);
	}
	while (unmap_pages(w->guest, first, STACK_PAGES))
		;
	expect(guest_load(w->guest, n, &value) == VMSPACE_FAULT_MAPERR, "a stack is left");
}

static const struct {
	void (*make)(struct window *w);
	enum kind kind;
	unsigned int percent;
} calls[] = {
	{ map, KIND_MAP, 25 }, { unmap, KIND_UNMAP, 10 }, { protect, KIND_PROTECT, 15 },
	{ move, KIND_MOVE, 10 }, { discard, KIND_DISCARD, 5 }, { name, KIND_NAME, 5 },
	{ stack, KIND_STACK, 3 }, { store_run, KIND_STORES, 27 },
};

void *mapper_run(void *actor)
{
	struct actor *me = actor;
	struct window *w = calloc(1, sizeof(*w));
	struct run all = { 0, PLAIN };

	if (!w)
		abort();
	w->me = me;
	w->guest = me->crowd->guest;
	w->first = MAPPERS + me->number * WINDOW;
	set_run(w, &all, ABSENT);
	while (!stopped(me)) {
		unsigned int draw = (unsigned int)random_below(&me->random, 100), i = 0;

		while (draw >= calls[i].percent)
			draw -= calls[i++].percent;
		calls[i].make(w);
		me->count[calls[i].kind] += calls[i].kind != KIND_STORES;
	}
	check_run(w, &all);
	/* The next crowd begins with an empty window. */
	while (unmap_pages(w->guest, w->first, WINDOW))
		;
	free(w);
	return NULL;
}
