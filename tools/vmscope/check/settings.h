/* SPDX-License-Identifier: MIT */
/*
 * What a process may do, beside its areas: limits, capabilities, personality. They change in the
 * middle of a round.
 */
#ifndef VMSCOPE_CHECK_SETTINGS_H
#define VMSCOPE_CHECK_SETTINGS_H

#include "check/generator.h"

/* Members have the names that they have in struct vmspace_config. */
struct settings {
	unsigned long rlimit_as, rlimit_data, rlimit_data_max, rlimit_stack, rlimit_memlock;
	bool low_privileged, lock_privileged, move_all_privileged, read_implies_exec;
};

struct settings settings_of(const struct vmspace_config *config);

/* Changes one of the settings that @p has, or takes all back to @initial. */
struct settings settings_draw(struct generator *c, const struct pair *p,
			      const struct settings *initial);

/* Gives both the settings, as far as this user may. False: the puppet has died. */
bool settings_apply(struct pair *p, const struct settings *settings);

#endif
