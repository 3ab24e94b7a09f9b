/* SPDX-License-Identifier: MIT */
/*
 * Address spaces whose initial areas are unknown: what calls reveal about them, and which results
 * prove nothing.
 */
#include "replay/unknown.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>

#ifndef MAP_32BIT
#define MAP_32BIT 0x40 /* x86's: the log may come from there */
#endif

/* The range that must be mapped without a hole for @req to succeed. False: there is none. */
static bool needed_range(const struct vmspace_request *req, unsigned long *start,
			 unsigned long *length)
{
	switch (req->op) {
	case VMSPACE_MPROTECT:
		*start = req->mprotect.addr;
		*length = req->mprotect.length;
		return true;
	case VMSPACE_MADVISE:
		*start = req->madvise.addr;
		*length = req->madvise.length;
		return true;
	case VMSPACE_MLOCK:
		*start = req->mlock.addr;
		*length = req->mlock.length;
		return true;
	case VMSPACE_MREMAP:
		*start = req->mremap.addr;
		*length = req->mremap.old_length;
		return true;
	case VMSPACE_SET_ANON_NAME:
		*start = req->set_anon_name.addr;
		*length = req->set_anon_name.length;
		return true;
	case VMSPACE_UFFD_REGISTER:
	case VMSPACE_UFFD_UNREGISTER:
		*start = req->uffd.addr;
		*length = req->uffd.length;
		return true;
	case VMSPACE_MSEAL:
		*start = req->mseal.addr;
		*length = req->mseal.length;
		return true;
	default:
		return false;
	}
}

/* Adds an area of unknown kind. @stack: it grows downwards, and therefore is anonymous. */
static int add_area(struct vmspace *vm, unsigned long start, unsigned long end, bool stack)
{
	struct vmspace_request req = {
		.op = VMSPACE_MMAP,
		.mmap = {
			.addr = start,
			.length = end - start,
			.prot = PROT_READ | PROT_WRITE,
			.flags = MAP_PRIVATE | MAP_FIXED,
			.backing = {
				.kind = VMA_BACKING_FILE,
				.flags = VMA_BACKING_NO_MERGE,
				.name = UNKNOWN_NAME,
			},
		},
		.host = { .valid = true, .result = (long)start },
	};

	if (stack) {
		req.mmap.flags |= MAP_GROWSDOWN | MAP_ANONYMOUS;
		req.mmap.backing = (struct vma_backing){ .kind = VMA_BACKING_ANON };
	}
	vmspace_call(vm, &req);
	return req.out.out_of_memory ? -ENOMEM : 1;
}

static int fill_holes(struct vmspace *vm, unsigned long start, unsigned long end, bool stack)
{
	struct vma_info info;
	int added = 0;

	while (start < end) {
		bool found = vmspace_next(vm, start, &info) && info.start < end;
		unsigned long hole_end = found ? info.start : end;

		if (hole_end > start) {
			int rc = add_area(vm, start, hole_end, stack);

			if (rc < 0)
				return rc;
			added += rc;
		}
		start = found ? info.end : end;
	}
	return added;
}

static size_t list_areas(const struct vmspace *vm, struct vmspace_area *areas)
{
	struct vma_info info;
	size_t count = 0;

	for (unsigned long at = 0; vmspace_next(vm, at, &info); at = info.end, count++)
		if (areas)
			areas[count] = (struct vmspace_area){
				.start = info.start,
				.end = info.end,
				.flags = info.flags,
				.offset = info.offset,
				.backing = info.backing,
				.anon_name = info.anon_name,
				.pkey = info.pkey,
				.has_anon = info.anon_id != 0,
			};
	return count;
}

/* The first result of brk() is the current break. libvmspace sets it by an exec with all areas. */
static int infer_break(struct vmspace *vm, unsigned long brk)
{
	size_t count = list_areas(vm, NULL);
	struct vmspace_area *areas = calloc(count + 1, sizeof(*areas));
	struct vmspace_image image = { .start_brk = brk, .brk = brk };
	struct vmspace_stats stats;
	struct vmspace_config config;
	int rc;

	if (!areas)
		return -ENOMEM;
	list_areas(vm, areas);
	/* Keep the mmap_base that was inferred. */
	vmspace_stats(vm, &stats);
	config = *vmspace_config(vm);
	rc = vmspace_exec(vm, areas, count, &image);
	if (rc == 0 && stats.mmap_base) {
		config.mmap_base = stats.mmap_base;
		rc = vmspace_configure(vm, &config);
	}
	free(areas);
	return rc == -ENOMEM ? rc : 0;
}

/*
 * Without a hint the kernel places mappings below mmap_base, which the log does not show: it is at
 * least as high as the end of each of them.
 */
static int infer_base(struct vmspace *vm, unsigned long end)
{
	struct vmspace_config config = *vmspace_config(vm);
	struct vmspace_stats stats;

	vmspace_stats(vm, &stats);
	config.mmap_base = (end + config.page_size - 1) / config.page_size * config.page_size;
	if (config.mmap_base <= stats.mmap_base || config.mmap_base > config.map_window)
		return 0;
	return vmspace_configure(vm, &config) == -ENOMEM ? -ENOMEM : 0;
}

int unknown_infer(struct vmspace *vm, const struct vmspace_request *req)
{
	const unsigned long page = vmspace_config(vm)->page_size;
	const struct vmspace_config *config = vmspace_config(vm);
	unsigned long start, length;
	struct vmspace_stats stats;

	if (!req->host.valid || req->host.result < 0)
		return 0;
	if (req->op == VMSPACE_BRK) {
		vmspace_stats(vm, &stats);
		if (stats.start_brk || req->host.result == 0)
			return 0;
		return infer_break(vm, (unsigned long)req->host.result);
	}
	if (req->op == VMSPACE_MMAP && req->mmap.addr == 0 &&
	    !(req->mmap.flags & (MAP_FIXED | MAP_32BIT)))
		return infer_base(vm, (unsigned long)req->host.result + req->mmap.length);
	if (!needed_range(req, &start, &length) || start % page || length > config->task_size ||
	    start > config->task_size - length)
		return 0;
	length = (length + page - 1) / page * page;
	return fill_holes(vm, start, start + length,
			  req->op == VMSPACE_MPROTECT && req->mprotect.prot & PROT_GROWSDOWN);
}

bool unknown_may_explain(const struct vmspace_request *req)
{
	if (!req->out.differs)
		return false;
	/* An error: because of a limit, a file, or an area in the way. */
	if (req->host.result < 0)
		return true;
	switch (req->op) {
	case VMSPACE_MMAP:
	case VMSPACE_MREMAP:
	case VMSPACE_SHMAT:
		/* An unknown area may be in the place that libvmspace has chosen. */
		return req->out.result >= 0;
	case VMSPACE_BRK:
	case VMSPACE_SHMDT: /* of a segment whose shmat() was not modelled */
		return true;
	default:
		return false;
	}
}
