/* SPDX-License-Identifier: MIT */
/*
 * memfd_hole.c - holes in files and in shared memory, of MADV_REMOVE: zeros for all that map them.
 *
 * A file with a descriptor gets the hole itself. Of others the pages stay the same frames, as whoever
 * maps them has to see the zeros, and somebody may be about to map them; but those of memory alone, which
 * begin with zeros anyway, are freed where nobody has them.
 */
#include <errno.h>
#include <string.h>

#include "memfd_direct.h"

/* A part of a file. */
struct part {
	const struct vma_backing *is;
	uint64_t first, pages;
};

/* Those of the program's bytes that are not in memory are read, so that the zeros are written back. */
static int read_pages(struct vmspace_memfd *memfd, const struct part *part, unsigned long place)
{
	uint64_t frame;
	int err = 0;

	for (uint64_t i = 0; i < part->pages && err != -ENOMEM; i++) {
		err = memfd_file_page(memfd, part->is, part->first + i, place + i, &frame);
		if (!err)
			memfd_file_release(memfd, frame);
	}
	return err == -ENOMEM ? err : 0;
}

int memfd_prepare_hole(struct vmspace_memfd *memfd, const struct vma_backing *is, uint64_t first,
		       uint64_t pages, unsigned long place)
{
	const struct part part = { is, first, pages };
	struct memfd_direct *direct;
	int err;

	/* In a child without frames it would be the parent's. */
	if (memfd->lost)
		return -ENOMEM;
	if (!memfd_has_content(is))
		return 0;
	pthread_mutex_lock(&memfd->lock);
	err = memfd_direct_find(memfd, is, &direct);
	pthread_mutex_unlock(&memfd->lock);
	if (err <= 0)
		return err;
	return memfd->config.read_page ? read_pages(memfd, &part, place) : 0;
}

/* Let the pages be zeros that there are. The lock is held. */
static void clear_pages(struct vmspace_memfd *memfd, const struct part *part)
{
	struct memfd_file *file = memfd_find_file(memfd, part->is);
	bool written_back = memfd_has_content(part->is);
	void *entry;

	if (!file)
		return;
	MA_STATE(mas, &file->pages, (unsigned long)part->first, (unsigned long)part->first);

	mas_for_each(&mas, entry, (unsigned long)(part->first + (part->pages - 1))) {
		uint32_t frame = (uint32_t)xa_to_value(entry);
		struct memfd_slot *slot = &memfd->slots[frame - 1];

		memset(vmspace_memfd_frame(memfd, frame), 0, memfd->page_size);
		if (written_back)
			slot->dirty = true;
		/* If there is no memory to forget it, it stays. */
		else if (!slot->uses && !mas_store_gfp(&mas, NULL, GFP_KERNEL))
			memfd_give(memfd, frame);
	}
}

int memfd_make_hole(struct vmspace_memfd *memfd, const struct vma_backing *is, uint64_t first,
		    uint64_t pages)
{
	const struct part part = { is, first, pages };
	struct memfd_direct *direct;
	int err = 1;

	pthread_mutex_lock(&memfd->lock);
	if (memfd_has_content(is))
		err = memfd_direct_find(memfd, is, &direct);
	if (!err)
		err = memfd_direct_punch(memfd, direct, first, pages);
	else if (err == 1)
		clear_pages(memfd, &part);
	pthread_mutex_unlock(&memfd->lock);
	return err == 1 ? 0 : err;
}
