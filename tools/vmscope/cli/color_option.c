/* SPDX-License-Identifier: MIT */
/* The option --color. */
#include "cli/color_option.h"

#include "base/color.h"

enum { OPT_COLOR = 768 };

static const struct argp_option option_table[] = {
	{ "color", OPT_COLOR, "WHEN", 0,
	  "Use colours \"always\", \"never\" or, the default, as \"auto\": on terminals", 0 },
	{ NULL, 0, NULL, 0, NULL, 0 },
};

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	if (key != OPT_COLOR)
		return ARGP_ERR_UNKNOWN;
	if (!color_when(arg))
		argp_error(state, "--color: '%s' is not 'auto', 'always' or 'never'", arg);
	return 0;
}

const struct argp color_option_argp = {
	.options = option_table,
	.parser = parse_option,
};
