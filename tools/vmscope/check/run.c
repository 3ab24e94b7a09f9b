/* SPDX-License-Identifier: MIT */
/* A run of "vmscope check": worker processes, progress, summary, and reporting a difference. */
#include "check/run.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/now.h"
#include "base/options.h"
#include "base/output.h"
#include "base/session.h"
#include "check/script_log.h"
#include "check/shrink.h"

enum { ROUND_OPS_LEAST = 200, ROUND_OPS_SPREAD = 1000, FLAGS_EVERY = 16, PROGRESS_SECONDS = 10,
       FAILURES_MAX = 20 };

static unsigned long ops_done(const struct check_run *run)
{
	return __atomic_load_n(&run->tally->ops, __ATOMIC_RELAXED);
}

static bool is_stopped(const struct check_run *run)
{
	return __atomic_load_n(&run->tally->stop, __ATOMIC_RELAXED);
}

static void stop(struct check_run *run)
{
	__atomic_store_n(&run->tally->stop, true, __ATOMIC_RELAXED);
}

/* ---- a difference --------------------------------------------------------------------------- */

static void report(struct check_run *run, struct round *round, unsigned long number)
{
	struct script *script = &round->script;
	size_t before = script->count;
	char path[128];
	unsigned long plays;

	if (run->log_path)
		snprintf(path, sizeof(path), "%s", run->log_path);
	else
		snprintf(path, sizeof(path), "vmscope-check-%" PRIu64 ".log", run->seed);
	session_say("a difference in round %lu, after %zu operations; shortening", number, before);
	script->mode.flags_every = 1;
	script->mode.report = NULL;
	plays = shrink(script);
	if (!plays)
		session_say("it does not show again: the log has all %zu operations", before);
	script->mode.report = stderr;
	if (script_log_write(script, path, run->argv) == FAMILY_GONE)
		session_say("the log is not whole: it could not be written, or the processes that "
			    "make the calls ended early");
	session_say("%zu operations are left; see them by 'vmscope replay %s', make them again by "
		    "'vmscope check --replay %s'", script->count, path, path);
}

/* Writes the log of the first round without a difference. */
static void record(struct check_run *run, struct round *round)
{
	if (!run->record_path ||
	    __atomic_exchange_n(&run->tally->recorded, true, __ATOMIC_RELAXED))
		return;
	switch (script_log_write(&round->script, run->record_path, run->argv)) {
	case FAMILY_GONE:
		run->tally->failures++;
		stop(run);
		break;
	case FAMILY_DIFFERS:
		session_say("made once more, the calls of a round lead to a difference: see %s",
			    run->record_path);
		run->tally->differences++;
		stop(run);
		break;
	default:
		break;
	}
}

/* ---- rounds --------------------------------------------------------------------------------- */

static void report_gone(const struct round *round, unsigned long number)
{
	const struct script *script = &round->script;
	const struct script_step *last = script->count ? &script->steps[script->count - 1] : NULL;
	char text[512] = "a fork, an end or a setting";

	if (last && last->verb == SCRIPT_CALL)
		vmspace_request_text(&last->req, text, sizeof(text));
	session_say("round %lu: a process that makes the calls ended early, after %zu operations; "
		    "the last: %s (seed %" PRIu64 ", way %s)", number, script->count,
		    last ? text : "none", round->seed, pair_way_name(script->mode.way));
}

static void run_round(struct check_run *run, unsigned long number)
{
	struct tally *tally = run->tally;
	unsigned long left = run->ops - ops_done(run);
	struct round round = {
		.seed = round_seed(run->seed, number), .mix = run->mix, .mode = run->mode,
		.draw_way = run->draw_way, .tally = tally,
	};
	enum family_result result;

	round.ops = ROUND_OPS_LEAST + round.seed % ROUND_OPS_SPREAD;
	if (round.ops > left)
		round.ops = left;
	round.mode.flags_every = FLAGS_EVERY;
	round.mode.report = stderr;
	result = round_run(&round);
	__atomic_add_fetch(&tally->rounds, 1, __ATOMIC_RELAXED);
	if (result == FAMILY_DIFFERS) {
		/* Report only one: what other workers find meanwhile is usually the same. */
		if (__atomic_add_fetch(&tally->differences, 1, __ATOMIC_RELAXED) == 1)
			report(run, &round, number);
		stop(run);
	} else if (result == FAMILY_EQUAL && round.script.count) {
		record(run, &round);
	} else if (result == FAMILY_GONE && !is_stopped(run)) {
		report_gone(&round, number);
		if (__atomic_add_fetch(&tally->failures, 1, __ATOMIC_RELAXED) >= FAILURES_MAX)
			stop(run);
	}
	script_free(&round.script);
}

__attribute__((noreturn)) static void work(struct check_run *run, unsigned long job)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	for (unsigned long n = job; !is_stopped(run) && ops_done(run) < run->ops;
	     n += run->jobs)
		run_round(run, n);
	fflush(NULL);
	_exit(0);
}

/* ---- progress and summary ------------------------------------------------------------------- */

static void progress(const struct check_run *run, double seconds)
{
	unsigned long done = ops_done(run);

	if (run->quiet)
		return;
	if (run->ops != ~0UL)
		session_say("%lu of %lu operations, %.0f/s", done, run->ops,
			    (double)done / seconds);
	else
		session_say("%lu operations in %.0f of %lu s, %.0f/s", done, seconds,
			    run->seconds, (double)done / seconds);
}

static void tell_covered(const struct tally *tally)
{
	unsigned long rows = 0;

	for (int i = 0; i < COVER_ROWS; i++)
		rows += tally->cover.rows[i].key != 0;
	for (int i = 0; known_name(i); i++)
		if (tally->known[i])
			session_say("known difference, %lu times: %s", tally->known[i],
				    known_name(i));
	session_say("covered: %lu rows of calls, errors, reasons, advice, verdicts and files (see "
		    "--cover)", rows);
}

/* The table of what was covered, with the known differences that have not shown. */
static bool write_cover(const struct check_run *run)
{
	int rc = run->cover_path ? cover_write(&run->tally->cover, run->cover_path) : 0;
	FILE *file = run->cover_path && rc == 0 ? fopen(run->cover_path, "ae") : NULL;
	struct vmspace_config config;

	vmspace_config_init(&config);
	for (int i = 0; file && known_name(i); i++)
		if (known_applies(i, &config))
			fprintf(file, "known %s\t%lu\n", known_name(i), run->tally->known[i]);
	if (file)
		rc = output_close(file);
	if (rc != 0)
		session_say("cannot write %s: %s", run->cover_path, strerror(-rc));
	return rc == 0;
}

static void summarize(const struct check_run *run, double seconds)
{
	const struct tally *tally = run->tally;
	char line[900];
	size_t used = 0;

	for (int op = VMSPACE_MMAP; op < VMSPACE_OP_COUNT; op++)
		if (tally->by_op[op] && used < sizeof(line))
			used += (size_t)snprintf(line + used, sizeof(line) - used, "%s %lu, ",
						 vmspace_op_name((enum vmspace_op)op),
						 tally->by_op[op]);
	if (used < sizeof(line))
		snprintf(line + used, sizeof(line) - used, "exit %lu, settings %lu",
			 tally->exits, tally->settings);
	session_say("%s", line);
	tell_covered(tally);
	session_say("%lu operations in %lu rounds, %.0f/s, seed %" PRIu64 ", mix %s: "
		    "%lu differences",
		    tally->ops, tally->rounds, (double)tally->ops / seconds, run->seed,
		    run->mix ? run->mix->name : "all", tally->differences);
}

/* Waits for all workers, printing progress. Stops them when time is up or at a signal. */
static int watch(struct check_run *run, const sigset_t *signals)
{
	const struct timespec second = { .tv_sec = 1 };
	double begun = now_seconds(), told = begun, seconds;
	unsigned long running = run->jobs;
	int status, caught = 0;

	while (running > 0) {
		int sig = sigtimedwait(signals, NULL, &second);

		if (sig == SIGINT || sig == SIGTERM) {
			caught = sig;
			stop(run);
		}
		while (waitpid(-1, &status, WNOHANG) > 0) {
			running--;
			if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
				session_say("a worker ended by itself: wait status %#x", status);
				run->tally->failures++;
				stop(run);
			}
		}
		if (run->seconds && now_seconds() - begun >= (double)run->seconds)
			stop(run);
		if (now_seconds() - told >= PROGRESS_SECONDS) {
			told = now_seconds();
			progress(run, told - begun);
		}
	}
	seconds = now_seconds() - begun;
	if (!run->quiet)
		summarize(run, seconds > 0 ? seconds : 1e-9);
	return caught;
}

int check_run_workers(struct check_run *run)
{
	sigset_t signals;

	run->tally = mmap(NULL, sizeof(*run->tally), PROT_READ | PROT_WRITE,
			  MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (run->tally == MAP_FAILED) {
		session_say("out of memory");
		return STATUS_FAILED;
	}
	sigemptyset(&signals);
	sigaddset(&signals, SIGCHLD);
	sigaddset(&signals, SIGINT);
	sigaddset(&signals, SIGTERM);
	sigprocmask(SIG_BLOCK, &signals, NULL);
	if (!run->quiet)
		session_say("check with seed %" PRIu64, run->seed);
	for (unsigned long job = 0; job < run->jobs; job++) {
		pid_t pid = fork();

		if (pid == 0)
			work(run, job);
		if (pid < 0) {
			session_say("cannot start a process: %s", strerror(errno));
			run->tally->failures++;
			run->jobs = job;
			stop(run);
		}
	}
	watch(run, &signals);
	if (!write_cover(run))
		run->tally->failures++;
	if (run->tally->differences)
		return STATUS_DIFFERENT;
	return run->tally->failures ? STATUS_FAILED : 0;
}
