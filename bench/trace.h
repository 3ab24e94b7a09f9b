/* SPDX-License-Identifier: MIT */
/*
 * trace.h - recorded programs: what their calls did to the areas of their address space.
 */
#ifndef BENCH_TRACE_H
#define BENCH_TRACE_H

#include "engine.h"

enum trace_kind {
	TRACE_LOOKUP, TRACE_STORE, TRACE_RESIZE, TRACE_ERASE,
	TRACE_END, TRACE_JOIN, TRACE_CLEAR,
};

/* One operation; of a lookup or an end @range has the index, of a new end @last. */
struct trace_op {
	enum trace_kind kind;
	struct range range;
	unsigned long last;
};

/*
 * struct trace - a program.
 * @name:  "python3", say.
 * @begin: the areas before its first call; there are @begun.
 * @calls: of the program; each begins with a lookup.
 * @peak:  the most areas there are at one time.
 * @guest: what an emulator keeps of it: see trace_guest().
 */
struct trace {
	char *name;
	struct range *begin;
	size_t begun;
	struct trace_op *ops;
	size_t count;
	size_t calls;
	size_t peak;
	bool guest;
};

#define TRACES_MAX 16

/*
 * traces_read - all traces of the directory given when this was compiled (or by BENCH_TRACES), by
 * name; returns how many. A file that is none ends the program.
 */
size_t traces_read(struct trace *traces);

/*
 * trace_guest - what an emulator does for the same program, of whose pages it keeps the protection:
 * instead of areas there are ranges of pages alike, joined with their neighbours. For each call it asks
 * where the range at the call's address ends and looks up four addresses (what its translator asks
 * before it reads or writes code), then sets or clears what the call changed.
 */
struct trace trace_guest(const struct trace *trace);

/* trace_can, trace_can_guest - whether @engine has all that a trace needs. */
bool trace_can(const struct engine *engine);
bool trace_can_guest(const struct engine *engine);

/* trace_begin - a map as it is before the first call; NULL if the engine fails. */
void *trace_begin(const struct engine *engine, const struct trace *trace);

/* trace_play - performs the operations from @from to @to; false if one failed. @sum takes the
 * entries that were found. */
bool trace_play(const struct engine *engine, void *map, const struct trace *trace, size_t from,
		size_t to, unsigned long *sum);

/* trace_verify - ends the program unless @engine always holds, and finds, what the sorted array
 * does. */
void trace_verify(const struct engine *engine, const struct trace *trace);

#endif
