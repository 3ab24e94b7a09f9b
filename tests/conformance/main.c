/* SPDX-License-Identifier: MIT */
/*
 * main.c - the conformance runner: replays vector files, each in a process of its own, and
 * reports PASS or FAIL a file and the totals.
 */
#include "replay.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

/* A replay takes about a second with sanitizers; one that takes this long hangs. */
#define TIMEOUT_SECONDS 120

/*
 * The replay of one file. @line: shared with the process, so that a crash has a place.
 * pid == 0: not started; done: its report is complete in @output.
 */
struct job {
	const char *path;
	volatile unsigned long *line;
	FILE *output;
	pid_t pid;
	bool done;
	int status;
};

struct totals {
	unsigned int passed;
	unsigned int failed;
};

static void die(const char *what)
{
	perror(what);
	exit(2);
}

static void start(struct job *job)
{
	job->output = tmpfile();
	if (!job->output)
		die("conformance: temporary file");
	fflush(stdout);
	job->pid = fork();
	if (job->pid < 0)
		die("conformance: fork");
	if (job->pid > 0)
		return;
	alarm(TIMEOUT_SECONDS);
	if (dup2(fileno(job->output), STDOUT_FILENO) < 0 ||
	    dup2(fileno(job->output), STDERR_FILENO) < 0)
		die("conformance: dup2");
	exit(replay_file(job->path, job->line) ? 0 : 1);
}

static void wait_for_one(struct job *jobs, int count)
{
	int status;
	pid_t pid = wait(&status);

	if (pid < 0)
		die("conformance: wait");
	for (int i = 0; i < count; i++) {
		if (jobs[i].pid == pid) {
			jobs[i].done = true;
			jobs[i].status = status;
		}
	}
}

static void print_output(struct job *job, const char *prefix)
{
	char *text = NULL;
	size_t size = 0;

	rewind(job->output);
	while (getline(&text, &size, job->output) > 0)
		printf("%s%s", prefix, text);
	free(text);
	fclose(job->output);
}

static void report(struct job *job, int number, bool tap, struct totals *totals)
{
	const char *prefix = tap ? "# " : "";
	const char *slash = strrchr(job->path, '/');
	const char *name = slash ? slash + 1 : job->path;
	bool passed = WIFEXITED(job->status) && WEXITSTATUS(job->status) == 0;

	totals->passed += passed;
	totals->failed += !passed;
	print_output(job, prefix);
	if (WIFSIGNALED(job->status))
		printf("%s%s:%lu: %s\n", prefix, job->path, *job->line,
		       strsignal(WTERMSIG(job->status)));
	if (tap)
		printf("%sok %d - %s\n", passed ? "" : "not ", number, name);
	else
		printf("%s %s\n", passed ? "PASS" : "FAIL", name);
}

/* Keeps @parallel processes busy; reports in the order of the files. */
static struct totals run_all(struct job *jobs, int count, int parallel, bool tap)
{
	struct totals totals = { 0 };
	int started = 0;
	int reported = 0;

	if (tap)
		printf("1..%d\n", count);
	for (int running = 0; reported < count;) {
		while (running < parallel && started < count) {
			start(&jobs[started++]);
			running++;
		}
		wait_for_one(jobs, count);
		running--;
		for (; reported < count && jobs[reported].done; reported++)
			report(&jobs[reported], reported + 1, tap, &totals);
	}
	return totals;
}

static void usage(FILE *stream)
{
	fprintf(stream,
		"usage: conformance [--tap] [-j N] FILE.mtv[.gz]...\n"
		"Replays recorded calls (see FORMAT.md) and compares every recorded result.\n");
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "tap", no_argument, NULL, 't' },
		{ "jobs", required_argument, NULL, 'j' },
		{ "help", no_argument, NULL, 'h' },
		{ NULL, 0, NULL, 0 },
	};
	long parallel = sysconf(_SC_NPROCESSORS_ONLN);
	volatile unsigned long *lines;
	struct totals totals;
	struct job *jobs;
	bool tap = false;
	int option, count;

	while ((option = getopt_long(argc, argv, "j:h", options, NULL)) != -1) {
		switch (option) {
		case 't':
			tap = true;
			break;
		case 'j':
			parallel = strtol(optarg, NULL, 10);
			break;
		case 'h':
			usage(stdout);
			return 0;
		default:
			usage(stderr);
			return 2;
		}
	}
	count = argc - optind;
	if (count == 0 || parallel < 1) {
		usage(stderr);
		return 2;
	}
	jobs = calloc(count, sizeof(*jobs));
	lines = mmap(NULL, count * sizeof(*lines), PROT_READ | PROT_WRITE,
		     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (!jobs || lines == MAP_FAILED)
		die("conformance");
	for (int i = 0; i < count; i++) {
		jobs[i].path = argv[optind + i];
		jobs[i].line = &lines[i];
	}
	totals = run_all(jobs, count, (int)parallel, tap);
	free(jobs);
	printf("%s%u passed, %u failed, 0 skipped\n", tap ? "# " : "", totals.passed,
	       totals.failed);
	return totals.failed ? 1 : 0;
}
