/* SPDX-License-Identifier: MIT */
/*
 * step.h - one write on one shape, with every check there is; and all reads of one shape.
 *
 * Each returns NULL, or what was wrong.
 */
#ifndef EXHAUSTIVE_STEP_H
#define EXHAUSTIVE_STEP_H

#include "shape.h"

/* What is stored: a new entry, NULL, the entry that is at the first (last) index, a zero entry. */
enum write_kind { WRITE_ENTRY, WRITE_GAP, WRITE_LIKE_FIRST, WRITE_LIKE_LAST, WRITE_ZERO };

/* A store over the points @first .. @last. */
struct write {
	enum write_kind kind;
	unsigned int first;
	unsigned int last;
};

/* @flags: of the trees; @points: see shape.h. */
struct world {
	struct heap heap;
	unsigned int flags;
	unsigned int points;
	unsigned long failures; /* allocations failed so far */
};

/*
 * step_write - make @before and fail each allocation of the write in turn, which must change
 * nothing. Then do the write with reserved nodes alone and check the result: content, invariants,
 * the cursor, that readers saw it all at once, and that no node is lost. Sets *@after.
 */
const char *step_write(struct world *world, const struct shape *before,
		       const struct write *write, struct shape *after);

/*
 * step_read - make @shape and compare all reads of it, from everywhere, with its content; with
 * @searches those for gaps too, in every window.
 */
const char *step_read(struct world *world, const struct shape *shape, bool searches);

#endif
