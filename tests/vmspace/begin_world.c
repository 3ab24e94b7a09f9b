/* SPDX-License-Identifier: MIT */
/* begin_world.c - spaces for tests of calls that begin and end, and requests. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include <sys/mman.h>

#include "begin_world.h"

struct vmspace *new_space_with(bool threads, const struct vmspace_memory *memory)
{
	struct vmspace_config config;
	struct vmspace *space;

	memset(&config, 0, sizeof(config));
	vmspace_config_init(&config);
	config.mmap_base = BASE * 6;
	config.threads = threads;
	config.memory = memory;
	config.memory_nodes = 3;
	config.anon_names = true;
	config.max_map_count = 1000000;
	config.rlimit_as = config.rlimit_data = config.rlimit_memlock = VMSPACE_NO_LIMIT;
	config.page_size = PAGE;
	config.overcommit = 1;
	assert_int_equal(vmspace_create(&space, &config), 0);
	return space;
}

struct vmspace *new_space(bool threads)
{
	return new_space_with(threads, NULL);
}

struct vmspace_request map_at(unsigned long addr, unsigned long pages, int prot)
{
	struct vmspace_request req = { .op = VMSPACE_MMAP };

	req.mmap = (struct vmspace_mmap){ .addr = addr, .length = pages * PAGE, .prot = prot,
					  .flags = MAP_PRIVATE | MAP_ANONYMOUS };
	if (addr)
		req.mmap.flags |= MAP_FIXED;
	return req;
}

struct vmspace_request unmap_at(unsigned long addr, unsigned long pages)
{
	struct vmspace_request req = { .op = VMSPACE_MUNMAP };

	req.munmap = (struct vmspace_munmap){ addr, pages * PAGE };
	return req;
}

struct vmspace_request protect_at(unsigned long addr, unsigned long pages, int prot)
{
	struct vmspace_request req = { .op = VMSPACE_MPROTECT };

	req.mprotect = (struct vmspace_mprotect){ addr, pages * PAGE, prot, -1 };
	return req;
}

static char *text_of(const struct vmspace *space)
{
	size_t size = vmspace_show(space, NULL, 0) + 1;
	char *text = malloc(size);

	assert_non_null(text);
	vmspace_show(space, text, size);
	return text;
}

void check_same(const struct vmspace *a, const struct vmspace *b)
{
	char *one = text_of(a), *other = text_of(b);
	const char *reason = "";

	assert_string_equal(one, other);
	if (!vmspace_check(a, &reason))
		fail_msg("%s", reason);
	free(one);
	free(other);
}

void call(struct vmspace *space, struct vmspace_request req)
{
	assert_true(vmspace_call(space, &req) >= 0);
}
