/* SPDX-License-Identifier: MIT */
/* The command "vmscope draw": a picture of the address spaces of a log. */
#include "cli/draw.h"

#include <argp.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/options.h"
#include "base/output.h"
#include "base/session.h"
#include "cli/log_options.h"
#include "cli/number.h"
#include "replay/player.h"
#include "report/history.h"
#include "report/picture.h"

enum { OPT_PID = 256, OPT_WIDTH, OPT_HEIGHT, OPT_AXIS };

enum { PIDS_MAX = 32 };

struct draw {
	struct player player;
	const char *output;
	const char *axis;		/* "time" or "calls"; NULL: time if the log has it */
	unsigned long spaces;		/* maximum number of panels */
	unsigned long width, height;
	pid_t pids[PIDS_MAX];		/* processes to draw; none: those with most areas */
	unsigned int pid_count;
};

static const struct argp_option option_table[] = {
	{ "output", 'o', "FILE", 0, "Write the picture there, as SVG (-: standard output)", 0 },
	{ "pid", OPT_PID, "PID", 0, "Draw this process; may be given several times", 0 },
	{ "spaces", 'n', "N", 0,
	  "Draw at most N address spaces, those with most changes (default 4)", 0 },
	{ "axis", OPT_AXIS, "WHAT", 0,
	  "What goes from left to right: \"time\" or \"calls\" (default: time, if the log has it)",
	  0 },
	{ "width", OPT_WIDTH, "PIXELS", 0, "Width of the picture (default 1400)", 0 },
	{ "height", OPT_HEIGHT, "PIXELS", 0, "Most that one address space takes (default 760)", 0 },
	{ NULL, 0, NULL, 0, NULL, 0 },
};

static void check_axis(struct argp_state *state, const char *axis)
{
	if (strcmp(axis, "time") != 0 && strcmp(axis, "calls") != 0)
		argp_error(state, "--axis: '%s' is neither 'time' nor 'calls'", axis);
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct draw *draw = state->input;

	switch (key) {
	case 'o':
		draw->output = arg;
		return 0;
	case 'n':
		draw->spaces = number_option(state, "--spaces", arg, 1, 1000);
		return 0;
	case OPT_PID:
		if (draw->pid_count == PIDS_MAX)
			argp_error(state, "--pid can be given %d times", PIDS_MAX);
		draw->pids[draw->pid_count++] =
			(pid_t)number_option(state, "--pid", arg, 1, INT_MAX);
		return 0;
	case OPT_WIDTH:
		draw->width = number_option(state, "--width", arg, 600, 100000);
		return 0;
	case OPT_HEIGHT:
		draw->height = number_option(state, "--height", arg, 100, 100000);
		return 0;
	case OPT_AXIS:
		check_axis(state, arg);
		draw->axis = arg;
		return 0;
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &draw->player;
		return 0;
	case ARGP_KEY_END:
		if (!draw->player.path)
			argp_error(state, "give a log: of 'vmscope trace -o LOG', or of "
				   "'strace -f -ttt -o LOG'");
		if (!draw->output)
			argp_error(state, "give a file for the picture: -o FILE.svg");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp_child children[] = {
	{ &log_options_argp, 0, NULL, 0 },
	{ NULL, 0, NULL, 0 },
};

static const struct argp parser = {
	.options = option_table,
	.parser = parse_option,
	.children = children,
	.args_doc = "LOG -o FILE.svg",
	.doc = "Draw the address spaces of a log: which addresses were used, and for what, against "
	       "time, and the number of areas; before and after a fork.\v"
	       "LOG is what 'vmscope trace -o LOG' wrote, or output of strace (with -ttt, for an "
	       "axis of time), or - for standard input. Addresses that were never used take no "
	       "room; the height of an area grows with the logarithm of its size.",
};

static bool is_wanted(const struct draw *draw, const struct history_space *space)
{
	if (space->area_count == 0)
		return false;
	for (unsigned int i = 0; i < draw->pid_count; i++)
		if (draw->pids[i] == space->pid)
			return true;
	return draw->pid_count == 0;
}

static int by_changes(const void *a, const void *b)
{
	const struct history_space *left = *(struct history_space *const *)a;
	const struct history_space *right = *(struct history_space *const *)b;

	if (left->area_count != right->area_count)
		return left->area_count < right->area_count ? 1 : -1;
	return left->id < right->id ? -1 : 1;
}

static int by_begin(const void *a, const void *b)
{
	const struct history_space *left = *(struct history_space *const *)a;
	const struct history_space *right = *(struct history_space *const *)b;

	return (left->begin > right->begin) - (left->begin < right->begin);
}

/* Selects the address spaces to draw. Returns 0, or -1 after printing a message. */
static int choose(const struct draw *draw, const struct history *history, struct picture *picture)
{
	picture->spaces = calloc(history->space_count + 1, sizeof(*picture->spaces));
	if (!picture->spaces) {
		session_say("out of memory");
		return -1;
	}
	for (size_t i = 0; i < history->space_count; i++)
		if (is_wanted(draw, history->spaces[i]))
			picture->spaces[picture->space_count++] = history->spaces[i];
	if (picture->space_count == 0) {
		session_say("there is no such process in %s", draw->player.path);
		return -1;
	}
	qsort(picture->spaces, picture->space_count, sizeof(*picture->spaces), by_changes);
	if (picture->space_count > draw->spaces) {
		picture->left_out = picture->space_count - draw->spaces;
		picture->space_count = draw->spaces;
	}
	qsort(picture->spaces, picture->space_count, sizeof(*picture->spaces), by_begin);
	return 0;
}

static bool has_times(const struct history *history)
{
	for (size_t i = 0; i < history->moments; i++)
		if (history->times[i] > 0)
			return true;
	return false;
}

/* Returns 0, or -1 after printing a message. */
static int write_picture(const struct draw *draw, const struct history *history)
{
	const char *slash = strrchr(draw->player.path, '/');
	struct picture picture = {
		.title = slash ? slash + 1 : draw->player.path,
		.width = (double)draw->width,
		.max_height = (double)draw->height,
		.by_call = draw->axis ? strcmp(draw->axis, "calls") == 0 : !has_times(history),
	};
	FILE *file;
	int rc, written;

	if (choose(draw, history, &picture) != 0) {
		free(picture.spaces);
		return -1;
	}
	file = strcmp(draw->output, "-") == 0 ? stdout : fopen(draw->output, "we");
	rc = file ? picture_write(file, history, &picture) : -errno;
	if (file) {
		written = file == stdout ? output_flush(file) : output_close(file);
		rc = rc ? rc : written;
	}
	free(picture.spaces);
	if (rc == 0)
		return 0;
	session_say("cannot write the picture %s: %s", draw->output, strerror(-rc));
	return -1;
}

int draw_main(int argc, char **argv)
{
	struct draw draw = {
		.player = { .max_malformed = 20 },
		.spaces = 4, .width = 1400, .height = 760,
	};
	struct history history;
	const struct replay_listener listener = { .ctx = &history, .notify = history_notify };
	int rc;

	argp_err_exit_status = STATUS_FAILED;
	argp_parse(&parser, argc, argv, 0, NULL, &draw);
	history_init(&history);
	rc = player_run(&draw.player, &listener);
	if (rc == 0 && history.failed) {
		session_say("out of memory");
		rc = -1;
	}
	if (rc == 0 && draw.axis && strcmp(draw.axis, "time") == 0 && !has_times(&history)) {
		session_say("%s tells no times: give strace -ttt, or --axis=calls",
			    draw.player.path);
		rc = -1;
	}
	if (rc == 0)
		rc = write_picture(&draw, &history);
	history_clear(&history);
	return rc == 0 ? 0 : STATUS_FAILED;
}
