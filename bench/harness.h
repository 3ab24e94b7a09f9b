/* SPDX-License-Identifier: MIT */
/*
 * harness.h - runs works: pinned to a processor, engines interleaved, each sample kept.
 *
 * A program is a table of works and a call of bench_main(). For each work and each n, every
 * engine that can do it (and has been checked against the model) is sampled once per repeat, in an
 * order that rotates, so that a disturbance hits all alike. A sample is one run(), preceded by one
 * that is thrown away. Each row goes to standard output as one line of JSON with all its samples;
 * what they mean is computed from there.
 */
#ifndef BENCH_HARNESS_H
#define BENCH_HARNESS_H

#include "data.h"

/* What a run gets. */
struct cell {
	const struct engine *engine;
	const struct data *data;
	size_t n;        /* data->n, except where the work gives n another meaning */
	void *map;       /* filled in random order, if the work asked for one */
	const void *aux; /* what the work's prepare() made for this n */
	size_t ops;      /* about how many operations a sample should do */
	uint64_t sample; /* differs from sample to sample, the same for all engines */
	unsigned int cpus; /* processors this program may use */
};

#define SIZES 12

/*
 * struct work - one thing to measure.
 * @name, @unit: the row's name; what run() returns: "ns" per operation unless it says otherwise.
 * @better_high: more is better (rates and ratios).
 * @quick, @full: numbers of ranges, ended by 0.
 * @make_data: one of data.h's.
 * @ops, @ops_full: operations per sample, aimed at.
 * @shared_map: run() only reads, or leaves the map as it was: it gets one filled in random order,
 *           which all such works of the program share.
 * @no_warmup: run() takes care of that itself.
 * @extra_engine: one that only this program has, checked elsewhere; or NULL.
 * @beside:  another such, or NULL.
 * @can:     whether an engine can take part.
 * @prepare, @discard: things that all engines share for one n; may be NULL.
 * @input:   what run() gets if there is no prepare(); may be NULL.
 * @verify:  ends the program if an engine errs with that input; may be NULL.
 * @run:     one sample. A negative result is no sample.
 * @once:    exact by nature: one sample is enough.
 */
struct work {
	const char *name;
	const char *unit;
	bool better_high;
	bool shared_map;
	bool once;
	bool no_warmup;
	size_t quick[SIZES];
	size_t full[SIZES];
	struct data *(*make_data)(size_t n, uint64_t seed);
	size_t ops, ops_full;
	const struct engine *extra_engine, *beside;
	bool (*can)(const struct engine *engine);
	void *(*prepare)(const struct data *data, size_t ops, uint64_t seed);
	void (*discard)(void *aux);
	const void *input;
	void (*verify)(const struct engine *engine, const void *input);
	double (*run)(const struct cell *cell);
};

/* bench_main - the whole of a program's main(). @works ends with an empty name. */
int bench_main(int argc, char **argv, const struct work *works);

/* now - nanoseconds of a clock that never goes back. */
uint64_t now(void);

/* pin - let the calling thread run on the @number-th of the processors allowed. */
void pin(unsigned int number);

/* keep - a value the compiler must compute. */
static inline void keep(unsigned long value)
{
	__asm__ volatile("" : : "r"(value));
}

/* require - end the program if an engine failed in a timed run. */
void require(bool ok, const struct cell *cell, const char *what);

#endif
