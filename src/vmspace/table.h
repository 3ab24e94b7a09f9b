/* SPDX-License-Identifier: MIT */
/*
 * table.h - the tables of a page table: a radix tree of entries, and the ways through it.
 *
 * Level 0 is the lowest: its entries are pages. An entry of level n > 0 is a table of level n - 1,
 * or 0. All entries are read with acquire and written with release.
 *
 * Invariants: counts.tables[n] == number of tables of level n; anon, file, shmem, zero and guards ==
 *   number of such entries of level 0. A table overlaps an area.
 *   The root is a table of level levels - 1.   page_shift + bits * levels >= bits of an address.
 *   ENTRY_WRITABLE in an entry with a frame of kind ANON => the frame is exclusive.
 *
 * What covers a write: an entry of level n > 0, becoming a table: compare-and-swap; becoming 0: the
 * space's lock, for no area reaches in, or one that holds all of it and is locked for writing.
 * An entry of level 0: the lock of its area, for writing; or
 * for reading, and the lock of the table.
 */
#ifndef VMSPACE_TABLE_H
#define VMSPACE_TABLE_H

#include <pthread.h>

#include "frame.h"
#include "pages.h"
#include "stock.h"

#define TABLE_LEVELS 10

/*
 * Between the two calls the tables that this thread frees are kept for those that it makes: so that
 * what was there, and goes, can be made again without fail. The calls may be nested.
 */
void table_keep(void);
void table_let_go(void);
/*
 * In between: keep tables for all that [start, end) lacks. counted[level]: addresses below it have
 * been seen to; zeros at first. 0 or -ENOMEM.
 */
int table_put_by(struct pages *pages, unsigned long start, unsigned long end,
		 unsigned long *counted);

/* Entries of level 0: 0, a marker, or a frame's address with ENTRY_WRITABLE or without. */
#define ENTRY_WRITABLE ((uintptr_t)1) /* written without a fault where the area allows it */
#define ENTRY_ZERO     ((uintptr_t)2)
#define ENTRY_GUARD    ((uintptr_t)4)
#define ENTRY_BITS     ((uintptr_t)7)

struct table {
	pthread_mutex_t lock; /* level 0: orders the faults of its pages; above: unused */
	uintptr_t entry[];
};

struct pages {
	const struct vmspace_memory *memory;
	uintptr_t root;              /* a table, or 0; written as entries of level > 0 are */
	unsigned int page_shift;
	unsigned int bits;           /* 1 << bits == entries of a table */
	unsigned int levels;
	unsigned long last;          /* the last address of the highest page */
	struct stock stock;          /* for pages that the present call makes; the space's lock */
	unsigned long stocked_to[TABLE_LEVELS]; /* tables of each level are kept for all below */
	unsigned long stocked_from;  /* ... from there, where it was put by last */
	bool stocking;               /* table_keep() is on for it */
	uintptr_t zero;              /* struct frame * for all ENTRY_ZERO; 0: none yet. Set once */
	struct {                     /* atomic, relaxed */
		unsigned long anon, file, shmem, zero, guards;
		unsigned long tables[TABLE_LEVELS];
	} counts;
};

static inline uintptr_t entry_load(const uintptr_t *entry)
{
	return __atomic_load_n(entry, __ATOMIC_ACQUIRE);
}

static inline void entry_store(uintptr_t *entry, uintptr_t value)
{
	__atomic_store_n(entry, value, __ATOMIC_RELEASE);
}

/* The frame of an entry of level 0, or NULL. */
static inline struct frame *entry_frame(uintptr_t entry)
{
	return (struct frame *)(entry & ~ENTRY_BITS);
}

/* Is it a page, that is, neither empty nor a guard? */
static inline bool entry_present(uintptr_t entry)
{
	return entry && entry != ENTRY_GUARD;
}

/* Bytes that an entry of `level` covers, less one; the bits of an address within it. */
static inline unsigned long table_mask(const struct pages *pages, unsigned int level)
{
	unsigned int shift = pages->page_shift + pages->bits * level;

	return shift < sizeof(long) * 8 ? (1UL << shift) - 1 : ~0UL;
}

/* Count an entry of level 0 (sign 1) or no longer (sign -1). 0 is ignored. */
void table_count_entry(struct pages *pages, uintptr_t entry, int sign);

/* The table of `level` that addr lies in; NULL: there is none. */
struct table *table_find(const struct pages *pages, unsigned long addr, unsigned int level);
/* The same, made if there is none; NULL: no memory. */
struct table *table_make(struct pages *pages, unsigned long addr, unsigned int level);
/* The entry of addr in a table of `level`. */
uintptr_t *table_entry(const struct pages *pages, struct table *table, unsigned long addr,
		       unsigned int level);

/*
 * The tables of level 0 that overlap [addr, end), from one to the next:
 *
 *	struct leaf_part part = { .next = start };
 *
 *	while (table_next_leaf(pages, &part, end))
 *		... part.entry[0 .. part.count - 1] are the entries of part.addr and on ...
 */
struct leaf_part {
	struct table *leaf;
	uintptr_t *entry;
	unsigned long addr;
	unsigned int count;
	unsigned long next;          /* where to go on; 0 (not at the start): the end of all */
};
bool table_next_leaf(const struct pages *pages, struct leaf_part *part, unsigned long end);

/*
 * Free the tables that overlap [start, end) and lie wholly in [floor, ceiling), ceiling 0 being
 * the end of all. Their entries of level 0 are empty.
 */
void table_free_range(struct pages *pages, unsigned long start, unsigned long end,
		      unsigned long floor, unsigned long ceiling);
/* Free the tables of level 0 that lie wholly in [start, end) and have no entry. */
void table_free_empty(struct pages *pages, unsigned long start, unsigned long end);

#endif
