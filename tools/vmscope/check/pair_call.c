/* SPDX-License-Identifier: MIT */
/* Translating requests to libvmspace into system calls of a puppet. */
#include <assert.h>
#include <errno.h>
#include <linux/prctl.h>
#include <linux/userfaultfd.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>

#include "check/pair.h"
#include "check/puppet_uffd.h"

#ifndef SYS_set_mempolicy_home_node
#define SYS_set_mempolicy_home_node 450
#endif
#ifndef SYS_mseal
#define SYS_mseal 462
#endif

static long of_mmap(const struct vmspace_mmap *m, unsigned long a[6])
{
	int fd = -1;

	/* The file_id identifies the file: see pair_backing(). */
	if (m->flags & MAP_ANONYMOUS)
		fd = -1;
	else if (m->backing.kind == VMA_BACKING_SHMEM)
		fd = puppet_fd(PUPPET_ZERO);
	else if (m->backing.file_id)
		fd = puppet_fd((enum puppet_file)(m->backing.file_id - 1));

	memcpy(a, (unsigned long[6]){ m->addr, m->length, (unsigned long)m->prot,
				      (unsigned long)m->flags, (unsigned long)fd, m->offset },
	       6 * sizeof(*a));
	return SYS_mmap;
}

#define ARGS(...) memcpy(a, (unsigned long[6]){ __VA_ARGS__ }, 6 * sizeof(*a))

static long of_locking(const struct vmspace_request *r, unsigned long a[6])
{
	switch (r->op) {
	case VMSPACE_MLOCK:
		ARGS(r->mlock.addr, r->mlock.length, (unsigned long)r->mlock.flags);
		return r->mlock.mlock2 ? SYS_mlock2 : SYS_mlock;
	case VMSPACE_MUNLOCK:
		ARGS(r->mlock.addr, r->mlock.length);
		return SYS_munlock;
	case VMSPACE_MLOCKALL:
		ARGS((unsigned long)r->mlockall.flags);
		return SYS_mlockall;
	default:
		return SYS_munlockall;
	}
}

/* A pidfd of the puppet for itself; PIDFD_SELF is of Linux 6.14. */
static unsigned long own_pidfd(const struct pair *p)
{
	unsigned long a[6] = { (unsigned long)p->puppet.pid };

	return (unsigned long)puppet_call(&p->puppet, SYS_pidfd_open, a);
}

/* Calls with pointers to memory. */
static long of_pointing(const struct pair *p, const struct vmspace_request *r, unsigned long a[6])
{
	const struct vmspace_process_madvise *m = &r->process_madvise;
	const unsigned long scratch = p->puppet.scratch;

	switch (r->op) {
	case VMSPACE_MINCORE:
		ARGS(r->mincore.addr, r->mincore.length, 
		     r->mincore.bad_vec ? p->puppet.unwritable : scratch);
		return SYS_mincore;
	case VMSPACE_SET_ANON_NAME:
		if (r->set_anon_name.name)
			puppet_write_scratch(&p->puppet, r->set_anon_name.name,
					     strlen(r->set_anon_name.name) + 1);
		ARGS(PR_SET_VMA, PR_SET_VMA_ANON_NAME, r->set_anon_name.addr,
		     r->set_anon_name.length, r->set_anon_name.name ? scratch : 0);
		return SYS_prctl;
	case VMSPACE_MBIND:
		puppet_write_scratch(&p->puppet, &r->mbind.nodes, sizeof(r->mbind.nodes));
		/* The kernel uses one bit less than maxnode. */
		ARGS(r->mbind.addr, r->mbind.length, (unsigned long)r->mbind.mode, scratch, 65,
		     r->mbind.flags);
		return SYS_mbind;
	default:
		assert(r->op == VMSPACE_PROCESS_MADVISE &&
		       sizeof(m->ranges[0]) == sizeof(struct iovec));
		puppet_write_scratch(&p->puppet, m->ranges, m->count * sizeof(m->ranges[0]));
		ARGS(own_pidfd(p), scratch, m->count, (unsigned long)m->advice,
		     m->flags);
		return SYS_process_madvise;
	}
}

/* Fills in the arguments and returns the number of the system call. */
static long system_call(const struct pair *p, const struct vmspace_request *r, unsigned long a[6])
{
	memset(a, 0, 6 * sizeof(*a));
	switch (r->op) {
	case VMSPACE_MMAP:
		return of_mmap(&r->mmap, a);
	case VMSPACE_MUNMAP:
		ARGS(r->munmap.addr, r->munmap.length);
		return SYS_munmap;
	case VMSPACE_MPROTECT:
		ARGS(r->mprotect.addr, r->mprotect.length, (unsigned long)r->mprotect.prot,
		     (unsigned long)r->mprotect.pkey);
		return r->mprotect.pkey < 0 ? SYS_mprotect : SYS_pkey_mprotect;
	case VMSPACE_MREMAP:
		ARGS(r->mremap.addr, r->mremap.old_length, r->mremap.new_length,
		     (unsigned long)r->mremap.flags, r->mremap.new_addr);
		return SYS_mremap;
	case VMSPACE_BRK:
		ARGS(r->brk.brk);
		return SYS_brk;
	case VMSPACE_MADVISE:
		ARGS(r->madvise.addr, r->madvise.length, (unsigned long)r->madvise.advice);
		return SYS_madvise;
	case VMSPACE_SHMAT:
		ARGS((unsigned long)p->shm_id, r->shmat.addr, (unsigned long)r->shmat.flags);
		return SYS_shmat;
	case VMSPACE_SHMDT:
		ARGS(r->shmdt.addr);
		return SYS_shmdt;
	case VMSPACE_REMAP_FILE_PAGES:
		ARGS(r->remap_file_pages.addr, r->remap_file_pages.size,
		     (unsigned long)r->remap_file_pages.prot, r->remap_file_pages.page_offset,
		     (unsigned long)r->remap_file_pages.flags);
		return SYS_remap_file_pages;
	case VMSPACE_MSYNC:
		ARGS(r->msync.addr, r->msync.length, (unsigned long)r->msync.flags);
		return SYS_msync;
	case VMSPACE_SET_HOME_NODE:
		ARGS(r->home_node.addr, r->home_node.length, r->home_node.node,
		     r->home_node.flags);
		return SYS_set_mempolicy_home_node;
	case VMSPACE_MINCORE:
	case VMSPACE_MBIND:
	case VMSPACE_SET_ANON_NAME:
	case VMSPACE_PROCESS_MADVISE:
		return of_pointing(p, r, a);
	case VMSPACE_PKEY_ALLOC:
		ARGS(r->pkey_alloc.flags, r->pkey_alloc.rights);
		return SYS_pkey_alloc;
	case VMSPACE_PKEY_FREE:
		ARGS((unsigned long)r->pkey_free.pkey);
		return SYS_pkey_free;
	case VMSPACE_MSEAL:
		ARGS(r->mseal.addr, r->mseal.length, r->mseal.flags);
		return SYS_mseal;
	default:
		return of_locking(r, a);
	}
}

/* Creates the userfaultfd when it is used for the first time. */
static long call_uffd(struct pair *p, const struct vmspace_request *r)
{
	const struct uffdio_range range = { r->uffd.addr, r->uffd.length };
	struct uffdio_register asked = { .range = range, .mode = r->uffd.mode };
	int fd, rc;

	if (r->op == VMSPACE_UFFD_RELEASE)
		return puppet_uffd_end(&p->puppet, r->uffd.context);
	fd = puppet_uffd(&p->puppet, r->uffd.context, r->uffd.features);
	if (fd < 0)
		return PUPPET_GONE;
	if (r->op == VMSPACE_UFFD_REGISTER)
		rc = ioctl(fd, UFFDIO_REGISTER, &asked);
	else
		rc = ioctl(fd, UFFDIO_UNREGISTER, &range);
	return rc == 0 ? 0 : -errno;
}

long pair_call(struct pair *p, const struct vmspace_request *r)
{
	unsigned long args[6];
	long number, result;

	assert(r->op != VMSPACE_FORK);
	if (r->op == VMSPACE_FAULT)
		return puppet_touch(&p->puppet, r->fault.addr,
				    r->fault.access & VMSPACE_ACCESS_WRITE);
	if (r->op == VMSPACE_UFFD_REGISTER || r->op == VMSPACE_UFFD_UNREGISTER ||
	    r->op == VMSPACE_UFFD_RELEASE)
		return call_uffd(p, r);
	number = system_call(p, r, args);
	result = puppet_call(&p->puppet, number, args);
	if (r->op == VMSPACE_PROCESS_MADVISE && result != PUPPET_GONE)
		puppet_call(&p->puppet, SYS_close, args);
	return result;
}
