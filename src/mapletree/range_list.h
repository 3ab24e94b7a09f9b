/* SPDX-License-Identifier: MIT */
/*
 * range_list.h - a list of ranges of any length: the first few in place, the others in blocks of
 * the pool.
 */
#ifndef MT_RANGE_LIST_H
#define MT_RANGE_LIST_H

#include "pool.h"

struct mt_range {
	unsigned long first;
	unsigned long last;
	void *entry;
};

#define RANGES_IN_BLOCK ((NODE_BYTES - 2 * sizeof(long)) / sizeof(struct mt_range))

/* Every block but the last one is full. */
struct mt_range_block {
	struct mt_range_block *next;
	unsigned long count;
	struct mt_range range[RANGES_IN_BLOCK];
};

static_assert(sizeof(struct mt_range_block) <= NODE_BYTES, "it fits a block of the pool");

struct mt_range_list {
	struct mt_range_block *tail;
	struct mt_range_block head;
};

static inline void range_list_init(struct mt_range_list *list)
{
	list->head.next = NULL;
	list->head.count = 0;
	list->tail = &list->head;
}

/*
 * range_list_add - append @range, with a block of @alloc if one is needed and it @may be allocated.
 * Returns whether that was so.
 */
static inline bool range_list_add(struct mt_range_list *list, const struct mt_allocator *alloc,
				  bool may, struct mt_range range)
{
	struct mt_range_block *tail = list->tail;

	if (UNLIKELY(tail->count == RANGES_IN_BLOCK)) {
		tail = may ? (struct mt_range_block *)pool_alloc(alloc) : NULL;
		if (!tail)
			return false;
		tail->next = NULL;
		tail->count = 0;
		list->tail->next = tail;
		list->tail = tail;
	}
	tail->range[tail->count++] = range;
	return true;
}

/* range_list_last - the last range of a list that has some. */
static inline const struct mt_range *range_list_last(const struct mt_range_list *list)
{
	return &list->tail->range[list->tail->count - 1];
}

/* range_list_free - give the blocks back. */
static inline void range_list_free(struct mt_range_list *list, const struct mt_allocator *alloc)
{
	struct mt_range_block *block = list->head.next, *next;

	for (; block; block = next) {
		next = block->next;
		pool_free(alloc, block);
	}
}

/* A place in a list; @number: how many ranges are before it. */
struct mt_range_at {
	struct mt_range_block *block;
	unsigned long at;
	unsigned long number;
};

static inline struct mt_range_at range_list_begin(struct mt_range_list *list)
{
	return (struct mt_range_at){ &list->head, 0, 0 };
}

/* range_list_look - the range at the place, or NULL at the end. */
static inline struct mt_range *range_list_look(const struct mt_range_at *at)
{
	return at->at < at->block->count ? &at->block->range[at->at] : NULL;
}

/* range_list_next - go to the place after it. */
static inline void range_list_next(struct mt_range_at *at)
{
	at->number++;
	if (++at->at == RANGES_IN_BLOCK && at->block->next) {
		at->block = at->block->next;
		at->at = 0;
	}
}

#endif
