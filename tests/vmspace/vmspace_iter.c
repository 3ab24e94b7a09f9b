/* SPDX-License-Identifier: MIT */
/*
 * vmspace_iter.c - every walk over the areas of random spaces, against a plain array of pages.
 * Takes a seed; prints the one it draws.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <cmocka.h>

#include <mapletree/vmspace.h>

#define PAGE 4096UL
#define PAGES 96            /* that may be mapped */
#define ROUNDS 200
#define FLAGS (VMA_READ | VMA_MAYREAD)

static struct vmspace *space;
static uint64_t seed, random_state;
static unsigned int area_of[PAGES + 1];  /* per page: number of its area from 1 on, 0: none */
static struct vmspace_area areas[PAGES]; /* ascending */
static unsigned int count;

static unsigned int draw(unsigned int below)
{
	random_state = random_state * 6364136223846793005ULL + 1442695040888963407ULL;
	return (unsigned int)(random_state >> 33) % below;
}

static void fill_space(void)
{
	struct vmspace_image image = { 0 };
	unsigned int page = draw(8), dense = 1 + draw(6);

	memset(area_of, 0, sizeof(area_of));
	count = 0;
	while (page < PAGES && draw(30)) {
		unsigned int pages = 1 + draw(6);

		if (page + pages > PAGES)
			pages = PAGES - page;
		areas[count] = (struct vmspace_area){
			.start = page * PAGE, .end = (page + pages) * PAGE,
			.flags = FLAGS | (draw(2) ? VMA_WRITE : 0) | (draw(3) ? 0 : VMA_EXEC),
		};
		count++;
		for (unsigned int i = 0; i < pages; i++)
			area_of[page + i] = count;
		page += pages + (draw(dense) ? draw(12) : 0);
	}
	assert_int_equal(vmspace_exec(space, areas, count, &image), 0);
}

static int start(void **state)
{
	struct vmspace_config config;

	(void)state;
	vmspace_config_init(&config);
	config.page_size = PAGE;
	random_state = seed;
	return vmspace_create(&space, &config);
}

static int end(void **state)
{
	(void)state;
	vmspace_destroy(space);
	return 0;
}

/* The model's number of the first area that ends above addr; of the last that begins below it. */
static unsigned int first_from(unsigned long addr)
{
	unsigned int n = 0;

	while (n < count && areas[n].end <= addr)
		n++;
	return n < count ? n + 1 : 0;
}

static unsigned int last_below(unsigned long addr)
{
	unsigned int n = count;

	while (n > 0 && areas[n - 1].start >= addr)
		n--;
	return n;
}

/* `got` must be the area of that number; 0: none, and info untouched. */
static void assert_area(bool got, const struct vma_info *info, unsigned int number)
{
	assert_int_equal(got, number != 0);
	if (!number) {
		assert_int_equal(info->start, 1);
		return;
	}
	assert_true(info->start == areas[number - 1].start && info->end == areas[number - 1].end &&
		    info->flags == areas[number - 1].flags);
}

#define NOTHING ((struct vma_info){ .start = 1 })

static unsigned long draw_addr(void)
{
	return draw(PAGES + 1) * PAGE + (draw(2) ? 0 : draw((unsigned int)PAGE));
}

static void lookups_find_what_the_array_has(void **state)
{
	(void)state;
	for (int round = 0; round < ROUNDS; round++) {
		fill_space();
		for (int i = 0; i < 20; i++) {
			unsigned long addr = draw_addr(),
				      to = addr + 1 + draw(20 * (unsigned int)PAGE);
			unsigned int number = first_from(addr);
			struct vma_info info = NOTHING;

			assert_area(vmspace_lookup(space, addr, &info), &info,
				    area_of[addr / PAGE]);
			info = NOTHING;
			assert_area(vmspace_next(space, addr, &info), &info, number);
			info = NOTHING;
			assert_area(vmspace_intersection(space, addr, to, &info), &info,
				    number && areas[number - 1].start < to ? number : 0);
			info = NOTHING;
			assert_area(vmspace_prev(space, addr, &info), &info, last_below(addr));
		}
	}
}

static void exact_means_both_ends(void **state)
{
	(void)state;
	for (int round = 0; round < ROUNDS; round++) {
		fill_space();
		for (unsigned int n = 0; n < count; n++) {
			unsigned long from = areas[n].start, to = areas[n].end;
			struct vma_info info = NOTHING;

			assert_area(vmspace_exact(space, from, to + PAGE, &info), &info, 0);
			assert_area(vmspace_exact(space, from + PAGE, to, &info), &info, 0);
			assert_area(vmspace_exact(space, from, to, &info), &info, n + 1);
		}
	}
}

static void a_range_is_walked_both_ways(void **state)
{
	(void)state;
	for (int round = 0; round < ROUNDS; round++) {
		unsigned long from = draw_addr(), to = from + draw(40 * (unsigned int)PAGE);
		unsigned int number;
		struct vma_iterator it;
		struct vma_info info;

		fill_space();
		vma_iter_init(&it, space, from);
		number = first_from(from);
		for (; number && number <= count && areas[number - 1].start < to; number++) {
			if (from == to)
				break;
			info = NOTHING;
			assert_area(vma_iter_find(&it, to, &info), &info, number);
		}
		info = NOTHING;
		assert_area(vma_iter_find(&it, to, &info), &info, 0);
		vma_iter_init(&it, space, to);
		for (number = last_below(to); number && areas[number - 1].end > from; number--) {
			if (from == to)
				break;
			info = NOTHING;
			assert_area(vma_iter_find_rev(&it, from, &info), &info, number);
		}
		info = NOTHING;
		assert_area(vma_iter_find_rev(&it, from, &info), &info, 0);
	}
}

/* Steps at random; the model's position is a number and whether it stands there or before it. */
static void steps_go_to_and_fro(void **state)
{
	(void)state;
	for (int round = 0; round < ROUNDS; round++) {
		unsigned long addr = draw_addr();
		unsigned int next, prev; /* the areas that either step goes to, 0: none */
		struct vma_iterator it;

		fill_space();
		vma_iter_init(&it, space, addr);
		next = first_from(addr);
		prev = last_below(addr);
		for (int i = 0; i < 60; i++) {
			struct vma_info info = NOTHING;

			if (draw(2)) {
				assert_area(vma_iter_next(&it, &info), &info, next);
				prev = next ? next - 1 : count;
				next = next && next < count ? next + 1 : 0;
			} else {
				assert_area(vma_iter_prev(&it, &info), &info, prev);
				next = prev ? (prev < count ? prev + 1 : 0) : (count ? 1 : 0);
				prev = prev ? prev - 1 : 0;
			}
		}
	}
}

/* The iterator goes on from where it was, whatever became of the area that it stood on. */
static void areas_may_change_between_steps(void **state)
{
	struct vmspace_request req = { .op = VMSPACE_MUNMAP };
	struct vma_iterator it;
	struct vma_info info;

	(void)state;
	do
		fill_space();
	while (count < 4);
	vma_iter_init(&it, space, 0);
	assert_true(vma_iter_next(&it, &info));
	assert_true(vma_iter_next(&it, &info));
	req.munmap.addr = areas[1].start;
	req.munmap.length = areas[2].end - areas[1].start;
	assert_int_equal(vmspace_call(space, &req), 0);
	assert_true(vma_iter_next(&it, &info));
	assert_int_equal(info.start, areas[3].start);
	assert_true(vma_iter_prev(&it, &info));
	assert_int_equal(info.start, areas[0].start);
}

static void pages_are_counted(void **state)
{
	static const vma_flags_t wanted[] = { 0, VMA_WRITE, VMA_WRITE | VMA_EXEC, VMA_LOCKED };

	(void)state;
	for (int round = 0; round < ROUNDS; round++) {
		unsigned int from = draw(PAGES), to = from + draw(PAGES - from + 1);
		vma_flags_t flags = wanted[draw(4)];
		unsigned long pages = 0;

		fill_space();
		for (unsigned int page = from; page < to; page++)
			pages += area_of[page] &&
				 (areas[area_of[page] - 1].flags & flags) == flags;
		assert_int_equal(vmspace_count_pages(space, from * PAGE, to * PAGE, flags), pages);
	}
}

/* The widths of all gaps between areas, widest first. */
static unsigned int gaps_of(unsigned long *width)
{
	unsigned int gaps = 0;

	for (unsigned int n = 1; n < count; n++) {
		unsigned long w = areas[n].start - areas[n - 1].end;
		unsigned int at = gaps;

		if (!w)
			continue;
		for (; at > 0 && width[at - 1] < w; at--)
			width[at] = width[at - 1];
		width[at] = w;
		gaps++;
	}
	return gaps;
}

static void three_regions_leave_out_the_two_widest_gaps(void **state)
{
	unsigned int seen[4] = { 0 };

	(void)state;
	for (int round = 0; round < ROUNDS; round++) {
		struct vmspace_region regions[3];
		unsigned long width[PAGES], left_out = 0, expected = 0;
		unsigned int gaps, n;

		fill_space();
		gaps = gaps_of(width);
		n = vmspace_three_regions(space, regions);
		seen[n]++;
		assert_int_equal(n, !count ? 0 : gaps > 1 ? 3 : gaps + 1);
		if (!n)
			continue;
		assert_true(regions[0].start == areas[0].start &&
			    regions[n - 1].end == areas[count - 1].end);
		for (unsigned int i = 1; i < n; i++) {
			assert_true(regions[i].start > regions[i - 1].end);
			/* Nothing is mapped between them. */
			assert_int_equal(vmspace_count_pages(space, regions[i - 1].end,
							     regions[i].start, 0), 0);
			left_out += regions[i].start - regions[i - 1].end;
			expected += width[i - 1];
		}
		assert_int_equal(left_out, expected);
	}
	assert_true(seen[0] && seen[1] && seen[2] && seen[3]);
}

static void a_snapshot_says_how_many_there_are(void **state)
{
	struct vmspace_dump_area dump[PAGES];

	(void)state;
	for (int round = 0; round < ROUNDS; round++) {
		unsigned int capacity = draw(PAGES);

		fill_space();
		memset(dump, 0, sizeof(dump));
		assert_int_equal(vmspace_dump_snapshot(space, VMSPACE_FILTER_DEFAULT, dump,
						       capacity), count);
		for (unsigned int n = 0; n < PAGES; n++)
			assert_true(n < count && n < capacity ? dump[n].start == areas[n].start &&
								dump[n].end == areas[n].end &&
								dump[n].part == VMSPACE_DUMP_NONE
							      : !dump[n].end);
	}
}

static void private_pages_of_dax_files(void **state)
{
	struct vmspace_area area = { .start = PAGE, .end = 3 * PAGE, .flags = FLAGS };
	struct vmspace_image image = { 0 };
	struct vmspace_dump_area dump;

	(void)state;
	area.backing = (struct vma_backing){ .kind = VMA_BACKING_FILE, .name = "/pmem/a",
					     .flags = VMA_BACKING_DAX, .inode = 5 };
	for (unsigned int shared = 0; shared < 2; shared++) {
		if (shared)
			area.flags |= VMA_SHARED | VMA_MAYSHARE;
		assert_int_equal(vmspace_exec(space, &area, 1, &image), 0);
		assert_int_equal(vmspace_dump_snapshot(space, 0x7f, &dump, 1), 1);
		assert_int_equal(dump.part, VMSPACE_DUMP_NONE);
		vmspace_dump_snapshot(space, shared ? VMSPACE_FILTER_DAX_PRIVATE
						    : VMSPACE_FILTER_DAX_SHARED, &dump, 1);
		assert_int_equal(dump.part, VMSPACE_DUMP_NONE);
		vmspace_dump_snapshot(space, shared ? VMSPACE_FILTER_DAX_SHARED
						    : VMSPACE_FILTER_DAX_PRIVATE, &dump, 1);
		assert_int_equal(dump.part, VMSPACE_DUMP_ALL);
	}
}

#define RULE(name) cmocka_unit_test_setup_teardown(name, start, end)

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		RULE(lookups_find_what_the_array_has), RULE(exact_means_both_ends),
		RULE(a_range_is_walked_both_ways), RULE(steps_go_to_and_fro),
		RULE(areas_may_change_between_steps), RULE(pages_are_counted),
		RULE(three_regions_leave_out_the_two_widest_gaps),
		RULE(a_snapshot_says_how_many_there_are), RULE(private_pages_of_dax_files),
	};

	seed = argc > 1 ? strtoull(argv[1], NULL, 0) : (uint64_t)time(NULL);
	fprintf(stderr, "seed %llu\n", (unsigned long long)seed);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
