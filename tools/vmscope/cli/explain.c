/* SPDX-License-Identifier: MIT */
/* The command "vmscope explain": what uses up a process's mappings. */
#include "cli/explain.h"

#include <argp.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/options.h"
#include "base/output.h"
#include "base/session.h"
#include "cli/color_option.h"
#include "cli/live_log.h"
#include "cli/log_options.h"
#include "cli/number.h"
#include "mirror/kernel.h"
#include "mirror/reason.h"
#include "mirror/snapshot.h"
#include "replay/player.h"
#include "report/explain.h"
#include "report/explain_json.h"
#include "report/blame.h"

enum { OPT_PID = 256, OPT_FOR, OPT_JSON };

enum { ROWS = 12 };

struct explain {
	struct player player;
	pid_t pid;			/* in a log: this process; 0: the one with most areas */
	unsigned long rows;		/* maximum for a table; 0: not said */
	bool json;
	unsigned long seconds;		/* how long to trace a live process; 0: only look */
};

static const struct argp_option option_table[] = {
	{ "pid", OPT_PID, "PID", 0,
	  "Explain this process of the log, and not the one with most areas", 0 },
	{ "rows", 'n', "N", 0, "Print at most N rows of a table (default 12)", 0 },
	{ "for", OPT_FOR, "SECONDS", 0, "Follow the running process that long, then explain", 0 },
	{ "json", OPT_JSON, NULL, 0,
	  "Print one JSON object, with all rows unless --rows is given",
	  0 },
	{ NULL, 0, NULL, 0, NULL, 0 },
};

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct explain *explain = state->input;

	switch (key) {
	case 'n':
		explain->rows = number_option(state, "--rows", arg, 1, INT_MAX);
		return 0;
	case OPT_PID:
		explain->pid = (pid_t)number_option(state, "--pid", arg, 1, INT_MAX);
		return 0;
	case OPT_FOR:
		explain->seconds = number_option(state, "--for", arg, 1, INT_MAX);
		return 0;
	case OPT_JSON:
		explain->json = true;
		return 0;
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &explain->player;
		return 0;
	case ARGP_KEY_END:
		if (!explain->player.path)
			argp_error(state, "give a process, or a log: of 'vmscope trace -o LOG', "
				   "or of 'strace -f -k -o LOG'");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp_child children[] = {
	{ &log_options_argp, 0, NULL, 0 },
	{ &color_option_argp, 0, NULL, 0 },
	{ NULL, 0, NULL, 0 },
};

static const struct argp parser = {
	.options = option_table,
	.parser = parse_option,
	.children = children,
	.args_doc = "PID\nLOG",
	.doc = "Tell who is eating a process's mappings: how many areas there are, of how many "
	       "that the kernel allows; what they are; which calls made and cut them; and which "
	       "neighbours did not become one, and why.\v"
	       "A PID is only looked at, unless --for follows it. A LOG is what 'vmscope trace -o "
	       "LOG' wrote, or output of strace; with strace -k, calls are counted by the place in "
	       "the program that made them. A log whose name is a number is ./NUMBER.",
};

static unsigned long rows_of(const struct explain *explain)
{
	return explain->rows ? explain->rows : explain->json ? ~0UL : ROWS;
}

/* What was printed must also be written. Returns 0, or -1 after printing a message. */
static int finish(int rc)
{
	if (rc == 0)
		rc = output_flush(stdout);
	if (rc == 0)
		return 0;
	session_say("cannot write the report: %s", strerror(-rc));
	return -1;
}

static int print(const struct explain *explain, const struct blame *blame)
{
	const struct explain_view view = {
		.rows = rows_of(explain),
		.read = explain->player.interrupted ? explain->player.lines : 0,
		.gaps = explain->player.gaps,
		.limit_assumed = explain->player.format == READER_STRACE,
	};
	int rc = 0;

	if (explain->json)
		rc = explain_json_space(stdout, blame->most, blame->space_count, &view);
	else
		explain_space(stdout, blame->most, blame->space_count, &view);
	return finish(rc);
}

static int explain_log(struct explain *explain)
{
	struct blame blame;
	const struct replay_listener listener = { .ctx = &blame, .notify = blame_notify };
	int rc;

	blame_init(&blame, explain->pid);
	rc = player_run(&explain->player, &listener);
	if (rc == 0 && blame.failed) {
		session_say("out of memory");
		rc = -1;
	}
	if (rc == 0 && !blame.most && explain->pid)
		session_say("process %d is not in %s", (int)explain->pid, explain->player.path);
	if (rc == 0 && !blame.most)
		rc = -1;
	if (rc == 0)
		rc = print(explain, &blame);
	blame_clear(&blame);
	return rc;
}

/* ---- a running process ---------------------------------------------------------------------- */

static int print_process(const struct explain *explain, pid_t pid, unsigned long limit,
			 const struct blame_space *found)
{
	const struct explain_view view = { .rows = rows_of(explain) };
	char command[64];
	int rc = 0;

	kernel_read_command(pid, command, sizeof(command));
	if (explain->json)
		rc = explain_json_process(stdout, command, pid, limit, found, &view);
	else
		explain_process(stdout, command, pid, limit, found, &view);
	return finish(rc);
}

static int look(const struct explain *explain, pid_t pid)
{
	struct blame_space found = { .areas = 0 };
	struct vmspace_config config;
	struct vmspace *vm = NULL;
	char why[REASON_SIZE];
	int rc;

	vmspace_config_init(&config);
	vmspace_config_read(&config, pid);
	rc = vmspace_create(&vm, &config);
	if (rc == 0)
		rc = snapshot_load(vm, pid, true, NULL);
	if (rc == 0)
		rc = blame_group_areas(&found, vm);
	if (rc == 0)
		rc = print_process(explain, pid, config.max_map_count, &found);
	else
		session_say("cannot look at process %d: %s", (int)pid,
			    reason_of(pid, rc, why));
	blame_space_clear(&found);
	vmspace_destroy(vm);
	return rc;
}

static int explain_followed(struct explain *explain)
{
	char log[LIVE_LOG_PATH];
	int fd = live_log_make(explain->player.path, explain->seconds, log), rc;

	if (fd < 0)
		return fd;
	explain->player.path = log;
	rc = explain_log(explain);
	close(fd);
	return rc;
}

int explain_main(int argc, char **argv)
{
	struct explain explain = { .player = { .max_malformed = 20, .interruptible = true } };
	int rc;

	argp_err_exit_status = STATUS_FAILED;
	argp_parse(&parser, argc, argv, 0, NULL, &explain);
	if (!live_log_is_pid(explain.player.path) && explain.seconds) {
		session_say("--for is for a running process: %s is no process",
			    explain.player.path);
		return STATUS_FAILED;
	}
	if (live_log_is_pid(explain.player.path) && !explain.seconds &&
	    (explain.player.kernel || explain.player.until || explain.player.maps_path)) {
		session_say("--kernel, --until and --maps are for a log: %s is a process",
			    explain.player.path);
		return STATUS_FAILED;
	}
	if (!live_log_is_pid(explain.player.path))
		rc = explain_log(&explain);
	else if (explain.seconds)
		rc = explain_followed(&explain);
	else
		rc = look(&explain, (pid_t)atoi(explain.player.path));
	if (rc != 0)
		return STATUS_FAILED;
	return explain.player.interrupted || live_log_was_stopped() ? STATUS_INTERRUPTED : 0;
}
