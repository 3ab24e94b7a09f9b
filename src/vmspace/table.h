/* SPDX-License-Identifier: MIT */
/*
 * table.h - the tables of a space's page table: a radix tree of entries, and ways to walk it.
 *
 * Level 0 is the lowest: its entries are pages. An entry of level n > 0 is a table of level n - 1,
 * or 0. All entries are loaded with acquire and stored with release.
 *
 * Invariants: counts.tables[n] == number of tables of level n; counts.anon, file, shmem, zero and
 *   guards == number of such entries of level 0. Every table overlaps an area.
 *   The root is a table of level levels - 1.   page_shift + bits * levels >= bits of an address.
 *   ENTRY_WRITABLE in an entry with a frame of kind ANON  =>  the frame is mapped nowhere else.
 *   ENTRY_WRITABLE  =>  ENTRY_DIRTY: who may write unseen is taken to do so.
 *   ENTRY_CODE  =>  not ENTRY_WRITABLE.
 *
 * What protects a store to an entry:
 *   level n > 0, 0 to a table: nothing; it is a compare-and-swap.
 *   level n > 0, a table to 0: the space's lock, and no area overlaps the table but one that covers
 *     all of it and is write-locked.
 *   level 0: the write lock of its area; or its read lock and the lock of the table.
 */
#ifndef VMSPACE_TABLE_H
#define VMSPACE_TABLE_H

#include <pthread.h>

#include "frame.h"
#include "frame_reserve.h"

#define TABLE_LEVELS 10

struct pages;

/*
 * A cache of tables for the calling thread. Between the two calls, which may be nested, tables that
 * the thread frees go to the cache, and new ones are taken from it first; so what was there before
 * can be made again without fail.
 */
void table_cache_begin(void);
void table_cache_end(void);
/*
 * In between: add a table to the cache for each one that is missing for [start, end).
 * done_to[level]: below this address nothing more is needed; all zero at first. 0 or -ENOMEM.
 */
int table_cache_fill(struct pages *pages, unsigned long start, unsigned long end,
		     unsigned long *done_to);

/*
 * Entries of level 0: 0, a guard marker, the zero page (ENTRY_ACCESSED, ENTRY_CODE), or a
 * frame's address, both with any of the bits that mean something there.
 */
#define ENTRY_WRITABLE ((uintptr_t)1) /* writes do not fault, if the area allows them */
#define ENTRY_ACCESSED ((uintptr_t)2) /* since that was last cleared; without it there is no translation */
#define ENTRY_DIRTY    ((uintptr_t)4) /* written since that was last cleared */
#define ENTRY_CODE     ((uintptr_t)8) /* watched: whatever changes it is told of first */
#define ENTRY_BITS     ((uintptr_t)15)
#define ENTRY_GUARD    ENTRY_ACCESSED
#define ENTRY_ZERO     ENTRY_DIRTY
/* Of a page that is written now. */
#define ENTRY_WRITTEN  (ENTRY_WRITABLE | ENTRY_DIRTY)

struct table {
	pthread_mutex_t lock; /* level 0: orders the faults of its pages; above: unused */
	uintptr_t entry[];
};

/* A space's page table; see pages.h. */
struct pages {
	const struct vmspace_memory *memory;
	uintptr_t root;              /* a table, or 0; written as entries of level > 0 are */
	unsigned int page_shift;
	unsigned int bits;           /* 1 << bits == entries of a table */
	unsigned int levels;
	unsigned long last;          /* the last address of the highest page */
	/* The space's pkeys.execute_only, whose areas can only be executed; or NULL. Relaxed. */
	const uint8_t *execute_only;
	struct slots *slots;         /* of those who may look at frames with no lock; or NULL */
	/* What pages_reserve() has reserved for the present call; under the space's lock: */
	struct frame_reserve reserve;
	unsigned long reserved_from; /* tables are cached for addresses from here ... */
	unsigned long reserved_to[TABLE_LEVELS]; /* ... to here, by level */
	bool reserving;              /* table_cache_begin() was called */
	uintptr_t zero;              /* struct frame * of all ENTRY_ZERO; 0: none yet. Set once */
	/* Written while no fault is in progress: */
	void (*code_changed)(void *ctx, unsigned long start, unsigned long end); /* or NULL */
	void *code_ctx;
	bool code_watched;           /* relaxed: a page was ever watched */
	unsigned long code_generation; /* atomic: raised before each change of what is watched */
	struct {                     /* atomic, relaxed */
		unsigned long anon, file, shmem, zero, guards;
		unsigned long tables[TABLE_LEVELS];
	} counts;
};

static inline uintptr_t entry_load(const uintptr_t *entry)
{
	return __atomic_load_n(entry, __ATOMIC_ACQUIRE);
}

/* The same; and whoever says in a slot that it looks at what was there finds that it is not. */
static inline void entry_replace(uintptr_t *entry, uintptr_t value)
{
	__atomic_store_n(entry, value, __ATOMIC_SEQ_CST);
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

static inline bool entry_is_zero(uintptr_t entry)
{
	return (entry & ~(ENTRY_ACCESSED | ENTRY_CODE)) == ENTRY_ZERO;
}

/* Is it a page, not empty or a guard? */
static inline bool entry_present(uintptr_t entry)
{
	return entry && entry != ENTRY_GUARD;
}

/* The pages of [start, end), which are watched, change or go now: see pages_watch_code(). */
static inline void table_code_changed(struct pages *pages, unsigned long start, unsigned long end)
{
	__atomic_fetch_add(&pages->code_generation, 1, __ATOMIC_SEQ_CST);
	if (pages->code_changed)
		pages->code_changed(pages->code_ctx, start, end);
}

/*
 * An entry with the mark that the page was written, of a file whose bytes the user provides, appears or
 * goes: who writes these back knows of both. To be called before a guest can write by the new entry; and
 * when none can write by the old one any more.
 */
void table_mark_written(const struct pages *pages, uintptr_t entry);
void table_unmark_written(const struct pages *pages, uintptr_t entry);

/* Bytes covered by an entry of `level`, less one: the mask of offsets within it. */
static inline unsigned long table_mask(const struct pages *pages, unsigned int level)
{
	unsigned int shift = pages->page_shift + pages->bits * level;

	return shift < sizeof(long) * 8 ? (1UL << shift) - 1 : ~0UL;
}

/* Add (sign 1) or remove (sign -1) an entry of level 0 to and from the counts. 0 is ignored. */
void table_count_entry(struct pages *pages, uintptr_t entry, int sign);

/* The table of `level` that covers addr; NULL: there is none. */
struct table *table_find(const struct pages *pages, unsigned long addr, unsigned int level);
/* The same, created if missing; NULL: no memory. */
struct table *table_make(struct pages *pages, unsigned long addr, unsigned int level);
/* The entry of addr in a table of `level`. */
uintptr_t *table_entry(const struct pages *pages, struct table *table, unsigned long addr,
		       unsigned int level);

/*
 * Iterate over the tables of level 0 that overlap [addr, end):
 *
 *	struct leaf_part part = { .next = start };
 *
 *	while (table_next_leaf(pages, &part, end))
 *		... part.entry[0 .. part.count - 1] are the entries from part.addr on ...
 */
struct leaf_part {
	struct table *leaf;
	uintptr_t *entry;
	unsigned long addr;
	unsigned int count;
	unsigned long next;          /* where to continue; 0 (but for the start): the end of all */
};
bool table_next_leaf(const struct pages *pages, struct leaf_part *part, unsigned long end);

/* Where the pages of a part end. */
static inline unsigned long leaf_part_end(const struct pages *pages, const struct leaf_part *part)
{
	return part->addr + ((unsigned long)part->count << pages->page_shift);
}

/*
 * Free the tables that overlap [start, end) and lie wholly in [floor, ceiling); ceiling 0 is the
 * end of all addresses. Their entries of level 0 must be empty.
 */
void table_free_range(struct pages *pages, unsigned long start, unsigned long end,
		      unsigned long floor, unsigned long ceiling);
/* Free the tables of level 0 that lie wholly in [start, end) and are empty. */
void table_free_empty(struct pages *pages, unsigned long start, unsigned long end);

#endif
