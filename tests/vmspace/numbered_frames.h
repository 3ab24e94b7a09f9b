/* SPDX-License-Identifier: MIT */
/*
 * numbered_frames.h - memory of a space in which a frame is only a number: for tests that look at
 * what is said of pages, not into them. Any thread may call it.
 */
#ifndef TESTS_VMSPACE_NUMBERED_FRAMES_H
#define TESTS_VMSPACE_NUMBERED_FRAMES_H

#include <stdint.h>

#include <mapletree/vmspace.h>

/* How many frames are in use; atomic, relaxed. */
static unsigned long frames;

static inline uint64_t frame_alloc(void *ctx)
{
	static uint64_t last;

	(void)ctx;
	__atomic_fetch_add(&frames, 1, __ATOMIC_RELAXED);
	return __atomic_add_fetch(&last, 1, __ATOMIC_RELAXED);
}

static inline void frame_free(void *ctx, uint64_t frame)
{
	(void)ctx;
	(void)frame;
	__atomic_fetch_sub(&frames, 1, __ATOMIC_RELAXED);
}

static inline void frame_copy(void *ctx, uint64_t to, uint64_t from)
{
	(void)ctx;
	assert_true(to != from);
}

#endif
