/* SPDX-License-Identifier: MIT */
/* inspect.c - msync and mincore: calls that walk areas and change none. */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "edit.h"
#include "ops.h"
#include "outcome.h"

/* mincore()'s. */
struct vector {
	const struct vmspace *space;
	unsigned long addr;          /* of the page that vec[0] is about */
	unsigned char *vec;
};

long sync_call(struct vmspace *space, struct vmspace_request *req)
{
	const struct vmspace_msync *m = &req->msync;
	unsigned long end = m->addr + space_ceil(space, m->length);
	struct edit_span span;
	bool hole = false;

	if ((m->flags & ~(MS_ASYNC | MS_INVALIDATE | MS_SYNC)) || !space_aligned(space, m->addr) ||
	    ((m->flags & MS_ASYNC) && (m->flags & MS_SYNC)))
		return -EINVAL;
	if (end < m->addr)
		return -ENOMEM;
	if (end == m->addr)
		return 0;
	edit_span_init(&span, space, m->addr, end);
	while (edit_next(&span)) {
		hole |= span.hole;
		if ((m->flags & MS_INVALIDATE) && (span.vma->flags & VMA_LOCKED))
			return outcome_fail(space, -EBUSY, "the area is locked");
		/* Writing failed: EIO, ENOSPC, EDQUOT. */
		if (space->host_error && space->host_error != -ENOMEM &&
		    (m->flags & MS_SYNC) && span.vma->backing && (span.vma->flags & VMA_SHARED))
			return outcome_fail(space, space->host_error, "the file refused");
	}
	return hole || span.hole ? -ENOMEM : 0;
}

static void note_present(void *ctx, unsigned long addr, const unsigned char *marks,
			 unsigned int count)
{
	const struct vector *vector = ctx;
	unsigned char *to = vector->vec + space_pages(vector->space, addr - vector->addr);

	for (unsigned int i = 0; i < count; i++)
		to[i] = marks[i] != 0;
}

/* For the part of an area that the span is at. */
static void fill_vector(struct vmspace *space, const struct edit_span *span,
			const struct vmspace_mincore *m)
{
	struct vector vector = { space, m->addr, m->vec };

	memset(m->vec + space_pages(space, span->from - m->addr), 0,
	       space_pages(space, span->to - span->from));
	if (space->pages)
		pages_collect(space->pages, span->from, span->to, VMSPACE_MARK_PRESENT, false,
			      note_present, &vector);
}

long incore_call(struct vmspace *space, struct vmspace_request *req)
{
	const struct vmspace_mincore *m = &req->mincore;
	unsigned long end = m->addr + space_ceil(space, m->length);
	struct edit_span span;
	bool hole = false;

	if (!space_aligned(space, m->addr))
		return -EINVAL;
	if (m->length > space->config.task_size || m->addr > space->config.task_size - m->length)
		return outcome_fail(space, -ENOMEM, "outside of the address space");
	if (!m->length)
		return 0;
	edit_span_init(&span, space, m->addr, end);
	while (edit_next(&span)) {
		hole |= span.hole;
		/* It is written area by area, up to the first hole. */
		if (m->bad_vec && !hole)
			return -EFAULT;
		if (m->vec && !hole)
			fill_vector(space, &span, m);
	}
	return hole || span.hole ? -ENOMEM : 0;
}
