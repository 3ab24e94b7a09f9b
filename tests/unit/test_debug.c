/* SPDX-License-Identifier: MIT */
/*
 * test_debug.c - looking inside: mt_check, mt_validate, mt_dump, mas_dump, statistics; and the
 * helpers for entries and errors.
 */
#include "fixture.h"

#include <errno.h>
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../sanitizer.h"

/* What @action prints to standard error in a process of its own, and how that ended. */
static char *stderr_of(void (*action)(struct maple_tree *mt), struct maple_tree *mt, int *status)
{
	static char text[1 << 16];
	size_t length = 0;
	ssize_t count;
	int ends[2];
	pid_t pid;

	assert_int_equal(pipe(ends), 0);
	fflush(NULL);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		signal(SIGABRT, SIG_DFL);
		dup2(ends[1], STDERR_FILENO);
		close(ends[0]);
		close(ends[1]);
		action(mt);
		fflush(NULL);
		_exit(0);
	}
	close(ends[1]);
	while ((count = read(ends[0], text + length, sizeof(text) - 1 - length)) > 0)
		length += count;
	close(ends[0]);
	text[length] = 0;
	assert_int_equal(waitpid(pid, status, 0), pid);
	return text;
}

static void dump_decimal(struct maple_tree *mt)
{
	mt_dump(mt, mt_dump_dec);
}

static void dump_hexadecimal(struct maple_tree *mt)
{
	mt_dump(mt, mt_dump_hex);
}

static void dump_cursor(struct maple_tree *mt)
{
	MA_STATE(mas, mt, 0x123, 0x123);

	mas_walk(&mas);
	mas_dump(&mas);
}

static void validate(struct maple_tree *mt)
{
	mt_validate(mt);
}

static void dumps_show_the_ranges(void **state)
{
	DEFINE_MTREE(mt);
	int status;

	(void)state;
	mtree_store_range(&mt, 100, 4660, xa_mk_value(77), GFP_KERNEL);
	assert_non_null(strstr(stderr_of(dump_decimal, &mt, &status), "100-4660"));
	assert_int_equal(status, 0);
	assert_non_null(strstr(stderr_of(dump_decimal, &mt, &status), "77"));
	assert_non_null(strstr(stderr_of(dump_hexadecimal, &mt, &status), "0x64-0x1234"));
	assert_non_null(strstr(stderr_of(dump_cursor, &mt, &status), "64"));
	assert_int_equal(status, 0);
	end(&mt);
	assert_true(stderr_of(dump_decimal, &mt, &status)[0] != 0);
	assert_int_equal(status, 0);
}

static void dumps_show_every_kind_of_entry(void **state)
{
	struct maple_tree mt;
	char *text;
	int status;

	(void)state;
	mt_init_flags(&mt, MT_FLAGS_ALLOC_RANGE);
	mtree_store(&mt, 0, E('a'), GFP_KERNEL);
	text = stderr_of(dump_decimal, &mt, &status);
	assert_non_null(strstr(text, "0-0: 0x"));
	assert_non_null(strstr(text, "height 0"));
	mtree_store_range(&mt, 2, 4, XA_ZERO_ENTRY, GFP_KERNEL);
	fill(&mt, 8, 3, 4, 20);
	text = stderr_of(dump_decimal, &mt, &status);
	assert_non_null(strstr(text, "0-0: 0x"));
	assert_non_null(strstr(text, "1-1: NULL"));
	assert_non_null(strstr(text, "2-4: zero entry"));
	assert_non_null(strstr(text, "8-10: value 0"));
	assert_non_null(strstr(text, "inner with gaps"));
	assert_non_null(strstr(text, ", gaps 0x3 0x"));
	assert_non_null(strstr(text, "height 2"));
	end(&mt);
	mt_init(&mt);
	fill(&mt, 8, 3, 4, 40);
	text = stderr_of(dump_decimal, &mt, &status);
	assert_non_null(strstr(text, "inner"));
	assert_null(strstr(text, "gaps"));
	end(&mt);
}

static void a_sound_tree_is_valid(void **state)
{
	struct maple_tree mt;
	const char *reason = NULL;
	int status;

	(void)state;
	mt_init_flags(&mt, MT_FLAGS_ALLOC_RANGE);
	assert_true(mt_check(&mt, NULL));
	fill(&mt, 0, 3, 4, 500);
	assert_true(mt_check(&mt, &reason));
	assert_string_equal(stderr_of(validate, &mt, &status), "");
	assert_int_equal(status, 0);
	end(&mt);
}

/* Breaks a tree through what users can reach: its flags. */
static void a_broken_tree_is_reported_with_the_reason(void **state)
{
	struct maple_tree mt;
	const char *reason = NULL;
	unsigned int flags;
	char *text;
	int status;

	(void)state;
	mt_init_flags(&mt, MT_FLAGS_ALLOC_RANGE);
	fill(&mt, 0, 3, 4, 500);
	flags = mt.ma_flags;
	mt.ma_flags += 1u << MT_FLAGS_HEIGHT_OFFSET;
	assert_false(mt_check(&mt, &reason));
	assert_non_null(reason);
	assert_true(strlen(reason) > 0);
	assert_false(mt_check(&mt, NULL));
	text = stderr_of(validate, &mt, &status);
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
	assert_non_null(strstr(text, reason));
	mt.ma_flags = flags;

	mt.ma_flags &= ~MT_FLAGS_ALLOC_RANGE;
	assert_false(mt_check(&mt, &reason));
	mt.ma_flags = flags;
	assert_true(mt_check(&mt, &reason));
	end(&mt);
}

static void statistics_count_nodes_and_ranges(void **state)
{
	struct maple_tree mt;
	struct mt_statistics stats;

	(void)state;
	mt_init(&mt);
	mt_get_statistics(&mt, &stats);
	assert_int_equal(stats.nodes, 0);
	assert_int_equal(stats.bytes, 0);
	assert_int_equal(stats.entries, 0);
	assert_int_equal(stats.height, 0);
	fill(&mt, 4, 3, 4, 1000);
	mt_get_statistics(&mt, &stats);
	assert_int_equal(stats.entries, 1000);
	assert_int_equal(stats.gaps, 1001);
	assert_int_equal(stats.height, mt_height(&mt));
	assert_true(stats.leaves >= 2001 / (128 / sizeof(long)) && stats.leaves < stats.nodes);
	assert_true(stats.bytes >= stats.nodes * 16 * sizeof(void *));
	end(&mt);
}

static void entries_and_errors_are_told_apart(void **state)
{
	(void)state;
	assert_true(xa_is_value(xa_mk_value(0)));
	assert_int_equal(xa_to_value(xa_mk_value(LONG_MAX)), LONG_MAX);
	assert_false(xa_is_value(E('a')));
	assert_true(xa_is_zero(XA_ZERO_ENTRY));
	assert_false(xa_is_zero(NULL));
	assert_true(xa_is_err(MA_ERROR(-ENOMEM)));
	assert_int_equal(xa_err(MA_ERROR(-ENOMEM)), -ENOMEM);
	assert_int_equal(xa_err(MA_ERROR(-4095)), -4095);
	assert_false(xa_is_err(XA_ZERO_ENTRY));
	assert_int_equal(xa_err(E('a')), 0);
	assert_int_equal(xa_err(NULL), 0);
}

static void calls_for_ported_code(void **state)
{
	DEFINE_MTREE(mt);

	(void)state;
	maple_tree_init();
	mt_on_stack(mt);
	mtree_store(&mt, 3, E('a'), GFP_KERNEL);
	mt_cache_shrink();
	expect_content(&mt, "3:a");
	end(&mt);
	mt_cache_shrink();
}

/* Under a sanitizer nodes are not cached, and its allocator does not count. */
#if !defined(SANITIZED) && !defined(SLAB_SANITIZED)
#define NODES_ARE_CACHED
#endif

#ifdef NODES_ARE_CACHED
static size_t memory_in_use(void)
{
	struct mallinfo2 info = mallinfo2();

	return info.uordblks + info.hblkhd;
}

static void the_cache_is_given_back(void **state)
{
	struct maple_tree mt;
	size_t before = memory_in_use(), kept;

	(void)state;
	mt_init(&mt);
	fill(&mt, 4, 3, 4, 100000);
	end(&mt);
	kept = memory_in_use();
	mt_cache_shrink();
	assert_true(kept > before + (1 << 20));
	assert_true(memory_in_use() < before + (1 << 18));
}
#endif

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(dumps_show_the_ranges),
		cmocka_unit_test(dumps_show_every_kind_of_entry),
		cmocka_unit_test(a_sound_tree_is_valid),
		cmocka_unit_test(a_broken_tree_is_reported_with_the_reason),
		cmocka_unit_test(statistics_count_nodes_and_ranges),
		cmocka_unit_test(entries_and_errors_are_told_apart),
		cmocka_unit_test(calls_for_ported_code),
#ifdef NODES_ARE_CACHED
		cmocka_unit_test(the_cache_is_given_back),
#endif
	};

	return cmocka_run_group_tests_name("debug", tests, NULL, NULL);
}
