/* SPDX-License-Identifier: MIT */
/* rules_cases.c - the cases; see rules_cases.h. */
#include "rules_calls.h"

#include <errno.h>
#include <limits.h>

struct rules_world *w;

/* ---- mappings ---- */

static long stacks_get_no_huge_pages(void)
{
	map(AT(0), 2, RW, FIXED);
	map(AT(2), 2, RW, FIXED | MAP_STACK);
	return areas(AT(0), AT(4));
}

/* How many of two that a page keeps apart are aligned to 2 MiB? */
static long aligned_of_two(unsigned long pages)
{
	const unsigned long huge = 512 * PAGE;
	long first = map(0, pages, PROT_NONE, ANON | MAP_NORESERVE), second;

	map(0, 1, PROT_READ, ANON);
	second = map(0, pages, PROT_NONE, ANON | MAP_NORESERVE);
	return ((unsigned long)first % huge == 0) + ((unsigned long)second % huge == 0);
}

static long large_anonymous_areas_are_aligned(void)
{
	return aligned_of_two(512) == 2;
}

static long only_whole_huge_pages_are_aligned(void)
{
	return aligned_of_two(512) == 2 && aligned_of_two(513) < 2;
}

static long areas_beside_the_heap(void)
{
	struct vmspace_stats stats;
	unsigned long end;
	char line[256];

	vmspace_stats(w->space, &stats);
	end = (stats.brk + PAGE - 1) & ~(PAGE - 1);
	CALL(VMSPACE_BRK, brk, end);
	map(end, 1, PROT_READ, FIXED);
	vmspace_show_area(w->space, end, line, sizeof(line));
	return !strstr(line, "[heap]");
}

/* What ends where the heap begins is the program's bss, or as good. */
static long a_heap_above_the_bss(void)
{
	struct vmspace_stats stats;
	unsigned long start;

	vmspace_stats(w->space, &stats);
	start = stats.start_brk;
	CALL(VMSPACE_BRK, brk, start + 2 * PAGE);
	CALL(VMSPACE_BRK, brk, start);
	if (!areas(start - PAGE, start))
		map(start - PAGE, 1, RW, FIXED);
	CALL(VMSPACE_BRK, brk, start + PAGE);
	return areas(start - PAGE, start + PAGE);
}

static long a_heap_that_is_gone(void)
{
	struct vmspace_stats stats;
	unsigned long start;

	vmspace_stats(w->space, &stats);
	start = stats.start_brk;
	CALL(VMSPACE_BRK, brk, start + 2 * PAGE);
	unmap(start + PAGE, 1);
	return CALL(VMSPACE_BRK, brk, start + PAGE) == (long)(start + PAGE);
}

static long read_only_areas_without_pages_are_free(void)
{
	map(AT(0), 2, RW, FIXED);
	protect(AT(0), 2, PROT_READ);
	return !has(AT(0), VMA_ACCOUNT);
}

static long replaced_memory_is_not_charged(void)
{
	const struct vmspace_config *c = vmspace_config(w->space);
	unsigned long all = c->ram_pages + c->swap_pages, part = all / 10 * 6;

	map(AT(0), part, RW, FIXED);
	map(AT(part), part, RW, FIXED);
	return map(AT(0), 2 * part, RW, FIXED) > 0;
}

static long droppable_memory(void)
{
	return map(AT(0), 2, RW, MAP_ANONYMOUS | MAP_FIXED | DROPPABLE) == (long)AT(0);
}

static long droppable_memory_under_mlockall(void)
{
	CALL(VMSPACE_MLOCKALL, mlockall, MCL_FUTURE);
	map(AT(0), 2, RW, MAP_ANONYMOUS | MAP_FIXED | DROPPABLE);
	return has(AT(0), VMA_LOCKED);
}

/* Nothing in a space depends on it; that the texts compared are equal is the proof. */
static long locked_on_fault_is_shown(void)
{
	map(AT(0), 2, RW, FIXED);
	return CALL(VMSPACE_MLOCK, mlock, AT(0), PAGE, MLOCK_ONFAULT, true);
}

static long eight_tebibytes_are_locked(void)
{
	const unsigned long pages = 1UL << 31;
	struct vmspace_stats stats;

	map(AT(0), pages, PROT_NONE, FIXED | MAP_NORESERVE);
	CALL(VMSPACE_MLOCK, mlock, AT(0), pages * PAGE, MLOCK_ONFAULT, true);
	vmspace_stats(w->space, &stats);
	return stats.locked_vm == pages;
}

static long a_limit_finds_cuts(void)
{
	map(AT(0), 2, RW, FIXED);
	w->leave(w, 2);
	map(AT(1), 8, RW, FIXED);
	return areas(AT(0), AT(9));
}

static long map_huge(unsigned long addr, int flags)
{
	return map(addr, 512, PROT_NONE, ANON | MAP_HUGETLB | MAP_NORESERVE | flags);
}

static long mapped_over_what_cannot_be_cut(void)
{
	map_huge(AT(0), MAP_FIXED);
	return map(AT(1), 1, PROT_READ, FIXED);
}

static long a_sealed_file_and_what_is_in_its_way(void)
{
	map(AT(0), 3, RW, FIXED);
	CALL(VMSPACE_MMAP, mmap, .addr = AT(1), .length = PAGE, .prot = RW,
	     .flags = MAP_SHARED | MAP_FIXED, .backing = w->sealed);
	return areas(AT(0), AT(3));
}

static long a_hint_for_huge_pages(void)
{
	return (map_huge(AT(1), 0) - (long)AT(0)) / (long)PAGE;
}

/* ---- merging ---- */

static long neighbours_take_an_anon_vma(void)
{
	map(AT(0), 2, RW, FIXED);
	advise(AT(1), 1, MADV_DONTDUMP);
	touch(AT(1));
	advise(AT(1), 1, MADV_DODUMP);
	return areas(AT(0), AT(2));
}

/* Where does the upper of the two areas begin? */
static long mapped_between_two_anon_vmas(void)
{
	struct vma_info info;

	map(AT(0), 1, RW, FIXED);
	map(AT(2), 1, RW, FIXED);
	touch(AT(0));
	touch(AT(2));
	map(AT(1), 1, RW, FIXED);
	vmspace_lookup(w->space, AT(2), &info);
	return (long)((info.start - AT(0)) / PAGE);
}

static long growth_meets_the_next_area(void)
{
	map(AT(0), 3, RW, FIXED);
	unmap(AT(1), 1);
	remap(AT(0), 1, 2, 0, 0);
	return areas(AT(0), AT(3));
}

static long a_move_beside_an_inherited_area(void)
{
	map(AT(0), 1, RW, FIXED);
	touch(AT(0));
	w->become_child(w);
	/* Away and back again: it keeps its page offset, so it goes with what is mapped behind. */
	move(AT(0), 1, AT(10));
	map(AT(1), 1, RW, FIXED);
	move(AT(10), 1, AT(0));
	return areas(AT(0), AT(2));
}

static long a_touched_area_of_a_file_moves(void)
{
	map_memory(AT(0), 0, MAP_PRIVATE);
	touch(AT(0));
	move(AT(0), 4, AT(10));
	map_memory(AT(14), 4, MAP_PRIVATE);
	return areas(AT(10), AT(18));
}

static long pages_of_a_segment_come_back(void)
{
	w->make_segment(w, 2);
	CALL(VMSPACE_SHMAT, shmat, .addr = AT(0), .size = 2 * PAGE,
	     .backing = { .name = "/SYSV00000000 (deleted)" });
	CALL(VMSPACE_REMAP_FILE_PAGES, remap_file_pages, .addr = AT(1), .size = PAGE,
	     .page_offset = 1);
	return areas(AT(0), AT(2));
}

/* ---- advice, seals ---- */

static long guards_in_anonymous_memory(void)
{
	map(AT(0), 2, RW, FIXED);
	return advise(AT(0), 1, GUARD) == 0;
}

static long guards_in_files(void)
{
	map_memory(AT(0), 0, MAP_SHARED);
	return advise(AT(0), 1, GUARD) == 0;
}

static long guards_are_marked(void)
{
	map(AT(0), 2, RW, FIXED);
	advise(AT(0), 1, GUARD);
	map_memory(AT(0), 0, MAP_PRIVATE);
	advise(AT(0), 1, GUARD);
	return has(AT(0), VMA_MAYBE_GUARD);
}

static long populating_over_a_hole(void)
{
	map(AT(1), 1, PROT_NONE, FIXED);
	return advise(AT(0), 2, MADV_POPULATE_READ);
}

static long process_madvise_takes_any_advice(void)
{
	const struct vmspace_range range = { AT(0), PAGE };

	map(AT(0), 2, RW, FIXED);
	return CALL(VMSPACE_PROCESS_MADVISE, process_madvise, &range, 1, MADV_DONTDUMP, 0);
}

static long process_madvise_of_nothing(void)
{
	return CALL(VMSPACE_PROCESS_MADVISE, process_madvise, NULL, 0, -1, 0);
}

static long process_madvise_of_nothing_between(void)
{
	const struct vmspace_range ranges[] = { { AT(0), PAGE }, { AT(1) + 1, 0 },
						{ AT(2), PAGE } };

	map(AT(0), 3, RW, FIXED);
	return CALL(VMSPACE_PROCESS_MADVISE, process_madvise, ranges, 3, MADV_COLD, 0);
}

static long process_madvise_of_all_addresses(void)
{
	const struct vmspace_range range = { AT(0), LONG_MAX };

	return CALL(VMSPACE_PROCESS_MADVISE, process_madvise, &range, 1, -1, 0);
}

static long as_many_areas_as_there_may_be(void)
{
	map(AT(0), 3, RW, FIXED);
	w->fill(w);
	return advise(AT(1), 1, MADV_DONTFORK);
}

static long process_madvise_that_memory_is_needed(void)
{
	const struct vmspace_range range = { AT(0), PAGE };

	map(AT(0), 2, RW, FIXED);
	return CALL(VMSPACE_PROCESS_MADVISE, process_madvise, &range, 1, MADV_WILLNEED, 0);
}

static long process_madvise_without_privilege(void)
{
	const struct vmspace_range range = { AT(0), PAGE };

	map(AT(0), 2, RW, FIXED);
	w->drop_privileges(w);
	return CALL(VMSPACE_PROCESS_MADVISE, process_madvise, &range, 1, MADV_COLD, 0);
}

static long binds(int mode)
{
	map(AT(0), 2, RW, FIXED);
	return CALL(VMSPACE_MBIND, mbind, AT(0), PAGE, mode, 1, 0);
}

static long policies_with_weights(void)
{
	return binds(WEIGHTED_INTERLEAVE);
}

static long policies_of_many_nodes(void)
{
	return binds(PREFERRED_MANY);
}

static long policies_that_balance(void)
{
	return binds(BIND_BALANCING);
}

static long policies_of_many_that_balance(void)
{
	return binds(MANY_BALANCING);
}

/* How many areas there are when a part is bound to the same node, but less was asked for. */
static long nodes_that_are_not_there(void)
{
	map(AT(0), 2, RW, FIXED);
	CALL(VMSPACE_MBIND, mbind, AT(0), 2 * PAGE, BIND_BALANCING, 1 | 1UL << 63, 0);
	CALL(VMSPACE_MBIND, mbind, AT(1), PAGE, BIND_BALANCING, 1, 0);
	return areas(AT(0), AT(2));
}

static long homes_of_policies(void)
{
	map(AT(0), 2, RW, FIXED);
	return CALL(VMSPACE_SET_HOME_NODE, home_node, AT(0), PAGE, 0, 0);
}

/* Is a hole used up to its end, which the growing area's guard gap reaches, but not next to it? */
static long two_areas_below_a_growing_one(void)
{
	const unsigned long hole = 200, all = hole + 1 + hole + 1;
	unsigned long low = (unsigned long)map(0, all, PROT_NONE, ANON);

	map(low + (all - 1) * PAGE, 1, PROT_NONE, FIXED | MAP_GROWSDOWN);
	unmap(low, hole);
	unmap(low + (hole + 1) * PAGE, hole);
	return (unsigned long)map(0, hole, PROT_NONE, ANON) == low;
}

static long huge_pages_and_fork(void)
{
	map(AT(512), 512, RW, FIXED | MAP_HUGETLB | MAP_NORESERVE);
	return advise(AT(512), 512, MADV_DOFORK);
}

static long sealing(void)
{
	map(AT(0), 2, RW, FIXED);
	return CALL(VMSPACE_MSEAL, mseal, AT(0), PAGE, 0);
}

static long mapped_above_4_gib(void)
{
	long at = CALL(VMSPACE_MMAP, mmap, .addr = AT(0), .length = PAGE, .prot = PROT_READ,
		       .flags = MAP_SHARED_VALIDATE | MAP_FIXED | ABOVE4G, .backing = w->memory);

	return at == (long)AT(0) ? 0 : at;
}

static long sealed_memory_is_unmergeable(void)
{
	map(AT(0), 1, RW, FIXED);
	advise(AT(0), 1, MADV_MERGEABLE);
	CALL(VMSPACE_MSEAL, mseal, AT(0), PAGE, 0);
	advise(AT(0), 1, MADV_UNMERGEABLE);
	return protect(AT(0), 1, PROT_READ);
}

static long populating_by_advice(void)
{
	map(AT(0), 1, RW, FIXED);
	return advise(AT(0), 1, MADV_POPULATE_READ);
}

static long locked_memory_is_not_needed(void)
{
	map(AT(0), 1, RW, FIXED);
	lock(AT(0), 1);
	return advise(AT(0), 1, DONTNEED_LOCKED);
}

static long collapsing_into_huge_pages(void)
{
	return advise(AT(0), 0, COLLAPSE);
}

static long locked_on_fault_without_access(void)
{
	map(AT(0), 1, PROT_NONE, FIXED);
	return CALL(VMSPACE_MLOCK, mlock, .addr = AT(0), .length = PAGE, .flags = MLOCK_ONFAULT,
		    .mlock2 = true);
}

/* Did a mapping for which there was no place take a key, so that the next one is another? */
static long keys_of_refused_mappings(void)
{
	long key = CALL(VMSPACE_PKEY_ALLOC, pkey_alloc, 0, 0);

	CALL(VMSPACE_PKEY_FREE, pkey_free, (int)key);
	map(0, 1UL << 50, PROT_EXEC, ANON);
	return CALL(VMSPACE_PKEY_ALLOC, pkey_alloc, 0, 0) - key;
}

/* ---- mremap ---- */

static long several_areas_are_moved(void)
{
	map(AT(0), 1, RW, FIXED);
	map(AT(1), 1, PROT_READ, FIXED);
	return move(AT(0), 2, AT(10)) == (long)AT(10);
}

static long a_refused_move_and_its_destination(void)
{
	map(AT(0), 1, RW, FIXED);
	map(AT(10), 3, RW, FIXED);
	remap(AT(0), 2, 3, MREMAP_MAYMOVE | MREMAP_FIXED, AT(10));
	return areas(AT(10), AT(13));
}

static long a_part_stays_behind(void)
{
	map(AT(0), 4, RW, FIXED);
	lock(AT(0), 4);
	remap(AT(1), 2, 2, MREMAP_MAYMOVE | MREMAP_FIXED | STAYS, AT(10));
	return areas(AT(0), AT(4));
}

static long shared_memory_stays_behind(void)
{
	map_memory(AT(0), 0, MAP_SHARED);
	return remap(AT(0), 4, 4, MREMAP_MAYMOVE | MREMAP_FIXED | STAYS, AT(10)) == (long)AT(10);
}

/* VmLck, in pages, without what was locked before. */
static long locked_memory_moves_and_stays(void)
{
	struct vmspace_stats before, after;

	vmspace_stats(w->space, &before);
	map(AT(0), 4, RW, FIXED);
	lock(AT(0), 4);
	remap(AT(0), 4, 4, MREMAP_MAYMOVE | MREMAP_FIXED | STAYS, AT(10));
	vmspace_stats(w->space, &after);
	return (long)(after.locked_vm - before.locked_vm);
}

/* Its neighbours are one with it only if they are of the same anonymous memory. */
static long beside_a_source_without_pages(void)
{
	map(AT(4), 3, RW, FIXED);
	touch(AT(4));
	remap(AT(4), 3, 3, MREMAP_MAYMOVE | MREMAP_FIXED | STAYS, AT(16));
	for (unsigned long beside = 2; beside < 8; beside += 5) {
		map(AT(beside), 2, RW | PROT_EXEC, FIXED);
		touch(AT(beside));
	}
	protect(AT(2), 2, RW);
	protect(AT(7), 2, RW);
	return areas(AT(2), AT(9)) == 1;
}

/* Is the area behind it charged? */
static long a_part_from_inside_stays_behind(void)
{
	map(AT(0), 4, RW, FIXED);
	map(AT(6), 2, PROT_READ, FIXED);
	remap(AT(1), 2, 2, MREMAP_MAYMOVE | MREMAP_FIXED | STAYS, AT(10));
	return has(AT(6), VMA_ACCOUNT);
}

/* Is the area behind the copy still one of its own? */
static long a_copy_beside_its_source(void)
{
	struct vma_info info;

	map(AT(0), 6, RW, FIXED);
	map(AT(10), 4, RW, FIXED);
	remap(AT(0), 4, 4, MREMAP_MAYMOVE | MREMAP_FIXED | STAYS, AT(6));
	return vmspace_lookup(w->space, AT(10), &info) && info.start == AT(10);
}

static long lengths_of_as_many_pages(void)
{
	map(AT(0), 2, RW, FIXED);
	return CALL(VMSPACE_MREMAP, mremap, AT(0), 2 * PAGE - 1, 2 * PAGE,
		    MREMAP_MAYMOVE | MREMAP_FIXED | STAYS, AT(10)) == (long)AT(10);
}

static long what_stays_behind_is_not_charged(void)
{
	map(AT(0), 2, RW, FIXED);
	remap(AT(0), 2, 2, MREMAP_MAYMOVE | MREMAP_FIXED | STAYS, AT(10));
	return !has(AT(0), VMA_ACCOUNT);
}

/* All memory and more is cut off, which was not mapped. */
static long a_move_that_cuts_off_memory(void)
{
	const struct vmspace_config *c = vmspace_config(w->space);
	const unsigned long all = c->ram_pages + c->swap_pages, far = AT(1UL << 32);

	map(AT(0), 3, RW, FIXED);
	return remap(AT(0), all + 3, 2, MREMAP_MAYMOVE | MREMAP_FIXED, far) == (long)far;
}

/* Two areas, each of which fits, become one that does not. */
static long more_than_all_memory_stays_behind(void)
{
	const struct vmspace_config *c = vmspace_config(w->space);
	unsigned long all = c->ram_pages + c->swap_pages, part = all / 10 * 6, far = AT(1UL << 32);

	map(AT(0), part, RW, FIXED);
	map(AT(part), part, RW, FIXED);
	return remap(AT(0), 2 * part, 2 * part, MREMAP_MAYMOVE | MREMAP_FIXED | STAYS, far) ==
	       (long)far;
}

static long huge_pages_are_not_needed(void)
{
	map_huge(AT(512), MAP_FIXED);
	return advise(AT(512), 512, MADV_DONTNEED);
}

static long huge_pages_are_moved(void)
{
	map_huge(AT(512), MAP_FIXED);
	return move(AT(512), 512, AT(1536)) == (long)AT(1536);
}

static long a_move_of_nothing_to_nowhere(void)
{
	return move(AT(0), 2, AT(1));
}

static long a_move_of_nothing_into_a_page(void)
{
	return move(AT(0), 1, AT(10) + 1);
}

static long nothing_is_moved_over_an_area(void)
{
	map(AT(10), 3, RW, FIXED);
	move(AT(0), 1, AT(10));
	return areas(AT(10), AT(11));
}

static long a_length_beyond_all_addresses(void)
{
	map(AT(0), 2, RW, FIXED);
	return remap(AT(0), -1UL, -1UL, 0, 0) > 0;
}

/* Its length wraps around, so that source and destination seem to be apart. */
static long a_move_over_its_own_source(void)
{
	map(AT(0), 2, RW, FIXED);
	return remap(AT(0), 3 - AT(0) / PAGE, 1, MREMAP_MAYMOVE | MREMAP_FIXED, AT(0));
}

/* ---- all of them ---- */

#define SHOWS(rule, function, with, without) \
	{ rule, #function, function, with, without, NEEDS_NOTHING }
#define SHOWS_UFFD(rule, function, with, without) \
	{ rule, #function, function, with, without, NEEDS_UFFD }
#define SHOWS_HUGE(rule, function, with, without) \
	{ rule, #function, function, with, without, NEEDS_HUGE_PAGES }

const struct rules_case rules_cases[] = {
	SHOWS("stack-nohugepage", stacks_get_no_huge_pages, 2, 1),
	SHOWS("anon-aligned", large_anonymous_areas_are_aligned, true, false),
	SHOWS("anon-aligned-whole", only_whole_huge_pages_are_aligned, true, false),
	SHOWS("heap-name-inside", areas_beside_the_heap, true, false),
	SHOWS("brk-over-holes", a_heap_that_is_gone, true, false),
	SHOWS("brk-grows-bss", a_heap_above_the_bss, 1, 2),
	SHOWS("protect-uncharges", read_only_areas_without_pages_are_free, true, false),
	SHOWS("anon-vma-taken", neighbours_take_an_anon_vma, 1, 2),
	SHOWS("mmap-upper-first", mapped_between_two_anon_vmas, 1, 2),
	SHOWS("replaced-not-charged", replaced_memory_is_not_charged, true, false),
	SHOWS("droppable", droppable_memory, true, false),
	SHOWS("droppable-locked", droppable_memory_under_mlockall, true, false),
	SHOWS("guards", guards_in_anonymous_memory, true, false),
	SHOWS("guards-in-files", guards_in_files, true, false),
	SHOWS("guard-flag", guards_are_marked, true, false),
	SHOWS("advise-self", process_madvise_takes_any_advice, PAGE, -EINVAL),
	SHOWS("remap-many", several_areas_are_moved, true, false),
	SHOWS("remap-checks-first", a_refused_move_and_its_destination, 1, 0),
	SHOWS("remap-grow-merges", growth_meets_the_next_area, 1, 2),
	SHOWS("dontunmap-part", a_part_stays_behind, 3, 1),
	SHOWS("dontunmap-uncharges", what_stays_behind_is_not_charged, true, false),
	SHOWS("move-joins-inherited", a_move_beside_an_inherited_area, 1, 2),
	SHOWS("lockonfault-shown", locked_on_fault_is_shown, 0, 0),
	SHOWS("mseal", sealing, 0, -ENOSYS),
	SHOWS("advise-privileged", process_madvise_without_privilege, -EPERM, PAGE),
	SHOWS("weighted-interleave", policies_with_weights, 0, -EINVAL),
	SHOWS("special-whole", the_kernels_own_pages_are_cut, -EINVAL, 0),
	SHOWS("onfault-readable", locked_on_fault_without_access, -ENOMEM, 0),
	SHOWS("populate", populating_by_advice, 0, -EINVAL),
	SHOWS("dontneed-locked", locked_memory_is_not_needed, 0, -EINVAL),
	SHOWS("collapse", collapsing_into_huge_pages, 0, -EINVAL),
	SHOWS("dontunmap-files", shared_memory_stays_behind, true, false),
	SHOWS("dontunmap-counts-once", locked_memory_moves_and_stays, 4, 8),
	SHOWS("dontunmap-keeps-anon", beside_a_source_without_pages, true, false),
	SHOWS("unmergeable-drops", sealed_memory_is_unmergeable, 0, -EPERM),
	SHOWS("seal-special", a_sealed_vdso_is_discarded, -EPERM, -EINVAL),
	SHOWS("guard-own-hole", two_areas_below_a_growing_one, true, false),
	SHOWS("preferred-many", policies_of_many_nodes, 0, -EINVAL),
	SHOWS("numa-balancing", policies_that_balance, 0, -EINVAL),
	SHOWS("balance-many", policies_of_many_that_balance, 0, -EINVAL),
	SHOWS("balance-asked", nodes_that_are_not_there, 2, 1),
	SHOWS("map-above4g", mapped_above_4_gib, 0, -EOPNOTSUPP),
	SHOWS("home-node", homes_of_policies, -ENOENT, -ENOSYS),
	SHOWS("advise-checked", process_madvise_of_nothing, -EINVAL, 0),
	SHOWS("advise-unshortened", process_madvise_of_all_addresses, -EFAULT, -EINVAL),
	SHOWS("advise-empty", process_madvise_of_nothing_between, PAGE, 2 * PAGE),
	SHOWS("advise-count-error", as_many_areas_as_there_may_be, -ENOMEM, -EAGAIN),
	SHOWS("advise-willneed", process_madvise_that_memory_is_needed, PAGE, -EINVAL),
	SHOWS("dontunmap-charges-next", a_part_from_inside_stays_behind, true, false),
	SHOWS("dontunmap-unchecked", more_than_all_memory_stays_behind, true, false),
	SHOWS("key-before-place", keys_of_refused_mappings, 1, 0),
	SHOWS("file-anon-offset", a_touched_area_of_a_file_moves, 2, 1),
	SHOWS("remap-cut-free", a_move_that_cuts_off_memory, true, false),
	SHOWS("lock-counts-wide", eight_tebibytes_are_locked, true, false),
	SHOWS("dofork-not-special", huge_pages_and_fork, -EINVAL, 0),
	SHOWS("map-cuts-first", a_limit_finds_cuts, 2, 1),
	SHOWS_HUGE("map-unmap-error", mapped_over_what_cannot_be_cut, -EINVAL, -ENOMEM),
	SHOWS("remap-area-first", a_move_of_nothing_to_nowhere, -EFAULT, -EINVAL),
	SHOWS("remap-aligned-first", a_move_of_nothing_into_a_page, -EINVAL, -EFAULT),
	SHOWS("remap-area-late", nothing_is_moved_over_an_area, 0, 1),
	SHOWS("remap-length-first", a_length_beyond_all_addresses, false, true),
	SHOWS("remap-lost-source", a_move_over_its_own_source, -EFAULT, -EINVAL),
	SHOWS("populate-stops", populating_over_a_hole, -ENOMEM, -EINVAL),
	SHOWS("dontunmap-alone", a_copy_beside_its_source, true, false),
	SHOWS("dontunmap-rounds", lengths_of_as_many_pages, true, false),
	SHOWS("segments-merge", pages_of_a_segment_come_back, 1, 2),
	SHOWS("map-seals-first", a_sealed_file_and_what_is_in_its_way, 1, 2),
	SHOWS_HUGE("dontneed-huge", huge_pages_are_not_needed, 0, -EINVAL),
	SHOWS_HUGE("remap-huge", huge_pages_are_moved, true, false),
	SHOWS_HUGE("huge-hint-up", a_hint_for_huge_pages, 512, 0),
	SHOWS_UFFD("uffd-low", userfaultfd_from_zero, 0, -EINVAL),
	SHOWS_UFFD("uffd-own-only", userfaultfds_unregister_their_own, -EINVAL, 0),
	SHOWS_UFFD("uffd-takes-special", the_kernels_own_pages_and_userfaultfd, 0, -EINVAL),
	SHOWS_UFFD("uffd-no-droppable", droppable_memory_and_userfaultfd, -EINVAL, 0),
	SHOWS_UFFD("uffd-moves-alone", a_registered_area_moves, 2, 1),
	SHOWS_UFFD("uffd-minor", minor_faults_of_shared_memory, 0, -EINVAL),
	SHOWS_UFFD("uffd-wp-files", write_protected_shared_memory, 0, -EINVAL),
	SHOWS_UFFD("uffd-merges-up", the_upper_part_of_an_area_is_registered, 2, 3),
	SHOWS_UFFD("uffd-nothing-above", userfaultfd_above_all_areas, -ENOMEM, -EINVAL),
	SHOWS_UFFD("uffd-keeps-wp", write_protection_is_not_taken_away, -EBUSY, 0),
};
const unsigned int rules_cases_count = sizeof(rules_cases) / sizeof(rules_cases[0]);

long rules_case_run(const struct rules_case *it, struct rules_world *world)
{
	w = world;
	return it->run();
}
