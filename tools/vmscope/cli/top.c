/* SPDX-License-Identifier: MIT */
/* The command "vmscope top": the areas of running processes, again and again. */
#include "cli/top.h"

#include <argp.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/options.h"
#include "base/output.h"
#include "base/session.h"
#include "cli/number.h"
#include "mirror/reason.h"
#include "top/look.h"
#include "top/screen.h"

struct top {
	pid_t pid;		/* 0: all processes */
	const char *log;	/* of its calls; NULL: none */
	struct top_sites *sites;
	double seconds;		/* between looks */
	unsigned long looks;	/* in batch mode; 0: without end */
	unsigned long rows;	/* in batch mode; 0: all */
	enum top_order order;
	bool batch;
};

enum { OPT_ROWS = 256 };

static const struct argp_option option_table[] = {
	{ "batch", 'b', NULL, 0, "Print tables to standard output, without a screen", 0 },
	{ "delay", 'd', "SECONDS", 0, "Look every SECONDS, from 0.1 (default 1)", 0 },
	{ "iterations", 'n', "N", 0, "With --batch: end after N tables", 0 },
	{ "log", 'l', "LOG", 0, "With PID: show the call sites that made its areas, from LOG, of 'vmscope "
	  "watch --stacks' or 'trace --sites', which may still be written", 0 },
	{ "rows", OPT_ROWS, "N", 0, "With --batch: print at most N rows of a table", 0 },
	{ "sort", 's', "BY", 0, "Sort by \"areas\" (the default), \"gained\", \"size\", \"pid\" or "
	  "\"name\"", 0 },
	{ NULL, 0, NULL, 0, NULL, 0 },
};

static double seconds_option(struct argp_state *state, const char *text)
{
	char *end;
	double seconds = strtod(text, &end);

	if (*text < '0' || *text > '9' || *end || !(seconds >= 0.1 && seconds <= 3600))
		argp_error(state, "--delay: '%s' is not a number of seconds from 0.1 to 3600", text);
	return seconds;
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct top *top = state->input;

	switch (key) {
	case 'b':
		top->batch = true;
		return 0;
	case 'd':
		top->seconds = seconds_option(state, arg);
		return 0;
	case 'n':
		top->looks = number_option(state, "--iterations", arg, 1, INT_MAX);
		return 0;
	case OPT_ROWS:
		top->rows = number_option(state, "--rows", arg, 1, INT_MAX);
		return 0;
	case 'l':
		top->log = arg;
		return 0;
	case 's':
		top->order = top_order_find(arg);
		if (top->order == TOP_ORDERS)
			argp_error(state, "--sort: '%s' is not areas, gained, size, pid or name",
				   arg);
		return 0;
	case ARGP_KEY_ARG:
		if (top->pid)
			argp_error(state, "'%s' is one process too many", arg);
		top->pid = (pid_t)number_option(state, "PID", arg, 1, INT_MAX);
		return 0;
	case ARGP_KEY_END:
		if (top->log && !top->pid)
			argp_error(state, "--log is for one process: give its PID");
		if (!top->batch && (top->looks || top->rows))
			argp_error(state, "%s is for --batch",
				   top->looks ? "--iterations" : "--rows");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp parser = {
	.options = option_table,
	.parser = parse_option,
	.args_doc = "[PID]",
	.doc = "Show how many areas processes have, of how many the kernel allows, how fast they "
	       "gain more, and when they are full; or, of process PID, what its areas are.\v"
	       "Keys: up, down, page up, page down, home and end choose a row; enter looks into a "
	       "process, escape goes back; s sorts by the next column; c changes "
	       "between kinds of memory and call sites; space pauses; e explains a process, as "
	       "'vmscope explain PID'; Ctrl-L draws all anew; q quits.\n\n"
	       "Nothing is stopped or traced: each look reads /proc/PID/maps. What has changed "
	       "between two looks and back is not seen; 'vmscope trace' sees it.",
};

static int print_table(const struct top *top, struct top_table *table)
{
	size_t rows = top->rows && top->rows < table->count ? top->rows : table->count;
	char text[4352];

	top_sort(table, top->order);
	top_title(table, text, sizeof(text));
	puts(text);
	top_head(table, text, sizeof(text));
	puts(text);
	for (size_t i = 0; i < rows; i++) {
		top_line(table, i, text, sizeof(text));
		puts(text);
	}
	return output_flush(stdout);
}

static void wait_for(double seconds)
{
	struct timespec left = {
		.tv_sec = (time_t)seconds,
		.tv_nsec = (long)((seconds - (double)(time_t)seconds) * 1e9),
	};

	while (nanosleep(&left, &left) != 0 && errno == EINTR)
		;
}

/* Prints one table after the other. Returns 0, or -errno if a look fails or cannot be printed. */
static int print_tables(const struct top *top, bool *written)
{
	struct top_table before = TOP_TABLE_INIT;
	int rc = 0;

	for (unsigned long i = 0; rc == 0 && (!top->looks || i < top->looks); i++) {
		struct top_table table = TOP_TABLE_INIT;

		if (i > 0) {
			wait_for(top->seconds);
			putchar('\n');
		}
		rc = top->pid ? top_look_into(&table, top->pid, top->sites) :
				top_look(&table);
		if (rc == 0) {
			if (i > 0)
				top_compare(&table, &before);
			rc = print_table(top, &table);
			*written = rc == 0;
		}
		top_clear(&before);
		before = table;
	}
	top_clear(&before);
	return rc;
}

/* Why there is no screen or table. */
static const char *reason(int rc)
{
	const char *proc = rc == -ESRCH ? reason_proc() : NULL;

	if (proc)
		return proc;
	switch (rc) {
	case -ENOTTY:
		return "this is no terminal that can be drawn on: --batch prints tables";
	case -ENOSYS:
		return "this vmscope was built without ncurses: --batch prints tables";
	default:
		return strerror(-rc);
	}
}

int top_main(int argc, char **argv)
{
	struct top top = { .seconds = 1, .order = TOP_BY_AREAS };
	char why[REASON_SIZE];
	bool written = true;
	int rc;

	argp_err_exit_status = STATUS_FAILED;
	argp_parse(&parser, argc, argv, 0, NULL, &top);
	rc = top.log ? top_sites_open(&top.sites, top.log, top.pid) : 0;
	if (rc != 0) {
		session_say("cannot read the log %s: %s", top.log,
			    rc == -EINVAL ? "it is none that vmscope has written" : strerror(-rc));
		return STATUS_FAILED;
	}
	if (top.sites && !top_sites_tell(top.sites))
		session_say("%s does not tell of process %d so far: is it the log of another one?",
			    top.log, (int)top.pid);
	rc = top.batch ? print_tables(&top, &written) :
			 top_screen(top.pid, top.sites, top.seconds, top.order);
	top_sites_close(top.sites);
	if (rc == 0)
		return 0;
	if (top.batch && !written)
		session_say("cannot write the table: %s", strerror(-rc));
	else if (top.pid && rc != -ENOTTY && rc != -ENOSYS)
		session_say("cannot look at process %d: %s", (int)top.pid,
			    reason_of(top.pid, rc, why));
	else
		session_say("top: %s", reason(rc));
	return STATUS_FAILED;
}
