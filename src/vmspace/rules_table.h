/* SPDX-License-Identifier: MIT */
/*
 * rules_table.h - in what versions of Linux differ: one row a rule.
 *
 *	RULE(ID, name, versions, source, test, text)
 *
 * versions: which follow it in their last stable release, "6.7-" (and later) or "6.1-6.15 7.2-".
 * source: where Linux documents it, or "observed": on kernels before and after. test: the case of
 * tests/vmspace/oracle_rules.c.
 * docs/kernels.md tells more about each; a test compares the two.
 *
 * Rows are appended, never moved: a rule's number is its row.
 */
#ifndef VMSPACE_RULES_TABLE_H
#define VMSPACE_RULES_TABLE_H

#define OBSERVED "observed"

#define RULES_TABLE(RULE)                                                                 \
	RULE(STACK_NOHUGEPAGE, "stack-nohugepage", "6.7-", OBSERVED,                      \
	     "stacks_get_no_huge_pages",                                                  \
	     "MAP_STACK keeps transparent huge pages out of the area (VmFlags nh)")       \
	RULE(ANON_ALIGNED, "anon-aligned", "6.7-", OBSERVED,                              \
	     "large_anonymous_areas_are_aligned",                                         \
	     "private anonymous mappings as large as a huge page are aligned to it")      \
	RULE(ANON_ALIGNED_WHOLE, "anon-aligned-whole", "6.12-", OBSERVED,                 \
	     "only_whole_huge_pages_are_aligned",                                         \
	     "... if they are a whole number of huge pages and no hint is given")         \
	RULE(HEAP_NAME_INSIDE, "heap-name-inside", "6.6-", OBSERVED,                      \
	     "areas_beside_the_heap",                                                     \
	     "an area that only touches the heap from outside is not named [heap]")       \
	RULE(PROTECT_UNCHARGES, "protect-uncharges", "6.6-", OBSERVED,                    \
	     "read_only_areas_without_pages_are_free",                                    \
	     "mprotect takes the charge (VmFlags ac) from areas without pages that it makes " \
	     "read-only")                                                                 \
	RULE(ANON_VMA_TAKEN, "anon-vma-taken", "6.16-", OBSERVED,                         \
	     "neighbours_take_an_anon_vma",                                               \
	     "an area without anon_vma is merged with a changed one that has one")        \
	RULE(MMAP_UPPER_FIRST, "mmap-upper-first", "6.1-6.11", OBSERVED,                  \
	     "mapped_between_two_anon_vmas",                                              \
	     "mmap tries to merge with the area above before the one below")              \
	RULE(REPLACED_NOT_CHARGED, "replaced-not-charged", "6.12-", OBSERVED,             \
	     "replaced_memory_is_not_charged",                                            \
	     "commit accounting of a mapping leaves out what it replaces")                \
	RULE(DROPPABLE, "droppable", "6.11-", "mmap(2)", "droppable_memory",              \
	     "MAP_DROPPABLE exists")                                                      \
	RULE(DROPPABLE_LOCKED, "droppable-locked", "6.16-6.17 6.19-6.19", OBSERVED,       \
	     "droppable_memory_under_mlockall",                                           \
	     "MCL_FUTURE locks MAP_DROPPABLE areas")                                      \
	RULE(GUARDS, "guards", "6.13-", "madvise(2)", "guards_in_anonymous_memory",       \
	     "MADV_GUARD_INSTALL and MADV_GUARD_REMOVE exist, for private anonymous memory") \
	RULE(GUARDS_IN_FILES, "guards-in-files", "6.15-", "madvise(2)", "guards_in_files", \
	     "... and for mappings of files, shared ones included")                       \
	RULE(ADVISE_SELF, "advise-self", "6.13-", "process_madvise(2)",                   \
	     "process_madvise_takes_any_advice",                                          \
	     "process_madvise takes any advice for the process's own memory")             \
	RULE(REMAP_MANY, "remap-many", "6.17-", "mremap(2)", "several_areas_are_moved",   \
	     "mremap moves several areas at once")                                        \
	RULE(REMAP_CHECKS_FIRST, "remap-checks-first", "6.17-", OBSERVED,                 \
	     "a_refused_move_and_its_destination",                                        \
	     "mremap checks the area before it unmaps the destination")                   \
	RULE(REMAP_GROW_MERGES, "remap-grow-merges", "6.0-", OBSERVED,                    \
	     "growth_meets_the_next_area",                                                \
	     "an area that mremap grows up to the next one merges with it")               \
	RULE(DONTUNMAP_PART, "dontunmap-part", "6.1-6.15 7.2-", OBSERVED,                 \
	     "a_part_stays_behind",                                                       \
	     "MREMAP_DONTUNMAP unlocks the part that was moved, as an area of its own, and " \
	     "VmLck counts it no more (else the whole area, and VmLck goes on counting it); " \
	     "what is moved beside it does not merge with it")                            \
	RULE(DONTUNMAP_UNCHARGES, "dontunmap-uncharges", "6.16-6.16", OBSERVED,           \
	     "what_stays_behind_is_not_charged",                                          \
	     "MREMAP_DONTUNMAP takes the charge (VmFlags ac) from the area that stays")   \
	RULE(MOVE_JOINS_INHERITED, "move-joins-inherited", "6.16-6.17", OBSERVED,         \
	     "a_move_beside_an_inherited_area",                                           \
	     "a moved area with an anon_vma merges with one without though it was inherited") \
	RULE(UFFD_LOW, "uffd-low", "5.10-6.12 6.18-6.18 7.0-", OBSERVED, "userfaultfd_from_zero", \
	     "UFFDIO_REGISTER takes ranges that begin below vm.mmap_min_addr")            \
	RULE(UFFD_OWN_ONLY, "uffd-own-only", "6.17-", OBSERVED,                           \
	     "userfaultfds_unregister_their_own",                                         \
	     "UFFDIO_UNREGISTER refuses areas of another userfaultfd")                    \
	RULE(UFFD_NO_DROPPABLE, "uffd-no-droppable", "6.17-", OBSERVED,                   \
	     "droppable_memory_and_userfaultfd",                                          \
	     "UFFDIO_REGISTER refuses MAP_DROPPABLE areas")                               \
	RULE(MSEAL, "mseal", "6.10-", "mseal(2)", "sealing",                              \
	     "mseal exists")                                                              \
	RULE(GUARD_FLAG, "guard-flag", "6.18-", OBSERVED, "guards_are_marked",            \
	     "areas with guard regions are marked (VmFlags gu); in a file's private mapping " \
	     "they no longer come with an anon_vma")                                      \
	RULE(LOCKONFAULT_SHOWN, "lockonfault-shown", "6.2-", OBSERVED,                    \
	     "locked_on_fault_is_shown",                                                  \
	     "smaps shows areas that are locked on fault (VmFlags lf)")                   \
	RULE(KEY_BEFORE_PLACE, "key-before-place", "6.12-", OBSERVED,                     \
	     "keys_of_refused_mappings",                                                  \
	     "mmap allocates the key of execute-only areas before it looks for a place")  \
	RULE(FILE_ANON_OFFSET, "file-anon-offset", "7.3-", OBSERVED,                      \
	     "a_touched_area_of_a_file_moves",                                            \
	     "anonymous pages of a file's private mapping keep their numbers when they are moved") \
	RULE(UFFD_MOVES_ALONE, "uffd-moves-alone", "7.3-", OBSERVED,                      \
	     "a_registered_area_moves",                                                   \
	     "a moved area that leaves its userfaultfd behind merges with no other")      \
	RULE(UFFD_KEEPS_WP, "uffd-keeps-wp", "7.3-", OBSERVED,                            \
	     "write_protection_is_not_taken_away",                                        \
	     "UFFDIO_REGISTER refuses to take write protection from an area")             \
	RULE(REMAP_CUT_FREE, "remap-cut-free", "5.10-6.15 7.3-", OBSERVED,                \
	     "a_move_that_cuts_off_memory",                                               \
	     "mremap to a given place is not charged for what it cuts off")               \
	RULE(LOCK_COUNTS_WIDE, "lock-counts-wide", "6.12-6.12 7.3-", OBSERVED,            \
	     "eight_tebibytes_are_locked",                                                \
	     "VmLck is right from 8 TiB on")                                              \
	RULE(DOFORK_NOT_SPECIAL, "dofork-not-special", "7.0-", OBSERVED,                  \
	     "huge_pages_and_fork",                                                       \
	     "MADV_DOFORK refuses all special areas (VmFlags io, de, pf, mm), not only io")  \
	RULE(UFFD_TAKES_SPECIAL, "uffd-takes-special", "6.7-6.11 6.13-6.17 6.19-7.0", OBSERVED, \
	     "the_kernels_own_pages_and_userfaultfd",                                     \
	     "UFFDIO_REGISTER takes [vdso] and the like for write protection alone, with " \
	     "UFFD_FEATURE_WP_ASYNC")                                                     \
	RULE(MAP_CUTS_FIRST, "map-cuts-first", "6.12-", OBSERVED,                         \
	     "a_limit_finds_cuts",                                                        \
	     "limits of a MAP_FIXED mapping are checked when what it replaces has been cut") \
	RULE(MAP_UNMAP_ERROR, "map-unmap-error", "6.12-", OBSERVED,                       \
	     "mapped_over_what_cannot_be_cut",                                            \
	     "mmap answers why what is in the way cannot be unmapped (else ENOMEM)")      \
	RULE(REMAP_AREA_FIRST, "remap-area-first", "6.1-6.16", OBSERVED,                  \
	     "a_move_of_nothing_to_nowhere",                                              \
	     "mremap looks for the area before it checks where it is moved to")           \
	RULE(REMAP_LENGTH_FIRST, "remap-length-first", "6.17-", OBSERVED,                 \
	     "a_length_beyond_all_addresses",                                             \
	     "mremap refuses new lengths larger than the address space at once")          \
	RULE(REMAP_LOST_SOURCE, "remap-lost-source", "6.16-", OBSERVED,                   \
	     "a_move_over_its_own_source",                                                \
	     "MREMAP_FIXED looks for the area again when the destination is unmapped")    \
	RULE(HUGE_HINT_UP, "huge-hint-up", "6.16-", OBSERVED, "a_hint_for_huge_pages",    \
	     "hints of mappings of huge pages are rounded up (else down)")                \
	RULE(MAP_SEALS_FIRST, "map-seals-first", "6.12-", OBSERVED,                       \
	     "a_sealed_file_and_what_is_in_its_way",                                      \
	     "F_SEAL_FUTURE_WRITE refuses a mapping before what it replaces is unmapped") \
	RULE(SEGMENTS_MERGE, "segments-merge", "6.12-", OBSERVED,                         \
	     "pages_of_a_segment_come_back",                                              \
	     "a new area of a System V segment merges with one that is there")            \
	RULE(POPULATE_STOPS, "populate-stops", "6.12-", OBSERVED,                         \
	     "populating_over_a_hole",                                                    \
	     "MADV_POPULATE_READ and MADV_POPULATE_WRITE stop at the first hole")         \
	RULE(DONTUNMAP_ALONE, "dontunmap-alone", "6.1-6.11", OBSERVED,                    \
	     "a_copy_beside_its_source",                                                  \
	     "an area that MREMAP_DONTUNMAP moves beside its source merges with no other") \
	RULE(DONTUNMAP_ROUNDS, "dontunmap-rounds", "6.17-", OBSERVED,                     \
	     "lengths_of_as_many_pages",                                                  \
	     "MREMAP_DONTUNMAP compares the lengths when they are rounded to pages")      \
	RULE(UFFD_MERGES_UP, "uffd-merges-up", "6.3-", OBSERVED,                          \
	     "the_upper_part_of_an_area_is_registered",                                   \
	     "an area whose upper part userfaultfd changes merges with the one above")    \
	RULE(UFFD_NOTHING_ABOVE, "uffd-nothing-above", "5.10-6.2", OBSERVED,              \
	     "userfaultfd_above_all_areas",                                               \
	     "userfaultfd ranges in which, and above which, nothing is mapped are ENOMEM") \
	RULE(WEIGHTED_INTERLEAVE, "weighted-interleave", "6.9-", "mbind(2)",              \
	     "policies_with_weights", "MPOL_WEIGHTED_INTERLEAVE exists")                  \
	RULE(ADVISE_PRIVILEGED, "advise-privileged", "5.10-6.11", OBSERVED,               \
	     "process_madvise_without_privilege",                                         \
	     "process_madvise takes CAP_SYS_NICE for the process's own memory, too")      \
	RULE(BRK_GROWS_BSS, "brk-grows-bss", "5.10-6.0", OBSERVED,                        \
	     "a_heap_above_the_bss",                                                      \
	     "brk extends an area that ends where the heap begins (the program's bss)")   \
	RULE(POPULATE, "populate", "5.14-", "madvise(2)", "populating_by_advice",         \
	     "MADV_POPULATE_READ and MADV_POPULATE_WRITE exist")                          \
	RULE(DONTNEED_LOCKED, "dontneed-locked", "5.18-", "madvise(2)",                   \
	     "locked_memory_is_not_needed", "MADV_DONTNEED_LOCKED exists")                \
	RULE(COLLAPSE, "collapse", "6.1-", "madvise(2)", "collapsing_into_huge_pages",    \
	     "MADV_COLLAPSE exists")                                                      \
	RULE(UFFD_MINOR, "uffd-minor", "5.14-", "userfaultfd(2)",                         \
	     "minor_faults_of_shared_memory",                                             \
	     "userfaultfd can be told of minor faults of shared memory")                  \
	RULE(UFFD_WP_FILES, "uffd-wp-files", "5.19-", "ioctl_userfaultfd(2)",             \
	     "write_protected_shared_memory",                                             \
	     "userfaultfd can write-protect shared memory and huge pages")                \
	RULE(DONTUNMAP_FILES, "dontunmap-files", "5.13-", "mremap(2)",                    \
	     "shared_memory_stays_behind",                                                \
	     "MREMAP_DONTUNMAP takes mappings of files, not anonymous memory alone")      \
	RULE(DONTUNMAP_COUNTS_ONCE, "dontunmap-counts-once", "5.10-6.0", OBSERVED,        \
	     "locked_memory_moves_and_stays",                                             \
	     "what MREMAP_DONTUNMAP moves out of a locked area counts once in VmLck")     \
	RULE(SPECIAL_WHOLE, "special-whole", "5.11-", OBSERVED,                           \
	     "the_kernels_own_pages_are_cut",                                             \
	     "[vdso] and [vvar] cannot be cut: EINVAL")                                   \
	RULE(ONFAULT_READABLE, "onfault-readable", "5.10-5.17", OBSERVED,                 \
	     "locked_on_fault_without_access",                                            \
	     "mlock2(MLOCK_ONFAULT) of what may not be read is ENOMEM, as mlock is")      \
	RULE(REMAP_AREA_LATE, "remap-area-late", "5.10-6.0", OBSERVED,                    \
	     "nothing_is_moved_over_an_area",                                             \
	     "mremap looks at the area when it has unmapped what it replaces or cuts off; one " \
	     "that does not grow in place needs none")                                    \
	RULE(ADVISE_WILLNEED, "advise-willneed", "5.15-", "process_madvise(2)",           \
	     "process_madvise_that_memory_is_needed", "process_madvise takes MADV_WILLNEED") \
	RULE(DONTUNMAP_CHARGES_NEXT, "dontunmap-charges-next", "5.10-6.0", OBSERVED,      \
	     "a_part_from_inside_stays_behind",                                           \
	     "MREMAP_DONTUNMAP of a part inside a charged area charges the next area, too") \
	RULE(GUARD_OWN_HOLE, "guard-own-hole", "5.10-6.0", OBSERVED,                      \
	     "two_areas_below_a_growing_one",                                             \
	     "the guard gap of an area that grows down counts in the hole below it alone") \
	RULE(PREFERRED_MANY, "preferred-many", "5.15-", "set_mempolicy(2)",               \
	     "policies_of_many_nodes", "MPOL_PREFERRED_MANY exists")                      \
	RULE(NUMA_BALANCING, "numa-balancing", "5.15-", "mbind(2)", "policies_that_balance", \
	     "mbind takes MPOL_F_NUMA_BALANCING")                                         \
	RULE(HOME_NODE, "home-node", "5.17-", "set_mempolicy_home_node(2)",               \
	     "homes_of_policies", "set_mempolicy_home_node exists")                       \
	RULE(BRK_OVER_HOLES, "brk-over-holes", "5.10-6.0", OBSERVED, "a_heap_that_is_gone", \
	     "brk goes down where nothing is mapped, too")                                \
	RULE(DONTUNMAP_KEEPS_ANON, "dontunmap-keeps-anon", "5.10-6.0", OBSERVED,          \
	     "beside_a_source_without_pages",                                             \
	     "the source of MREMAP_DONTUNMAP keeps its anon_vma when all of it was moved") \
	RULE(UNMERGEABLE_DROPS, "unmergeable-drops", "6.16-6.16", OBSERVED,               \
	     "sealed_memory_is_unmergeable",                                              \
	     "MADV_UNMERGEABLE of a mergeable area drops its seal and protection key")    \
	RULE(SEAL_SPECIAL, "seal-special", "6.10-6.16", OBSERVED,                         \
	     "a_sealed_vdso_is_discarded",                                                \
	     "advice that discards pages of a sealed [vdso] is EPERM")                    \
	RULE(BALANCE_MANY, "balance-many", "6.10-", OBSERVED, "policies_of_many_that_balance", \
	     "mbind takes MPOL_F_NUMA_BALANCING with MPOL_PREFERRED_MANY, too")           \
	RULE(MAP_ABOVE4G, "map-above4g", "6.6-", "mmap(2)", "mapped_above_4_gib",         \
	     "MAP_ABOVE4G of x86 exists")                                                 \
	RULE(REMAP_ALIGNED_FIRST, "remap-aligned-first", "5.10-6.0 6.16-", OBSERVED,      \
	     "a_move_of_nothing_into_a_page",                                             \
	     "mremap checks that a given address is a page's before it looks for the area") \
	RULE(ADVISE_CHECKED, "advise-checked", "5.10-6.12 7.2-", OBSERVED,                \
	     "process_madvise_of_nothing",                                                \
	     "process_madvise refuses advice that does not exist, if only for empty ranges") \
	RULE(ADVISE_COUNT_ERROR, "advise-count-error", "5.10-6.0", OBSERVED,              \
	     "as_many_areas_as_there_may_be",                                             \
	     "madvise that would exceed vm.max_map_count is ENOMEM (else EAGAIN)")        \
	RULE(DONTUNMAP_UNCHECKED, "dontunmap-unchecked", "5.10-6.0", OBSERVED,            \
	     "more_than_all_memory_stays_behind",                                         \
	     "MREMAP_DONTUNMAP is charged without asking whether there is so much memory") \
	RULE(ADVISE_UNSHORTENED, "advise-unshortened", "5.10-6.0", OBSERVED,              \
	     "process_madvise_of_all_addresses",                                          \
	     "process_madvise refuses a range beyond the address space before it is shortened") \
	RULE(ADVISE_EMPTY, "advise-empty", "5.10-6.0", OBSERVED,                          \
	     "process_madvise_of_nothing_between",                                        \
	     "process_madvise ends at an empty range within a page, if others follow")    \
	RULE(REMAP_HUGE, "remap-huge", "5.16-", OBSERVED, "huge_pages_are_moved",         \
	     "mremap takes huge pages")                                                   \
	RULE(DONTNEED_HUGE, "dontneed-huge", "5.18-", "madvise(2)",                       \
	     "huge_pages_are_not_needed", "MADV_DONTNEED takes huge pages")               \
	RULE(BALANCE_ASKED, "balance-asked", "5.15-6.19", OBSERVED,                       \
	     "nodes_that_are_not_there",                                                  \
	     "policies with MPOL_F_NUMA_BALANCING differ if other nodes were asked for")

#endif
