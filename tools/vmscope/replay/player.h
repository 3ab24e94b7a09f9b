/* SPDX-License-Identifier: MIT */
/* Replaying a log from its first line to its last: what replay, explain and draw have in common. */
#ifndef VMSCOPE_REPLAY_PLAYER_H
#define VMSCOPE_REPLAY_PLAYER_H

#include "replay/reader.h"
#include "replay/replay_state.h"

struct player {
	const char *path;		/* of the log; "-": standard input */
	const char *maps_path;		/* initial areas for a log of strace; NULL: none */
	const char *kernel;		/* the version whose rules hold; NULL: as the log says */
	unsigned long until;		/* the last line to replay; 0: all */
	unsigned long max_malformed;	/* malformed lines to report at most */
	bool quiet;			/* no progress on a terminal */
	bool stacks;			/* steps have the whole stack of a call */
	bool interruptible;		/* SIGINT ends the reading: see interrupted */
	/* Results. */
	enum reader_format format;
	unsigned long lines, malformed;
	unsigned long untold;		/* areas that the log does not show; the user knows */
	unsigned long unknown;		/* records passed over: reader_unknown() */
	struct log_gaps gaps;		/* reader_gaps(); the user knows */
	bool cut;			/* its end is missing: reader_is_cut() */
	bool interrupted;		/* so far only; the user has been told */
	struct replay_totals totals;
};

/*
 * Replays the log, notifying @listener. Malformed lines are reported to standard error and skipped;
 * on a terminal it tells how far it is.
 * Returns 0, or -1 after printing a message: the file cannot be read, it is not a log, or memory
 * has run out.
 */
int player_run(struct player *player, const struct replay_listener *listener);

#endif
