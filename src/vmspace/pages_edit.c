/* SPDX-License-Identifier: MIT */
/*
 * pages_edit.c - what calls do to pages: drop, protect, guard and move them.
 *
 * No fault is in progress in the range, as its area is write-locked. What is no longer to be
 * accessible first loses its translations, all at once, then its entries, and last its frames.
 */
#include <assert.h>
#include <errno.h>

#include "pages.h"
#include "table.h"
#include "window.h"

/* Is there a page in [start, end) whose entry has all of `bits`? */
static bool any_page(const struct pages *pages, unsigned long start, unsigned long end,
		     uintptr_t bits)
{
	struct leaf_part part = { .next = start };

	while (table_next_leaf(pages, &part, end))
		for (unsigned int i = 0; i < part.count; i++)
			if (entry_present(part.entry[i]) && (part.entry[i] & bits) == bits)
				return true;
	return false;
}

/* For assertions: page aligned, not empty, and below the end of the address space. */
static __attribute__((unused)) bool range_valid(const struct pages *pages,
						unsigned long start, unsigned long end)
{
	return start < end && end - 1 <= (pages->last | table_mask(pages, 0)) &&
	       !((start | end) & table_mask(pages, 0));
}

/* For assertions: is anything in the part, a page or a guard marker? */
static __attribute__((unused)) bool any_entry(const struct leaf_part *part)
{
	for (unsigned int i = 0; i < part->count; i++)
		if (part->entry[i])
			return true;
	return false;
}

void pages_end_translations(const struct pages *pages, unsigned long start, unsigned long end)
{
	if (pages->memory->unmap)
		pages->memory->unmap(pages->memory->ctx, start, end);
}

void pages_write_protect(const struct pages *pages, unsigned long start, unsigned long end)
{
	if (!window_write_protect(pages->memory, start, end))
		pages_end_translations(pages, start, end);
}

/*
 * Tell of the pages of [start, end) that are watched as code, and end that. Their translations have
 * been ended.
 */
static void end_watches(struct pages *pages, unsigned long start, unsigned long end)
{
	struct leaf_part part = { .next = start };
	unsigned long page = table_mask(pages, 0) + 1, from = 0, to = 0;

	if (!__atomic_load_n(&pages->code_watched, __ATOMIC_RELAXED))
		return;
	while (table_next_leaf(pages, &part, end))
		for (unsigned int i = 0; i < part.count; i++) {
			unsigned long addr = part.addr + i * page;

			if (!(part.entry[i] & ENTRY_CODE))
				continue;
			entry_store(&part.entry[i], part.entry[i] & ~ENTRY_CODE);
			if (from != to && to != addr) {
				table_code_changed(pages, from, to);
				from = to;
			}
			if (from == to)
				from = addr;
			to = addr + page;
		}
	if (from != to)
		table_code_changed(pages, from, to);
}

static void drop_entry(struct pages *pages, uintptr_t *entry)
{
	uintptr_t old = *entry;

	entry_store(entry, 0);
	table_unmark_written(pages, old);
	table_count_entry(pages, old, -1);
	frame_put(pages->memory, entry_frame(old));
}

static void drop(struct pages *pages, unsigned long start, unsigned long end, bool guards)
{
	struct leaf_part part = { .next = start };

	assert(range_valid(pages, start, end));
	if (any_page(pages, start, end, 0))
		pages_end_translations(pages, start, end);
	end_watches(pages, start, end);
	while (table_next_leaf(pages, &part, end))
		for (unsigned int i = 0; i < part.count; i++)
			if (part.entry[i] && (guards || part.entry[i] != ENTRY_GUARD))
				drop_entry(pages, &part.entry[i]);
}

void pages_zap(struct pages *pages, unsigned long start, unsigned long end)
{
	drop(pages, start, end, false);
}

void pages_reclaim(struct pages *pages, unsigned long start, unsigned long end)
{
	table_free_empty(pages, start, end);
}

void pages_unmap(struct pages *pages, unsigned long start, unsigned long end,
		 unsigned long floor, unsigned long ceiling)
{
	drop(pages, start, end, true);
	table_free_range(pages, start, end, floor, ceiling);
}

/* Take the right to write from the pages of the part. Returns whether any had it. */
static bool clear_writable(const struct leaf_part *part)
{
	bool any = false;

	for (unsigned int i = 0; i < part->count; i++)
		if (part->entry[i] & ENTRY_WRITABLE) {
			entry_store(&part->entry[i], part->entry[i] & ~ENTRY_WRITABLE);
			any = true;
		}
	return any;
}

void pages_protect(struct pages *pages, unsigned long start, unsigned long end, vma_flags_t from,
		   vma_flags_t to)
{
	vma_flags_t lost = from & ~to & VMA_ACCESS_FLAGS;
	/* What may be written or executed can be read, too: see describe(). */
	bool readable = lost == VMA_WRITE && (to & VMA_ACCESS_FLAGS);
	struct leaf_part part = { .next = start };

	assert(range_valid(pages, start, end));
	/* If only writing is lost, pages that are not writable have no translation to end. */
	if (!lost || !any_page(pages, start, end, readable ? ENTRY_WRITABLE : 0))
		return;
	if (!readable)
		pages_end_translations(pages, start, end);
	if (lost & VMA_EXEC)
		end_watches(pages, start, end);
	if (!(lost & VMA_WRITE))
		return;
	while (table_next_leaf(pages, &part, end))
		if (clear_writable(&part) && readable)
			pages_write_protect(pages, part.addr, leaf_part_end(pages, &part));
	assert(!any_page(pages, start, end, ENTRY_WRITABLE));
}

int pages_guard(struct pages *pages, unsigned long start, unsigned long end)
{
	unsigned long page = table_mask(pages, 0) + 1;
	struct table *leaf;

	pages_zap(pages, start, end);
	for (unsigned long addr = start; addr < end; addr += page) {
		uintptr_t *entry;

		leaf = table_make(pages, addr, 0);
		if (!leaf)
			return -ENOMEM;
		entry = table_entry(pages, leaf, addr, 0);
		if (*entry == ENTRY_GUARD)
			continue;
		entry_store(entry, ENTRY_GUARD);
		table_count_entry(pages, ENTRY_GUARD, 1);
	}
	return 0;
}

void pages_unguard(struct pages *pages, unsigned long start, unsigned long end)
{
	struct leaf_part part = { .next = start };

	assert(range_valid(pages, start, end));
	while (table_next_leaf(pages, &part, end))
		for (unsigned int i = 0; i < part.count; i++)
			if (part.entry[i] == ENTRY_GUARD)
				drop_entry(pages, &part.entry[i]);
}

/* A move by `delta` bytes (modulo the word) of a source that ends at `end`. */
struct move {
	struct pages *pages;
	unsigned long delta, end;
};

/*
 * Can the table of the part be moved as a whole? If the source covers all of it, and the target has
 * room for a table there and does not have one yet.
 */
static bool whole_table(const struct move *move, const struct leaf_part *part)
{
	struct pages *pages = move->pages;
	unsigned long mask = table_mask(pages, 1);
	struct table *above;

	if (pages->levels == 1 || (part->addr & mask) || (move->delta & mask))
		return false;
	if (part->count != (mask >> pages->page_shift) + 1)
		return false;
	above = table_find(pages, part->addr + move->delta, 1);
	return !above || !entry_load(table_entry(pages, above, part->addr + move->delta, 1));
}

/* Move the table itself. false: no memory for the table above. */
static bool move_table(const struct move *move, const struct leaf_part *part)
{
	unsigned long addr = part->addr, to = addr + move->delta;
	struct pages *pages = move->pages;
	struct table *above = table_make(pages, to, 1);

	if (!above)
		return false;
	entry_store(table_entry(pages, table_find(pages, addr, 1), addr, 1), 0);
	entry_store(table_entry(pages, above, to, 1), (uintptr_t)part->leaf);
	return true;
}

static bool move_entries(const struct move *move, const struct leaf_part *part)
{
	struct pages *pages = move->pages;
	unsigned long mask = table_mask(pages, 1);
	struct table *target = NULL;

	for (unsigned int i = 0; i < part->count; i++) {
		unsigned long offset = (unsigned long)i << pages->page_shift;
		unsigned long to = part->addr + move->delta + offset;
		uintptr_t entry = part->entry[i], *slot;

		/* Linux makes a table for what is empty, too. */
		if (!target || !(to & mask))
			target = table_make(pages, to, 0);
		if (!target)
			return false;
		if (!entry)
			continue;
		slot = table_entry(pages, target, to, 0);
		assert(!*slot);
		entry_store(&part->entry[i], 0);
		entry_store(slot, entry);
	}
	return true;
}

void pages_move(struct pages *pages, unsigned long from, unsigned long to, unsigned long length)
{
	const struct move move = { pages, to - from, from + length };
	struct leaf_part part = { .next = from };

	assert(range_valid(pages, from, from + length) && range_valid(pages, to, to + length));
	assert(to - from >= length && from - to >= length); /* no overlap */
	assert(!any_page(pages, to, to + length, 0));
	if (any_page(pages, from, move.end, 0))
		pages_end_translations(pages, from, move.end);
	end_watches(pages, from, move.end);
	/*
	 * A table that this has made for the target may lie in what remains of the source. None was
	 * reserved for moving that on; but then it is empty there, and need not be moved.
	 */
	while (table_next_leaf(pages, &part, move.end)) {
		bool moved = whole_table(&move, &part) ? move_table(&move, &part)
						       : move_entries(&move, &part);
		(void)moved;
		assert(moved || !any_entry(&part));
	}
}
