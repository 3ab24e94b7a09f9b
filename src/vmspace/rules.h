/* SPDX-License-Identifier: MIT */
/* rules.h - which of the rules in which versions of Linux differ apply to a space. */
#ifndef VMSPACE_RULES_H
#define VMSPACE_RULES_H

#include <mapletree/vmspace.h>

#include "rules_table.h"

enum rule {
#define RULE_ID(id, ...) RULE_##id,
	RULES_TABLE(RULE_ID)
#undef RULE_ID
	RULE_COUNT,
};

_Static_assert(RULE_COUNT <= 64 * VMSPACE_RULE_WORDS, "a bit for each rule");

static inline bool rule_applies(const struct vmspace_config *config, enum rule rule)
{
	return config->rules[rule / 64] >> (rule % 64) & 1;
}

/*
 * The rules of a version by its number, as bits, into rules[]. False: no such version is known, and
 * rules[] is as it was.
 */
bool rules_of_version(const char *version, uint64_t rules[VMSPACE_RULE_WORDS]);

/* The oldest known version for an older one; the newest for a newer one, and for what is none. */
const char *rules_nearest_version(const char *version);

#endif
