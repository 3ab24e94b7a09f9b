/* SPDX-License-Identifier: MIT */
/*
 * vmspace.c - libvmspace as an engine: it is built from areas, forked, and faulted, mapped and
 * unmapped at addresses; with a page table, too, and then by several threads at once. It keeps no
 * entries, so its own tests check it, not verify.c.
 */
#include "vmspace.h"
#include "../data.h"

#include <err.h>
#include <errno.h>
#include <mapletree/vmspace.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* Neighbours differ, so that they stay apart: entry i is 8 (i + 1). */
bool vmspace_engine_writable(const struct range *range)
{
	return (unsigned long)range->entry & 8;
}

/* The thread's request: its list of events is too large to be cleared for every call. */
static __thread struct vmspace_request request;

static long call(void *map, enum vmspace_op op)
{
	request.op = op;
	request.host.valid = false;
	return vmspace_call(map, &request);
}

/* The memory of spaces with pages. */
static uint64_t frame_alloc(void *ctx)
{
	(void)ctx;
	return (uintptr_t)calloc(1, PAGE);
}

static void frame_free(void *ctx, uint64_t frame)
{
	(void)ctx;
	free((void *)(uintptr_t)frame);
}

static void frame_copy(void *ctx, uint64_t to, uint64_t from)
{
	(void)ctx;
	memcpy((void *)(uintptr_t)to, (void *)(uintptr_t)from, PAGE);
}

static const struct vmspace_memory memory = {
	.alloc = frame_alloc, .free = frame_free, .copy = frame_copy,
};

/* NULL: there are no entries. An area may be away just now. */
static void *space_touch(void *map, unsigned long index)
{
	struct vmspace_page page;
	enum vmspace_fault_result result = vmspace_touch(map, index, VMSPACE_ACCESS_READ, &page);

	if (result != VMSPACE_FAULT_OK && result != VMSPACE_FAULT_MAPERR)
		errx(1, "libvmspace: a fault ended with %d", (int)result);
	return NULL;
}

static void *space_fault(void *map, unsigned long index)
{
	long result;

	request.fault = (struct vmspace_fault){ index, VMSPACE_ACCESS_READ };
	result = call(map, VMSPACE_FAULT);
	if (result && result != -EFAULT)
		errx(1, "libvmspace: a fault ended with %ld", result);
	return NULL;
}

static bool space_mmap(void *map, const struct range *range)
{
	request.mmap = (struct vmspace_mmap){
		.addr = range->first,
		.length = range->last - range->first + 1,
		.prot = PROT_READ | (vmspace_engine_writable(range) ? PROT_WRITE : 0),
		.flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED,
	};
	return call(map, VMSPACE_MMAP) == (long)range->first;
}

static bool space_munmap(void *map, const struct range *range)
{
	request.munmap = (struct vmspace_munmap){ range->first, range->last - range->first + 1 };
	return call(map, VMSPACE_MUNMAP) == 0;
}

static void *build(const struct range *ranges, size_t count, const struct vmspace_memory *pages)
{
	struct vmspace_area *areas = calloc(count, sizeof(*areas));
	unsigned long heap = ranges[count - 1].last + 1;
	struct vmspace_image image = { .start_brk = heap, .brk = heap };
	struct vmspace_config config;
	struct vmspace *space;

	vmspace_config_init(&config);
	config.task_size = config.map_window = AREAS_TOP;
	config.mmap_base = ranges[count - 1].first;
	config.max_map_count = 1ul << 30;
	config.overcommit = 1;
	config.rlimit_as = config.rlimit_data = VMSPACE_NO_LIMIT;
	config.memory = pages;
	for (size_t i = 0; areas && i < count; i++) {
		areas[i].start = ranges[i].first;
		areas[i].end = ranges[i].last + 1;
		areas[i].flags = VMA_READ | VMA_MAYREAD | VMA_MAYWRITE | VMA_MAYEXEC;
		if (vmspace_engine_writable(&ranges[i]))
			areas[i].flags |= VMA_WRITE | VMA_ACCOUNT;
	}
	if (!areas || vmspace_create(&space, &config) ||
	    vmspace_exec(space, areas, count, &image))
		errx(1, "libvmspace cannot take over %zu areas", count);
	free(areas);
	return space;
}

static void *space_build(const struct range *ranges, size_t count)
{
	return build(ranges, count, NULL);
}

static void *space_build_pages(const struct range *ranges, size_t count)
{
	return build(ranges, count, &memory);
}

static void space_destroy(void *map)
{
	vmspace_destroy(map);
}

static void *space_fork(void *map)
{
	request.fork = (struct vmspace_fork){ 0 };
	if (call(map, VMSPACE_FORK) < 0)
		return NULL;
	return request.fork.child;
}

const struct engine engine_vmspace = {
	.name = "libvmspace",
	.sharing = SHARING_ALONE,
	.build = space_build,
	.destroy = space_destroy,
	.dup = space_fork,
	.load = space_fault,
	.insert = space_mmap,
	.erase = space_munmap,
};

const struct engine engine_vmspace_pages = {
	.name = "libvmspace pages",
	.sharing = SHARING_FREE,
	.build = space_build_pages,
	.destroy = space_destroy,
	.load = space_touch,
	.insert = space_mmap,
	.erase = space_munmap,
};
