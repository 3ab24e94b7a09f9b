/* SPDX-License-Identifier: MIT */
/* The state of one mirror: for the files that make up mirror.h's interface, and for no other. */
#ifndef VMSCOPE_MIRROR_STATE_H
#define VMSCOPE_MIRROR_STATE_H

#include <stdbool.h>

#include "log/answers.h"
#include "log/site.h"
#include "mirror/compare.h"
#include "mirror/guess.h"
#include "mirror/host.h"
#include "mirror/mirror.h"
#include "mirror/nearby.h"
#include "mirror/open_file.h"
#include "mirror/uffd.h"

/* What the kernel answered about one call, from the call's entry until it has been logged. */
struct call_answers {
	struct call_answers *next;
	struct answers answers;
};

struct mirror {
	struct session *session;
	unsigned int space_id;
	struct vmspace *vm;
	struct host host;
	struct guess guess;		/* what an outside tracer cannot know about it */
	struct open_files files;	/* of mapped files */
	struct uffds uffds;		/* that areas are, or were, registered with */
	bool brk_unknown;		/* attached: only the page of the break is known so far */
	bool locks;			/* it has locked memory, or asked to lock what comes */
	char command[32];		/* of the process, for messages */

	/* Comparing: see verify.h. */
	struct comparison comparison;
	bool verify_off;		/* no more comparisons */
	unsigned long reported;		/* differences; the mirror has diverged if > 0 */
	char last_reported[640];	/* the last one, to recognise it when it is still there */
	struct nearby nearby;		/* what the comparison after the last call is about */
	struct nearby_text theirs, ours;	/* there; theirs is empty if not asked for yet */
	unsigned long since_whole;	/* calls since all areas were compared */
	bool flags_are_slow;		/* reading smaps took long the last time */
	unsigned long flags_skipped;	/* comparisons of flags left out since */

	/* For the log; without one these stay empty. */
	struct answers observed;	/* what comparisons found out, not logged yet */
	struct answers asked_again;	/* what was asked to compute another outcome of a call */
	struct call_answers *calls;	/* one for each call in progress */
	struct site_finder *sites;	/* NULL until the first call whose site is wanted */
};

/* Records the kernel's answers in @answers from now on, if there is a log. */
static inline void mirror_record_in(struct mirror *mirror, struct answers *answers)
{
	mirror->host.answers = mirror->session->log ? answers : NULL;
}

/* Ends the recording for one call. NULL is ignored. */
void mirror_close_answers(struct mirror *mirror, struct call_answers *answers);

#endif
