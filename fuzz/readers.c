/* SPDX-License-Identifier: MIT */
/*
 * readers.c - readers that stay in a read-side section while the tree changes under them.
 *
 * A reader's steps fall between writes here, so what it may see is known: each range it returns stands
 * so in the tree at that moment; from entry to entry it goes one way; and an entry that stood there
 * in all states since the section began is not passed over.
 */
#include "world.h"

void reader_leave(struct tree *tree)
{
	struct reader *reader = &tree->reader;

	while (reader->states)
		oracle_free(&reader->state[--reader->states]);
}

void reader_saw(struct world *world, struct tree *tree)
{
	struct reader *reader = &tree->reader;

	if (!reader->states)
		return;
	sharing_expect_alive(world, tree, reader->entry.entry);
	if (reader->states == SNAPSHOTS) {
		reader_leave(tree);
		return;
	}
	reader->state[reader->states] = (struct oracle){ 0 };
	oracle_copy(&reader->state[reader->states++], &tree->oracle);
}

void op_reader_leave(struct world *world, struct tree *tree)
{
	record(world, tree, "reader leaves", 0, 0, 0, NULL);
	reader_leave(tree);
}

void op_reader_enter(struct world *world, struct tree *tree)
{
	struct reader *reader = &tree->reader;
	unsigned long index = take_index(world, tree);

	if (!(tree->flags & MT_FLAGS_USE_RCU))
		return;
	reader_leave(tree);
	reader->up = input_byte(&world->in) & 1;
	record(world, tree, reader->up ? "reader goes up" : "reader goes down", index, 0, 0, NULL);
	reader->states = 1;
	reader->state[0] = (struct oracle){ 0 };
	oracle_copy(&reader->state[0], &tree->oracle);
	reader->moved = false;
	reader->entry = (struct oracle_range){ 0 };
	reader->first = reader->last = index;
	mas_init(&reader->mas, &tree->mt, index);
}

static bool same(const struct oracle_range *a, const struct oracle_range *b)
{
	return a->first == b->first && a->last == b->last && a->entry == b->entry;
}

static bool stands(const struct reader *reader, const struct oracle_range *range)
{
	const struct oracle *now = &reader->state[reader->states - 1];

	return same(&now->ranges[oracle_at(now, range->first)], range);
}

static bool stood_always(const struct reader *reader, const struct oracle_range *range)
{
	for (unsigned int i = 0; i < reader->states; i++) {
		const struct oracle *state = &reader->state[i];

		if (!same(&state->ranges[oracle_at(state, range->first)], range))
			return false;
	}
	return true;
}

/* No entry that stood always lies strictly between where the reader was and [first, last]. */
static void expect_nothing_passed(struct world *world, const struct reader *reader,
				  unsigned long above, unsigned long below)
{
	const struct oracle *state = &reader->state[0];

	for (size_t i = 0; i < state->count; i++) {
		const struct oracle_range *range = &state->ranges[i];

		if (range->entry && range->first > above && range->last < below &&
		    stood_always(reader, range))
			fail(world, "the reader passed over 0x%lx-0x%lx", range->first,
			     range->last);
	}
}

/* Each entry lies wholly or partly beyond the one before. */
static void expect_one_way(struct world *world, const struct reader *reader,
			   const struct oracle_range *range)
{
	const struct oracle_range *before = &reader->entry;

	if (before->entry && range->entry &&
	    (reader->up ? range->last <= before->last : range->first >= before->first))
		fail(world, "the reader went %s from 0x%lx-0x%lx to 0x%lx-0x%lx",
		     reader->up ? "up" : "down", before->first, before->last, range->first,
		     range->last);
}

static void saw_range(struct world *world, struct reader *reader, const struct oracle_range *range)
{
	if (!stands(reader, range))
		fail(world, "the reader saw 0x%lx-0x%lx:%p, which does not stand there",
		     range->first, range->last, range->entry);
	expect_one_way(world, reader, range);
	if (reader->moved && reader->up)
		expect_nothing_passed(world, reader, reader->last, range->first);
	else if (reader->moved)
		expect_nothing_passed(world, reader, range->last, reader->first);
	reader->first = range->first;
	reader->last = range->last;
	reader->moved = true;
	if (range->entry)
		reader->entry = *range;
}

void op_reader_step(struct world *world, struct tree *tree)
{
	struct reader *reader = &tree->reader;
	bool gaps = input_byte(&world->in) & 1;
	struct oracle_range range;

	if (!reader->states)
		return;
	record(world, tree, "reader steps", gaps, 0, 0, NULL);
	world_reader_steps = true;
	if (reader->up)
		range.entry = gaps ? mas_next_range(&reader->mas, ULONG_MAX) :
				     mas_find(&reader->mas, ULONG_MAX);
	else
		range.entry = gaps ? mas_prev_range(&reader->mas, 0) : mas_find_rev(&reader->mas, 0);
	world_reader_steps = false;
	range.first = reader->mas.index;
	range.last = reader->mas.last;
	if (range.entry || (gaps && mas_is_active(&reader->mas))) {
		saw_range(world, reader, &range);
		if (!mas_is_active(&reader->mas)) /* a lone entry: cursors begin again behind it */
			reader_leave(tree);
		return;
	}
	if (!gaps && reader->moved) {
		if (reader->up)
			expect_nothing_passed(world, reader, reader->last, ULONG_MAX);
		else
			expect_nothing_passed(world, reader, 0, reader->first);
	}
	reader_leave(tree);
}
