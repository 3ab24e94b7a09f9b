/* SPDX-License-Identifier: MIT */
/*
 * memory.c - how many bytes does a range cost?
 *
 * "resident": what the process grows by, measured in a process of its own, so that it holds for
 * every engine and any allocator. "nodes": what engines that can tell say themselves.
 */
#include "harness.h"

#include <err.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool can_insert(const struct engine *engine)
{
	return engine->create && engine->insert;
}

static bool can_bytes(const struct engine *engine)
{
	return can_insert(engine) && engine->bytes;
}

/* Pages of memory the process holds by itself, by /proc/self/statm. */
static double resident_bytes(void)
{
	FILE *file = fopen("/proc/self/statm", "r");
	long pages, shared;

	if (!file || fscanf(file, "%*d %ld %ld", &pages, &shared) != 2)
		errx(1, "/proc/self/statm cannot be read");
	fclose(file);
	return (double)(pages - shared) * (double)sysconf(_SC_PAGESIZE);
}

/* What a child does: fill a map once and say what it cost. The first map of a process also
 * pays for what comes once, so a small one goes before. */
static int child(const char *name, const char *count, const char *shuffled)
{
	struct data *small = data_mixed(16, 1), *data = data_mixed(strtoul(count, NULL, 10), 1);
	double before;

	for (size_t i = 0; engines[i]; i++) {
		const struct engine *engine = engines[i];

		if (strcmp(engine->name, name))
			continue;
		engine->destroy(map_fill(engine, small, true));
		before = resident_bytes();
		map_fill(engine, data, *shuffled == '1');
		usleep(50000); /* what waits for readers goes meanwhile */
		printf("%.6g\n", (resident_bytes() - before) / (double)data->n);
		return 0;
	}
	return 1;
}

/* A process of its own: nothing is left over in it from other maps. */
static double resident(const struct cell *cell, bool shuffled)
{
	char command[256], *self = realpath("/proc/self/exe", NULL);
	double result = -1;
	FILE *pipe;

	if (!self)
		err(1, "/proc/self/exe");
	snprintf(command, sizeof(command), "'%s' --child '%s' %zu %d", self, cell->engine->name,
		 cell->data->n, shuffled);
	pipe = popen(command, "r");
	if (!pipe || fscanf(pipe, "%lf", &result) != 1)
		errx(1, "%s: the child that measures memory failed", cell->engine->name);
	pclose(pipe);
	free(self);
	return result;
}

static double resident_appended(const struct cell *cell)
{
	return resident(cell, false);
}

static double resident_random(const struct cell *cell)
{
	return resident(cell, true);
}

static double nodes(const struct cell *cell, bool shuffled)
{
	void *map = map_fill(cell->engine, cell->data, shuffled);
	double result = (double)cell->engine->bytes(map) / (double)cell->data->n;

	cell->engine->destroy(map);
	return result;
}

static double nodes_appended(const struct cell *cell)
{
	return nodes(cell, false);
}

static double nodes_random(const struct cell *cell)
{
	return nodes(cell, true);
}

#define MEMORY(label, runner, able) \
	{ .name = label, .unit = "bytes", .once = true, .make_data = data_mixed, .ops = 1, \
	  .can = able, .run = runner, .quick = { 100000 }, .full = { 10000, 100000, 1000000 } }

static const struct work works[] = {
	MEMORY("resident, appended", resident_appended, can_insert),
	MEMORY("resident, random", resident_random, can_insert),
	MEMORY("nodes, appended", nodes_appended, can_bytes),
	MEMORY("nodes, random", nodes_random, can_bytes),
	{ 0 }
};

int main(int argc, char **argv)
{
	if (argc == 5 && !strcmp(argv[1], "--child"))
		return child(argv[2], argv[3], argv[4]);
	return bench_main(argc, argv, works);
}
