/* SPDX-License-Identifier: MIT */
/* Known differences. */
#include "check/known.h"

#include <sys/mman.h>
#include <sys/shm.h>

#include "check/ranges.h"

#define MAP_KINDS 0x0f

struct known {
	const char *name;
	bool (*may_show)(const struct pair *p, const struct vmspace_request *r);
};

/* Does an end of one of the request's ranges lie within an area of the kernel's own? */
static bool cuts_special(const struct pair *p, const struct vmspace_request *r)
{
	struct span spans[RANGES_MAX];
	unsigned int count = ranges_of(r, spans);
	struct vma_info info;

	for (unsigned int i = 0; i < count; i++)
		for (unsigned int end = 0; end < 2; end++) {
			unsigned long at = end ? spans[i].end : spans[i].start;

			if (vmspace_lookup(p->space, at, &info) && info.start != at &&
			    info.backing.kind == VMA_BACKING_SPECIAL)
				return true;
		}
	return false;
}

/* What libvmspace would answer, if it were to decide. */
static bool predicts_error(const struct pair *p, const struct vmspace_request *r)
{
	struct vmspace_request trial = *r;
	struct vmspace *copy;

	if (vmspace_clone(&copy, p->space) != 0)
		return false;
	trial.host.valid = false;
	vmspace_complete(copy, &trial);
	vmspace_destroy(copy);
	return trial.out.result < 0;
}

static bool overmaps_in_vain(const struct pair *p, const struct vmspace_request *r)
{
	bool fixed = (r->op == VMSPACE_MMAP && r->mmap.flags & MAP_FIXED) ||
		     (r->op == VMSPACE_SHMAT && r->shmat.flags & SHM_REMAP) ||
		     r->op == VMSPACE_REMAP_FILE_PAGES;

	return fixed && predicts_error(p, r);
}

static bool attaches_locked(const struct pair *p, const struct vmspace_request *r)
{
	struct vma_info info;

	if (r->op == VMSPACE_REMAP_FILE_PAGES &&
	    vmspace_lookup(p->space, r->remap_file_pages.addr, &info) && info.flags & VMA_LOCKED)
		return true;
	return p->lock_future && (r->op == VMSPACE_SHMAT || r->op == VMSPACE_REMAP_FILE_PAGES);
}

/* A file's own refusal comes when the place is free already. */
static bool maps_over_in_vain(const struct pair *p, const struct vmspace_request *r)
{
	const uint64_t file = r->mmap.backing.file_id;

	(void)p;
	if (r->op != VMSPACE_MMAP || !(r->mmap.flags & MAP_FIXED) || r->mmap.flags & MAP_ANONYMOUS)
		return false;
	return r->mmap.flags & MAP_SYNC ||
	       file == PUPPET_SOCKET + 1;
}

static bool syncs_memory(const struct pair *p, const struct vmspace_request *r)
{
	(void)p;
	return r->op == VMSPACE_MMAP && r->mmap.flags & MAP_SYNC;
}

static bool wipes_special(const struct pair *p, const struct vmspace_request *r)
{
	struct span spans[RANGES_MAX];
	unsigned int count = ranges_of(r, spans);
	struct vma_info info;

	if ((r->op != VMSPACE_MADVISE || r->madvise.advice != MADV_WIPEONFORK) &&
	    (r->op != VMSPACE_PROCESS_MADVISE || r->process_madvise.advice != MADV_WIPEONFORK))
		return false;
	for (unsigned int i = 0; i < count; i++)
		for (unsigned long at = spans[i].start;
		     vmspace_next(p->space, at, &info) && info.start < spans[i].end; at = info.end)
			if (info.backing.kind == VMA_BACKING_SPECIAL)
				return true;
	return false;
}

/* What one call of process_madvise() gets through. */
#define MADVISE_BYTES_MAX 0x7ffff000UL

static bool advises_much(const struct pair *p, const struct vmspace_request *r)
{
	unsigned long sum = 0;

	(void)p;
	for (size_t i = 0; r->op == VMSPACE_PROCESS_MADVISE && i < r->process_madvise.count; i++) {
		if (r->process_madvise.ranges[i].length > MADVISE_BYTES_MAX)
			return true;
		sum += r->process_madvise.ranges[i].length;
	}
	return sum > MADVISE_BYTES_MAX;
}

static bool moves_in_vain(const struct pair *p, const struct vmspace_request *r)
{
	const struct vmspace_mremap *m = &r->mremap;

	return r->op == VMSPACE_MREMAP &&
	       (m->flags & MREMAP_FIXED || m->new_length < m->old_length) && predicts_error(p, r);
}

/* The kernel charges what is cut off, and never gives it back. */
static bool moves_and_shrinks(const struct pair *p, const struct vmspace_request *r)
{
	const struct vmspace_mremap *m = &r->mremap;
	unsigned long memory = vmspace_config(p->space)->ram_pages * 4096;

	return r->op == VMSPACE_MREMAP && m->flags & MREMAP_FIXED &&
	       m->old_length > m->new_length && m->old_length - m->new_length > memory / 2;
}

static bool moves_past_end(const struct pair *p, const struct vmspace_request *r)
{
	const unsigned long top = vmspace_config(p->space)->task_size;

	return r->op == VMSPACE_MREMAP && r->mremap.addr < top &&
	       r->mremap.old_length > top - r->mremap.addr;
}

static bool replaces_at_0(const struct pair *p, const struct vmspace_request *r)
{
	(void)p;
	return r->op == VMSPACE_MMAP && r->mmap.flags & MAP_FIXED_NOREPLACE && r->mmap.addr == 0;
}

static bool maps_sealed(const struct pair *p, const struct vmspace_request *r)
{
	(void)p;
	return r->op == VMSPACE_MMAP && !(r->mmap.flags & MAP_ANONYMOUS) &&
	       r->mmap.flags & (MAP_GROWSDOWN | MAP_HUGETLB) &&
	       r->mmap.backing.flags & VMA_BACKING_SEAL_WRITE;
}

static bool locks_8_tib(const struct pair *p, const struct vmspace_request *r)
{
	struct span span[RANGES_MAX];

	return r->op == VMSPACE_MLOCK && ranges_of(r, span) &&
	       vmspace_count_pages(p->space, span->start, span->end, 0) >= 1UL << 31;
}

static bool is_at_last_page(const struct pair *p, const struct vmspace_request *r)
{
	(void)p;
	return r->op == VMSPACE_MMAP && r->mmap.flags & (MAP_FIXED | MAP_FIXED_NOREPLACE) &&
	       r->mmap.addr >= -4096UL;
}

static bool moves_low(const struct pair *p, const struct vmspace_request *r)
{
	return r->op == VMSPACE_MREMAP && !(r->mremap.flags & MREMAP_FIXED) &&
	       r->mremap.new_addr && r->mremap.new_addr < vmspace_config(p->space)->hint_min_addr;
}

static bool shares_validated(const struct pair *p, const struct vmspace_request *r)
{
	(void)p;
	return r->op == VMSPACE_MMAP && r->mmap.flags & MAP_ANONYMOUS &&
	       (r->mmap.flags & MAP_KINDS) == MAP_SHARED_VALIDATE;
}

static bool has_sign(const struct pair *p, const struct vmspace_request *r)
{
	(void)p;
	return r->op == VMSPACE_MMAP && r->mmap.flags < 0 &&
	       (r->mmap.flags & MAP_KINDS) == MAP_SHARED_VALIDATE;
}

static bool is_far_in_file(const struct pair *p, const struct vmspace_request *r)
{
	(void)p;
	if (r->op == VMSPACE_REMAP_FILE_PAGES)
		return r->remap_file_pages.page_offset > (1UL << 62) / 4096;
	return r->op == VMSPACE_MMAP && !(r->mmap.flags & MAP_ANONYMOUS) &&
	       r->mmap.offset + r->mmap.length > 1UL << 62;
}

static bool maps_huge_pages(const struct pair *p, const struct vmspace_request *r)
{
	(void)p;
	return r->op == VMSPACE_MMAP && (r->mmap.flags & MAP_HUGETLB ||
					 r->mmap.backing.kind == VMA_BACKING_HUGETLB);
}

static const struct known known[] = {
	{ "[vdso] and [vvar] cannot be cut", cuts_special },
	{ "a refused MAP_FIXED, shmat or remap_file_pages has cut what was there", overmaps_in_vain },
	{ "MAP_FIXED that the file refuses has unmapped what was there", maps_over_in_vain },
	{ "MAP_SYNC sets sf where the file does not refuse it", syncs_memory },
	{ "MADV_WIPEONFORK on areas of the kernel's", wipes_special },
	{ "process_madvise stops at 0x7ffff000 bytes", advises_much },
	{ "a no-op mremap that reaches past the end", moves_past_end },
	{ "mremap to a fixed place that shrinks: the rest is charged", moves_and_shrinks },
	{ "MAP_FIXED_NOREPLACE at 0 over an area: EEXIST", replaces_at_0 },
	{ "MAP_FIXED in the last page: the address comes back as an errno", is_at_last_page },
	{ "shmat and remap_file_pages of what is to be locked: EAGAIN", attaches_locked },
	{ "MAP_GROWSDOWN or MAP_HUGETLB of a sealed memfd: EINVAL", maps_sealed },
	{ "mlock2 of 8 TiB: VmLck overflows", locks_8_tib },
	{ "a refused mremap has unmapped something", moves_in_vain },
	{ "mremap with a hint below 64 KiB", moves_low },
	{ "anonymous MAP_SHARED_VALIDATE: EINVAL", shares_validated },
	{ "MAP_SHARED_VALIDATE with bit 31: EOPNOTSUPP", has_sign },
	{ "a file offset from 2^63 on: EOVERFLOW", is_far_in_file },
	{ "huge pages: places and lengths that are no multiples", maps_huge_pages },
};

enum { KNOWN_COUNT = sizeof(known) / sizeof(known[0]) };
_Static_assert((int)KNOWN_COUNT <= (int)KNOWN_MAX, "struct tally has a counter for each");

int known_find(const struct pair *p, const struct vmspace_request *r)
{
	for (int i = 0; i < KNOWN_COUNT; i++)
		if (known[i].may_show(p, r))
			return i;
	return KNOWN_NONE;
}

const char *known_name(int i)
{
	return i < KNOWN_COUNT ? known[i].name : NULL;
}
