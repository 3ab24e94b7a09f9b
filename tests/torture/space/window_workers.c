/* SPDX-License-Identifier: MIT */
/*
 * window_workers.c - a thread that maps, unmaps, protects, moves and discards in a slice of its own, and pins
 * pages of it: it knows of each page what is in it, and of each pin what it may show.
 */
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>

#include "windows.h"

#define ABSENT (-1)
#define RW (PROT_READ | PROT_WRITE)
#define TAG_SHIFT 56
#define TAG 0x50u

bool worker_wrote(uint64_t value)
{
	return !value || value >> (TAG_SHIFT + 4) == TAG >> 4;
}

static uint64_t next_value(struct worker *w)
{
	return (uint64_t)(TAG + w->number) << TAG_SHIFT | ++w->stores;
}

static unsigned long address(const struct worker *w, unsigned long at)
{
	return WINDOW_START + (w->first + at) * PAGE;
}

/* Pages [at, at + count) of the slice. */
struct run {
	unsigned long at, count;
};

/* A page; where pins are, mostly one of those. */
static unsigned long any_page(struct worker *w)
{
	const struct pin *pin = &w->pins[random_below(&w->random, PINS)];

	return pin->pinned && random_chance(&w->random, 70) ? pin->at : random_below(&w->random, SLICE);
}

static struct run any_run(struct worker *w)
{
	struct run run = { .at = any_page(w), .count = 1 + random_below(&w->random, 12) };

	if (run.count > SLICE - run.at)
		run.count = SLICE - run.at;
	return run;
}

static struct run mapped_run(struct worker *w)
{
	struct run run = any_run(w);
	unsigned long count = 0;

	while (count < run.count && w->prot[run.at + count] != ABSENT)
		count++;
	run.count = count;
	return run;
}

/* The guest has these pages no longer: they are the pins' alone. */
static void lose(struct worker *w, const struct run *run)
{
	for (struct pin *pin = w->pins; pin < w->pins + PINS; pin++)
		if (pin->at >= run->at && pin->at < run->at + run->count)
			pin->gone = true;
}

static void set_run(struct worker *w, const struct run *run, int prot)
{
	lose(w, run);
	for (unsigned long i = run->at; i < run->at + run->count; i++) {
		w->prot[i] = prot;
		w->value[i] = 0;
	}
}

/* ---- calls ---------------------------------------------------------------------------------- */

static void map(struct worker *w)
{
	struct run run = any_run(w);
	int prot = random_chance(&w->random, 75) ? RW : PROT_READ;

	expect(vmspace_mmap(w->crowd->view.space, address(w, run.at), run.count * PAGE, prot,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, NULL, 0) > 0, "mmap");
	set_run(w, &run, prot);
}

static void unmap(struct worker *w)
{
	struct run run = any_run(w);

	expect(!vmspace_munmap(w->crowd->view.space, address(w, run.at), run.count * PAGE), "munmap");
	set_run(w, &run, ABSENT);
}

static void protect(struct worker *w)
{
	struct run run = mapped_run(w);
	int prot = random_chance(&w->random, 60) ? RW : PROT_READ;

	if (!run.count)
		return;
	expect(!vmspace_mprotect(w->crowd->view.space, address(w, run.at), run.count * PAGE, prot), "mprotect");
	for (unsigned long i = run.at; i < run.at + run.count; i++)
		w->prot[i] = prot;
}

static void discard(struct worker *w)
{
	struct run run = mapped_run(w);

	if (!run.count)
		return;
	expect(!vmspace_madvise(w->crowd->view.space, address(w, run.at), run.count * PAGE, MADV_DONTNEED),
	       "madvise");
	lose(w, &run);
	for (unsigned long i = run.at; i < run.at + run.count; i++)
		w->value[i] = 0;
}

/* One page, so that it is in one area. Its pins go with it. */
static void move(struct worker *w)
{
	unsigned long from = any_page(w), to = random_below(&w->random, SLICE);
	struct run target = { to, 1 };

	if (w->prot[from] == ABSENT || from == to)
		return;
	expect(vmspace_mremap(w->crowd->view.space, address(w, from), PAGE, PAGE,
			      MREMAP_MAYMOVE | MREMAP_FIXED, address(w, to)) > 0, "mremap");
	set_run(w, &target, w->prot[from]);
	w->value[to] = w->value[from];
	for (struct pin *pin = w->pins; pin < w->pins + PINS; pin++)
		if (!pin->gone && pin->at == from)
			pin->at = to;
	w->prot[from] = ABSENT;
	w->value[from] = 0;
}

/* ---- pages ---------------------------------------------------------------------------------- */

static void check_page(struct worker *w, unsigned long i)
{
	const struct view *view = &w->crowd->view;
	unsigned long n = w->first + i;
	enum vmspace_fault_result result;
	uint64_t value;

	w->count[COUNT_LOADS]++;
	if (w->prot[i] == ABSENT) {
		result = view_refuses(view, n, VMSPACE_ACCESS_READ);
		expect(result == VMSPACE_FAULT_MAPERR, "unmapped page %lu: %d", n, result);
		return;
	}
	value = view_load(view, n);
	expect(value == w->value[i], "page %lu: %llx, not %llx", n, (unsigned long long)value,
	       (unsigned long long)w->value[i]);
	if (w->prot[i] & PROT_WRITE)
		return;
	result = view_refuses(view, n, VMSPACE_ACCESS_WRITE);
	expect(result == VMSPACE_FAULT_ACCERR, "read-only page %lu: a store ends with %d", n, result);
}

static void load(struct worker *w)
{
	for (int i = 0; i < 4; i++)
		check_page(w, any_page(w));
}

static void store(struct worker *w)
{
	for (int k = 0; k < 4; k++) {
		unsigned long i = any_page(w);

		if (w->prot[i] == ABSENT || !(w->prot[i] & PROT_WRITE))
			continue;
		w->value[i] = next_value(w);
		view_store(&w->crowd->view, w->first + i, w->value[i]);
		w->count[COUNT_STORES]++;
	}
}

/* ---- pins ----------------------------------------------------------------------------------- */

static void pin_one(struct worker *w, struct pin *pin)
{
	unsigned long i = random_below(&w->random, SLICE);
	bool write = random_chance(&w->random, 60);
	int parts;

	/* Mostly one that can be. */
	for (int tries = 0; tries < 6 && w->prot[i] != RW; tries++)
		i = random_below(&w->random, SLICE);
	parts = vmspace_pin_pages(w->crowd->view.space, address(w, i), PAGE,
				  write ? VMSPACE_ACCESS_WRITE : VMSPACE_ACCESS_READ, &pin->part, 1,
				  &pin->pinned);
	if (w->prot[i] == ABSENT || (write && !(w->prot[i] & PROT_WRITE))) {
		expect(parts < 0, "page %lu is pinned, and may not be", w->first + i);
		pin->pinned = NULL;
		return;
	}
	expect(parts == 1 && pin->part.iov_len == PAGE, "page %lu is not pinned: %d", w->first + i, parts);
	pin->write = write;
	pin->gone = false;
	pin->at = i;
	pin->since = w->value[i];
	w->count[COUNT_PINS]++;
}

/* To write: the same memory as the guest's, or nobody's. To read: nothing but what was there since. */
static void use_pin(struct worker *w, struct pin *pin)
{
	uint64_t *at = pin->part.iov_base, value = load_number(at);

	if (!pin->write) {
		expect(value == pin->since || (value > pin->since && value >> TAG_SHIFT == TAG + w->number),
		       "a pin to read shows %llx, and %llx was there", (unsigned long long)value,
		       (unsigned long long)pin->since);
		return;
	}
	if (!pin->gone)
		expect(value == w->value[pin->at], "a pin of page %lu shows %llx, not %llx",
		       w->first + pin->at, (unsigned long long)value,
		       (unsigned long long)w->value[pin->at]);
	value = next_value(w);
	store_number(at, value);
	w->count[COUNT_PIN_WRITES]++;
	if (pin->gone)
		return;
	w->value[pin->at] = value;
	check_page(w, pin->at);
}

static void pins(struct worker *w)
{
	struct pin *pin = &w->pins[random_below(&w->random, PINS)];

	if (!(w->crowd->with & WITH_PINS))
		return;
	if (!pin->pinned) {
		pin_one(w, pin);
	} else if (random_chance(&w->random, 12)) {
		vmspace_unpin_pages(pin->pinned);
		pin->pinned = NULL;
	} else {
		use_pin(w, pin);
	}
}

/* ---- the thread ----------------------------------------------------------------------------- */

static const struct {
	void (*make)(struct worker *w);
	unsigned int percent;
} steps[] = {
	{ map, 8 }, { unmap, 4 }, { protect, 8 }, { discard, 5 }, { move, 5 }, { load, 20 }, { store, 25 },
	{ pins, 25 },
};

void worker_step(struct worker *w)
{
	unsigned int draw = (unsigned int)random_below(&w->random, 100), i = 0;

	while (draw >= steps[i].percent)
		draw -= steps[i++].percent;
	steps[i].make(w);
	w->count[COUNT_CALLS]++;
}

void worker_begin(struct worker *w)
{
	struct run all = { 0, SLICE };

	set_run(w, &all, ABSENT);
}

void worker_check(struct worker *w)
{
	for (unsigned long i = 0; i < SLICE; i++)
		check_page(w, i);
	for (int i = 0; i < PINS; i++)
		if (w->pins[i].pinned)
			use_pin(w, &w->pins[i]);
}

void worker_end(struct worker *w)
{
	for (int i = 0; i < PINS; i++) {
		vmspace_unpin_pages(w->pins[i].pinned);
		w->pins[i].pinned = NULL;
	}
}

void *worker_run(void *arg)
{
	struct worker *w = arg;

	pthread_barrier_wait(&w->crowd->begin);
	while (!is_set(&w->crowd->stop)) {
		pthread_rwlock_rdlock(&w->crowd->gate);
		worker_step(w);
		pthread_rwlock_unlock(&w->crowd->gate);
	}
	return NULL;
}
