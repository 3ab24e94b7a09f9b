/* SPDX-License-Identifier: MIT */
/* The options common to all commands that replay a log. */
#include "cli/log_options.h"

#include "cli/number.h"
#include "replay/player.h"

enum { OPT_UNTIL = 512, OPT_MAPS, OPT_KERNEL };

static const struct argp_option option_table[] = {
	{ "until", OPT_UNTIL, "LINE", 0, "Play no further than this line of the log", 0 },
	{ "maps", OPT_MAPS, "FILE", 0,
	  "The areas that a log of strace begins with: a copy of /proc/PID/maps or smaps", 0 },
	{ "kernel", OPT_KERNEL, "VERSION", 0,
	  "Play it by the rules of this version of Linux, and not by those that the log names", 0 },
	{ NULL, 0, NULL, 0, NULL, 0 },
};

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct player *player = state->input;

	switch (key) {
	case OPT_UNTIL:
		player->until = number_option(state, "--until", arg, 1, ~0UL);
		return 0;
	case OPT_MAPS:
		player->maps_path = arg;
		return 0;
	case OPT_KERNEL:
		player->kernel = arg;
		return 0;
	case ARGP_KEY_ARG:
		if (player->path)
			argp_error(state, "'%s' is one too many: '%s' was given", arg,
				   player->path);
		player->path = arg;
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

const struct argp log_options_argp = {
	.options = option_table,
	.parser = parse_option,
};
