/* SPDX-License-Identifier: MIT */
/* write_back.c - pages of files that a guest has written, for its msync(). */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <mapletree/vmspace_files.h>

#include "edit.h"
#include "sync.h"
#include "window.h"

/* A part of a shared mapping of a file. */
struct mapped {
	struct vma_backing file;     /* .name is ours */
	uint64_t first, pages;
};

static bool maps_file(const struct vma *vma)
{
	return vma->backing && vma->backing->is.kind == VMA_BACKING_FILE &&
	       vma->flags & (VMA_SHARED | VMA_MAYSHARE);
}

/* 0 or -ENOMEM. */
static int describe(const struct vmspace *space, const struct edit_span *span, struct mapped *mapped)
{
	const struct vma *vma = span->vma;

	mapped->file = vma->backing->is;
	if (mapped->file.name) {
		mapped->file.name = strdup(mapped->file.name);
		if (!mapped->file.name)
			return -ENOMEM;
	}
	mapped->first = vma->pgoff + space_pages(space, span->from - vma->start);
	mapped->pages = space_pages(space, span->to - span->from);
	return 0;
}

/*
 * The first such part from *start on, whose pages' marks go, so that the memfd knows what is dirty; *start
 * is behind it then. 1; 0: there is none; -ENOMEM.
 */
static int next_part(struct vmspace *space, unsigned long *start, unsigned long end,
		     struct mapped *mapped)
{
	struct edit_span span;
	int result = 0;

	if (*start == end)
		return 0;
	sync_enter(space);
	edit_span_init(&span, space, *start, end);
	while (!result && edit_next(&span)) {
		*start = span.to;
		if (!maps_file(span.vma))
			continue;
		result = describe(space, &span, mapped);
		if (result)
			break;
		sync_write_lock(space, span.vma);
		pages_collect(space->pages, span.from, span.to, VMSPACE_MARK_DIRTY, true, NULL, NULL);
		result = 1;
	}
	sync_leave(space);
	return result;
}

int vmspace_write_back(struct vmspace *space, unsigned long start, unsigned long end,
		       vmspace_write_page *write, void *ctx)
{
	struct vmspace_memfd *memfd = space->pages ? window_memfd(space->config.memory) : NULL;
	struct mapped mapped;
	int err = 0, found, now;

	if (!memfd || start > end || !space_aligned(space, start) || !space_aligned(space, end))
		return -EINVAL;
	while ((found = next_part(space, &start, end, &mapped)) > 0) {
		now = vmspace_memfd_write_back(memfd, &mapped.file, mapped.first, mapped.pages, write,
					       ctx);
		err = err ? err : now;
		free((char *)mapped.file.name);
	}
	return found < 0 ? found : err;
}
