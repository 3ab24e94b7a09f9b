/* SPDX-License-Identifier: MIT */
/* The command "vmscope check": the running kernel as oracle for libvmspace. */
#include "cli/check.h"

#include <argp.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/options.h"
#include "base/session.h"
#include "check/puppet_uffd.h"
#include "check/run.h"
#include "check/script_log.h"
#include "check/shrink.h"
#include "cli/color_option.h"
#include "cli/number.h"
#include "mirror/reason.h"

enum { OPT_OPS = 256, OPT_SEED, OPT_DURATION, OPT_MIX, OPT_REPLAY, OPT_HIDE, OPT_WAY, OPT_COVER,
       OPT_RECORD };

enum { OPS_DEFAULT = 100000, JOBS_MAX = 256 };

static const struct argp_option option_table[] = {
	{ "ops", OPT_OPS, "N", 0, "End after N operations (default 100000, without --duration)",
	  0 },
	{ "duration", OPT_DURATION, "TIME", 0, "End after TIME: seconds, or 10m, or 2h", 0 },
	{ "seed", OPT_SEED, "N", 0, "Draw the calls from this seed (default: a new one)", 0 },
	{ "mix", OPT_MIX, "NAME", 0,
	  "Which calls, and how often: one of the mixes below (default all)", 0 },
	{ "jobs", 'j', "N", 0, "Run N families of processes side by side (default 1)", 0 },
	{ "way", OPT_WAY, "WAY", 0,
	  "What libvmspace gets to know: \"pure\": nothing, it decides before the kernel does; "
	  "\"told\": the result of each call, and each page that is touched; \"asked\": results, "
	  "and about pages it asks the kernel, as 'vmscope trace' does; \"any\" (the default): "
	  "drawn for each round", 0 },
	{ "output", 'o', "FILE", 0,
	  "Where the log of a difference goes (default vmscope-check-SEED.log)", 0 },
	{ "record", OPT_RECORD, "FILE", 0,
	  "Make the calls of the first round without a difference once more, and write them as a "
	  "log", 0 },
	{ "replay", OPT_REPLAY, "LOG", 0, "Make the calls of such a log again, and no others", 0 },
	{ "cover", OPT_COVER, "FILE", 0,
	  "Write how often each call had each outcome, for which reasons, and what else was "
	  "covered", 0 },
	{ "quiet", 'q', NULL, 0, "Write differences and errors only", 0 },
	{ "hide", OPT_HIDE, "CALL", 0,
	  "Testing aid: do not tell libvmspace of calls of this name, so that there is a "
	  "difference", 0 },
	{ NULL, 0, NULL, 0, NULL, 0 },
};

struct arguments {
	struct check_run run;
	const char *replay;
	bool has_seed, has_ops;
};

static unsigned long parse_duration(struct argp_state *state, const char *text)
{
	static const struct { char unit; unsigned long seconds; } units[] = {
		{ 's', 1 }, { 'm', 60 }, { 'h', 3600 }, { 'd', 86400 },
	};
	size_t length = strlen(text);
	unsigned long factor = 1;
	char digits[24];

	for (size_t i = 0; length && i < sizeof(units) / sizeof(units[0]); i++)
		if (text[length - 1] == units[i].unit) {
			factor = units[i].seconds;
			length--;
			break;
		}
	snprintf(digits, sizeof(digits), "%.*s", (int)length, text);
	return factor * number_option(state, "--duration", digits, 1, 100000000);
}

static enum vmspace_op parse_call(struct argp_state *state, const char *name)
{
	for (int op = VMSPACE_MMAP; op < VMSPACE_OP_COUNT; op++)
		if (op != VMSPACE_FORK && strcmp(vmspace_op_name((enum vmspace_op)op), name) == 0)
			return (enum vmspace_op)op;
	argp_error(state, "--hide: '%s' is not the name of a call that libvmspace models", name);
	return 0;
}

static void parse_way(struct argp_state *state, struct check_run *run, const char *text)
{
	int way;

	run->draw_way = strcmp(text, "any") == 0;
	if (run->draw_way)
		return;
	for (way = 0; way < PAIR_WAYS && strcmp(pair_way_name((enum pair_way)way), text); way++)
		;
	if (way == PAIR_WAYS)
		argp_error(state, "--way: '%s' is not 'pure', 'told', 'asked' or 'any'", text);
	run->mode.way = (enum pair_way)way;
}

static uint64_t parse_seed(struct argp_state *state, const char *text)
{
	char *end;
	uint64_t seed;

	errno = 0;
	seed = strtoull(text, &end, 0);
	if (*text < '0' || *text > '9' || *end || errno)
		argp_error(state, "--seed: '%s' is not a number below 2^64", text);
	return seed;
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct arguments *arguments = state->input;
	struct check_run *run = &arguments->run;

	switch (key) {
	case OPT_OPS:
		run->ops = number_option(state, "--ops", arg, 1, LONG_MAX);
		arguments->has_ops = true;
		return 0;
	case OPT_DURATION:
		run->seconds = parse_duration(state, arg);
		return 0;
	case OPT_SEED:
		run->seed = parse_seed(state, arg);
		arguments->has_seed = true;
		return 0;
	case OPT_MIX:
		run->mix = strcmp(arg, "all") ? mix_find(arg) : NULL;
		if (!run->mix && strcmp(arg, "all"))
			argp_error(state,
				   "--mix: there is no mix '%s'; --help tells which there are",
				   arg);
		return 0;
	case 'j':
		run->jobs = number_option(state, "--jobs", arg, 1, JOBS_MAX);
		return 0;
	case OPT_WAY:
		parse_way(state, run, arg);
		return 0;
	case 'o':
		run->log_path = arg;
		return 0;
	case OPT_COVER:
		run->cover_path = arg;
		return 0;
	case OPT_RECORD:
		run->record_path = arg;
		return 0;
	case OPT_REPLAY:
		arguments->replay = arg;
		return 0;
	case 'q':
		run->quiet = true;
		return 0;
	case ARGP_KEY_END:
		if (arguments->replay && run->record_path)
			argp_error(state, "--record is about drawn calls, not those of --replay");
		return 0;
	case OPT_HIDE:
		run->mode.hide = parse_call(state, arg);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

/* Appends the list of mixes to the help text. */
static char *filter_help(int key, const char *text, void *input)
{
	char *help = NULL;
	size_t size = 0;
	FILE *to;

	(void)input;
	if (key != ARGP_KEY_HELP_POST_DOC)
		return (char *)text;
	to = open_memstream(&help, &size);
	if (!to)
		return (char *)text;
	fprintf(to, "%s\n\n", text);
	for (size_t i = 0; mix_nth(i); i++)
		fprintf(to, "mix %s: %s\n", mix_nth(i)->name, mix_nth(i)->about);
	fclose(to);
	return help;
}

static const struct argp_child children[] = {
	{ &color_option_argp, 0, NULL, 0 },
	{ NULL, 0, NULL, 0 },
};

static const struct argp parser = {
	.options = option_table,
	.parser = parse_option,
	.children = children,
	.doc = "Make random calls for real, in processes of their own, and in libvmspace: after "
	       "each one the result, the areas and the counters must be equal. A sequence that "
	       "leads to a difference is shortened and written as a log, for --replay and 'vmscope "
	       "replay'.\v"
	       "Exit status: 1 if there was a difference, 125 if vmscope itself fails.",
	.help_filter = filter_help,
};

/* --replay: performs the calls of a log. */
static int replay(const struct arguments *arguments)
{
	struct script script;
	enum family_result result;
	if (!script_log_read(&script, arguments->replay)) {
		script_free(&script);
		return STATUS_FAILED;
	}
	script.mode.hide = arguments->run.mode.hide;
	script.mode.flags_every = 1;
	script.mode.report = stderr;
	result = script_play(&script);
	if (result == FAMILY_GONE)
		session_say("the processes that make the calls of %s ended early",
			    arguments->replay);
	else if (!arguments->run.quiet)
		session_say("%s: %zu calls made again, %s", arguments->replay, script.count,
			    result == FAMILY_DIFFERS ? "1 difference" : "0 differences");
	script_free(&script);
	return result == FAMILY_GONE ? STATUS_FAILED :
	       result == FAMILY_DIFFERS ? STATUS_DIFFERENT : 0;
}

/* Says so if this user may not create all userfaultfds. */
static void tell_uffd_right(const struct check_run *run)
{
	int rc;

	if (puppet_uffd_right(&rc) == PUPPET_UFFD_ALL || run->quiet)
		return;
	if (puppet_uffd_right(NULL) == PUPPET_UFFD_NONE)
		session_say("userfaultfd(2) is refused (%s): its calls are left out", strerror(-rc));
	else
		session_say("userfaultfd(2) is refused but with UFFD_USER_MODE_ONLY: its calls are "
			    "made with that; see vm.unprivileged_userfaultfd in userfaultfd(2)");
}

int check_main(int argc, char **argv)
{
	struct arguments arguments = { .run = { .jobs = 1, .draw_way = true, .argv = argv } };
	struct check_run *run = &arguments.run;
	const char *proc;
	char why[256];

	argp_err_exit_status = STATUS_FAILED;
	argp_parse(&parser, argc, argv, 0, NULL, &arguments);
	proc = reason_proc();
	if (proc) {
		session_say("cannot check: %s", proc);
		return STATUS_FAILED;
	}
	if (!pair_possible(why, sizeof(why))) {
		session_say("check needs %s", why);
		return STATUS_FAILED;
	}
	tell_uffd_right(run);
	if (arguments.replay)
		return replay(&arguments);
	if (!arguments.has_seed &&
	    getrandom(&run->seed, sizeof(run->seed), 0) != sizeof(run->seed)) {
		session_say("cannot draw a seed: %s", strerror(errno));
		return STATUS_FAILED;
	}
	if (!arguments.has_ops)
		run->ops = run->seconds ? ULONG_MAX : OPS_DEFAULT;
	return check_run_workers(run);
}
