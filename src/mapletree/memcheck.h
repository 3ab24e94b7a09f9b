/* SPDX-License-Identifier: MIT */
/*
 * memcheck.h - tells valgrind's memcheck which blocks of the slabs are in use, so that it finds what a
 * program does to nodes after they were freed, and trees that it loses.
 *
 * Under valgrind no thread has a magazine: each block then passes the slow paths, the only ones that
 * tell. Elsewhere these requests are not even reached, and the quick paths know nothing of them.
 */
#ifndef MT_MEMCHECK_H
#define MT_MEMCHECK_H

#include "node.h"

#ifdef MT_VALGRIND

#include <valgrind/valgrind.h>

static inline bool memcheck_is_here(void)
{
	return RUNNING_ON_VALGRIND != 0;
}

/* Of unspecified content, as a block of malloc(). @block may be NULL. */
static inline void memcheck_alloc(struct mt_node *block)
{
	if (block)
		VALGRIND_MALLOCLIKE_BLOCK(block, NODE_BYTES, 0, 0);
}

static inline void memcheck_free(struct mt_node *block)
{
	VALGRIND_FREELIKE_BLOCK(block, 0);
}

#else

static inline bool memcheck_is_here(void)
{
	return false;
}

static inline void memcheck_alloc(struct mt_node *block)
{
	(void)block;
}

static inline void memcheck_free(struct mt_node *block)
{
	(void)block;
}

#endif

#endif
