/* SPDX-License-Identifier: MIT */
/* Where a call may have changed areas, and the text of both sides' areas there. */
#include "mirror/nearby.h"

#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <linux/prctl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define TAG_BITS 56	/* of arm64's addresses; tags are above */

static void add(struct nearby *where, unsigned long start, unsigned long length)
{
	unsigned long end = start + length >= start ? start + length : ULONG_MAX;

	for (unsigned int i = 0; i < where->count; i++)
		if (where->ranges[i].start <= start && end <= where->ranges[i].end)
			return;
	if (where->count == NEARBY_RANGES) {
		where->everywhere = true;
		return;
	}
	where->ranges[where->count].start = start;
	where->ranges[where->count++].end = end;
}

/* Where it has failed, what was to be replaced may be gone. */
static void add_remap(struct nearby *where, const uint64_t *args, int64_t result, bool failed)
{
	add(where, args[0], args[1] > args[2] ? args[1] : args[2]);
	if (!failed)
		add(where, (unsigned long)result, args[2]);
	else if (args[3] & MREMAP_FIXED)
		add(where, args[4], args[2]);
}

void nearby_of_call(struct nearby *where, const struct vmspace *space, const struct call *call)
{
	const bool failed = call->result < 0 && call->result >= -4095;
	const unsigned long result = (unsigned long)call->result;
	const uint64_t *args = call->args;
	unsigned long addr = args[0];

	*where = (struct nearby){ .everywhere = false };
	if (vmspace_config(space)->address_tags)
		addr &= (1UL << TAG_BITS) - 1;
	switch (call->kind->id) {
	case CALL_MMAP:
		add(where, failed ? args[0] : result, args[1]);
		break;
	case CALL_BRK: /* what touches the break now; the mirror tells where it was */
		add(where, result, 0);
		break;
	case CALL_MREMAP:
		add_remap(where, (uint64_t[]){ addr, args[1], args[2], args[3], args[4] },
			  call->result, failed);
		break;
	case CALL_MUNMAP:
	case CALL_MPROTECT:
	case CALL_PKEY_MPROTECT:
	case CALL_MADVISE:
	case CALL_MLOCK:
	case CALL_MLOCK2:
	case CALL_MUNLOCK:
	case CALL_MSEAL:
	case CALL_MBIND:
	case CALL_SET_HOME_NODE:
		add(where, addr, args[1]);
		break;
	case CALL_PRCTL:
		add(where, args[2], args[3]);
		where->everywhere = args[0] != PR_SET_VMA;
		break;
	case CALL_PKEY_ALLOC:
	case CALL_PKEY_FREE:
		break;
	default: /* about all areas, or rare, or not told by the arguments */
		where->everywhere = true;
	}
}

void nearby_add_event(struct nearby *where, const struct vmspace_event *event)
{
	if (event->kind == VMSPACE_EVENT_NO_MERGE)
		return;
	add(where, event->start, event->end - event->start);
	if (event->kind == VMSPACE_EVENT_MOVE)
		add(where, event->at, event->end - event->start);
}

/* Makes room for @more bytes behind the text. */
static int make_room(struct nearby_text *text, size_t more)
{
	size_t wanted = text->capacity * 2 + more;
	char *larger;

	if (text->capacity - text->length >= more)
		return 0;
	larger = realloc(text->text, wanted);
	if (!larger)
		return -ENOMEM;
	text->text = larger;
	text->capacity = wanted;
	return 0;
}

static int append_area(struct nearby_text *text, const struct vmspace *space, unsigned long addr)
{
	for (;;) {
		size_t room = text->capacity - text->length, length;

		length = vmspace_show_area(space, addr, text->text + text->length, room);
		if (length < room) {
			text->length += length;
			return 0;
		}
		if (make_room(text, length + 1) != 0)
			return -ENOMEM;
	}
}

static unsigned long before(unsigned long addr)
{
	return addr ? addr - 1 : 0;
}

int nearby_show(const struct nearby *where, unsigned int first, const struct vmspace *space,
		struct nearby_text *text)
{
	struct vma_info info;

	assert(!where->everywhere);
	if (make_room(text, 1) != 0)
		return -ENOMEM;
	for (unsigned int i = first; i < where->count; i++)
		for (unsigned long at = before(where->ranges[i].start);
		     vmspace_next(space, at, &info) && info.start <= where->ranges[i].end;
		     at = info.end)
			if (append_area(text, space, info.start) != 0)
				return -ENOMEM;
	return 0;
}

int nearby_ask(const struct nearby *where, unsigned int first, struct kernel_view *view,
	       struct nearby_text *text)
{
	struct vmspace_line line;

	assert(!where->everywhere);
	for (unsigned int i = first; i < where->count; i++)
		for (unsigned long at = before(where->ranges[i].start);; at = line.end) {
			int found = kernel_query(view, at, &line);

			if (found < 0)
				return found;
			if (!found || line.start > where->ranges[i].end)
				break;
			if (make_room(text, line.length) != 0)
				return -ENOMEM;
			memcpy(text->text + text->length, line.text, line.length);
			text->length += line.length;
		}
	return 0;
}

bool nearby_equal(const struct nearby_text *one, const struct nearby_text *other)
{
	return one->length == other->length &&
	       (one->length == 0 || memcmp(one->text, other->text, one->length) == 0);
}

void nearby_text_free(struct nearby_text *text)
{
	free(text->text);
	*text = (struct nearby_text){ .text = NULL };
}
