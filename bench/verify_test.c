/* SPDX-License-Identifier: MIT */
/*
 * verify_test.c - an engine with a fault in one operation is found out, for each operation.
 *
 * Faults are planted in the sorted array (and, for gaps, in the first engine that searches them).
 */
#include "data.h"
#include "trace.h"
#include "verify.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern const struct engine engine_sorted, engine_mapletree_mm;

static unsigned int calls;

/* Every 100th call goes wrong. */
static bool strikes(void)
{
	return ++calls % 100 == 0;
}

static void *bad_load(void *map, unsigned long index)
{
	return engine_sorted.load(map, strikes() ? index + 1 : index);
}

/* The index beside an area's first one is in it, too. */
static void *bad_load_of_area(void *map, unsigned long index)
{
	return strikes() ? NULL : engine_sorted.load(map, index);
}

static bool bad_store(void *map, const struct range *range)
{
	return strikes() || engine_sorted.store(map, range);
}

static bool bad_insert(void *map, const struct range *range)
{
	struct range shorter = *range;

	if (strikes() && shorter.last > shorter.first)
		shorter.last--;
	return engine_sorted.insert(map, &shorter);
}

static bool bad_erase(void *map, const struct range *range)
{
	return strikes() || engine_sorted.erase(map, range);
}

static bool bad_resize(void *map, const struct range *range, unsigned long last)
{
	return strikes() || engine_sorted.resize(map, range, last);
}

static size_t bad_list(void *map, bool backward, struct range *out, size_t max)
{
	return engine_sorted.list(map, strikes() ? !backward : backward, out, max);
}

static unsigned long bad_sum(void *map, bool backward)
{
	return engine_sorted.sum(map, backward) + strikes();
}

static unsigned long bad_sum_each(void *map)
{
	return engine_mapletree_mm.sum_each(map) + strikes();
}

/* A copy with one range too many. */
static void *bad_dup(void *map)
{
	struct range range = { 0, 0, (void *)8 };
	void *copy = engine_sorted.dup(map);

	if (strikes())
		engine_sorted.store(copy, &range);
	return copy;
}

static bool bad_gap(void *map, const struct gap *gap, unsigned long *start)
{
	struct gap lower = *gap;

	if (strikes() && lower.max - lower.min >= lower.size)
		lower.max--;
	return engine_mapletree_mm.find_gap(map, &lower, start);
}

static bool bad_join(void *map, const struct range *range)
{
	return strikes() ? engine_sorted.store(map, range) : engine_sorted.join(map, range);
}

static bool bad_clear(void *map, const struct range *range)
{
	return strikes() || engine_sorted.clear(map, range);
}

static unsigned long bad_end(void *map, unsigned long index)
{
	return engine_sorted.end(map, index) - strikes();
}

/* Whether @engine is refused, by a trace or without: in a child, since that ends the program. */
static bool refused(const struct engine *engine, const struct trace *trace)
{
	int status;
	pid_t child = fork();

	if (child < 0) {
		perror("fork");
		exit(2);
	}
	if (!child) {
		if (trace)
			trace_verify(engine, trace);
		else
			verify_engine(engine, 1);
		_exit(0);
	}
	waitpid(child, &status, 0);
	if (WIFSIGNALED(status)) {
		fprintf(stderr, "%s: %s\n", engine->name, strsignal(WTERMSIG(status)));
		exit(2);
	}
	return WIFEXITED(status) && WEXITSTATUS(status) == 1;
}

/* Every engine leads each program to the same areas; one that errs does not. Returns failures. */
static int check_traces(void)
{
	enum { FAULTS = 7 };
	static const char *const names[FAULTS] = { "load", "store", "erase", "resize",
						   "join", "clear", "end" };
	struct engine faulty[FAULTS];
	struct trace traces[2 * TRACES_MAX];
	size_t count = traces_read(traces);
	int failures = !count;

	for (int i = 0; i < FAULTS; i++)
		faulty[i] = engine_sorted;
	faulty[0].load = bad_load_of_area;
	faulty[1].store = bad_store;
	faulty[2].erase = bad_erase;
	faulty[3].resize = bad_resize;
	faulty[4].join = bad_join;
	faulty[5].clear = bad_clear;
	faulty[6].end = bad_end;
	for (size_t k = 0; k < count; k++)
		traces[count + k] = trace_guest(&traces[k]);
	count *= 2;
	for (size_t k = 0; k < count; k++) {
		for (size_t i = 0; engines[i]; i++) {
			bool can = traces[k].guest ? trace_can_guest(engines[i]) :
						     trace_can(engines[i]);

			if (!can || !refused(engines[i], &traces[k]))
				continue;
			fprintf(stderr, "%s was refused in a trace\n", engines[i]->name);
			failures++;
		}
	}
	/* One of them has enough operations of each kind. */
	for (int i = 0; i < FAULTS; i++) {
		bool found = false;

		for (size_t k = 0; k < count; k++)
			found |= refused(&faulty[i], &traces[k]);
		if (!found) {
			fprintf(stderr, "a fault in %s was not found by any trace\n", names[i]);
			failures++;
		}
	}
	return failures;
}

int main(void)
{
	struct engine faulty[11];
	static const char *const names[] = { "load", "store", "insert", "erase", "resize",
					     "list", "sum", "dup", "snapshot", "gap", "sum_each" };
	int failures = 0;

	for (int i = 0; i < 11; i++)
		faulty[i] = i < 9 ? engine_sorted : engine_mapletree_mm;
	faulty[0].load = bad_load;
	faulty[1].store = bad_store;
	faulty[2].insert = bad_insert;
	faulty[3].erase = bad_erase;
	faulty[4].resize = bad_resize;
	faulty[5].list = bad_list;
	faulty[6].sum = bad_sum;
	faulty[7].dup = bad_dup;
	faulty[8].snapshot = bad_dup;
	faulty[9].find_gap = bad_gap;
	faulty[10].sum_each = bad_sum_each;
	for (int i = 0; i < 11; i++) {
		if (!refused(&faulty[i], NULL)) {
			fprintf(stderr, "a fault in %s was not found\n", names[i]);
			failures++;
		}
	}
	for (size_t i = 0; engines[i]; i++) {
		if (refused(engines[i], NULL)) {
			fprintf(stderr, "%s was refused\n", engines[i]->name);
			failures++;
		}
	}
	failures += check_traces();
	return failures != 0;
}
