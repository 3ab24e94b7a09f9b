/* SPDX-License-Identifier: MIT */
/* code.c - pages of translated code: who translates is told before they change. */
#include <errno.h>

#include "fault.h"
#include "find.h"
#include "sync.h"

int vmspace_set_code_hook(struct vmspace *space,
			  void (*changed)(void *ctx, unsigned long start, unsigned long end), void *ctx)
{
	if (space_is_snapshot(space))
		return -EROFS;
	if (!space->pages)
		return -EINVAL;
	sync_enter(space);
	sync_write_lock_all(space);
	pages_set_code_hook(space->pages, changed, ctx);
	sync_leave(space);
	return 0;
}

/* False: the page has gone since it was made present. */
static bool watch(struct vmspace *space, unsigned long addr, struct vmspace_page *page)
{
	struct vma *vma;
	bool done = false;

	sync_enter(space);
	vma = find_at(space, addr);
	if (vma && fault_permitted(space, vma, VMSPACE_ACCESS_EXEC)) {
		/* Nobody is writing to it then. */
		sync_write_lock(space, vma);
		done = pages_watch_code(space->pages, vma, addr, page);
	}
	sync_leave(space);
	return done;
}

enum vmspace_fault_result vmspace_watch_code(struct vmspace *space, unsigned long addr,
					     struct vmspace_page *page)
{
	struct vmspace_page unwanted, *out = page ? page : &unwanted;
	enum vmspace_fault_result result;

	if (!space->pages)
		return VMSPACE_FAULT_BUS;
	do
		result = vmspace_touch(space, addr, VMSPACE_ACCESS_EXEC, out);
	while (result == VMSPACE_FAULT_OK && !watch(space, addr, out));
	return result;
}

unsigned long vmspace_code_generation(const struct vmspace *space)
{
	return space->pages ? pages_code_generation(space->pages) : 0;
}
