/* SPDX-License-Identifier: MIT */
/*
 * vmspace_snapshot.h - a view of an address space that stands still. Included by vmspace.h, where
 * the terms are explained.
 */
#ifndef MAPLETREE_VMSPACE_SNAPSHOT_H
#define MAPLETREE_VMSPACE_SNAPSHOT_H

#include <mapletree/vmspace_area.h>

#ifdef __cplusplus
extern "C" {
#endif

struct vmspace;

/*
 * vmspace_snapshot - *out becomes a view of `space` as it is at this moment, between two calls: its
 * areas with their names, files and policies, the break, the counters and the configuration. It
 * takes as long for a million areas as for twenty, and 2 KiB: what is there is shared, and copied
 * by later calls where they change it. The owner ends it with vmspace_snapshot_close().
 *
 * A snapshot is a space that can be read, by any number of threads at once, and beside whatever
 * happens to `space`: vmspace_lookup(), vmspace_next(), vmspace_prev(), iterators, vmspace_show(),
 * vmspace_show_lines(), vmspace_dump_snapshot(), vmspace_stats(), vmspace_explain(),
 * vmspace_check(), vmspace_history_record(). They take no lock of `space`, hold back neither calls
 * nor a grace period, and are allowed in signal handlers where they are for `space`. What they
 * return (strings, vmspace_config()) is valid until the snapshot is closed.
 *
 * It cannot be changed, nor forked: vmspace_call() and all that changes a space return -EROFS, also
 * if the const is cast away; functions that return nothing do nothing. vmspace_clone() makes a
 * space of it, to go on from what was. It has no pages (vmspace_config(): no memory, hooks and
 * host): their content is not part of the view. vmspace_stats() tells how many there were.
 *
 * Snapshots may be closed in any order, and outlive `space`: vmspace_destroy(), vmspace_exit() and
 * vmspace_exec() leave them as they are. (What the user gave the space must live as long as the
 * space: a snapshot does not use it.) A correction by vmspace_join_anon() or vmspace_part_anon()
 * holds for the past as well, so for snapshots (not for areas that the space then still had from
 * its parent: they stay as they were inherited).
 *
 * Calls on `space` take more memory and time while snapshots are open: what they replace is kept,
 * and the first change at a place copies the nodes above it. They still change nothing if memory
 * runs out; to that end they reserve about twice what they else do (vmspace.h), and 10 KiB for each
 * area that one call changes beyond the first few, and keep some 300 KiB from one call to the next.
 * In a space that one thread uses this ends with the first call after the last snapshot was closed;
 * in others, they go on to reserve as much.
 *
 * Under the same rule as vmspace_call(): by any thread at any time in a space for several threads,
 * else by the thread whose turn it is. Takes the space's lock, for a moment. Not in signal handlers.
 * Returns 0; or, with *out == NULL: -ENOMEM; -EROFS: `space` is a snapshot; -EOVERFLOW: four billion
 * snapshots were taken, and some are open: close them all.
 */
VMSPACE_PUBLIC int vmspace_snapshot(const struct vmspace **out, struct vmspace *space);

/*
 * vmspace_snapshot_close - free a snapshot, which no thread uses any more. By any thread; takes no
 * lock of the space it was taken of, and does not wait for it, but calls on that may wait meanwhile.
 * The time depends on how many areas died since it was taken. They are freed by the space's next
 * call, or here if that has gone. NULL is ignored. vmspace_destroy() of a snapshot does the same.
 */
VMSPACE_PUBLIC void vmspace_snapshot_close(const struct vmspace *snapshot);

/* Is it a snapshot? Any context. */
VMSPACE_PUBLIC bool vmspace_is_snapshot(const struct vmspace *space);

#ifdef __cplusplus
}
#endif

#endif
