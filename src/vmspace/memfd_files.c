/* SPDX-License-Identifier: MIT */
/*
 * memfd_files.c - pages of files whose bytes the user provides: written back, written by others, read
 * again.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <mapletree/vmspace_files.h>

#include "memfd.h"

/* A page of a file that is used for a moment. */
struct held {
	unsigned long index;
	uint32_t frame;
};

/* Is the page to be written back? */
static bool is_dirty(const struct memfd_slot *slot)
{
	return slot->dirty || slot->writers;
}

/*
 * The first page of the file in [*first, end) that there is, or that is dirty, with a use of ours; if that
 * was asked for, we are a writer instead of those that were. *first is behind it then. False: none. The
 * lock is held.
 */
static bool hold_next(struct vmspace_memfd *memfd, const struct vma_backing *is, uint64_t *first,
		      uint64_t end, bool dirty, struct held *held)
{
	struct memfd_file *file = memfd_find_file(memfd, is);
	void *entry;

	if (!file || *first >= end || *first > ULONG_MAX)
		return false;
	MA_STATE(mas, &file->pages, (unsigned long)*first, (unsigned long)*first);

	mas_for_each(&mas, entry, end > ULONG_MAX ? ULONG_MAX : (unsigned long)(end - 1)) {
		struct memfd_slot *slot = &memfd->slots[xa_to_value(entry) - 1];

		if (dirty && !is_dirty(slot))
			continue;
		held->index = mas.index;
		held->frame = (uint32_t)xa_to_value(entry);
		slot->uses++;
		if (dirty) {
			slot->dirty = false;
			slot->writers++;
		}
		*first = (uint64_t)mas.index + 1;
		return true;
	}
	return false;
}

static uint64_t end_of(uint64_t first, uint64_t pages)
{
	return first + pages < first ? UINT64_MAX : first + pages;
}

/* The page was written back, if `done`. What was read from the file meanwhile may be older. */
static void end_write_back(struct vmspace_memfd *memfd, uint32_t frame, bool done)
{
	struct memfd_slot *slot = &memfd->slots[frame - 1];

	pthread_mutex_lock(&memfd->lock);
	slot->writers--;
	if (!done)
		slot->dirty = true;
	memfd->changes++;
	pthread_mutex_unlock(&memfd->lock);
	memfd_file_release(memfd, frame);
}

int vmspace_memfd_write_back(struct vmspace_memfd *memfd, const struct vma_backing *file,
			     uint64_t first, uint64_t pages, vmspace_write_page *write, void *ctx)
{
	uint64_t end = end_of(first, pages);
	struct held held;
	int err, first_err = 0;
	bool found;

	for (;;) {
		pthread_mutex_lock(&memfd->lock);
		found = hold_next(memfd, file, &first, end, true, &held);
		pthread_mutex_unlock(&memfd->lock);
		if (!found)
			return first_err;
		err = write(ctx, file, held.index, vmspace_memfd_frame(memfd, held.frame));
		first_err = first_err ? first_err : err;
		end_write_back(memfd, held.frame, !err);
	}
}

void vmspace_memfd_written(struct vmspace_memfd *memfd, const struct vma_backing *file,
			   uint64_t offset, const void *bytes, size_t size)
{
	const char *from = bytes;
	size_t page = memfd->page_size;
	struct memfd_file *known;

	pthread_mutex_lock(&memfd->lock);
	memfd->changes++;
	known = memfd_find_file(memfd, file);
	while (known && size) {
		size_t at = (size_t)(offset & (page - 1)), now = size < page - at ? size : page - at;
		uint64_t index = offset >> memfd->page_shift;
		void *entry = index > ULONG_MAX ? NULL
						: mtree_load(&known->pages, (unsigned long)index);

		if (entry)
			memcpy((char *)vmspace_memfd_frame(memfd, xa_to_value(entry)) + at, from, now);
		from += now;
		offset += now;
		size -= now;
	}
	pthread_mutex_unlock(&memfd->lock);
}

/* Read the page, which is in use by us, again, by way of `buffer`. 0 or -ENOMEM. */
static int read_again(struct vmspace_memfd *memfd, const struct vma_backing *is,
		      const struct held *held, void *buffer)
{
	struct memfd_file *file;
	unsigned long before;
	int err;

	pthread_mutex_lock(&memfd->lock);
	do {
		before = memfd->changes;
		pthread_mutex_unlock(&memfd->lock);
		memset(buffer, 0, memfd->page_size);
		err = memfd->config.read_page ? memfd->config.read_page(memfd->config.ctx, is,
									held->index, buffer)
					      : -ENXIO;
		pthread_mutex_lock(&memfd->lock);
	} while (memfd->changes != before);
	file = memfd_find_file(memfd, is);
	if (err && err != -ENOMEM && file)
		memfd_cut_page(memfd, file, held->index, held->frame);
	else if (!err && !is_dirty(&memfd->slots[held->frame - 1]))
		memcpy(vmspace_memfd_frame(memfd, held->frame), buffer, memfd->page_size);
	pthread_mutex_unlock(&memfd->lock);
	return err == -ENOMEM ? err : 0;
}

int vmspace_memfd_invalidate(struct vmspace_memfd *memfd, const struct vma_backing *file,
			     uint64_t first, uint64_t pages)
{
	void *buffer = malloc(memfd->page_size);
	uint64_t end = end_of(first, pages);
	struct held held;
	int err = 0;
	bool found;

	pthread_mutex_lock(&memfd->lock);
	memfd->changes++;
	pthread_mutex_unlock(&memfd->lock);
	if (!buffer)
		return -ENOMEM;
	while (!err) {
		pthread_mutex_lock(&memfd->lock);
		found = hold_next(memfd, file, &first, end, false, &held);
		pthread_mutex_unlock(&memfd->lock);
		if (!found)
			break;
		err = read_again(memfd, file, &held, buffer);
		memfd_file_release(memfd, held.frame);
	}
	free(buffer);
	return err;
}
