/* SPDX-License-Identifier: MIT */
/* find.h - looks areas up by address, and chooses the place of a new one. */
#ifndef VMSPACE_FIND_H
#define VMSPACE_FIND_H

#include "space.h"

/* The area that contains addr; the first that ends above addr; the last that begins below it. */
struct vma *find_at(const struct vmspace *space, unsigned long addr);
struct vma *find_first(const struct vmspace *space, unsigned long addr);
struct vma *find_before(const struct vmspace *space, unsigned long addr);

/* find_at() for who holds the space's lock: the area that was changed last needs no search. */
static inline struct vma *find_held(const struct vmspace *space, unsigned long addr)
{
	struct vma *vma = space->recent;

	assert(!vma || find_at(space, vma->start) == vma);
	return vma && vma->start <= addr && addr < vma->end ? vma : find_at(space, addr);
}

/*
 * mas_find() with a cursor that was only set to an address. Where an area contains that, as mostly,
 * this takes two thirds of the instructions.
 */
static inline struct vma *find_from(struct ma_state *mas, unsigned long last)
{
	struct vma *vma = mas_walk(mas);

	return vma || mas->last >= last ? vma : mas_find(mas, last);
}

/* The adjacent areas, or NULL. */
struct vma *find_left(const struct vmspace *space, const struct vma *vma);
struct vma *find_right(const struct vmspace *space, const struct vma *vma);

/*
 * An unmapped range [start, end) and its neighbours.
 * left: the area that ends at start, or NULL.
 * next: the first area above, or NULL.
 * by_mmap: mmap is going to insert something there.
 * Valid until the areas change. start == end: nothing is known.
 */
struct hole {
	unsigned long start, end;
	struct vma *left, *next;
	bool by_mmap;
};

/*
 * Fill *hole for [start, end), start < end. False: something is mapped there. Under the space's lock.
 */
bool find_hole(const struct vmspace *space, unsigned long start, unsigned long end,
	       struct hole *hole);

/* Where `vma` begins, its guard gap included. */
unsigned long find_guarded_start(const struct vmspace *space, const struct vma *vma);

/* What a placement depends on. */
struct find_place {
	unsigned long addr;           /* hint, or with MAP_FIXED the address */
	unsigned long length;         /* bytes, page aligned, not 0 */
	int flags;                    /* MAP_* */
	const struct vma_backing *backing; /* NULL: private anonymous */
	uint64_t offset;              /* bytes in the file */
	bool exact;                   /* a low hint is not raised (mremap) */
};

/*
 * The address that Linux chooses, or -errno. Changes nothing. *hole describes the place if that is
 * a by-product; else it is empty.
 */
long find_place(struct vmspace *space, const struct find_place *want, struct hole *hole);

/*
 * The host chose `place` for a mapping where find_place() chose `at`. If that is so because
 * mmap_base was guessed too low, or was not known, correct it, report that and return true.
 */
bool find_correct_base(struct vmspace *space, unsigned long at, unsigned long place,
		       unsigned long length);

#endif
