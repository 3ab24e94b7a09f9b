/* SPDX-License-Identifier: MIT */
/*
 * Guesses: trying the few outcomes that a call may have had, where a tracer cannot know which.
 *
 * A tracer sees every system call with its arguments and its result. Two things it cannot see: when
 * exactly, relative to a call, another thread touched a page for the first time; and what happened
 * before it attached. In the following cases, and in no others, a call may therefore have had more
 * than one outcome; libvmspace computes the one that is named first:
 *
 *   raced           Another thread touched an area for the first time while the call was in
 *                   progress: after the call was performed, or before.
 *   lost_performed  The thread was killed inside the call, and other threads still use the address
 *                   space: the call was not performed, or it was.
 *   anon_joined     Two areas have anonymous pages, and at least one of them has had them since
 *                   before we attached, or since a race as above: they have different anon_vmas, or
 *                   share one, so that they can be merged.
 *   anon_parted     The same, for areas that the mirror believes to share one: they share it, or
 *                   have different ones.
 *   anon_emptied    An area had no anonymous page when we attached: it has never had one, or its
 *                   pages were freed and its anon_vma is still there. Or it was mapped beyond the
 *                   end of its file, and can or could be written: nobody has written there, or
 *                   somebody has, for a SIGBUS.
 *   anon_inherited  An area has an anon_vma that existed when we attached, or its parent's area
 *                   existed then and had no pages: the anon_vma is the process's own, or was
 *                   inherited by fork, so that the area cannot be merged with one that has none.
 *   anon_moved      Anonymous memory that was there when we attached has the page offsets of its
 *                   address; or of others, from where mremap() moved it before. It is merged
 *                   only where they continue.
 *
 * A guess is tried only if all of the following hold:
 *   - Up to this call the mirror was equal to the kernel: no difference has been reported.
 *   - One of the cases above applies. None ever does in a program that vmscope has started, in
 *     which no calls of two threads have overlapped, and that has nothing writable beyond the
 *     end of its file (asserted).
 *   - libvmspace's own outcome has the kernel's result, but not the kernel's areas; or, where it
 *     takes the charge (VmFlags "ac") from an area that was touched meanwhile, not their flags.
 *
 * Then the call is performed again on a copy of the address space from before the call, with the
 * other outcome. Where several areas are concerned, the kernel's maps show which way each merge
 * went: does an area begin at that address? If the copy then equals the kernel's maps in every
 * byte, it becomes the mirror. Otherwise it is discarded, and the difference is reported.
 *
 * Guesses do not repair the mirror. Every outcome is computed by libvmspace's rules from the system
 * calls alone, may really have happened, and predicts the complete maps; no area, flag or address
 * is taken from the kernel's text (except the device and inode of new shared memory: see apply.h).
 * A call that was missed, or whose ranges, flags, placement or backing are modelled wrongly, is
 * wrong in every outcome (tests/vmscope/inject.py). Only a wrong rule about anon_vmas could hide
 * behind a guess; but started programs with a single thread test these rules without any guess.
 * Every guess that is kept is counted in the summary and named in the log.
 *
 * Each call that may have several outcomes (in a started program with a single thread, one near a
 * writable area beyond the end of its file) costs a snapshot, in constant time. Only if its outcome
 * is not the expected one are there copies of the address space: up to GUESS_ROUNDS and one; as
 * many for each of GUESS_DRAWS attempts where areas may have been moved and nothing else explains
 * it.
 */
#ifndef VMSCOPE_MIRROR_GUESS_H
#define VMSCOPE_MIRROR_GUESS_H

#include <mapletree/maple_tree.h>
#include <mapletree/vmspace.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/session.h"
#include "log/anon_choice.h"
#include "mirror/compare.h"
#include "mirror/host.h"
#include "mirror/marks.h"
#include "mirror/nearby.h"

enum { GUESS_ROUNDS = 8, GUESS_DRAWS = 60, GUESS_CHOICES_MAX = 256 };

/* What is unknown about one address space. */
struct guess {
	struct session *session;
	struct host *host;		/* the mirror's */
	struct comparison *comparison;	/* the mirror's */
	bool attached;			/* it was running before we attached */
	bool shared;			/* calls by several threads have overlapped in it */
	bool closed;			/* no more guesses: it differs from the kernel */
	uint64_t unknown_sharing;	/* up to this anon_id, sharing is unknown; 0: none */
	const struct vmspace *raced;	/* a snapshot: up to all of its, and one more; or NULL */
	uint64_t unknown_origin;	/* up to this anon_id, they existed when we attached */
	struct marks marks;		/* areas that were there when we attached */
	bool may_be_copy;		/* its parent is not known, and may have forked it */
	const struct vmspace *before;	/* a snapshot: before the last call with several outcomes */
	struct vmspace_hooks hooks;	/* of every space: they collect */
	pid_t flags_of;			/* whose VmFlags tell apart what the last call did; or 0 */
	struct nearby_text ours, theirs;	/* where that call has changed areas */
	struct vmspace_event *events;	/* all of the request applied last */
	size_t event_count, event_capacity;

	/* For the call applied last: see mirror/choices.h. */
	unsigned int choice_count;	/* made, in order: */
	struct anon_choice choices[GUESS_CHOICES_MAX];	/* see choice_count */
	int order;			/* enum choice_order */
	uint64_t draw;			/* state of what CHOOSE_DRAWN draws from */
	unsigned int settled_count;	/* origins whose offsets the call has shown: */
	unsigned long settled[GUESS_CHOICES_MAX];	/* see settled_count */
	uint64_t elsewhere;		/* how many offsets were given out that no address has */
};

/*
 * Everything is known at first. The spaces are to be created with guess->hooks. guess_end() frees
 * what this allocates.
 */
void guess_init(struct guess *guess, struct session *session, struct host *host,
		struct comparison *comparison);
void guess_end(struct guess *guess);

/*
 * @space was just read from process @pid, which had been running: which of its areas have an
 * anon_vma, which of them share one, and from where they were moved is unknown. Returns 0 or
 * -ENOMEM.
 */
int guess_attached(struct guess *guess, pid_t pid, const struct vmspace *space);

/*
 * @guess belongs to the child of a fork, @parent to its parent; @space is the child's. Returns 0 or
 * -ENOMEM.
 */
int guess_fork(struct guess *guess, const struct guess *parent, const struct vmspace *space);

/*
 * Completes @req of thread @tid on *@space; it has been gathered and has the kernel's result. If
 * another outcome than libvmspace's own turns out to be the kernel's, *@space is replaced by the
 * space with that outcome. @touched: another thread has touched an area for the first time since
 * the call was gathered. @where: which areas the call may have changed. Returns the guesses that
 * were kept, a set of bits 1u << enum guess_kind, 0 if none was needed.
 */
unsigned int guess_apply(struct guess *guess, struct vmspace **space, struct vmspace_request *req,
			 pid_t tid, bool touched, const struct nearby *where);

/*
 * [@start, @end) was just mapped in @space and lies beyond the end of its file: a write there gives
 * the area an anon_vma, but no page.
 */
void guess_past_end(struct guess *guess, const struct vmspace *space, unsigned long start,
		    unsigned long end);

/*
 * The thread that entered @req, which has been gathered, was killed; it is unknown whether the call
 * was performed. Returns as guess_apply(); if 0, *@space is unchanged.
 */
unsigned int guess_lost(struct guess *guess, struct vmspace **space, struct vmspace_request *req);

#endif
