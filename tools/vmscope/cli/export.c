/* SPDX-License-Identifier: MIT */
/* The command "vmscope export": a log for other programs. */
#include "cli/export.h"

#include <argp.h>
#include <errno.h>
#include <string.h>

#include "base/options.h"
#include "base/output.h"
#include "base/session.h"
#include "cli/log_options.h"
#include "replay/player.h"
#include "report/export.h"

enum { OPT_WEIGHT = 256 };

struct export_command {
	struct player player;
	const char *output;		/* NULL: standard output */
	const struct export_format *format;
	bool weighted;			/* --weight was given */
	struct export export;
};

static const struct argp_option option_table[] = {
	{ "format", 'f', "FORMAT", 0,
	  "What to write: \"perfetto\" (a trace of Perfetto), \"chrome\" (trace events, JSON), "
	  "\"csv\", or \"folded\" (stacks, of which flame graphs are made)", 0 },
	{ "output", 'o', "FILE", 0, "Write it there, and not to standard output", 0 },
	{ "weight", OPT_WEIGHT, "WHAT", 0,
	  "The weight of a folded stack: \"areas\" that its calls have added, the default, or "
	  "\"calls\"", 0 },
	{ NULL, 0, NULL, 0, NULL, 0 },
};

static enum export_weight parse_weight(struct argp_state *state, const char *what)
{
	if (strcmp(what, "areas") != 0 && strcmp(what, "calls") != 0)
		argp_error(state, "--weight: '%s' is neither 'areas' nor 'calls'", what);
	return strcmp(what, "calls") == 0 ? EXPORT_CALLS : EXPORT_AREAS;
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct export_command *command = state->input;

	switch (key) {
	case 'f':
		command->format = export_find(arg);
		if (!command->format)
			argp_error(state, "--format: '%s' is not 'perfetto', 'chrome', 'csv' or "
				   "'folded'", arg);
		return 0;
	case 'o':
		command->output = strcmp(arg, "-") == 0 ? NULL : arg;
		return 0;
	case OPT_WEIGHT:
		command->export.weight = parse_weight(state, arg);
		command->weighted = true;
		return 0;
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &command->player;
		return 0;
	case ARGP_KEY_END:
		if (!command->player.path)
			argp_error(state, "give a log: of 'vmscope trace -o LOG', or of "
				   "'strace -f -ttt -k -o LOG'");
		if (!command->format)
			argp_error(state, "give a format: --format=perfetto, chrome, csv or "
				   "folded");
		if (command->weighted && strcmp(command->format->name, "folded") != 0)
			argp_error(state, "--weight is for --format=folded");
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
	.args_doc = "LOG",
	.doc = "Write a log for other programs: its calls, in their threads, with what they did to "
	       "areas, and the number of areas.\v"
	       "LOG is what 'vmscope trace -o LOG' wrote, or output of strace (with -k, stacks are "
	       "whole), or - for standard input. A log without times has its lines as "
	       "microseconds.",
};

/* Returns 0, or -1 after printing a message. */
static int export_log(struct export_command *command, FILE *to)
{
	struct export *export = &command->export;
	const struct replay_listener listener = { .ctx = export, .notify = export_notify };
	int rc, written;

	export_begin(export, command->format, to);
	rc = player_run(&command->player, &listener);
	export_finish(export);
	written = to == stdout ? output_flush(to) : output_close(to);
	if (rc == 0 && export->failed)
		session_say("out of memory");
	if (written != 0)
		session_say("cannot write %s: %s", command->output ? command->output :
			    "standard output", strerror(-written));
	if (rc != 0 || export->failed || written != 0)
		return -1;
	if (export->others)
		session_say("%lu calls are counted together: there were too many different stacks",
			    export->others);
	if (export->untimed && strcmp(command->format->name, "folded") != 0)
		session_say("%s tells no times: its lines are microseconds",
			    command->player.path);
	return 0;
}

int export_main(int argc, char **argv)
{
	struct export_command command = {
		.player = { .max_malformed = 20, .interruptible = true, .stacks = true },
	};
	FILE *to = stdout;

	argp_err_exit_status = STATUS_FAILED;
	argp_parse(&parser, argc, argv, 0, NULL, &command);
	if (command.output)
		to = fopen(command.output, "we");
	if (!to) {
		session_say("cannot write %s: %s", command.output, strerror(errno));
		return STATUS_FAILED;
	}
	if (export_log(&command, to) != 0)
		return STATUS_FAILED;
	return command.player.interrupted ? STATUS_INTERRUPTED : 0;
}
