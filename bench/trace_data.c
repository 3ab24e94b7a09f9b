/* SPDX-License-Identifier: MIT */
/*
 * trace_data.c - traces from files (traces/convert tells what is in them), replayed and checked.
 */
#include "trace.h"

#include <err.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PAGE_SHIFT 12
#define CHECK_EVERY 16

extern const struct engine engine_sorted;

/* ---- reading -------------------------------------------------------------------------------- */

static void *grown(void *array, size_t count, size_t size)
{
	if (count & (count - 1))
		return array;
	array = realloc(array, (count ? 2 * count : 1) * size);
	if (!array)
		err(1, "a trace");
	return array;
}

static struct range pages(unsigned long first, unsigned long length, unsigned long number)
{
	return (struct range){ first << PAGE_SHIFT, ((first + length) << PAGE_SHIFT) - 1,
			       (void *)(8 * (number + 1)) };
}

static bool add_op(struct trace *trace, const char *line)
{
	struct trace_op op = { .kind = TRACE_LOOKUP };
	unsigned long a = 0, b = 0, c = 0, d = 0;
	char kind;
	int fields = sscanf(line, "%c %lx %lx %lx %lx", &kind, &a, &b, &c, &d);

	op.range = pages(a, b, c);
	if (kind == 'a' && fields == 4) {
		trace->begin = grown(trace->begin, trace->begun, sizeof(*trace->begin));
		trace->begin[trace->begun++] = op.range;
		return true;
	}
	if (kind == 'l' && fields == 2) {
		trace->calls++;
	} else if (kind == 's' && fields == 4) {
		op.kind = TRACE_STORE;
	} else if (kind == 'r' && fields == 5) {
		op.kind = TRACE_RESIZE;
		op.last = ((a + d) << PAGE_SHIFT) - 1;
	} else if (kind == 'e' && fields == 3) {
		op.kind = TRACE_ERASE;
	} else {
		return false;
	}
	trace->ops = grown(trace->ops, trace->count, sizeof(*trace->ops));
	trace->ops[trace->count++] = op;
	return true;
}

static size_t held(const struct engine *engine, void *map)
{
	return engine->list(map, false, NULL, 0);
}

static void find_peak(struct trace *trace)
{
	void *map = trace_begin(&engine_sorted, trace);
	unsigned long sum = 0;

	trace->peak = trace->begun;
	for (size_t i = 0; i < trace->count; i++) {
		size_t now;

		if (!trace_play(&engine_sorted, map, trace, i, i + 1, &sum))
			errx(1, "trace %s: operation %zu cannot be performed", trace->name, i);
		now = held(&engine_sorted, map);
		if (now > trace->peak)
			trace->peak = now;
	}
	engine_sorted.destroy(map);
}

static struct trace read_file(const char *path)
{
	struct trace trace = { 0 };
	const char *name = strrchr(path, '/') + 1;
	FILE *file = fopen(path, "r");
	char line[256];

	if (!file)
		err(1, "%s", path);
	trace.name = strndup(name, strcspn(name, "."));
	while (fgets(line, sizeof(line), file)) {
		if (*line != '#' && !add_op(&trace, line))
			errx(1, "%s: not a line of a trace: %s", path, line);
	}
	fclose(file);
	if (!trace.name || !trace.begun || !trace.calls)
		errx(1, "%s: not a trace", path);
	find_peak(&trace);
	return trace;
}

size_t traces_read(struct trace *traces)
{
	const char *directory = getenv("BENCH_TRACES");
	char pattern[4096];
	size_t count = 0;
	glob_t found;

	snprintf(pattern, sizeof(pattern), "%s/*.trace", directory ? directory : TRACES);
	if (glob(pattern, 0, NULL, &found))
		return 0;
	while (count < found.gl_pathc && count < TRACES_MAX) {
		traces[count] = read_file(found.gl_pathv[count]);
		count++;
	}
	globfree(&found);
	return count;
}

/* ---- as an emulator keeps it --------------------------------------------------------------- */

static void add(struct trace *trace, enum trace_kind kind, unsigned long first, unsigned long last,
		const void *entry)
{
	/* Few protections there are, and the same program's are always the same. */
	unsigned long alike = ((unsigned long)entry / 8 * 5 >> 1) % 3 + 1;

	trace->ops = grown(trace->ops, trace->count, sizeof(*trace->ops));
	trace->ops[trace->count++] = (struct trace_op){
		.kind = kind, .range = { first, last, (void *)(8 * alike) }
	};
}

struct trace trace_guest(const struct trace *trace)
{
	struct trace guest = { .name = trace->name, .calls = trace->calls, .guest = true };

	for (size_t i = 0; i < trace->begun; i++) {
		add(&guest, TRACE_JOIN, trace->begin[i].first, trace->begin[i].last,
		    trace->begin[i].entry);
	}
	guest.begin = calloc(guest.count, sizeof(*guest.begin));
	if (!guest.begin)
		err(1, "a trace");
	guest.begun = guest.count;
	for (size_t i = 0; i < guest.begun; i++)
		guest.begin[i] = guest.ops[i].range;
	guest.count = 0;
	for (size_t i = 0; i < trace->count; i++) {
		const struct trace_op *op = &trace->ops[i];
		const struct range *range = &op->range;

		switch (op->kind) {
		case TRACE_LOOKUP:
			add(&guest, TRACE_END, range->first, 0, NULL);
			for (unsigned long at = 0; at < 4; at++)
				add(&guest, TRACE_LOOKUP, range->first ^ at << (PAGE_SHIFT + 2), 0, NULL);
			break;
		case TRACE_STORE:
			add(&guest, TRACE_JOIN, range->first, range->last, range->entry);
			break;
		case TRACE_RESIZE:
			if (op->last > range->last)
				add(&guest, TRACE_JOIN, range->last + 1, op->last, range->entry);
			else
				add(&guest, TRACE_CLEAR, op->last + 1, range->last, NULL);
			break;
		default:
			add(&guest, TRACE_CLEAR, range->first, range->last, NULL);
		}
	}
	find_peak(&guest);
	return guest;
}

/* ---- replaying ------------------------------------------------------------------------------ */

bool trace_can(const struct engine *engine)
{
	return engine->create && engine->load && engine->insert && engine->store &&
	       engine->erase && engine->resize && engine->list;
}

bool trace_can_guest(const struct engine *engine)
{
	return engine->create && engine->load && engine->join && engine->clear && engine->end &&
	       engine->list;
}

void *trace_begin(const struct engine *engine, const struct trace *trace)
{
	void *map = engine->create();

	for (size_t i = 0; i < trace->begun; i++) {
		if (!(trace->guest ? engine->join : engine->insert)(map, &trace->begin[i])) {
			engine->destroy(map);
			return NULL;
		}
	}
	return map;
}

bool trace_play(const struct engine *engine, void *map, const struct trace *trace, size_t from,
		size_t to, unsigned long *sum)
{
	bool ok = true;

	for (size_t i = from; i < to; i++) {
		const struct trace_op *op = &trace->ops[i];

		switch (op->kind) {
		case TRACE_LOOKUP:
			*sum += (unsigned long)engine->load(map, op->range.first);
			break;
		case TRACE_STORE:
			ok &= engine->store(map, &op->range);
			break;
		case TRACE_RESIZE:
			ok &= engine->resize(map, &op->range, op->last);
			break;
		case TRACE_ERASE:
			ok &= engine->erase(map, &op->range);
			break;
		case TRACE_END:
			*sum += engine->end(map, op->range.first);
			break;
		case TRACE_JOIN:
			ok &= engine->join(map, &op->range);
			break;
		case TRACE_CLEAR:
			ok &= engine->clear(map, &op->range);
			break;
		}
	}
	return ok;
}

/* ---- checking ------------------------------------------------------------------------------- */

static void compare(const struct engine *engine, void *map, void *model, const struct trace *trace,
		    size_t at)
{
	size_t most = trace->peak + 1, count;
	struct range *expected = malloc(2 * most * sizeof(*expected)), *found = expected + most;

	if (!expected)
		err(1, "a trace");
	count = engine_sorted.list(model, false, expected, most);
	if (engine->list(map, false, found, most) != count)
		errx(1, "%s holds another number of areas in trace %s before operation %zu",
		     engine->name, trace->name, at);
	for (size_t i = 0; i < count; i++) {
		if (found[i].first != expected[i].first || found[i].last != expected[i].last ||
		    found[i].entry != expected[i].entry)
			errx(1, "%s holds another area at %#lx in trace %s before operation %zu",
			     engine->name, expected[i].first, trace->name, at);
	}
	free(expected);
}

void trace_verify(const struct engine *engine, const struct trace *trace)
{
	void *map = trace_begin(engine, trace), *model = trace_begin(&engine_sorted, trace);
	unsigned long sum = 0, expected = 0;

	if (!map)
		errx(1, "%s fails to begin trace %s", engine->name, trace->name);
	for (size_t i = 0; i < trace->count; i += CHECK_EVERY) {
		size_t to = i + CHECK_EVERY < trace->count ? i + CHECK_EVERY : trace->count;

		if (!trace_play(engine, map, trace, i, to, &sum))
			errx(1, "%s fails in trace %s", engine->name, trace->name);
		trace_play(&engine_sorted, model, trace, i, to, &expected);
		if (sum != expected)
			errx(1, "%s finds another area in trace %s before operation %zu",
			     engine->name, trace->name, to);
		compare(engine, map, model, trace, to);
	}
	engine->destroy(map);
	engine_sorted.destroy(model);
}
