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

/* As pages_watch_code(); VMSPACE_FAULT_MAPERR: the page has gone since it was made present. */
static enum vmspace_fault_result watch(struct vmspace *space, unsigned long addr,
				       struct vmspace_page *page)
{
	enum vmspace_fault_result result = VMSPACE_FAULT_MAPERR;
	struct vma *vma;

	sync_enter(space);
	vma = find_at(space, addr);
	if (vma && fault_permitted(space, vma, VMSPACE_ACCESS_EXEC)) {
		/* Nobody is writing to it then. */
		sync_write_lock(space, vma);
		result = pages_watch_code(space->pages, vma, addr, page);
	}
	sync_leave(space);
	return result;
}

enum vmspace_fault_result vmspace_watch_code(struct vmspace *space, unsigned long addr,
					     struct vmspace_page *page)
{
	struct vmspace_page unwanted, *out = page ? page : &unwanted;
	enum vmspace_fault_result result;

	if (!space->pages)
		return VMSPACE_FAULT_BUS;
	do {
		result = vmspace_touch(space, addr, VMSPACE_ACCESS_EXEC, out);
		if (result != VMSPACE_FAULT_OK)
			return result;
		result = watch(space, addr, out);
	} while (result == VMSPACE_FAULT_MAPERR);
	return result;
}

unsigned long vmspace_code_generation(const struct vmspace *space)
{
	return space->pages ? pages_code_generation(space->pages) : 0;
}
