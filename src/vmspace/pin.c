/* SPDX-License-Identifier: MIT */
/* pin.c - guest memory handed to system calls of the host: frames that are kept meanwhile. */
#include <errno.h>
#include <stdlib.h>

#include <mapletree/vmspace_pins.h>

#include "frame.h"
#include "memfd.h"
#include "pages.h"
#include "touch.h"
#include "window.h"

struct vmspace_pinned {
	const struct vmspace_memory *memory;
	bool write;
	size_t count, room;
	struct frame **frames;
};

/* Room for one frame more. */
static bool make_room(struct vmspace_pinned *pinned)
{
	size_t room = pinned->room ? 2 * pinned->room : 16;
	struct frame **frames;

	if (pinned->count < pinned->room)
		return true;
	frames = reallocarray(pinned->frames, room, sizeof(frames[0]));
	if (!frames)
		return false;
	pinned->frames = frames;
	pinned->room = room;
	return true;
}

/* What is handed over: `used` parts, with the last one extended if that is possible. */
struct parts {
	struct iovec *part;
	unsigned int used, most;
};

static bool add_part(struct parts *parts, char *host, size_t size)
{
	struct iovec *last = parts->used ? &parts->part[parts->used - 1] : NULL;

	if (last && (char *)last->iov_base + last->iov_len == host) {
		last->iov_len += size;
		return true;
	}
	if (parts->used == parts->most)
		return false;
	parts->part[parts->used++] = (struct iovec){ host, size };
	return true;
}

/* Pin the page at addr, of which `size` bytes are wanted. 0; -EFAULT, -ENOMEM; or 1: no part is left. */
static int pin_page(struct vmspace *space, struct vmspace_pinned *pinned, unsigned long addr,
		    size_t size, struct parts *parts)
{
	unsigned long offset = addr & (space->config.page_size - 1);
	enum vmspace_fault_result result;
	struct frame *frame;
	char *host;

	if (!make_room(pinned))
		return -ENOMEM;
	result = touch_pin(space, addr, pinned->write ? VMSPACE_ACCESS_WRITE : VMSPACE_ACCESS_READ,
			   &frame);
	if (result)
		return result == VMSPACE_FAULT_NOMEM ? -ENOMEM : -EFAULT;
	host = vmspace_memfd_frame(window_memfd(pinned->memory), frame->handle);
	if (host && add_part(parts, host + offset, size)) {
		pinned->frames[pinned->count++] = frame;
		return 0;
	}
	pages_unpin(pinned->memory, frame, pinned->write);
	return host ? 1 : -ENOMEM;
}

static int pin_all(struct vmspace *space, struct vmspace_pinned *pinned, unsigned long addr,
		   size_t size, struct parts *parts)
{
	unsigned long page = space->config.page_size;
	int err = 0;

	while (!err && size) {
		size_t now = page - (addr & (page - 1));

		if (now > size)
			now = size;
		err = pin_page(space, pinned, addr, now, parts);
		addr += now;
		size -= now;
		if (!addr && size && !err)
			err = -EFAULT; /* addresses do not wrap */
	}
	return err;
}

int vmspace_pin_pages(struct vmspace *space, unsigned long addr, size_t size, unsigned int access,
		      struct iovec *parts, unsigned int most, struct vmspace_pinned **out)
{
	struct parts into = { .part = parts, .most = most };
	struct vmspace_pinned *pinned;
	int err;

	*out = NULL;
	if (!size || !most || !space->pages || !window_memfd(space->config.memory) ||
	    (access != VMSPACE_ACCESS_READ && access != VMSPACE_ACCESS_WRITE))
		return -EINVAL;
	pinned = calloc(1, sizeof(*pinned));
	if (!pinned)
		return -ENOMEM;
	pinned->memory = space->config.memory;
	pinned->write = access == VMSPACE_ACCESS_WRITE;
	err = pin_all(space, pinned, addr, size, &into);
	if (!into.used) {
		vmspace_unpin_pages(pinned);
		return err;
	}
	*out = pinned;
	return (int)into.used;
}

void vmspace_unpin_pages(struct vmspace_pinned *pinned)
{
	if (!pinned)
		return;
	for (size_t i = 0; i < pinned->count; i++)
		pages_unpin(pinned->memory, pinned->frames[i], pinned->write);
	free(pinned->frames);
	free(pinned);
}
