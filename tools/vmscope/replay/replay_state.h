/* SPDX-License-Identifier: MIT */
/*
 * The state of a replay: the address spaces of a log. Each step is applied to one of them, and what
 * libvmspace computes is compared with what the log has recorded.
 */
#ifndef VMSCOPE_REPLAY_REPLAY_STATE_H
#define VMSCOPE_REPLAY_REPLAY_STATE_H

#include <mapletree/maple_tree.h>
#include <mapletree/vmspace.h>
#include <stdbool.h>

#include "log/step.h"

struct replay_space {
	unsigned int id;		/* its number in the log */
	unsigned int from;		/* number of its parent; 0: it was not forked */
	unsigned int maker;		/* ... or of where its process was before, if it was told */
	pid_t pid;			/* of its first process */
	struct vmspace *vm;
	bool incomplete;		/* it began with areas that the log does not show */
	bool untold;			/* a call has made one that the log does not show */
	bool differs;			/* it has differed from the log, and may do so again */
	bool falsified;			/* --inject was used when the log was written */
	char command[64];		/* "" if unknown */
	unsigned long calls;		/* performed */
	bool unseen;			/* the call came with changes that req->out does not tell */
	const struct step *step;	/* being applied, or NULL */
	void *user;			/* for the listener */
};

/* What a listener is notified of. */
enum replay_event {
	REPLAY_SPACE_BEGINS,		/* a new address space */
	REPLAY_CALL_PERFORMED,	/* a call was applied; *req has its outcome */
	REPLAY_AREAS_OBSERVED,		/* areas may have changed without a call */
	REPLAY_DIFFERS,		/* log and libvmspace disagree: see why; after CALL_PERFORMED */
	REPLAY_SPACE_ENDS,		/* @step is NULL at the end of the log */
};

struct replay_state;

struct replay_listener {
	void *ctx;
	void (*notify)(void *ctx, enum replay_event event, struct replay_space *space,
		       const struct step *step, const struct vmspace_request *req, const char *why);
};

struct replay_totals {
	unsigned long spaces;		/* address spaces */
	unsigned long calls;		/* performed == checked + unchecked */
	unsigned long checked;		/* with their results compared */
	unsigned long unchecked;	/* result depends on what an incomplete log does not show */
	unsigned long unsure;		/* of these, on what vmscope watch did not know for sure */
	unsigned long unmodelled;	/* calls that libvmspace does not model */
	unsigned long differences;
	unsigned long compared_at_end;		/* address spaces whose final areas were compared */
	unsigned long inferred;		/* areas inferred because a call has succeeded */
	unsigned long orphan_steps;		/* steps of address spaces that never began */
};

/* NULL: out of memory. */
struct replay_state *replay_state_new(const struct replay_listener *listener);

/* Ends all address spaces, notifying the listener, and frees @state. NULL is ignored. */
void replay_state_free(struct replay_state *state);

/*
 * Applies a step. Returns 0, -ENOMEM or -EBADMSG: the step makes no sense, for the reason *@why, a
 * static string, and has changed nothing.
 */
int replay_state_apply(struct replay_state *state, const struct step *step, const char **why);

const struct replay_totals *replay_state_totals(const struct replay_state *state);

#endif
