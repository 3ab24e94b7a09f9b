/* SPDX-License-Identifier: MIT */
/*
 * trace.c - what does a whole program cost, as its calls come?
 *
 * Each trace in traces/ is a program's mmap, munmap, mprotect, brk, mremap and madvise calls,
 * turned into a lookup for each and the changes of its areas. A sample replays it over and over,
 * each time in a map that has just been made and holds what was there before the first call (not
 * timed). Figures are per call of the program; n is the most areas that it has at one time.
 *
 * "guest" is what an emulator does for the same program, one call after the other: trace_guest().
 */
#include "harness.h"
#include "trace.h"

#include <stdio.h>

static double replay(const struct cell *cell)
{
	const struct engine *engine = cell->engine;
	const struct trace *trace = cell->aux;
	unsigned long sum = 0;
	uint64_t spent = 0;
	size_t done = 0;

	while (done < cell->ops) {
		void *map = trace_begin(engine, trace);
		uint64_t start;

		require(map, cell, "beginning a trace");
		start = now();
		require(trace_play(engine, map, trace, 0, trace->count, &sum), cell, "a trace");
		spent += now() - start;
		engine->destroy(map);
		done += trace->calls;
	}
	keep(sum);
	return (double)spent / (double)done;
}

static void verify(const struct engine *engine, const void *input)
{
	trace_verify(engine, input);
}

int main(int argc, char **argv)
{
	static struct trace traces[2 * TRACES_MAX];
	static struct work works[2 * TRACES_MAX + 1];
	static char names[2 * TRACES_MAX][64];
	size_t count = traces_read(traces);

	for (size_t i = 0; i < count; i++)
		traces[count + i] = trace_guest(&traces[i]);
	for (size_t i = 0; i < 2 * count; i++) {
		snprintf(names[i], sizeof(names[i]), "%s %s", traces[i].guest ? "guest" : "trace",
			 traces[i].name);
		works[i] = (struct work){ .name = names[i], .unit = "ns", .make_data = data_areas,
			.ops = 20000, .ops_full = 100000, .run = replay,
			.can = traces[i].guest ? trace_can_guest : trace_can,
			.input = &traces[i], .verify = verify,
			.quick = { traces[i].peak }, .full = { traces[i].peak } };
	}
	return bench_main(argc, argv, works);
}
