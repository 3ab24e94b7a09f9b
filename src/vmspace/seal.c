/* SPDX-License-Identifier: MIT */
/* seal.c - mseal: areas that can no longer be unmapped, moved or protected anew. */
#include <errno.h>

#include "edit.h"
#include "ops.h"
#include "outcome.h"

bool seal_covers(const struct vmspace *space, unsigned long start, unsigned long end)
{
	MA_STATE(mas, (struct maple_tree *)&space->tree, start, start);
	const struct vma *vma;

	mas_for_each(&mas, vma, end - 1)
		if (vma->flags & VMA_SEALED)
			return true;
	return false;
}

static bool has_hole(struct vmspace *space, unsigned long start, unsigned long end)
{
	struct edit_span span;

	edit_span_init(&span, space, start, end);
	while (edit_next(&span) && !span.hole)
		;
	return span.hole;
}

long seal_call(struct vmspace *space, struct vmspace_request *req)
{
	unsigned long start = req->mseal.addr, length = space_ceil(space, req->mseal.length), end;
	struct edit_span span;

	if (!rule_decides(space, RULE_MSEAL))
		return -ENOSYS;
	if (req->mseal.flags || !space_aligned(space, start))
		return -EINVAL;
	if (req->mseal.length && !length)
		return -EINVAL;
	end = start + length;
	if (end < start)
		return -EINVAL;
	if (end == start)
		return 0;
	if (has_hole(space, start, end))
		return -ENOMEM;
	edit_span_init(&span, space, start, end);
	span.changes = VMA_SEALED;
	while (edit_next(&span)) {
		struct edit_attrs want = edit_attrs_of(span.vma);
		long err;

		if (span.vma->flags & VMA_SEALED)
			continue;
		want.flags |= VMA_SEALED;
		err = edit_change(&span, &want);
		if (err)
			return err;
	}
	return 0;
}
