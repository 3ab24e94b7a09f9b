/* SPDX-License-Identifier: MIT */
/* vmspace_units.c - libvmspace by itself, without a host: text, bad input, what a host shows. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include <sys/mman.h>

#include <mapletree/vmspace_rules.h>

#include "merge.h"
#include "units.h"

static void lines_are_the_kernels(void **state)
{
	const struct vma_backing file = { .kind = VMA_BACKING_FILE, .dev_major = 0xfe,
					  .dev_minor = 1, .inode = 42, .name = "/tmp/a\nb c" };
	const struct vma_backing big = { .kind = VMA_BACKING_FILE, .dev_major = 0x103,
					 .dev_minor = 0x1234, .inode = 12345678901234567890UL,
					 .name = "/x" };
	char text[4096];
	size_t length;

	(void)state;
	map(0x10000, 1, PROT_READ | PROT_WRITE, NULL);
	map(0x20000, 2, PROT_READ | PROT_EXEC, &file);
	map(0x7f1234567000, 1, PROT_NONE, &big);
	length = vmspace_show(space, text, sizeof(text));
	assert_int_equal(length, strlen(text));
	assert_string_equal(text,
		"00010000-00011000 rw-p 00000000 00:00 0 \n"
		"00020000-00022000 r-xp 00000000 fe:01 42"
		"                                 /tmp/a\\012b c\n"
		"7f1234567000-7f1234568000 ---p 00000000 103:1234 12345678901234567890"
		"    /x\n");
	assert_int_equal(vmspace_show(space, text, 10), length);
	assert_int_equal(strlen(text), 9);
	assert_int_equal(vmspace_show(space, NULL, 0), length);
}

static void names_are_checked_and_shown(void **state)
{
	char text[512], longest[82];
	size_t length;

	(void)state;
	map(0x10000, 4, PROT_READ, NULL);
	assert_int_equal(name(0x10000, 2, "arena 1"), 0);
	length = vmspace_show_area(space, 0x10000, text, sizeof(text));
	assert_int_equal(length, strlen(text));
	assert_non_null(strstr(text, " [anon:arena 1]\n"));
	assert_int_equal(name(0x10000, 4, "arena 1"), 0);
	assert_null(strstr(text, "00014000"));
	vmspace_show(space, text, sizeof(text));
	assert_non_null(strstr(text, "00010000-00014000"));
	assert_int_equal(name(0x10000, 1, "not [this]"), -EINVAL);
	assert_int_equal(name(0x10000, 1, "nor\nthis"), -EINVAL);
	assert_int_equal(name(0x10001, 1, "x"), -EINVAL);
	assert_int_equal(name(0x10000, 8, "x"), -ENOMEM);
	memset(longest, 'x', sizeof(longest));
	longest[80] = 0;
	assert_int_equal(name(0x10000, 1, longest), -EINVAL);
	longest[79] = 0;
	assert_int_equal(name(0x10000, 1, longest), 0);
	assert_int_equal(name(0x10000, 4, NULL), 0);
	vmspace_show(space, text, sizeof(text));
	assert_null(strstr(text, "anon"));
}

static void flags_go_both_ways(void **state)
{
	unsigned int unknown;
	char text[128];

	(void)state;
	assert_true(vma_flags_parse("rd wr mr mw me ac ", &unknown) == RW_FLAGS);
	assert_int_equal(unknown, 0);
	vma_flags_parse("rd ?? \n", &unknown);
	assert_int_equal(unknown, 1);
	vma_flags_text(RW_FLAGS, text, sizeof(text));
	assert_string_equal(text, "rd wr mr mw me ac ");
	assert_true(vma_flags_parse("", NULL) == 0);
}

static void bad_input_changes_nothing(void **state)
{
	const struct vmspace_image image = { 0 };
	struct vmspace_area areas[2] = { { .start = 0x20000, .end = 0x30000 },
					 { .start = 0x28000, .end = 0x40000 } };
	struct vmspace_config config;
	struct vmspace *none;
	struct vma_info info;

	(void)state;
	map(0x10000, 1, PROT_READ, NULL);
	assert_int_equal(vmspace_exec(space, areas, 2, &image), -EINVAL);
	areas[1].start = 0x30001;
	assert_int_equal(vmspace_exec(space, areas, 2, &image), -EINVAL);
	/* Locked on fault, but not locked; and across the end of the address space. */
	areas[1].start = 0x30000;
	areas[1].flags = VMA_LOCKONFAULT;
	assert_int_equal(vmspace_exec(space, areas, 2, &image), -EINVAL);
	areas[1].flags = 0;
	areas[1].end = vmspace_config(space)->task_size + 0x1000;
	assert_int_equal(vmspace_exec(space, areas, 2, &image), -EINVAL);
	assert_true(vmspace_lookup(space, 0x10000, &info));
	assert_false(vmspace_lookup(space, 0x11000, &info));
	memset(&req, 0, sizeof(req));
	req.op = (enum vmspace_op)99;
	assert_int_equal(vmspace_call(space, &req), -EINVAL);
	vmspace_config_init(&config);
	config.page_size = 5000;
	assert_int_equal(vmspace_create(&none, &config), -EINVAL);
	assert_null(none);
	vmspace_destroy(NULL);
}

static void host_is_followed_and_judged(void **state)
{
	struct vma_info info;

	(void)state;
	memset(&req, 0, sizeof(req));
	req.op = VMSPACE_MMAP;
	req.mmap = (struct vmspace_mmap){ .length = PAGE, .prot = PROT_READ,
					  .flags = MAP_PRIVATE | MAP_ANONYMOUS };
	req.host.valid = true;
	req.host.result = 0x7e0000000000;
	assert_true(call() > 0);
	assert_true(req.out.differs);
	assert_true(vmspace_lookup(space, 0x7e0000000000, &info));
	/* A mapping that the host refused is not made. */
	req.host.result = -ENODEV;
	req.mmap.addr = 0x7e0000002000;
	assert_int_equal(call(), -ENODEV);
	assert_false(req.out.differs);
	assert_false(vmspace_lookup(space, 0x7e0000002000, &info));
	/* An error that the host did not give is a difference. */
	req.mmap.length = 0;
	req.host.result = 0x7e0000004000;
	assert_int_equal(call(), -EINVAL);
	assert_true(req.out.differs);
}

/* A host that tells nonsense harms nothing. Found by fuzzing. */
static void impossible_answers_change_nothing(void **state)
{
	struct vmspace_request map = { .op = VMSPACE_MMAP, .mmap = {
		.length = 4 * PAGE, .prot = PROT_READ, .flags = MAP_PRIVATE | MAP_ANONYMOUS } };
	struct vmspace_request move = { .op = VMSPACE_MREMAP, .mremap = {
		.old_length = 4 * PAGE, .new_length = 8 * PAGE, .flags = MREMAP_MAYMOVE } };
	const unsigned long task_size = vmspace_config(space)->task_size;
	struct vma_info info;
	char before[512], after[512];
	const char *why;

	(void)state;
	move.mremap.addr = (unsigned long)vmspace_call(space, &map);
	vmspace_show(space, before, sizeof(before));
	map.host = (struct vmspace_host_result){ .valid = true,
						 .result = (long)(task_size - PAGE) };
	vmspace_complete(space, &map);
	assert_true(map.out.differs);
	map.host.result = 12345;
	vmspace_complete(space, &map);
	assert_true(map.out.differs);
	map.mmap.flags |= MAP_HUGETLB; /* four pages are a huge one then */
	map.host.result = (long)(task_size - 4 * PAGE);
	vmspace_complete(space, &map);
	assert_true(map.out.differs);
	move.host = (struct vmspace_host_result){ .valid = true,
						  .result = (long)(move.mremap.addr + PAGE) };
	vmspace_complete(space, &move);
	assert_true(move.out.differs);
	vmspace_show(space, after, sizeof(after));
	assert_string_equal(before, after);
	assert_true(vmspace_check(space, &why));

	/* Below the part that moves, in the same area: that is taken as it is told. */
	map.host.valid = false;
	map.mmap = (struct vmspace_mmap){ .length = 16 * PAGE, .prot = PROT_READ,
					  .flags = MAP_PRIVATE | MAP_ANONYMOUS };
	move.mremap.addr = (unsigned long)vmspace_call(space, &map) + 12 * PAGE;
	move.mremap.old_length = PAGE;
	move.host.result = (long)(move.mremap.addr - 10 * PAGE);
	vmspace_complete(space, &move);
	assert_true(move.out.differs);
	assert_true(vmspace_lookup(space, (unsigned long)move.host.result, &info));
	/* With what is left beside it, which is in no way different. */
	assert_int_equal(info.end - info.start, 12 * PAGE);
	assert_false(vmspace_lookup(space, move.mremap.addr, &info));
	assert_true(vmspace_check(space, &why));
}

/* A hint beyond the address space, or one that wraps when it is rounded up. Found by fuzzing. */
static void huge_mappings_mind_the_end_of_the_address_space(void **state)
{
	static const unsigned long hints[] = { 0x3792929292929292, ~0UL - PAGE };

	(void)state;
	for (int i = 0; i < 2; i++) {
		struct vmspace_request map = { .op = VMSPACE_MMAP, .mmap = {
			.addr = hints[i], .length = 0x2400000, .prot = PROT_WRITE,
			.flags = MAP_PRIVATE,
			.backing = { .kind = VMA_BACKING_HUGETLB, .inode = 1, .name = "/h" } } };
		const char *why;

		vmspace_call(space, &map);
		assert_true(vmspace_check(space, &why));
	}
}

static void base_is_learned(void **state)
{
	const struct vmspace_area areas[2] = {
		{ .start = 0x7f0000000000, .end = 0x7f0000001000, .flags = VMA_READ },
		{ .start = 0x7ffffffde000, .end = 0x7ffffffff000, .flags = VMA_READ | VMA_GROWSDOWN,
		  .backing.name = "[stack]" },
	};
	const struct vmspace_image image = { .start_brk = 0x1000 };
	struct vmspace_config config;
	struct vmspace_stats stats;

	(void)state;
	vmspace_destroy(space);
	vmspace_config_init(&config);
	config.page_size = PAGE;
	assert_int_equal(vmspace_create(&space, &config), 0);
	assert_int_equal(vmspace_exec(space, areas, 2, &image), 0);
	vmspace_stats(space, &stats);
	assert_true(stats.mmap_base == 0x7f0000001000);
	memset(&req, 0, sizeof(req));
	req.op = VMSPACE_MMAP;
	req.mmap = (struct vmspace_mmap){ .length = PAGE, .flags = MAP_PRIVATE | MAP_ANONYMOUS };
	req.host.valid = true;
	req.host.result = 0x7f0000005000;
	assert_int_equal(call(), req.host.result);
	assert_true(req.out.base_learned);
	assert_false(req.out.differs);
	/* From now on it is known. */
	req.host.result = 0x7f0000004000;
	assert_int_equal(call(), req.host.result);
	assert_false(req.out.base_learned || req.out.differs);
	req.host.result = 0x7e0000004000;
	assert_int_equal(call(), 0x7f0000003000);
	assert_true(req.out.differs);
}

/* A static program whose own mappings all lie elsewhere: the first placement shows the base. */
static void a_base_that_nothing_shows_is_learned(void **state)
{
	const struct vmspace_area stack = { .start = 0x7ffffffd0000, .end = 0x7fffffff1000,
					    .flags = RW_FLAGS };
	const struct vmspace_image image = { .start_stack = 0x7fffffff0000 };
	struct vmspace_config config = *vmspace_config(space);
	struct vmspace_stats stats;

	(void)state;
	config.mmap_base = 0;
	for (int bottom_up = 0; bottom_up < 2; bottom_up++) {
		const unsigned long first = bottom_up ? 0x2aaaabcde000 : 0x7fb4a6066000;

		config.mmap_bottom_up = bottom_up;
		assert_int_equal(vmspace_configure(space, &config), 0);
		assert_int_equal(vmspace_exec(space, &stack, 1, &image), 0);
		vmspace_stats(space, &stats);
		assert_int_equal(stats.mmap_base, 0);
		memset(&req, 0, sizeof(req));
		req.op = VMSPACE_MMAP;
		req.mmap = (struct vmspace_mmap){ .length = 2 * PAGE,
						  .flags = MAP_PRIVATE | MAP_ANONYMOUS };
		req.host.valid = true;
		req.host.result = (long)first;
		assert_int_equal(call(), first);
		assert_true(req.out.base_learned && !req.out.differs);
		req.host.valid = false;
		req.mmap.length = PAGE;
		assert_int_equal(call(), bottom_up ? first + 2 * PAGE : first - PAGE);
		/* ... to the page. */
		req.op = VMSPACE_MUNMAP;
		req.munmap = (struct vmspace_munmap){ first, 2 * PAGE };
		assert_int_equal(call(), 0);
		req.op = VMSPACE_MMAP;
		req.mmap = (struct vmspace_mmap){ .length = PAGE,
						  .flags = MAP_PRIVATE | MAP_ANONYMOUS };
		assert_int_equal(call(), bottom_up ? first : first + PAGE);
	}
}

/* A page that the host does not have, a huge one say, comes before the hole behind the area. */
static void populating_fails_before_a_hole(void **state)
{
	(void)state;
	for (int some = 0; some < 2; some++) {
		assert_int_equal(map(0x10000, 2, PROT_READ, NULL), 0x10000);
		memset(&req, 0, sizeof(req));
		req.op = VMSPACE_MADVISE;
		req.madvise = (struct vmspace_madvise){ some ? 0x11000 : 0x12000, 2 * PAGE,
							MADV_POPULATE_READ };
		req.host.valid = true;
		req.host.result = -EFAULT;
		assert_int_equal(call(), some ? -EFAULT : -ENOMEM);
		assert_int_equal(req.out.differs, !some);
	}
}

/* The end of what is to be moved lies below its start. */
static void a_refused_move_whose_length_wraps(void **state)
{
	(void)state;
	assert_int_equal(map(0x10000, 4, PROT_READ, NULL), 0x10000);
	memset(&req, 0, sizeof(req));
	req.op = VMSPACE_MREMAP;
	req.mremap = (struct vmspace_mremap){ 0x11000, -0x10000UL, PAGE,
					      MREMAP_MAYMOVE | MREMAP_FIXED, 0x40000 };
	req.host.valid = true;
	req.host.result = -ENOMEM;
	assert_int_equal(call(), -ENOMEM);
	assert_int_equal(map(0x11000, 1, PROT_READ, NULL), 0x11000);
}

/* ... so the destination may lie over the source, whose first page is then gone: it is missed. */
static void a_move_whose_source_is_lost(void **state)
{
	struct vma_info info;

	(void)state;
	assert_int_equal(map(0x43000, 3, PROT_READ, NULL), 0x43000);
	memset(&req, 0, sizeof(req));
	req.op = VMSPACE_MREMAP;
	req.mremap = (struct vmspace_mremap){ 0x43000, -0x42000UL, 3 * PAGE,
					      MREMAP_MAYMOVE | MREMAP_FIXED, 0x41000 };
	req.host.valid = true;
	req.host.result = -EFAULT;
	assert_int_equal(call(), -EFAULT);
	assert_false(vmspace_lookup(space, 0x43000, &info));
	assert_true(vmspace_lookup(space, 0x44000, &info));
}

/* Observed on 6.12, 6.16, 6.17, 6.18 and 7.3. */
static void a_seal_comes_before_the_size_of_pages(void **state)
{
	const unsigned long at = 0x10000000000, huge = 2UL << 20;
	struct vmspace_config config = *vmspace_config(space);

	(void)state;
	config.pmd_size = huge;
	assert_int_equal(vmspace_configure(space, &config), 0);
	memset(&req, 0, sizeof(req));
	req.op = VMSPACE_MMAP;
	req.mmap = (struct vmspace_mmap){ .addr = at, .length = 4 * huge, .prot = PROT_READ,
					  .flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED |
						   MAP_HUGETLB | MAP_NORESERVE };
	assert_int_equal(call(), at);
	for (int sealed = 0; sealed < 2; sealed++) {
		req.op = VMSPACE_MREMAP;
		req.mremap = (struct vmspace_mremap){ at, huge, huge, 0, 0x10000030000 };
		assert_int_equal(call(), sealed ? -EPERM : -EINVAL);
		req.mremap = (struct vmspace_mremap){ at, 4 * huge, 5 * huge, MREMAP_MAYMOVE, 0 };
		assert_int_equal(call(), sealed ? -EPERM : -EINVAL);
		req.op = VMSPACE_MSEAL;
		req.mseal = (struct vmspace_mseal){ at, 4 * huge, 0 };
		assert_int_equal(call(), 0);
	}
}

static void break_is_learned(void **state)
{
	const struct vmspace_area heap = { .start = 0x10000, .end = 0x12000,
					   .flags = RW_FLAGS, .backing.name = "[heap]" };
	const struct vmspace_image image = { .start_brk = 0x10000 };

	(void)state;
	assert_int_equal(vmspace_exec(space, &heap, 1, &image), 0);
	memset(&req, 0, sizeof(req));
	req.op = VMSPACE_BRK;
	req.host.valid = true;
	req.host.result = 0x11234;
	assert_int_equal(call(), 0x11234);
	assert_false(req.out.differs);
	req.host.valid = false;
	req.brk.brk = 0x13001;
	assert_int_equal(call(), 0x13001);
	req.brk.brk = 0;
	assert_int_equal(call(), 0x13001);
	/* A refusal within a page, where there is nothing to map or unmap. */
	req.host.valid = true;
	req.brk.brk = 0x13005;
	req.host.result = 0x13001;
	assert_int_equal(call(), 0x13001);
	req.host.valid = false;
	req.brk.brk = 0;
	assert_int_equal(call(), 0x13001);
}

/* The space with only a heap of no size, @data bytes of data, and limits that brk() minds. */
static unsigned long begin_break(unsigned long data, struct vmspace_config *config)
{
	const struct vmspace_image image = { .start_data = 0x400000, .end_data = 0x400000 + data,
					     .start_brk = 0x600000 };

	assert_int_equal(vmspace_exec(space, NULL, 0, &image), 0);
	*config = *vmspace_config(space);
	config->rlimit_as = config->rlimit_data = config->rlimit_memlock = VMSPACE_NO_LIMIT;
	return image.start_brk;
}

static long set_break(unsigned long to)
{
	memset(&req, 0, sizeof(req));
	req.op = VMSPACE_BRK;
	req.brk.brk = to;
	return call();
}

static void the_break_keeps_to_its_limits(void **state)
{
	struct vmspace_config config;
	unsigned long brk = begin_break(0x3210, &config);

	(void)state;
	/* To the byte, with the data of the program. */
	config.rlimit_data = 0x3210 + 2 * PAGE + 5;
	assert_int_equal(vmspace_configure(space, &config), 0);
	assert_int_equal(set_break(brk + 2 * PAGE + 6), brk);
	assert_int_equal(set_break(brk + 2 * PAGE + 5), brk + 2 * PAGE + 5);

	brk = begin_break(0, &config);
	config.rlimit_as = 2 * PAGE;
	assert_int_equal(vmspace_configure(space, &config), 0);
	assert_int_equal(set_break(brk + 2 * PAGE + 1), brk);
	assert_int_equal(set_break(brk + 2 * PAGE), brk + 2 * PAGE);

	brk = begin_break(0, &config);
	config.max_map_count = 1;
	assert_int_equal(vmspace_configure(space, &config), 0);
	map(0x10000, 1, PROT_READ, NULL);
	assert_int_equal(set_break(brk + PAGE), brk + PAGE);
	assert_int_equal(set_break(brk + 2 * PAGE), brk + PAGE); /* there are two by now */
}

static void a_locked_heap_is_within_the_limit_of_locked_pages(void **state)
{
	struct vmspace_config config;
	unsigned long brk = begin_break(0, &config);
	struct vma_info info;

	(void)state;
	config.rlimit_memlock = 2 * PAGE;
	config.lock_privileged = false;
	assert_int_equal(vmspace_configure(space, &config), 0);
	memset(&req, 0, sizeof(req));
	req.op = VMSPACE_MLOCKALL;
	req.mlockall.flags = MCL_FUTURE;
	assert_int_equal(call(), 0);
	assert_int_equal(set_break(brk + 2 * PAGE + 1), brk);
	assert_int_equal(set_break(brk + 2 * PAGE), brk + 2 * PAGE);
	assert_true(vmspace_lookup(space, brk, &info));
	assert_true(info.flags == (RW_FLAGS | VMA_LOCKED));
	assert_true(info.anon_id); /* its pages are there */
	/* Where the host's limit is another one, the heap is as long as it says. */
	memset(&req, 0, sizeof(req));
	req.op = VMSPACE_BRK;
	req.brk.brk = brk + 3 * PAGE;
	req.host.valid = true;
	req.host.result = (long)req.brk.brk;
	assert_int_equal(call(), brk + 3 * PAGE);
	assert_true(req.out.differs);
	assert_true(vmspace_lookup(space, brk + 2 * PAGE, &info));
}

static void the_heap_may_be_executable_and_end_the_address_space(void **state)
{
	unsigned long end = vmspace_config(space)->task_size;
	const struct vmspace_image image = { .start_brk = end - 2 * PAGE };
	struct vmspace_config config = *vmspace_config(space);
	struct vma_info info;

	(void)state;
	assert_int_equal(vmspace_exec(space, NULL, 0, &image), 0);
	config.read_implies_exec = true;
	assert_int_equal(vmspace_configure(space, &config), 0);
	assert_int_equal(set_break(end + 1), end - 2 * PAGE);
	assert_int_equal(set_break(end), end);
	assert_true(vmspace_lookup(space, end - PAGE, &info));
	assert_true(info.flags == (RW_FLAGS | VMA_EXEC));
}

static int stop_at_second(void *ctx, const char *line, size_t length)
{
	assert_int_equal(line[length - 1], '\n');
	return ++*(int *)ctx == 2 ? 7 : 0;
}

static void lines_one_by_one(void **state)
{
	int seen = 0;

	(void)state;
	for (unsigned long i = 0; i < 5; i++)
		map(0x10000 + i * 2 * PAGE, 1, PROT_READ, NULL);
	assert_int_equal(vmspace_show_lines(space, stop_at_second, &seen), 7);
	assert_int_equal(seen, 2);
}

/* A segment of no size, or of one that wraps when it is rounded up. Found by fuzzing. */
static void a_segment_has_a_size(void **state)
{
	static const unsigned long sizes[] = { 0, ~0UL };

	(void)state;
	for (int i = 0; i < 2; i++) {
		memset(&req, 0, sizeof(req));
		req.op = VMSPACE_SHMAT;
		req.shmat = (struct vmspace_shmat){ .addr = 0x10000, .size = sizes[i] };
		assert_int_equal(call(), -EINVAL);
		assert_false(req.out.out_of_memory);
	}
}

/* Without a limit on the stack exec puts mappings below the program, else above it. */
static void the_base_depends_on_the_stack_limit_at_exec(void **state)
{
	const struct vmspace_image image = { .start_stack = 0x7fffffff0000 };
	struct vmspace_config config = *vmspace_config(space);
	struct vmspace_area areas[] = {
		{ .start = 0x155555000000, .end = 0x155555001000, .flags = RW_FLAGS },
		{ .start = 0x555555554000, .end = 0x555555556000, .flags = RW_FLAGS },
		{ .start = 0x7f0000000000, .end = 0x7f0000003000, .flags = RW_FLAGS },
		{ .start = 0x7ffffffe0000, .end = 0x7fffffff1000, .flags = RW_FLAGS },
	};
	struct vmspace_stats stats;

	(void)state;
	config.mmap_base = 0;
	for (int now_limited = 0; now_limited < 2; now_limited++) {
		config.rlimit_stack = now_limited ? 8UL << 20 : VMSPACE_NO_LIMIT;
		assert_int_equal(vmspace_configure(space, &config), 0);
		areas[2].start = areas[1].end;
		areas[2].end = areas[1].end + PAGE; /* a heap */
		assert_int_equal(vmspace_exec(space, areas, 4, &image), 0);
		vmspace_stats(space, &stats);
		assert_true(stats.mmap_base == areas[0].end);
		areas[2].start = 0x7f0000000000;
		areas[2].end = 0x7f0000003000;
		assert_int_equal(vmspace_exec(space, areas + 1, 3, &image), 0);
		vmspace_stats(space, &stats);
		assert_true(stats.mmap_base == areas[2].end);
	}
}

/* MADV_HWPOISON says nothing about areas, but who may give it. */
static void poisoning_takes_a_privilege(void **state)
{
	struct vmspace_config config = *vmspace_config(space);

	(void)state;
	map(0x10000, 1, PROT_READ, NULL);
	for (int admin = 0; admin < 2; admin++) {
		config.admin = admin;
		assert_int_equal(vmspace_configure(space, &config), 0);
		memset(&req, 0, sizeof(req));
		req.op = VMSPACE_MADVISE;
		req.madvise = (struct vmspace_madvise){ 0x10000, PAGE, MADV_HWPOISON };
		assert_int_equal(call(), admin ? 0 : -EPERM);
		req.madvise.length = 0;
		assert_int_equal(call(), 0);
	}
}

/* Where there are no huge pages, none can be mapped. */
static void huge_pages_need_a_size(void **state)
{
	struct vmspace_config config = *vmspace_config(space);

	(void)state;
	config.pmd_size = 0;
	assert_int_equal(vmspace_configure(space, &config), 0);
	memset(&req, 0, sizeof(req));
	req.op = VMSPACE_MMAP;
	req.mmap = (struct vmspace_mmap){ .length = 2UL << 20, .prot = PROT_READ };
	req.mmap.flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB;
	assert_int_equal(call(), -EINVAL);
}

/* What a munmap cuts off needs no area of its own; only a hole in the middle makes one more. */
static void unmapped_edges_make_no_area(void **state)
{
	struct vmspace_stats stats;

	(void)state;
	map(0x10000, 8, PROT_READ, NULL);
	memset(&req, 0, sizeof(req));
	req.op = VMSPACE_MUNMAP;
	req.munmap = (struct vmspace_munmap){ 0x10000, PAGE };
	assert_int_equal(call(), 0);
	req.munmap = (struct vmspace_munmap){ 0x10000 + 7 * PAGE, PAGE };
	assert_int_equal(call(), 0);
	vmspace_stats(space, &stats);
	assert_int_equal(stats.areas_peak, 1);
	assert_int_equal(stats.splits, 2);
	req.munmap = (struct vmspace_munmap){ 0x10000 + 3 * PAGE, PAGE };
	assert_int_equal(call(), 0);
	vmspace_stats(space, &stats);
	assert_int_equal(stats.areas_peak, 2);
	assert_int_equal(vmspace_count_areas(space), 2);
	assert_int_equal(stats.splits, 4);
	assert_int_equal(stats.total_vm, 5);
}

/* The file is none of its business. */
static void anonymous_memory_has_no_driver(void **state)
{
	struct vma_info info;

	(void)state;
	memset(&req, 0, sizeof(req));
	req.op = VMSPACE_MMAP;
	req.mmap = (struct vmspace_mmap){ .length = PAGE, .prot = PROT_READ,
					  .flags = MAP_SHARED | MAP_ANONYMOUS,
					  .driver_flags = VMA_PFNMAP | VMA_IO };
	assert_true(call() > 0);
	assert_true(vmspace_lookup(space, (unsigned long)req.out.result, &info));
	assert_false(info.flags & (VMA_PFNMAP | VMA_IO));
}

/*
 * The pages of an io_uring are mapped at once, and there is no handler that would bring others, as
 * there is one for [vvar].
 */
static void pages_of_a_driver_are_dropped(void **state)
{
	const struct vma_backing backings[] = {
		{ .kind = VMA_BACKING_FILE, .name = "anon_inode:[io_uring]" },
		{ .kind = VMA_BACKING_SPECIAL, .name = "[vvar]" },
	};
	const unsigned long at = 0x10000000000;

	(void)state;
	for (int i = 0; i < 4; i++) {
		memset(&req, 0, sizeof(req));
		req.op = VMSPACE_MMAP;
		req.mmap = (struct vmspace_mmap){ .addr = at, .length = PAGE,
						  .prot = PROT_READ | PROT_WRITE,
						  .flags = MAP_SHARED | MAP_FIXED,
						  .backing = backings[i / 2],
						  .driver_flags = VMA_MIXEDMAP | VMA_DONTEXPAND };
		if (i != 3)
			assert_int_equal(call(), at);
		req.op = VMSPACE_MADVISE;
		req.madvise = (struct vmspace_madvise){ at, PAGE, MADV_DONTNEED };
		assert_true(i % 2 == 0 || !call());
		req.madvise.advice = 23; /* MADV_POPULATE_WRITE */
		assert_int_equal(call(), i == 1 ? -EFAULT : 0);
		req.op = VMSPACE_MLOCK;
		req.mlock = (struct vmspace_mlock){ .addr = at, .length = PAGE };
		assert_int_equal(call(), i == 1 ? -ENOMEM : 0);
	}
}

/* Found by somebody who had only the headers: each ended in an assertion, or in a broken space. */
static void nonsense_is_refused(void **state)
{
	const struct vmspace_image reversed = { .start_brk = 0x600000, .brk = 0x500000 };
	const struct vmspace_image below = { .start_brk = 0x600000 };
	const struct vmspace_area heap = { .start = 0x400000, .end = 0x402000, .flags = VMA_READ,
					   .backing.name = "[heap]" };
	struct vmspace_config config = *vmspace_config(space);
	const char *reason = "";

	(void)state;
	for (int log = 1; log < 12; log++) {
		memset(&req, 0, sizeof(req));
		req.op = VMSPACE_MMAP;
		req.mmap = (struct vmspace_mmap){ .length = PAGE, .prot = PROT_READ,
						  .flags = MAP_PRIVATE | MAP_ANONYMOUS |
							   MAP_HUGETLB | log << 26 };
		assert_int_equal(call(), -EINVAL);
	}
	req.mmap.flags = MAP_PRIVATE;
	req.mmap.backing = (struct vma_backing){ .kind = VMA_BACKING_HUGETLB, .huge_size = 3 };
	assert_int_equal(call(), -EINVAL);
	config.pmd_size = 0;
	assert_int_equal(vmspace_configure(space, &config), 0);
	req.mmap.backing.huge_size = 0;
	assert_int_equal(call(), -EINVAL);
	req.mmap = (struct vmspace_mmap){ .length = PAGE, .flags = MAP_PRIVATE,
					  .backing.kind = VMA_BACKING_FILE,
					  .driver_flags = VMA_LOCKONFAULT };
	assert_int_equal(call(), -EINVAL);
	assert_int_equal(vmspace_exec(space, NULL, 0, &reversed), -EINVAL);
	assert_int_equal(vmspace_exec(space, &heap, 1, &below), 0);
	assert_true(vmspace_check(space, &reason));
}

/* The same arguments: where mmap() maps is where vmspace_place() says. */
static void places_are_those_of_mmap(void **state)
{
	const struct vma_backing huge = { .kind = VMA_BACKING_HUGETLB, .name = "/h", .inode = 3 };
	const struct vma_backing overlaid = {
		.kind = VMA_BACKING_FILE, .name = "/f", .inode = 1, .file_id = 3,
		.flags = VMA_BACKING_ALIGN_HUGE | VMA_BACKING_MAP_ALONE,
	};
	const struct {
		unsigned long length, offset;
		int flags;
		const struct vma_backing *backing;
	} cases[] = {
		{ 0x600000, 0xc000, MAP_PRIVATE | MAP_ANONYMOUS, NULL },
		{ 0x600000, 0xc000, MAP_SHARED | MAP_ANONYMOUS, NULL },
		{ 0x2000, 0, MAP_PRIVATE, &huge },
		{ 0x3fd000, 0x9000, MAP_PRIVATE, &overlaid },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		long place = vmspace_place(space, 0, cases[i].length, cases[i].flags,
					   cases[i].backing, cases[i].offset);

		memset(&req, 0, sizeof(req));
		req.op = VMSPACE_MMAP;
		req.mmap = (struct vmspace_mmap){ .length = cases[i].length, .prot = PROT_READ,
						  .flags = cases[i].flags,
						  .offset = cases[i].offset };
		if (cases[i].backing)
			req.mmap.backing = *cases[i].backing;
		assert_int_equal(call(), place);
		assert_true(place > 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(nonsense_is_refused, create, destroy),
		cmocka_unit_test_setup_teardown(places_are_those_of_mmap, create, destroy),
		cmocka_unit_test_setup_teardown(anonymous_memory_has_no_driver, create, destroy),
		cmocka_unit_test_setup_teardown(pages_of_a_driver_are_dropped, create, destroy),
		SPACE(lines_are_the_kernels), SPACE(names_are_checked_and_shown),
		SPACE(flags_go_both_ways), SPACE(bad_input_changes_nothing),
		SPACE(host_is_followed_and_judged), SPACE(base_is_learned),
		SPACE(a_base_that_nothing_shows_is_learned), SPACE(populating_fails_before_a_hole),
		SPACE(a_refused_move_whose_length_wraps), SPACE(a_move_whose_source_is_lost),
		SPACE(break_is_learned), SPACE(the_break_keeps_to_its_limits),
		SPACE(a_locked_heap_is_within_the_limit_of_locked_pages),
		SPACE(the_heap_may_be_executable_and_end_the_address_space),
		SPACE(a_seal_comes_before_the_size_of_pages),
		SPACE(lines_one_by_one), SPACE(impossible_answers_change_nothing),
		SPACE(huge_mappings_mind_the_end_of_the_address_space), SPACE(a_segment_has_a_size),
		SPACE(huge_pages_need_a_size), SPACE(unmapped_edges_make_no_area),
		SPACE(the_base_depends_on_the_stack_limit_at_exec),
		SPACE(poisoning_takes_a_privilege),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
