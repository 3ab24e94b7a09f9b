/* SPDX-License-Identifier: MIT */
/* Turning a system call of a traced thread into a request to libvmspace. */
#include "mirror/request.h"

#include <errno.h>
#include <linux/prctl.h>
#include <linux/userfaultfd.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <sys/uio.h>

#include "mirror/refusal.h"
#include "mirror/uffd.h"

#ifndef MAP_TYPE
#define MAP_TYPE 0x0f
#endif
#ifndef MAP_HUGE_SHIFT
#define MAP_HUGE_SHIFT 26
#endif
#ifndef MAP_HUGE_MASK
#define MAP_HUGE_MASK 0x3f
#endif

enum { NODES_MAX = 65536 };	/* more than any kernel supports */

static bool is_shared(int flags)
{
	return (flags & MAP_TYPE) == MAP_SHARED || (flags & MAP_TYPE) == MAP_SHARED_VALIDATE;
}

/* What an argument points to: returns how much of it could be read. */
static size_t read_argument(pid_t tid, const struct call *call, uint64_t addr, void *buf, size_t size)
{
	const struct call_memory *copy = call->memory;

	if (!copy)
		return kernel_read_memory(tid, addr, buf, size);
	if (addr < copy->addr || addr - copy->addr >= copy->size)
		return 0;
	if (size > copy->size - (addr - copy->addr))
		size = copy->size - (addr - copy->addr);
	memcpy(buf, copy->bytes + (addr - copy->addr), size);
	return size;
}

/* An argument could not be read: by the kernel neither (EFAULT), or only by us. */
static enum request_model unread(const struct call *call)
{
	return call->memory && (call->memory->own || call->result >= 0) ? REQUEST_UNKNOWN :
									  REQUEST_NONE;
}

static void set_shared_memory(struct vma_backing *backing)
{
	*backing = (struct vma_backing){ .kind = VMA_BACKING_SHMEM, .name = "/dev/zero (deleted)" };
}

bool request_makes_file(const struct vmspace_request *req)
{
	return req->op == VMSPACE_MMAP &&
	       (req->mmap.backing.kind == VMA_BACKING_SHMEM ||
		((req->mmap.flags & MAP_ANONYMOUS) && (req->mmap.flags & MAP_HUGETLB)));
}

static enum request_model build_mmap(struct request *req, pid_t tid, const uint64_t *args)
{
	struct vmspace_mmap *mmap = &req->vm.mmap;
	unsigned int huge_shift;

	req->vm.op = VMSPACE_MMAP;
	req->file.is_regular = req->file.is_device = req->file.is_zero = false;
	mmap->addr = args[0];
	mmap->length = args[1];
	mmap->prot = (int)args[2];
	mmap->flags = (int)args[3];
	mmap->offset = args[5];
	if (!(mmap->flags & MAP_ANONYMOUS)) {
		mmap->bad_fd = !backing_of_fd(&req->file, tid, (int)args[4]);
		mmap->backing = req->file.backing;
		/* A mapping of /dev/zero is anonymous memory. */
		if (req->file.is_zero && is_shared(mmap->flags))
			set_shared_memory(&mmap->backing);
		return REQUEST_MADE;
	}
	if (mmap->flags & MAP_HUGETLB) {
		huge_shift = (unsigned int)mmap->flags >> MAP_HUGE_SHIFT & MAP_HUGE_MASK;
		mmap->backing.kind = VMA_BACKING_HUGETLB;
		mmap->backing.huge_size = huge_shift ? 1UL << huge_shift : 0;
	} else if (is_shared(mmap->flags)) {
		set_shared_memory(&mmap->backing);
	} else {
		mmap->backing.kind = VMA_BACKING_ANON;
	}
	return REQUEST_MADE;
}

static enum request_model build_range(struct request *req, enum vmspace_op op, const uint64_t *args)
{
	req->vm.op = op;
	switch (op) {
	case VMSPACE_MUNMAP:
		req->vm.munmap = (struct vmspace_munmap){ args[0], args[1] };
		break;
	case VMSPACE_MPROTECT:
		req->vm.mprotect = (struct vmspace_mprotect){ args[0], args[1], (int)args[2], -1 };
		break;
	case VMSPACE_MADVISE:
		req->vm.madvise = (struct vmspace_madvise){ args[0], args[1], (int)args[2] };
		break;
	case VMSPACE_MSEAL:
		req->vm.mseal = (struct vmspace_mseal){ args[0], args[1], args[2] };
		break;
	default:
		req->vm.mlock = (struct vmspace_mlock){ args[0], args[1], 0, false };
	}
	return REQUEST_MADE;
}

/* libvmspace models the first 64 nodes; a call that names others is not modelled. */
static enum request_model build_mbind(struct request *req, pid_t tid, const struct call *call)
{
	const uint64_t *args = call->args;
	/* The kernel uses one bit less than maxnode. */
	uint64_t bits = args[4] ? args[4] - 1 : 0, word = 0;

	req->vm.op = VMSPACE_MBIND;
	req->vm.mbind = (struct vmspace_mbind){ .addr = args[0],
						.length = args[1],
						.mode = (int)args[2],
						.flags = (unsigned int)args[5] };
	if (!args[3])
		return REQUEST_MADE;
	for (uint64_t at = 0; at < bits; at += 64) {
		if (read_argument(tid, call, args[3] + at / 8, &word, sizeof(word)) != sizeof(word))
			return unread(call);
		if (bits - at < 64)
			word &= (UINT64_C(1) << (bits - at)) - 1;
		if (at == 0)
			req->vm.mbind.nodes = word;
		else if (word || at >= NODES_MAX)
			return REQUEST_UNKNOWN;
	}
	return REQUEST_MADE;
}

static enum request_model build_prctl(struct request *req, pid_t tid, const struct call *call)
{
	const uint64_t *args = call->args;
	struct vmspace_set_anon_name *set = &req->vm.set_anon_name;

	if ((int)args[0] != PR_SET_VMA)
		return REQUEST_UNKNOWN;
	if (args[1] != PR_SET_VMA_ANON_NAME)
		return REQUEST_NONE;
	req->vm.op = VMSPACE_SET_ANON_NAME;
	set->addr = args[2];
	set->length = args[3];
	if (!args[4])
		return REQUEST_MADE;
	/* Byte by byte: the string may end right before an unmapped page. */
	for (size_t i = 0; i < REQUEST_NAME_MAX; i++) {
		if (!read_argument(tid, call, args[4] + i, &req->name[i], 1))
			return unread(call);
		if (!req->name[i])
			break;
	}
	set->name = req->name;
	return REQUEST_MADE;
}

static enum request_model build_shmat(struct request *req, const uint64_t *args)
{
	struct vmspace_shmat *shmat = &req->vm.shmat;
	struct shmid_ds segment;

	if (shmctl((int)args[0], IPC_STAT, &segment) != 0)
		return REQUEST_LATE; /* EINVAL, or it lives in another IPC namespace */
	req->vm.op = VMSPACE_SHMAT;
	shmat->addr = args[1];
	shmat->flags = (int)args[2];
	shmat->size = segment.shm_segsz;
	snprintf(req->name, sizeof(req->name), "/SYSV%08x (deleted)",
		 (unsigned int)segment.shm_perm.__key);
	shmat->backing.kind = VMA_BACKING_SYSV;
	shmat->backing.name = req->name;
	shmat->backing.inode = (uint64_t)args[0];
	return REQUEST_MADE;
}

/* Whether @pidfd of thread @tid stands for its own process. */
static bool is_own(pid_t tid, int pidfd)
{
	unsigned long target;
	char name[32];

	snprintf(name, sizeof(name), "fdinfo/%d", pidfd);
	target = kernel_file_number(tid, name, "Pid:", 10, 0);
	return target && target == kernel_file_number(tid, "status", "Tgid:", 10, 0);
}

/* With a single range of the caller's own memory, this is the same as madvise(). */
static enum request_model build_process_madvise(struct request *req, pid_t tid,
						const struct call *call)
{
	const uint64_t *args = call->args;
	struct iovec range;

	if (args[2] != 1 || !((call->memory && call->memory->own) || is_own(tid, (int)args[0])) ||
	    read_argument(tid, call, args[1], &range, sizeof(range)) != sizeof(range))
		return REQUEST_UNKNOWN;
	return build_range(req, VMSPACE_MADVISE,
			   (uint64_t[]){ (uintptr_t)range.iov_base, range.iov_len, args[3] });
}

static enum request_model build_io_destroy(struct request *req, const struct vmspace *space,
					   const uint64_t *args)
{
	struct vma_info info;

	if (!vmspace_lookup(space, args[0], &info) || info.start != args[0])
		return REQUEST_NONE;
	return build_range(req, VMSPACE_MUNMAP, (uint64_t[]){ info.start, info.end - info.start });
}

/* Ioctls of other files that happen to have the same number are recognised by the descriptor. */
static enum request_model build_uffd(struct request *req, pid_t tid, const struct call *call)
{
	const uint64_t *args = call->args;
	struct uffdio_register asked = { .mode = 0 };
	bool add = (uint32_t)args[1] == (uint32_t)UFFDIO_REGISTER;
	size_t size = add ? offsetof(struct uffdio_register, ioctls) : sizeof(asked.range);

	if (call->memory) {
		req->uffd_inode = call->memory->uffd_inode;
		req->vm.uffd.features = call->memory->uffd_features & ~UFFD_FEATURES_SET;
		if (!req->uffd_inode)
			return unread(call);
	} else if (!uffd_look(tid, (int)args[0], &req->uffd_inode, &req->vm.uffd.features)) {
		return REQUEST_NONE;
	}
	if (read_argument(tid, call, args[2], &asked, size) != size)
		return unread(call);
	req->vm.op = add ? VMSPACE_UFFD_REGISTER : VMSPACE_UFFD_UNREGISTER;
	req->vm.uffd.addr = asked.range.start;
	req->vm.uffd.length = asked.range.len;
	req->vm.uffd.mode = asked.mode;
	return REQUEST_MADE;
}

static enum request_model build_remap_file_pages(struct request *req, const struct vmspace *space,
						pid_t tid, const uint64_t *args)
{
	struct vmspace_remap_file_pages *remap = &req->vm.remap_file_pages;
	struct vma_info info;

	req->vm.op = VMSPACE_REMAP_FILE_PAGES;
	*remap = (struct vmspace_remap_file_pages){ .addr = args[0], .size = args[1],
						    .prot = (int)args[2], .page_offset = args[3],
						    .flags = (int)args[4] };
	if (vmspace_lookup(space, remap->addr, &info) && info.backing.kind == VMA_BACKING_FILE)
		remap->file_flags = backing_denials(tid, info.start, info.end);
	return REQUEST_MADE;
}

static enum request_model build_rest(struct request *req, const struct call *call)
{
	const uint64_t *args = call->args;

	switch (call->kind->id) {
	case CALL_PKEY_MPROTECT:
		build_range(req, VMSPACE_MPROTECT, args);
		req->vm.mprotect.pkey = (int)args[3];
		return REQUEST_MADE;
	case CALL_PKEY_ALLOC:
		req->vm.op = VMSPACE_PKEY_ALLOC;
		req->vm.pkey_alloc = (struct vmspace_pkey_alloc){ args[0], args[1] };
		return REQUEST_MADE;
	case CALL_PKEY_FREE:
		req->vm.op = VMSPACE_PKEY_FREE;
		req->vm.pkey_free.pkey = (int)args[0];
		return REQUEST_MADE;
	case CALL_MREMAP:
		req->vm.op = VMSPACE_MREMAP;
		req->vm.mremap = (struct vmspace_mremap){ args[0], args[1], args[2], (int)args[3],
							  args[4] };
		return REQUEST_MADE;
	case CALL_BRK:
		req->vm.op = VMSPACE_BRK;
		req->vm.brk.brk = args[0];
		return REQUEST_MADE;
	case CALL_MLOCK2:
		build_range(req, VMSPACE_MLOCK, args);
		req->vm.mlock.flags = (int)args[2];
		req->vm.mlock.mlock2 = true;
		return REQUEST_MADE;
	case CALL_MLOCKALL:
		req->vm.op = VMSPACE_MLOCKALL;
		req->vm.mlockall.flags = (int)args[0];
		return REQUEST_MADE;
	case CALL_MUNLOCKALL:
		req->vm.op = VMSPACE_MUNLOCKALL;
		return REQUEST_MADE;
	case CALL_SHMDT:
		req->vm.op = VMSPACE_SHMDT;
		req->vm.shmdt.addr = args[0];
		return REQUEST_MADE;
	case CALL_SET_HOME_NODE:
		req->vm.op = VMSPACE_SET_HOME_NODE;
		req->vm.home_node =
			(struct vmspace_home_node){ args[0], args[1], args[2], args[3] };
		return REQUEST_MADE;
	case CALL_IO_SETUP:
		return REQUEST_LATE;
	default:
		return REQUEST_NONE;
	}
}

enum request_model request_build(struct request *req, const struct vmspace *space, pid_t tid,
				 const struct call *call)
{
	memset(&req->vm, 0, sizeof(req->vm));
	memset(req->name, 0, sizeof(req->name));
	req->file.is_device = false;
	switch (call->kind->id) {
	case CALL_MMAP:
		return build_mmap(req, tid, call->args);
	case CALL_MUNMAP:
		return build_range(req, VMSPACE_MUNMAP, call->args);
	case CALL_MPROTECT:
		return build_range(req, VMSPACE_MPROTECT, call->args);
	case CALL_MADVISE:
		return build_range(req, VMSPACE_MADVISE, call->args);
	case CALL_MLOCK:
		return build_range(req, VMSPACE_MLOCK, call->args);
	case CALL_MUNLOCK:
		return build_range(req, VMSPACE_MUNLOCK, call->args);
	case CALL_MSEAL:
		return build_range(req, VMSPACE_MSEAL, call->args);
	case CALL_MBIND:
		return build_mbind(req, tid, call);
	case CALL_PRCTL:
		return build_prctl(req, tid, call);
	case CALL_SHMAT:
		return build_shmat(req, call->args);
	case CALL_IOCTL:
		return build_uffd(req, tid, call);
	case CALL_PROCESS_MADVISE:
		return build_process_madvise(req, tid, call);
	case CALL_REMAP_FILE_PAGES:
		return build_remap_file_pages(req, space, tid, call->args);
	case CALL_IO_DESTROY:
		return build_io_destroy(req, space, call->args);
	default:
		return build_rest(req, call);
	}
}

static bool find_new_area(struct kernel_view *maps, unsigned long addr, struct vmspace_line *line)
{
	maps->text_current = false;
	return kernel_line_at(maps, addr, line);
}

/* A segment in another IPC namespace: its size and name are found where it was attached. */
static bool finish_shmat(struct request *req, const struct call *call,
			 const struct vmspace_line *line)
{
	backing_of_line(&req->file, line);
	req->vm.op = VMSPACE_SHMAT;
	req->vm.shmat = (struct vmspace_shmat){
		.addr = call->args[1],
		.flags = (int)call->args[2],
		.size = line->end - line->start,
		.backing = req->file.backing,
	};
	return true;
}

/* The ring of an AIO context is a shared mapping whose size the kernel chooses. */
static bool finish_io_setup(struct request *req, const struct vmspace_line *line)
{
	backing_of_line(&req->file, line);
	req->vm.op = VMSPACE_MMAP;
	req->vm.mmap = (struct vmspace_mmap){
		.length = line->end - line->start,
		.prot = PROT_READ | PROT_WRITE,
		.flags = MAP_SHARED,
		.backing = req->file.backing,
		.driver_flags = VMA_DONTEXPAND,
	};
	return true;
}

static bool finish_late(struct request *req, pid_t tid, const struct call *call,
			struct kernel_view *maps)
{
	struct vmspace_line line;
	unsigned long addr = (unsigned long)call->result;

	if (call->result < 0)
		return false;
	if (call->kind->id == CALL_IO_SETUP &&
	    kernel_read_memory(tid, call->args[1], &addr, sizeof(addr)) != sizeof(addr))
		return false;
	if (!find_new_area(maps, addr, &line))
		return false;
	req->vm.host = (struct vmspace_host_result){ .valid = true, .result = (long)addr };
	return call->kind->id == CALL_IO_SETUP ? finish_io_setup(req, &line) :
						 finish_shmat(req, call, &line);
}

bool request_finish(struct request *req, enum request_model model, pid_t tid,
		    const struct call *call, struct kernel_view *maps)
{
	struct vmspace_line line;

	if (model == REQUEST_LATE)
		return finish_late(req, tid, call, maps);
	if (model != REQUEST_MADE)
		return false;
	req->vm.host = (struct vmspace_host_result){ .valid = true, .result = call->result };
	if (call->kind->id == CALL_PROCESS_MADVISE && call->result > 0)
		req->vm.host.result = 0; /* process_madvise() returns the number of bytes */
	if (call->result < 0) {
		req->vm.host.unmapped = refusal_has_unmapped(maps, &req->vm);
		return true;
	}
	if (req->vm.op == VMSPACE_MMAP && req->file.is_device)
		req->vm.mmap.driver_flags =
			kernel_driver_flags(tid, (unsigned long)call->result);
	/* System V segments are on a mount internal to the kernel: read its device number. */
	if (req->vm.op == VMSPACE_SHMAT &&
	    find_new_area(maps, (unsigned long)call->result, &line)) {
		req->vm.shmat.backing.dev_major = line.dev_major;
		req->vm.shmat.backing.dev_minor = line.dev_minor;
	}
	return true;
}
