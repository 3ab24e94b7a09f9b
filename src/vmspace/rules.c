/* SPDX-License-Identifier: MIT */
/* rules.c - the table of rules, and the rules of a version of Linux. */
#include "rules.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <mapletree/vmspace_rules.h>

static const struct vmspace_rule table[RULE_COUNT] = {
#define RULE_ROW(id, ...) [RULE_##id] = { __VA_ARGS__ },
	RULES_TABLE(RULE_ROW)
#undef RULE_ROW
};

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* MAJOR.MINOR as one number that sorts, and what comes after it; 0: the text begins otherwise. */
static unsigned int read_version(const char *text, const char **rest)
{
	unsigned long number[2];
	char *end;

	for (int i = 0; i < 2; i++) {
		if (!is_digit(*text))
			return 0;
		number[i] = strtoul(text, &end, 10);
		if (number[i] > 999 || (i == 0 && *end != '.'))
			return 0;
		text = end + 1;
	}
	*rest = end;
	return (unsigned int)(number[0] * 1000 + number[1]);
}

/* The number of a version, or of a release of one ("6.1.0-47-amd64", "6.1+"); 0: it is neither. */
static unsigned int version_number(const char *text)
{
	const char *rest = "";
	unsigned int number = text ? read_version(text, &rest) : 0;

	return !*rest || *rest == '-' || *rest == '+' || (*rest == '.' && is_digit(rest[1]))
		       ? number : 0;
}

/* Is the version in one of the ranges, like "6.1-6.15 7.2-"? */
static bool follows(unsigned int version, const char *ranges)
{
	while (*ranges) {
		const char *dash = ranges, *end;
		bool after = version >= read_version(ranges, &dash);
		bool open = !is_digit(dash[1]);

		end = dash + 1;
		if (after && (open || version <= read_version(dash + 1, &end)))
			return true;
		ranges = end + strcspn(end, " ");
		ranges += strspn(ranges, " ");
	}
	return false;
}

bool rules_of_version(const char *version, uint64_t rules[VMSPACE_RULE_WORDS])
{
	unsigned int number = version_number(version);

	if (number < version_number(VMSPACE_KERNEL_OLDEST) ||
	    number > version_number(VMSPACE_KERNEL_NEWEST))
		return false;
	memset(rules, 0, VMSPACE_RULE_WORDS * sizeof(*rules));
	for (unsigned int i = 0; i < RULE_COUNT; i++)
		if (follows(number, table[i].versions))
			rules[i / 64] |= UINT64_C(1) << (i % 64);
	return true;
}

const char *rules_nearest_version(const char *version)
{
	unsigned int number = version_number(version);

	return number && number < version_number(VMSPACE_KERNEL_OLDEST) ? VMSPACE_KERNEL_OLDEST
									: VMSPACE_KERNEL_NEWEST;
}

const struct vmspace_rule *vmspace_rule(unsigned int number)
{
	return number < RULE_COUNT ? &table[number] : NULL;
}

int vmspace_rule_find(const char *name)
{
	for (unsigned int i = 0; i < RULE_COUNT; i++)
		if (!strcmp(table[i].name, name))
			return (int)i;
	return -ENOENT;
}

bool vmspace_config_has_rule(const struct vmspace_config *config, unsigned int number)
{
	return number < RULE_COUNT && rule_applies(config, (enum rule)number);
}

int vmspace_config_set_rule(struct vmspace_config *config, unsigned int number, bool applies)
{
	uint64_t bit = UINT64_C(1) << (number % 64);

	if (number >= RULE_COUNT)
		return -EINVAL;
	if (applies)
		config->rules[number / 64] |= bit;
	else
		config->rules[number / 64] &= ~bit;
	return 0;
}

int vmspace_config_kernel(struct vmspace_config *config, const char *version)
{
	return rules_of_version(version, config->rules) ? 0 : -EINVAL;
}
