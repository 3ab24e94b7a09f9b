/* SPDX-License-Identifier: MIT */
/* The address spaces of a log, led from step to step through libvmspace, and compared with what it recorded. */
#ifndef VMSCOPE_REPLAY_REPLAY_STATE_H
#define VMSCOPE_REPLAY_REPLAY_STATE_H

#include <mapletree/maple_tree.h>
#include <mapletree/vmspace.h>
#include <stdbool.h>

#include "log/step.h"

struct replay_space {
	unsigned int id;		/* its number in the log */
	unsigned int from;		/* the space that it was copied from, 0: none */
	pid_t pid;			/* of the process that it began with */
	struct vmspace *vm;
	bool incomplete;		/* it began with areas that the log does not tell of */
	bool differs;			/* a difference has been found: what follows may be another */
	bool falsified;			/* --inject hid calls from the one who wrote the log */
	char command[64];		/* "" where nobody told */
	unsigned long calls;		/* performed */
	const struct step *step;	/* that is being applied, or NULL */
	void *user;			/* the listener's */
};

/* What a listener is told. */
enum replay_event {
	REPLAY_SPACE_BEGINS,		/* a space is there */
	REPLAY_CALL_PERFORMED,	/* a call has been applied: its outcome is in *req */
	REPLAY_AREAS_OBSERVED,		/* areas may have changed without a call */
	REPLAY_DIFFERS,		/* *why: the record and libvmspace disagree; comes after PERFORMED */
	REPLAY_SPACE_ENDS,		/* the space is about to go; @step is NULL at the end of the log */
};

struct replay_state;

struct replay_listener {
	void *ctx;
	void (*notify)(void *ctx, enum replay_event event, struct replay_space *space,
		     const struct step *step, const struct vmspace_request *req, const char *why);
};

struct replay_totals {
	unsigned long spaces;		/* begun */
	unsigned long calls;		/* performed: == checked + unchecked */
	unsigned long checked;		/* whose result was compared */
	unsigned long unchecked;	/* in incomplete spaces: it hangs on what nobody told of */
	unsigned long unmodelled;	/* calls that libvmspace does not model */
	unsigned long differences;
	unsigned long endings;		/* final areas compared */
	unsigned long learned;		/* areas that had to be there, for a call to have succeeded */
	unsigned long strange;		/* steps of a space that the log does not begin */
};

/* NULL: out of memory. */
struct replay_state *replay_state_new(const struct replay_listener *listener);

/* Ends all spaces, telling the listener, and frees. NULL is ignored. */
void replay_state_free(struct replay_state *state);

/*
 * Applies one step. Returns 0, -ENOMEM, or -EBADMSG: the step makes no sense (@why is set, a static
 * sentence); nothing has changed then.
 */
int replay_state_apply(struct replay_state *state, const struct step *step, const char **why);

const struct replay_totals *replay_state_totals(const struct replay_state *state);

#endif
