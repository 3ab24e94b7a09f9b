/* SPDX-License-Identifier: MIT */
/* guest.c - the system calls as functions, each of which is a request. */
#include <mapletree/vmspace.h>
#include <mapletree/vmspace_guest.h>

/* A request of which only the arguments are to be set. What a call writes (`out`) is left as it is. */
static void begin(struct vmspace_request *req, enum vmspace_op op)
{
	req->op = op;
	req->host = (struct vmspace_host_result){ 0 };
	req->word = 0;
}

long vmspace_mmap(struct vmspace *space, unsigned long addr, unsigned long length, int prot, int flags,
		  const struct vma_backing *file, uint64_t offset)
{
	struct vmspace_request req;

	begin(&req, VMSPACE_MMAP);
	req.mmap = (struct vmspace_mmap){ .addr = addr, .length = length, .prot = prot, .flags = flags,
					  .offset = offset, .bad_fd = !file };
	if (file)
		req.mmap.backing = *file;
	return vmspace_call(space, &req);
}

long vmspace_munmap(struct vmspace *space, unsigned long addr, unsigned long length)
{
	struct vmspace_request req;

	begin(&req, VMSPACE_MUNMAP);
	req.munmap = (struct vmspace_munmap){ addr, length };
	return vmspace_call(space, &req);
}

long vmspace_pkey_mprotect(struct vmspace *space, unsigned long addr, unsigned long length, int prot,
			   int pkey)
{
	struct vmspace_request req;

	begin(&req, VMSPACE_MPROTECT);
	req.mprotect = (struct vmspace_mprotect){ addr, length, prot, pkey };
	return vmspace_call(space, &req);
}

long vmspace_mprotect(struct vmspace *space, unsigned long addr, unsigned long length, int prot)
{
	return vmspace_pkey_mprotect(space, addr, length, prot, -1);
}

long vmspace_mremap(struct vmspace *space, unsigned long addr, unsigned long old_length,
		    unsigned long new_length, int flags, unsigned long new_addr)
{
	struct vmspace_request req;

	begin(&req, VMSPACE_MREMAP);
	req.mremap = (struct vmspace_mremap){ addr, old_length, new_length, flags, new_addr };
	return vmspace_call(space, &req);
}

long vmspace_brk(struct vmspace *space, unsigned long brk)
{
	struct vmspace_request req;

	begin(&req, VMSPACE_BRK);
	req.brk = (struct vmspace_brk){ brk };
	return vmspace_call(space, &req);
}

long vmspace_madvise(struct vmspace *space, unsigned long addr, unsigned long length, int advice)
{
	struct vmspace_request req;

	begin(&req, VMSPACE_MADVISE);
	req.madvise = (struct vmspace_madvise){ addr, length, advice };
	return vmspace_call(space, &req);
}

static long lock(struct vmspace *space, enum vmspace_op op, const struct vmspace_mlock *args)
{
	struct vmspace_request req;

	begin(&req, op);
	req.mlock = *args;
	return vmspace_call(space, &req);
}

long vmspace_mlock(struct vmspace *space, unsigned long addr, unsigned long length)
{
	return lock(space, VMSPACE_MLOCK,
		    &(struct vmspace_mlock){ .addr = addr, .length = length });
}

long vmspace_mlock2(struct vmspace *space, unsigned long addr, unsigned long length, int flags)
{
	return lock(space, VMSPACE_MLOCK, &(struct vmspace_mlock){ addr, length, flags, true });
}

long vmspace_munlock(struct vmspace *space, unsigned long addr, unsigned long length)
{
	return lock(space, VMSPACE_MUNLOCK,
		    &(struct vmspace_mlock){ .addr = addr, .length = length });
}

long vmspace_mlockall(struct vmspace *space, int flags)
{
	struct vmspace_request req;

	begin(&req, VMSPACE_MLOCKALL);
	req.mlockall = (struct vmspace_mlockall){ flags };
	return vmspace_call(space, &req);
}

long vmspace_munlockall(struct vmspace *space)
{
	struct vmspace_request req;

	begin(&req, VMSPACE_MUNLOCKALL);
	return vmspace_call(space, &req);
}

long vmspace_msync(struct vmspace *space, unsigned long addr, unsigned long length, int flags)
{
	struct vmspace_request req;

	begin(&req, VMSPACE_MSYNC);
	req.msync = (struct vmspace_msync){ addr, length, flags };
	return vmspace_call(space, &req);
}

long vmspace_mincore(struct vmspace *space, unsigned long addr, unsigned long length, unsigned char *vec)
{
	struct vmspace_request req;

	begin(&req, VMSPACE_MINCORE);
	req.mincore = (struct vmspace_mincore){ addr, length, !vec, vec };
	return vmspace_call(space, &req);
}

long vmspace_mseal(struct vmspace *space, unsigned long addr, unsigned long length, unsigned long flags)
{
	struct vmspace_request req;

	begin(&req, VMSPACE_MSEAL);
	req.mseal = (struct vmspace_mseal){ addr, length, flags };
	return vmspace_call(space, &req);
}

long vmspace_set_anon_name(struct vmspace *space, unsigned long addr, unsigned long length,
			   const char *name)
{
	struct vmspace_request req;

	begin(&req, VMSPACE_SET_ANON_NAME);
	req.set_anon_name = (struct vmspace_set_anon_name){ addr, length, name };
	return vmspace_call(space, &req);
}

long vmspace_shmat(struct vmspace *space, unsigned long addr, int flags, unsigned long size,
		   const struct vma_backing *segment)
{
	struct vmspace_request req;

	begin(&req, VMSPACE_SHMAT);
	req.shmat = (struct vmspace_shmat){ .addr = addr, .flags = flags };
	if (segment) {
		req.shmat.size = size;
		req.shmat.backing = *segment;
	}
	return vmspace_call(space, &req);
}

long vmspace_shmdt(struct vmspace *space, unsigned long addr)
{
	struct vmspace_request req;

	begin(&req, VMSPACE_SHMDT);
	req.shmdt = (struct vmspace_shmdt){ addr };
	return vmspace_call(space, &req);
}

long vmspace_mbind(struct vmspace *space, unsigned long addr, unsigned long length, int mode,
		   uint64_t nodes, unsigned int flags)
{
	struct vmspace_request req;

	begin(&req, VMSPACE_MBIND);
	req.mbind = (struct vmspace_mbind){ addr, length, mode, nodes, flags };
	return vmspace_call(space, &req);
}

long vmspace_set_mempolicy_home_node(struct vmspace *space, unsigned long addr, unsigned long length,
				     unsigned long node, unsigned long flags)
{
	struct vmspace_request req;

	begin(&req, VMSPACE_SET_HOME_NODE);
	req.home_node = (struct vmspace_home_node){ addr, length, node, flags };
	return vmspace_call(space, &req);
}

long vmspace_pkey_alloc(struct vmspace *space, unsigned long flags, unsigned long rights)
{
	struct vmspace_request req;

	begin(&req, VMSPACE_PKEY_ALLOC);
	req.pkey_alloc = (struct vmspace_pkey_alloc){ flags, rights };
	return vmspace_call(space, &req);
}

long vmspace_pkey_free(struct vmspace *space, int pkey)
{
	struct vmspace_request req;

	begin(&req, VMSPACE_PKEY_FREE);
	req.pkey_free = (struct vmspace_pkey_free){ pkey };
	return vmspace_call(space, &req);
}

long vmspace_fork(struct vmspace *space, const struct vmspace_memory *child_memory, struct vmspace **child)
{
	struct vmspace_request req;
	long result;

	begin(&req, VMSPACE_FORK);
	req.fork = (struct vmspace_fork){ .child_memory = child_memory };
	result = vmspace_call(space, &req);
	*child = req.fork.child;
	return result;
}
