/* SPDX-License-Identifier: MIT */
/*
 * vmspace_reading.h - what there is in a space: areas, pages, counters, texts, checks.
 *
 * Part of vmspace.h, which includes it; beside vmspace_guest.h by itself.
 */
#ifndef MAPLETREE_VMSPACE_READING_H
#define MAPLETREE_VMSPACE_READING_H

#include <mapletree/vmspace_create.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * The area that contains addr. Returns false (and does not touch *info) if there is none.
 *
 * In a space with memory, or made for several threads, this, vmspace_next(), vmspace_prev() and
 * iterators take no lock, wait for nobody and allocate nothing, whatever calls and faults are under
 * way. A signal handler may call them, one that has interrupted a call of the same space in the same
 * thread too, if the thread is registered with liburcu-bp: if it has once looked an area up.
 * What is told is an area as it was before such a call, or as it is after one of its steps; where a
 * call replaces mappings (MAP_FIXED), there may be none for a moment. Strings in *info stay for as
 * long as the caller is in a read-side section of liburcu-bp that it has entered before.
 */
VMSPACE_PUBLIC bool vmspace_lookup(const struct vmspace *space, unsigned long addr,
				   struct vma_info *info);
/* The first area that ends above addr: iterate with addr = 0, then info->end. */
VMSPACE_PUBLIC bool vmspace_next(const struct vmspace *space, unsigned long addr,
				 struct vma_info *info);
/* The last area that begins below addr. */
VMSPACE_PUBLIC bool vmspace_prev(const struct vmspace *space, unsigned long addr,
				 struct vma_info *info);

/* The first area that overlaps [start, end); the area that is exactly [start, end). */
VMSPACE_PUBLIC bool vmspace_intersection(const struct vmspace *space, unsigned long start,
					 unsigned long end, struct vma_info *info);
VMSPACE_PUBLIC bool vmspace_exact(const struct vmspace *space, unsigned long start,
				  unsigned long end, struct vma_info *info);

/*
 * An iterator over the areas, in either direction. It consists of addresses: it needs no cleanup,
 * may be copied, and stays valid when areas change between two steps, continuing from the address
 * that it had reached. A step takes O(log areas).
 *
 *	struct vma_iterator it;
 *
 *	vma_iter_init(&it, space, start);
 *	while (vma_iter_find(&it, end, &info))       // each area that overlaps [start, end)
 *		...
 *
 * Locking of a step, and of the sums and regions below: as vmspace_lookup(). If other threads
 * change areas meanwhile, an iteration is no snapshot: each step sees its own moment.
 */
struct vma_iterator {
	const struct vmspace *space; /* private, as are the others */
	unsigned long start, end;    /* of the present area; equal: between areas */
};

/*
 * init: start at `addr`: the next area is the one that contains addr, or the first above; the
 *   previous one is the last that begins below addr.
 * next, prev: the area after (before) the present one. At the end they return false and do not
 *   touch *info; the other direction then begins with the last (first) area again.
 * find: next, if that area begins below `end`; else false, and the iterator is at `end`, from
 *   where a further range can be searched. find_rev: prev, if that area ends above `start`;
 *   likewise.
 */
VMSPACE_PUBLIC void vma_iter_init(struct vma_iterator *it, const struct vmspace *space,
				  unsigned long addr);
VMSPACE_PUBLIC bool vma_iter_next(struct vma_iterator *it, struct vma_info *info);
VMSPACE_PUBLIC bool vma_iter_prev(struct vma_iterator *it, struct vma_info *info);
VMSPACE_PUBLIC bool vma_iter_find(struct vma_iterator *it, unsigned long end,
				  struct vma_info *info);
VMSPACE_PUBLIC bool vma_iter_find_rev(struct vma_iterator *it, unsigned long start,
				      struct vma_info *info);

/*
 * Pages of [start, end) that lie in areas which have all of `flags` (0: in any). O(log areas) per
 * area of the range.
 */
VMSPACE_PUBLIC unsigned long vmspace_count_pages(const struct vmspace *space, unsigned long start,
						 unsigned long end, vma_flags_t flags);

struct vmspace_region { unsigned long start, end; }; /* bytes, half-open */

/*
 * The regions that a monitor of memory accesses samples: everything between the first and the last
 * area without the two widest gaps; so there are three, usually heap, mappings and stack. (Linux's
 * DAMON: Documentation/mm/damon/design.rst.) Ascending; where there are fewer gaps, fewer.
 * Returns how many: 0 to 3.
 */
VMSPACE_PUBLIC unsigned int vmspace_three_regions(const struct vmspace *space,
						  struct vmspace_region regions[3]);

/* Bits of /proc/PID/coredump_filter; see core(5). */
#define VMSPACE_FILTER_ANON_PRIVATE 0x01u
#define VMSPACE_FILTER_ANON_SHARED  0x02u
#define VMSPACE_FILTER_FILE_PRIVATE 0x04u
#define VMSPACE_FILTER_FILE_SHARED  0x08u
#define VMSPACE_FILTER_ELF_HEADERS  0x10u
#define VMSPACE_FILTER_HUGE_PRIVATE 0x20u
#define VMSPACE_FILTER_HUGE_SHARED  0x40u
#define VMSPACE_FILTER_DAX_PRIVATE  0x80u
#define VMSPACE_FILTER_DAX_SHARED   0x100u
#define VMSPACE_FILTER_DEFAULT      0x33u

/* What of an area a core dump holds. */
enum vmspace_dump_part {
	VMSPACE_DUMP_NONE,           /* its addresses alone */
	VMSPACE_DUMP_ALL,
	VMSPACE_DUMP_HEADER,         /* its first page */
	VMSPACE_DUMP_HEADER_IF_ELF,  /* its first page, if that begins with ELF's magic number */
};

struct vmspace_dump_area {
	unsigned long start, end;
	vma_flags_t flags;
	enum vmspace_dump_part part;
};

/*
 * What a core dump of the space would hold by `filter` (VMSPACE_FILTER_*): its areas, ascending, at
 * most `capacity` of them, into `areas` (NULL if capacity is 0).
 * In a space with memory it is of one moment, under the space's lock.
 * Returns how many areas there are; more than capacity: the rest did not fit.
 */
VMSPACE_PUBLIC size_t vmspace_dump_snapshot(const struct vmspace *space, unsigned int filter,
					    struct vmspace_dump_area *areas, size_t capacity);

/*
 * Where mmap(addr, length, ..., flags, backing) would be placed; -errno if nowhere.
 * `backing` NULL: private anonymous.
 */
VMSPACE_PUBLIC long vmspace_place(struct vmspace *space, unsigned long addr, unsigned long length,
				  int flags, const struct vma_backing *backing, uint64_t offset);

/*
 * The text of /proc/PID/maps, byte for byte. Calls `emit` once per line, newline included; a
 * non-zero return stops and is returned. The line is valid during the call only. -ENOMEM: no memory
 * for a line.
 */
VMSPACE_PUBLIC int vmspace_show_lines(const struct vmspace *space,
				      int (*emit)(void *ctx, const char *line, size_t length),
				      void *ctx);

/*
 * The same into a buffer, always NUL-terminated if size > 0. Returns the length of the whole
 * text (without NUL); if that is >= size, it was cut.
 */
VMSPACE_PUBLIC size_t vmspace_show(const struct vmspace *space, char *buf, size_t size);

/* One area's line, as in /proc/PID/maps; newline included; as snprintf. */
VMSPACE_PUBLIC size_t vmspace_show_area(const struct vmspace *space, unsigned long addr, char *buf,
					size_t size);

struct vmspace_stats {
	unsigned long areas, areas_peak;
	unsigned long total_vm;      /* pages: VmSize */
	unsigned long locked_vm;     /* pages: VmLck */
	unsigned long data_vm;       /* pages: VmData */
	unsigned long stack_vm;      /* pages: VmStk */
	unsigned long exec_vm;       /* pages of executable, unwritable areas */
	unsigned long text_vm;       /* pages: VmExe, of the program's own code */
	unsigned long lib_vm;        /* pages: VmLib, the rest of exec_vm */
	unsigned long pinned_vm;     /* pages: VmPin */
	unsigned long committed_vm;  /* pages of areas with VMA_ACCOUNT: its part of Committed_AS */
	unsigned long commit_total;  /* pages committed by all: Committed_AS */
	unsigned long commit_limit;  /* pages: CommitLimit, which counts in overcommit mode 2 */
	unsigned long brk, start_brk, mmap_base; /* mmap_base 0: not known yet */
	unsigned long requests[VMSPACE_OP_COUNT]; /* completed, by op */
	unsigned long faults;        /* of a space with memory: pages touched; also in requests[] */
	unsigned long faults_locked; /* of these, how many took the space's lock */
	/* Of a space with memory: pages present, a frame shared with relatives counting in each. */
	unsigned long anon_pages, file_pages, shmem_pages; /* RssAnon, RssFile, RssShmem */
	unsigned long zero_pages;    /* read and never written; part of no Rss */
	unsigned long table_bytes;   /* of page tables: VmPTE */
	unsigned long merges, splits; /* done so far */
	unsigned long host_questions; /* asked of the host */
	unsigned long tree_nodes, tree_bytes;
	unsigned int tree_height;
};
/* O(nodes of the tree), for their number. */
VMSPACE_PUBLIC void vmspace_stats(const struct vmspace *space, struct vmspace_stats *stats);

/* How many areas there are: stats.areas, without counting anything. As vmspace_stats() else. */
VMSPACE_PUBLIC unsigned long vmspace_count_areas(const struct vmspace *space);

/*
 * Check every invariant: the tree, order and alignment of the areas, counters equal to sums.
 * Returns true, or false with a static sentence in *reason (reason may be NULL). O(areas).
 */
VMSPACE_PUBLIC bool vmspace_check(const struct vmspace *space, const char **reason);

#ifdef __cplusplus
}
#endif
#endif /* MAPLETREE_VMSPACE_READING_H */
