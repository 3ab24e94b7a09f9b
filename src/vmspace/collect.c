/* SPDX-License-Identifier: MIT */
/* collect.c - finds pages by their marks, and clears these: vmspace_collect(). */
#include <errno.h>

#include "edit.h"
#include "sync.h"

#define MARKS (VMSPACE_MARK_PRESENT | VMSPACE_MARK_ACCESSED | VMSPACE_MARK_DIRTY)

/* What is found; and the run that is told of when its end is known. */
struct collecting {
	const struct vmspace *space;
	void (*found)(void *ctx, unsigned long start, unsigned long end, unsigned int marks);
	void *ctx;
	unsigned long start, end;    /* equal: there is none */
	unsigned int marks;
	long pages;
};

static void end_run(struct collecting *c)
{
	if (c->start != c->end && c->found)
		c->found(c->ctx, c->start, c->end, c->marks);
	c->start = c->end;
}

static void add_pages(void *ctx, unsigned long addr, const unsigned char *marks, unsigned int count)
{
	struct collecting *c = ctx;
	unsigned long page = c->space->config.page_size;

	for (unsigned int i = 0; i < count; i++, addr += page) {
		if (!marks[i])
			continue;
		if (c->start == c->end || c->end != addr || c->marks != marks[i]) {
			end_run(c);
			c->start = addr;
			c->marks = marks[i];
		}
		c->end = addr + page;
		c->pages++;
	}
}

static void take_note(void *ctx, unsigned long addr, const unsigned char *marks, unsigned int count)
{
	(void)addr;
	(void)marks;
	(void)count;
	*(bool *)ctx = true;
}

/* Is there such a page? Who makes one meanwhile makes it after the call. */
static bool any_marked(struct vmspace *space, const struct edit_span *span, unsigned int which)
{
	bool any = false;

	pages_collect(space->pages, span->from, span->to, which, false, take_note, &any);
	return any;
}

/* The space's lock is held. */
static void collect(struct vmspace *space, unsigned long start, unsigned long end, unsigned int which,
		    bool clear, struct collecting *c)
{
	struct edit_span span;

	edit_span_init(&span, space, start, end);
	while (edit_next(&span)) {
		if (clear) {
			if (!any_marked(space, &span, which))
				continue;
			sync_write_lock(space, span.vma);
		}
		pages_collect(space->pages, span.from, span.to, which, clear, add_pages, c);
		end_run(c);
	}
}

long vmspace_collect(struct vmspace *space, unsigned long start, unsigned long end, unsigned int which,
		     unsigned int flags,
		     void (*found)(void *ctx, unsigned long start, unsigned long end,
				   unsigned int marks),
		     void *ctx)
{
	struct collecting c = { .space = space, .found = found, .ctx = ctx };
	bool clear = flags & VMSPACE_COLLECT_CLEAR && which & ~VMSPACE_MARK_PRESENT;

	if (!which || which & ~MARKS || flags & ~VMSPACE_COLLECT_CLEAR || start > end ||
	    !space_aligned(space, start) || !space_aligned(space, end))
		return -EINVAL;
	if (space_is_snapshot(space) && clear)
		return -EROFS;
	if (!space->pages || start == end)
		return 0;
	sync_enter(space);
	collect(space, start, end, which, clear, &c);
	sync_leave(space);
	return c.pages;
}
