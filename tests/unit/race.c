/* SPDX-License-Identifier: MIT */
/*
 * race.c - a reader and a writer in one thread, the writer on its own stack, which take turns at the atomic
 * loads and stores of the library.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <ucontext.h>

#include <cmocka.h>

#include "../sanitizer.h"
#include "race.h"

#ifdef WITH_ASAN
#include <dlfcn.h>
#include <gnu/lib-names.h>
#endif

#define NODE 256

struct race race;

/* ---- the content of a tree as a list ------------------------------------------------------ */

void take(struct listing *l, struct maple_tree *mt)
{
	MA_STATE(mas, mt, 0, 0);

	for (l->ranges = 0;;) {
		void *entry = mas_walk(&mas);

		assert_true(l->ranges < LENGTH(l->range));
		l->range[l->ranges++] = (struct range){ mas.index, mas.last, entry };
		if (mas.last == ULONG_MAX)
			return;
		mas_set(&mas, mas.last + 1);
	}
}

const struct range *range_at(const struct listing *l, unsigned long index)
{
	const struct range *r = l->range;

	while (r->last < index)
		r++;
	return r;
}

const struct range *entry_from(const struct listing *l, unsigned long index, int step)
{
	const struct range *r = range_at(l, index);

	while (!r->entry) {
		if (r == (step > 0 ? &l->range[l->ranges - 1] : l->range))
			return NULL;
		r += step;
	}
	return r;
}

bool fits(const struct listing *l, unsigned long size)
{
	unsigned int i;

	for (i = 0; i < l->ranges; i++)
		if (!l->range[i].entry && l->range[i].last - l->range[i].first >= size - 1)
			return true;
	return false;
}

/* ---- memory: an arena that begins anew with each race; what is freed is poisoned ----------- */

static unsigned char arena[64][NODE] __attribute__((aligned(NODE)));
static unsigned int arena_used;

static void *arena_alloc(void *ctx, size_t size, size_t align)
{
	(void)ctx;
	assert_true(arena_used < LENGTH(arena) && size == NODE && align == NODE);
	return arena[arena_used++];
}

static void arena_free(void *ctx, void *block, size_t size)
{
	(void)ctx;
	memset(block, 0xa5, size);
}

static const struct mt_allocator allocator = { arena_alloc, arena_free, NULL };

/* No grace period passes during a race. */
static void never_call(struct rcu_head *head, void (*func)(struct rcu_head *head))
{
	(void)head;
	(void)func;
}

/* Nobody reads while the original is made, and no other thread may reach the switches. */
static void call_now(struct rcu_head *head, void (*func)(struct rcu_head *head))
{
	func(head);
}

static void nothing(void)
{
}

/* All reads are made as in one section that has begun before the race. */
static int always(void)
{
	return 1;
}

static const struct mt_rcu racing = { never_call, nothing, nothing, nothing, always };
const struct mt_rcu alone = { call_now, nothing, nothing, nothing, always };

/* ---- the race ------------------------------------------------------------------------------ */

#ifdef WITH_ASAN
/*
 * AddressSanitizer's takes all frames of the stack for left. The C library's own is called, by a
 * pointer: before a call that is known not to return the compiler does the same.
 */
static void (*jump)(jmp_buf place, int value);

static void find_jump(void)
{
	void *libc = dlopen(LIBC_SO, RTLD_LAZY);

	assert_non_null(libc);
	*(void **)&jump = dlsym(libc, "_longjmp");
	assert_non_null(jump);
}
#else
#define jump _longjmp

static void find_jump(void)
{
}
#endif

/* Without a system call, of which swapcontext(3) makes two for signals that nobody has blocked. */
static void turn(struct side *from, struct side *to)
{
	if (!_setjmp(from->place))
		jump(to->place, 1);
}

void go_on(unsigned long stores)
{
	if (race.done)
		return;
	race.stores_left = stores;
	race.writing = true;
	turn(&race.reader, &race.writer);
	race.writing = false;
}

void race_store(void)
{
	if (!race.writing)
		return;
	while (!race.stores_left)
		turn(&race.writer, &race.reader);
	race.stores_left--;
	race.stores++;
}

void race_load(void)
{
	if (race.writing || !race.armed || race.loads_left--)
		return;
	race.met = true;
	race.armed = race.schedule.again;
	race.loads_left = race.schedule.again - 1;
	go_on(race.schedule.burst);
}

static void change(struct maple_tree *mt)
{
	const struct scenario *s = race.scenario;
	void *entry = s->value < 0 ? NULL : xa_mk_value((unsigned long)s->value);

	assert_int_equal(mtree_store_range(mt, s->first, s->last, entry, GFP_KERNEL), 0);
}

/* One write after the other, each when the reader begins a race. */
static void writer_main(void)
{
	for (;;) {
		turn(&race.writer, &race.reader);
		change(&race.mt);
		race.done = true;
	}
}

/* Lets the writer run to the point where it waits for the first race. */
static void start_writer(void)
{
	static unsigned char stack[256 * 1024];
	ucontext_t here, writer;

	find_jump();
	getcontext(&writer);
	writer.uc_stack.ss_sp = stack;
	writer.uc_stack.ss_size = sizeof(stack);
	makecontext(&writer, writer_main, 0);
	if (!_setjmp(race.reader.place))
		swapcontext(&here, &writer);
}

void begin_race(struct maple_tree *original)
{
	/* A race that went wrong has left the writer amid a write. */
	if (!race.done)
		start_writer();
	arena_used = 0;
	mt_init_flags(&race.mt, original->ma_flags);
	mt_set_allocator(&race.mt, &allocator);
	mt_set_rcu_flavour(&race.mt, &racing);
	assert_int_equal(mtree_dup(original, &race.mt, GFP_KERNEL), 0);
	race.done = race.met = false;
	race.stores = 0;
}
