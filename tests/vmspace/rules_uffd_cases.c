/* SPDX-License-Identifier: MIT */
/* rules_uffd_cases.c - the cases of userfaultfd and of the kernel's own pages. */
#include <linux/userfaultfd.h>

#include "rules_calls.h"

static long uffd_with(enum vmspace_op op, unsigned int context, unsigned long addr,
		      unsigned long length, uint64_t mode)
{
	return CALL(op, uffd, .addr = addr, .length = length, .mode = mode, .context = context);
}

static long uffd(enum vmspace_op op, unsigned int context, unsigned long addr, unsigned long length)
{
	return uffd_with(op, context, addr, length, UFFDIO_REGISTER_MODE_MISSING);
}

long userfaultfd_from_zero(void)
{
	unsigned long low = vmspace_config(w->space)->mmap_min_addr;

	low = low < 65536 ? 65536 : low;
	map(low, 1, RW, FIXED);
	return uffd(VMSPACE_UFFD_REGISTER, 1, 0, low + PAGE);
}

long userfaultfds_unregister_their_own(void)
{
	map(AT(0), 2, RW, FIXED);
	uffd(VMSPACE_UFFD_REGISTER, 1, AT(0), 2 * PAGE);
	return uffd(VMSPACE_UFFD_UNREGISTER, 2, AT(0), 2 * PAGE);
}

long droppable_memory_and_userfaultfd(void)
{
	map(AT(0), 2, RW, MAP_ANONYMOUS | MAP_FIXED | DROPPABLE);
	return uffd(VMSPACE_UFFD_REGISTER, 1, AT(0), 2 * PAGE);
}

long the_upper_part_of_an_area_is_registered(void)
{
	map(AT(0), 3, RW, FIXED);
	uffd(VMSPACE_UFFD_REGISTER, 1, AT(2), PAGE);
	uffd(VMSPACE_UFFD_REGISTER, 1, AT(1), PAGE);
	return areas(AT(0), AT(3));
}

long userfaultfd_above_all_areas(void)
{
	return uffd(VMSPACE_UFFD_REGISTER, 1, vmspace_config(w->space)->task_size - PAGE, PAGE);
}

static long registered_memory(uint64_t mode)
{
	map_memory(AT(0), 0, MAP_SHARED);
	return uffd_with(VMSPACE_UFFD_REGISTER, 1, AT(0), PAGE, mode);
}

long minor_faults_of_shared_memory(void)
{
	return registered_memory(UFFDIO_REGISTER_MODE_MINOR);
}

long write_protected_shared_memory(void)
{
	return registered_memory(UFFDIO_REGISTER_MODE_WP);
}

long a_registered_area_moves(void)
{
	map(AT(0), 1, RW, FIXED);
	map(AT(10), 1, RW, FIXED);
	uffd(VMSPACE_UFFD_REGISTER, 1, AT(0), 11 * PAGE);
	move(AT(0), 1, AT(11));
	return areas(AT(10), AT(12));
}

long write_protection_is_not_taken_away(void)
{
	map(AT(0), 2, RW, FIXED);
	uffd_with(VMSPACE_UFFD_REGISTER, 1, AT(0), 2 * PAGE,
		  UFFDIO_REGISTER_MODE_MISSING | UFFDIO_REGISTER_MODE_WP);
	return uffd(VMSPACE_UFFD_REGISTER, 1, AT(0), PAGE);
}

static struct vma_info find_vdso(void)
{
	struct vma_info info = { .start = 0 };
	unsigned long at = 0;

	for (; vmspace_next(w->space, at, &info); at = info.end)
		if (info.backing.name && !strcmp(info.backing.name, "[vdso]"))
			break;
	return info;
}

long the_kernels_own_pages_are_cut(void)
{
	return CALL(VMSPACE_MUNMAP, munmap, find_vdso().end - PAGE, PAGE);
}

long a_sealed_vdso_is_discarded(void)
{
	const struct vma_info info = find_vdso();

	CALL(VMSPACE_MSEAL, mseal, info.start, info.end - info.start, 0);
	return CALL(VMSPACE_MADVISE, madvise, info.start, info.end - info.start, MADV_REMOVE);
}

long the_kernels_own_pages_and_userfaultfd(void)
{
	const struct vma_info info = find_vdso();

	return CALL(VMSPACE_UFFD_REGISTER, uffd, .addr = info.start,
		    .length = info.end - info.start, .mode = UFFDIO_REGISTER_MODE_WP,
		    .features = UFFD_FEATURE_WP_ASYNC, .context = 1);
}
