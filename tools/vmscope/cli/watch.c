/* SPDX-License-Identifier: MIT */
/* The command "vmscope watch": its options, its outputs, its exit status. */
#include "cli/watch.h"

#include <argp.h>
#include <limits.h>
#include <string.h>

#include "cli/color_option.h"
#include "cli/number.h"
#include "log/log.h"
#include "log/site.h"
#include "mirror/inject.h"
#include "mirror/reason.h"
#include "trace/signals.h"
#include "trace/summary.h"
#include "watch/follow.h"

enum { OPT_JSON = 256, OPT_INJECT, OPT_STACKS };

static const struct argp_option option_table[] = {
	{ "pid", 'p', "PID", 0, "Watch a running process and its children; Ctrl-C ends it", 0 },
	{ "output", 'o', "FILE", 0, "Write a log, one JSON object a line", 0 },
	{ "stacks", OPT_STACKS, NULL, 0, "Log the stack of each call, and its call site", 0 },
	{ "json", OPT_JSON, NULL, 0, "Write the summary as a JSON object", 0 },
	{ "quiet", 'q', NULL, 0, "Write differences and errors only", 0 },
	{ "inject", OPT_INJECT, "drop:N", 0, "Testing aid: hide call N", 0 },
	{ NULL, 0, NULL, 0, NULL, 0 },
};

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct options *options = state->input;

	switch (key) {
	case 'p':
		options->attach = (pid_t)number_option(state, "--pid", arg, 1, INT_MAX);
		return 0;
	case 'o':
		options->log_path = arg;
		return 0;
	case 'q':
		options->quiet = true;
		return 0;
	case OPT_STACKS:
		if (!site_available())
			argp_error(state, "--stacks: this vmscope was built without libdw");
		options->sites = true;
		return 0;
	case OPT_JSON:
		options->json = true;
		return 0;
	case OPT_INJECT:
		if (!inject_parse(arg, options) || options->inject != INJECT_DROP)
			argp_error(state, "--inject: '%s' is not drop:N", arg);
		return 0;
	case ARGP_KEY_ARGS:
		options->command = state->argv + state->next;
		return 0;
	case ARGP_KEY_END:
		if (options->command && options->attach)
			argp_error(state, "give either a command or --pid, not both");
		if (!options->command && !options->attach)
			argp_error(state, "give a command to run, or --pid");
		if (options->sites && !options->log_path)
			argp_error(state, "--stacks is for a log: give -o FILE too");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp_child children[] = {
	{ &color_option_argp, 0, NULL, 0 },
	{ NULL, 0, NULL, 0 },
};

static const struct argp parser = {
	.options = option_table,
	.parser = parse_option,
	.children = children,
	.args_doc = "[--] COMMAND [ARG...]\n-p PID",
	.doc = "Follow the address spaces of a program without ever stopping it, by a program in "
	       "the kernel (eBPF); takes CAP_BPF and CAP_PERFMON.\v"
	       "Exit status: 1 if there was a difference, otherwise the command's own; 125 if "
	       "vmscope itself fails, 126 if the command cannot be executed, 127 if it is not "
	       "found.",
};

static int status_of(const struct watch_run *run)
{
	const struct totals *totals = &run->session->totals;

	if (run->exec_error)
		return status_of_exec(run->exec_error);
	if (totals->differences > 0 || totals->unfollowed > 0)
		return STATUS_DIFFERENT;
	return run->ended ? status_of_program(run->wait_status) : 0;
}

static int finish(const struct watch_run *run)
{
	struct session *session = run->session;
	int status = status_of(run);

	if (run->exec_error)
		session_fail(session, "cannot run '%s': %s", session->options->command[0],
			     strerror(run->exec_error));
	else if (session->failed || session->log_lost)
		status = STATUS_FAILED;
	if (session->log && !session->failed)
		log_event(session, "summary", NULL, log_summary_object(&session->totals, status));
	log_close(session);
	if (session->log_lost)
		status = STATUS_FAILED;
	if (!session->failed && (!session->options->quiet || session->options->json))
		summary_write(stderr, &session->totals, session->options->json, status);
	return status;
}

int watch_main(int argc, char **argv)
{
	struct options options = { .verify_end = true, .max_differences = 1 };
	struct session session = { .options = &options };
	struct watch_run run = { .session = &session, .stop = signals_stop_requested,
				 .started = signals_forward_to, .in_child = signals_restore };
	const char *proc;
	int rc;

	argp_err_exit_status = STATUS_FAILED;
	argp_parse(&parser, argc, argv, ARGP_IN_ORDER, NULL, &options);
	signals_setup(options.command == NULL);
	proc = reason_proc();
	if (proc) {
		session_fail(&session, "cannot watch: %s", proc);
		return STATUS_FAILED;
	}
	if (options.log_path && (rc = log_open(&session.log, options.log_path, &options)) != 0) {
		session_fail(&session, "cannot write the log %s: %s", options.log_path,
			     strerror(-rc));
		return STATUS_FAILED;
	}
	if (follow_run(&run) != 0) {
		log_close(&session);
		return STATUS_FAILED;
	}
	return finish(&run);
}
