/* SPDX-License-Identifier: MIT */
/* vmspace_explain.c - for every verdict two areas that get it, and the sentence that they get. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include <mapletree/vmspace_rules.h>
#include <mapletree/vmspace_words.h>

#define PAGE 4096UL
#define BASE 0x10000000000UL
#define RW_FLAGS (VMA_READ | VMA_WRITE | VMA_MAYREAD | VMA_MAYWRITE | VMA_MAYEXEC | VMA_ACCOUNT)

static struct vmspace *space;
static struct vmspace_area two[2]; /* alike, side by side */
static struct vma_explanation why;
static unsigned int seen; /* verdicts, as bits */

static int start(void **state)
{
	struct vmspace_config config;

	(void)state;
	for (unsigned int i = 0; i < 2; i++)
		two[i] = (struct vmspace_area){ .start = BASE + i * 4 * PAGE,
						.end = BASE + (i + 1) * 4 * PAGE,
						.flags = RW_FLAGS };
	vmspace_config_init(&config);
	config.page_size = PAGE;
	config.memory_nodes = 1;
	return vmspace_create(&space, &config);
}

static int end(void **state)
{
	(void)state;
	vmspace_destroy(space);
	return 0;
}

static void take_over(void)
{
	struct vmspace_image image = { 0 };

	assert_int_equal(vmspace_exec(space, two, 2, &image), 0);
}

/* Takes the two over, if that is not done, and asks in both orders. */
static void ask(enum vma_verdict verdict, const char *text)
{
	struct vma_explanation other;
	struct vma_info info;

	if (!vmspace_lookup(space, BASE, &info))
		take_over();
	assert_int_equal(vmspace_explain(space, two[0].start, two[1].end - 1, &why), 0);
	assert_string_equal(why.text, text);
	assert_int_equal(why.verdict, verdict);
	assert_true(why.low == two[0].start && why.high == two[1].start);
	assert_int_equal(vmspace_explain(space, two[1].start, two[0].start, &other), 0);
	assert_memory_equal(&other, &why, sizeof(why));
	seen |= 1U << verdict;
}

static void map_file(struct vmspace_area *area, const char *name, uint64_t offset)
{
	area->backing = (struct vma_backing){ .kind = VMA_BACKING_FILE, .dev_major = 8, .inode = 7,
					      .name = name };
	area->offset = offset;
}

static void not_adjacent(void **state)
{
	(void)state;
	two[1].start += PAGE;
	ask(VMA_NOT_ADJACENT, "1 pages lie between them, mapped or not");
}

static void different_flags(void **state)
{
	(void)state;
	two[0].flags &= ~(VMA_WRITE | VMA_ACCOUNT);
	two[1].flags |= VMA_SOFTDIRTY;
	ask(VMA_DIFFERENT_FLAGS,
	    "different flags: the lower alone has none, the upper alone wr ac");
	assert_true(why.differ == (VMA_WRITE | VMA_ACCOUNT));
}

static void different_uffd(void **state)
{
	(void)state;
	two[0].flags |= VMA_UFFD_MISSING;
	ask(VMA_DIFFERENT_UFFD, "different userfaultfd registration: the lower alone has um, "
				"the upper alone none");
	assert_true(why.differ == VMA_UFFD_MISSING);
}

static void different_file(void **state)
{
	(void)state;
	map_file(&two[0], "/lib/a", 0);
	ask(VMA_DIFFERENT_FILE, "the lower maps /lib/a, the upper no file");
}

static void one_file_opened_twice(void **state)
{
	(void)state;
	map_file(&two[0], "/lib/a", 0);
	map_file(&two[1], "/lib/a", 4 * PAGE);
	two[1].backing.file_id = 5;
	ask(VMA_DIFFERENT_FILE, "both map /lib/a, but each by another open() of it");
}

static void segments_of_their_own(void **state)
{
	(void)state;
	two[0].flags = two[1].flags = VMA_READ | VMA_SHARED | VMA_MAYSHARE;
	two[0].backing.kind = two[1].backing.kind = VMA_BACKING_SHMEM;
	two[0].backing.inode = 1;
	two[1].backing.inode = 2;
	ask(VMA_DIFFERENT_FILE, "each maps shared anonymous memory of its own");
}

static void different_offset(void **state)
{
	(void)state;
	map_file(&two[0], "/lib/a", 0);
	map_file(&two[1], "/lib/a", 5 * PAGE);
	ask(VMA_DIFFERENT_OFFSET,
	    "the lower ends at page 4 of the file, the upper begins at page 5");
}

/* The second is taken over far away, with anonymous pages, and then moved beside the first. */
static void move_the_second(void)
{
	struct vmspace_request req = { .op = VMSPACE_MREMAP };
	unsigned long far = BASE + 64 * PAGE;

	two[1].start = far;
	two[1].end = far + 4 * PAGE;
	two[1].has_anon = true;
	take_over();
	two[1].start = BASE + 4 * PAGE;
	two[1].end = BASE + 8 * PAGE;
	req.mremap = (struct vmspace_mremap){ far, 4 * PAGE, 4 * PAGE, 3, two[1].start };
	assert_int_equal(vmspace_call(space, &req), two[1].start);
}

static void moved_by_mremap(void **state)
{
	(void)state;
	move_the_second();
	ask(VMA_DIFFERENT_OFFSET, "mremap() moved one of them: their pages are numbered from "
				  "0x10000000000 and 0x10000040000 on");
}

/* Where anonymous pages of files have numbers of their own. */
static void pages_of_a_file_moved_by_mremap(void **state)
{
	struct vmspace_config config = *vmspace_config(space);

	(void)state;
	assert_int_equal(vmspace_config_kernel(&config, "7.3"), 0);
	assert_int_equal(vmspace_configure(space, &config), 0);
	map_file(&two[0], "/lib/a", 0);
	map_file(&two[1], "/lib/a", 4 * PAGE);
	move_the_second();
	ask(VMA_DIFFERENT_OFFSET, "mremap() moved the anonymous pages of one of them: they are "
				  "numbered from 0x10000000000 and 0x10000040000 on");
}

static void different_anon_vma(void **state)
{
	(void)state;
	two[0].has_anon = two[1].has_anon = true;
	take_over();
	vmspace_part_anon(space, two[1].start);
	ask(VMA_DIFFERENT_ANON_VMA,
	    "both had pages of their own before they met: different anon_vmas");
}

static void inherited_anon_vma(void **state)
{
	(void)state;
	two[0].has_anon = two[0].fork_child = true;
	ask(VMA_ANON_VMA_SHARED, "the upper has no pages of its own, and the other's anon_vma came "
				 "through fork");
}

static void anon_vma_not_taken(void **state)
{
	struct vmspace_config config = *vmspace_config(space);

	(void)state;
	assert_int_equal(vmspace_config_kernel(&config, "6.1"), 0);
	assert_int_equal(vmspace_configure(space, &config), 0);
	two[1].has_anon = true;
	ask(VMA_ANON_VMA_NOT_TAKEN, "the lower has no pages of its own, and before Linux 6.16 "
				    "takes no anon_vma in");
}

static void kept_apart(void **state)
{
	(void)state;
	assert_int_equal(vmspace_exec(space, two, 2, &(struct vmspace_image){ 0 }), 0);
	assert_int_equal(vmspace_set_word(space, two[1].start, PAGE, 5), 0);
	assert_int_equal(vmspace_explain(space, two[0].start, two[1].start, &why), 0);
	assert_int_equal(why.verdict, VMA_KEPT_APART);
	assert_string_equal(why.text, "kept apart by the user: the lower has the word 0, the upper "
				      "0x5");
	seen |= 1U << VMA_KEPT_APART;
}

static void different_name(void **state)
{
	(void)state;
	two[0].anon_name = "arena";
	two[1].anon_name = "stacks";
	ask(VMA_DIFFERENT_NAME, "the lower is named arena, the upper stacks");
	two[0].anon_name = NULL;
	take_over();
	ask(VMA_DIFFERENT_NAME, "the upper is named stacks, the other has no name");
}

static void different_pkey(void **state)
{
	(void)state;
	two[1].pkey = 3;
	ask(VMA_DIFFERENT_PKEY, "the lower has protection key 0, the upper 3");
}

static void different_policy(void **state)
{
	struct vmspace_request req = { .op = VMSPACE_MBIND };

	(void)state;
	take_over();
	req.mbind = (struct vmspace_mbind){ two[1].start, two[1].end - two[1].start, 2, 1, 0 };
	assert_int_equal(vmspace_call(space, &req), 0);
	ask(VMA_DIFFERENT_POLICY, "mbind() gave them different memory policies (modes 0 and 0x2, "
				  "nodes 0 and 0x1)");
}

static void special_area(void **state)
{
	(void)state;
	two[1].flags |= VMA_IO;
	ask(VMA_SPECIAL,
	    "the upper is special (device memory, the kernel's own, or not to be expanded)");
}

static void segments_cut_in_two(void **state)
{
	(void)state;
	two[0].flags = two[1].flags = VMA_READ | VMA_SHARED | VMA_MAYSHARE;
	two[0].backing.kind = two[1].backing.kind = VMA_BACKING_SYSV;
	two[0].backing.inode = two[1].backing.inode = 1;
	two[1].offset = 4 * PAGE;
	ask(VMA_SPECIAL,
	    "the file's driver is told of each area's end: none swallows another");
}

static void not_tried(void **state)
{
	(void)state;
	ask(VMA_NOT_TRIED, "nothing keeps them apart: Linux did not try when the last of them "
			   "changed");
}

static void one_area(void **state)
{
	(void)state;
	take_over();
	assert_int_equal(vmspace_explain(space, BASE, BASE + PAGE, &why), 0);
	assert_int_equal(why.verdict, VMA_MERGED);
	assert_true(why.low == BASE && why.high == BASE);
	assert_string_equal(why.text, "they are one area");
	seen |= 1U << VMA_MERGED;
}

static void no_area(void **state)
{
	(void)state;
	take_over();
	assert_int_equal(vmspace_explain(space, BASE, BASE - PAGE, &why), -ENOENT);
	assert_int_equal(why.verdict, VMA_MERGE_NONE);
	assert_string_equal(why.text, "there is no area at 0xfffffff000");
	assert_int_equal(vmspace_explain(space, BASE + 8 * PAGE, BASE, &why), -ENOENT);
	assert_string_equal(why.text, "there is no area at 0x10000008000");
	seen |= 1U << VMA_MERGE_NONE;
}

static void every_verdict_was_seen(void **state)
{
	(void)state;
	assert_int_equal(seen, (1U << VMA_VERDICT_COUNT) - 1);
}

#define RULE(name) cmocka_unit_test_setup_teardown(name, start, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		RULE(not_adjacent), RULE(different_flags), RULE(different_uffd),
		RULE(different_file), RULE(one_file_opened_twice), RULE(segments_of_their_own),
		RULE(different_offset), RULE(moved_by_mremap),
		RULE(pages_of_a_file_moved_by_mremap), RULE(different_anon_vma),
		RULE(inherited_anon_vma), RULE(anon_vma_not_taken), RULE(different_name), RULE(kept_apart),
		RULE(different_pkey), RULE(different_policy),
		RULE(special_area), RULE(segments_cut_in_two), RULE(not_tried), RULE(one_area),
		RULE(no_area), cmocka_unit_test(every_verdict_was_seen),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
