/* SPDX-License-Identifier: MIT */
/* Playing a log from its first line to its last: what replay, explain and draw have in common. */
#ifndef VMSCOPE_REPLAY_PLAYER_H
#define VMSCOPE_REPLAY_PLAYER_H

#include "replay/reader.h"
#include "replay/replay_state.h"

struct player {
	const char *path;		/* of the log; "-": standard input */
	const char *maps_path;		/* areas that a log of strace begins with; NULL: none */
	unsigned long until;		/* the last line to play; 0: all */
	unsigned long max_malformed;	/* complaints about lines before it is quiet about them */
	/* Results. */
	enum reader_format format;
	unsigned long lines, malformed;
	struct replay_totals totals;
};

/*
 * Plays, telling @listener; malformed lines are reported to standard error and skipped. Returns 0, or -1
 * after a message: the log cannot be read, is none, or memory has run out.
 */
int player_run(struct player *player, const struct replay_listener *listener);

#endif
