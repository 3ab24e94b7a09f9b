/* SPDX-License-Identifier: MIT */
/* Steps from the output of strace(1): who has which address space, and what its calls ask for. */
#ifndef VMSCOPE_FROMSTRACE_H
#define VMSCOPE_FROMSTRACE_H

#include <stddef.h>

#include "step.h"

struct fromstrace;

/* @text, which stays the caller's and must outlive it, is the whole output. NULL: out of memory. */
struct fromstrace *fromstrace_new(const char *text, size_t length);
void fromstrace_free(struct fromstrace *from);

/* What the first process had when the output begins; the strings are copied. Returns 0 or -ENOMEM. */
int fromstrace_set_areas(struct fromstrace *from, const struct vmspace_area *areas, size_t count);

enum fromstrace_result { FROMSTRACE_END, FROMSTRACE_STEP, FROMSTRACE_MALFORMED, FROMSTRACE_NO_MEMORY };

/*
 * The next step in *@step, which lives until the next call; or the line that was not understood, and
 * *@why. step->line is set in both cases.
 */
enum fromstrace_result fromstrace_next(struct fromstrace *from, struct step *step,
				       const char **why);

#endif
