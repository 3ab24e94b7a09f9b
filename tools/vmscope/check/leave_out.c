/* SPDX-License-Identifier: MIT */
/* Random calls that must not be made. */
#include "check/leave_out.h"

#include <linux/userfaultfd.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "check/draw.h"
#include "check/puppet_uffd.h"

#define MADV_COLLAPSE_ADVICE 25
#ifndef MAP_TYPE
#define MAP_TYPE 0x0f
#endif
#define MADV_SOFT_OFFLINE_ADVICE 101
#define MADV_GUARD_INSTALL_ADVICE 102

bool leave_out_range(const struct generator *c, unsigned long start, unsigned long length)
{
	for (int i = 0; i < c->reserved_count; i++)
		if (start < c->reserved[i].end && start + length > c->reserved[i].start)
			return true;
	return false;
}

/* Calls that cannot harm the puppet, and may be about its own areas. */
static bool is_harmless(enum vmspace_op op)
{
	return op == VMSPACE_MLOCK || op == VMSPACE_MUNLOCK || op == VMSPACE_MBIND ||
	       op == VMSPACE_SET_HOME_NODE || op == VMSPACE_SET_ANON_NAME ||
	       op == VMSPACE_UFFD_UNREGISTER || op == VMSPACE_MSYNC || op == VMSPACE_MINCORE;
}

/* Linux refuses ranges that wrap around, whatever lies there. */
static bool hits_puppet(const struct generator *c, const struct vmspace_request *r)
{
	struct span spans[RANGES_MAX];
	unsigned int count = is_harmless(r->op) ? 0 : ranges_of(r, spans);

	for (unsigned int i = 0; i < count; i++)
		if (spans[i].end != RANGE_WRAPS &&
		    leave_out_range(c, spans[i].start, spans[i].end - spans[i].start))
			return true;
	return false;
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
	unsigned long run = 0, run_end = 0, from, block;
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
		block = run > from ? run : from;
		block = (block + huge - 1) & ~(huge - 1);
		for (; block + huge <= run_end && block < end; block += huge)
			if (block + huge > start)
				return true;
	}
	return false;
}

/* The same for a mapping that is populated at once, and may become one with what is beside it. */
static bool maps_huge(const struct pair *p, const struct vmspace_mmap *m)
{
	const struct vmspace_config *c = vmspace_config(p->space);

	return p->mode.way != PAIR_ASKED && c->pmd_size && c->thp == VMSPACE_THP_ALWAYS &&
	       (m->flags & (MAP_POPULATE | MAP_LOCKED) || p->lock_future) &&
	       (m->flags & (MAP_TYPE | MAP_ANONYMOUS)) == (MAP_PRIVATE | MAP_ANONYMOUS) &&
	       m->prot && !(m->prot & PROT_WRITE);
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
		if (!kernel_first_guard(&p->view, from, info.end < end ? info.end : end, &guard))
			continue;
		if (guard == from && wants_anon(&info))
			return true;
		stopped = true;
	}
	return false;
}

/* The same for mprotect(), which populates locked areas that become writable. */
static bool guard_decides_protect(const struct pair *p, unsigned long start, unsigned long end)
{
	struct vma_info info;
	unsigned long guard;

	if (p->mode.way == PAIR_ASKED || !p->guards)
		return false;
	for (unsigned long at = start; vmspace_next(p->space, at, &info) && info.start < end;
	     at = info.end)
		if ((info.flags & VMA_LOCKED) && !info.anon_id && !(info.flags & VMA_MAYSHARE) &&
		    kernel_first_guard(&p->view, info.start, info.end, &guard))
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

/* Has the area got its first page since libvmspace last asked? */
static bool is_news(const struct pair *p, const struct vma_info *info)
{
	struct kernel_view view = p->view;

	return !info->anon_id && !(info->flags & VMA_MAYSHARE) &&
	       kernel_has_anon(&view, info->start, info->end);
}

/*
 * An area with its first page takes the anon_vma of a neighbour, so it matters which was touched
 * first. A mirror that hears of both at once cannot know.
 */
static bool order_matters(const struct pair *p, unsigned long addr)
{
	struct vma_info area, beside;

	if (p->mode.way != PAIR_ASKED || !vmspace_lookup(p->space, addr, &area) || area.anon_id)
		return false;
	return (vmspace_lookup(p->space, area.start - 1, &beside) && is_news(p, &beside)) ||
	       (vmspace_lookup(p->space, area.end, &beside) && is_news(p, &beside));
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

/* The program that runs in the puppet is no file of random calls. */
static const struct puppet_file_info *file_of(const struct vma_backing *backing)
{
	return backing->file_id && backing->file_id <= PUPPET_FILE_COUNT ?
		       puppet_file_info((enum puppet_file)(backing->file_id - 1)) : NULL;
}

static unsigned long bytes_of(const struct vma_backing *backing)
{
	const struct puppet_file_info *info = file_of(backing);

	return info ? info->bytes : ~0UL;
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

/*
 * Would pages be populated of which the file has none? That stops there (ENOMEM, EFAULT, SIGBUS):
 * what lies behind is not touched. libvmspace does not know how long files are.
 */
static bool outruns_file(const struct pair *p, unsigned long start, unsigned long end)
{
	struct vma_info info;

	for (unsigned long at = start; vmspace_next(p->space, at, &info) && info.start < end;
	     at = info.end)
		if (info.backing.kind == VMA_BACKING_FILE &&
		    info.offset + (info.end - info.start) > bytes_of(&info.backing))
			return true;
	return false;
}

/* Would populating stop before the end? */
static bool cannot_fill(const struct pair *p, unsigned long start, unsigned long end,
			vma_flags_t also)
{
	return fills_registered(p, start, end, also) || outruns_file(p, start, end);
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
	case VMSPACE_MMAP:
		return maps_huge(p, &r->mmap);
	case VMSPACE_FAULT:
		start = r->fault.addr & ~(PAGE - 1);
		end = start + PAGE;
		if (r->fault.access == VMSPACE_ACCESS_READ)
			return wakes_stack(p, start) || order_matters(p, start) ||
			       reads_pages(p, start, end, false);
		return wakes_stack(p, start) || order_matters(p, start) ||
		       guard_decides(p, start, end, true) ||
		       (p->mode.way == PAIR_ASKED && outruns_file(p, start, end));
	case VMSPACE_MADVISE:
		start = r->madvise.addr;
		end = start + r->madvise.length;
		if (r->madvise.advice == MADV_POPULATE_READ)
			return reads_pages(p, start, end, false) || cannot_fill(p, start, end, 0);
		if (r->madvise.advice == MADV_REMOVE)
			return outruns_file(p, start, end); /* EFBIG, says the file system */
		return r->madvise.advice == MADV_POPULATE_WRITE &&
		       (guard_decides(p, start, end, false) || cannot_fill(p, start, end, 0));
	case VMSPACE_MLOCK:
		start = r->mlock.addr & ~(PAGE - 1);
		end = (r->mlock.addr + r->mlock.length + PAGE - 1) &
		      ~(PAGE - 1);
		return reads_pages(p, start, end, true) || guard_decides(p, start, end, false) ||
		       cannot_fill(p, start, end, 0);
	case VMSPACE_MLOCKALL:
		return (r->mlockall.flags & MCL_CURRENT) &&
		       (reads_pages(p, start, end, true) || guard_decides(p, start, end, true) ||
			cannot_fill(p, start, end, 0));
	case VMSPACE_MREMAP:
		return grows_registered(p, &r->mremap);
	case VMSPACE_MPROTECT:
		start = r->mprotect.addr;
		end = (start + r->mprotect.length + PAGE - 1) & ~(PAGE - 1);
		return (r->mprotect.prot & PROT_WRITE) &&
		       (guard_decides_protect(p, start, end) ||
			cannot_fill(p, start, end, VMA_LOCKED));
	default:
		return false;
	}
}

enum { PAGES_MANY = 16384 };

static bool is_many(const struct pair *p, unsigned long start, unsigned long end, vma_flags_t of)
{
	return vmspace_count_pages(p->space, start, end, of) > PAGES_MANY;
}

/* Advice of which the kernel does something about each page, be it there or not. */
static bool visits_pages(int advice)
{
	return advice == MADV_POPULATE_READ || advice == MADV_POPULATE_WRITE ||
	       advice == MADV_COLLAPSE_ADVICE || advice == MADV_GUARD_INSTALL_ADVICE;
}

static bool is_locked(const struct pair *p, unsigned long addr)
{
	struct vma_info info;

	return vmspace_lookup(p->space, addr, &info) && info.flags & VMA_LOCKED;
}

/* Old versions look at each page of what is locked on fault: for terabytes that takes minutes. */
static bool visits_locked_on_fault(const struct pair *p)
{
	return rule_holds(vmspace_config(p->space), "onfault-readable");
}

/* Would the request take more memory, or time, than is good for the machine? */
static bool takes_much(const struct pair *p, const struct vmspace_request *r)
{
	const unsigned long many = PAGES_MANY * PAGE;
	struct span spans[RANGES_MAX];
	unsigned int count = ranges_of(r, spans);

	switch (r->op) {
	case VMSPACE_MMAP:
		return r->mmap.length > many &&
		       (r->mmap.flags & (MAP_POPULATE | MAP_LOCKED) || p->lock_future);
	case VMSPACE_MREMAP:
		return r->mremap.new_length > many && is_locked(p, r->mremap.addr);
	case VMSPACE_REMAP_FILE_PAGES:
		/* The new mapping is populated. */
		return r->remap_file_pages.size > many;
	case VMSPACE_BRK:
		return p->lock_future && r->brk.brk > many;
	case VMSPACE_MLOCK:
		return (!(r->mlock.flags & 1) || visits_locked_on_fault(p)) && count &&
		       is_many(p, spans->start, spans->end, 0);
	case VMSPACE_MLOCKALL:
		return is_many(p, 0, ~0UL, 0);
	case VMSPACE_MPROTECT:
		return count && is_many(p, spans->start, spans->end, VMA_LOCKED);
	case VMSPACE_MADVISE:
		return visits_pages(r->madvise.advice) && count &&
		       is_many(p, spans->start, spans->end, 0);
	default:
		return false;
	}
}

/* Only executable? Other bits do not matter: PROT_GROWSDOWN, PROT_SEM, and what mmap ignores. */
static bool is_execute_only(int prot)
{
	return (prot & (PROT_READ | PROT_WRITE | PROT_EXEC)) == PROT_EXEC;
}

/*
 * Would key 0 be denied, and so the puppet's own memory? Once freed, it may be the next that is
 * allocated, also for execute-only memory.
 */
static bool denies_key_0(const struct pair *p, const struct vmspace_request *r)
{
	if (!p->key_0_free)
		return false;
	return (r->op == VMSPACE_MMAP && is_execute_only(r->mmap.prot)) ||
	       (r->op == VMSPACE_MPROTECT && is_execute_only(r->mprotect.prot)) ||
	       (r->op == VMSPACE_PKEY_ALLOC && r->pkey_alloc.rights);
}

/*
 * Where MREMAP_DONTUNMAP charges the next area and there is none, the kernel (5.10) follows a NULL
 * pointer, and the process can make no call any more.
 */
static bool breaks_kernel(const struct pair *p, const struct vmspace_request *r)
{
	struct vma_info area, next;

	return r->op == VMSPACE_MREMAP && r->mremap.flags & MREMAP_DONTUNMAP &&
	       rule_holds(vmspace_config(p->space), "dontunmap-charges-next") &&
	       vmspace_lookup(p->space, r->mremap.addr, &area) && area.flags & VMA_ACCOUNT &&
	       !vmspace_next(p->space, area.end, &next);
}

/* Advice that takes memory from the machine, and calls that write beyond the puppet's scratch. */
static bool is_destructive(const struct pair *p, const struct vmspace_request *r)
{
	int advice = r->op == VMSPACE_MADVISE ? r->madvise.advice : 0;
	const unsigned long top = vmspace_config(p->space)->task_size;

	if (r->op == VMSPACE_MINCORE)
		return r->mincore.length > PUPPET_SCRATCH_BYTES * PAGE && r->mincore.length <= top &&
		       r->mincore.addr <= top - r->mincore.length;
	return advice == MADV_HWPOISON || advice == MADV_SOFT_OFFLINE_ADVICE;
}

/* What a driver maps, and where, is its own business. */
static bool displeases_driver(const struct pair *p, const struct vmspace_mmap *m)
{
	const struct puppet_file_info *info = file_of(&m->backing);

	if (m->flags & MAP_ANONYMOUS || !info || !info->driver_bytes)
		return false;
	/* Its ring counts against a limit of the user's, and then against RLIMIT_MEMLOCK. */
	if (m->backing.file_id == PUPPET_PERF + 1 && !vmspace_config(p->space)->lock_privileged)
		return true;
	if (m->addr || m->length != info->driver_bytes || m->flags & MAP_FIXED ||
	    (m->flags & MAP_TYPE) != MAP_SHARED || m->prot != (PROT_READ | PROT_WRITE))
		return true;
	for (int i = 0; i < 3; i++)
		if (m->offset == info->driver_offsets[i])
			return false;
	return true;
}

/* Is it about a ring, which its driver may not let be cut, moved, emptied, filled or written? */
static bool is_about_ring(const struct pair *p, const struct vmspace_request *r)
{
	struct span spans[RANGES_MAX];
	unsigned int count = ranges_of(r, spans);
	bool asks = r->op == VMSPACE_REMAP_FILE_PAGES ||
		    (r->op == VMSPACE_MREMAP && r->mremap.flags & MREMAP_MAYMOVE) ||
		    (r->op == VMSPACE_MADVISE &&
		     (r->madvise.advice == MADV_REMOVE ||
		      r->madvise.advice == MADV_POPULATE_READ ||
		      r->madvise.advice == MADV_POPULATE_WRITE)) ||
		    (r->op == VMSPACE_MSYNC && r->msync.flags & MS_SYNC);
	bool looks = r->op == VMSPACE_MSYNC || r->op == VMSPACE_MINCORE;
	const struct puppet_file_info *info;
	struct vma_info area;

	for (unsigned int i = 0; i < count; i++)
		for (unsigned long at = spans[i].start;
		     vmspace_next(p->space, at, &area) && area.start < spans[i].end; at = area.end) {
			info = file_of(&area.backing);
			if (info && info->driver_bytes &&
			    (asks || (!looks && (area.start < spans[i].start ||
						 area.end > spans[i].end))))
				return true;
		}
	return false;
}

/* The memory of a shared mapping of /dev/zero is as long as that, and begins at 0. */
static bool outgrows_zero(const struct vmspace_mmap *m)
{
	return m->backing.kind == VMA_BACKING_SHMEM && !(m->flags & MAP_ANONYMOUS) && m->offset;
}

static bool driver_refuses(const struct vmspace_mmap *m)
{
	const struct puppet_file_info *info = file_of(&m->backing);

	return !(m->flags & MAP_ANONYMOUS) && info && info->driver_refuses &&
	       !(m->backing.flags & VMA_BACKING_NO_MMAP);
}

/* Does it fail if there are pages on other nodes, which libvmspace does not know? */
static bool asks_for_nodes(const struct vmspace_mbind *m)
{
	enum { MODE_FLAGS = 7 << 13, MODE_LOCAL = 4, STRICT = 1 };

	return m->flags & STRICT && ((m->mode & ~MODE_FLAGS) == MODE_LOCAL || !(m->nodes & 1));
}

/* Whether there are enough huge pages is the machine's business; MAP_SYNC the file system's. */
static bool is_unpredictable(const struct pair *p, const struct vmspace_request *r)
{
	/* How many bytes it has advised depends on pages. */
	if (r->op == VMSPACE_PROCESS_MADVISE && r->process_madvise.advice == MADV_COLLAPSE_ADVICE)
		return true;
	if (is_about_ring(p, r) || (r->op == VMSPACE_MBIND && asks_for_nodes(&r->mbind)))
		return true;
	if (r->op != VMSPACE_MMAP)
		return false;
	if (displeases_driver(p, &r->mmap) || outgrows_zero(&r->mmap))
		return true;
	return p->mode.way == PAIR_PURE &&
	       (r->mmap.flags & MAP_HUGETLB || r->mmap.backing.kind == VMA_BACKING_HUGETLB ||
		driver_refuses(&r->mmap) ||
		(r->mmap.flags & MAP_SYNC && !(r->mmap.flags & MAP_ANONYMOUS)));
}

/* Does the userfaultfd not exist, and cannot be created either? */
static bool no_uffd(const struct pair *p, const struct vmspace_request *r)
{
	return puppet_uffd_right(NULL) == PUPPET_UFFD_NONE ||
	       (r->uffd.features & ~puppet_uffd_features()) ||
	       (p->puppet.uffd_count == PUPPET_UFFDS &&
		!puppet_uffd_find(&p->puppet, r->uffd.context));
}

/* The same call, range by range. */
static bool leave_out_a_part(const struct generator *c, const struct pair *p,
			     const struct vmspace_process_madvise *m)
{
	for (size_t i = 0; i < m->count; i++) {
		const struct vmspace_request part = {
			.op = VMSPACE_MADVISE,
			.madvise = { m->ranges[i].addr, m->ranges[i].length, m->advice },
		};

		if (leave_out(c, p, &part))
			return true;
	}
	return false;
}

bool leave_out(const struct generator *c, const struct pair *p, const struct vmspace_request *r)
{
	if (r->op == VMSPACE_PROCESS_MADVISE && leave_out_a_part(c, p, &r->process_madvise))
		return true;
	if (depends_on_pages(p, r) || (p->mode.way == PAIR_PURE && pair_kernel_decides(r)))
		return true;
	if (hits_puppet(c, r) || is_destructive(p, r) || breaks_kernel(p, r) ||
	    denies_key_0(p, r) || takes_much(p, r) || is_unpredictable(p, r))
		return true;
	switch (r->op) {
	case VMSPACE_REMAP_FILE_PAGES:
		return outgrows_file(p, r->remap_file_pages.addr & ~(PAGE - 1),
				     r->remap_file_pages.size,
				     r->remap_file_pages.page_offset * PAGE, false);
	case VMSPACE_MREMAP:
		return r->mremap.new_length > r->mremap.old_length &&
		       outgrows_file(p, r->mremap.addr & ~(PAGE - 1),
				     (r->mremap.new_length + PAGE - 1) & ~(PAGE - 1), 0, true);
	case VMSPACE_UFFD_REGISTER:
	case VMSPACE_UFFD_UNREGISTER:
		return no_uffd(p, r);
	case VMSPACE_UFFD_RELEASE:
		return !puppet_uffd_find(&p->puppet, r->uffd.context);
	default:
		return false;
	}
}
