/* SPDX-License-Identifier: MIT */
/* The past of a log: each of its address spaces, as it was after any of the log's lines. */
#ifndef VMSCOPE_REPLAY_PAST_H
#define VMSCOPE_REPLAY_PAST_H

#include <mapletree/vmspace_history.h>
#include <stdbool.h>
#include <sys/types.h>

#include "replay/moment.h"
#include "replay/player.h"

struct past;

/* One address space. Its history's times are lines of the log. */
struct past_space {
	pid_t pid;
	char command[64];		/* "" if unknown */
	unsigned long first, last;	/* lines after which it was there */
	bool incomplete;		/* it also had areas that the log does not show */
	struct vmspace_history *history;
};

/* NULL: out of memory. past_free() ignores NULL. */
struct past *past_new(void);
void past_free(struct past *past);

/* Plays the log. Returns 0, or -1 after printing a message. */
int past_play(struct past *past, struct player *player);

/* How many spaces of that process (0: of all) also had areas that the log does not show. */
size_t past_incomplete(const struct past *past, pid_t pid);

/* Does the log tell times? */
bool past_has_times(const struct past *past);

/* Does it tell times such as that one: of the day, since 1970? */
bool past_tells(const struct past *past, const struct moment *moment);

/* The line that the log had reached at that moment; 0: it had not begun. */
unsigned long past_line_at(const struct past *past, const struct moment *moment);

/* The next space after @at (NULL: the first) that was there after @line; NULL: none. */
const struct past_space *past_next(const struct past *past, unsigned long line,
				   const struct past_space *at);

#endif
