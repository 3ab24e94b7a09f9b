/* SPDX-License-Identifier: MIT */
/* The command "vmscope report": a log as a page that a browser opens. */
#include "cli/report.h"

#include <argp.h>
#include <errno.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "base/options.h"
#include "base/output.h"
#include "base/session.h"
#include "cli/live_log.h"
#include "cli/log_options.h"
#include "cli/number.h"
#include "replay/player.h"
#include "report/page.h"

enum { OPT_SIZE = 256, OPT_FOR };
enum { MB = 1000000, SIZE_DEFAULT = 10, AREA_BYTES = 16 };

struct report {
	struct player player;
	const char *output;
	unsigned long megabytes;
	unsigned long seconds;		/* how long to follow a running process; 0: only look */
	char title[64];
};

static const struct argp_option option_table[] = {
	{ "output", 'o', "FILE", 0, "Write the page there (-: standard output)", 0 },
	{ "size", OPT_SIZE, "MB", 0,
	  "At most so many megabytes: what does not fit is summarised (default 10)", 0 },
	{ "for", OPT_FOR, "SECONDS", 0, "Follow the running process that long, then write", 0 },
	{ NULL, 0, NULL, 0, NULL, 0 },
};

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct report *report = state->input;

	switch (key) {
	case 'o':
		report->output = arg;
		return 0;
	case OPT_SIZE:
		report->megabytes = number_option(state, "--size", arg, 1, 1000);
		return 0;
	case OPT_FOR:
		report->seconds = number_option(state, "--for", arg, 1, 24 * 60 * 60);
		return 0;
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &report->player;
		return 0;
	case ARGP_KEY_END:
		if (!report->player.path)
			argp_error(state, "give a process, or a log: of 'vmscope trace -o "
				   "LOG', or of 'strace -f -ttt -k -o LOG'");
		if (!report->output)
			argp_error(state, "give a file for the page: -o FILE.html");
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
	.args_doc = "LOG -o FILE.html\nPID -o FILE.html",
	.doc = "Write a log, or what is seen of a running process, as one HTML file, which needs no "
	       "network: the address spaces over time, to zoom and to search; who made each area, "
	       "and why it was not merged; the number of areas; tables by call and thread; and the "
	       "areas at any moment.\v"
	       "LOG is what 'vmscope trace -o LOG' wrote, or output of strace (best: with -ttt and "
	       "-k), or - for standard input. A PID is only looked at, unless --for follows it; a "
	       "log whose name is a number is ./NUMBER.",
};

/* What the page says of how its log was read; "": nothing has to be said. */
static const char *remark_on(const struct player *player)
{
	if (player->interrupted)
		return "This is partial: the log was not read to its end.";
	if (player->gaps.events)
		return "This is partial: events were lost while the program was watched.";
	return player->malformed ? "Lines of the log that cannot be understood were skipped." : "";
}

/* Returns 0, or -1 after printing a message. */
static int write_page(const struct report *report, struct page *page)
{
	const char *slash = strrchr(report->player.path, '/');
	const bool to_stdout = strcmp(report->output, "-") == 0;
	struct page_view view = {
		.title = report->title[0] ? report->title :
			 slash ? slash + 1 : report->player.path,
		.remark = remark_on(&report->player),
		.limit = report->megabytes * MB,
	};
	FILE *to = to_stdout ? stdout : fopen(report->output, "we");
	int rc, written;

	rc = to ? page_write(to, page, &view) : -errno;
	if (to) {
		written = to_stdout ? output_flush(to) : output_close(to);
		rc = rc ? rc : written;
	}
	if (rc == 0)
		return 0;
	if (rc == -EFBIG)
		session_say("the page cannot be made smaller than %lu MB: give a larger --size",
			    report->megabytes);
	else
		session_say("cannot write the page %s: %s", report->output, strerror(-rc));
	return -1;
}

static int report_log(struct report *report)
{
	struct page page;
	const struct replay_listener listener = { .ctx = &page, .notify = page_notify };
	int rc;

	page_init(&page);
	page.history.area_limit = report->megabytes * MB / AREA_BYTES;
	rc = player_run(&report->player, &listener);
	if (rc == 0 && (page.failed || page.history.failed)) {
		session_say("out of memory");
		rc = -1;
	}
	if (rc == 0)
		rc = write_page(report, &page);
	page_clear(&page);
	return rc;
}

static int report_process(struct report *report)
{
	char log[LIVE_LOG_PATH];
	int fd = live_log_make(report->player.path, report->seconds, log), rc;

	if (fd < 0)
		return fd;
	snprintf(report->title, sizeof(report->title), "process %s", report->player.path);
	report->player.path = log;
	rc = report_log(report);
	close(fd);
	return rc;
}

int report_main(int argc, char **argv)
{
	struct report report = {
		.player = { .max_malformed = 20, .interruptible = true, .stacks = true },
		.megabytes = SIZE_DEFAULT,
	};
	bool running;
	int rc;

	argp_err_exit_status = STATUS_FAILED;
	argp_parse(&parser, argc, argv, 0, NULL, &report);
	running = live_log_is_pid(report.player.path);
	if (report.seconds && !running) {
		session_say("--for is for a running process: %s is no process", report.player.path);
		return STATUS_FAILED;
	}
	if (running && !report.seconds &&
	    (report.player.kernel || report.player.until || report.player.maps_path)) {
		session_say("--kernel, --until and --maps are for a log: %s is a process",
			    report.player.path);
		return STATUS_FAILED;
	}
	rc = running ? report_process(&report) : report_log(&report);
	if (rc != 0)
		return STATUS_FAILED;
	return report.player.interrupted || live_log_was_stopped() ? STATUS_INTERRUPTED : 0;
}
