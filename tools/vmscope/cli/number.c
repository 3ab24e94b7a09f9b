/* SPDX-License-Identifier: MIT */
/* Parsing numeric command-line options. */
#include "cli/number.h"

#include <errno.h>
#include <stdlib.h>

unsigned long number_option(struct argp_state *state, const char *name, const char *text,
			    unsigned long least, unsigned long most)
{
	char *end;
	unsigned long value;

	errno = 0;
	value = strtoul(text, &end, 10);
	if (*text < '0' || *text > '9' || *end || errno || value < least || value > most)
		argp_error(state, "%s: '%s' is not a number from %lu to %lu", name, text, least,
			   most);
	return value;
}
