/* SPDX-License-Identifier: MIT */
/* Minimising a script that shows a difference. */
#ifndef VMSCOPE_CHECK_SHRINK_H
#define VMSCOPE_CHECK_SHRINK_H

#include "check/family.h"

/*
 * Performs @script with new puppets up to the first difference, and truncates it there. Returns
 * FAMILY_DIFFERS if there is one, FAMILY_GONE if a puppet has died or did not start.
 */
enum family_result script_play(struct script *script);

/*
 * Removes steps as long as the rest still differs. Source: Zeller, Hildebrandt, "Simplifying and
 * isolating failure-inducing input" (delta debugging, ddmin). Returns how often the script was
 * performed; 0: it does not differ when it is performed again, and is unchanged.
 */
unsigned long shrink(struct script *script);

#endif
