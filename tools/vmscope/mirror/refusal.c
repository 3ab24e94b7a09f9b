/* SPDX-License-Identifier: MIT */
/* What the kernel has unmapped for a call that it then refused. */
#include "mirror/refusal.h"

#include <limits.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <unistd.h>

#ifndef MAP_FIXED_NOREPLACE
#define MAP_FIXED_NOREPLACE 0x100000
#endif

/* Is nothing mapped in the @length bytes from @start? */
static bool is_empty(const struct kernel_view *view, unsigned long start, unsigned long length)
{
	unsigned long end = length > ULONG_MAX - start ? ULONG_MAX : start + length;
	const char *at = view->text;
	struct vmspace_line line;

	while ((at = vmspace_parse_line(at, &line)) && line.start < end)
		if (line.end > start)
			return false;
	return true;
}

static bool gives_address(const struct vmspace_request *req)
{
	switch (req->op) {
	case VMSPACE_MMAP:
		return req->mmap.flags & MAP_FIXED && !(req->mmap.flags & MAP_FIXED_NOREPLACE);
	case VMSPACE_SHMAT:
		return req->shmat.flags & SHM_REMAP;
	case VMSPACE_MREMAP:
		return req->mremap.flags & MREMAP_FIXED;
	case VMSPACE_REMAP_FILE_PAGES:
		return true;
	default:
		return false;
	}
}

bool refusal_has_unmapped(struct kernel_view *view, const struct vmspace_request *req)
{
	const unsigned long mask = (unsigned long)sysconf(_SC_PAGESIZE) - 1;
	const struct vmspace_mremap *m = &req->mremap;
	unsigned long old_length = (m->old_length + mask) & ~mask;
	unsigned long new_length = (m->new_length + mask) & ~mask;

	if (!gives_address(req))
		return false;
	view->text_current = false;
	if (kernel_read_maps(view) != 0)
		return false;
	switch (req->op) {
	case VMSPACE_MMAP:
		return is_empty(view, req->mmap.addr, req->mmap.length);
	case VMSPACE_SHMAT:
		return is_empty(view, req->shmat.addr, req->shmat.size);
	case VMSPACE_REMAP_FILE_PAGES:
		return is_empty(view, req->remap_file_pages.addr, req->remap_file_pages.size);
	default:
		return is_empty(view, m->new_addr, new_length) &&
		       (new_length >= old_length ||
			is_empty(view, m->addr + new_length, old_length - new_length));
	}
}
