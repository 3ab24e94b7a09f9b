/* SPDX-License-Identifier: MIT */
/* frame_reserve.c - frames allocated in advance for the pages that a call will populate. */
#include <assert.h>
#include <stdlib.h>

#include "frame_reserve.h"

/* Make room for one more element. */
static bool grow(void **array, size_t count, size_t *capacity, size_t size)
{
	size_t larger = *capacity ? 2 * *capacity : 64;
	void *grown;

	if (count < *capacity)
		return true;
	grown = realloc(*array, larger * size);
	if (!grown)
		return false;
	*array = grown;
	*capacity = larger;
	return true;
}

bool frame_reserve_add_anon(struct frame_reserve *reserve, const struct vmspace_memory *memory,
			    struct frame *frame)
{
	void *array = reserve->anon;

	assert(frame);
	if (!grow(&array, reserve->anon_count, &reserve->anon_capacity, sizeof(*reserve->anon))) {
		frame_put(memory, frame);
		return false;
	}
	reserve->anon = array;
	reserve->anon[reserve->anon_count++] = frame;
	return true;
}

bool frame_reserve_add_file(struct frame_reserve *reserve, const struct vmspace_memory *memory,
			    unsigned long addr, struct frame *frame)
{
	void *array = reserve->file;

	assert(frame);
	if (!grow(&array, reserve->file_count, &reserve->file_capacity, sizeof(*reserve->file))) {
		frame_put(memory, frame);
		return false;
	}
	reserve->file = array;
	reserve->file[reserve->file_count++] = (struct reserved_file_frame){ addr, frame };
	return true;
}

struct frame *frame_reserve_take_anon(struct frame_reserve *reserve)
{
	return reserve->anon_taken < reserve->anon_count ? reserve->anon[reserve->anon_taken++] : NULL;
}

struct frame *frame_reserve_last_anon(const struct frame_reserve *reserve)
{
	return reserve->anon_taken < reserve->anon_count ? reserve->anon[reserve->anon_count - 1]
							  : NULL;
}

/*
 * Pages are populated in the order in which they were reserved, each once. One that was reserved
 * twice, as ranges of a call overlapped, is skipped.
 */
struct frame *frame_reserve_take_file(struct frame_reserve *reserve, unsigned long addr)
{
	for (size_t i = reserve->file_taken; i < reserve->file_count; i++) {
		if (reserve->file[i].addr != addr)
			continue;
		reserve->file_taken = i + 1;
		return frame_get(reserve->file[i].frame);
	}
	return NULL;
}

void frame_reserve_clear(struct frame_reserve *reserve, const struct vmspace_memory *memory)
{
	while (reserve->anon_taken < reserve->anon_count)
		frame_put(memory, reserve->anon[--reserve->anon_count]);
	while (reserve->file_count)
		frame_put(memory, reserve->file[--reserve->file_count].frame);
	free(reserve->anon);
	free(reserve->file);
	*reserve = (struct frame_reserve){ 0 };
}
