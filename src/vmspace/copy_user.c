/* SPDX-License-Identifier: MIT */
/* copy_user.c - copies between the program's memory and a guest's, for a guest's system calls. */
#include <errno.h>
#include <string.h>

#include "memfd_direct.h"
#include "space.h"
#include "window.h"

/* A copy within one page. */
struct part {
	struct vmspace_memfd *memfd;
	char *host;
	size_t offset, size;         /* in the page */
	bool to_guest;
	size_t done;
};

/* The page cannot go away: its area is locked. */
static void copy_part(void *ctx, const struct vmspace_page *page)
{
	struct part *part = ctx;
	char *guest;

	/* A file may be cut meanwhile: a view of it would get a signal. */
	if (memfd_is_direct(page->frame)) {
		part->done = part->to_guest ? memfd_direct_write(part->memfd, page->frame, part->offset,
								 part->host, part->size)
					    : memfd_direct_read(part->memfd, page->frame, part->offset,
								part->host, part->size);
		return;
	}
	guest = (char *)vmspace_memfd_frame(part->memfd, page->frame) + part->offset;
	memcpy(part->to_guest ? guest : part->host, part->to_guest ? part->host : guest, part->size);
	part->done = part->size;
}

/* Copy up to the end of the page at most; returns the number of bytes, 0: none can be accessed. */
static size_t copy_in_page(struct vmspace *space, unsigned long addr, char *host, size_t size,
			   bool to_guest)
{
	size_t page = space->config.page_size, offset = addr & (page - 1);
	struct part part = {
		.memfd = space->config.memory ? window_memfd(space->config.memory) : NULL,
		.host = host, .offset = offset, .to_guest = to_guest,
		.size = size < page - offset ? size : page - offset,
	};

	if (part.memfd)
		vmspace_access(space, addr, to_guest ? VMSPACE_ACCESS_WRITE : VMSPACE_ACCESS_READ,
			       copy_part, &part);
	return part.done;
}

static size_t copy(struct vmspace *space, unsigned long addr, char *host, size_t size, bool to_guest)
{
	size_t done = 0, now;

	/* Addresses do not wrap: nothing is mapped at the last one. */
	while (done < size && addr + done >= addr) {
		now = copy_in_page(space, addr + done, host + done, size - done, to_guest);
		if (!now)
			break;
		done += now;
	}
	return done;
}

size_t vmspace_copy_from(struct vmspace *space, void *to, unsigned long from, size_t size)
{
	return copy(space, from, to, size, false);
}

size_t vmspace_copy_to(struct vmspace *space, unsigned long to, const void *from, size_t size)
{
	return copy(space, to, (char *)from, size, true);
}

long vmspace_strncpy_from(struct vmspace *space, char *to, unsigned long from, size_t size)
{
	size_t done = 0;

	while (done < size) {
		size_t now = from + done >= from
				     ? copy_in_page(space, from + done, to + done, size - done, false)
				     : 0;
		char *end = now ? memchr(to + done, '\0', now) : NULL;

		if (end)
			return end - to;
		if (!now)
			return -EFAULT;
		done += now;
	}
	return (long)size;
}
