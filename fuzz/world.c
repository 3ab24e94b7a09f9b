/* SPDX-License-Identifier: MIT */
/*
 * world.c - make and end the trees; report a difference with what led to it.
 */
#include "world.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <urcu/urcu-bp.h>

bool world_print_calls;
bool world_reader_steps;

/* ---- grace periods: a flavour of RCU for one thread ----------------------------------------- */

static struct world *current;

static struct {
	struct rcu_head *head;
	void (*func)(struct rcu_head *);
} waiting[256];
static unsigned int waiting_count;

static void run_callbacks(void)
{
	unsigned int i, count = waiting_count;

	waiting_count = 0;
	for (i = 0; i < count; i++)
		waiting[i].func(waiting[i].head);
}

/* Waiting for readers means that they leave. */
static void synchronize(void)
{
	for (unsigned int i = 0; current && i < TREES; i++)
		reader_leave(&current->tree[i]);
	run_callbacks();
}

static void call(struct rcu_head *head, void (*func)(struct rcu_head *))
{
	if (waiting_count == sizeof(waiting) / sizeof(waiting[0]))
		synchronize();
	waiting[waiting_count].head = head;
	waiting[waiting_count++].func = func;
}

static void read_side(void)
{
}

static int reading(void)
{
	return world_reader_steps;
}

static const struct mt_rcu flavour = { call, synchronize, read_side, read_side, reading };

void world_pass_grace(struct world *world)
{
	for (unsigned int i = 0; i < TREES; i++)
		if (world->tree[i].reader.states)
			return;
	run_callbacks();
	for (unsigned int i = 0; i < TREES; i++)
		if (world->tree[i].mt.ma_retired)
			return;
	sharing_census(world);
}

/* ---- trees -------------------------------------------------------------------------------- */

static void begin_tree(struct world *world, struct tree *tree, unsigned int flags, bool own_memory,
		       bool counted)
{
	oracle_init(&tree->oracle, flags);
	tree->flags = flags;
	tree->own_memory = own_memory;
	tree->counted = counted;
	tree->cyclic_next = 0;
	tree->cyclic_wrapped = false;
	mt_init_flags(&tree->mt, flags);
	mtree_lock(&tree->mt);
	expect_number(world, "mt_set_rcu_flavour", mt_set_rcu_flavour(&tree->mt, &flavour), 0);
	expect_number(world, "mt_set_allocator",
		      mt_set_allocator(&tree->mt, own_memory ? &world->heap.allocator : NULL), 0);
	expect_number(world, "mt_set_entry_ops",
		      mt_set_entry_ops(&tree->mt, counted ? &sharing_ops : NULL), 0);
	mtree_unlock(&tree->mt);
	for (unsigned int i = 0; i < CURSORS; i++) {
		mas_init(&tree->cursor[i].mas, &tree->mt, 0);
		cursor_set(&tree->cursor[i], 0, 0);
	}
}

static void end_tree(struct world *world, struct tree *tree)
{
	reader_leave(tree);
	for (unsigned int i = 0; i < CURSORS; i++)
		cursor_set(&tree->cursor[i], 0, 0);
	mtree_destroy(&tree->mt);
	if (!mtree_empty(&tree->mt) || mt_height(&tree->mt))
		fail(world, "not empty after mtree_destroy");
	oracle_free(&tree->oracle);
}

void world_renew(struct world *world, unsigned int number, unsigned int flags, bool own_memory,
		 bool counted)
{
	end_tree(world, &world->tree[number]);
	begin_tree(world, &world->tree[number], flags, own_memory, counted);
}

void world_open(struct world *world, const uint8_t *bytes, size_t size)
{
	static const unsigned int flags[TREES] = {
		0,
		MT_FLAGS_ALLOC_RANGE,
		MT_FLAGS_USE_RCU,
		MT_FLAGS_ALLOC_RANGE | MT_FLAGS_USE_RCU,
	};

	*world = (struct world){ .in = { bytes, bytes + size } };
	current = world;
	heap_open(&world->heap);
	sharing_open(world);
	for (unsigned int i = 0; i < TREES; i++)
		begin_tree(world, &world->tree[i], flags[i], true, false);
}

void world_close(struct world *world)
{
	heap_allow(&world->heap);
	for (unsigned int i = 0; i < TREES; i++)
		end_tree(world, &world->tree[i]);
	run_callbacks();
	sharing_census(world);
	if (heap_live(&world->heap))
		fail(world, "%lu nodes leaked", heap_live(&world->heap));
	heap_close(&world->heap);
	current = NULL;
}

void cursor_set(struct cursor *cursor, unsigned long first, unsigned long last)
{
	if (mas_is_err(&cursor->mas))
		mas_reset(&cursor->mas);
	mas_destroy(&cursor->mas);
	mas_set_range(&cursor->mas, first, last);
	cursor->place = (struct oracle_cursor){ first, last, ma_start };
	cursor->reserved = false;
	cursor->moved = false;
}

/* ---- reporting ------------------------------------------------------------------------------ */

static void print_record(const struct record *r)
{
	fprintf(stderr, "  tree %u %-20s 0x%lx 0x%lx 0x%lx ", r->tree, r->name, r->arguments[0],
		r->arguments[1], r->arguments[2]);
	if (xa_is_zero(r->entry))
		fprintf(stderr, "zero\n");
	else if (xa_is_value(r->entry))
		fprintf(stderr, "value %lu\n", xa_to_value(r->entry));
	else
		fprintf(stderr, "%p\n", r->entry);
}

void record(struct world *world, const struct tree *tree, const char *name, unsigned long a,
	    unsigned long b, unsigned long c, const void *entry)
{
	struct record *r = &world->records[world->recorded++ % RECORDS];

	*r = (struct record){ name, (unsigned int)(tree - world->tree), { a, b, c }, entry };
	if (world_print_calls)
		print_record(r);
}

void fail(struct world *world, const char *format, ...)
{
	unsigned long from = world->recorded > RECORDS ? world->recorded - RECORDS : 0;
	va_list arguments;

	fprintf(stderr, "tree fuzzer: ");
	va_start(arguments, format);
	vfprintf(stderr, format, arguments);
	va_end(arguments);
	fprintf(stderr, "\nThe last calls:\n");
	for (unsigned long i = from; i < world->recorded; i++)
		print_record(&world->records[i % RECORDS]);
	abort();
}

void expect_entry(struct world *world, const void *got, const void *expected)
{
	if (got != expected)
		fail(world, "entry %p, expected %p", got, expected);
}

void expect_number(struct world *world, const char *what, unsigned long got, unsigned long expected)
{
	if (got != expected)
		fail(world, "%s is 0x%lx, expected 0x%lx", what, got, expected);
}

bool memory_failed(const struct world *world)
{
	const struct heap *heap = &world->heap;

	return heap->fail_at && heap->allocs >= heap->fail_at;
}

bool refused(struct world *world, int got, int expected, gfp_t gfp)
{
	bool short_of_memory = memory_failed(world);

	if (got == -ENOMEM && (short_of_memory || !(gfp & __GFP_DIRECT_RECLAIM)))
		return true;
	if (got != expected)
		fail(world, "returned %d, expected %d", got, expected);
	return false;
}
