/* SPDX-License-Identifier: MIT */
/* A run of "vmscope check": rounds in several processes, progress, and what is done about a difference. */
#ifndef VMSCOPE_ORACLERUN_H
#define VMSCOPE_ORACLERUN_H

#include "round.h"

struct oracle {
	uint64_t seed;
	unsigned long ops, seconds;	/* the end, whichever comes first; seconds 0: no limit */
	unsigned long jobs;
	const struct mix *mix;		/* NULL: all of them */
	struct pair_way way;
	bool draw_way;			/* round.h */
	const char *log_path;		/* NULL: named after the seed */
	bool quiet;
	char **argv;			/* of the command, for the log */
	struct tally *tally;		/* shared by all processes */
};

/* Returns the exit status. */
int oracle_run(struct oracle *oracle);

#endif
