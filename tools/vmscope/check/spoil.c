/* SPDX-License-Identifier: MIT */
/* Random calls with one argument that no sensible program passes. */
#include "check/spoil.h"

#include <stddef.h>
#include <sys/mman.h>

#include "check/draw.h"

enum kind { ADDRESS, LENGTH, FLAGS, FLAGS_LONG, OFFSET, PAGES, ADVICE };

struct field {
	enum vmspace_op op;
	enum kind kind;
	size_t at;	/* in struct vmspace_request */
};

#define AT(member) offsetof(struct vmspace_request, member)

static const struct field fields[] = {
	{ VMSPACE_MMAP, ADDRESS, AT(mmap.addr) },
	{ VMSPACE_MMAP, LENGTH, AT(mmap.length) },
	{ VMSPACE_MMAP, FLAGS, AT(mmap.prot) },
	{ VMSPACE_MMAP, FLAGS, AT(mmap.flags) },
	{ VMSPACE_MMAP, FLAGS, AT(mmap.flags) },
	{ VMSPACE_MMAP, OFFSET, AT(mmap.offset) },
	{ VMSPACE_MUNMAP, ADDRESS, AT(munmap.addr) },
	{ VMSPACE_MUNMAP, LENGTH, AT(munmap.length) },
	{ VMSPACE_MPROTECT, ADDRESS, AT(mprotect.addr) },
	{ VMSPACE_MPROTECT, LENGTH, AT(mprotect.length) },
	{ VMSPACE_MPROTECT, FLAGS, AT(mprotect.prot) },
	{ VMSPACE_MREMAP, ADDRESS, AT(mremap.addr) },
	{ VMSPACE_MREMAP, LENGTH, AT(mremap.old_length) },
	{ VMSPACE_MREMAP, LENGTH, AT(mremap.new_length) },
	{ VMSPACE_MREMAP, FLAGS, AT(mremap.flags) },
	{ VMSPACE_MREMAP, ADDRESS, AT(mremap.new_addr) },
	{ VMSPACE_BRK, ADDRESS, AT(brk.brk) },
	{ VMSPACE_MADVISE, ADDRESS, AT(madvise.addr) },
	{ VMSPACE_MADVISE, LENGTH, AT(madvise.length) },
	{ VMSPACE_MADVISE, ADVICE, AT(madvise.advice) },
	{ VMSPACE_MADVISE, ADVICE, AT(madvise.advice) },
	{ VMSPACE_MLOCK, ADDRESS, AT(mlock.addr) },
	{ VMSPACE_MLOCK, LENGTH, AT(mlock.length) },
	{ VMSPACE_MLOCK, FLAGS, AT(mlock.flags) },
	{ VMSPACE_MUNLOCK, ADDRESS, AT(mlock.addr) },
	{ VMSPACE_MUNLOCK, LENGTH, AT(mlock.length) },
	{ VMSPACE_MLOCKALL, FLAGS, AT(mlockall.flags) },
	{ VMSPACE_SET_ANON_NAME, ADDRESS, AT(set_anon_name.addr) },
	{ VMSPACE_SET_ANON_NAME, LENGTH, AT(set_anon_name.length) },
	{ VMSPACE_SHMAT, ADDRESS, AT(shmat.addr) },
	{ VMSPACE_SHMAT, FLAGS, AT(shmat.flags) },
	{ VMSPACE_SHMDT, ADDRESS, AT(shmdt.addr) },
	{ VMSPACE_REMAP_FILE_PAGES, ADDRESS, AT(remap_file_pages.addr) },
	{ VMSPACE_REMAP_FILE_PAGES, LENGTH, AT(remap_file_pages.size) },
	{ VMSPACE_REMAP_FILE_PAGES, FLAGS, AT(remap_file_pages.prot) },
	{ VMSPACE_REMAP_FILE_PAGES, PAGES, AT(remap_file_pages.page_offset) },
	{ VMSPACE_REMAP_FILE_PAGES, FLAGS, AT(remap_file_pages.flags) },
	{ VMSPACE_MSEAL, ADDRESS, AT(mseal.addr) },
	{ VMSPACE_MSEAL, LENGTH, AT(mseal.length) },
	{ VMSPACE_MSEAL, FLAGS_LONG, AT(mseal.flags) },
	{ VMSPACE_FAULT, ADDRESS, AT(fault.addr) },
	{ VMSPACE_MSYNC, ADDRESS, AT(msync.addr) },
	{ VMSPACE_MSYNC, LENGTH, AT(msync.length) },
	{ VMSPACE_MSYNC, FLAGS, AT(msync.flags) },
	{ VMSPACE_MINCORE, ADDRESS, AT(mincore.addr) },
	{ VMSPACE_MINCORE, LENGTH, AT(mincore.length) },
	{ VMSPACE_MBIND, ADDRESS, AT(mbind.addr) },
	{ VMSPACE_MBIND, LENGTH, AT(mbind.length) },
	{ VMSPACE_MBIND, FLAGS, AT(mbind.mode) },
	{ VMSPACE_MBIND, FLAGS, AT(mbind.flags) },
	{ VMSPACE_SET_HOME_NODE, ADDRESS, AT(home_node.addr) },
	{ VMSPACE_SET_HOME_NODE, LENGTH, AT(home_node.length) },
	{ VMSPACE_SET_HOME_NODE, FLAGS_LONG, AT(home_node.node) },
	{ VMSPACE_SET_HOME_NODE, FLAGS_LONG, AT(home_node.flags) },
	{ VMSPACE_PROCESS_MADVISE, ADVICE, AT(process_madvise.advice) },
	{ VMSPACE_PROCESS_MADVISE, FLAGS, AT(process_madvise.flags) },
	{ VMSPACE_UFFD_REGISTER, ADDRESS, AT(uffd.addr) },
	{ VMSPACE_UFFD_REGISTER, LENGTH, AT(uffd.length) },
	{ VMSPACE_UFFD_REGISTER, FLAGS_LONG, AT(uffd.mode) },
	{ VMSPACE_UFFD_UNREGISTER, ADDRESS, AT(uffd.addr) },
	{ VMSPACE_UFFD_UNREGISTER, LENGTH, AT(uffd.length) },
};

/* Some pages more or less. */
static unsigned long around(struct generator *c, unsigned long addr)
{
	return addr + (below(c, 9) - 4) * PAGE + (chance(c, 6) ? below(c, PAGE) : 0);
}

/* An area of the kernel's, the stack, or the heap. */
static unsigned long special_address(struct generator *c, const struct pair *p)
{
	struct vmspace_stats stats;
	struct vma_info info;
	unsigned long at = DRAW_ARENA * 2;

	vmspace_stats(p->space, &stats);
	if (chance(c, 4))
		return stats.start_brk;
	for (unsigned long skip = below(c, 6); vmspace_next(p->space, at, &info); at = info.end)
		if (skip-- == 0)
			return info.start;
	return at;
}

static unsigned long any_address(struct generator *c, const struct pair *p)
{
	const unsigned long top = vmspace_config(p->space)->task_size;

	switch (below(c, 9)) {
	case 0:
		return 0;
	case 1:
		return around(c, 4 * PAGE);
	case 2:
		return around(c, vmspace_config(p->space)->hint_min_addr);
	case 3:
	case 4:
		return around(c, top);
	case 5:
		return around(c, 1UL << 63);
	case 6:
		return around(c, 0);
	default:
		return around(c, special_address(c, p));
	}
}

static unsigned long any_length(struct generator *c, const struct pair *p, unsigned long addr)
{
	const unsigned long top = vmspace_config(p->space)->task_size;

	switch (below(c, 9)) {
	case 0:
		return 0;
	case 1:
		return 1 + below(c, PAGE);
	case 2:
		return around(c, top);
	case 3:
		return around(c, top - addr);
	case 4:
		return around(c, -addr);
	case 5:
		return around(c, 1UL << 63);
	case 6:
		return around(c, 0);
	case 7:
		return 1UL << below(c, 64);
	default:
		return around(c, 1UL << (30 + below(c, 17)));
	}
}

static int any_advice(struct generator *c)
{
	return chance(c, 10) ? (int)(1U << below(c, 32)) - 1 : (int)below(c, 128);
}

static void replace(struct generator *c, const struct pair *p, struct vmspace_request *r,
		    const struct field *field)
{
	void *at = (char *)r + field->at;
	unsigned long *word = at;
	int *bits = at;

	switch (field->kind) {
	case ADDRESS:
		*word = any_address(c, p);
		break;
	case LENGTH:
		/* The address comes first in all requests. */
		*word = any_length(c, p, r->munmap.addr);
		break;
	case FLAGS:
		*bits ^= (int)(1U << below(c, 32));
		break;
	case FLAGS_LONG:
		*word ^= 1UL << below(c, 64);
		break;
	case OFFSET:
		*word = around(c, 1UL << (31 + below(c, 33)));
		break;
	case PAGES:
		*word = around(c, 1UL << (31 + below(c, 33))) / PAGE;
		break;
	case ADVICE:
		*bits = any_advice(c);
		break;
	}
}

/* MAP_ANONYMOUS may have come or gone: there is no file then. */
static void drop_file(struct vmspace_mmap *m)
{
	if (m->flags & MAP_ANONYMOUS)
		m->backing = (struct vma_backing){ .kind = VMA_BACKING_ANON };
	else
		m->bad_fd |= !m->backing.file_id && m->backing.kind != VMA_BACKING_SHMEM;
}

void spoil(struct generator *c, const struct pair *p, struct vmspace_request *r)
{
	enum { COUNT = sizeof(fields) / sizeof(fields[0]) };
	const struct field *of_op[COUNT];
	unsigned long count = 0;

	for (int i = 0; i < COUNT; i++)
		if (fields[i].op == r->op)
			of_op[count++] = &fields[i];
	if (count)
		replace(c, p, r, of_op[below(c, count)]);
	if (r->op == VMSPACE_MMAP)
		drop_file(&r->mmap);
}
