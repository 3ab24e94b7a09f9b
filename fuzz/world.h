/* SPDX-License-Identifier: MIT */
/*
 * world.h - what the interpreter of fuzzed operations works on: trees with their oracles, cursors,
 * readers of the past, memory that fails and grace periods that pass on demand.
 */
#ifndef FUZZ_WORLD_H
#define FUZZ_WORLD_H

#include "heap.h"
#include "input.h"
#include "reading.h"

#define TREES     4
#define CURSORS   2
#define SNAPSHOTS 12
#define RECORDS   48

/*
 * A cursor and where it must stand. @reserved: mas_preallocate() has been called for a store of
 * @entry over @mas, nothing else done since. @moved: its range was set by hand, for a store: where
 * a read would go from there is not promised.
 */
struct cursor {
	struct ma_state mas;
	struct oracle_cursor place;
	void *entry;
	bool reserved;
	bool moved;
};

/*
 * A reader that stays in its read-side section while the tree is changed. state[0 .. states - 1]:
 * the tree's content at each time since the section began. states == 0: no reader.
 * @first, @last: the range it returned last, if @moved; @entry: the last that was no gap.
 */
struct reader {
	struct ma_state mas;
	unsigned int states;
	struct oracle state[SNAPSHOTS];
	bool moved;
	bool up;
	unsigned long first;
	unsigned long last;
	struct oracle_range entry;
};

/*
 * @flags: as the tree was made, or switched to since. @own_memory: it uses the world's heap.
 * @counted: references to its entries are.
 */
struct tree {
	struct maple_tree mt;
	struct oracle oracle;
	unsigned int flags;
	bool own_memory;
	bool counted;
	unsigned long cyclic_next;
	bool cyclic_wrapped;
	struct cursor cursor[CURSORS];
	struct reader reader;
};

/* An operation, for the report of a failure. */
struct record {
	const char *name;
	unsigned int tree;
	unsigned long arguments[3];
	const void *entry;
};

struct world {
	struct input in;
	struct heap heap;
	struct tree tree[TREES];
	unsigned long entries_made;
	unsigned long recorded; /* records written; the last RECORDS are kept */
	struct record records[RECORDS];
};

/* world_print_calls - print each call before it is made. */
extern bool world_print_calls;

/* world_reader_steps - the call under way is one that a reader makes, in its section. */
extern bool world_reader_steps;

void world_open(struct world *world, const uint8_t *bytes, size_t size);

/* world_close - end everything, and check that all memory came back. */
void world_close(struct world *world);

/* world_renew - end tree @number with its cursors and reader, and begin it with @flags. */
void world_renew(struct world *world, unsigned int number, unsigned int flags, bool own_memory,
		 bool counted);

/*
 * world_pass_grace - run the callbacks that wait, unless a reader is in its section, and take a
 * census.
 */
void world_pass_grace(struct world *world);

/* ---- reporting (world.c) ------------------------------------------------------------------ */

void record(struct world *world, const struct tree *tree, const char *name, unsigned long a,
	    unsigned long b, unsigned long c, const void *entry);
void fail(struct world *world, const char *format, ...)
	__attribute__((format(printf, 2, 3), noreturn));
void expect_entry(struct world *world, const void *got, const void *expected);
void expect_number(struct world *world, const char *what, unsigned long got,
		   unsigned long expected);

/* ---- failing memory ------------------------------------------------------------------------ */

/*
 * memory_failed - whether the allocation that op_fail_memory() chose was refused by now. It is
 * the current operation's: after each the interpreter lets memory be had again.
 */
bool memory_failed(const struct world *world);

/*
 * refused - compare the result of a call that may be short of memory. True: it returned -ENOMEM and
 * had a reason to, so that nothing may have changed. Otherwise @got must be @expected.
 */
bool refused(struct world *world, int got, int expected, gfp_t gfp);

/* ---- taking arguments from the input ----------------------------------------------------- */

unsigned long take_index(struct world *world, const struct tree *tree);
/* An index at or above @first, or, seldom, any. */
unsigned long take_last(struct world *world, const struct tree *tree, unsigned long first);
/* The same, never below @first. */
void take_range(struct world *world, const struct tree *tree, unsigned long *first,
		unsigned long *last);
unsigned long take_limit(struct world *world, const struct tree *tree, unsigned long index, bool up);
/* Also NULL, zero and reserved entries; take_plain_entry(): none of these. */
void *take_entry(struct world *world, const struct tree *tree);
void *take_plain_entry(struct world *world);
gfp_t take_gfp(struct world *world);

/* ---- comparing ----------------------------------------------------------------------------- */

/* tree_compare - check the tree and compare all of it with its oracle. */
void tree_compare(struct world *world, struct tree *tree);

/*
 * tree_changed - after each call that may have changed a tree: compare it, show the new state to its
 * reader, and let go the cursors but @but, whose leaf may be gone.
 */
void tree_changed(struct world *world, struct tree *tree, const struct cursor *but);

/* cursor_set - let the cursor begin anew at [first, last]. */
void cursor_set(struct cursor *cursor, unsigned long first, unsigned long last);

/* take_cursor - one of the tree's. */
struct cursor *take_cursor(struct world *world, struct tree *tree);

/* ---- operations ------------------------------------------------------------------------------ */

typedef void operation(struct world *world, struct tree *tree);

/* The normal API (calls.c). */
operation op_store, op_insert, op_erase, op_alloc, op_alloc_cyclic, op_gap, op_look, op_find,
	op_iterate;

/* Whole trees (trees.c). */
operation op_renew, op_destroy, op_switch_rcu, op_dup, op_statistics, op_print, op_fail_memory,
	op_pass_grace, op_bulk;

/* Snapshots and references to entries (sharing.c). */
operation op_snapshot;
extern const struct mt_entry_ops sharing_ops;

/* sharing_open - a world begins, without references to any entry. */
void sharing_open(struct world *world);

/* sharing_expect_alive - what a reader found in its section, which goes on, is referred to. */
void sharing_expect_alive(struct world *world, const struct tree *tree, const void *entry);

/*
 * sharing_census - nothing waits for a grace period: each node and each entry has as many references as
 * there are words that refer to it.
 */
void sharing_census(struct world *world);

/* Searches with alignment (areas.c). */
operation op_alloc_area, op_cursor_area;

/* Cursors (cursors.c). */
operation op_cursor_set, op_cursor_move, op_cursor_read, op_cursor_store, op_cursor_nomem,
	op_cursor_preallocate, op_cursor_store_prealloc, op_cursor_erase, op_cursor_cyclic,
	op_cursor_pause;

/* Readers of the past (readers.c). */
operation op_reader_enter, op_reader_step, op_reader_leave;

/* reader_saw - the tree has changed while its reader is in its section. */
void reader_saw(struct world *world, struct tree *tree);
void reader_leave(struct tree *tree);

#endif
