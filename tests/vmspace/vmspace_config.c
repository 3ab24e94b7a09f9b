/* SPDX-License-Identifier: MIT */
/*
 * vmspace_config.c - configurations that are refused, with the reason, and memory of children that is;
 * and configurations of guests.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <mapletree/vmspace_memfd.h>
#include <mapletree/vmspace_rules.h>

#define PAGE 4096UL

static void expect_refused(const struct vmspace_config *config, const char *why)
{
	const char *wrong = vmspace_config_check(config);
	struct vmspace *space;

	if (!wrong || !strstr(wrong, why))
		fail_msg("%s, not: %s", wrong ? wrong : "accepted", why);
	assert_int_equal(vmspace_create(&space, config), -EINVAL);
	assert_null(space);
}

static void what_is_refused_is_told(void **state)
{
	static const struct {
		size_t offset;
		unsigned long value;
		const char *why;
	} bad[] = {
		{ offsetof(struct vmspace_config, page_size), 0, "page_size is not" },
		{ offsetof(struct vmspace_config, page_size), 6144, "page_size is not" },
		{ offsetof(struct vmspace_config, page_size), 512, "page_size is not" },
		{ offsetof(struct vmspace_config, pmd_size), 2048, "pmd_size is neither" },
		{ offsetof(struct vmspace_config, task_size), 0, "task_size is" },
		{ offsetof(struct vmspace_config, task_size), 0x12345678, "task_size is" },
		{ offsetof(struct vmspace_config, map_window), 0, "map_window is" },
		{ offsetof(struct vmspace_config, map_window), -PAGE, "map_window is" },
		{ offsetof(struct vmspace_config, mmap_base), 1, "mmap_base is" },
		{ offsetof(struct vmspace_config, mmap_base), -PAGE, "mmap_base is" },
		{ offsetof(struct vmspace_config, huge_pages), 1, "huge_pages are" },
		{ offsetof(struct vmspace_config, max_map_count), 0, "max_map_count is 0" },
	};
	struct vmspace_config good, config;

	(void)state;
	assert_int_equal(vmspace_config_preset(&good, "riscv64", NULL), 0);
	assert_null(vmspace_config_check(&good));
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		config = good;
		memcpy((char *)&config + bad[i].offset, &bad[i].value, sizeof(bad[i].value));
		expect_refused(&config, bad[i].why);
	}
	config = good;
	config.overcommit = 3;
	expect_refused(&config, "overcommit is not");
	config = good;
	config.rules[VMSPACE_RULE_WORDS - 1] |= UINT64_C(1) << 63;
	expect_refused(&config, "rules has bits");
}

/* The second half of a guest's page would not be there. */
static void a_window_has_pages_as_large_as_the_hosts(void **state)
{
	const unsigned long host = (unsigned long)sysconf(_SC_PAGESIZE);
	struct vmspace_memfd_config memfd_config = { .limit = 1 << 20 };
	struct vmspace_memfd *memfd;
	struct vmspace_window *window;
	struct vmspace_config config, other;
	struct vmspace *space;

	(void)state;
	assert_int_equal(vmspace_memfd_create(&memfd, &memfd_config), 0);
	assert_int_equal(vmspace_window_create(&window, memfd, 0x10000000, 1 << 24), 0);
	assert_int_equal(vmspace_config_preset(&config, "riscv64", "7.3"), 0);
	for (unsigned long page = 1024; page <= 65536; page *= 2) {
		config.page_size = page;
		config.memory = NULL;
		assert_null(vmspace_config_check(&config));
		config.memory = vmspace_window_memory(window);
		if (page != host)
			expect_refused(&config, "memory is a window");
	}
	config.page_size = host;
	assert_int_equal(vmspace_create(&space, &config), 0);
	other = config;
	other.page_size = 2 * host;
	assert_int_equal(vmspace_configure(space, &other), -EINVAL);
	vmspace_destroy(space);
	vmspace_window_destroy(window);
	vmspace_memfd_destroy(memfd);
}

/* ---- windows and who uses them ---- */

static struct vmspace_memfd *memory_file(size_t page_size)
{
	const struct vmspace_memfd_config config = { .limit = 1 << 20 };
	struct vmspace_memfd *memfd;

	assert_int_equal(vmspace_memfd_create_pages(&memfd, &config, page_size, 0), 0);
	return memfd;
}

static struct vmspace_window *window_on(struct vmspace_memfd *memfd)
{
	struct vmspace_window *window;

	assert_int_equal(vmspace_window_create(&window, memfd, 0x10000000, 1 << 24), 0);
	return window;
}

static struct vmspace *space_on(const struct vmspace_memory *memory)
{
	struct vmspace_config config;
	struct vmspace *space;

	assert_int_equal(vmspace_config_preset(&config, "riscv64", "7.3"), 0);
	config.page_size = (unsigned long)sysconf(_SC_PAGESIZE);
	config.memory = memory;
	assert_null(vmspace_config_check(&config));
	assert_int_equal(vmspace_create(&space, &config), 0);
	return space;
}

/* Two spaces would each map their pages over the other's. */
static void regress_a_window_has_one_space(void **state)
{
	struct vmspace_memfd *memfd = memory_file((size_t)sysconf(_SC_PAGESIZE));
	struct vmspace_window *window = window_on(memfd);
	const struct vmspace_memory *memory = vmspace_window_memory(window);
	const struct vmspace_image image = { 0 };
	struct vmspace *space = space_on(memory), *other, *copy;
	struct vmspace_config config = *vmspace_config(space);

	(void)state;
	for (int i = 0; i < 2; i++) {
		const char *wrong = vmspace_config_check(&config);

		assert_non_null(wrong);
		assert_non_null(strstr(wrong, "a space uses"));
		assert_int_equal(vmspace_create(&other, &config), -EBUSY);
		assert_null(other);
		/* To itself, and to copies without memory, it is no obstacle; an exec does not end it. */
		assert_int_equal(vmspace_configure(space, &config), 0);
		assert_int_equal(vmspace_clone(&copy, space), 0);
		vmspace_destroy(copy);
		assert_int_equal(vmspace_exec(space, NULL, 0, &image), 0);
		vmspace_exit(space);
	}
	vmspace_destroy(space);
	/* Who is refused for another reason has not taken it. */
	config.max_map_count = 0;
	assert_int_equal(vmspace_create(&other, &config), -EINVAL);
	vmspace_destroy(space_on(memory));
	vmspace_window_destroy(window);
	vmspace_memfd_destroy(memfd);
}

static uint64_t no_frame(void *ctx)
{
	(void)ctx;
	return 0;
}

static void no_free(void *ctx, uint64_t frame)
{
	(void)ctx;
	(void)frame;
}

static void no_copy(void *ctx, uint64_t to, uint64_t from)
{
	(void)ctx;
	(void)to;
	(void)from;
}

static const struct vmspace_memory own_memory = {
	.alloc = no_frame, .free = no_free, .copy = no_copy,
};

static void spaces_may_share_memory_of_the_users(void **state)
{
	struct vmspace *space = space_on(&own_memory), *other = space_on(&own_memory);
	struct vmspace_request fork = { .op = VMSPACE_FORK };

	(void)state;
	assert_int_equal(vmspace_call(space, &fork), 0);
	vmspace_destroy(fork.fork.child);
	fork.fork.child_memory = &own_memory;
	assert_int_equal(vmspace_call(space, &fork), 0);
	vmspace_destroy(fork.fork.child);
	vmspace_destroy(other);
	vmspace_destroy(space);
}

static void expect_fork(struct vmspace *space, const struct vmspace_window *window, long result,
			const char *why)
{
	struct vmspace_request req = { .op = VMSPACE_FORK };

	req.fork.child_memory = vmspace_window_memory(window);
	assert_int_equal(vmspace_call(space, &req), result);
	assert_int_equal(!req.fork.child, result != 0);
	assert_false(req.out.out_of_memory);
	if (why && (!req.out.why || !strstr(req.out.why, why)))
		fail_msg("%s, not: %s", req.out.why ? req.out.why : "no reason", why);
	vmspace_destroy(req.fork.child);
}

/* They were taken, and then parent and child wrote into one window, or the child died of SIGBUS. */
static void regress_a_child_has_a_window_of_its_own(void **state)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	struct vmspace_memfd *memfd = memory_file(page), *strange = memory_file(page);
	struct vmspace_memfd *small = memory_file(1024);
	struct vmspace_window *parents = window_on(memfd), *others = window_on(memfd);
	struct vmspace_window *childs = window_on(memfd), *far = window_on(strange);
	struct vmspace_window *with_small = window_on(small);
	struct vmspace *space = space_on(vmspace_window_memory(parents));
	struct vmspace *other = space_on(vmspace_window_memory(others)), *own = space_on(&own_memory);

	(void)state;
	expect_fork(space, parents, -EBUSY, "window that a space uses");
	expect_fork(space, others, -EBUSY, "window that a space uses");
	expect_fork(space, far, -EINVAL, "on another memfd");
	expect_fork(space, with_small, -EINVAL, "on another memfd");
	/* Of memory that is no window, only the sizes of pages are known. */
	expect_fork(own, with_small, -EINVAL, "not of page_size");
	expect_fork(own, others, -EBUSY, "window that a space uses");
	/* A child that has ended leaves it. */
	for (int i = 0; i < 3; i++)
		expect_fork(space, childs, 0, NULL);
	vmspace_destroy(other);
	expect_fork(space, others, 0, NULL);
	vmspace_destroy(own);
	vmspace_destroy(space);
	vmspace_window_destroy(parents);
	vmspace_window_destroy(others);
	vmspace_window_destroy(childs);
	vmspace_window_destroy(far);
	vmspace_window_destroy(with_small);
	vmspace_memfd_destroy(memfd);
	vmspace_memfd_destroy(strange);
	vmspace_memfd_destroy(small);
}

static long map(struct vmspace *space, unsigned long addr, unsigned long length, int flags)
{
	struct vmspace_request req = { .op = VMSPACE_MMAP };

	req.mmap = (struct vmspace_mmap){ .addr = addr, .length = length, .prot = PROT_READ,
					  .flags = MAP_PRIVATE | MAP_ANONYMOUS | flags };
	return vmspace_call(space, &req);
}

/* Is a mapping of a huge page aligned, with something right above that is not? */
static bool huge_is_aligned(const struct vmspace_config *config, unsigned long hint, int flags)
{
	struct vmspace *space;
	long at;

	assert_int_equal(vmspace_create(&space, config), 0);
	map(space, config->hint_min_addr, PAGE, MAP_FIXED);
	map(space, config->mmap_base - PAGE, PAGE, MAP_FIXED);
	at = map(space, hint, config->pmd_size, flags);
	assert_true(at > 0);
	vmspace_destroy(space);
	return !((unsigned long)at % config->pmd_size);
}

/* Only without a hint are anonymous mappings aligned to huge pages. */
static void a_hint_within_the_first_page_is_none(void **state)
{
	struct vmspace_config config;

	(void)state;
	assert_int_equal(vmspace_config_preset(&config, "x86_64", "6.18"), 0);
	assert_true(huge_is_aligned(&config, 0, 0));
	assert_true(huge_is_aligned(&config, 1, 0));
	assert_true(huge_is_aligned(&config, PAGE - 1, MAP_STACK));
	/* Raised to the lowest hint there is, where something is in the way. */
	assert_false(huge_is_aligned(&config, PAGE, 0));
	assert_false(huge_is_aligned(&config, PAGE + 1, MAP_STACK));
}

static void guests_have_nothing_of_the_host(void **state)
{
	static const struct {
		const char *architecture;
		unsigned long end, base, legacy;
	} expected[] = {
		{ "x86_64", 0x7ffffffff000, 0x7ffff7fff000, 0x2aaaaaaab000 },
		{ "aarch64", 0x1000000000000, 0xfffff8000000, 0x400000000000 },
		{ "riscv64", 0x4000000000, 0x3ff8000000, 0x1555556000 },
	};
	struct vmspace_config config, again;
	struct rlimit before, small;
	struct vmspace *space;

	(void)state;
	assert_int_equal(getrlimit(RLIMIT_STACK, &before), 0);
	for (size_t i = 0; i < sizeof(expected) / sizeof(expected[0]); i++) {
		memset(&config, 0, sizeof(config));
		memset(&again, 0, sizeof(again));
		assert_int_equal(vmspace_config_preset(&config, expected[i].architecture, "6.12"), 0);
		small = (struct rlimit){ before.rlim_cur / 2, before.rlim_max };
		assert_int_equal(setrlimit(RLIMIT_STACK, &small), 0);
		assert_int_equal(vmspace_config_preset(&again, expected[i].architecture, "6.12"), 0);
		assert_int_equal(setrlimit(RLIMIT_STACK, &before), 0);
		assert_int_equal(again.rlimit_stack, config.rlimit_stack);
		assert_memory_equal(again.rules, config.rules, sizeof(config.rules));
		assert_true(config.task_size == expected[i].end);
		assert_true(config.mmap_base == expected[i].base);
		assert_true(config.mmap_base_legacy == expected[i].legacy);
		assert_int_equal(config.rlimit_as, VMSPACE_NO_LIMIT);

		assert_int_equal(vmspace_create(&space, &config), 0);
		assert_true(map(space, 0, PAGE, 0) == (long)(expected[i].base - PAGE));
		assert_true(map(space, 0, 1UL << 36, 0) > 0);
		assert_int_equal(map(space, expected[i].end - PAGE, 2 * PAGE, MAP_FIXED), -ENOMEM);
		assert_true(map(space, expected[i].end - PAGE, PAGE, MAP_FIXED) > 0);
		vmspace_destroy(space);
	}
}

static void guests_that_are_not_known_are_refused(void **state)
{
	struct vmspace_config config;

	(void)state;
	memset(&config, 0x55, sizeof(config));
	assert_int_equal(vmspace_config_preset(&config, "vax", NULL), -EINVAL);
	assert_int_equal(vmspace_config_preset(&config, "x86_64", "2.6.32"), -EINVAL);
	assert_int_equal(vmspace_config_preset(&config, "x86_64", "new"), -EINVAL);
	for (size_t i = 0; i < sizeof(config); i++)
		assert_int_equal(((unsigned char *)&config)[i], 0x55);
}

/* What the running kernel is asked for, and what is known of its architecture. */
static void a_preset_is_what_the_host_has(void **state)
{
	struct vmspace_config host, preset;

	(void)state;
	vmspace_config_init(&host);
#ifdef __x86_64__
	assert_int_equal(vmspace_config_preset(&preset, "x86_64", NULL), 0);
	assert_int_equal(preset.page_size, host.page_size);
	assert_true(preset.map_window == host.map_window);
	assert_true(preset.mmap_base_legacy == host.mmap_base_legacy);
	assert_true(!host.pmd_size || preset.pmd_size == host.pmd_size);
	assert_int_equal(preset.stack_guard_gap, host.stack_guard_gap);
	assert_int_equal(preset.address_tags, host.address_tags);
#else
	(void)preset;
	skip();
#endif
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_refused_is_told),
		cmocka_unit_test(a_window_has_pages_as_large_as_the_hosts),
		cmocka_unit_test(regress_a_window_has_one_space),
		cmocka_unit_test(spaces_may_share_memory_of_the_users),
		cmocka_unit_test(regress_a_child_has_a_window_of_its_own),
		cmocka_unit_test(a_hint_within_the_first_page_is_none),
		cmocka_unit_test(guests_have_nothing_of_the_host),
		cmocka_unit_test(guests_that_are_not_known_are_refused),
		cmocka_unit_test(a_preset_is_what_the_host_has),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
