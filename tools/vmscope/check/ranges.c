/* SPDX-License-Identifier: MIT */
/* The addresses that a request is about. */
#include "check/ranges.h"
#include "check/page.h"

#include <sys/mman.h>
#include <sys/shm.h>


static unsigned int one(struct span *span, unsigned long addr, unsigned long length)
{
	unsigned long end = addr + length;

	span->start = addr & ~(PAGE - 1);
	if (end < addr || end + PAGE - 1 < end)
		span->end = RANGE_WRAPS;
	else
		span->end = (end + PAGE - 1) & ~(PAGE - 1);
	return span->start < span->end;
}

static unsigned int of_mremap(const struct vmspace_mremap *m, struct span *spans)
{
	/* A growing area may grow where it is. */
	unsigned long left = (m->new_length + PAGE - 1) & ~(PAGE - 1);
	unsigned int count = one(spans, m->addr, left > m->old_length ? left : m->old_length);

	if (left < m->old_length)
		count += one(spans + count, m->addr + left, m->old_length - left);
	if (m->flags & MREMAP_FIXED)
		count += one(spans + count, m->new_addr, m->new_length);
	return count;
}

static unsigned int of_process_madvise(const struct vmspace_process_madvise *m, struct span *spans)
{
	unsigned int count = 0;

	for (size_t i = 0; i < m->count && count < RANGES_MAX; i++)
		count += one(spans + count, m->ranges[i].addr, m->ranges[i].length);
	return count;
}

unsigned int ranges_of(const struct vmspace_request *r, struct span spans[RANGES_MAX])
{
	switch (r->op) {
	case VMSPACE_MMAP:
		return r->mmap.flags & MAP_FIXED ? one(spans, r->mmap.addr, r->mmap.length) : 0;
	case VMSPACE_MUNMAP:
		return one(spans, r->munmap.addr, r->munmap.length);
	case VMSPACE_MPROTECT:
		return one(spans, r->mprotect.addr, r->mprotect.length);
	case VMSPACE_MREMAP:
		return of_mremap(&r->mremap, spans);
	case VMSPACE_MADVISE:
		return one(spans, r->madvise.addr, r->madvise.length);
	case VMSPACE_PROCESS_MADVISE:
		return of_process_madvise(&r->process_madvise, spans);
	case VMSPACE_MLOCK:
	case VMSPACE_MUNLOCK:
		return one(spans, r->mlock.addr, r->mlock.length);
	case VMSPACE_SET_ANON_NAME:
		return one(spans, r->set_anon_name.addr, r->set_anon_name.length);
	case VMSPACE_SHMAT:
		return r->shmat.flags & SHM_REMAP ? one(spans, r->shmat.addr, r->shmat.size) : 0;
	case VMSPACE_REMAP_FILE_PAGES:
		return one(spans, r->remap_file_pages.addr, r->remap_file_pages.size);
	case VMSPACE_MSEAL:
		return one(spans, r->mseal.addr, r->mseal.length);
	case VMSPACE_FAULT:
		return one(spans, r->fault.addr, 1);
	case VMSPACE_MSYNC:
		return one(spans, r->msync.addr, r->msync.length);
	case VMSPACE_MINCORE:
		return one(spans, r->mincore.addr, r->mincore.length);
	case VMSPACE_MBIND:
		return one(spans, r->mbind.addr, r->mbind.length);
	case VMSPACE_SET_HOME_NODE:
		return one(spans, r->home_node.addr, r->home_node.length);
	case VMSPACE_UFFD_REGISTER:
	case VMSPACE_UFFD_UNREGISTER:
		return one(spans, r->uffd.addr, r->uffd.length);
	default:
		return 0;
	}
}
