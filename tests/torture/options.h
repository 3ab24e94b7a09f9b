/* SPDX-License-Identifier: MIT */
/* options.h - the options of the programs, and the clock that their durations are taken by. */
#ifndef TORTURE_OPTIONS_H
#define TORTURE_OPTIONS_H

#include <getopt.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

struct options {
	double duration; /* seconds */
	uint64_t seed;
	bool tap;        /* the result as a test's, in TAP */
};

/*
 * take_options - the options, which standard output is told so that the run can be repeated. False:
 * there is anything else, of which standard error tells; main() returns 2.
 */
static inline bool take_options(struct options *options, int argc, char **argv)
{
	static const struct option names[] = {
		{ "duration", required_argument, NULL, 'd' },
		{ "seed", required_argument, NULL, 's' },
		{ "tap", no_argument, NULL, 't' },
		{ 0 },
	};
	char none = 0, *end = &none;
	int option;

	*options = (struct options){
		.duration = 10, .seed = (uint64_t)time(NULL) ^ (uint64_t)getpid() << 32,
	};
	while (!*end && (option = getopt_long(argc, argv, "", names, NULL)) != -1) {
		if (option == 'd')
			options->duration = strtod(optarg, &end);
		else if (option == 's')
			options->seed = strtoull(optarg, &end, 0);
		else if (option == 't')
			options->tap = true;
		else
			break;
	}
	if (*end || option != -1 || optind < argc || options->duration <= 0) {
		fprintf(stderr, "Usage: %s [--duration=SECONDS] [--seed=NUMBER] [--tap]\n", argv[0]);
		return false;
	}
	printf("# --seed=%llu --duration=%g\n", (unsigned long long)options->seed, options->duration);
	fflush(stdout);
	return true;
}

static inline double seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

#endif
