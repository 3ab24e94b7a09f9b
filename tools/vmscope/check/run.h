/* SPDX-License-Identifier: MIT */
/* A run of "vmscope check": worker processes, progress, summary, and reporting a difference. */
#ifndef VMSCOPE_CHECK_RUN_H
#define VMSCOPE_CHECK_RUN_H

#include "check/round.h"

struct check_run {
	uint64_t seed;
	unsigned long ops, seconds;	/* limits; seconds 0: none */
	unsigned long jobs;
	const struct mix *mix;		/* NULL: all of them */
	struct pair_mode mode;
	bool draw_way;			/* see struct round */
	const char *log_path;		/* NULL: a name made from the seed */
	const char *record_path;	/* gets the log of a round without a difference; or NULL */
	const char *cover_path;		/* gets a table of what was covered; may be NULL */
	bool quiet;
	char **argv;			/* of the command, for the log */
	struct tally *tally;		/* in memory shared by all workers */
};

/* Returns the exit status of "vmscope check". */
int check_run_workers(struct check_run *run);

#endif
