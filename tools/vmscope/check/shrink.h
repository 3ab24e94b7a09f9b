/* SPDX-License-Identifier: MIT */
/* Making a script that shows a difference as short as it can be. */
#ifndef VMSCOPE_CHECK_SHRINK_H
#define VMSCOPE_CHECK_SHRINK_H

#include "check/family.h"

/*
 * Performs @script with new puppets, up to the first difference, after which it is cut. Returns
 * FAMILY_DIFFERS if there was one, FAMILY_GONE if a puppet died or did not start.
 */
enum family_result script_play(struct script *script);

/*
 * Drops steps as long as the rest still differs. Source: Zeller, Hildebrandt, "Simplifying and
 * isolating failure-inducing input" (delta debugging, ddmin). Returns how often it was played; 0: the
 * script does not differ when it is played again, and stays as it is.
 */
unsigned long shrink(struct script *script);

#endif
