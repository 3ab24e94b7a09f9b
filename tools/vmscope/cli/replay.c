/* SPDX-License-Identifier: MIT */
/* The command "vmscope replay": replays a log in libvmspace and prints the final maps. */
#include "cli/replay.h"

#include <argp.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/color.h"
#include "base/options.h"
#include "base/session.h"
#include "cli/color_option.h"
#include "cli/log_options.h"
#include "cli/number.h"
#include "log/difference.h"
#include "log/maps_file.h"
#include "replay/player.h"

enum { OPT_PID = 256 };

struct replay {
	struct player player;
	const char *output;		/* for the maps */
	pid_t pid;			/* print maps of this process only; 0: of all */
	unsigned long max_differences;
	bool quiet;
	struct maps_file *maps_file;
	unsigned long incomplete;	/* address spaces */
	bool pid_found;			/* there was a process with that number */
};

static const struct argp_option option_table[] = {
	{ "output", 'o', "FILE", 0, "Write the final maps there, not to standard output", 0 },
	{ "pid", OPT_PID, "PID", 0, "Write the final maps of this process only", 0 },
	{ "max-differences", 'n', "N", 0, "Report no more than N differences (default 20)", 0 },
	{ "quiet", 'q', NULL, 0, "Report differences and malformed lines only, and write no maps "
	  "unless -o is given", 0 },
	{ NULL, 0, NULL, 0, NULL, 0 },
};

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct replay *replay = state->input;

	switch (key) {
	case 'o':
		replay->output = arg;
		return 0;
	case 'q':
		replay->quiet = replay->player.quiet = true;
		return 0;
	case 'n':
		replay->max_differences = number_option(state, "--max-differences", arg, 1, ~0UL);
		return 0;
	case OPT_PID:
		replay->pid = (pid_t)number_option(state, "--pid", arg, 1, INT_MAX);
		return 0;
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &replay->player;
		return 0;
	case ARGP_KEY_END:
		if (!replay->player.path)
			argp_error(state, "give a log: of 'vmscope trace -o LOG', or of "
				   "'strace -f -o LOG'");
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
	.args_doc = "LOG",
	.doc = "Play a log through libvmspace: every recorded result is compared with the one that "
	       "libvmspace answers, and the final maps of every process are written.\v"
	       "LOG is what 'vmscope trace -o LOG' wrote, or output of strace (best: strace -f -y "
	       "-e trace=%memory,%process,%desc -o LOG), or - for standard input.\n\n"
	       "Exit status: 1 if there was a difference or a malformed line, 125 if the log "
	       "cannot be read.",
};

static void report(struct replay *replay, const struct replay_space *space, const struct step *step,
		   const struct vmspace_request *req, const char *why)
{
	char text[512] = "its end";

	if (req)
		vmspace_request_text(req, text, sizeof(text));
	else if (step && step->kind != STEP_END)
		strcpy(text, "what was seen of it");
	fprintf(stderr, "%s:%lu: process %d: %s: %s%s%s\n", replay->player.path,
		step ? step->line : 0, (int)space->pid, text, color_on(stderr, COLOR_WARNING), why,
		color_off(stderr));
	if (req)
		difference_outcome(stderr, &req->out);
}

static void notify(void *ctx, enum replay_event event, struct replay_space *space,
		   const struct step *step, const struct vmspace_request *req, const char *why)
{
	static unsigned long reported;
	struct replay *replay = ctx;

	switch (event) {
	case REPLAY_SPACE_BEGINS:
		replay->incomplete += space->incomplete;
		replay->pid_found |= space->pid == replay->pid;
		return;
	case REPLAY_DIFFERS:
		if (++reported <= replay->max_differences)
			report(replay, space, step, req, why);
		return;
	case REPLAY_SPACE_ENDS:
		/* Like trace --maps: an exec is not the end of a process. */
		if (!replay->maps_file || (replay->pid && replay->pid != space->pid) ||
		    (step && (step->kind != STEP_END || strcmp(step->occasion, "exec") == 0)))
			return;
		maps_file_write(replay->maps_file, space->pid,
				space->command[0] ? space->command : "?",
				step ? step->occasion : "last call", space->vm);
		return;
	default:
		return;
	}
}

static void summarize(const struct replay *replay)
{
	const struct replay_totals *t = &replay->player.totals;

	session_say("%s of %s: %lu lines, %lu malformed%s",
		    replay->player.path,
		    replay->player.format == READER_STRACE ? "strace" : "vmscope trace",
		    replay->player.lines, replay->player.malformed,
		    replay->player.malformed ? ", which were skipped" : "");
	session_say("%lu address spaces, %lu calls replayed: %lu results compared, "
		    "%lu differences%s", t->spaces, t->calls, t->checked, t->differences,
		    replay->player.interrupted ? " so far" :
		    replay->player.malformed ? " in the other lines" : "");
	if (replay->player.unknown)
		session_say("%lu records are of types that a later vmscope writes; none of them "
			    "should change an area", replay->player.unknown);
	if (t->compared_at_end)
		session_say("%lu address spaces compared with how they were when they ended",
			    t->compared_at_end);
	if (t->unmodelled)
		session_say("%lu calls that libvmspace does not model, or whose effect is not told",
			    t->unmodelled);
	if (t->unsure)
		session_say("%lu results prove nothing, as vmscope watch did not know all that had "
			    "led to them: it had lost events, just attached, or could not look at "
			    "areas that others were changing", t->unsure);
	if (replay->incomplete)
		session_say("%lu address spaces began with areas that the log does not tell of "
			    "(--maps tells them): %lu of these showed later as [unknown], %lu "
			    "results prove nothing, and which areas were touched before they met "
			    "is not known",
			    replay->incomplete, t->inferred, t->unchecked);
}

int replay_main(int argc, char **argv)
{
	struct replay replay = { .player = { .max_malformed = 20, .interruptible = true },
				 .max_differences = 20 };
	const struct replay_listener listener = { .ctx = &replay, .notify = notify };
	int rc = 0;

	argp_err_exit_status = STATUS_FAILED;
	argp_parse(&parser, argc, argv, 0, NULL, &replay);
	if (replay.output || !replay.quiet) {
		const char *path = replay.output ? replay.output : "-";

		rc = maps_file_open(&replay.maps_file, path);
		if (rc != 0) {
			session_say("cannot write %s: %s", path, strerror(-rc));
			return STATUS_FAILED;
		}
	}
	rc = player_run(&replay.player, &listener);
	if (replay.maps_file) {
		int written = maps_file_close(replay.maps_file);

		if (written != 0)
			session_say("cannot write the maps: %s", strerror(-written));
		rc = rc ? rc : written;
	}
	if (rc != 0)
		return STATUS_FAILED;
	if (replay.pid && !replay.pid_found && !replay.player.interrupted) {
		session_say("%s has no process %d", replay.player.path, (int)replay.pid);
		return STATUS_FAILED;
	}
	if (!replay.quiet)
		summarize(&replay);
	if (replay.player.totals.differences || replay.player.malformed)
		return STATUS_DIFFERENT;
	return replay.player.interrupted ? STATUS_INTERRUPTED : 0;
}
