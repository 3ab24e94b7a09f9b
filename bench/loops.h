/* SPDX-License-Identifier: MIT */
/*
 * loops.h - the timed inner loops, compiled into each engine beside its own operations.
 *
 * An engine's file first defines static (or directly callable) functions of engine.h's shapes and
 * then uses the macros it has the operations for. LOOPS_READ(load) defines loop_independent and
 * loop_chained, LOOPS_WRITE(insert, erase, resize) loop_brk1 and loop_brk2, and
 * LOOPS_GAP(find_gap, alloc, erase) loop_gaps and loop_malloc1.
 */
#ifndef BENCH_LOOPS_H
#define BENCH_LOOPS_H

#include "engine.h"

/* Keys that do not depend on each other: the processor may overlap several lookups. In the
 * chained loop the bit that is added is always 0, which only the programmer knows. */
#define LOOPS_READ(load) \
	static unsigned long loop_independent(void *map, const unsigned long *keys, size_t count) \
	{ \
		unsigned long sum = 0; \
\
		for (size_t i = 0; i < count; i++) \
			sum += (unsigned long)load(map, keys[i]); \
		return sum; \
	} \
	static unsigned long loop_chained(void *map, const unsigned long *keys, size_t count) \
	{ \
		unsigned long sum = 0, last = 0; \
\
		for (size_t i = 0; i < count; i++) { \
			last = (unsigned long)load(map, keys[i] + (last & 1)); \
			sum += last; \
		} \
		return sum; \
	}

/* brk1: create an area above the top, remove it. brk2: let the top area grow by its own size,
 * shrink it again. */
#define LOOPS_WRITE(insert, erase, resize) LOOPS_WRITE_NAMED(, insert, erase, resize)
#define LOOPS_WRITE_NAMED(prefix, insert, erase, resize) \
	static bool prefix##loop_brk1(void *map, const struct range *top, size_t count) \
	{ \
		unsigned long size = top->last - top->first + 1; \
		struct range above = { top->last + 1, top->last + size, (char *)top->entry + 8 }; \
		bool ok = true; \
\
		for (size_t i = 0; i < count; i++) { \
			ok &= insert(map, &above); \
			ok &= erase(map, &above); \
		} \
		return ok; \
	} \
	static bool prefix##loop_brk2(void *map, const struct range *top, size_t count) \
	{ \
		unsigned long size = top->last - top->first + 1; \
		struct range grown = { top->first, top->last + size, top->entry }; \
		bool ok = true; \
\
		for (size_t i = 0; i < count; i++) { \
			ok &= resize(map, top, grown.last); \
			ok &= resize(map, &grown, top->last); \
		} \
		return ok; \
	}

/* gaps: search only. malloc1: search, map, unmap. */
#define LOOPS_GAP(find_gap, alloc, erase) \
	static bool loop_gaps(void *map, const struct gap *gap, size_t count) \
	{ \
		unsigned long start; \
		bool ok = true; \
\
		for (size_t i = 0; i < count; i++) \
			ok &= find_gap(map, gap, &start); \
		return ok; \
	} \
	static bool loop_malloc1(void *map, const struct gap *gap, void *entry, size_t count) \
	{ \
		for (size_t i = 0; i < count; i++) { \
			struct range area = { 0, 0, entry }; \
\
			if (!alloc(map, gap, entry, &area.first)) \
				return false; \
			area.last = area.first + gap->size - 1; \
			if (!erase(map, &area)) \
				return false; \
		} \
		return true; \
	}

#endif
