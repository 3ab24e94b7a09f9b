/* SPDX-License-Identifier: MIT */
/* Random calls that must not be made. */
#include "check/leave_out.h"

#include <linux/userfaultfd.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "check/draw.h"
#include "check/puppet_uffd.h"

bool leave_out_range(const struct generator *c, unsigned long start, unsigned long length)
{
	for (int i = 0; i < c->reserved_count; i++)
		if (start < c->reserved[i].end && start + length > c->reserved[i].start)
			return true;
	return start + length < start;
}

/*
 * Would a mapping of the shared memory at @addr extend beyond the end of the file, where touching a
 * page fails? The mapping has @length bytes from @offset in the file, or, with @from_addr, from the
 * offset that is mapped at @addr.
 */
static bool outgrows_file(const struct pair *p, unsigned long addr, unsigned long length,
			  unsigned long offset, bool from_addr)
{
	struct vma_info info;
	struct stat file;
	char path[96];

	if (!vmspace_lookup(p->space, addr, &info) ||
	    (info.backing.kind != VMA_BACKING_SYSV && info.backing.kind != VMA_BACKING_SHMEM))
		return false;
	snprintf(path, sizeof(path), "/proc/%d/map_files/%lx-%lx", (int)p->puppet.pid, info.start,
		 info.end);
	if (from_addr)
		offset = info.offset + (addr - info.start);
	return stat(path, &file) != 0 || length > (unsigned long)file.st_size ||
	       offset > (unsigned long)file.st_size - length;
}

static bool may_be_huge(const struct pair *p, const struct vma_info *info)
{
	return info->backing.kind == VMA_BACKING_ANON && !info->anon_id &&
	       !(info->flags & VMA_NOHUGEPAGE) &&
	       ((info->flags & VMA_HUGEPAGE) ||
		vmspace_config(p->space)->thp == VMSPACE_THP_ALWAYS);
}

/*
 * Would the request read, for the first time, where a huge page fits? That may map the huge zero
 * page, and with it set up an anon_vma, unless a small page or a page table is there already, which
 * libvmspace does not know: these address spaces have no pages. A mirror can ask the kernel;
 * without a host, such places are only written to. Adjacent areas count as one, since a call may
 * merge them before it reads.
 */
static bool reads_huge(const struct pair *p, unsigned long start, unsigned long end, bool by_lock)
{
	const unsigned long huge = vmspace_config(p->space)->pmd_size;
	unsigned long run = 0, run_end = 0, from;
	struct vma_info info;

	if (p->mode.way == PAIR_ASKED || !huge)
		return false;
	from = start > huge ? start - huge : 0;
	for (unsigned long at = from; vmspace_next(p->space, at, &info) &&
	     (info.start < end || info.start - end < huge); at = info.end) {
		/* Locking populates writable areas by write faults. */
		if (!may_be_huge(p, &info) || (by_lock && (info.flags & VMA_WRITE)))
			continue;
		if (run_end != info.start)
			run = info.start;
		run_end = info.end;
		for (unsigned long block = (run + huge - 1) & ~(huge - 1); block + huge <= run_end;
		     block += huge)
			if (block < end && block + huge > start)
				return true;
	}
	return false;
}

/* Would populating the area set up an anon_vma? */
static bool wants_anon(const struct vma_info *info)
{
	return !info->anon_id && (info->flags & (VMA_WRITE | VMA_MAYSHARE)) == VMA_WRITE;
}

/*
 * Does it depend on guard pages whether an area gets its first page? Populating stops at the first
 * guard page, with @each_area at the first of each area. A mirror can ask the kernel; without a
 * host, such calls are not made.
 */
static bool guard_decides(const struct pair *p, unsigned long start, unsigned long end,
			  bool each_area)
{
	struct vma_info info;
	bool stopped = false;

	if (p->mode.way == PAIR_ASKED || !p->guards)
		return false;
	for (unsigned long at = start; vmspace_next(p->space, at, &info) && info.start < end;
	     at = info.end) {
		unsigned long from = info.start > start ? info.start : start, guard;

		if (stopped && !each_area && wants_anon(&info))
			return true;
		guard = kernel_first_guard(&p->view, from, info.end < end ? info.end : end);
		if (guard == from && wants_anon(&info))
			return true;
		stopped |= guard != 0;
	}
	return false;
}

/* The same for mprotect(), which populates locked areas that become writable. */
static bool guard_decides_protect(const struct pair *p, unsigned long start, unsigned long end)
{
	struct vma_info info;

	if (p->mode.way == PAIR_ASKED || !p->guards)
		return false;
	for (unsigned long at = start; vmspace_next(p->space, at, &info) && info.start < end;
	     at = info.end)
		if ((info.flags & VMA_LOCKED) && !info.anon_id && !(info.flags & VMA_MAYSHARE) &&
		    kernel_first_guard(&p->view, info.start, info.end))
			return true;
	return false;
}

/*
 * A fault below a growsdown area sets up an anon_vma even if the area cannot grow to there. A
 * mirror does not get faults, and since no page results, the kernel does not show it.
 */
static bool wakes_stack(const struct pair *p, unsigned long addr)
{
	struct vma_info info;

	return p->mode.way == PAIR_ASKED && vmspace_next(p->space, addr, &info) &&
	       info.start > addr && (info.flags & VMA_GROWSDOWN) && !info.anon_id;
}

/*
 * Would the request read where a userfaultfd has to provide the page? That sets up an anon_vma even
 * for a read, so without a host such places are only written to. A mirror can ask the kernel, but
 * sees only anonymous pages, and minor faults map pages of the file.
 */
static bool reads_registered(const struct pair *p, unsigned long start, unsigned long end,
			     bool by_lock)
{
	const vma_flags_t hidden = VMA_UFFD_MINOR | (p->mode.way == PAIR_ASKED ? 0 : VMA_UFFD_MISSING);
	struct vma_info info;

	for (unsigned long at = start; vmspace_next(p->space, at, &info) && info.start < end;
	     at = info.end)
		if (info.flags & hidden && !info.anon_id &&
		    !(info.flags & VMA_MAYSHARE) && !(by_lock && info.flags & VMA_WRITE))
			return true;
	return false;
}

/*
 * Would the request deadlock? mremap() populates a locked area that has grown before it sends the
 * remap event, and until that event is read, UFFDIO_COPY and the like are refused.
 */
static bool grows_registered(const struct pair *p, const struct vmspace_mremap *m)
{
	const struct puppet_uffd *uffd;
	struct vma_info info;

	if (m->new_length <= m->old_length || !vmspace_lookup(p->space, m->addr, &info) ||
	    !(info.flags & VMA_LOCKED) || !(info.flags & (VMA_UFFD_MISSING | VMA_UFFD_MINOR)))
		return false;
	if (puppet_uffd_right(NULL) == PUPPET_UFFD_USER)
		return true; /* not filled, if faults that the kernel makes are not reported */
	uffd = puppet_uffd_find(&p->puppet, info.uffd);
	return (uffd && uffd->features & (UFFD_FEATURE_EVENT_REMAP | UFFD_FEATURE_EVENT_UNMAP)) ||
	       reads_registered(p, m->addr, m->addr + 1, true);
}

/*
 * Would the request fault in pages of registered areas with flags @also, though only faults that
 * the program itself makes are reported? Then it fails, if they are not there.
 */
static bool fills_registered(const struct pair *p, unsigned long start, unsigned long end,
			     vma_flags_t also)
{
	struct vma_info info;

	if (puppet_uffd_right(NULL) != PUPPET_UFFD_USER)
		return false;
	for (unsigned long at = start; vmspace_next(p->space, at, &info) && info.start < end;
	     at = info.end)
		if (info.flags & (VMA_UFFD_MISSING | VMA_UFFD_MINOR) && (info.flags & also) == also)
			return true;
	return false;
}

static bool reads_pages(const struct pair *p, unsigned long start, unsigned long end, bool by_lock)
{
	return reads_huge(p, start, end, by_lock) || reads_registered(p, start, end, by_lock);
}

/* Does the outcome for areas depend on pages, which libvmspace does not know? */
static bool depends_on_pages(const struct pair *p, const struct vmspace_request *r)
{
	unsigned long start = 0, end = ~0UL;

	switch (r->op) {
	case VMSPACE_FAULT:
		start = r->fault.addr & ~(PAGE - 1);
		end = start + PAGE;
		if (r->fault.access == VMSPACE_ACCESS_READ)
			return wakes_stack(p, start) || reads_pages(p, start, end, false);
		return wakes_stack(p, start) || guard_decides(p, start, end, true);
	case VMSPACE_MADVISE:
		start = r->madvise.addr;
		end = start + r->madvise.length;
		if (r->madvise.advice == MADV_POPULATE_READ)
			return reads_pages(p, start, end, false) ||
			       fills_registered(p, start, end, 0);
		return r->madvise.advice == MADV_POPULATE_WRITE &&
		       (guard_decides(p, start, end, false) || fills_registered(p, start, end, 0));
	case VMSPACE_MLOCK:
		start = r->mlock.addr & ~(PAGE - 1);
		end = (r->mlock.addr + r->mlock.length + PAGE - 1) &
		      ~(PAGE - 1);
		return reads_pages(p, start, end, true) || guard_decides(p, start, end, false) ||
		       fills_registered(p, start, end, 0);
	case VMSPACE_MLOCKALL:
		return (r->mlockall.flags & MCL_CURRENT) &&
		       (reads_pages(p, start, end, true) || guard_decides(p, start, end, true) ||
			fills_registered(p, start, end, 0));
	case VMSPACE_MREMAP:
		return grows_registered(p, &r->mremap);
	case VMSPACE_MPROTECT:
		start = r->mprotect.addr;
		end = (start + r->mprotect.length + PAGE - 1) & ~(PAGE - 1);
		return (r->mprotect.prot & PROT_WRITE) &&
		       (guard_decides_protect(p, start, end) ||
			fills_registered(p, start, end, VMA_LOCKED));
	default:
		return false;
	}
}

/* Does the userfaultfd not exist, and cannot be created either? */
static bool no_uffd(const struct pair *p, const struct vmspace_request *r)
{
	return puppet_uffd_right(NULL) == PUPPET_UFFD_NONE ||
	       (r->uffd.features & ~puppet_uffd_features()) ||
	       (p->puppet.uffd_count == PUPPET_UFFDS &&
		!puppet_uffd_find(&p->puppet, r->uffd.context));
}

bool leave_out(const struct generator *c, const struct pair *p, const struct vmspace_request *r)
{
	if (depends_on_pages(p, r) || (p->mode.way == PAIR_PURE && pair_kernel_decides(r)))
		return true;
	switch (r->op) {
	case VMSPACE_REMAP_FILE_PAGES:
		return outgrows_file(p, r->remap_file_pages.addr & ~(PAGE - 1),
				     r->remap_file_pages.size,
				     r->remap_file_pages.page_offset * PAGE, false);
	case VMSPACE_MMAP:
		return (r->mmap.flags & MAP_FIXED) &&
		       leave_out_range(c, r->mmap.addr, r->mmap.length);
	case VMSPACE_MREMAP:
		if (r->mremap.new_length > r->mremap.old_length &&
		    outgrows_file(p, r->mremap.addr & ~(PAGE - 1),
				  (r->mremap.new_length + PAGE - 1) &
					  ~(PAGE - 1),
				  0, true))
			return true;
		return leave_out_range(c, r->mremap.addr, r->mremap.old_length) ||
		       leave_out_range(c, r->mremap.new_addr, r->mremap.new_length);
	case VMSPACE_MUNMAP:
		return leave_out_range(c, r->munmap.addr, r->munmap.length);
	case VMSPACE_MADVISE:
		return leave_out_range(c, r->madvise.addr, r->madvise.length);
	case VMSPACE_PROCESS_MADVISE:
		for (size_t i = 0; i < r->process_madvise.count; i++)
			if (leave_out_range(c, r->process_madvise.ranges[i].addr,
						  r->process_madvise.ranges[i].length))
				return true;
		return false;
	case VMSPACE_MSEAL:
		return leave_out_range(c, r->mseal.addr, r->mseal.length);
	case VMSPACE_FAULT:
		return leave_out_range(c, r->fault.addr, 1);
	case VMSPACE_UFFD_REGISTER:
		return no_uffd(p, r) || leave_out_range(c, r->uffd.addr, r->uffd.length);
	case VMSPACE_UFFD_UNREGISTER:
		return no_uffd(p, r);
	case VMSPACE_UFFD_RELEASE:
		return !puppet_uffd_find(&p->puppet, r->uffd.context);
	case VMSPACE_MPROTECT:
		return leave_out_range(c, r->mprotect.addr,
					     r->mprotect.length + PAGE);
	default:
		return false;
	}
}
