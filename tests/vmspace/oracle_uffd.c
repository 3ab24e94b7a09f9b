/* SPDX-License-Identifier: MIT */
/*
 * oracle_uffd.c - registration with userfaultfd: each rule once, made for real and in libvmspace,
 * compared after every call.
 */
#include <errno.h>
#include <linux/userfaultfd.h>
#include <string.h>
#include <sys/shm.h>

#include "cases.h"
#include "check/puppet_uffd.h"

#ifndef UFFD_FEATURE_WP_ASYNC
#define UFFD_FEATURE_WP_ASYNC (1 << 15)
#endif

#define MISSING UFFDIO_REGISTER_MODE_MISSING
#define WP UFFDIO_REGISTER_MODE_WP
#define MINOR UFFDIO_REGISTER_MODE_MINOR
#define SHARED (MAP_SHARED | MAP_ANONYMOUS | MAP_FIXED)

static unsigned int make_uffd(uint64_t features)
{
	static unsigned int last;

	assert_true(puppet_uffd(&pair.puppet, ++last, features) >= 0);
	return last;
}

/* UFFD_FEATURE_WP_ASYNC, if the kernel has it (6.7). */
static uint64_t wp_async(void)
{
	return puppet_uffd_features() & UFFD_FEATURE_WP_ASYNC;
}

static long reg_with(unsigned int uffd, unsigned long addr, unsigned long length, uint64_t mode,
		     uint64_t features)
{
	new_req(VMSPACE_UFFD_REGISTER)->uffd = (struct vmspace_uffd){
		.addr = addr, .length = length, .mode = mode, .features = features,
		.context = uffd };
	return both(&pair);
}

static long reg(unsigned int uffd, unsigned long addr, unsigned long pages, uint64_t mode)
{
	return reg_with(uffd, addr, pages * PAGE, mode, 0);
}

static long unreg_with(unsigned int uffd, unsigned long addr, unsigned long pages,
		       uint64_t features)
{
	new_req(VMSPACE_UFFD_UNREGISTER)->uffd = (struct vmspace_uffd){
		.addr = addr, .length = pages * PAGE, .features = features, .context = uffd };
	return both(&pair);
}

static long unreg(unsigned int uffd, unsigned long addr, unsigned long pages)
{
	return unreg_with(uffd, addr, pages, 0);
}

static void release(unsigned int uffd)
{
	new_req(VMSPACE_UFFD_RELEASE)->uffd.context = uffd;
	assert_int_equal(both(&pair), 0);
}

static unsigned int context_at(unsigned long addr)
{
	struct vma_info info;

	assert_true(vmspace_lookup(pair.space, addr, &info));
	assert_true(!info.uffd ||
		    info.flags & (VMA_UFFD_MISSING | VMA_UFFD_WP | VMA_UFFD_MINOR));
	return info.uffd;
}

static void splits_and_joins(void **state)
{
	unsigned int a = make_uffd(0);

	(void)state;
	map(AT(0), 8, RW, FIXED);
	assert_int_equal(reg(a, AT(2), 2, MISSING), 0);
	assert_int_equal(areas(), 3);
	assert_int_equal(count_verdict(VMA_DIFFERENT_UFFD), 0);
	assert_int_equal(reg(a, AT(4), 4, MISSING), 0);
	assert_int_equal(areas(), 2);
	assert_int_equal(context_at(AT(7)), a);
	map(AT(8), 2, RW, FIXED);
	assert_int_equal(count_verdict(VMA_DIFFERENT_UFFD), 1);
	assert_int_equal(unreg(a, AT(0), 10), 0);
	assert_int_equal(areas(), 1);
	assert_int_equal(context_at(AT(7)), 0);
}

/*
 * A mode that is asked for once more adds nothing and takes nothing away; another takes its place.
 */
static void modes_take_the_place_of_others(void **state)
{
	unsigned int a = make_uffd(0);

	(void)state;
	map(AT(0), 4, RW, FIXED);
	reg(a, AT(0), 4, MISSING | WP);
	reg(a, AT(0), 4, MISSING);
	reg(a, AT(0), 2, WP);
	assert_int_equal(areas(), 1);
	unreg(a, AT(0), 4);
	reg(a, AT(0), 4, MISSING);
	reg(a, AT(0), 2, WP);
	assert_int_equal(areas(), 2);
	reg(a, AT(0), 4, MISSING | WP);
	assert_int_equal(areas(), 1);
}

static void contexts_keep_apart(void **state)
{
	unsigned int a = make_uffd(0), b = make_uffd(0);
	struct vma_explanation why;

	(void)state;
	map(AT(0), 4, RW, FIXED);
	reg(a, AT(0), 2, MISSING);
	reg(b, AT(2), 2, MISSING);
	assert_int_equal(count_verdict(VMA_DIFFERENT_UFFD), 1);
	assert_int_equal(areas(), 2);
	assert_int_equal(vmspace_explain(pair.space, AT(0), AT(2), &why), 0);
	assert_int_equal(why.verdict, VMA_DIFFERENT_UFFD);
	assert_true(why.differ == 0);
	assert_non_null(strstr(why.text, "is registered with userfaultfd"));
	assert_int_equal(reg(b, AT(1), 1, MISSING), -EBUSY);
	assert_int_equal(reg(b, AT(0), 4, MISSING | WP), -EBUSY);
	if (has_rule("uffd-own-only")) {
		assert_int_equal(unreg(b, AT(1), 3), -EINVAL);
		assert_int_equal(areas(), 2);
	} else {
		assert_int_equal(unreg(b, AT(1), 3), 0);
		assert_int_equal(context_at(AT(0)), a);
		assert_int_equal(context_at(AT(1)), 0);
	}
}

static void holes_are_passed_over(void **state)
{
	unsigned int a = make_uffd(0);

	(void)state;
	map(AT(2), 2, RW, FIXED);
	map(AT(6), 2, RW, FIXED);
	assert_int_equal(reg(a, AT(0), 2, MISSING), -EINVAL);
	assert_int_equal(reg(a, AT(4), 2, MISSING), -EINVAL);
	assert_int_equal(unreg(a, AT(4), 2), -EINVAL);
	assert_int_equal(reg(a, AT(0), 30, MISSING), 0);
	assert_int_equal(unreg(a, AT(0), 3), 0);
	assert_int_equal(areas(), 3);
	assert_int_equal(unreg(a, AT(0), 30), 0);
	assert_int_equal(areas(), 2);
}

static void arguments(void **state)
{
	unsigned int a = make_uffd(0);
	unsigned long end = vmspace_config(pair.space)->task_size;

	(void)state;
	map(AT(0), 4, RW, FIXED);
	assert_int_equal(reg(a, AT(0), 0, MISSING), -EINVAL);
	assert_int_equal(reg(a, AT(0), 1, 0), -EINVAL);
	assert_int_equal(reg(a, AT(0), 1, 8), -EINVAL);
	assert_int_equal(reg(a, AT(0), 1, 8 | MISSING), -EINVAL);
	assert_int_equal(reg(a, AT(0) + 1, 1, MISSING), -EINVAL);
	assert_int_equal(reg_with(a, AT(0), PAGE + 1, MISSING, 0), -EINVAL);
	assert_int_equal(reg(a, 0, 1, MISSING), -EINVAL);
	assert_int_equal(reg(a, end, 1, MISSING), -EINVAL);
	assert_int_equal(reg(a, end - PAGE, 2, MISSING), -EINVAL);
	assert_int_equal(reg(a, -PAGE, 2, MISSING), -EINVAL);
	assert_int_equal(unreg(a, AT(0) + 1, 1), -EINVAL);
	assert_int_equal(unreg(a, AT(0), 0), -EINVAL);
	assert_int_equal(unreg(a, end, 1), -EINVAL);
	assert_int_equal(areas(), 1);
}

/* The lowest address at which something may be mapped bounds where a range begins, or does not. */
static void range_from_zero(void **state)
{
	long from_zero = has_rule("uffd-low") ? 0 : -EINVAL;
	unsigned int a = make_uffd(0);

	(void)state;
	assert_int_equal(map(16 * PAGE, 2, RW, FIXED), 16 * PAGE);
	assert_int_equal(reg(a, 0, 18, MISSING), from_zero);
	assert_int_equal(unreg(a, 0, 17), from_zero);
	assert_int_equal(unreg(a, 1, 17), -EINVAL);
	assert_int_equal(reg(a, 0, 16, MISSING), -EINVAL);
}

static void every_mode(unsigned int uffd, unsigned long addr, uint64_t features)
{
	for (uint64_t mode = 1; mode < 8; mode++) {
		reg_with(uffd, addr, 2 * PAGE, mode, features);
		unreg_with(uffd, addr, 2, features);
	}
}

/* Which areas take which modes; with one that tracks writes by itself, too. */
static void kinds_of_areas(void **state)
{
	const uint64_t features[] = { 0, wp_async() };

	(void)state;
	map(AT(0), 2, RW, FIXED);
	map(AT(4), 2, PROT_NONE, FIXED);
	map(AT(8), 2, RW, FIXED | MAP_GROWSDOWN);
	map(AT(12), 2, RW, DROPPABLE | MAP_ANONYMOUS | MAP_FIXED);
	map(AT(16), 2, RW, SHARED);
	map_file(PUPPET_FILE_RW, AT(20), 2, RW, MAP_SHARED | MAP_FIXED, 0);
	map_file(PUPPET_FILE_RW, AT(24), 2, RW, MAP_PRIVATE | MAP_FIXED, 0);
	map_file(PUPPET_FILE_RDONLY, AT(28), 2, PROT_READ, MAP_SHARED | MAP_FIXED, 0);
	map_file(PUPPET_MEMFD, AT(32), 2, RW, MAP_SHARED | MAP_FIXED, 0);
	map_file(PUPPET_MEMFD, AT(36), 2, RW, MAP_PRIVATE | MAP_FIXED, 0);
	for (size_t i = 0; i < 2; i++) {
		unsigned int a = make_uffd(features[i]);

		for (unsigned long at = 0; at < 40; at += 4)
			every_mode(a, AT(at), features[i]);
		release(a);
	}
	assert_int_equal(areas(), has_rule("droppable") ? 10 : 9);
}

/* Two pages of System V shared memory. */
static void attach_segment(unsigned long addr)
{
	pair.shm_id = shmget(IPC_PRIVATE, 2 * PAGE, 0700);
	assert_true(pair.shm_id >= 0);
	new_req(VMSPACE_SHMAT)->shmat = (struct vmspace_shmat){ .addr = addr, .size = 2 * PAGE };
	req.shmat.backing.name = "/SYSV00000000 (deleted)";
	assert_int_equal(both(&pair), (long)addr);
}

/* One area that does not take it, and none gets it. */
static void all_or_nothing(void **state)
{
	unsigned int a = make_uffd(0);

	(void)state;
	map(AT(0), 2, RW, FIXED);
	attach_segment(AT(2));
	assert_int_equal(reg(a, AT(0), 4, MISSING), -EINVAL);
	assert_int_equal(context_at(AT(0)), 0);
	assert_int_equal(reg(a, AT(0), 2, MISSING), 0);
	assert_int_equal(unreg(a, AT(0), 4), -EINVAL);
	assert_int_equal(context_at(AT(0)), a);
	shmctl(pair.shm_id, IPC_RMID, NULL);
}

/* Though their pages are shared memory. One that tracks writes by itself takes everything. */
static void segments_are_refused(void **state)
{
	const uint64_t features[] = { 0, wp_async() };

	(void)state;
	attach_segment(AT(0));
	for (size_t i = 0; i < 2; i++)
		every_mode(make_uffd(features[i]), AT(0), features[i]);
	shmctl(pair.shm_id, IPC_RMID, NULL);
}

static void huge_pages_are_whole(void **state)
{
	unsigned int a = make_uffd(0);

	(void)state;
	map(AT(512), 1024, RW, FIXED | MAP_HUGETLB | MAP_NORESERVE);
	assert_int_equal(reg(a, AT(512), 2, MISSING), -EINVAL);
	assert_int_equal(reg(a, AT(510), 514, MISSING), -EINVAL);
	assert_int_equal(reg(a, AT(600), 936, MISSING), -EINVAL);
	assert_int_equal(reg(a, AT(512), 512, MISSING), 0);
	assert_int_equal(reg(a, AT(1024), 512, MINOR), has_rule("uffd-minor") ? 0 : -EINVAL);
	assert_int_equal(reg(a, AT(1024), 512, WP), has_rule("uffd-wp-files") ? 0 : -EINVAL);
	assert_int_equal(unreg(a, AT(512), 2), -EINVAL);
	assert_int_equal(unreg(a, AT(513), 2), -EINVAL);
	assert_int_equal(unreg(a, AT(512), 1024), 0);
	unreg(a, AT(512), 2);
}

static void released_areas_join(void **state)
{
	unsigned int a = make_uffd(0), b = make_uffd(0);

	(void)state;
	map(AT(0), 8, RW, FIXED);
	reg(a, AT(1), 2, MISSING);
	reg(b, AT(3), 2, MISSING);
	reg(a, AT(6), 1, MISSING | WP);
	assert_int_equal(areas(), 6);
	release(a);
	assert_int_equal(areas(), 3);
	release(b);
	assert_int_equal(areas(), 1);
}

static void move_leaves_it_behind(void **state)
{
	unsigned int a = make_uffd(0);

	(void)state;
	map(AT(0), 6, RW, FIXED);
	reg(a, AT(0), 6, MISSING);
	remap(AT(0), 2, 2, MREMAP_MAYMOVE | MREMAP_FIXED, AT(10));
	assert_int_equal(context_at(AT(10)), 0);
	remap(AT(2), 2, 2, MREMAP_MAYMOVE | MREMAP_FIXED | MREMAP_STAYS, AT(20));
	assert_int_equal(context_at(AT(2)), a);
	assert_int_equal(context_at(AT(20)), 0);
	/* It could join, but was registered when it came. */
	remap(AT(2), 2, 2, MREMAP_MAYMOVE | MREMAP_FIXED, AT(12));
	assert_int_equal(areas_from(&pair, AT(10), AT(14)), 2);
}

/* What a moved area joins loses its registration, too; since 7.3 it joins nothing. */
static void moved_area_takes_it_from_another(void **state)
{
	unsigned int a = make_uffd(0);
	bool alone = has_rule("uffd-moves-alone");

	(void)state;
	map(AT(0), 2, RW, FIXED);
	map(AT(10), 2, RW, FIXED);
	reg(a, AT(0), 12, MISSING);
	remap(AT(0), 2, 2, MREMAP_MAYMOVE | MREMAP_FIXED, AT(12));
	assert_int_equal(areas_from(&pair, AT(10), AT(14)), alone ? 2 : 1);
	assert_int_equal(context_at(AT(10)), alone ? a : 0);
	assert_int_equal(context_at(AT(12)), 0);
}

static void several_are_not_moved(void **state)
{
	unsigned int a = make_uffd(0);

	(void)state;
	map(AT(0), 2, RW, FIXED);
	map(AT(4), 2, PROT_READ, FIXED);
	reg(a, AT(4), 2, MISSING);
	assert_int_equal(remap(AT(0), 6, 6, MREMAP_MAYMOVE | MREMAP_FIXED, AT(20)), -EFAULT);
	assert_int_equal(areas_from(&pair, AT(20), AT(22)), has_rule("remap-many") ? 1 : 0);
	assert_int_equal(context_at(AT(4)), a);
}

static void growth_keeps_it(void **state)
{
	unsigned int a = make_uffd(0);
	unsigned long brk = (unsigned long)set_brk(0);

	(void)state;
	map(AT(0), 4, RW, FIXED);
	reg(a, AT(0), 4, MISSING);
	remap(AT(0), 4, 6, 0, 0);
	assert_int_equal(context_at(AT(5)), a);
	remap(AT(0), 6, 3, 0, 0);
	brk = (brk + PAGE - 1) & -PAGE;
	set_brk(brk + 2 * PAGE);
	reg(a, brk, 2, WP);
	set_brk(brk + 4 * PAGE);
	assert_int_equal(count_verdict(VMA_DIFFERENT_UFFD), 1);
	assert_int_equal(context_at(brk + 3 * PAGE), 0);
	protect(AT(1), 1, PROT_READ);
	assert_int_equal(context_at(AT(1)), a);
	protect(AT(1), 1, RW);
	assert_int_equal(areas(), 1);
	unmap(AT(1), 1);
	map(AT(1), 1, RW, FIXED);
	assert_int_equal(areas(), 3);
}

/* What a userfaultfd puts into an area is its own page, though the program may not write there. */
static void given_page_has_an_anon_vma(void **state)
{
	unsigned int a = make_uffd(0);

	(void)state;
	map(AT(0), 2, RW, FIXED | MAP_NORESERVE);
	touch(AT(0));
	map(AT(2), 2, PROT_READ, FIXED | MAP_NORESERVE);
	reg(a, AT(2), 2, MISSING);
	new_req(VMSPACE_FAULT)->fault = (struct vmspace_fault){ AT(2), VMSPACE_ACCESS_READ };
	assert_int_equal(both(&pair), 0);
	protect(AT(0), 2, PROT_READ);
	unreg(a, AT(2), 2);
	assert_int_equal(areas(), 2);
	assert_int_equal(count_verdict(VMA_DIFFERENT_ANON_VMA), 1);
}

/* Modes decide whether a neighbour's anon_vma is shared; whose they are does not. */
static void neighbours_share_across_contexts(void **state)
{
	unsigned int a = make_uffd(0), b = make_uffd(0);

	(void)state;
	map(AT(0), 4, RW, FIXED);
	reg(a, AT(0), 2, WP);
	reg(b, AT(2), 2, WP);
	touch(AT(0));
	touch(AT(2));
	unreg(a, AT(0), 2);
	unreg(b, AT(2), 2);
	assert_int_equal(areas(), 1);
	map(AT(10), 4, RW, FIXED);
	reg(a, AT(10), 2, WP);
	touch(AT(10));
	touch(AT(12));
	unreg(a, AT(10), 2);
	assert_int_equal(count_verdict(VMA_DIFFERENT_ANON_VMA), 1);
}

static void fork_leaves_it_behind(void **state)
{
	unsigned int a = make_uffd(0);
	struct pair child;
	struct vma_info info;

	(void)state;
	map(AT(0), 4, RW, FIXED);
	reg(a, AT(0), 2, MISSING);
	assert_true(pair_fork(&pair, &child));
	assert_true(vmspace_lookup(child.space, AT(0), &info));
	assert_int_equal(info.uffd, 0);
	assert_int_equal(context_at(AT(0)), a);
	pair_end(&child);
}

static void move_with_event_takes_it_along(void **state)
{
	unsigned int a = make_uffd(UFFD_FEATURE_EVENT_REMAP);
	unsigned long events = puppet_uffd_events();

	(void)state;
	map(AT(0), 8, RW, FIXED);
	reg_with(a, AT(0), 8 * PAGE, MISSING, UFFD_FEATURE_EVENT_REMAP);
	remap(AT(0), 2, 2, MREMAP_MAYMOVE | MREMAP_FIXED, AT(10));
	remap(AT(2), 2, 2, MREMAP_MAYMOVE | MREMAP_FIXED | MREMAP_STAYS, AT(20));
	remap(AT(4), 2, 6, MREMAP_MAYMOVE | MREMAP_FIXED, AT(12));
	assert_int_equal(context_at(AT(17)), a);
	assert_int_equal(areas_from(&pair, AT(10), AT(18)),
			 has_rule("dontunmap-uncharges") ? 2 : 1);
	assert_int_equal(puppet_uffd_events() - events, 3);
}

static void fork_with_event_takes_it_along(void **state)
{
	unsigned long events = puppet_uffd_events();
	struct vma_info info;
	struct pair child;
	unsigned int a, b;

	(void)state;
	if (puppet_uffd_right(NULL) != PUPPET_UFFD_ALL)
		case_skip("UFFD_FEATURE_EVENT_FORK needs CAP_SYS_PTRACE");
	a = make_uffd(UFFD_FEATURE_EVENT_FORK);
	b = make_uffd(0);
	map(AT(0), 4, RW, FIXED);
	reg_with(a, AT(0), 2 * PAGE, MISSING, UFFD_FEATURE_EVENT_FORK);
	reg(b, AT(2), 2, MISSING);
	assert_true(pair_fork(&pair, &child));
	assert_true(vmspace_lookup(child.space, AT(0), &info));
	assert_int_equal(info.uffd, a);
	assert_true(vmspace_lookup(child.space, AT(2), &info));
	assert_int_equal(info.uffd, 0);
	assert_non_null(puppet_uffd_find(&child.puppet, a));
	assert_null(puppet_uffd_find(&child.puppet, b));
	pair_end(&child);
	remap(AT(0), 2, 2, MREMAP_MAYMOVE | MREMAP_FIXED, AT(10));
	assert_int_equal(context_at(AT(10)), 0);
	assert_int_equal(puppet_uffd_events() - events, 1);
}

/* Found by vmscope check: most versions not even for WP_ASYNC, which takes all other areas. */
static void areas_of_the_kernels(void **state)
{
	bool any = has_rule("uffd-takes-special");
	unsigned int a = make_uffd(wp_async());
	struct vma_info info;
	int found = 0;

	(void)state;
	for (unsigned long at = 0; vmspace_next(pair.space, at, &info); at = info.end) {
		if (info.backing.kind != VMA_BACKING_SPECIAL)
			continue;
		assert_int_equal(reg_with(a, info.start, info.end - info.start, WP,
					  wp_async()),
				 !any ? -EINVAL : info.flags & VMA_MAYWRITE ? 0 : -EPERM);
		unreg_with(a, info.start, 1, wp_async());
		unreg_with(a, info.start, (info.end - info.start) / PAGE, wp_async());
		found++;
	}
	assert_true(found >= 2);
	if (!puppet_file_info(PUPPET_IO_URING)->there)
		return;
	assert_int_equal(reg_with(a, (unsigned long)map_file(PUPPET_IO_URING, 0, 1, RW,
							     MAP_SHARED, 0),
				  PAGE, WP, wp_async()), any ? 0 : -EINVAL);
}

/* Found by vmscope check: what comes before an area that cannot be cut is registered. */
static void an_area_that_cannot_be_cut_comes_last(void **state)
{
	bool any = has_rule("uffd-takes-special"), whole = has_rule("special-whole");
	unsigned int a = make_uffd(wp_async());
	struct vma_info info = { 0 };
	unsigned long pages;

	(void)state;
	while (vmspace_next(pair.space, info.end, &info))
		if (info.backing.kind == VMA_BACKING_SPECIAL && info.flags & VMA_MAYWRITE &&
		    info.end - info.start > PAGE)
			break;
	pages = (info.end - info.start) / PAGE;
	if (info.backing.kind != VMA_BACKING_SPECIAL ||
	    remap(info.start, pages, pages, MREMAP_MAYMOVE | MREMAP_FIXED, AT(4)) != (long)AT(4))
		case_skip("no special area of two pages moves");
	map(AT(2), 2, RW, FIXED);
	assert_int_equal(reg_with(a, AT(2), 3 * PAGE, WP, wp_async()), any && !whole ? 0 : -EINVAL);
	assert_int_equal(context_at(AT(2)), any ? a : 0);
}

/* Found by vmscope check: the program of the puppet is a memfd, which maps shows by its name. */
static void taken_over_memfd_is_shared_memory(void **state)
{
	struct vma_info info;

	(void)state;
	assert_true(vmspace_next(pair.space, 0, &info));
	assert_memory_equal(info.backing.name, "/memfd:", 7);
	assert_int_equal(unreg(make_uffd(0), info.start, 1), 0);
}

static bool uffd_possible(void)
{
	int rc;

	if (puppet_uffd_right(&rc) != PUPPET_UFFD_NONE)
		return true;
	printf("SKIP: userfaultfd(2): %s\n", strerror(-rc));
	return false;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(splits_and_joins), CASE(modes_take_the_place_of_others),
		CASE(contexts_keep_apart), CASE(holes_are_passed_over), CASE(arguments),
		CASE(range_from_zero), CASE(areas_of_the_kernels),
		CASE(an_area_that_cannot_be_cut_comes_last),
		CASE(taken_over_memfd_is_shared_memory),
		CASE(kinds_of_areas), CASE(segments_are_refused), CASE(all_or_nothing),
		CASE(huge_pages_are_whole),
		CASE(released_areas_join), CASE(move_leaves_it_behind),
		CASE(moved_area_takes_it_from_another), CASE(several_are_not_moved),
		CASE(growth_keeps_it), CASE(neighbours_share_across_contexts),
		CASE(fork_leaves_it_behind), CASE(move_with_event_takes_it_along),
		CASE(fork_with_event_takes_it_along),
		MIRRORED(splits_and_joins), MIRRORED(released_areas_join),
		MIRRORED(kinds_of_areas), MIRRORED(neighbours_share_across_contexts),
		MIRRORED(given_page_has_an_anon_vma), MIRRORED(moved_area_takes_it_from_another),
	};

	if (!case_possible() || !uffd_possible())
		return TEST_SKIPPED;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
