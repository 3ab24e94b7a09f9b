/* SPDX-License-Identifier: MIT */
/* One round of "vmscope check": a new family, random calls, until they are enough or two sides differ. */
#ifndef VMSCOPE_CHECK_ROUND_H
#define VMSCOPE_CHECK_ROUND_H

#include "check/family.h"

/* What is counted while rounds run: by several processes at the same time, in shared memory. */
struct tally {
	unsigned long ops;			/* performed; == sum of by_op and exits */
	unsigned long by_op[VMSPACE_OP_COUNT];
	unsigned long exits;			/* of a process */
	unsigned long rounds;
	unsigned long differences;
	unsigned long failures;			/* rounds that could not be started or ended early */
	bool stop;				/* everybody is to come to an end */
};

struct round {
	uint64_t seed;
	const struct mix *mix;			/* NULL: whichever the seed says */
	unsigned long ops;			/* at most */
	struct pair_mode mode;			/* .mirror and below: overwritten if drawn */
	bool draw_way;
	struct tally *tally;
	struct script script;			/* what was done; the last step is the one that differs */
};

/* Runs it. The script is to be freed by the caller. */
enum family_result round_run(struct round *round);

/* The seed of round @n of a run with seed @seed. */
uint64_t round_seed(uint64_t seed, unsigned long n);

#endif
