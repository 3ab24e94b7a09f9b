/* SPDX-License-Identifier: MIT */
/*
 * vmspace_words.c - the words of areas: where they come from, what they keep apart, what hooks are
 * told, ask and set; and every allocation refused.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <mapletree/vmspace_words.h>

#include "scarce.h"
#include "units.h"

#define AT 0x100000000UL
#define RW (PROT_READ | PROT_WRITE)
#define HEARD_MAX 128

/* ---- what hooks heard ---- */

static struct vmspace_word_change heard[HEARD_MAX];
static unsigned int heard_count;
static unsigned int *count_only; /* by kind, where there is too much to be kept */
static uint64_t seen_at_start[HEARD_MAX]; /* the word at `start` when the hook was called */

static void hear(void *ctx, const struct vmspace *of, struct vmspace_word_change *change)
{
	struct vma_info info = { 0 };

	assert_null(ctx);
	if (count_only) {
		count_only[change->kind]++;
		heard_count++;
		return;
	}
	assert_in_range(heard_count, 0, HEARD_MAX - 1);
	if (vmspace_lookup(of, change->start, &info))
		seen_at_start[heard_count] = info.word;
	heard[heard_count++] = *change;
}

static void expect(unsigned int i, enum vmspace_word_kind kind, unsigned long start,
		   unsigned long end, uint64_t word)
{
	assert_true(i < heard_count);
	assert_int_equal(heard[i].kind, kind);
	assert_int_equal(heard[i].start, start);
	assert_int_equal(heard[i].end, end);
	assert_int_equal(heard[i].word, word);
}

static void use(bool (*can_merge)(void *, const struct vmspace *, const struct vma_info *,
				  const struct vma_info *, uint64_t *))
{
	const struct vmspace_word_hooks hooks = {
		.size = sizeof(hooks), .can_merge = can_merge, .change = hear,
	};

	heard_count = 0;
	assert_int_equal(vmspace_set_word_hooks(space, &hooks), 0);
}

static bool never(void *ctx, const struct vmspace *of, const struct vma_info *low,
		  const struct vma_info *high, uint64_t *word)
{
	(void)ctx;
	(void)of;
	(void)low;
	(void)high;
	(void)word;
	return false;
}

static bool sum(void *ctx, const struct vmspace *of, const struct vma_info *low,
		const struct vma_info *high, uint64_t *word)
{
	(void)ctx;
	(void)of;
	*word = low->word + high->word;
	return true;
}

/* Words alone. */
static const struct vmspace_word_hooks no_hooks = { .size = sizeof(no_hooks) };

static int create_with_words(void **state)
{
	return create(state) || vmspace_set_word_hooks(space, &no_hooks);
}

#define WORDS(name) cmocka_unit_test_setup_teardown(name, create_with_words, destroy)

/* ---- areas ---- */

static void map_word(unsigned long page, unsigned long pages, uint64_t word)
{
	req = (struct vmspace_request){ .op = VMSPACE_MMAP, .word = word };
	req.mmap = (struct vmspace_mmap){ .addr = AT + page * PAGE, .length = pages * PAGE,
					  .prot = RW };
	req.mmap.flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED;
	assert_int_equal(call(), AT + page * PAGE);
}

static void protect(unsigned long page, unsigned long pages, int prot)
{
	req = (struct vmspace_request){ .op = VMSPACE_MPROTECT };
	req.mprotect = (struct vmspace_mprotect){ AT + page * PAGE, pages * PAGE, prot, -1 };
	assert_int_equal(call(), 0);
}

/* The area that begins at page `first` and ends before `end` has the word. */
static void is(const struct vmspace *of, unsigned long first, unsigned long end, uint64_t word)
{
	struct vma_info info;

	assert_true(vmspace_exact(of, AT + first * PAGE, AT + end * PAGE, &info));
	assert_int_equal(info.word, word);
}

static void equal_words_merge_and_others_do_not(void **state)
{
	struct vma_explanation why;

	(void)state;
	map_word(0, 2, 7);
	map_word(2, 2, 7);
	is(space, 0, 4, 7);
	map_word(4, 2, 8);
	is(space, 0, 4, 7);
	is(space, 4, 6, 8);
	assert_int_equal(req.out.events[0].kind, VMSPACE_EVENT_NO_MERGE);
	assert_int_equal(req.out.events[0].verdict, VMA_KEPT_APART);
	assert_int_equal(vmspace_explain(space, AT, AT + 5 * PAGE, &why), 0);
	assert_int_equal(why.verdict, VMA_KEPT_APART);
	assert_string_equal(why.text, "kept apart by the user: the lower has the word 0x7, the upper "
				      "0x8");
	/* Linux's reasons come first. */
	protect(4, 2, PROT_READ);
	assert_int_equal(vmspace_explain(space, AT, AT + 5 * PAGE, &why), 0);
	assert_int_equal(why.verdict, VMA_DIFFERENT_FLAGS);
	protect(1, 1, PROT_READ);
	is(space, 1, 2, 7);
	is(space, 2, 4, 7);
}

static void words_are_set(void **state)
{
	(void)state;
	map_word(0, 6, 1);
	assert_int_equal(vmspace_set_word(space, AT + 2 * PAGE, 2 * PAGE - 1, 2), 0);
	is(space, 0, 2, 1);
	is(space, 2, 4, 2);
	is(space, 4, 6, 1);
	assert_int_equal(vmspace_set_word(space, AT + PAGE, 3 * PAGE, 2), 0);
	is(space, 0, 1, 1);
	is(space, 1, 4, 2);
	assert_int_equal(vmspace_set_word(space, AT, 6 * PAGE, 1), 0);
	is(space, 0, 6, 1);
	assert_int_equal(vmspace_set_word(space, AT, 6 * PAGE, 1), 0);
	assert_int_equal(vmspace_set_word(space, AT, 0, 3), 0);
	assert_int_equal(vmspace_set_word(space, AT + 1, PAGE, 3), -EINVAL);
	assert_int_equal(vmspace_set_word(space, AT, ~0UL, 3), -EINVAL);
	assert_int_equal(vmspace_set_word(space, AT, ~0UL - PAGE, 3), -EINVAL);
	is(space, 0, 6, 1);
	/* Around a hole, the rest is done. */
	map_word(8, 1, 1);
	assert_int_equal(vmspace_set_word(space, AT, 9 * PAGE, 3), -ENOMEM);
	is(space, 0, 6, 3);
	is(space, 8, 9, 3);
}

static void areas_kept_apart_count_against_the_limit(void **state)
{
	struct vmspace_config config = *vmspace_config(space);

	(void)state;
	map_word(0, 4, 1);
	map_word(4, 4, 2);
	config.max_map_count = 2;
	assert_int_equal(vmspace_configure(space, &config), 0);
	assert_int_equal(vmspace_set_word(space, AT, PAGE, 3), -ENOMEM);
	is(space, 0, 4, 1);
	assert_int_equal(vmspace_set_word(space, AT, 4 * PAGE, 2), 0);
	is(space, 0, 8, 2);
}

static void a_merge_is_vetoed(void **state)
{
	struct vma_explanation why;

	(void)state;
	use(never);
	map_word(0, 2, 7);
	map_word(2, 2, 7);
	is(space, 0, 2, 7);
	is(space, 2, 4, 7);
	assert_int_equal(vmspace_explain(space, AT, AT + 2 * PAGE, &why), 0);
	assert_int_equal(why.verdict, VMA_KEPT_APART);
	assert_int_equal(heard_count, 0);
	/* What grows in place is no merge. */
	req = (struct vmspace_request){ .op = VMSPACE_MREMAP };
	req.mremap = (struct vmspace_mremap){ AT + 2 * PAGE, 2 * PAGE, 4 * PAGE, 0, 0 };
	assert_int_equal(call(), AT + 2 * PAGE);
	is(space, 2, 6, 7);
	assert_int_equal(heard_count, 0);
	/* Nor is a mapping over both. */
	assert_int_equal(vmspace_set_word_hooks(space, &no_hooks), 0);
	is(space, 0, 2, 7);
	map_word(1, 2, 7);
	is(space, 0, 6, 7);
}

static void three_become_one(void **state)
{
	(void)state;
	use(sum);
	map_word(0, 1, 1);
	map_word(2, 1, 20);
	map_word(1, 1, 300);
	is(space, 0, 3, 321);
	assert_int_equal(heard_count, 2);
	expect(0, VMSPACE_WORD_MERGE, AT, AT + 2 * PAGE, 301);
	expect(1, VMSPACE_WORD_MERGE, AT, AT + 3 * PAGE, 321);
	assert_true(heard[0].low == 1 && heard[0].high == 300 && heard[0].at == AT + PAGE);
	assert_true(heard[1].low == 301 && heard[1].high == 20);
	/* The space was as before. */
	assert_int_equal(seen_at_start[0], 1);
	assert_int_equal(seen_at_start[1], 1);
}

/* A neighbour takes a part over: that is a split and a merge. */
static void a_part_goes_to_a_neighbour(void **state)
{
	(void)state;
	map_word(0, 4, 5);
	protect(2, 2, PROT_READ);
	use(NULL);
	protect(1, 1, PROT_READ);
	is(space, 0, 1, 5);
	is(space, 1, 4, 5);
	assert_int_equal(heard_count, 2);
	expect(0, VMSPACE_WORD_SPLIT, AT, AT + 2 * PAGE, 5);
	expect(1, VMSPACE_WORD_MERGE, AT + PAGE, AT + 4 * PAGE, 5);
}

static void what_is_unmapped_is_told(void **state)
{
	(void)state;
	map_word(0, 2, 1);
	map_word(2, 2, 2);
	map_word(4, 4, 3);
	use(NULL);
	req = (struct vmspace_request){ .op = VMSPACE_MUNMAP };
	req.munmap = (struct vmspace_munmap){ AT + PAGE, 4 * PAGE };
	assert_int_equal(call(), 0);
	assert_int_equal(heard_count, 5);
	expect(0, VMSPACE_WORD_SPLIT, AT, AT + 2 * PAGE, 1);
	expect(1, VMSPACE_WORD_SPLIT, AT + 4 * PAGE, AT + 8 * PAGE, 3);
	expect(2, VMSPACE_WORD_DROP, AT + PAGE, AT + 2 * PAGE, 1);
	expect(3, VMSPACE_WORD_DROP, AT + 2 * PAGE, AT + 4 * PAGE, 2);
	expect(4, VMSPACE_WORD_DROP, AT + 4 * PAGE, AT + 5 * PAGE, 3);
	use(NULL);
	req.munmap = (struct vmspace_munmap){ AT + 6 * PAGE, PAGE };
	assert_int_equal(call(), 0);
	assert_int_equal(heard_count, 3);
	expect(0, VMSPACE_WORD_SPLIT, AT + 5 * PAGE, AT + 8 * PAGE, 3);
	expect(1, VMSPACE_WORD_SPLIT, AT + 6 * PAGE, AT + 8 * PAGE, 3);
	expect(2, VMSPACE_WORD_DROP, AT + 6 * PAGE, AT + 7 * PAGE, 3);
}

static void moves_are_told(void **state)
{
	(void)state;
	map_word(0, 2, 9);
	use(NULL);
	req = (struct vmspace_request){ .op = VMSPACE_MREMAP };
	req.mremap = (struct vmspace_mremap){ AT, 2 * PAGE, 2 * PAGE,
					      MREMAP_MAYMOVE | MREMAP_FIXED, AT + 10 * PAGE };
	assert_int_equal(call(), AT + 10 * PAGE);
	is(space, 10, 12, 9);
	assert_int_equal(heard_count, 2);
	expect(0, VMSPACE_WORD_MOVE, AT + 10 * PAGE, AT + 12 * PAGE, 9);
	assert_true(heard[0].at == AT && heard[0].low == 9);
	expect(1, VMSPACE_WORD_DROP, AT, AT + 2 * PAGE, 9);
	/* The source stays. */
	use(NULL);
	req.mremap = (struct vmspace_mremap){ AT + 10 * PAGE, 2 * PAGE, 2 * PAGE,
					      MREMAP_MAYMOVE | MREMAP_FIXED | MREMAP_DONTUNMAP, AT };
	assert_int_equal(call(), AT);
	assert_int_equal(heard_count, 1);
	is(space, 0, 2, 9);
	is(space, 10, 12, 9);
}

static void other_calls_take_words(void **state)
{
	struct vmspace_image image = { .start_brk = AT, .brk = AT };
	struct vma_info info;
	long at;

	(void)state;
	assert_int_equal(vmspace_exec(space, NULL, 0, &image), 0);
	req = (struct vmspace_request){ .op = VMSPACE_BRK, .brk = { AT + 2 * PAGE }, .word = 4 };
	assert_int_equal(call(), AT + 2 * PAGE);
	is(space, 0, 2, 4);
	req.brk.brk += PAGE;
	assert_int_equal(call(), AT + 3 * PAGE);
	is(space, 0, 3, 4);
	req = (struct vmspace_request){ .op = VMSPACE_SHMAT, .word = 5 };
	req.shmat = (struct vmspace_shmat){ .size = PAGE };
	at = call();
	assert_true(at > 0 && vmspace_lookup(space, (unsigned long)at, &info));
	assert_int_equal(info.word, 5);
	req = (struct vmspace_request){ .op = VMSPACE_MMAP, .word = 6 };
	req.mmap = (struct vmspace_mmap){ .length = 2 * PAGE, .prot = RW,
					  .flags = MAP_SHARED | MAP_ANONYMOUS };
	at = call();
	req = (struct vmspace_request){ .op = VMSPACE_REMAP_FILE_PAGES, .word = 7 };
	req.remap_file_pages = (struct vmspace_remap_file_pages){ .addr = (unsigned long)at,
								  .size = PAGE, .page_offset = 1 };
	assert_int_equal(call(), 0);
	assert_true(vmspace_lookup(space, (unsigned long)at, &info) && info.word == 7);
	assert_true(vmspace_next(space, info.end, &info) && info.word == 6);
}

/* A child has its parent's hooks; a copy has only the rules. */
static void children_and_copies(void **state)
{
	struct vmspace *copy, *child, *ours = space;
	struct vmspace_request map;

	(void)state;
	use(never);
	map_word(0, 1, 3);
	map = req;
	map.mmap.addr += PAGE;
	assert_int_equal(vmspace_clone(&copy, space), 0);
	assert_int_equal(heard_count, 0);
	is(copy, 0, 1, 3);
	assert_true(vmspace_call(copy, &map) > 0);
	is(copy, 0, 1, 3);
	is(copy, 1, 2, 3);
	vmspace_destroy(copy);
	assert_int_equal(heard_count, 0);
	req = (struct vmspace_request){ .op = VMSPACE_FORK };
	assert_int_equal(call(), 0);
	child = req.fork.child;
	assert_int_equal(heard_count, 1);
	expect(0, VMSPACE_WORD_FORK, AT, AT + PAGE, 3);
	assert_ptr_equal(heard[0].child, child);
	assert_true(vmspace_call(child, &map) > 0);
	is(child, 1, 2, 3);
	use(never);
	vmspace_destroy(child);
	assert_int_equal(heard_count, 2);
	expect(1, VMSPACE_WORD_DROP, AT + PAGE, AT + 2 * PAGE, 3);
	space = ours;
}

static void the_end_is_told(void **state)
{
	const struct vmspace_area area = { .start = AT, .end = AT + PAGE, .flags = RW_FLAGS };
	struct vmspace_image image = { 0 };

	(void)state;
	map_word(0, 1, 3);
	use(NULL);
	assert_int_equal(vmspace_exec(space, &area, 1, &image), 0);
	assert_int_equal(heard_count, 1);
	expect(0, VMSPACE_WORD_DROP, AT, AT + PAGE, 3);
	is(space, 0, 1, 0);
	vmspace_exit(space);
	assert_int_equal(heard_count, 2);
	expect(1, VMSPACE_WORD_DROP, AT, AT + PAGE, 0);
	map_word(0, 1, 3);
	use(NULL);
	vmspace_destroy(space);
	space = NULL;
	assert_int_equal(heard_count, 1);
}

/* Found by a program that follows itself: its requests lie on the stack, and their words were random. */
static void words_of_requests_need_not_be_set(void **state)
{
	(void)state;
	assert_int_equal(vmspace_set_word_hooks(space, NULL), 0);
	map_word(0, 1, 123);
	map_word(1, 1, 456);
	is(space, 0, 2, 0);
}

static void hooks_of_another_version(void **state)
{
	struct vmspace_word_hooks hooks = { .change = hear };

	(void)state;
	use(NULL);
	assert_int_equal(vmspace_set_word_hooks(space, &hooks), -EINVAL);
	hooks.size = sizeof(hooks) + 1;
	assert_int_equal(vmspace_set_word_hooks(space, &hooks), -EINVAL);
	/* One that ends before `change`. */
	hooks.size = offsetof(struct vmspace_word_hooks, change);
	map_word(0, 2, 3);
	assert_int_equal(vmspace_set_word_hooks(space, &hooks), 0);
	protect(0, 1, PROT_READ);
	assert_int_equal(heard_count, 0);
}

/*
 * Many areas with holes between them onto one area, which each move cuts in two. The hook is told
 * before each step, and the steps used to be more than what was reserved for them.
 */
#define SOURCE 100 /* in pages, as TARGET */
#define TARGET 1000

static void map_source(unsigned long areas)
{
	for (unsigned long i = 0; i < areas; i++)
		map_word(SOURCE + 4 * i, 3, 1000 + i);
}

/* Of the areas and the holes above them, to `TARGET`. */
static long move_areas(unsigned long areas)
{
	req = (struct vmspace_request){ .op = VMSPACE_MREMAP };
	req.mremap = (struct vmspace_mremap){ AT + SOURCE * PAGE, 4 * areas * PAGE, 4 * areas * PAGE,
					      MREMAP_MAYMOVE | MREMAP_FIXED, AT + TARGET * PAGE };
	return vmspace_call(space, &req);
}

static void many_moves_onto_an_area_are_told(void **state)
{
	unsigned int told[VMSPACE_WORD_FORK + 1] = { 0 };
	const char *reason;

	(void)state;
	for (unsigned long areas = 2; areas < 40; areas++)
		for (unsigned long below = 0; below < 2; below++) {
			for (unsigned int kind = 0; kind <= VMSPACE_WORD_FORK; kind++)
				told[kind] = 0;
			assert_int_equal(vmspace_set_word_hooks(space, &no_hooks), 0);
			map_source(areas);
			map_word(TARGET - below, 4 * areas + 2 * below, 7);
			use(NULL);
			count_only = told;
			assert_int_equal(move_areas(areas), AT + TARGET * PAGE);
			count_only = NULL;
			assert_int_equal(told[VMSPACE_WORD_MOVE], areas);
			/* Each target, and each source. */
			assert_int_equal(told[VMSPACE_WORD_DROP], 2 * areas);
			for (unsigned long i = 0; i < areas; i++) {
				is(space, TARGET + 4 * i, TARGET + 4 * i + 3, 1000 + i);
				is(space, TARGET + 4 * i + 3,
				   TARGET + 4 * i + 4 + (i == areas - 1 ? below : 0), 7);
			}
			if (!vmspace_check(space, &reason))
				fail_msg("%s", reason);
			assert_int_equal(vmspace_set_word_hooks(space, &no_hooks), 0);
			vmspace_exit(space);
		}
}

/* ---- every allocation refused ---- */

static long cut(void)
{
	req = (struct vmspace_request){ .op = VMSPACE_MUNMAP };
	req.munmap = (struct vmspace_munmap){ AT + PAGE, PAGE };
	return vmspace_call(space, &req);
}

static long cut_many(void)
{
	req = (struct vmspace_request){ .op = VMSPACE_MUNMAP };
	req.munmap = (struct vmspace_munmap){ AT + PAGE, 12 * PAGE };
	return vmspace_call(space, &req);
}

static long protect_many(void)
{
	req = (struct vmspace_request){ .op = VMSPACE_MPROTECT };
	req.mprotect = (struct vmspace_mprotect){ AT + PAGE, 12 * PAGE, PROT_READ, -1 };
	return vmspace_call(space, &req);
}

static long move(void)
{
	req = (struct vmspace_request){ .op = VMSPACE_MREMAP };
	req.mremap = (struct vmspace_mremap){ AT + PAGE, PAGE, PAGE, MREMAP_MAYMOVE | MREMAP_FIXED,
					      AT + 16 * PAGE };
	return vmspace_call(space, &req) < 0 ? req.out.result : 0;
}

static long join(void)
{
	req = (struct vmspace_request){ .op = VMSPACE_MMAP, .word = 1 };
	req.mmap = (struct vmspace_mmap){ .addr = AT + 2 * PAGE, .length = PAGE, .prot = RW,
					  .flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED };
	return vmspace_call(space, &req) < 0 ? req.out.result : 0;
}

static long fork_it(void)
{
	long result;

	req = (struct vmspace_request){ .op = VMSPACE_FORK };
	result = vmspace_call(space, &req);
	if (!result) {
		assert_int_equal(vmspace_set_word_hooks(req.fork.child, NULL), 0);
		vmspace_destroy(req.fork.child);
	}
	return result;
}

static long word_many(void)
{
	return vmspace_set_word(space, AT + PAGE, 12 * PAGE, 50);
}

/* The fewest whose steps were once more than what was reserved for them. */
static long move_many(void)
{
	return move_areas(9) < 0 ? req.out.result : 0;
}

/* `others`: areas beside, so that leaves of the tree are as full as can be. */
static void build(bool threads, unsigned long others)
{
	static struct vmspace_config config;

	if (!config.page_size) {
		assert_int_equal(create(NULL), 0);
		config = *vmspace_config(space);
		vmspace_destroy(space);
	}
	config.threads = threads;
	assert_int_equal(vmspace_create(&space, &config), 0);
	assert_int_equal(mt_set_allocator(&space->tree, &scarce_nodes), 0);
	assert_int_equal(vmspace_set_word_hooks(space, &no_hooks), 0);
	for (unsigned long i = 0; i < 14; i += 2)
		map_word(i, 2, i % 4);
	for (unsigned long i = 0; i < others; i++)
		map_word(40 + 2 * i, 1, 0);
	map_source(9);
	map_word(TARGET - 1, 38, 7);
	use(NULL);
	heard_count = 0;
}

/* Refuse each allocation in turn, until there is none more. */
static void refuse_each(long (*step)(void), bool threads, bool for_good,
			unsigned long others)
{
	char before[16384], after[16384];
	const char *reason;
	long result = -ENOMEM;

	for (long n = 1; result; n++) {
		struct vma_info info;
		uint64_t words = 0, now = 0;

		build(threads, others);
		vmspace_show(space, before, sizeof(before));
		for (unsigned long at = 0; vmspace_next(space, at, &info); at = info.end)
			words = words * 31 + info.word;
		scarce.countdown = n;
		scarce.for_good = for_good;
		result = step();
		scarce.countdown = 0;
		scarce.for_good = false;
		assert_true(!result || result == -ENOMEM);
		if (!vmspace_check(space, &reason))
			fail_msg("%s", reason);
		vmspace_show(space, after, sizeof(after));
		for (unsigned long at = 0; vmspace_next(space, at, &info); at = info.end)
			now = now * 31 + info.word;
		if (result) {
			assert_string_equal(before, after);
			assert_true(words == now);
			assert_int_equal(heard_count, 0);
		} else {
			assert_true(heard_count > 0);
		}
		vmspace_destroy(space);
		assert_in_range(n, 1, 4000);
	}
}

static void every_allocation_refused(void **state)
{
	static long (*const steps[])(void) = { cut, cut_many, protect_many, move, join, fork_it,
					       word_many, move_many };

	(void)state;
	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
		for (unsigned long others = 0; others < 5; others++)
			refuse_each(steps[i], false, false, others);
		refuse_each(steps[i], false, true, 4);
		refuse_each(steps[i], true, false, 0);
		refuse_each(steps[i], true, true, 0);
	}
}

static void hooks_refused(void **state)
{
	const struct vmspace_word_hooks hooks = { .size = sizeof(hooks), .can_merge = never };

	(void)state;
	use(NULL);
	scarce.countdown = 1;
	assert_int_equal(vmspace_set_word_hooks(space, &hooks), -ENOMEM);
	map_word(0, 1, 0);
	map_word(1, 1, 0);
	assert_int_equal(heard_count, 1); /* those of before are in use */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		WORDS(equal_words_merge_and_others_do_not),
		WORDS(words_are_set),
		WORDS(areas_kept_apart_count_against_the_limit),
		WORDS(a_merge_is_vetoed),
		WORDS(three_become_one),
		WORDS(a_part_goes_to_a_neighbour),
		WORDS(what_is_unmapped_is_told),
		WORDS(moves_are_told),
		WORDS(many_moves_onto_an_area_are_told),
		WORDS(other_calls_take_words),
		WORDS(children_and_copies),
		WORDS(the_end_is_told),
		WORDS(words_of_requests_need_not_be_set),
		WORDS(hooks_of_another_version),
		cmocka_unit_test(every_allocation_refused),
		WORDS(hooks_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
