/* SPDX-License-Identifier: MIT */
/*
 * vmspace_history.h - what was mapped, at any moment in the past.
 *
 * A history is given the areas of a space again and again, with a time that the caller chooses: a
 * clock's, the number of a line in a log. It keeps what each of these moments differed from the one
 * before: some nodes of a tree and the areas that had changed (mtree_snapshot(3)), half a kilobyte
 * to two for a call. Who was mapped at an address at a time is a lookup then, logarithmic in
 * moments and areas: for profilers that have sampled addresses and symbolise them later.
 *
 * One thread at a time may record; any number may ask while none does. Not in signal handlers.
 */
#ifndef MAPLETREE_VMSPACE_HISTORY_H
#define MAPLETREE_VMSPACE_HISTORY_H

#include <mapletree/vmspace.h>

#ifdef __cplusplus
extern "C" {
#endif

struct vmspace_history;

/* A history without moments, which the caller owns. 0, or -ENOMEM with *out == NULL. */
VMSPACE_PUBLIC int vmspace_history_create(struct vmspace_history **out);

/* Free it, and all that it has answered. NULL is ignored. */
VMSPACE_PUBLIC void vmspace_history_destroy(struct vmspace_history *history);

/*
 * Record the areas of `space` as they are now, as those from `time` on. `out`: the outcome of the
 * last request. If nothing else has changed the space since it was recorded, only what the request
 * changed is looked at; otherwise, or with `out` NULL, all areas are. It must be NULL for the first
 * record of a space that was made where another one has been destroyed. Recording what has not
 * changed takes no memory. The space is read as by vmspace_next(): no other thread may change it
 * meanwhile.
 * 0; -EINVAL: `time` is before the last one; -ENOMEM. After an error the history is as before.
 */
VMSPACE_PUBLIC int vmspace_history_record(struct vmspace_history *history,
					  const struct vmspace *space,
					  const struct vmspace_outcome *out, uint64_t time);

/* How many moments are kept: those at which something had changed. */
VMSPACE_PUBLIC size_t vmspace_history_count(const struct vmspace_history *history);

/*
 * vmspace_history_lookup: the area at `addr`, as it was at `time`: at the last moment that is not
 * later. vmspace_history_next: the first area that ended after `addr`. False: there was none, or
 * nothing had been recorded by then. Strings in *info are valid until the history is destroyed.
 * anon_id and anon_shared may be those of an earlier moment: that an area got its first page is not
 * told by an outcome.
 */
VMSPACE_PUBLIC bool vmspace_history_lookup(const struct vmspace_history *history, uint64_t time,
					   unsigned long addr, struct vma_info *info);
VMSPACE_PUBLIC bool vmspace_history_next(const struct vmspace_history *history, uint64_t time,
					 unsigned long addr, struct vma_info *info);

/*
 * The text of /proc/PID/maps at `time`, or the line of the area at `addr` alone: calls `emit` once
 * per line, newline included; a non-zero return stops and is returned. 0: no more lines, or none.
 */
VMSPACE_PUBLIC int vmspace_history_show(const struct vmspace_history *history, uint64_t time,
					int (*emit)(void *ctx, const char *line, size_t length),
					void *ctx);
VMSPACE_PUBLIC int vmspace_history_show_area(const struct vmspace_history *history, uint64_t time,
					     unsigned long addr,
					     int (*emit)(void *ctx, const char *line,
							 size_t length),
					     void *ctx);

#ifdef __cplusplus
}
#endif
#endif /* MAPLETREE_VMSPACE_HISTORY_H */
