/* SPDX-License-Identifier: MIT */
/* A run of "vmscope check": rounds in several processes, progress, and what is done about a difference. */
#ifndef VMSCOPE_CHECK_RUN_H
#define VMSCOPE_CHECK_RUN_H

#include "check/round.h"

struct check_run {
	uint64_t seed;
	unsigned long ops, seconds;	/* the end, whichever comes first; seconds 0: no limit */
	unsigned long jobs;
	const struct mix *mix;		/* NULL: all of them */
	struct pair_mode mode;
	bool draw_way;			/* round.h */
	const char *log_path;		/* NULL: named after the seed */
	bool quiet;
	char **argv;			/* of the command, for the log */
	struct tally *tally;		/* shared by all processes */
};

/* Returns the exit status. */
int check_run_execute(struct check_run *oracle);

#endif
