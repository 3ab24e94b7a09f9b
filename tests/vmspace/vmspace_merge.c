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
	two[0] = (struct vma){ .start = 16 * PAGE, .end = 18 * PAGE, .flags = RW_FLAGS,
				.pgoff = 16 };
	two[1] = (struct vma){ .start = 18 * PAGE, .end = 20 * PAGE, .flags = RW_FLAGS,
				.pgoff = 18 };
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
}

static void areas_with_a_hole_between_stay_two(void **state)
{
	(void)state;
	two[1].start += PAGE;
	two[1].pgoff++;
	assert_int_equal(verdict(), VMA_NOT_ADJACENT);
}

static void different_flags_stay_two(void **state)
{
	static const vma_flags_t never = VMA_SOFTDIRTY | VMA_MAYBE_GUARD | VMA_IO | VMA_PFNMAP |
					 VMA_DONTEXPAND | VMA_MIXEDMAP | VMA_UFFD_MISSING |
					 VMA_UFFD_WP | VMA_UFFD_MINOR;
	vma_flags_t differ;

	for (int bit = 0; bit <= 35; bit++) {
		reset(state);
		two[1].flags ^= (vma_flags_t)1 << bit;
		if ((vma_flags_t)1 << bit & never)
			continue;
		assert_int_equal(merge_verdict(&two[0], &two[1], PAGE, &differ),
				 VMA_DIFFERENT_FLAGS);
		assert_true(differ == (vma_flags_t)1 << bit);
	}
}

static void soft_dirty_and_guard_marks_never_decide(void **state)
{
	(void)state;
	two[1].flags |= VMA_SOFTDIRTY;
	assert_int_equal(verdict(), VMA_MERGED);
	two[0].flags |= VMA_MAYBE_GUARD;
	assert_int_equal(verdict(), VMA_MERGED);
}

static void different_files_stay_two(void **state)
{
	struct backing file = { .refs = 1, .is = { .kind = VMA_BACKING_FILE, .inode = 1 } };
	struct backing other = { .refs = 1, .is = { .kind = VMA_BACKING_FILE, .inode = 2 } };

	(void)state;
	two[0].backing = &file;
	assert_int_equal(verdict(), VMA_DIFFERENT_FILE);
	two[1].backing = &other;
	assert_int_equal(verdict(), VMA_DIFFERENT_FILE);
	other.is.inode = 1;
	assert_int_equal(verdict(), VMA_MERGED);
}

static void one_file_opened_twice_stays_two(void **state)
{
	struct backing file = { .refs = 1, .is = { .kind = VMA_BACKING_FILE, .inode = 1 } };
	struct backing again = file;

	(void)state;
	two[0].backing = &file;
	two[1].backing = &again;
	assert_int_equal(verdict(), VMA_MERGED);
	again.is.file_id = 7;
	assert_int_equal(verdict(), VMA_DIFFERENT_FILE);
}

static void offsets_that_do_not_continue_stay_two(void **state)
{
	(void)state;
	two[1].pgoff++;
	assert_int_equal(verdict(), VMA_DIFFERENT_OFFSET);
	two[1].pgoff -= 2;
	assert_int_equal(verdict(), VMA_DIFFERENT_OFFSET);
}

static void different_keys_stay_two(void **state)
{
	(void)state;
	two[0].tags.pkey = 1;
	assert_int_equal(verdict(), VMA_DIFFERENT_PKEY);
	two[1].tags.pkey = 1;
	assert_int_equal(verdict(), VMA_MERGED);
}

static void special_areas_stay_two(void **state)
{
	static const vma_flags_t special[] = { VMA_IO, VMA_PFNMAP, VMA_DONTEXPAND, VMA_MIXEDMAP };
	struct backing vdso = { .refs = 1, .is = { .kind = VMA_BACKING_SPECIAL } };
	struct backing device = { .refs = 1, .is = { .kind = VMA_BACKING_FILE,
						     .flags = VMA_BACKING_NO_MERGE } };

	for (size_t i = 0; i < sizeof(special) / sizeof(special[0]); i++) {
		reset(state);
		two[0].flags |= special[i];
		two[1].flags |= special[i];
		assert_int_equal(verdict(), VMA_SPECIAL);
	}
	reset(state);
	two[0].backing = two[1].backing = &vdso;
	assert_int_equal(verdict(), VMA_SPECIAL);
	two[0].backing = two[1].backing = &device;
	assert_int_equal(verdict(), VMA_SPECIAL);
}

static void different_userfaultfds_stay_two(void **state)
{
	static const vma_flags_t uffd[] = { VMA_UFFD_MISSING, VMA_UFFD_WP, VMA_UFFD_MINOR };

	for (size_t i = 0; i < sizeof(uffd) / sizeof(uffd[0]); i++) {
		reset(state);
		two[0].flags |= uffd[i];
		assert_int_equal(verdict(), VMA_DIFFERENT_UFFD);
	}
}

static void one_anon_vma_merges_with_none_and_with_itself(void **state)
{
	(void)state;
	two[0].anon_id = 1;
	assert_int_equal(verdict(), VMA_MERGED);
	two[1].anon_id = 1;
	assert_int_equal(verdict(), VMA_MERGED);
	two[0].anon_shared = two[1].anon_shared = true;
	assert_int_equal(verdict(), VMA_MERGED);
	two[0].anon_id = 0;
	two[0].anon_shared = two[1].anon_shared = false;
	assert_int_equal(verdict(), VMA_MERGED);
}

static void different_anon_vmas_stay_two(void **state)
{
	(void)state;
	two[0].anon_id = 1;
	two[1].anon_id = 2;
	assert_int_equal(verdict(), VMA_DIFFERENT_ANON_VMA);
	two[0].anon_shared = true;
	assert_int_equal(verdict(), VMA_DIFFERENT_ANON_VMA);
}

static void an_inherited_anon_vma_stays_alone(void **state)
{
	(void)state;
	two[0].anon_id = 1;
	two[0].anon_shared = true;
	assert_int_equal(verdict(), VMA_ANON_VMA_SHARED);
	two[1] = (struct vma){ .start = 18 * PAGE, .end = 20 * PAGE, .flags = RW_FLAGS, .pgoff = 18,
			       .anon_id = 1, .anon_shared = true };
	two[0].anon_id = 0;
	two[0].anon_shared = false;
	assert_int_equal(verdict(), VMA_ANON_VMA_SHARED);
}

static void different_names_stay_two(void **state)
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

static bool conceivable(vma_flags_t changes)
{
	return merge_conceivable(&two[0], &two[1], PAGE, changes);
}

/* As many stores are reserved as areas that a call changes may merge. */
static void what_a_call_may_make_equal_is_conceivable(void **state)
{
	struct backing file = { .refs = 1, .is = { .kind = VMA_BACKING_FILE, .inode = 1 } };

	(void)state;
	assert_true(conceivable(0));
	two[1].flags |= VMA_EXEC | VMA_SOFTDIRTY;
	assert_false(conceivable(0));
	assert_false(conceivable(VMA_WRITE));
	assert_true(conceivable(VMA_EXEC));
	for (int side = 0; side < 2; side++) {
		reset(state);
		two[side].flags |= VMA_IO;
		assert_false(conceivable(VMA_IO));
		reset(state);
		two[side].backing = &file;
		assert_false(conceivable(0));
	}
	reset(state);
	two[1].pgoff++;
	assert_false(conceivable(0));
	two[1].start += PAGE;
	assert_false(conceivable(0));
}

static void every_verdict_has_a_text(void **state)
{
	(void)state;
	for (int v = 0; v < VMA_VERDICT_COUNT; v++)
		assert_non_null(vma_verdict_text((enum vma_verdict)v));
	assert_string_equal(vma_verdict_text(VMA_DIFFERENT_ANON_VMA), "different anon_vma");
	assert_string_equal(vma_verdict_text((enum vma_verdict)VMA_VERDICT_COUNT),
			    "unknown verdict");
	assert_string_equal(vma_verdict_text((enum vma_verdict)1000), "unknown verdict");
}

#define RULE(name) cmocka_unit_test_setup(name, reset)

int main(void)
{
	const struct CMUnitTest tests[] = {
		RULE(equal_neighbours_merge), RULE(areas_with_a_hole_between_stay_two),
		RULE(different_flags_stay_two), RULE(soft_dirty_and_guard_marks_never_decide),
		RULE(different_files_stay_two), RULE(one_file_opened_twice_stays_two),
		RULE(offsets_that_do_not_continue_stay_two), RULE(different_keys_stay_two),
		RULE(special_areas_stay_two), RULE(different_userfaultfds_stay_two),
		RULE(one_anon_vma_merges_with_none_and_with_itself),
		RULE(different_anon_vmas_stay_two), RULE(an_inherited_anon_vma_stays_alone),
		RULE(different_names_stay_two), RULE(what_a_call_may_make_equal_is_conceivable),
		RULE(every_verdict_has_a_text),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
