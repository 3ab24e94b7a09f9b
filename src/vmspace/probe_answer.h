/* SPDX-License-Identifier: MIT */
/* probe_answer.h - what a probe has found out, by how its calls ended. */
#ifndef VMSPACE_PROBE_ANSWER_H
#define VMSPACE_PROBE_ANSWER_H

#include <errno.h>
#include <stdbool.h>

enum probe_answer { PROBE_UNKNOWN, PROBE_NO, PROBE_YES };

static inline enum probe_answer answer(bool yes)
{
	return yes ? PROBE_YES : PROBE_NO;
}

/*
 * Whether a call was done is an answer only if it was refused with the error that says so. Else
 * something else has refused it: seccomp, a limit, want of memory.
 */
static inline enum probe_answer takes(bool done, int refusal)
{
	return done ? PROBE_YES : errno == refusal ? PROBE_NO : PROBE_UNKNOWN;
}

/* The same of a call that is refused in any case, with one error or another. */
static inline enum probe_answer said(int yes, int no)
{
	return errno == yes ? PROBE_YES : errno == no ? PROBE_NO : PROBE_UNKNOWN;
}

/* The same of rules by which it is refused. */
static inline enum probe_answer refuses(bool done, int refusal)
{
	return done ? PROBE_NO : errno == refusal ? PROBE_YES : PROBE_UNKNOWN;
}

#endif
