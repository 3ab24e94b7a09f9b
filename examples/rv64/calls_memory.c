/* SPDX-License-Identifier: MIT */
/* calls_memory.c - system calls about memory: each is one of the guest's space. */
#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "process.h"

long call_brk(struct thread *thread, const uint64_t a[6])
{
	(void)thread;
	return memory_changed(vmspace_brk(memory.space, a[0]));
}

long call_mmap(struct thread *thread, const uint64_t a[6])
{
	int fd = (int)a[3] & MAP_ANONYMOUS ? -1 : guest_fd(a[4]);

	(void)thread;
	if (a[5] % GUEST_PAGE)
		return -EINVAL;
	return memory_mmap(a[0], a[1], (int)a[2], (int)a[3], fd, a[5]);
}

long call_munmap(struct thread *thread, const uint64_t a[6])
{
	(void)thread;
	return memory_changed(vmspace_munmap(memory.space, a[0], a[1]));
}

long call_mprotect(struct thread *thread, const uint64_t a[6])
{
	(void)thread;
	return memory_changed(vmspace_mprotect(memory.space, a[0], a[1], (int)a[2]));
}

long call_mremap(struct thread *thread, const uint64_t a[6])
{
	(void)thread;
	return memory_changed(vmspace_mremap(memory.space, a[0], a[1], a[2], (int)a[3], a[4]));
}

long call_madvise(struct thread *thread, const uint64_t a[6])
{
	(void)thread;
	return memory_changed(vmspace_madvise(memory.space, a[0], a[1], (int)a[2]));
}

long call_mlock(struct thread *thread, const uint64_t a[6])
{
	(void)thread;
	return vmspace_mlock(memory.space, a[0], a[1]);
}

long call_munlock(struct thread *thread, const uint64_t a[6])
{
	(void)thread;
	return vmspace_munlock(memory.space, a[0], a[1]);
}

long call_mlockall(struct thread *thread, const uint64_t a[6])
{
	(void)thread;
	return vmspace_mlockall(memory.space, (int)a[0]);
}

long call_munlockall(struct thread *thread, const uint64_t a[6])
{
	(void)thread;
	(void)a;
	return vmspace_munlockall(memory.space);
}

long call_mseal(struct thread *thread, const uint64_t a[6])
{
	(void)thread;
	return vmspace_mseal(memory.space, a[0], a[1], a[2]);
}

/* What was written the files have already, as it is their pages that are mapped. */
long call_msync(struct thread *thread, const uint64_t a[6])
{
	long result = vmspace_msync(memory.space, a[0], a[1], (int)a[2]);

	(void)thread;
	return !result && ((int)a[2] & MS_SYNC) ? memory_sync(a[0], a[0] + a[1]) : result;
}

long call_mincore(struct thread *thread, const uint64_t a[6])
{
	uint64_t pages = (a[1] + GUEST_PAGE - 1) / GUEST_PAGE;
	unsigned char *vec = pages <= GUEST_TOP / GUEST_PAGE ? calloc(pages + 1, 1) : NULL;
	long result = vmspace_mincore(memory.space, a[0], a[1], vec);

	(void)thread;
	if (!result && guest_write(a[2], vec, pages))
		result = -EFAULT;
	free(vec);
	return result;
}
