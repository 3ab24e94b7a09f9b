/* SPDX-License-Identifier: MIT */
/* The command "vmscope trace": its options, its outputs, its exit status. */
#include "cli/trace.h"

#include <argp.h>
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <mapletree/vmspace_rules.h>

#include "cli/color_option.h"
#include "cli/number.h"
#include "log/log.h"
#include "log/maps_file.h"
#include "log/site.h"
#include "mirror/inject.h"
#include "mirror/kernel.h"
#include "mirror/open_file.h"
#include "mirror/reason.h"
#include "trace/event_loop.h"
#include "trace/signals.h"
#include "trace/summary.h"

enum { OPT_VERIFY = 256, OPT_MAPS, OPT_JSON, OPT_SUMMARY, OPT_INJECT, OPT_MAX_DIFFERENCES,
       OPT_SITES };

static const struct argp_option option_table[] = {
	{ "pid", 'p', "PID", 0, "Attach to a running process; Ctrl-C lets it go", 0 },
	{ "verify", OPT_VERIFY, "WHEN", 0,
	  "Compare with the kernel after \"each\" call, mostly only what it could change (the "
	  "default); all areas after every N calls; at the \"end\" of every program; or never "
	  "(\"none\")", 0 },
	{ "output", 'o', "FILE", 0, "Write a log, one JSON object a line", 0 },
	{ "sites", OPT_SITES, NULL, 0,
	  "Log which function of the program made each call; takes a millisecond for each", 0 },
	{ "maps", OPT_MAPS, "FILE", 0, "Write the mirror's final maps of every process", 0 },
	{ "summary", OPT_SUMMARY, "FILE", 0, "Write the summary there, not to standard error", 0 },
	{ "json", OPT_JSON, NULL, 0, "Write the summary as a JSON object", 0 },
	{ "max-differences", OPT_MAX_DIFFERENCES, "N", 0,
	  "Stop comparing a process after N differences (default 5)", 0 },
	{ "quiet", 'q', NULL, 0, "Write differences and errors only", 0 },
	{ "inject", OPT_INJECT, "HOW:N", 0,
	  "Testing aid: hide call N from the mirror (drop), show it twice (double) or with another "
	  "argument (alter)", 0 },
	{ NULL, 0, NULL, 0, NULL, 0 },
};

static void parse_verify(struct argp_state *state, struct options *options, const char *text)
{
	options->verify_every = 0;
	options->verify_end = true;
	options->verify_nearby = strcmp(text, "each") == 0;
	if (options->verify_nearby)
		options->verify_every = 1;
	else if (strcmp(text, "none") == 0)
		options->verify_end = false;
	else if (strcmp(text, "end") != 0 && (*text < '0' || *text > '9'))
		argp_error(state, "--verify: '%s' is not 'each', 'end', 'none' or a number", text);
	else if (strcmp(text, "end") != 0)
		options->verify_every = number_option(state, "--verify", text, 1, INT_MAX);
}

/* The process of a thread: its number is what top(1) and others may show. Else @tid itself. */
static pid_t process_of(pid_t tid)
{
	return (pid_t)kernel_file_number(tid, "status", "Tgid:", 10, (unsigned long)tid);
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct options *options = state->input;

	switch (key) {
	case 'p':
		options->attach = process_of((pid_t)number_option(state, "--pid", arg, 1, INT_MAX));
		return 0;
	case 'o':
		options->log_path = arg;
		return 0;
	case 'q':
		options->quiet = true;
		return 0;
	case OPT_VERIFY:
		parse_verify(state, options, arg);
		return 0;
	case OPT_MAPS:
		options->maps_path = arg;
		return 0;
	case OPT_SUMMARY:
		options->summary_path = arg;
		return 0;
	case OPT_SITES:
		if (!site_available())
			argp_error(state, "--sites: this vmscope was built without libdw");
		options->sites = true;
		return 0;
	case OPT_JSON:
		options->json = true;
		return 0;
	case OPT_MAX_DIFFERENCES:
		options->max_differences =
			number_option(state, "--max-differences", arg, 1, INT_MAX);
		return 0;
	case OPT_INJECT:
		if (!inject_parse(arg, options))
			argp_error(state, "--inject: '%s' is not drop:N, double:N or alter:N", arg);
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
			argp_error(state, "--sites is for a log: give -o FILE too");
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
	.doc = "Follow the address spaces of a program, and prove every step equal to the "
	       "kernel's.\v"
	       "Exit status: 1 if there was a difference, otherwise the command's own; 125 if "
	       "vmscope itself fails, 126 if the command cannot be executed, 127 if it is not "
	       "found.",
};

static int open_outputs(struct session *session)
{
	const struct options *options = session->options;
	int rc = 0;

	if (options->log_path && (rc = log_open(&session->log, options->log_path, options)) != 0)
		session_fail(session, "cannot write the log %s: %s", options->log_path,
			     strerror(-rc));
	else if (options->maps_path &&
		 (rc = maps_file_open(&session->maps_file, options->maps_path)) != 0)
		session_fail(session, "cannot write %s: %s", options->maps_path, strerror(-rc));
	return rc;
}

static void close_outputs(struct session *session, int status)
{
	int rc;

	if (session->log && !session->failed)
		log_event(session, "summary", NULL, log_summary_object(&session->totals, status));
	log_close(session);
	rc = maps_file_close(session->maps_file);
	if (rc != 0)
		session_fail(session, "cannot write %s: %s", session->options->maps_path,
			     strerror(-rc));
}

static void write_summary(struct session *session, int status)
{
	const struct options *options = session->options;
	FILE *to = stderr;
	int rc;

	if (options->summary_path)
		to = fopen(options->summary_path, "we");
	else if ((options->quiet && !options->json) || session->failed)
		return;
	rc = to ? summary_write(to, &session->totals, options->json, status) : -errno;
	if (to && to != stderr && fclose(to) != 0 && rc == 0)
		rc = -errno;
	if (rc != 0)
		session_fail(session, "cannot write the summary%s%s: %s",
			     options->summary_path ? " " : "",
			     options->summary_path ? options->summary_path : "", strerror(-rc));
}

/* Dies by the signal that killed the program, without leaving a second core file. */
static void die_by(int signal_number)
{
	const struct rlimit none = { 0, 0 };
	sigset_t set;

	setrlimit(RLIMIT_CORE, &none);
	signal(signal_number, SIG_DFL);
	sigemptyset(&set);
	sigaddset(&set, signal_number);
	sigprocmask(SIG_UNBLOCK, &set, NULL);
	raise(signal_number);
}

/* The command could not be executed: see struct trace_result. Returns the exit status. */
static int not_run(struct session *session, int error)
{
	if (error < 0)
		session_fail(session, "the filter that stops a program at its calls is refused here: "
			     "seccomp(2): %s. In a container, give a seccomp profile that allows it; "
			     "or start the program and attach to it: -p takes no filter",
			     strerror(-error));
	else
		session_fail(session, "cannot run '%s': %s", session->options->command[0],
			     strerror(error));
	log_close(session);
	maps_file_close(session->maps_file);
	return error < 0 ? STATUS_FAILED : status_of_exec(error);
}

static int finish(struct session *session, const struct trace_result *result)
{
	const struct totals *totals = &session->totals;
	int status = result->ended ? status_of_program(result->wait_status) : 0;

	if (result->exec_error)
		return not_run(session, result->exec_error);
	if (totals->differences > 0 || totals->unfollowed > 0)
		status = STATUS_DIFFERENT;
	if (session->failed || session->log_lost)
		status = STATUS_FAILED;
	close_outputs(session, status);
	if (session->failed || session->log_lost)
		status = STATUS_FAILED;
	write_summary(session, status);
	if (session->failed || session->log_lost)
		return STATUS_FAILED;
	if (status > 128 && WIFSIGNALED(result->wait_status) && session->options->command)
		die_by(WTERMSIG(result->wait_status));
	if (!result->ended && signals_stop_signal() != 0 && session->options->command)
		die_by(signals_stop_signal());
	return status;
}

/* A call that it takes to follow a program and that is refused here, with *@error; or NULL. */
static const char *refused_call(int *error)
{
	const char *refused = open_file_refused(error);
	const char byte = 1;
	char copy;

	if (refused || kernel_read_memory(getpid(), (unsigned long)&byte, &copy, 1) == 1)
		return refused;
	*error = errno;
	return "process_vm_readv(2)";
}

/*
 * Open files can be told apart, and arguments in memory be read, only by system calls that may be
 * forbidden here. Without them, comparisons would report differences that do not exist. Returns
 * whether tracing may begin.
 */
static bool can_compare(struct session *session)
{
	const struct options *options = session->options;
	int error;
	const char *refused = refused_call(&error);

	if (!refused)
		return true;
	if (!options->verify_every && !options->verify_end) {
		if (!options->quiet)
			session_say("%s is refused here: %s; the log may tell of areas that there "
				    "are not so", refused, strerror(error));
		return true;
	}
	session_fail(session, "%s is refused here: %s; areas would seem to differ that do not. In a "
		     "container, add the capability CAP_SYS_PTRACE (--cap-add=SYS_PTRACE) or a "
		     "seccomp profile that allows kcmp, pidfd_open, pidfd_getfd and "
		     "process_vm_readv; or give --verify=none", refused, strerror(error));
	return false;
}

/* Without /proc a program would run, and nothing be compared. */
static bool can_read_proc(struct session *session)
{
	const char *why = reason_proc();

	if (why)
		session_fail(session, "cannot trace: %s", why);
	return !why;
}

/* Says what kernel this is if it is not one that libvmspace has been compared with. */
static void tell_of_kernel(void)
{
	const struct vmspace_kernel *kernel = vmspace_running_kernel();
	char unlike[1024] = "", guessed[1024] = "";
	const struct vmspace_rule *rule;

	for (unsigned int i = 0; (rule = vmspace_rule(i)); i++) {
		char *list = kernel->unlike[i / 64] >> (i % 64) & 1 ? unlike :
			     kernel->probed[i / 64] >> (i % 64) & 1 ? NULL : guessed;
		size_t length = list ? strlen(list) : 0;

		if (list)
			snprintf(list + length, sizeof(unlike) - length, "%s%s", length ? ", " : "",
				 rule->name);
	}
	if (!kernel->known)
		session_say("Linux %s: libvmspace knows the rules of %s to %s. It takes those of "
			    "%s, but for what was probed: %s; not probed: %s", kernel->release,
			    VMSPACE_KERNEL_OLDEST, VMSPACE_KERNEL_NEWEST, kernel->version,
			    *unlike ? unlike : "no difference", *guessed ? guessed : "none");
	else if (*unlike)
		session_say("Linux %s: probed, and not as in that version: %s", kernel->release,
			    unlike);
}

int trace_main(int argc, char **argv)
{
	struct options options = { .verify_every = 1, .verify_nearby = true, .verify_end = true,
				   .max_differences = 5 };
	struct session session = { .options = &options };
	struct trace_result result;

	argp_err_exit_status = STATUS_FAILED;
	argp_parse(&parser, argc, argv, ARGP_IN_ORDER, NULL, &options);
	signals_setup(options.command == NULL);
	if (!options.quiet)
		tell_of_kernel();
	if (!can_read_proc(&session) || !can_compare(&session))
		return STATUS_FAILED;
	if (open_outputs(&session) != 0) {
		log_close(&session);
		return STATUS_FAILED;
	}
	if (event_loop_run(&session, &result) != 0) {
		log_close(&session);
		maps_file_close(session.maps_file);
		return STATUS_FAILED;
	}
	return finish(&session, &result);
}
