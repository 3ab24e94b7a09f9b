/* SPDX-License-Identifier: MIT */
/*
 * vmspace_history.c - histories of random calls, against the texts of the space at each moment.
 * Takes a seed; prints the one it draws.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <cmocka.h>

#include <mapletree/vmspace_history.h>
#include <mapletree/vmspace_rules.h>

#include "mman_names.h"

#define PAGE 4096UL
#define BASE 0x10000000UL
#define PAGES 200
#define CALLS 1500
#define RW (PROT_READ | PROT_WRITE)

static uint64_t seed, random_state;

/* How many more blocks the library gets; below 0: any number. */
static long allowed = -1;

void *__real_malloc(size_t size);
void *__wrap_malloc(size_t size);
void *__real_realloc(void *block, size_t size);
void *__wrap_realloc(void *block, size_t size);

static bool is_refused(void)
{
	if (allowed < 0)
		return false;
	return allowed == 0 || allowed-- == 0;
}

void *__wrap_malloc(size_t size)
{
	return is_refused() ? NULL : __real_malloc(size);
}

void *__wrap_realloc(void *block, size_t size)
{
	return is_refused() ? NULL : __real_realloc(block, size);
}

static unsigned int draw(unsigned int below)
{
	random_state = random_state * 6364136223846793005ULL + 1442695040888963407ULL;
	return (unsigned int)(random_state >> 33) % below;
}

static void set_rule(struct vmspace_config *config, const char *name)
{
	int rule = vmspace_rule_find(name);

	assert_true(rule >= 0);
	assert_int_equal(vmspace_config_set_rule(config, (unsigned int)rule, true), 0);
}

static struct vmspace *make_space(bool vsyscall)
{
	struct vmspace_image image = { .start_brk = BASE + 0x1000000, .brk = BASE + 0x1000000,
				       .vsyscall = vsyscall };
	struct vmspace_config config;
	struct vmspace *space;

	vmspace_config_init(&config);
	config.overcommit = 1;
	set_rule(&config, "guards");
	set_rule(&config, "guard-flag");
	assert_int_equal(vmspace_create(&space, &config), 0);
	assert_int_equal(vmspace_exec(space, NULL, 0, &image), 0);
	return space;
}

static void draw_request(struct vmspace_request *req)
{
	unsigned long addr = BASE + draw(PAGES) * PAGE, length = (1 + draw(20)) * PAGE;
	static const char *const names[] = { NULL, "one", "another" };
	static const int advices[] = { MADV_GUARD_INSTALL, MADV_DONTNEED, MADV_DONTFORK,
				       MADV_DOFORK, MADV_GUARD_INSTALL };

	memset(req, 0, sizeof(*req));
	switch (draw(9)) {
	case 0: case 1: case 2:
		req->op = VMSPACE_MMAP;
		req->mmap = (struct vmspace_mmap){
			.addr = addr, .length = length, .prot = draw(3) ? RW : PROT_READ,
			.flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED,
		};
		break;
	case 3:
		req->op = VMSPACE_MUNMAP;
		req->munmap = (struct vmspace_munmap){ addr, length };
		break;
	case 4:
		req->op = VMSPACE_MPROTECT;
		req->mprotect = (struct vmspace_mprotect){ addr, length, draw(2) ? RW : 0, -1 };
		break;
	case 5:
		req->op = VMSPACE_MREMAP;
		req->mremap = (struct vmspace_mremap){
			addr, length, (1 + draw(20)) * PAGE,
			draw(2) ? MREMAP_MAYMOVE : MREMAP_MAYMOVE | MREMAP_FIXED,
			BASE + draw(PAGES) * PAGE,
		};
		break;
	case 6:
		req->op = VMSPACE_SET_ANON_NAME;
		req->set_anon_name = (struct vmspace_set_anon_name){ addr, length, names[draw(3)] };
		break;
	case 7:
		req->op = VMSPACE_MADVISE;
		req->madvise = (struct vmspace_madvise){ addr, length, advices[draw(5)] };
		break;
	default:
		req->op = VMSPACE_BRK;
		req->brk.brk = BASE + 0x1000000 + draw(30) * PAGE;
	}
}

struct text {
	char *is;
	size_t length;
};

static int add_line(void *ctx, const char *line, size_t length)
{
	struct text *text = ctx;

	text->is = realloc(text->is, text->length + length + 1);
	memcpy(text->is + text->length, line, length);
	text->length += length;
	text->is[text->length] = '\0';
	return 0;
}

static struct text text_of(const struct vmspace *space)
{
	struct text text = { calloc(1, 1), 0 };

	assert_int_equal(vmspace_show_lines(space, add_line, &text), 0);
	return text;
}

static void expect_text(const struct vmspace_history *history, uint64_t when, const char *expected)
{
	struct text text = { calloc(1, 1), 0 };
	struct vma_info info;
	unsigned long at = 0;
	size_t areas = 0;

	assert_int_equal(vmspace_history_show(history, when, add_line, &text), 0);
	if (strcmp(text.is, expected))
		fail_msg("seed %lu, time %lu: expected\n%sgot\n%s", (unsigned long)seed,
			 (unsigned long)when, expected, text.is);
	for (; vmspace_history_next(history, when, at, &info); at = info.end, areas++) {
		struct text line = { calloc(1, 1), 0 };
		struct vma_info same;

		assert_true(info.start >= at);
		assert_true(vmspace_history_lookup(history, when, info.start, &same));
		assert_true(same.start == info.start && same.end == info.end);
		assert_true(vmspace_history_lookup(history, when, info.end - 1, &same));
		assert_int_equal(same.start, info.start);
		if (info.start > at)
			assert_false(vmspace_history_lookup(history, when, info.start - 1, &same) &&
				     same.end > info.start);
		vmspace_history_show_area(history, when, info.start, add_line, &line);
		assert_non_null(strstr(text.is, line.is));
		free(line.is);
	}
	for (const char *c = expected; *c; c++)
		areas -= *c == '\n';
	assert_int_equal(areas, strstr(expected, "[vsyscall]") ? (size_t)-1 : 0);
	free(text.is);
}

/* All that is told of areas is the same in the newest moment and in the space. */
static void expect_areas(const struct vmspace_history *history, const struct vmspace *space)
{
	struct vma_info was, is;

	for (unsigned long at = 0; vmspace_next(space, at, &is); at = is.end) {
		assert_true(vmspace_history_next(history, UINT64_MAX, at, &was));
		assert_true(was.start == is.start && was.end == is.end);
		if (was.flags != is.flags)
			fail_msg("seed %lu: %lx: flags %lx, not %lx", (unsigned long)seed, is.start,
				 (unsigned long)was.flags, (unsigned long)is.flags);
		assert_int_equal(was.page_offset, is.page_offset);
		assert_int_equal(was.pkey, is.pkey);
	}
}

/*
 * Every moment is told as it was, whether or not outcomes say what has changed, and if they say too
 * little.
 */
static void every_moment_is_kept(void **state)
{
	struct text *texts = calloc(CALLS + 1, sizeof(*texts));
	struct vmspace *space = make_space(true);
	struct vmspace_history *history;

	(void)state;
	assert_int_equal(vmspace_history_create(&history), 0);
	expect_text(history, 5, "");
	assert_int_equal(vmspace_history_record(history, space, NULL, 0), 0);
	texts[0] = text_of(space);
	for (uint64_t i = 1; i <= CALLS; i++) {
		struct vmspace_request req;
		size_t count = vmspace_history_count(history);

		draw_request(&req);
		vmspace_call(space, &req);
		if (draw(10) == 0) {
			draw_request(&req);
			vmspace_call(space, &req);
			assert_int_equal(vmspace_history_record(history, space,
								draw(2) ? NULL : &req.out,
								10 * i), 0);
		} else {
			assert_int_equal(vmspace_history_record(history, space, &req.out, 10 * i),
					 0);
		}
		texts[i] = text_of(space);
		expect_areas(history, space);
		if (strcmp(texts[i].is, texts[i - 1].is))
			assert_int_equal(vmspace_history_count(history), count + 1);
	}
	assert_true(vmspace_history_count(history) > CALLS / 4);
	vmspace_destroy(space);
	for (uint64_t i = 0; i <= CALLS; i++) {
		expect_text(history, 10 * i, texts[i].is);
		expect_text(history, 10 * i + draw(10), texts[i].is);
		if (i)
			expect_text(history, 10 * i - 1, texts[i - 1].is);
	}
	expect_text(history, UINT64_MAX, texts[CALLS].is);
	vmspace_history_destroy(history);
	for (uint64_t i = 0; i <= CALLS; i++)
		free(texts[i].is);
	free(texts);
}

static void time_does_not_go_back(void **state)
{
	struct vmspace_request req = { .op = VMSPACE_MMAP, .mmap = {
		BASE, PAGE, RW, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, 0, { 0 }, false, 0 } };
	struct vmspace *space = make_space(false);
	struct vmspace_history *history;
	struct vma_info info;

	(void)state;
	assert_int_equal(vmspace_history_create(&history), 0);
	assert_int_equal(vmspace_history_record(history, space, NULL, 7), 0);
	vmspace_call(space, &req);
	assert_int_equal(vmspace_history_record(history, space, &req.out, 6), -EINVAL);
	assert_int_equal(vmspace_history_count(history), 1);
	assert_int_equal(vmspace_history_record(history, space, &req.out, 7), 0);
	assert_int_equal(vmspace_history_record(history, space, NULL, 9), 0);
	assert_int_equal(vmspace_history_count(history), 2); /* nothing had changed */
	assert_int_equal(vmspace_history_record(history, space, NULL, 8), -EINVAL);
	assert_true(vmspace_history_lookup(history, 7, BASE, &info)); /* the later one counts */
	assert_false(vmspace_history_lookup(history, 6, BASE, &info));
	vmspace_destroy(space);
	vmspace_history_destroy(history);
	vmspace_history_destroy(NULL);
}

static int count_line(void *ctx, const char *line, size_t length)
{
	assert_int_equal(line[length - 1], '\n');
	return ++*(int *)ctx == 100;
}

static void expect_lines(const struct vmspace_history *history, uint64_t when, int expected)
{
	int count = 0;

	assert_int_equal(vmspace_history_show(history, when, count_line, &count), 0);
	assert_int_equal(count, expected);
	count = 99; /* the first line ends it */
	assert_int_equal(vmspace_history_show(history, when, count_line, &count), 1);
	assert_int_equal(count, 100);
}

/* Another space, in which everything is different. */
static void another_space_takes_over(void **state)
{
	struct vmspace_request req = { .op = VMSPACE_MMAP, .mmap = {
		BASE, 4 * PAGE, RW, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, 0, { 0 }, false, 0 } };
	struct vmspace *one = make_space(true), *two = make_space(false);
	struct vmspace_history *history;
	struct vma_info info;

	(void)state;
	assert_int_equal(vmspace_history_create(&history), 0);
	vmspace_call(one, &req);
	assert_int_equal(vmspace_history_record(history, one, NULL, 1), 0);
	req.mmap.addr = BASE + 2 * PAGE;
	vmspace_call(two, &req);
	assert_int_equal(vmspace_history_record(history, two, NULL, 2), 0);
	vmspace_destroy(one);
	vmspace_destroy(two);
	assert_true(vmspace_history_lookup(history, 1, BASE + 3 * PAGE, &info));
	assert_int_equal(info.start, BASE);
	assert_true(vmspace_history_lookup(history, 2, BASE + 3 * PAGE, &info));
	assert_int_equal(info.start, BASE + 2 * PAGE);
	assert_false(vmspace_history_lookup(history, 2, BASE, &info));
	expect_lines(history, 1, 2); /* the other one has no [vsyscall] */
	expect_lines(history, 2, 1);
	vmspace_history_destroy(history);
}

/* A flag that a call sets in place is among the changes that its outcome tells. */
static void guards_are_recorded(void **state)
{
	struct vmspace_request req = { .op = VMSPACE_MMAP, .mmap = {
		BASE, 2 * PAGE, RW, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, 0, { 0 }, false, 0 } };
	struct vmspace *space = make_space(false);
	struct vmspace_history *history;
	struct vma_info info;

	(void)state;
	assert_int_equal(vmspace_history_create(&history), 0);
	vmspace_call(space, &req);
	assert_int_equal(vmspace_history_record(history, space, NULL, 1), 0);
	req = (struct vmspace_request){ .op = VMSPACE_MADVISE,
					.madvise = { BASE, PAGE, MADV_GUARD_INSTALL } };
	assert_int_equal(vmspace_call(space, &req), 0);
	assert_int_equal(req.out.event_count, 1);
	assert_int_equal(req.out.events[0].kind, VMSPACE_EVENT_CHANGE);
	assert_true(req.out.events[0].start == BASE && req.out.events[0].end == BASE + 2 * PAGE);
	assert_int_equal(vmspace_history_record(history, space, &req.out, 2), 0);
	assert_true(vmspace_history_lookup(history, 2, BASE, &info));
	assert_true(info.flags & VMA_MAYBE_GUARD);
	assert_true(vmspace_history_lookup(history, 1, BASE, &info));
	assert_false(info.flags & VMA_MAYBE_GUARD);
	assert_int_equal(vmspace_call(space, &req), 0); /* it is marked already */
	assert_int_equal(req.out.event_count, 0);
	vmspace_destroy(space);
	vmspace_history_destroy(history);
}

static unsigned long three_pages_lower(void *ctx, unsigned long start, unsigned long end)
{
	(void)ctx;
	(void)end;
	return start - 3 * PAGE;
}

/* A mirror learns from the host how far a stack has grown: of that no outcome tells. */
static void stacks_that_grew_are_recorded(void **state)
{
	const struct vmspace_area stack = {
		.start = 0x7ffffffde000, .end = 0x7ffffffff000, .has_anon = true,
		.flags = VMA_READ | VMA_WRITE | VMA_MAYREAD | VMA_MAYWRITE | VMA_MAYEXEC |
			 VMA_ACCOUNT | VMA_GROWSDOWN };
	const struct vmspace_image image = { .start_stack = 0x7fffffffe000 };
	struct vmspace_request req = { .op = VMSPACE_MPROTECT,
				       .mprotect = { stack.start, PAGE, RW, -1 } };
	struct vmspace_history *history;
	struct vmspace_config config;
	struct vmspace *space;
	struct text text;

	(void)state;
	vmspace_config_init(&config);
	config.host.stack_start = three_pages_lower;
	config.rlimit_stack = 64UL << 20;
	assert_int_equal(vmspace_create(&space, &config), 0);
	assert_int_equal(vmspace_exec(space, &stack, 1, &image), 0);
	assert_int_equal(vmspace_history_create(&history), 0);
	assert_int_equal(vmspace_history_record(history, space, NULL, 1), 0);
	text = text_of(space);
	expect_text(history, 1, text.is);
	free(text.is);
	assert_int_equal(vmspace_call(space, &req), 0);
	assert_int_equal(vmspace_history_record(history, space, &req.out, 2), 0);
	text = text_of(space);
	assert_non_null(strstr(text.is, "7ffffffdb000-"));
	expect_text(history, 2, text.is);
	free(text.is);
	vmspace_destroy(space);
	vmspace_history_destroy(history);
}

/* A record that fails has changed nothing, wherever memory ran out. */
static void records_without_memory(void **state)
{
	struct vmspace *space = make_space(true);
	struct vmspace_history *history;
	unsigned long refused = 0;

	(void)state;
	assert_int_equal(vmspace_history_create(&history), 0);
	for (uint64_t i = 0; i < 300; i++) {
		const struct vmspace_outcome *out = NULL;
		struct text before = text_of(space), after;
		struct vmspace_request req;
		long more = 0;

		if (i) {
			draw_request(&req);
			vmspace_call(space, &req);
			out = &req.out;
		}
		after = text_of(space);
		for (int err = -ENOMEM; err; more++) {
			allowed = more;
			err = vmspace_history_record(history, space, out, i);
			allowed = -1;
			if (!err)
				continue;
			assert_int_equal(err, -ENOMEM);
			refused++;
			expect_text(history, i, i ? before.is : "");
			out = NULL;
		}
		expect_text(history, i, after.is);
		free(before.is);
		free(after.is);
	}
	assert_true(refused > 300);
	vmspace_destroy(space);
	vmspace_history_destroy(history);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_moment_is_kept),
		cmocka_unit_test(time_does_not_go_back),
		cmocka_unit_test(another_space_takes_over),
		cmocka_unit_test(guards_are_recorded),
		cmocka_unit_test(stacks_that_grew_are_recorded),
		cmocka_unit_test(records_without_memory),
	};

	seed = argc > 1 ? strtoull(argv[1], NULL, 0) : (uint64_t)time(NULL);
	random_state = seed;
	print_message("# seed %lu\n", (unsigned long)seed);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
