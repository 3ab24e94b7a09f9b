/* SPDX-License-Identifier: MIT */
/* Colours in what is written for people. */
#include "base/color.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static enum { AUTO, ALWAYS, NEVER } mode;

bool color_when(const char *when)
{
	static const char *const names[] = { [AUTO] = "auto", [ALWAYS] = "always",
					     [NEVER] = "never" };

	for (int i = AUTO; i <= NEVER; i++)
		if (strcmp(names[i], when) == 0) {
			mode = i;
			return true;
		}
	return false;
}

static bool has_colors(FILE *to)
{
	const char *no = getenv("NO_COLOR"), *term = getenv("TERM");

	if (mode != AUTO)
		return mode == ALWAYS;
	return !(no && *no) && term && strcmp(term, "dumb") != 0 && fileno(to) >= 0 &&
	       isatty(fileno(to));
}

const char *color_on(FILE *to, enum color color)
{
	static const char *const codes[] = {
		[COLOR_NONE] = "", [COLOR_REMOVED] = "\033[31m", [COLOR_ADDED] = "\033[32m",
		[COLOR_WARNING] = "\033[1;31m", [COLOR_HEADING] = "\033[1m",
	};

	return has_colors(to) ? codes[color] : "";
}

const char *color_off(FILE *to)
{
	return has_colors(to) ? "\033[m" : "";
}
