/* SPDX-License-Identifier: MIT */
/*
 * oracle.h - what a maple tree must answer, computed from a flat sorted array of ranges.
 *
 * The array covers 0 .. ULONG_MAX without holes: ranges[0].first == 0,
 * ranges[i].first == ranges[i - 1].last + 1, ranges[count - 1].last == ULONG_MAX, and no two
 * neighbours are both NULL. Everything is a binary search or a scan: slow, plain, independent of
 * the tree.
 */
#ifndef MODEL_ORACLE_H
#define MODEL_ORACLE_H

#include <mapletree/maple_tree.h>
#include <stdbool.h>
#include <stddef.h>

struct oracle_range {
	unsigned long first;
	unsigned long last;
	void *entry;
};

/*
 * Whether the tree is a lone entry at 0 kept in the root pointer. Cursor statuses depend on it:
 * they are known while the only entry stored since the tree was empty is at 0..0; a tree that
 * shrank to that may answer either way.
 */
enum oracle_lone { lone_no, lone_yes, lone_unknown };

struct oracle {
	struct oracle_range *ranges;
	size_t count;
	size_t size;
	bool gaps; /* MT_FLAGS_ALLOC_RANGE */
	enum oracle_lone lone;
};

void oracle_init(struct oracle *oracle, unsigned int flags);
void oracle_clear(struct oracle *oracle);
void oracle_free(struct oracle *oracle);
void oracle_copy(struct oracle *to, const struct oracle *from);

/* The position in ranges[] of the range that holds @index. */
size_t oracle_at(const struct oracle *oracle, unsigned long index);
bool oracle_empty(const struct oracle *oracle);
size_t oracle_entries(const struct oracle *oracle);

/* Whether all of [first, last] is without entry. */
bool oracle_vacant(const struct oracle *oracle, unsigned long first, unsigned long last);

void oracle_store(struct oracle *oracle, unsigned long first, unsigned long last, void *entry);

/* The calls of the normal API, with their results. */
int oracle_store_checked(struct oracle *oracle, unsigned long first, unsigned long last,
			 void *entry);
int oracle_insert(struct oracle *oracle, unsigned long first, unsigned long last, void *entry);
void *oracle_erase(struct oracle *oracle, unsigned long index);
void *oracle_load(const struct oracle *oracle, unsigned long index);
void *oracle_find(const struct oracle *oracle, unsigned long *index, unsigned long max);
void *oracle_next(const struct oracle *oracle, unsigned long index, unsigned long max);
void *oracle_prev(const struct oracle *oracle, unsigned long index, unsigned long min);

/* What the area asks for, alignment and all, into *start; 0, -EBUSY, -EINVAL. */
int oracle_area(const struct oracle *oracle, const struct mt_area *area, unsigned long *start);

/* Lowest (@reverse: highest) @size free indexes in [min, max] into *start; 0, -EBUSY, -EINVAL. */
int oracle_gap(const struct oracle *oracle, unsigned long size, unsigned long min,
	       unsigned long max, bool reverse, unsigned long *start);
int oracle_alloc(struct oracle *oracle, unsigned long *start, void *entry, unsigned long size,
		 unsigned long min, unsigned long max, bool reverse);
int oracle_alloc_cyclic(struct oracle *oracle, unsigned long *start, void *entry, unsigned long low,
			unsigned long high, unsigned long *next, bool *wrapped);

/* Whether the entry is one that the normal API (@alloc: its allocating calls) must refuse. */
bool oracle_reserved(const void *entry, bool alloc);

#endif
