/* SPDX-License-Identifier: MIT */
/*
 * A round of "vmscope check": random calls on a new family, until there are enough or something
 * differs.
 */
#ifndef VMSCOPE_CHECK_ROUND_H
#define VMSCOPE_CHECK_ROUND_H

#include "check/cover.h"
#include "check/family.h"
#include "check/known.h"

/* Counters in shared memory, updated by several processes at the same time. */
struct tally {
	unsigned long ops;			/* performed; the sum of by_op, exits and settings */
	unsigned long by_op[VMSPACE_OP_COUNT];
	unsigned long exits;			/* of processes */
	unsigned long settings;			/* changed */
	unsigned long rounds;
	unsigned long differences;
	unsigned long known[KNOWN_MAX];		/* differences that are known: see known.h */
	unsigned long failures;			/* rounds that did not start, or ended early */
	struct cover cover;
	bool recorded;				/* a round without a difference, as a log */
	bool stop;				/* all workers shall stop */
};

struct round {
	uint64_t seed;
	const struct mix *mix;			/* NULL: chosen by the seed */
	unsigned long ops;			/* maximum number */
	struct pair_mode mode;			/* partly drawn */
	bool draw_way;				/* mode.way and mode.aslr, too */
	struct tally *tally;
	struct script script;			/* all steps; the last one differs */
};

/* Runs a round. The caller frees round->script. */
enum family_result round_run(struct round *round);

/* The seed of round @n in a run with @seed. */
uint64_t round_seed(uint64_t seed, unsigned long n);

#endif
