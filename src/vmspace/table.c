/* SPDX-License-Identifier: MIT */
/* table.c - tables of a page table: created on demand, looked up, freed level by level. */
#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "table.h"

static void count(unsigned long *counter, int sign)
{
	unsigned long before = __atomic_fetch_add(counter, sign < 0 ? -1UL : 1UL, __ATOMIC_RELAXED);

	assert(sign > 0 || before);
	(void)before;
}

void table_count_entry(struct pages *pages, uintptr_t entry, int sign)
{
	if (!entry)
		return;
	if (entry == ENTRY_GUARD)
		count(&pages->counts.guards, sign);
	else if (entry_is_zero(entry))
		count(&pages->counts.zero, sign);
	else if (entry_frame(entry)->kind == VMSPACE_PAGE_ANON)
		count(&pages->counts.anon, sign);
	else if (entry_frame(entry)->kind == VMSPACE_PAGE_FILE)
		count(&pages->counts.file, sign);
	else
		count(&pages->counts.shmem, sign);
}

/* The thread's cache of tables, linked through entry[0]; see table_cache_begin(). */
static _Thread_local struct {
	unsigned int depth;          /* nested calls of table_cache_begin() */
	struct table *list;
} cache;

void table_cache_begin(void)
{
	cache.depth++;
}

static struct table *take_cached(void)
{
	struct table *table = cache.list;

	if (table)
		cache.list = (struct table *)table->entry[0];
	return table;
}

void table_cache_end(void)
{
	struct table *table;

	assert(cache.depth);
	if (--cache.depth)
		return;
	while ((table = take_cached())) {
		pthread_mutex_destroy(&table->lock);
		free(table);
	}
}

static struct table *allocate(const struct pages *pages)
{
	size_t entries = (size_t)1 << pages->bits;
	struct table *table = calloc(1, sizeof(*table) + entries * sizeof(table->entry[0]));

	if (table && pthread_mutex_init(&table->lock, NULL)) {
		free(table);
		return NULL;
	}
	return table;
}

static struct table *table_new(struct pages *pages, unsigned int level)
{
	struct table *table = take_cached();

	if (table)
		memset(table->entry, 0, sizeof(table->entry[0]) << pages->bits);
	else
		table = allocate(pages);
	if (table)
		count(&pages->counts.tables[level], 1);
	return table;
}

static void table_free(struct pages *pages, struct table *table, unsigned int level)
{
	count(&pages->counts.tables[level], -1);
	if (cache.depth) {
		table->entry[0] = (uintptr_t)cache.list;
		cache.list = table;
		return;
	}
	pthread_mutex_destroy(&table->lock);
	free(table);
}

uintptr_t *table_entry(const struct pages *pages, struct table *table, unsigned long addr,
		       unsigned int level)
{
	unsigned int shift = pages->page_shift + pages->bits * level;

	return &table->entry[addr >> shift & ((1UL << pages->bits) - 1)];
}

struct table *table_find(const struct pages *pages, unsigned long addr, unsigned int level)
{
	struct table *table = (struct table *)entry_load(&pages->root);
	unsigned int at = pages->levels - 1;

	while (table && at > level) {
		table = (struct table *)entry_load(table_entry(pages, table, addr, at));
		at--;
	}
	return table;
}

/* The table of `level` that *entry refers to, created if missing. */
static struct table *make_at(struct pages *pages, uintptr_t *entry, unsigned int level)
{
	uintptr_t found = entry_load(entry);
	struct table *table;

	if (found)
		return (struct table *)found;
	table = table_new(pages, level);
	if (!table)
		return NULL;
	if (__atomic_compare_exchange_n(entry, &found, (uintptr_t)table, false, __ATOMIC_ACQ_REL,
					__ATOMIC_ACQUIRE))
		return table;
	table_free(pages, table, level);
	return (struct table *)found;
}

struct table *table_make(struct pages *pages, unsigned long addr, unsigned int level)
{
	unsigned int at = pages->levels - 1;
	struct table *table = make_at(pages, &pages->root, at);

	while (table && at > level) {
		table = make_at(pages, table_entry(pages, table, addr, at), at - 1);
		at--;
	}
	return table;
}

static bool cache_add(const struct pages *pages)
{
	struct table *table = allocate(pages);

	if (!table)
		return false;
	table->entry[0] = (uintptr_t)cache.list;
	cache.list = table;
	return true;
}

int table_cache_fill(struct pages *pages, unsigned long start, unsigned long end,
		     unsigned long *done_to)
{
	assert(cache.depth && start < end);
	for (unsigned int level = 0; level < pages->levels; level++) {
		unsigned long mask = table_mask(pages, level + 1);
		unsigned long addr = start > done_to[level] ? start : done_to[level];

		for (; addr < end; addr = (addr | mask) + 1) {
			if (!table_find(pages, addr, level) && !cache_add(pages))
				return -ENOMEM;
			done_to[level] = addr | mask;
			if ((addr | mask) == ULONG_MAX)
				break;
			done_to[level]++;
		}
	}
	return 0;
}

/* The end of what the entry of `level` for addr covers; 0: the end of all addresses. */
static unsigned long entry_end(const struct pages *pages, unsigned long addr, unsigned int level)
{
	return (addr | table_mask(pages, level)) + 1;
}

/* The table of level 0 that covers addr; NULL: none, nor for any address below *next. */
static struct table *find_leaf(const struct pages *pages, unsigned long addr, unsigned long *next)
{
	struct table *table = (struct table *)entry_load(&pages->root);
	unsigned int level = pages->levels;

	for (;;) {
		*next = entry_end(pages, addr, level);
		if (!table || !--level)
			return table;
		table = (struct table *)entry_load(table_entry(pages, table, addr, level));
	}
}

bool table_next_leaf(const struct pages *pages, struct leaf_part *part, unsigned long end)
{
	unsigned long addr = part->next, to;

	while (addr < end) {
		part->leaf = find_leaf(pages, addr, &part->next);
		if (part->leaf)
			break;
		addr = part->next;
		if (!addr)
			return false;
	}
	if (addr >= end)
		return false;
	to = part->next && part->next < end ? part->next : end;
	part->addr = addr;
	part->entry = table_entry(pages, part->leaf, addr, 0);
	part->count = (unsigned int)((to - addr) >> pages->page_shift);
	if (!part->next)
		part->next = end;
	return true;
}

static bool leaf_empty(const struct pages *pages, const struct table *table)
{
	for (size_t i = 0; i >> pages->bits == 0; i++)
		if (table->entry[i])
			return false;
	return true;
}

static void free_below(struct pages *pages, struct table *table, unsigned int level)
{
	assert(level || leaf_empty(pages, table));
	for (size_t i = 0; level && i >> pages->bits == 0; i++)
		if (table->entry[i])
			free_below(pages, (struct table *)table->entry[i], level - 1);
	table_free(pages, table, level);
}

/* Free tables that overlap [first, last] and lie within [low, high]. */
struct free_range {
	unsigned long first, last, low, high;
};

/* *entry is 0, or a table of `level` that covers addr. */
static void free_at(struct pages *pages, const struct free_range *f, uintptr_t *entry,
		    unsigned long addr, unsigned int level)
{
	struct table *table = (struct table *)entry_load(entry);
	unsigned long mask = table_mask(pages, level + 1), step, end;

	if (!table)
		return;
	if ((addr & ~mask) >= f->low && (addr | mask) <= f->high) {
		entry_store(entry, 0);
		free_below(pages, table, level);
		return;
	}
	if (!level)
		return;
	step = table_mask(pages, level);
	end = (addr | mask) < f->last ? addr | mask : f->last;
	for (;;) {
		free_at(pages, f, table_entry(pages, table, addr, level), addr, level - 1);
		if ((addr | step) >= end)
			return;
		addr = (addr | step) + 1;
	}
}

void table_free_range(struct pages *pages, unsigned long start, unsigned long end,
		      unsigned long floor, unsigned long ceiling)
{
	const struct free_range f = { start, end - 1, floor, ceiling - 1 };

	assert(start < end && floor <= start && end - 1 <= ceiling - 1);
	free_at(pages, &f, &pages->root, start, pages->levels - 1);
}

void table_free_empty(struct pages *pages, unsigned long start, unsigned long end)
{
	struct leaf_part part = { .next = start };

	if (pages->levels == 1)
		return;
	while (table_next_leaf(pages, &part, end)) {
		if (part.count >> pages->bits == 0 || !leaf_empty(pages, part.leaf))
			continue;
		entry_store(table_entry(pages, table_find(pages, part.addr, 1), part.addr, 1), 0);
		table_free(pages, part.leaf, 0);
	}
}
