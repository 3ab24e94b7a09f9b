/* SPDX-License-Identifier: MIT */
/* vmspace_merge.c - when two neighbours are one area, and what is said when they are not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "merge.h"

#define PAGE 4096UL
#define RW_FLAGS (VMA_READ | VMA_WRITE | VMA_MAYREAD | VMA_MAYWRITE | VMA_MAYEXEC | VMA_ACCOUNT)

static struct vma two[2]; /* neighbours that merge */

static int reset(void **state)
{
	(void)state;
	memset(two, 0, sizeof(two));
	two[0] = (struct vma){ .start = 16 * PAGE, .end = 18 * PAGE, .flags = RW_FLAGS, .pgoff = 16 };
	two[1] = (struct vma){ .start = 18 * PAGE, .end = 20 * PAGE, .flags = RW_FLAGS, .pgoff = 18 };
	return 0;
}

static enum vma_verdict verdict(void)
{
	return merge_verdict(&two[0], &two[1], PAGE, NULL);
}

static void equal_neighbours_merge(void **state)
{
	(void)state;
	assert_int_equal(verdict(), VMA_MERGED);
	two[1].flags |= VMA_SOFTDIRTY;
	assert_int_equal(verdict(), VMA_MERGED);
}

static void each_difference_has_its_verdict(void **state)
{
	struct backing file = { .refs = 1, .is = { .kind = VMA_BACKING_FILE, .inode = 1 } };
	struct backing other = { .refs = 1, .is = { .kind = VMA_BACKING_FILE, .inode = 2 } };
	vma_flags_t differ;

	two[1].flags |= VMA_HUGEPAGE;
	assert_int_equal(merge_verdict(&two[0], &two[1], PAGE, &differ), VMA_DIFFERENT_FLAGS);
	assert_true(differ == VMA_HUGEPAGE);
	reset(state);
	two[1].pgoff++;
	assert_int_equal(verdict(), VMA_DIFFERENT_OFFSET);
	reset(state);
	two[1].start += PAGE;
	assert_int_equal(verdict(), VMA_NOT_ADJACENT);
	reset(state);
	two[0].pkey = 1;
	assert_int_equal(verdict(), VMA_DIFFERENT_PKEY);
	reset(state);
	two[0].backing = &file;
	assert_int_equal(verdict(), VMA_DIFFERENT_FILE);
	two[1].backing = &other;
	assert_int_equal(verdict(), VMA_DIFFERENT_FILE);
	other.is.inode = 1;
	assert_int_equal(verdict(), VMA_MERGED);
	other.is.file_id = 7;
	assert_int_equal(verdict(), VMA_DIFFERENT_FILE);
	reset(state);
	two[0].flags |= VMA_IO;
	two[1].flags |= VMA_IO;
	assert_int_equal(verdict(), VMA_SPECIAL);
	reset(state);
	two[0].flags |= VMA_UFFD_WP;
	assert_int_equal(verdict(), VMA_DIFFERENT_UFFD);
}

static void anon_vmas_decide(void **state)
{
	(void)state;
	two[0].anon_id = 1;
	assert_int_equal(verdict(), VMA_MERGED);
	two[1].anon_id = 2;
	assert_int_equal(verdict(), VMA_DIFFERENT_ANON_VMA);
	two[1].anon_id = 1;
	assert_int_equal(verdict(), VMA_MERGED);
	two[0].anon_shared = two[1].anon_shared = true;
	assert_int_equal(verdict(), VMA_MERGED);
	two[1].anon_id = 0;
	two[1].anon_shared = false;
	assert_int_equal(verdict(), VMA_ANON_VMA_SHARED);
}

static void names_decide(void **state)
{
	struct anon_name *a = anon_name_new("arena"), *b = anon_name_new("arena");
	struct anon_name *c = anon_name_new("other");

	(void)state;
	two[0].name = a;
	assert_int_equal(verdict(), VMA_DIFFERENT_NAME);
	two[1].name = b;
	assert_int_equal(verdict(), VMA_MERGED);
	two[1].name = c;
	assert_int_equal(verdict(), VMA_DIFFERENT_NAME);
	anon_name_put(a);
	anon_name_put(b);
	anon_name_put(c);
}

static void every_verdict_has_a_text(void **state)
{
	(void)state;
	for (int v = 0; v < VMA_VERDICT_COUNT; v++)
		assert_non_null(vma_verdict_text((enum vma_verdict)v));
	assert_string_equal(vma_verdict_text(VMA_DIFFERENT_ANON_VMA), "different anon_vma");
	assert_non_null(vma_verdict_text((enum vma_verdict)1000));
}

#define RULE(name) cmocka_unit_test_setup(name, reset)

int main(void)
{
	const struct CMUnitTest tests[] = {
		RULE(equal_neighbours_merge), RULE(each_difference_has_its_verdict),
		RULE(anon_vmas_decide), RULE(names_decide), RULE(every_verdict_has_a_text),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
