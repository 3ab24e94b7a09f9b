/* SPDX-License-Identifier: MIT */
/*
 * vmspace_pages.h - what is known of the pages of a space with memory: which are present, which were
 * accessed and written, asked for without a fault. For garbage collectors, snapshots and migration.
 *
 * Part of vmspace.h, which includes it; beside vmspace_guest.h by itself.
 *
 * A space without memory has no pages, nor has a snapshot: nothing is found there.
 */
#ifndef MAPLETREE_VMSPACE_PAGES_H
#define MAPLETREE_VMSPACE_PAGES_H

#include <mapletree/vmspace_create.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * The page that contains `addr`, as it is now: no fault, no mark, and nothing changes. Returns whether
 * it is present; *page describes it: `access` is what the guest may do without a fault in the page
 * table, VMSPACE_ACCESS_EXEC for instance. kind is VMSPACE_PAGE_NONE or _GUARD if it is not present.
 * `page` may be NULL.
 *
 * Any thread, at any time, as vmspace_touch(); about as quick as vmspace_lookup(). It waits for a call
 * that changes that very area. What it tells may have changed by the time it returns.
 */
VMSPACE_PUBLIC bool vmspace_peek(struct vmspace *space, unsigned long addr,
				 struct vmspace_page *page);

/*
 * Marks of a page. An access through vmspace_touch(), vmspace_access(), a window or the functions that
 * copy sets ACCESSED, one that writes sets both; so do calls that populate. A mark stays, whatever else
 * happens, until it is cleared or the page goes (unmapped, discarded, replaced by a guard). mremap()
 * moves the marks with the page. A child of fork() begins with its parent's.
 *
 * They are the guest's view of its own addresses: who writes the same shared memory or file through
 * another area, another space or another process sets marks there, or none. Where a guest's pages are
 * smaller than the host's (vmspace_memfd_create_pages()), those of one host page are often marked together,
 * as one fault makes all of them present.
 */
#define VMSPACE_MARK_PRESENT  1u
#define VMSPACE_MARK_ACCESSED 2u /* since it became present, or the mark was last cleared */
#define VMSPACE_MARK_DIRTY    4u /* the same of writing */

/* For `flags`: clear those marks of the pages found that were asked for. */
#define VMSPACE_COLLECT_CLEAR 1u

/*
 * Find the pages of [start, end) that have one of the marks `which`, a combination of VMSPACE_MARK_*
 * that is not 0. `found` (may be NULL) is called for each run of neighbouring pages with the same marks,
 * all of their marks given, in ascending order; a run ends where an area does.
 *
 * With VMSPACE_COLLECT_CLEAR the marks in `which` (but PRESENT) are cleared of the pages found, and no
 * write is lost: the content that a page has when `found` is called, or later, has all writes that the
 * mark was for; writes after that mark it again. To that end guests' next access (ACCESSED) or next write
 * (DIRTY) of such a page faults, which takes a page fault's time. A migration copies all pages that are
 * PRESENT, then again and again those that are DIRTY, at last with the guest stopped. It has to replay
 * the calls that unmap or discard pages itself: pages that are gone have no marks.
 *
 * Any thread, as a call on the space, whose lock it takes for the whole time; areas in which marks are
 * cleared wait, so that faults in them wait for it, and it waits for those in progress. `found` must not
 * call back into a vmspace, but may read frames. Time: O(areas) + O(tables of pages) of the range, and one
 * change of mappings per run that is cleared. It is not for signal handlers.
 *
 * Returns the number of pages found; -EINVAL: the range is not page aligned or start > end; or `which`
 * or `flags` have no meaning; -EROFS: it is to clear marks of a snapshot.
 */
VMSPACE_PUBLIC long vmspace_collect(struct vmspace *space, unsigned long start, unsigned long end,
				    unsigned int which, unsigned int flags,
				    void (*found)(void *ctx, unsigned long start, unsigned long end,
						  unsigned int marks),
				    void *ctx);

#ifdef __cplusplus
}
#endif
#endif /* MAPLETREE_VMSPACE_PAGES_H */
