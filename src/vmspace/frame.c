/* SPDX-License-Identifier: MIT */
/* frame.c - reference counted frames. */
#include <assert.h>
#include <stdalign.h>
#include <stddef.h>
#include <stdlib.h>

#include "frame.h"

static void give_back(const struct vmspace_memory *memory, uint64_t handle, unsigned int kind)
{
	if (kind == VMSPACE_PAGE_ANON || kind == VMSPACE_PAGE_ZERO)
		memory->free(memory->ctx, handle);
	else if (memory->file_release)
		memory->file_release(memory->ctx, handle);
}

/* As most allocators align blocks anyway. */
static struct frame *allocate(void)
{
	/* aligned_alloc() takes multiples. */
	size_t size = (sizeof(struct frame) + FRAME_ALIGN - 1) & ~(size_t)(FRAME_ALIGN - 1);

	return alignof(max_align_t) >= FRAME_ALIGN ? malloc(sizeof(struct frame))
						   : aligned_alloc(FRAME_ALIGN, size);
}

struct frame *frame_new(const struct vmspace_memory *memory, uint64_t handle,
			enum vmspace_page_kind kind)
{
	struct frame *frame = allocate();

	assert(handle);
	if (!frame) {
		give_back(memory, handle, kind);
		return NULL;
	}
	frame->handle = handle;
	frame->refs = 1;
	frame->kind = kind;
	frame->pins = 0;
	frame->was_pinned = false;
	return frame;
}

struct frame *frame_get(struct frame *frame)
{
	unsigned int before = __atomic_fetch_add(&frame->refs, 1, __ATOMIC_RELAXED);

	assert(before);
	(void)before;
	return frame;
}

void frame_put(const struct vmspace_memory *memory, struct frame *frame)
{
	unsigned int before;

	if (!frame)
		return;
	before = __atomic_fetch_sub(&frame->refs, 1, __ATOMIC_ACQ_REL);
	assert(before);
	if (before > 1)
		return;
	give_back(memory, frame->handle, frame->kind);
	free(frame);
}

bool frame_exclusive(const struct frame *frame)
{
	/* A pin that is just ending makes it look shared, which costs a copy. */
	return frame_is_written(frame) || __atomic_load_n(&frame->refs, __ATOMIC_ACQUIRE) == 1;
}

void frame_pin(struct frame *frame, bool write)
{
	frame_get(frame);
	__atomic_store_n(&frame->was_pinned, true, __ATOMIC_RELAXED);
	if (write)
		__atomic_fetch_add(&frame->pins, 1, __ATOMIC_RELAXED);
}

void frame_unpin(const struct vmspace_memory *memory, struct frame *frame, bool write)
{
	/* Release: what was written. The frame may go with the reference. */
	if (write)
		__atomic_fetch_sub(&frame->pins, 1, __ATOMIC_ACQ_REL);
	frame_put(memory, frame);
}

bool frame_is_written(const struct frame *frame)
{
	return __atomic_load_n(&frame->pins, __ATOMIC_ACQUIRE);
}
