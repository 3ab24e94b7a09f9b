/* SPDX-License-Identifier: MIT */
/* The summary at the end of a trace, and its progress meanwhile. */
#include "trace/summary.h"

#include <errno.h>
#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/now.h"
#include "base/output.h"
#include "log/log.h"

static int compare_kinds(const void *a, const void *b, void *ctx)
{
	const struct totals *t = ctx;
	unsigned long x = t->by_kind[*(const int *)a], y = t->by_kind[*(const int *)b];

	return x < y ? 1 : x > y ? -1 : *(const int *)a - *(const int *)b;
}

static void write_kinds(FILE *to, const struct totals *t)
{
	int order[CALL_KINDS];
	const char *before = " (";

	for (int i = 0; i < CALL_KINDS; i++)
		order[i] = i;
	qsort_r(order, CALL_KINDS, sizeof(order[0]), compare_kinds, (void *)t);
	for (int i = 0; i < CALL_KINDS && t->by_kind[order[i]]; i++) {
		fprintf(to, "%s%s %lu", before, call_kinds[order[i]].name, t->by_kind[order[i]]);
		before = ", ";
	}
	if (*before == ',')
		fputs(")", to);
}

static void write_text(FILE *to, const struct totals *t)
{
	fprintf(to, "vmscope: %lu processes (%lu forks, %lu execs), %lu threads\n", t->processes,
		t->forks, t->execs, t->threads);
	fprintf(to, "vmscope: %lu calls mirrored", t->calls);
	write_kinds(to, t);
	fprintf(to, "\nvmscope: %lu checks (%lu of all areas, %lu with flags and counters), "
		"%lu differences\n", t->checks, t->whole_checks, t->flag_checks, t->differences);
	fprintf(to, "vmscope: %lu merges, %lu splits, %lu stack growths, %lu renamed files, "
		"%lu questions to the kernel\n", t->merges, t->splits, t->stack_growths, t->renames,
		t->questions);
	fprintf(to, "vmscope: areas: %lu at the end, at most %lu in one process; "
		"its tree: %lu nodes, %lu bytes, height %u\n", t->areas, t->areas_peak,
		t->tree_nodes, t->tree_bytes, t->tree_height);
	if (t->guesses[GUESS_RACED])
		fprintf(to, "vmscope: %lu calls met another thread's first touch of a page: "
			"by the kernel's maps the touch came first\n", t->guesses[GUESS_RACED]);
	if (t->guesses[GUESS_ANON_JOINED] || t->guesses[GUESS_ANON_PARTED] ||
	    t->guesses[GUESS_ANON_EMPTIED])
		fprintf(to, "vmscope: %lu calls told that areas share an anon_vma, "
			"%lu that they do not, %lu that one without pages has one\n",
			t->guesses[GUESS_ANON_JOINED],
			t->guesses[GUESS_ANON_PARTED], t->guesses[GUESS_ANON_EMPTIED]);
	if (t->guesses[GUESS_ANON_INHERITED])
		fprintf(to, "vmscope: %lu calls told whether a fork handed an anon_vma down\n",
			t->guesses[GUESS_ANON_INHERITED]);
	if (t->guesses[GUESS_ANON_MOVED])
		fprintf(to, "vmscope: %lu calls told whether memory was moved before it was "
			"attached to\n", t->guesses[GUESS_ANON_MOVED]);
	if (t->overlaps)
		fprintf(to, "vmscope: %lu calls ran beside another that was blocked: "
			"their order is a guess\n", t->overlaps);
	if (t->lost)
		fprintf(to, "vmscope: %lu calls were cut off by the end of their thread; "
			"by the kernel's maps %lu of them were performed\n", t->lost,
			t->guesses[GUESS_LOST_PERFORMED]);
	if (t->rereads)
		fprintf(to, "vmscope: areas were read again %lu times, as not all that led to them "
			"was known\n", t->rereads);
	if (t->events_lost)
		fprintf(to, "vmscope: %lu events were lost\n", t->events_lost);
	if (t->stacks_lost)
		fprintf(to, "vmscope: %lu calls have no stack: there was no room for it, or the process "
			"had ended before its files were found\n", t->stacks_lost);
	if (t->unfollowed)
		fprintf(to, "vmscope: %lu processes could not be followed to their end\n",
			t->unfollowed);
}

int summary_write(FILE *to, const struct totals *totals, bool json, int status)
{
	if (json) {
		struct json_object *object = log_summary_object(totals, status);

		fprintf(to, "%s\n", json_object_to_json_string_ext(
				object, JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE));
		json_object_put(object);
	} else {
		write_text(to, totals);
	}
	return output_flush(to);
}

static bool progress_shown;

void summary_progress(const struct session *session)
{
	static long last;
	const long now = now_ms() / 1000;

	if (now == last)
		return;
	/* Print nothing in the first second. */
	if (last != 0) {
		fprintf(stderr, "\r\033[Kvmscope: %lu calls, %lu checks, %lu differences",
			session->totals.calls, session->totals.checks, session->totals.differences);
		fflush(stderr);
		progress_shown = true;
	}
	last = now;
}

void summary_progress_end(void)
{
	if (progress_shown)
		fputs("\r\033[K", stderr);
	progress_shown = false;
}
