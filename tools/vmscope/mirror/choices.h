/* SPDX-License-Identifier: MIT */
/* Choices: which unknown facts explain where the kernel has merged areas, and where not. */
#ifndef VMSCOPE_MIRROR_CHOICES_H
#define VMSCOPE_MIRROR_CHOICES_H

#include <stdbool.h>

#include "mirror/guess.h"

/*
 * When the explanation comes that mremap() moved an area: before that it was inherited by a fork,
 * after that, or before all others. CHOOSE_DRAWN: which explanation comes first, and which of two
 * sides, is drawn for each place where areas meet, since one order may not explain all that a call
 * has merged and not merged.
 */
enum choice_order { CHOOSE_MOVED, CHOOSE_INHERITED, CHOOSE_MOVED_FIRST, CHOOSE_DRAWN };

/* A new attempt to explain a call. @seed: for CHOOSE_DRAWN, another one for each attempt. */
void choices_begin(struct guess *guess, enum choice_order order, uint64_t seed);

/*
 * Makes choices in @before, the state before the call, for every merge that depends on something
 * unknown and that the maps show to have gone the other way. @after is the state that the call led
 * to, by guess->events. Returns the kinds of the choices made, as a set of bits, or 0.
 */
unsigned int choices_make(struct guess *guess, struct vmspace *before, const struct vmspace *after);

/*
 * The call led to @space, whose areas are the kernel's, by guess->events, which the marks have
 * followed: what was merged has continuous offsets. Returns 0 or -ENOMEM.
 */
int choices_learn(struct guess *guess, const struct vmspace *space);

#endif
