/* SPDX-License-Identifier: MIT */
/* options.c - what the exhaustive programs have in common. */
#include "options.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static bool parse(struct options *options, int argc, char **argv)
{
	static const struct option names[] = {
		{ "full", no_argument, NULL, 'f' },
		{ "tap", no_argument, NULL, 't' },
		{ "run", required_argument, NULL, 'r' },
		{ "mode", required_argument, NULL, 'm' },
		{ NULL, 0, NULL, 0 },
	};
	int c;

	*options = (struct options){ .run = -1, .mode = -1 };
	while ((c = getopt_long(argc, argv, "", names, NULL)) != -1) {
		if (c == 'f')
			options->full = true;
		else if (c == 't')
			options->tap = true;
		else if (c == 'r')
			options->run = atoi(optarg);
		else if (c == 'm')
			options->mode = atoi(optarg);
		else
			return false;
	}
	return optind == argc;
}

bool options_parse(struct options *options, const char *program, size_t runs, size_t modes,
		   int argc, char **argv)
{
	if (parse(options, argc, argv) && options->run < (int)runs && options->mode < (int)modes)
		return true;
	fprintf(stderr, "usage: %s [--full] [--tap] [--run=0..%zu] [--mode=0..%zu]\n", program,
		runs - 1, modes - 1);
	return false;
}

bool options_want(const struct options *options, unsigned int run, unsigned int mode)
{
	return (options->run < 0 || options->run == (int)run) &&
	       (options->mode < 0 || options->mode == (int)mode);
}

void options_print_begin(const struct options *options, unsigned int number, bool failed)
{
	printf("%s%s %u - ", options->tap && failed ? "not " : "", options->tap ? "ok" : "run",
	       number);
}

void options_print_length(unsigned int depth)
{
	if (depth < UNLIMITED)
		printf("up to %u long", depth);
	else
		printf("of any length");
}

double options_seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}
