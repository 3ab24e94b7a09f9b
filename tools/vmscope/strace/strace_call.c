/* SPDX-License-Identifier: MIT */
/* Translating a system call in the output of strace(1) into a request to libvmspace. */
#include "strace/strace_call.h"

#include <errno.h>
#include <linux/prctl.h>
#include <linux/userfaultfd.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>

/* How a call's arguments map to a request: value i is argument args[i]. */
struct shape {
	const char *name;
	enum vmspace_op op;
	unsigned int least;	/* minimum number of arguments */
};

static const struct shape shapes[] = {
	{ "mmap", VMSPACE_MMAP, 6 }, { "munmap", VMSPACE_MUNMAP, 2 },
	{ "mprotect", VMSPACE_MPROTECT, 3 }, { "pkey_mprotect", VMSPACE_MPROTECT, 4 },
	{ "mremap", VMSPACE_MREMAP, 4 }, { "brk", VMSPACE_BRK, 1 },
	{ "madvise", VMSPACE_MADVISE, 3 }, { "mlock", VMSPACE_MLOCK, 2 },
	{ "mlock2", VMSPACE_MLOCK, 3 }, { "munlock", VMSPACE_MUNLOCK, 2 },
	{ "mlockall", VMSPACE_MLOCKALL, 1 }, { "munlockall", VMSPACE_MUNLOCKALL, 0 },
	{ "prctl", VMSPACE_SET_ANON_NAME, 1 }, { "shmat", VMSPACE_SHMAT, 3 },
	{ "shmdt", VMSPACE_SHMDT, 1 }, { "remap_file_pages", VMSPACE_REMAP_FILE_PAGES, 5 },
	{ "mseal", VMSPACE_MSEAL, 3 }, { "pkey_alloc", VMSPACE_PKEY_ALLOC, 2 },
	{ "pkey_free", VMSPACE_PKEY_FREE, 1 },
};

static const char *const unmodelled[] = { "mbind", "io_setup", "io_destroy", "process_madvise",
					  "map_shadow_stack", "mmap2", "old_mmap" };

enum { SHAPES = sizeof(shapes) / sizeof(shapes[0]),
       UNMODELLED = sizeof(unmodelled) / sizeof(unmodelled[0]) };

static bool is_shared(int flags)
{
	return (flags & MAP_TYPE) == MAP_SHARED || (flags & MAP_TYPE) == MAP_SHARED_VALIDATE;
}

/* strace does not show file systems; these paths are on tmpfs everywhere. */
static bool is_tmpfs(const char *path)
{
	return strncmp(path, "/memfd:", 7) == 0 || strncmp(path, "/dev/shm/", 9) == 0;
}

static void make_file(struct strace_call *call, struct strace_text text, int fd,
		      struct strace_task *task)
{
	const struct strace_file *file = strace_task_file(task, fd);
	struct vma_backing *backing = &call->req.mmap.backing;
	bool path = strace_path(text, call->name, sizeof(call->name));

	backing->kind = VMA_BACKING_FILE;
	backing->name = call->name;
	if (!path && file)
		snprintf(call->name, sizeof(call->name), "%s", file->path);
	else if (!path)
		snprintf(call->name, sizeof(call->name), "fd:%d", fd);
	if (file && (!path || strcmp(call->name, file->path) == 0))
		backing->file_id = file->id;
	if (is_tmpfs(call->name))
		backing->flags |= VMA_BACKING_TMPFS;
	if (strcmp(call->name, "/dev/zero") == 0 && is_shared(call->req.mmap.flags))
		backing->kind = VMA_BACKING_SHMEM;
}

static void make_mmap(struct strace_call *call, const uint64_t *value,
		      const struct strace_text *text, struct strace_task *task)
{
	struct vmspace_mmap *mmap = &call->req.mmap;

	mmap->addr = value[0];
	mmap->length = value[1];
	mmap->prot = (int)value[2];
	mmap->flags = (int)value[3];
	mmap->offset = value[5];
	if (!(mmap->flags & MAP_ANONYMOUS)) {
		make_file(call, text[4], (int)value[4], task);
	} else if (mmap->flags & MAP_HUGETLB) {
		unsigned int shift = (unsigned int)mmap->flags >> 26 & 0x3f;

		mmap->backing.kind = VMA_BACKING_HUGETLB;
		mmap->backing.huge_size = shift ? 1UL << shift : 0;
	} else if (is_shared(mmap->flags)) {
		mmap->backing.kind = VMA_BACKING_SHMEM;
	}
	if (mmap->backing.kind == VMA_BACKING_SHMEM)
		mmap->backing.name = "/dev/zero (deleted)";
}

static enum strace_call_kind make_name(struct strace_call *call, const uint64_t *value,
				       const struct strace_text *text, size_t count,
				       const char **why)
{
	struct vmspace_set_anon_name *set = &call->req.set_anon_name;

	if (value[0] != PR_SET_VMA)
		return STRACE_CALL_NONE;
	*why = "prctl(PR_SET_VMA) has too few arguments";
	if (count < 5)
		return STRACE_CALL_MALFORMED;
	if (value[1] != PR_SET_VMA_ANON_NAME)
		return STRACE_CALL_NONE;
	set->addr = value[2];
	set->length = value[3];
	if (strace_string(text[4], call->name, sizeof(call->name)))
		set->name = call->name;
	else if (!strace_is(text[4], "NULL"))
		return STRACE_CALL_UNMODELLED; /* strace shows a pointer, not the name */
	return STRACE_CALL_REQUEST;
}

static enum strace_call_kind make_shmat(struct strace_call *call, const uint64_t *value,
					struct maple_tree *segments, const char **why)
{
	const struct strace_segment *segment = mtree_load(segments, (unsigned int)value[0]);

	*why = "how large this segment is is not told, as it was not made in this log: the area is "
	       "missing, and results that it may explain prove nothing from here on";
	if (!segment)
		return call->req.host.result < 0 ? STRACE_CALL_UNMODELLED : STRACE_CALL_UNTOLD;
	snprintf(call->name, sizeof(call->name), "/SYSV%08x (deleted)", segment->key);
	call->req.shmat = (struct vmspace_shmat){
		.addr = value[1],
		.flags = (int)value[2],
		.size = segment->size,
		.backing = { .kind = VMA_BACKING_SYSV, .inode = value[0], .name = call->name },
	};
	return STRACE_CALL_REQUEST;
}

/* Requests whose arguments are all numbers. */
static void make_plain(struct vmspace_request *req, const uint64_t *v, const char *name)
{
	switch (req->op) {
	case VMSPACE_MUNMAP:
		req->munmap = (struct vmspace_munmap){ v[0], v[1] };
		break;
	case VMSPACE_MPROTECT:
		req->mprotect = (struct vmspace_mprotect){ v[0], v[1], (int)v[2],
							   name[0] == 'p' ? (int)v[3] : -1 };
		break;
	case VMSPACE_MREMAP:
		req->mremap = (struct vmspace_mremap){ v[0], v[1], v[2], (int)v[3], v[4] };
		break;
	case VMSPACE_BRK:
		req->brk.brk = v[0];
		break;
	case VMSPACE_MADVISE:
		req->madvise = (struct vmspace_madvise){ v[0], v[1], (int)v[2] };
		break;
	case VMSPACE_MLOCK:
	case VMSPACE_MUNLOCK:
		req->mlock = (struct vmspace_mlock){ v[0], v[1], (int)v[2],
						     strcmp(name, "mlock2") == 0 };
		break;
	case VMSPACE_MLOCKALL:
		req->mlockall.flags = (int)v[0];
		break;
	case VMSPACE_SHMDT:
		req->shmdt.addr = v[0];
		break;
	case VMSPACE_REMAP_FILE_PAGES:
		req->remap_file_pages = (struct vmspace_remap_file_pages){
			.addr = v[0], .size = v[1], .prot = (int)v[2], .page_offset = v[3],
			.flags = (int)v[4] };
		break;
	case VMSPACE_PKEY_ALLOC:
		req->pkey_alloc = (struct vmspace_pkey_alloc){ v[0], v[1] };
		break;
	case VMSPACE_PKEY_FREE:
		req->pkey_free.pkey = (int)v[0];
		break;
	case VMSPACE_MSEAL:
		req->mseal = (struct vmspace_mseal){ v[0], v[1], v[2] };
		break;
	default:
		break;
	}
}

/* UFFDIO_REGISTER and UFFDIO_UNREGISTER; strace has checked that the file is a userfaultfd. */
static enum strace_call_kind make_uffd(struct strace_call *call, uint64_t request, int fd,
				       struct strace_text arg, struct strace_task *task,
				       const char **why)
{
	bool add = request == (uint32_t)UFFDIO_REGISTER;
	const struct strace_uffd *uffd = strace_task_uffd(task, fd);
	struct strace_text range = arg, start, length, mode;
	uint64_t addr, bytes, modes = 0;

	if (arg.length == 0 || arg.at[0] != '{')
		return STRACE_CALL_NONE; /* strace shows a pointer: EFAULT */
	*why = "what a userfaultfd is asked for is not told as strace tells it";
	if ((add && !strace_member(arg, "range", &range)) ||
	    !strace_member(range, "start", &start) || !strace_member(range, "len", &length) ||
	    !strace_value(start, &addr, NULL) || !strace_value(length, &bytes, NULL))
		return STRACE_CALL_MALFORMED;
	if (add && (!strace_member(arg, "mode", &mode) || !strace_value(mode, &modes, NULL)))
		return STRACE_CALL_MALFORMED;
	if (!uffd)
		return STRACE_CALL_UNMODELLED; /* it was not created in this log */
	call->of = strace_space_user(uffd->of, uffd->space);
	if (!call->of)
		return STRACE_CALL_NONE; /* its creator is gone: ESRCH */
	call->req.op = add ? VMSPACE_UFFD_REGISTER : VMSPACE_UFFD_UNREGISTER;
	call->req.uffd = (struct vmspace_uffd){ .addr = addr, .length = bytes, .mode = modes,
						.features = uffd->features,
						.context = uffd->context };
	return STRACE_CALL_REQUEST;
}

/* The features requested by UFFDIO_API: "{api=0xaa, features=A|B => features=...}". */
static void parse_features(struct strace_uffd *uffd, struct strace_text arg)
{
	struct strace_text features;
	const char *arrow;
	bool unknown;

	if (!uffd || !strace_member(arg, "features", &features))
		return;
	arrow = memmem(features.at, features.length, " => ", 4);
	if (arrow)
		features.length = (size_t)(arrow - features.at);
	strace_value(features, &uffd->features, &unknown);
}

static enum strace_call_kind make_ioctl(struct strace_call *call, const struct strace_line *line,
					struct strace_task *task, const char **why)
{
	struct strace_text text[STRACE_ARGS];
	uint64_t fd, request;
	int64_t result;

	if (strace_split(line->args, text, STRACE_ARGS) < 3 || !strace_value(text[0], &fd, NULL) ||
	    !strace_value(text[1], &request, NULL) || !strace_result(line->result, &result))
		return STRACE_CALL_NONE;
	if (request == (uint32_t)UFFDIO_API && result == 0)
		parse_features(strace_task_uffd(task, (int)fd), text[2]);
	if (request != (uint32_t)UFFDIO_REGISTER && request != (uint32_t)UFFDIO_UNREGISTER)
		return STRACE_CALL_NONE;
	memset(&call->req, 0, sizeof(call->req));
	call->req.host = (struct vmspace_host_result){ .valid = true, .result = result };
	return make_uffd(call, request, (int)fd, text[2], task, why);
}

static const struct shape *find_shape(struct strace_text name)
{
	for (size_t i = 0; i < SHAPES; i++)
		if (strace_is(name, shapes[i].name))
			return &shapes[i];
	return NULL;
}

static bool is_unmodelled(struct strace_text name)
{
	for (size_t i = 0; i < UNMODELLED; i++)
		if (strace_is(name, unmodelled[i]))
			return true;
	return false;
}

/* Do calls that succeed return an address, or another number than 0? */
static bool returns_number(enum vmspace_op op)
{
	return op == VMSPACE_MMAP || op == VMSPACE_MREMAP || op == VMSPACE_BRK ||
	       op == VMSPACE_SHMAT || op == VMSPACE_PKEY_ALLOC;
}

enum strace_call_kind strace_call_make(struct strace_call *call, const struct strace_line *line,
				       struct strace_task *task, struct maple_tree *segments,
				       const char **why)
{
	const struct shape *shape = find_shape(line->name);
	struct strace_text text[STRACE_ARGS];
	uint64_t value[STRACE_ARGS] = { 0 };
	int64_t result;
	size_t count;

	call->of = task;
	if (strace_is(line->name, "ioctl"))
		return make_ioctl(call, line, task, why);
	if (!shape)
		return is_unmodelled(line->name) ? STRACE_CALL_UNMODELLED : STRACE_CALL_NONE;
	/* "?": the call did not return, since its thread was killed. */
	if (!strace_result(line->result, &result))
		return STRACE_CALL_NONE;
	count = strace_split(line->args, text, STRACE_ARGS);
	*why = "the call has too few arguments";
	if (count < shape->least)
		return STRACE_CALL_MALFORMED;
	memset(&call->req, 0, sizeof(call->req));
	call->req.op = shape->op;
	call->req.host = (struct vmspace_host_result){ .valid = true, .result = result };
	for (size_t i = 0; i < count; i++) {
		bool number = strace_value(text[i], &value[i], NULL);

		if (shape->op == VMSPACE_SET_ANON_NAME && (i == 4 || (i == 0 && !number)))
			continue; /* a string, or a constant that does not matter */
		*why = "an argument is neither a number nor a constant that is known";
		if (!number && shape->op == VMSPACE_SET_ANON_NAME && value[0] != PR_SET_VMA)
			continue;
		if (!number)
			return STRACE_CALL_MALFORMED;
	}
	/*
	 * The result of a thread that was killed: it does not show whether the call was performed.
	 */
	if (result > 0 && !returns_number(shape->op))
		return STRACE_CALL_UNMODELLED;
	if (shape->op == VMSPACE_MMAP)
		make_mmap(call, value, text, task);
	else if (shape->op == VMSPACE_SET_ANON_NAME)
		return make_name(call, value, text, count, why);
	else if (shape->op == VMSPACE_SHMAT)
		return make_shmat(call, value, segments, why);
	else
		make_plain(&call->req, value, shape->name);
	return STRACE_CALL_REQUEST;
}
