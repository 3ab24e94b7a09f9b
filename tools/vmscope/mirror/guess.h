/* SPDX-License-Identifier: MIT */
/*
 * Guesses: what the kernel may have done where a tracer cannot see which of a few things it did.
 *
 * An outside tracer knows every call, its arguments and its result. Two things it does not know:
 * when exactly, beside a call, another thread first touched a page; and what happened before it
 * came. So a call has, in these cases only, more than one possible outcome:
 *
 *   raced           Another thread touched an area for the first time while the call was under
 *                   way. The touch came after the call, or before it.
 *   lost_performed  The thread was killed in its call and never came back, and other threads use
 *                   the space on. The call was not performed, or it was.
 *   anon_joined     Two areas have anonymous pages, and at least one of them has had them since
 *                   before we attached, or since a touch beside a call. They have two anon_vmas,
 *                   or share one, which lets them merge.
 *   anon_parted     Of such areas the mirror believes that they share one; or they have two.
 *   anon_emptied    An area that was there when we attached had no anonymous page. It never had
 *                   one; or its pages were given back, and its anon_vma is still there.
 *   anon_inherited  The anon_vma of an area that was there when we attached, or whose parent's was
 *                   and was without pages: it is the process's own; or a fork handed it down,
 *                   and the area does not merge with one that has none.
 *
 * A guess is tried only if all of this holds:
 *   - the mirror was equal to the kernel up to the call: no difference has been reported;
 *   - the outcome was open as said above. It never is in a program that was started, not attached
 *     to, and in whose space no two threads met (asserted);
 *   - the first alternative, which is what libvmspace answers by itself, gives the kernel's answer
 *     and not the kernel's areas.
 *
 * Then the call is performed once more on a copy of the space as it was before it, under the other
 * alternative; where several areas have an open anon_vma, each alternative is the one that the
 * kernel's maps show there (does an area begin at that address?). The copy becomes the mirror if
 * it is equal to the kernel in every byte of the maps, and is thrown away otherwise: then the
 * difference is reported as without guesses.
 *
 * This repairs nothing. Every alternative is computed by libvmspace's rules from the calls alone,
 * is something that the kernel may have done, and predicts the complete maps; no area, flag or
 * address is taken from the kernel's text (for device and inode of new shared memory see apply.h).
 * A call that was missed, or whose ranges, flags, placement or backing are modelled wrongly, is
 * wrong under every alternative (tests/vmscope/inject.py). Only a wrong rule about anon_vmas
 * themselves could hide behind an open one: what such rules are worth shows in started programs
 * of one thread, where none is.
 * Every alternative kept is counted in the summary and named in the log.
 *
 * Cost: one copy of the space per call whose outcome may be open, and up to GUESS_ROUNDS further
 * ones for a call that was not as expected.
 */
#ifndef VMSCOPE_MIRROR_GUESS_H
#define VMSCOPE_MIRROR_GUESS_H

#include <mapletree/maple_tree.h>
#include <mapletree/vmspace.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/session.h"
#include "log/anon_choice.h"
#include "mirror/compare.h"
#include "mirror/host.h"

enum { GUESS_ROUNDS = 8, GUESS_CHOICES_MAX = 64 };

/* What is open about one mirror. */
struct guess {
	struct session *session;
	struct host *host;		/* the mirror's */
	struct comparison *comparison;	/* the mirror's */
	bool attached;			/* it ran before we came */
	bool shared;			/* threads have met in it */
	bool closed;			/* it differs from the kernel: no more guesses */
	uint64_t open_anon;		/* anon_ids up to this may be shared otherwise; 0: none */
	uint64_t old_anon;		/* anon_ids up to this were there when we attached */
	struct maple_tree emptied;	/* mapped since before we attached, no pages then */
	unsigned int choice_count;	/* of the call that was applied last: */
	struct anon_choice choices[GUESS_CHOICES_MAX];	/* what took the other alternatives before it, in order */
};

/* Nothing is open yet. Ended by guess_end(). */
void guess_init(struct guess *guess, struct session *session, struct host *host,
		struct comparison *comparison);
void guess_end(struct guess *guess);

/*
 * The areas of @space, just taken over, are those of a process that ran before: which of them have
 * an anon_vma, and which share one, is open. Returns 0 or -ENOMEM.
 */
int guess_attached(struct guess *guess, const struct vmspace *space);

/*
 * The mirror of @guess is that of a process that one with @parent has just made; @space is its
 * copy of the space. Returns 0 or -ENOMEM.
 */
int guess_fork(struct guess *guess, const struct guess *parent, const struct vmspace *space);

/*
 * Completes @req, gathered and with the host's result, on *@space. If another alternative than the
 * first is what the kernel did, *@space is replaced by the space that it leads to, and the one
 * before is destroyed. @touched: another thread has touched an area for the first time since the
 * call was gathered. Returns the alternatives that were kept, a set of 1u << enum guess_kind,
 * 0 if none was needed.
 */
unsigned int guess_apply(struct guess *guess, struct vmspace **space, struct vmspace_request *req,
			 bool touched);

/*
 * The thread that had entered @req, gathered, is gone, and it is not known whether the call was
 * performed. As guess_apply(); with 0 *@space is as it was.
 */
unsigned int guess_lost(struct guess *guess, struct vmspace **space, struct vmspace_request *req);

#endif
