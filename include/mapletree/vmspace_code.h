/* SPDX-License-Identifier: MIT */
/*
 * vmspace_code.h - for emulators that translate a guest's code: when is a translation no longer that of
 * what the guest has there?
 *
 * An emulator asks to watch the page, then reads the code and translates it. The page stays watched until
 * it is written or could be written unseen, loses the right to be executed, is moved by mremap(), or goes
 * (unmapped, discarded, replaced, the space emptied by exec or destroyed). Before any of that can be seen
 * by a guest, the space's generation is raised and the hook called, once, and the page is not watched any
 * more. A page that is not written costs nothing; guests that write it again and again get a fault each
 * time that it was watched.
 *
 * It is about the guest's writes to its own addresses, by any thread, in system calls, too
 * (vmspace_copy_to()). Not seen is who writes the same shared memory or file through another area, another
 * space, another process, or a pin of the page before it was unmapped or discarded, nor what mapped files
 * themselves become; there a guest has to flush its instruction cache, if its architecture has one to
 * flush, and an emulator translates without keeping.
 * A child that vmspace_fork() makes begins with nothing watched, and without the hook; a space that
 * vmspace_become_child() makes a child keeps both.
 *
 * Part of vmspace.h, which includes it; beside vmspace_guest.h by itself.
 */
#ifndef MAPLETREE_VMSPACE_CODE_H
#define MAPLETREE_VMSPACE_CODE_H

#include <mapletree/vmspace_create.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * From now on `changed` (NULL: nothing) is called when watched pages change: those of [start, end), all of
 * them watched until then. It is called by the thread that writes or makes the call, with locks of the
 * space held, also by several threads at once, for different pages. It must not call back into a vmspace,
 * nor take a lock with which another thread calls into this one.
 *
 * Returns 0; -EINVAL: a space without memory; -EROFS: a snapshot. Takes the space's lock and waits for
 * faults that are in progress.
 */
VMSPACE_PUBLIC int vmspace_set_code_hook(struct vmspace *space,
					 void (*changed)(void *ctx, unsigned long start,
							 unsigned long end),
					 void *ctx);

/*
 * Make the page that contains `addr` present, as vmspace_touch() with VMSPACE_ACCESS_EXEC does, and watch
 * it. When this returns VMSPACE_FAULT_OK, code read there from then on is what the guest has there until
 * it is told otherwise; *page (may be NULL) describes it. To watch a page that is watched changes nothing.
 *
 * VMSPACE_FAULT_PINNED: the page can be executed, and *page describes it, but it is pinned to be written
 * (vmspace_pins.h): it may change at any time, and nobody is told. What is translated from it must not be
 * kept; ask again before the code is executed the next time. When no such pin is left it is watched. Who pins
 * a watched page to write changes it: that is told of, as a write is.
 *
 * Other results: as of vmspace_touch(); VMSPACE_FAULT_BUS also for a space without memory, or a snapshot.
 *
 * Any thread, as a call on the space, whose lock it takes. It waits for faults in progress in the area.
 * Time: that of a touch of a present page, and a change of mappings if the page could be written.
 */
VMSPACE_PUBLIC enum vmspace_fault_result vmspace_watch_code(struct vmspace *space, unsigned long addr,
							    struct vmspace_page *page);

/*
 * How often watched pages have changed so far: for emulators that compare a number between two blocks of
 * code, and then drop all translations, rather than be called. Never waits; may be called in a signal
 * handler. 0 in a space without memory. It may wrap.
 */
VMSPACE_PUBLIC unsigned long vmspace_code_generation(const struct vmspace *space);

#ifdef __cplusplus
}
#endif
#endif /* MAPLETREE_VMSPACE_CODE_H */
