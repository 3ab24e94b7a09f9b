/* SPDX-License-Identifier: MIT */
/*
 * Marks: which areas may have what nothing shows, mostly since they were there at an attach.
 *
 *   emptied   The area has no anonymous pages, but may have an anon_vma: its pages were freed. Also
 *             where it reaches beyond the end of its file, whenever that was mapped, once it can
 *             be written.
 *   past_end    It reaches beyond the end of its file, and could not be written so far: so nobody
 *             has. Loaders map libraries so, as a whole, before they map the segments.
 *   moved     The page offsets of its anonymous pages are those of another address, from which
 *             mremap() may have moved it. All parts of one area have been moved equally far: they
 *             have the same *origin*, a number > 0.
 *
 * Marks stay with areas that are split, extended and moved; they end where something else is
 * mapped, and those about moves where a merge has shown what the offsets are.
 */
#ifndef VMSCOPE_MIRROR_MARKS_H
#define VMSCOPE_MIRROR_MARKS_H

#include <mapletree/maple_tree.h>
#include <mapletree/vmspace.h>
#include <stdbool.h>
#include <stddef.h>

struct marks {
	struct maple_tree emptied;	/* ranges of addresses */
	struct maple_tree past_end;	/* ranges of addresses */
	struct maple_tree moved;	/* ranges of addresses -> their origin */
	unsigned long origins;		/* given out so far */
};

void marks_init(struct marks *marks);
void marks_end(struct marks *marks);

/* @space was read from a process that had been running. Returns 0 or -ENOMEM. */
int marks_attached(struct marks *marks, const struct vmspace *space);

/* @marks are of the child of a fork, @space; @parent has its parent's. Returns 0 or -ENOMEM. */
int marks_fork(struct marks *marks, const struct marks *parent, const struct vmspace *space);

/* There are no areas that may have been emptied, nor moved ones. */
bool marks_none(const struct marks *marks);

/*
 * Pages of [@start, @end), an area of @space, lie beyond the end of a file: a write to them leaves
 * none. Returns 0 or -ENOMEM.
 */
int marks_past_end(struct marks *marks, const struct vmspace *space, unsigned long start,
		   unsigned long end);

/* May an area of [@start, @end) have been emptied? */
bool marks_emptied(const struct marks *marks, unsigned long start, unsigned long end);

/* The origin of the page at @addr. 0: its offset is known, or it is not private and anonymous. */
unsigned long marks_origin(const struct marks *marks, unsigned long addr);

/* The next range of @origin at or above *@start: true, and [*@start, *@end). */
bool marks_next(const struct marks *marks, unsigned long origin, unsigned long *start,
		unsigned long *end);

/* What has @origin was moved as far as what has @other; 0: its offsets are known from now on. */
int marks_unite(struct marks *marks, unsigned long origin, unsigned long other);

/*
 * The marks follow @req, whose @events have led to @space. Returns 0 or -ENOMEM.
 */
int marks_follow(struct marks *marks, const struct vmspace *space,
		 const struct vmspace_request *req, const struct vmspace_event *events,
		 size_t count);

#endif
