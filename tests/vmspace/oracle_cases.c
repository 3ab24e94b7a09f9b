/* SPDX-License-Identifier: MIT */
/*
 * oracle_cases.c - each rule of Linux once, by hand: made for real and in libvmspace, compared
 * after every call, and the verdict that libvmspace names is the expected one.
 */
#include <errno.h>
#include <linux/mempolicy.h>
#include <signal.h>
#include <string.h>
#include <sys/shm.h>

#include "cases.h"

/* ---- merging ---- */

static void middle_joins_both(void **state)
{
	(void)state;
	map(AT(0), 2, RW, FIXED);
	map(AT(4), 2, RW, FIXED);
	assert_int_equal(areas(), 2);
	map(AT(2), 2, RW, FIXED);
	assert_int_equal(areas(), 1);
	assert_int_equal(count_verdict(VMA_MERGED), 2);
}

static void flags_keep_apart(void **state)
{
	(void)state;
	map(AT(0), 2, RW, FIXED);
	map(AT(2), 2, PROT_READ, FIXED);
	assert_int_equal(count_verdict(VMA_DIFFERENT_FLAGS), 1);
	map(AT(4), 2, PROT_READ, FIXED | MAP_NORESERVE);
	assert_int_equal(count_verdict(VMA_DIFFERENT_FLAGS), 1);
	assert_int_equal(areas(), 3);
}

static void protect_splits_and_joins(void **state)
{
	(void)state;
	map(AT(0), 9, RW, FIXED);
	protect(AT(3), 3, PROT_READ);
	assert_int_equal(areas(), 3);
	protect(AT(3), 3, RW);
	assert_int_equal(areas(), 1);
	protect(AT(0), 3, PROT_NONE);
	protect(AT(6), 3, PROT_NONE);
	protect(AT(3), 3, PROT_NONE);
	/* The middle was writable: it stays accounted only if it has pages. */
	assert_int_equal(areas(), 1);
}

static void accounting_stays_with_pages(void **state)
{
	(void)state;
	map(AT(0), 2, RW, FIXED);
	map(AT(2), 2, PROT_NONE, FIXED);
	touch(AT(0));
	protect(AT(0), 2, PROT_NONE);
	assert_int_equal(count_verdict(VMA_DIFFERENT_FLAGS), 1);
	assert_int_equal(areas(), 2);
}

static void different_anon_vmas_keep_apart(void **state)
{
	(void)state;
	map(AT(0), 2, RW, FIXED);
	map(AT(4), 2, RW, FIXED);
	touch(AT(0));
	touch(AT(4));
	map(AT(2), 2, RW, FIXED);
	assert_int_equal(count_verdict(VMA_DIFFERENT_ANON_VMA), 1);
	assert_int_equal(areas(), 2);
}

static void neighbours_share_an_anon_vma(void **state)
{
	(void)state;
	map(AT(0), 4, RW, FIXED);
	protect(AT(2), 2, RW | PROT_EXEC);
	touch(AT(0));
	touch(AT(2));
	/* The second took the first's: only access rights differed. */
	protect(AT(2), 2, RW);
	assert_int_equal(areas(), 1);
}

static void child_keeps_apart(void **state)
{
	struct pair child, *parent = &pair;

	(void)state;
	map(AT(0), 2, RW, FIXED);
	touch(AT(0));
	assert_true(pair_fork(parent, &child));
	map(AT(2), 2, RW, FIXED);
	assert_int_equal(areas(), 1);
	new_req(VMSPACE_MMAP)->mmap = (struct vmspace_mmap){
		.addr = AT(2), .length = 2 * PAGE, .prot = RW, .flags = FIXED };
	both(&child);
	assert_int_equal(count_verdict(VMA_ANON_VMA_SHARED), 1);
	assert_int_equal(areas_from(&child, BASE, AT(100)), 2);
	pair_end(&child);
}

static long call_in(struct pair *p, unsigned long addr, unsigned long pages, int prot, bool change)
{
	new_req(change ? VMSPACE_MPROTECT : VMSPACE_MMAP);
	if (change)
		req.mprotect = (struct vmspace_mprotect){ addr, pages * PAGE, prot, -1 };
	else
		req.mmap = (struct vmspace_mmap){
			.addr = addr, .length = pages * PAGE, .prot = prot, .flags = FIXED };
	return both(p);
}

/* An anon_vma inherited through fork is not taken by a neighbour's first page, either way. */
static void inherited_is_not_shared(void **state)
{
	struct pair child;

	(void)state;
	map(AT(2), 2, RW, FIXED);
	touch(AT(2));
	assert_true(pair_fork(&pair, &child));
	call_in(&child, AT(0), 2, RW | PROT_EXEC, false);
	call_in(&child, AT(4), 2, RW | PROT_EXEC, false);
	touch_in(&child, AT(0));
	touch_in(&child, AT(4));
	call_in(&child, AT(0), 2, RW, true);
	assert_int_equal(count_verdict(VMA_DIFFERENT_ANON_VMA), 1);
	call_in(&child, AT(4), 2, RW, true);
	assert_int_equal(count_verdict(VMA_DIFFERENT_ANON_VMA), 1);
	assert_int_equal(areas_from(&child, BASE, AT(100)), 3);
	pair_end(&child);
}

/* Found by the random test: whether to merge is decided before the lock is dropped. */
static void droppable_under_mlockall(void **state)
{
	(void)state;
	if (!has_rule("droppable"))
		case_skip("the kernel has no MAP_DROPPABLE");
	map(AT(0), 1, RW, MAP_ANONYMOUS | MAP_FIXED | 8);
	map(AT(1), 1, RW, MAP_ANONYMOUS | MAP_FIXED | 8);
	assert_int_equal(areas(), 1);
	new_req(VMSPACE_MLOCKALL)->mlockall.flags = MCL_FUTURE | MCL_ONFAULT;
	both(&pair);
	map(AT(2), 1, RW, MAP_ANONYMOUS | MAP_FIXED | 8);
	assert_int_equal(areas(), 2);
}

/* On overlayfs at the next change only. */
static void files_join_by_offset(void **state)
{
	const bool at_once = !(pair_backing(PUPPET_FILE_RW)->flags & VMA_BACKING_MAP_ALONE);

	(void)state;
	map_file(PUPPET_FILE_RW, AT(0), 2, PROT_READ, MAP_PRIVATE | MAP_FIXED, 0);
	map_file(PUPPET_FILE_RW, AT(2), 2, PROT_READ, MAP_PRIVATE | MAP_FIXED, 2);
	assert_int_equal(areas(), at_once ? 1 : 2);
	map_file(PUPPET_FILE_RW, AT(4), 2, PROT_READ, MAP_PRIVATE | MAP_FIXED, 5);
	assert_int_equal(count_verdict(VMA_DIFFERENT_OFFSET), at_once);
	map_file(PUPPET_FILE_RW_AGAIN, AT(6), 2, PROT_READ, MAP_PRIVATE | MAP_FIXED, 7);
	assert_int_equal(count_verdict(VMA_DIFFERENT_FILE), at_once);
	assert_int_equal(protect(AT(0), 8, PROT_NONE), 0);
	assert_int_equal(areas(), 3);
	/* A move looks at the neighbours anew, too. */
	map_file(PUPPET_FILE_RW, AT(20), 2, PROT_NONE, MAP_PRIVATE | MAP_FIXED, 7);
	remap(AT(20), 2, 2, MREMAP_MAYMOVE | MREMAP_FIXED, AT(6));
	assert_int_equal(areas(), 2);
}

/* ---- holes and limits ---- */

static void protect_stops_at_a_hole(void **state)
{
	(void)state;
	map(AT(0), 2, RW, FIXED);
	map(AT(4), 2, RW, FIXED);
	assert_int_equal(protect(AT(0), 6, PROT_READ), -ENOMEM);
	assert_int_equal(areas(), 2);
}

static void advice_goes_past_a_hole(void **state)
{
	(void)state;
	map(AT(0), 2, RW, FIXED);
	map(AT(4), 2, RW, FIXED);
	assert_int_equal(advise(AT(0), 6, MADV_DONTFORK), -ENOMEM);
	assert_int_equal(advise(AT(0), 6, MADV_DONTDUMP), -ENOMEM);
	assert_int_equal(advise(AT(0), 2, 12345), -EINVAL);
}

static void unmap_cuts(void **state)
{
	(void)state;
	map(AT(0), 10, RW, FIXED);
	unmap(AT(4), 2);
	assert_int_equal(areas(), 2);
	assert_int_equal(unmap(AT(20), 2), 0);
	assert_int_equal(unmap(AT(0) + 1, 2), -EINVAL);
	unmap(AT(2), 6);
	assert_int_equal(areas(), 2);
}

static void not_over_something(void **state)
{
	(void)state;
	map(AT(0), 4, RW, FIXED);
	assert_int_equal(map(AT(3), 2, RW, ANON | MAP_FIXED_NOREPLACE), -EEXIST);
	assert_int_equal(map(AT(4), 2, RW, ANON | MAP_FIXED_NOREPLACE), (long)AT(4));
}

/* ---- stacks, break ---- */

static void stack_grows_down(void **state)
{
	long at;

	(void)state;
	at = map(AT(1000), 2, RW, FIXED | MAP_GROWSDOWN);
	assert_true(at > 0);
	assert_int_equal(touch(AT(998)), 0);
	assert_int_equal(touch(AT(900)), 0);
	/* Something below keeps its distance of the guard gap. */
	map(AT(600), 2, RW, FIXED);
	assert_int_equal(touch(AT(700)), -EFAULT);
	assert_int_equal(touch(AT(858)), 0);
	assert_int_equal(touch(AT(857)), -EFAULT);
	/* An inaccessible one does not matter. */
	protect(AT(600), 2, PROT_NONE);
	assert_int_equal(touch(AT(700)), 0);
	assert_int_equal(protect(AT(800), 1, PROT_READ | PROT_GROWSDOWN), 0);
}

static void hints_respect_the_guard_gap(void **state)
{
	(void)state;
	map(AT(1000), 2, RW, FIXED | MAP_GROWSDOWN);
	assert_int_equal(map(AT(740), 2, RW, ANON), (long)AT(740));
	assert_int_not_equal(map(AT(750), 2, RW, ANON), (long)AT(750));
	assert_int_equal(map(AT(750), 2, RW, FIXED), (long)AT(750));
}

static void break_moves(void **state)
{
	struct vmspace_stats stats;
	unsigned long brk;

	(void)state;
	vmspace_stats(pair.space, &stats);
	brk = (stats.brk + PAGE - 1) & ~(PAGE - 1);
	assert_int_equal(set_brk(0), (long)stats.brk);
	set_brk(brk + 10 * PAGE);
	set_brk(brk + 10 * PAGE + 5);
	set_brk(brk + 3);
	set_brk(brk + 20 * PAGE);
	/* Something in the way, a page must stay free. */
	map(brk + 30 * PAGE, 1, RW, FIXED);
	assert_int_equal(set_brk(brk + 30 * PAGE), (long)(brk + 20 * PAGE));
	assert_int_equal(set_brk(brk + 29 * PAGE), (long)(brk + 29 * PAGE));
	protect(brk + 25 * PAGE, 4, PROT_READ);
	set_brk(brk + 20 * PAGE);
	unmap(brk + 2 * PAGE, 4);
	set_brk(brk);
}

/* ---- locks, seals, the rest ---- */

static void locks_split(void **state)
{
	(void)state;
	map(AT(0), 8, RW, FIXED);
	new_req(VMSPACE_MLOCK)->mlock = (struct vmspace_mlock){ AT(2) + 5, PAGE, 0, false };
	assert_int_equal(both(&pair), 0);
	assert_int_equal(areas(), 3);
	new_req(VMSPACE_MLOCK)->mlock =
		(struct vmspace_mlock){ AT(0), 8 * PAGE, MLOCK_ONFAULT, true };
	assert_int_equal(both(&pair), 0);
	assert_int_equal(areas(), has_rule("anon-vma-taken") ? 1 : 2);
	new_req(VMSPACE_MUNLOCK)->mlock = (struct vmspace_mlock){ AT(0), 9 * PAGE, 0, false };
	assert_int_equal(both(&pair), -ENOMEM);
	new_req(VMSPACE_MLOCKALL)->mlockall.flags = MCL_FUTURE;
	assert_int_equal(both(&pair), 0);
	map(AT(8), 2, RW, FIXED);
	assert_int_equal(areas(), has_rule("anon-vma-taken") ? 2 : 3);
	new_req(VMSPACE_MUNLOCKALL);
	both(&pair);
	/* The lock kept the new area from taking the old one's anon_vma. */
	assert_int_equal(count_verdict(VMA_DIFFERENT_ANON_VMA) > 0, 1);
	assert_int_equal(areas(), has_rule("anon-vma-taken") ? 2 : 3);
}

static void sealed_stays(void **state)
{
	(void)state;
	map(AT(0), 9, RW, FIXED);
	new_req(VMSPACE_MSEAL)->mseal = (struct vmspace_mseal){ AT(3), 3 * PAGE, 0 };
	if (both(&pair) == -ENOSYS)
		case_skip("the kernel has no mseal(2)");
	assert_int_equal(unmap(AT(1), 4), -EPERM);
	assert_int_equal(unmap(AT(2), 1), 0);
	assert_int_equal(protect(AT(3), 1, PROT_READ), -EPERM);
	assert_int_equal(remap(AT(3), 3, 2, 0, 0), -EPERM);
	assert_int_equal(map(AT(4), 1, RW, FIXED), -EPERM);
	assert_int_equal(advise(AT(3), 1, MADV_DONTNEED), 0);
}

/* A guard in a private file mapping needs no anon_vma, so the child's area is as if new. */
static void guards_in_files_give_no_anon_vma(void **state)
{
	struct pair child;

	(void)state;
	map_file(PUPPET_FILE_RW, AT(0), 4, RW, MAP_PRIVATE | MAP_FIXED, 0);
	protect(AT(0), 2, PROT_READ);
	advise(AT(0), 1, MADV_GUARD_INSTALL);
	assert_true(pair_fork(&pair, &child));
	call_in(&child, AT(0), 2, RW, true);
	pair_end(&child);
}

static void fork_by_advice(void **state)
{
	struct pair child;

	(void)state;
	map(AT(0), 2, RW, FIXED);
	map(AT(4), 2, RW, FIXED);
	map(AT(8), 2, RW, FIXED);
	touch(AT(0));
	touch(AT(4));
	touch(AT(8));
	advise(AT(0), 2, MADV_DONTFORK);
	advise(AT(4), 2, MADV_WIPEONFORK);
	new_req(VMSPACE_MLOCK)->mlock = (struct vmspace_mlock){ AT(8), PAGE, 0, false };
	assert_int_equal(both(&pair), 0);
	assert_true(pair_fork(&pair, &child));
	assert_int_equal(areas_from(&child, BASE, AT(100)), 3);
	/* The wiped one has no anon_vma: it merges as if new. */
	new_req(VMSPACE_MMAP)->mmap = (struct vmspace_mmap){
		.addr = AT(6), .length = PAGE, .prot = RW, .flags = FIXED };
	both(&child);
	assert_int_equal(touch_in(&child, AT(0)), -EFAULT);
	assert_int_equal(touch_in(&child, AT(8)), 0);
	pair_end(&child);
}

static void shared_segments(void **state)
{
	unsigned long at;

	(void)state;
	pair.shm_id = shmget(IPC_PRIVATE, 6 * PAGE, 0700);
	assert_true(pair.shm_id >= 0);
	new_req(VMSPACE_SHMAT)->shmat = (struct vmspace_shmat){ .size = 6 * PAGE };
	req.shmat.backing.name = "/SYSV00000000 (deleted)";
	at = (unsigned long)both(&pair);
	protect(at + 2 * PAGE, 2, PROT_READ);
	/* It can be cut, but a piece is never swallowed again. */
	protect(at + 2 * PAGE, 2, RW);
	assert_int_equal(areas_from(&pair, at, at + 6 * PAGE), 3);
	unmap(at, 1);
	new_req(VMSPACE_SHMDT)->shmdt.addr = at;
	assert_int_equal(both(&pair), 0);
	shmctl(pair.shm_id, IPC_RMID, NULL);
}

/* Found by the random test: a seal further up refuses the call, but the first cut stays. */
static void refused_unmap_leaves_a_cut(void **state)
{
	(void)state;
	map(AT(0), 4, RW, FIXED);
	map(AT(4), 4, PROT_READ, FIXED);
	new_req(VMSPACE_MSEAL)->mseal = (struct vmspace_mseal){ AT(4), 4 * PAGE, 0 };
	if (both(&pair) == -ENOSYS)
		case_skip("the kernel has no mseal(2)");
	assert_int_equal(unmap(AT(2), 4), -EPERM);
	assert_int_equal(areas(), 3);
	assert_int_equal(map(AT(1), 6, RW, FIXED), -EPERM);
	assert_int_equal(areas(), 4);
}


/* ---- memory policies ---- */

static long bind_to(unsigned long addr, unsigned long pages, int mode, uint64_t nodes)
{
	new_req(VMSPACE_MBIND)->mbind =
		(struct vmspace_mbind){ addr, pages * PAGE, mode, nodes, 0 };
	return both(&pair);
}

static void policies_keep_apart(void **state)
{
	struct vma_explanation why;
	struct vma_info info;
	struct pair child;

	(void)state;
	if (!vmspace_config(pair.space)->memory_nodes)
		case_skip("the kernel has no policies of memory (NUMA)");
	map(AT(0), 8, RW, FIXED);
	assert_int_equal(bind_to(AT(2), 4, MPOL_BIND, 1), 0);
	assert_int_equal(areas(), 3);
	assert_int_equal(vmspace_explain(pair.space, AT(1), AT(2), &why), 0);
	assert_int_equal(why.verdict, VMA_DIFFERENT_POLICY);
	assert_true(vmspace_lookup(pair.space, AT(2), &info));
	assert_int_equal(info.policy, MPOL_BIND);
	assert_int_equal(info.policy_nodes, 1);
	/* New areas have none: they join those without. */
	map(AT(8), 2, RW, FIXED);
	assert_int_equal(areas(), 3);
	/* It goes with an area that moves, and to a child. */
	remap(AT(2), 4, 4, MREMAP_MAYMOVE | MREMAP_FIXED, AT(20));
	map(AT(24), 2, RW, FIXED);
	assert_int_equal(areas_from(&pair, AT(20), AT(26)), 2);
	assert_true(pair_fork(&pair, &child));
	assert_true(vmspace_lookup(child.space, AT(20), &info));
	assert_int_equal(info.policy, MPOL_BIND);
	pair_end(&child);
	/* Taken away, nothing is between them; holes do not matter then. */
	assert_int_equal(bind_to(AT(0), 30, MPOL_DEFAULT, 0), 0);
	assert_int_equal(areas_from(&pair, AT(20), AT(26)), 1);
	assert_int_equal(bind_to(AT(0), 30, MPOL_BIND, 1), -EFAULT);
	assert_int_equal(bind_to(AT(40), 3, MPOL_DEFAULT, 0), -EFAULT);
	assert_int_equal(bind_to(AT(20), 2, MPOL_BIND, 0), -EINVAL);
	assert_int_equal(bind_to(AT(20), 2, MPOL_DEFAULT, 1), -EINVAL);
}

static void home_nodes_keep_apart(void **state)
{
	(void)state;
	if (!(vmspace_config(pair.space)->memory_nodes & 1))
		case_skip("memory node 0 is not to be had");
	if (!has_rule("home-node"))
		case_skip("the kernel has no set_mempolicy_home_node(2)");
	map(AT(0), 8, RW, FIXED);
	new_req(VMSPACE_SET_HOME_NODE)->home_node = (struct vmspace_home_node){ AT(0), PAGE, 0, 0 };
	assert_int_equal(both(&pair), -ENOENT);
	bind_to(AT(0), 8, MPOL_BIND, 1);
	new_req(VMSPACE_SET_HOME_NODE)->home_node = (struct vmspace_home_node){ AT(0), PAGE, 0, 0 };
	assert_int_equal(both(&pair), 0);
	assert_int_equal(areas(), 2);
	bind_to(AT(0), 8, MPOL_PREFERRED, 1);
	assert_int_equal(areas(), 1);
	new_req(VMSPACE_SET_HOME_NODE)->home_node = (struct vmspace_home_node){ AT(0), PAGE, 0, 0 };
	assert_int_equal(both(&pair), -EOPNOTSUPP);
}

/* ---- calls that walk ---- */

static void walks_end_at_holes(void **state)
{
	(void)state;
	map(AT(0), 2, RW, FIXED | MAP_LOCKED);
	map(AT(4), 2, RW, FIXED);
	new_req(VMSPACE_MSYNC)->msync = (struct vmspace_msync){ AT(0), 6 * PAGE, MS_SYNC };
	assert_int_equal(both(&pair), -ENOMEM);
	new_req(VMSPACE_MSYNC)->msync = (struct vmspace_msync){ AT(0), 6 * PAGE, MS_INVALIDATE };
	assert_int_equal(both(&pair), -EBUSY);
	new_req(VMSPACE_MSYNC)->msync = (struct vmspace_msync){ AT(0), PAGE, MS_SYNC | MS_ASYNC };
	assert_int_equal(both(&pair), -EINVAL);
	new_req(VMSPACE_MINCORE)->mincore =
		(struct vmspace_mincore){ .addr = AT(0), .length = 6 * PAGE, .bad_vec = false };
	assert_int_equal(both(&pair), -ENOMEM);
	new_req(VMSPACE_MINCORE)->mincore =
		(struct vmspace_mincore){ .addr = AT(0), .length = PAGE, .bad_vec = true };
	assert_int_equal(both(&pair), -EFAULT);
	new_req(VMSPACE_MINCORE)->mincore =
		(struct vmspace_mincore){ .addr = AT(2), .length = PAGE, .bad_vec = true };
	assert_int_equal(both(&pair), -ENOMEM);
	new_req(VMSPACE_MINCORE)->mincore =
		(struct vmspace_mincore){ .addr = AT(0), .length = 2 * PAGE, .bad_vec = false };
	assert_int_equal(both(&pair), 0);
}

static long advise_ranges(const struct vmspace_range *ranges, size_t count, int advice)
{
	new_req(VMSPACE_PROCESS_MADVISE)->process_madvise =
		(struct vmspace_process_madvise){ ranges, count, advice, 0 };
	return both(&pair);
}

/* It counts what was advised before an error; of empty ranges only the first is looked at. */
static void process_madvise_counts(void **state)
{
	const struct vmspace_range two[] = { { AT(0), PAGE }, { AT(2), PAGE } };
	const struct vmspace_range hole[] = { { AT(0), PAGE }, { AT(9), PAGE }, { AT(4), PAGE } };
	const struct vmspace_range crooked[] = { { AT(0) + 1, 0 }, { AT(4), PAGE } };
	const struct vmspace_range later[] = { { AT(4), PAGE }, { AT(0) + 1, 0 }, { AT(6), PAGE } };
	bool any = has_rule("advise-self");
	int forbid = any ? MADV_DONTFORK : MADV_COLD, allow = any ? MADV_DOFORK : MADV_COLD;

	(void)state;
	map(AT(0), 8, RW, FIXED);
	assert_int_equal(advise_ranges(two, 2, forbid), 2 * PAGE);
	assert_int_equal(areas(), any ? 4 : 1);
	assert_int_equal(advise_ranges(hole, 3, allow), PAGE);
	assert_int_equal(areas(), any ? 3 : 1);
	assert_int_equal(advise_ranges(hole + 1, 2, allow), -ENOMEM);
	assert_int_equal(advise_ranges(crooked, 2, forbid), -EINVAL);
	assert_int_equal(advise_ranges(later, 3, forbid),
			 has_rule("advise-empty") ? PAGE : 2 * PAGE);
	/* Without ends, all empty, and the last. */
	advise_ranges(later + 1, 1, forbid);
	advise_ranges(later, 2, forbid);
	advise_ranges(later + 1, 2, forbid);
	assert_int_equal(advise_ranges(two, 2, 77), -EINVAL);
}

/*
 * Found by vmscope check: files of /proc, and in some versions sockets and pipes, are on mounts
 * without exec.
 */
static void files_that_nobody_executes(void **state)
{
	static const enum puppet_file files[] = { PUPPET_PIPE, PUPPET_SOCKET, PUPPET_PROC };

	(void)state;
	for (int i = 0; i < 3; i++) {
		bool never = pair_backing(files[i])->flags & VMA_BACKING_NO_EXEC;

		assert_true(never || files[i] != PUPPET_PROC);
		/* What a socket answers itself is not known to libvmspace. */
		if (!never && files[i] == PUPPET_SOCKET)
			continue;
		assert_int_equal(map_file(files[i], AT(0), 1, PROT_READ | PROT_EXEC, MAP_PRIVATE,
					  0), never ? -EPERM : -ENODEV);
	}
}

static void refused_by_the_file(void **state)
{
	(void)state;
	map(AT(0), 4, RW, FIXED);
	new_req(VMSPACE_MMAP)->mmap = (struct vmspace_mmap){
		.addr = AT(1), .length = PAGE, .prot = PROT_READ, .flags = MAP_SHARED | MAP_FIXED };
	req.mmap.backing.kind = VMA_BACKING_FILE;
	req.mmap.backing.file_id = PUPPET_PIPE + 1;
	/* Not known to libvmspace: the host's error is mirrored. */
	assert_int_equal(both(&pair), -ENODEV);
	assert_int_equal(areas(), 1);
}

static void large_ones_are_aligned(void **state)
{
	(void)state;
	map(0, 512, RW, ANON);
	map(0, 1024, RW, ANON);
	map(0, 513, RW, ANON);
	map(0, 1, RW, ANON);
	map(0, 512, PROT_NONE, ANON | MAP_NORESERVE);
	map(0, 512, RW, MAP_SHARED | MAP_ANONYMOUS);
	map_file(PUPPET_FILE_RW, 0, 512, PROT_READ, MAP_PRIVATE, 0);
	map_file(PUPPET_FILE_RW, 0, 1000, PROT_READ, MAP_SHARED, 7);
	map_file(PUPPET_FILE_RW, 0, 1500, PROT_READ, MAP_SHARED, 7);
	map_file(PUPPET_MEMFD, 0, 1500, PROT_READ, MAP_SHARED, 0);
	map(AT(0), 512, RW, ANON);
	map(AT(3), 1024, RW, ANON);
	assert_true(remap(AT(0), 512, 1024, MREMAP_MAYMOVE, 0) > 0);
}

static void huge_pages(void **state)
{
	long at;

	(void)state;
	/* Without reservation no huge page has to be there. */
	new_req(VMSPACE_MMAP)->mmap = (struct vmspace_mmap){
		.length = 2UL << 21, .prot = RW,
		.flags = ANON | MAP_HUGETLB | MAP_NORESERVE };
	at = both(&pair);
	assert_true(at > 0);
	protect((unsigned long)at + (1UL << 21), 512, PROT_READ);
	protect((unsigned long)at + (1UL << 21), 512, RW);
	unmap((unsigned long)at, 512);
	new_req(VMSPACE_MMAP)->mmap = (struct vmspace_mmap){
		.addr = 0x10000200000, .length = 1UL << 21, .prot = RW,
		.flags = MAP_SHARED | MAP_ANONYMOUS | MAP_HUGETLB | MAP_NORESERVE | MAP_FIXED };
	assert_true(both(&pair) > 0);
}

static void low_addresses(void **state)
{
	struct vmspace_config config = *vmspace_config(pair.space);

	(void)state;
	map(config.mmap_min_addr, 1, RW, FIXED);
	map(PAGE, 1, RW, ANON);
	map(0, 1, RW, FIXED);
	map(0x7ffffffff000, 1, RW, FIXED);
	map(0x7fffffffe000, 1, RW, ANON | MAP_FIXED_NOREPLACE);
	map(0x7fffffffe000, 2, RW, FIXED);
	map(~0UL & ~(PAGE - 1), 1, RW, ANON);
	map(1UL << 50, 1, RW, ANON);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(middle_joins_both), CASE(flags_keep_apart), CASE(protect_splits_and_joins),
		CASE(accounting_stays_with_pages), CASE(different_anon_vmas_keep_apart),
		CASE(neighbours_share_an_anon_vma), CASE(child_keeps_apart),
		CASE(inherited_is_not_shared), CASE(guards_in_files_give_no_anon_vma),
		CASE(droppable_under_mlockall), CASE(files_join_by_offset),
		CASE(protect_stops_at_a_hole), CASE(advice_goes_past_a_hole), CASE(unmap_cuts),
		CASE(not_over_something), CASE(stack_grows_down),
		CASE(hints_respect_the_guard_gap), CASE(break_moves), CASE(locks_split),
		CASE(sealed_stays), CASE(fork_by_advice), CASE(shared_segments),
		CASE(large_ones_are_aligned), CASE(refused_unmap_leaves_a_cut),
		MIRRORED(refused_unmap_leaves_a_cut), CASE(policies_keep_apart),
		CASE(home_nodes_keep_apart), CASE(walks_end_at_holes),
		CASE(process_madvise_counts), CASE(huge_pages), CASE(low_addresses),
		MIRRORED(different_anon_vmas_keep_apart), MIRRORED(neighbours_share_an_anon_vma),
		MIRRORED(accounting_stays_with_pages), MIRRORED(child_keeps_apart),
		MIRRORED(stack_grows_down), MIRRORED(fork_by_advice),
		CASE(files_that_nobody_executes), MIRRORED(refused_by_the_file),
	};

	if (!case_possible())
		return TEST_SKIPPED;
	signal(SIGPIPE, SIG_IGN);
	return case_status(cmocka_run_group_tests(tests, NULL, NULL),
			   sizeof(tests) / sizeof(tests[0]));
}
