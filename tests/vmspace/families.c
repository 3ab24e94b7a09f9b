/* SPDX-License-Identifier: MIT */
/* families.c - see families.h */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include <sys/mman.h>

#include <mapletree/vmspace_rules.h>

#include "families.h"
#include "inherited.h"

#define TASK_SIZE ((1UL << (sizeof(long) == 8 ? 47 : 31)) - PAGE)

struct vmspace *create(bool threads)
{
	struct vmspace_config config;
	struct vmspace *space;

	vmspace_config_init(&config);
	assert_int_equal(vmspace_config_kernel(&config, "6.18"), 0);
	config.page_size = PAGE;
	config.task_size = config.map_window = TASK_SIZE;
	config.mmap_base = TASK_SIZE / 2 & ~(PAGE - 1);
	config.anon_names = true;
	config.memory_nodes = 1;
	config.rlimit_memlock = VMSPACE_NO_LIMIT;
	config.threads = threads;
	assert_int_equal(vmspace_create(&space, &config), 0);
	return space;
}

long map(struct vmspace *space, unsigned long addr, unsigned long pages, int prot)
{
	struct vmspace_request req = REQUEST(VMSPACE_MMAP, mmap, .addr = addr, .prot = prot);

	req.mmap.length = pages * PAGE;
	req.mmap.flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED;
	return vmspace_call(space, &req);
}

long touch(struct vmspace *space, unsigned long addr)
{
	struct vmspace_request req = REQUEST(VMSPACE_FAULT, fault, addr, VMSPACE_ACCESS_WRITE);

	return vmspace_call(space, &req);
}

void fill_from(struct vmspace *space, unsigned long from, unsigned long areas)
{
	for (unsigned long i = 0; i < areas; i++) {
		unsigned long at = from + i * 2 * PAGE;

		assert_true(map(space, at, 2, PROT_READ | (i % 2 ? PROT_WRITE : PROT_EXEC)) > 0);
		if (i % 3 == 1)
			touch(space, at);
	}
}

void fill(struct vmspace *space, unsigned long areas)
{
	fill_from(space, FILL, areas);
}

bool shares(const struct vmspace *space)
{
	return space->origin;
}

struct vmspace *fork_of(struct vmspace *space)
{
	struct vmspace_request req = { .op = VMSPACE_FORK };

	assert_int_equal(vmspace_call(space, &req), 0);
	return req.fork.child;
}

/* ---- comparing ------------------------------------------------------------------------------ */

/* Which anon_vma of one family is which of the other. */
static struct { uint64_t id[FAMILIES]; } same[4096];

static void match_anon(uint64_t a, uint64_t b)
{
	size_t i = (size_t)(b % 4096);

	assert_int_equal(!a, !b);
	if (!a)
		return;
	while (same[i].id[COPIES] && same[i].id[COPIES] != b)
		i = (i + 1) % 4096;
	if (!same[i].id[COPIES])
		same[i].id[SHARES] = a;
	same[i].id[COPIES] = b;
	assert_int_equal(same[i].id[SHARES], a);
}

/* No two of one family are one of the other. */
static void match_apart(void)
{
	static uint64_t seen[4096];

	memset(seen, 0, sizeof(seen));
	for (size_t i = 0; i < 4096; i++) {
		uint64_t a = same[i].id[SHARES];
		size_t at = (size_t)(a % 4096);

		while (a && seen[at] && seen[at] != a)
			at = (at + 1) % 4096;
		assert_true(!a || !seen[at]);
		seen[at] = a ? a : seen[at];
	}
}

static void match_areas(const struct vmspace *a, const struct vmspace *b, unsigned long end)
{
	struct vma_iterator of_a, of_b;
	struct vma_info x, y;
	bool more;

	memset(same, 0, sizeof(same));
	vma_iter_init(&of_a, a, 0);
	vma_iter_init(&of_b, b, 0);
	do {
		more = vma_iter_find(&of_a, end, &x);
		assert_int_equal(vma_iter_find(&of_b, end, &y), more);
		if (!more)
			break;
		assert_true(x.start == y.start && x.end == y.end && x.flags == y.flags);
		assert_true(x.page_offset == y.page_offset && x.pkey == y.pkey && x.uffd == y.uffd);
		assert_true(x.policy == y.policy && x.word == y.word);
		assert_int_equal(x.anon_shared, y.anon_shared);
		assert_true(!x.anon_name == !y.anon_name && !x.backing.name == !y.backing.name);
		assert_true(!x.anon_name || !strcmp(x.anon_name, y.anon_name));
		assert_true(!x.backing.name || !strcmp(x.backing.name, y.backing.name));
		match_anon(x.anon_id, y.anon_id);
	} while (more);
	match_apart();
}

static void match_counters(const struct vmspace *a, const struct vmspace *b)
{
	struct vmspace_stats x, y;

	vmspace_stats(a, &x);
	vmspace_stats(b, &y);
	assert_true(x.areas == y.areas && x.total_vm == y.total_vm && x.locked_vm == y.locked_vm);
	assert_true(x.data_vm == y.data_vm && x.stack_vm == y.stack_vm && x.exec_vm == y.exec_vm);
	assert_true(x.committed_vm == y.committed_vm && x.areas_peak == y.areas_peak);
}

void match_below(const struct vmspace *a, const struct vmspace *b, unsigned long end)
{
	match_counters(a, b);
	match_areas(a, b, end);
}

void match(const struct vmspace *a, const struct vmspace *b)
{
	const char *why = "";

	match_below(a, b, TASK_SIZE);
	if (!vmspace_check(a, &why) || !vmspace_check(b, &why))
		fail_msg("%s", why);
}
