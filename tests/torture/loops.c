/* SPDX-License-Identifier: MIT */
/*
 * loops.c - loops whose bodies pause, walk again, step back and forth and change the tree, beside
 * writers; entries are memory, which is poisoned and freed a grace period after they went.
 *
 * The indexes are cut into stretches of WIDTH. At the beginning of each is a permanent entry;
 * behind it one writer, whose stretch it is, stores and erases entries. So of each step is known:
 * what it returns is no freed entry, and none whose removal was done before the step began; it lies
 * above what the step began from; and no permanent entry is passed over.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <urcu/urcu-bp.h>

#include <mapletree/maple_tree.h>

#include "options.h"
#include "quarantine.h"
#include "random.h"

#define STRETCHES 60u
#define WIDTH     16u
#define KEPT      2u /* indexes of a permanent entry */
#define WRITERS   2u
#define READERS   3u
#define ALIVE     0x6d61706cul /* fits 32 bits */

/* @removed: the time at which its removal was done, 0 before. */
struct item {
	struct rcu_head rcu;
	unsigned long alive;
	unsigned long removed;
	bool permanent;
};

static struct maple_tree mt;
static unsigned long now = 1, steps, disturbed; /* atomic; @now counts removals */
static bool stop;
static uint64_t seed;

static void complain(const char *what, unsigned long index)
{
	fprintf(stderr, "torture-loops: %s at %#lx; seed %llu\n", what, index,
		(unsigned long long)seed);
	abort();
}

static void *item_new(bool permanent)
{
	struct item *item = calloc(1, sizeof(*item));

	if (!item)
		abort();
	item->alive = ALIVE;
	item->permanent = permanent;
	return item;
}

static void item_free(struct rcu_head *head)
{
	struct item *item = caa_container_of(head, struct item, rcu);

	memset(item, 0xa5, sizeof(*item));
	free(item);
}

/* No index leads to it any more. */
static void item_removed(struct item *item)
{
	unsigned long when = __atomic_add_fetch(&now, 1, __ATOMIC_ACQ_REL);

	__atomic_store_n(&item->removed, when, __ATOMIC_RELEASE);
	urcu_bp_call_rcu(&item->rcu, item_free);
}

/* ---- writers ---------------------------------------------------------------------------- */

/* Changes [first, last] of a stretch, whose items are @at; those that are nowhere any more go. */
static void change(struct item **at, unsigned int stretch, unsigned int first, unsigned int last,
		   struct item *item)
{
	struct item *was[WIDTH];
	unsigned int i, k, before;
	int error;

	memcpy(was, at, sizeof(was));
	error = mtree_store_range(&mt, stretch * WIDTH + first, stretch * WIDTH + last, item,
				  GFP_KERNEL);
	if (error)
		abort();
	for (i = first; i <= last; i++)
		at[i] = item;
	for (i = first; i <= last; i++) { /* those that are nowhere in the stretch, each once */
		for (k = KEPT; k < WIDTH && at[k] != was[i]; k++)
			;
		for (before = first; was[before] != was[i]; before++)
			;
		if (was[i] && k == WIDTH && before == i)
			item_removed(was[i]);
	}
}

static void *writer(void *arg)
{
	static struct item *items[STRETCHES][WIDTH];
	unsigned int number = (unsigned int)(uintptr_t)arg, i;
	struct random random;

	random_seed(&random, seed + number);
	while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
		unsigned int stretch = (unsigned int)random_below(&random, STRETCHES);
		unsigned int first = KEPT + (unsigned int)random_below(&random, WIDTH - KEPT);
		unsigned int last = first + (unsigned int)random_below(&random, WIDTH - first);

		if (stretch % WRITERS == number)
			change(items[stretch], stretch, first, last,
			       random_below(&random, 3) ? item_new(false) : NULL);
	}
	for (i = number; i < STRETCHES; i += WRITERS)
		change(items[i], i, KEPT, WIDTH - 1, NULL);
	return NULL;
}

/* ---- loops ------------------------------------------------------------------------------ */

/*
 * A cursor going through the tree under the lock or in a section. @next: nothing below is to come.
 */
struct loop {
	struct ma_state mas;
	struct random random;
	bool locked;
	unsigned long next;
	unsigned long began; /* the time, when the step began */
};

static void enter(const struct loop *loop)
{
	if (loop->locked)
		mtree_lock(&mt);
	else
		urcu_bp_read_lock();
}

static void leave(const struct loop *loop)
{
	if (loop->locked)
		mtree_unlock(&mt);
	else
		urcu_bp_read_unlock();
}

/* The loop continues after the range that the cursor stands on, which may be the gap at the end. */
static void go_behind(struct loop *loop)
{
	loop->next = loop->mas.last < STRETCHES * WIDTH ? loop->mas.last + 1 : STRETCHES * WIDTH;
}

static void begin_step(struct loop *loop)
{
	loop->began = __atomic_load_n(&now, __ATOMIC_ACQUIRE);
}

/* What a step may have returned at all. */
static void check_item(const struct loop *loop, const struct item *item)
{
	unsigned long removed, first = loop->mas.index % WIDTH;

	if (!item)
		return;
	removed = __atomic_load_n(&item->removed, __ATOMIC_ACQUIRE);
	if (item->alive != ALIVE)
		complain("a freed entry", loop->mas.index);
	if (removed && removed <= loop->began)
		complain("an entry removed before the step", loop->mas.index);
	if (item->permanent ? first || loop->mas.last % WIDTH != KEPT - 1 : first < KEPT)
		complain("an entry where it never was", loop->mas.index);
}

/* What comes at or above index @from first, if nothing else does: a permanent entry. */
static unsigned long permanent_from(unsigned long from)
{
	return (from + WIDTH - KEPT) / WIDTH * WIDTH;
}

/* A step up from below @next has returned @item, or NULL at the end. */
static void check_up(struct loop *loop, const struct item *item)
{
	unsigned long due = permanent_from(loop->next);

	check_item(loop, item);
	if (!item) {
		if (due < STRETCHES * WIDTH)
			complain("the end, before a permanent entry", due);
		return;
	}
	if (loop->mas.last < loop->next)
		complain("backward", loop->mas.index);
	if (loop->mas.index > due)
		complain("a permanent entry was passed over", due);
	go_behind(loop);
	__atomic_fetch_add(&steps, 1, __ATOMIC_RELAXED);
}

/* A step down to below @next has returned @item, or NULL at the end. */
static void check_down(struct loop *loop, const struct item *item)
{
	check_item(loop, item);
	if (!item) {
		if (loop->next)
			complain("the beginning, before a permanent entry", 0);
		return;
	}
	if (loop->mas.index >= loop->next)
		complain("forward", loop->mas.index);
	if (loop->mas.last < (loop->next - 1) / WIDTH * WIDTH)
		complain("a permanent entry was passed over", (loop->next - 1) / WIDTH * WIDTH);
	loop->next = loop->mas.index;
	__atomic_fetch_add(&steps, 1, __ATOMIC_RELAXED);
}

/* Back and forth: downwards the same is known, so it is not looked for again. */
static void step_back(struct loop *loop)
{
	unsigned int back = 1 + (unsigned int)random_below(&loop->random, 3);

	for (; back; back--) {
		begin_step(loop);
		check_item(loop, mas_prev(&loop->mas, 0));
	}
	if (loop->mas.status == ma_underflow)
		loop->next = 0;
	else
		go_behind(loop);
	if (random_below(&loop->random, 2) && loop->mas.status == ma_active) {
		begin_step(loop);
		check_up(loop, mas_next(&loop->mas, ULONG_MAX));
	}
}

/* Leaves and comes back; what the cursor stood on may be gone, or there may be another range. */
static void rest(struct loop *loop)
{
	unsigned long last = loop->mas.last;
	uint64_t how = random_below(&loop->random, 3);

	if (how == 0)
		mas_pause(&loop->mas);
	else
		mas_set(&loop->mas, last);
	leave(loop);
	if (!random_below(&loop->random, 8))
		usleep(1);
	enter(loop);
	begin_step(loop);
	if (how == 0 && random_below(&loop->random, 2)) {
		go_behind(loop);
		return; /* the loop continues after it */
	}
	check_item(loop, mas_walk(&loop->mas));
	go_behind(loop);
}

static void disturb(struct loop *loop)
{
	struct item *item;

	__atomic_fetch_add(&disturbed, 1, __ATOMIC_RELAXED);
	switch (random_below(&loop->random, 4)) {
	case 0:
		step_back(loop);
		break;
	case 1:
		begin_step(loop);
		check_item(loop, mas_walk(&loop->mas));
		go_behind(loop);
		break;
	case 2:
		/* Needs the lock, under which nobody else writes: the same entry, or another. */
		if (!loop->locked)
			break;
		begin_step(loop);
		item = mas_walk(&loop->mas);
		check_item(loop, item);
		if (item && mas_store_gfp(&loop->mas, item, GFP_KERNEL))
			abort();
		go_behind(loop);
		break;
	default:
		rest(loop);
		break;
	}
}

static void loop_up(struct loop *loop, uint64_t calm)
{
	struct item *item;

	begin_step(loop);
	mas_for_each(&loop->mas, item, ULONG_MAX) {
		check_up(loop, item);
		if (!random_below(&loop->random, calm) && random_below(&loop->random, 60))
			disturb(loop);
		begin_step(loop);
	}
	check_up(loop, NULL);
}

/* The loop continues from where the body left the cursor, at an entry or a gap. */
static void disturb_down(struct loop *loop)
{
	disturb(loop);
	loop->next = loop->mas.index;
}

static void loop_down(struct loop *loop, uint64_t calm)
{
	struct item *item;

	begin_step(loop);
	loop->next++; /* the first step may find what holds it */
	mas_for_each_rev(&loop->mas, item, 0) {
		check_down(loop, item);
		if (!random_below(&loop->random, calm) && random_below(&loop->random, 60))
			disturb_down(loop);
		begin_step(loop);
	}
	check_down(loop, NULL);
}

static void loop_once(struct loop *loop)
{
	uint64_t calm = 1 + random_below(&loop->random, 12);

	loop->locked = !random_below(&loop->random, 4);
	loop->next = random_below(&loop->random, STRETCHES * WIDTH);
	mas_init(&loop->mas, &mt, loop->next);
	enter(loop);
	if (random_below(&loop->random, 2))
		loop_up(loop, calm);
	else
		loop_down(loop, calm);
	leave(loop);
}

/*
 * A loop without a cursor needs no section. It is in one here so that what it returns may be looked
 * at; it may leave that between any two steps.
 */
static void loop_without_cursor(struct loop *loop)
{
	unsigned long index = random_below(&loop->random, STRETCHES * WIDTH), from = index;
	uint64_t calm = 1 + random_below(&loop->random, 40);
	struct item *item;

	loop->locked = false;
	urcu_bp_read_lock();
	begin_step(loop);
	mt_for_each(&mt, item, index, ULONG_MAX) {
		unsigned long removed = __atomic_load_n(&item->removed, __ATOMIC_ACQUIRE);

		if (item->alive != ALIVE)
			complain("a freed entry", index);
		if (removed && removed <= loop->began)
			complain("an entry removed before the step", index);
		if (index <= from)
			complain("backward", index);
		if (index > permanent_from(from) + KEPT)
			complain("a permanent entry was passed over", permanent_from(from));
		from = index;
		__atomic_fetch_add(&steps, 1, __ATOMIC_RELAXED);
		if (!random_below(&loop->random, calm)) {
			urcu_bp_read_unlock();
			if (!random_below(&loop->random, 8))
				usleep(1);
			urcu_bp_read_lock();
		}
		begin_step(loop);
	}
	if (permanent_from(from) < STRETCHES * WIDTH)
		complain("the end, before a permanent entry", permanent_from(from));
	urcu_bp_read_unlock();
}

static void *reader(void *arg)
{
	struct loop loop;

	random_seed(&loop.random, seed + 100 + (uintptr_t)arg);
	while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
		if (random_below(&loop.random, 3))
			loop_once(&loop);
		else
			loop_without_cursor(&loop);
	}
	return NULL;
}

/* ---- rounds ----------------------------------------------------------------------------- */

static void run(unsigned int flags, double length)
{
	pthread_t thread[WRITERS + READERS];
	const char *reason;
	unsigned int i;

	mt_init_flags(&mt, flags);
	mt_set_allocator(&mt, &quarantine);
	for (i = 0; i < STRETCHES; i++)
		mtree_store_range(&mt, i * WIDTH, i * WIDTH + KEPT - 1, item_new(true), GFP_KERNEL);
	stop = false;
	for (i = 0; i < WRITERS + READERS; i++)
		if (pthread_create(&thread[i], NULL, i < WRITERS ? writer : reader,
				   (void *)(uintptr_t)i))
			abort();
	usleep((useconds_t)(length * 1e6));
	__atomic_store_n(&stop, true, __ATOMIC_RELAXED);
	for (i = 0; i < WRITERS + READERS; i++)
		pthread_join(thread[i], NULL);
	if (!mt_check(&mt, &reason))
		complain(reason, 0);
	for (i = 0; i < STRETCHES; i++)
		item_removed(mtree_erase(&mt, i * WIDTH));
	mtree_destroy(&mt);
	urcu_bp_barrier();
	quarantine_drain();
}

int main(int argc, char **argv)
{
	struct options options;

	if (!take_options(&options, argc, argv))
		return 2;
	seed = options.seed;
	alarm((unsigned int)(options.duration * 2 + 120));
	run(MT_FLAGS_USE_RCU, options.duration / 2);
	run(MT_FLAGS_USE_RCU | MT_FLAGS_ALLOC_RANGE, options.duration / 2);
	printf("%s - loops: %lu steps, %lu bodies that disturbed\n", options.tap ? "ok 1" : "kind 1", steps,
	       disturbed);
	if (options.tap)
		printf("1..1\n");
	return 0;
}
