/* SPDX-License-Identifier: MIT */
/* The command "vmscope at": what was mapped at any moment of a log. */
#include "cli/at.h"

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
#include "replay/past.h"

enum { OPT_PID = 256, OPT_QUERIES };

struct at {
	struct player player;
	const char *when, *address;
	const char *queries;		/* a file of them; NULL: the two above are the query */
	pid_t pid;			/* of this process only; 0: of all */
	struct past *past;
	bool all_found;
};

static const struct argp_option option_table[] = {
	{ "pid", OPT_PID, "PID", 0, "Tell of this process only", 0 },
	{ "queries", OPT_QUERIES, "FILE", 0, "Answer each line 'WHEN ADDRESS' of FILE (-: of "
	  "standard input) with a line 'WHEN ADDRESS PID' and the area, or '-'", 0 },
	{ NULL, 0, NULL, 0, NULL, 0 },
};

static bool parse_address(const char *text, unsigned long *address)
{
	char *end;

	errno = 0;
	*address = strtoul(text, &end, 16);
	return *text != '-' && *text != '+' && end != text && *end == '\0' && !errno;
}

static void check_arguments(const struct at *at, struct argp_state *state)
{
	struct moment moment;
	unsigned long address;

	if (!at->player.path || (!at->when && !at->queries))
		argp_error(state, "give a log, and a line of it (at LOG 120) or a time (at LOG 1.5s)");
	if (at->queries && at->when)
		argp_error(state, "give '%s' in the file of --queries, or leave that out",
			   at->when);
	if (at->when && !moment_parse(at->when, &moment))
		argp_error(state, "'%s' is not a line of the log (120), a time in seconds (1.5s) "
			   "or of the day (12:34:56.789)", at->when);
	if (at->address && !parse_address(at->address, &address))
		argp_error(state, "'%s' is not an address (hexadecimal)", at->address);
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct at *at = state->input;

	switch (key) {
	case OPT_PID:
		at->pid = (pid_t)number_option(state, "--pid", arg, 1, INT_MAX);
		return 0;
	case OPT_QUERIES:
		at->queries = arg;
		return 0;
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &at->player;
		return 0;
	case ARGP_KEY_ARG:
		if (!at->player.path)
			return ARGP_ERR_UNKNOWN; /* the log: see log_options.c */
		if (at->address)
			argp_error(state, "'%s' is one too many", arg);
		*(at->when ? &at->address : &at->when) = arg;
		return 0;
	case ARGP_KEY_END:
		check_arguments(at, state);
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
	.args_doc = "LOG WHEN [ADDRESS]\nLOG --queries=FILE",
	.doc = "Tell what was mapped at a moment of a log: the maps of every process as they were "
	       "after that line, or at that time; or the area at one address.\v"
	       "LOG is what 'vmscope trace -o LOG' wrote, or output of strace, or - for standard "
	       "input. WHEN is a line of it (120), seconds since its first line (1.5s), or a time "
	       "as strace -tt or -ttt has written it. ADDRESS is hexadecimal.\n\n"
	       "Exit status: 1 if in one of the processes nothing was mapped there, or no process "
	       "was there, 125 if the log cannot be read.",
};

/* ---- answers -------------------------------------------------------------------------------- */

static int print_line(void *ctx, const char *line, size_t length)
{
	bool *found = ctx;

	*found = true;
	fwrite(line, 1, length, stdout);
	return 0;
}

static bool is_asked_for(const struct at *at, const struct past_space *space)
{
	return !at->pid || at->pid == space->pid;
}

/* The areas between which @address lay. */
static void print_beside(const struct past_space *space, unsigned long line, unsigned long address)
{
	unsigned long below = 0;
	struct vma_info info;

	for (unsigned long from = 0; vmspace_history_next(space->history, line, from, &info) &&
	     info.end <= address; from = info.end)
		below = info.end;
	if (vmspace_history_next(space->history, line, address, &info))
		printf("# nothing is mapped from %lx to %lx\n", below, info.start);
	else
		printf("# nothing is mapped from %lx on\n", below);
}

/* What the log does not tell of the processes in it. */
static void warn(const struct at *at)
{
	size_t incomplete = past_incomplete(at->past, at->pid);

	if (incomplete)
		session_say("%s does not tell which areas %zu address spaces had before it began "
			    "(--maps does): they are missing here", at->player.path, incomplete);
}

/* The query of the command line. */
static void answer(struct at *at)
{
	const struct past_space *space = NULL;
	unsigned long address = 0, line;
	struct moment moment;
	bool any = false;

	moment_parse(at->when, &moment);
	line = past_line_at(at->past, &moment);
	if (at->address)
		parse_address(at->address, &address);
	while ((space = past_next(at->past, line, space))) {
		bool found = false;

		if (!is_asked_for(at, space))
			continue;
		printf("%s# process %d (%s) after line %lu\n", any ? "\n" : "", (int)space->pid,
		       space->command[0] ? space->command : "?", line);
		any = true;
		if (!at->address) {
			vmspace_history_show(space->history, line, print_line, &found);
			continue;
		}
		vmspace_history_show_area(space->history, line, address, print_line, &found);
		if (!found)
			print_beside(space, line, address);
		at->all_found &= found;
	}
	if (any)
		return;
	at->all_found = false;
	if (moment.kind != MOMENT_LINE && !past_has_times(at->past))
		session_say("%s tells no times: give a line of it", at->player.path);
	else if (!past_tells(at->past, &moment))
		session_say("%s does not tell the %s: give a line of it (120), or seconds since "
			    "its first line (1.5s)", at->player.path,
			    moment.kind == MOMENT_OF_DAY ? "time of the day" : "date");
	else if (at->pid)
		session_say("%s: there was no process %d at %s", at->player.path, (int)at->pid,
			    at->when);
	else
		session_say("%s: there was no process at %s", at->player.path, at->when);
}

/* One of many, in @length bytes. False: the line is none. */
static bool answer_query(struct at *at, char *text, size_t length)
{
	bool has_nul = strlen(text) != length;
	const struct past_space *space = NULL;
	char *rest, *when = strtok_r(text, " \t\n", &rest), *where = strtok_r(NULL, " \t\n", &rest);
	unsigned long address, line;
	struct moment moment;

	if (!when && !has_nul)
		return true;
	if (has_nul || !where || strtok_r(NULL, " \t\n", &rest) || !moment_parse(when, &moment) ||
	    !parse_address(where, &address))
		return false;
	line = past_line_at(at->past, &moment);
	while ((space = past_next(at->past, line, space))) {
		bool found = false;

		if (!is_asked_for(at, space))
			continue;
		printf("%s %s %d ", when, where, (int)space->pid);
		vmspace_history_show_area(space->history, line, address, print_line, &found);
		if (!found)
			puts("-");
		at->all_found &= found;
	}
	return true;
}

static int answer_all(struct at *at)
{
	FILE *file = strcmp(at->queries, "-") == 0 ? stdin : fopen(at->queries, "re");
	unsigned long number = 0;
	size_t capacity = 0;
	ssize_t length;
	char *text = NULL;
	int rc = 0;

	if (!file) {
		session_say("cannot read %s: %s", at->queries, strerror(errno));
		return -1;
	}
	while (rc == 0 && (length = getline(&text, &capacity, file)) >= 0) {
		number++;
		if (!answer_query(at, text, (size_t)length)) {
			session_say("%s:%lu: this is not a line 'WHEN ADDRESS'", at->queries,
				    number);
			rc = -1;
		}
	}
	if (rc == 0 && ferror(file)) {
		session_say("cannot read %s: %s", at->queries, strerror(errno));
		rc = -1;
	}
	free(text);
	if (file != stdin)
		fclose(file);
	return rc;
}

int at_main(int argc, char **argv)
{
	struct at at = { .player = { .max_malformed = 20 }, .all_found = true };
	int rc = -1, written;

	argp_err_exit_status = STATUS_FAILED;
	argp_parse(&parser, argc, argv, 0, NULL, &at);
	if (at.queries && strcmp(at.queries, "-") == 0 && strcmp(at.player.path, "-") == 0) {
		session_say("the log and --queries cannot both be standard input");
		return STATUS_FAILED;
	}
	at.past = past_new();
	if (!at.past)
		session_say("out of memory");
	else
		rc = past_play(at.past, &at.player);
	if (rc == 0)
		warn(&at);
	if (rc == 0 && at.queries)
		rc = answer_all(&at);
	else if (rc == 0)
		answer(&at);
	past_free(at.past);
	written = output_flush(stdout);
	if (written != 0)
		session_say("cannot write the answer: %s", strerror(-written));
	rc = rc ? rc : written;
	if (rc == 0 && at.player.totals.differences)
		session_say("%s: libvmspace differs from it %lu times: see 'vmscope replay'",
			    at.player.path, at.player.totals.differences);
	if (rc != 0)
		return STATUS_FAILED;
	return at.all_found && !at.player.malformed ? 0 : STATUS_DIFFERENT;
}
