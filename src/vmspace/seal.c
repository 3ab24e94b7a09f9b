/* SPDX-License-Identifier: MIT */
/* seal.c - mseal: areas that can no longer be unmapped, moved or protected anew. */
#include <errno.h>

#include "edit.h"
#include "find.h"
#include "ops.h"

bool seal_covers(const struct vmspace *space, unsigned long start, unsigned long end)
{
	const struct vma *vma;

	for (vma = find_first(space, start); vma && vma->start < end;
	     vma = find_first(space, vma->end))
		if (vma->flags & VMA_SEALED)
			return true;
	return false;
}

static bool has_hole(const struct vmspace *space, unsigned long start, unsigned long end)
{
	while (start < end) {
		const struct vma *vma = find_at(space, start);

		if (!vma)
			return true;
		start = vma->end;
	}
	return false;
}

long seal_call(struct vmspace *space, struct vmspace_request *req)
{
	unsigned long start = req->mseal.addr, length = space_ceil(space, req->mseal.length), end;

	if (!space->config.mseal)
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
	while (start < end) {
		struct vma *vma = find_at(space, start);
		unsigned long stop = vma->end < end ? vma->end : end;
		struct edit_want want = edit_same(vma);

		want.flags |= VMA_SEALED;
		if (!(vma->flags & VMA_SEALED)) {
			long err = edit_change(space, vma, start, stop, &want);

			if (err)
				return err;
		}
		start = stop;
	}
	return 0;
}
