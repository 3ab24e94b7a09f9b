/* SPDX-License-Identifier: MIT */
/* calls_memory.c - system calls about memory: each is a request to the guest's space. */
#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "process.h"

long call_brk(struct thread *thread, const uint64_t a[6])
{
	struct vmspace_request req = { .op = VMSPACE_BRK, .brk = { a[0] } };

	(void)thread;
	return memory_call(&req);
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
	return memory_munmap(a[0], a[1]);
}

long call_mprotect(struct thread *thread, const uint64_t a[6])
{
	(void)thread;
	return memory_mprotect(a[0], a[1], (int)a[2]);
}

long call_mremap(struct thread *thread, const uint64_t a[6])
{
	struct vmspace_request req = {
		.op = VMSPACE_MREMAP, .mremap = { a[0], a[1], a[2], (int)a[3], a[4] },
	};

	(void)thread;
	return memory_call(&req);
}

long call_madvise(struct thread *thread, const uint64_t a[6])
{
	struct vmspace_request req = { .op = VMSPACE_MADVISE, .madvise = { a[0], a[1], (int)a[2] } };

	(void)thread;
	return memory_call(&req);
}

long call_mlock(struct thread *thread, const uint64_t a[6])
{
	struct vmspace_request req = { .op = VMSPACE_MLOCK, .mlock = { .addr = a[0], .length = a[1] } };

	(void)thread;
	return memory_call(&req);
}

long call_munlock(struct thread *thread, const uint64_t a[6])
{
	struct vmspace_request req = { .op = VMSPACE_MUNLOCK, .mlock = { .addr = a[0], .length = a[1] } };

	(void)thread;
	return memory_call(&req);
}

long call_mlockall(struct thread *thread, const uint64_t a[6])
{
	struct vmspace_request req = { .op = VMSPACE_MLOCKALL, .mlockall = { (int)a[0] } };

	(void)thread;
	return memory_call(&req);
}

long call_munlockall(struct thread *thread, const uint64_t a[6])
{
	struct vmspace_request req = { .op = VMSPACE_MUNLOCKALL };

	(void)thread;
	(void)a;
	return memory_call(&req);
}

long call_mseal(struct thread *thread, const uint64_t a[6])
{
	struct vmspace_request req = { .op = VMSPACE_MSEAL, .mseal = { a[0], a[1], a[2] } };

	(void)thread;
	return memory_call(&req);
}

/* What was written the files have already, as it is their pages that are mapped. */
long call_msync(struct thread *thread, const uint64_t a[6])
{
	struct vmspace_request req = { .op = VMSPACE_MSYNC, .msync = { a[0], a[1], (int)a[2] } };
	long result = memory_call(&req);

	(void)thread;
	return !result && ((int)a[2] & MS_SYNC) ? memory_sync(a[0], a[0] + a[1]) : result;
}

long call_mincore(struct thread *thread, const uint64_t a[6])
{
	struct vmspace_request req = { .op = VMSPACE_MINCORE, .mincore = { .addr = a[0], .length = a[1] } };
	uint64_t pages = (a[1] + GUEST_PAGE - 1) / GUEST_PAGE;
	long result;

	(void)thread;
	if (pages && pages <= GUEST_TOP / GUEST_PAGE)
		req.mincore.vec = calloc(pages, 1);
	result = memory_call(&req);
	if (!result && req.mincore.vec && guest_write(a[2], req.mincore.vec, pages))
		result = -EFAULT;
	free(req.mincore.vec);
	return result;
}
