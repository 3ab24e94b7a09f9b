/* SPDX-License-Identifier: MIT */
/* A moment of a log, as a user names it. */
#ifndef VMSCOPE_REPLAY_MOMENT_H
#define VMSCOPE_REPLAY_MOMENT_H

#include <stdbool.h>

#include "log/step.h"

enum moment_kind {
	MOMENT_LINE,
	MOMENT_SECONDS,			/* since the log's beginning, or since 1970 */
	MOMENT_OF_DAY,
};

struct moment {
	enum moment_kind kind;
	unsigned long line;		/* MOMENT_LINE: from 1 */
	double seconds;
};

/* "120", "1.5s", "1.5", "1700000000.123456", "12:34:56.789". False: it is none of these. */
bool moment_parse(const char *text, struct moment *moment);

/*
 * Seconds since the beginning of a log whose first line was stamped @origin (see struct step);
 * below 0: it lies before, or the log has no such stamps. Not for MOMENT_LINE.
 */
double moment_since(const struct moment *moment, double origin);

/* Whether such a log tells times of that kind: of the day, or since 1970. */
bool moment_is_told(const struct moment *moment, double origin);

#endif
