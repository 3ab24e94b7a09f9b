/* SPDX-License-Identifier: MIT */
/* options.h - the options of tests that make random calls: their seed, and how many. */
#ifndef TESTS_VMSPACE_OPTIONS_H
#define TESTS_VMSPACE_OPTIONS_H

#include <getopt.h>
#include <stdbool.h>
#include <stdlib.h>
#include <time.h>

/*
 * --seed N, else the time; --ops N, unless `ops` is NULL: it keeps its value where there is none.
 * False: there are other options, of which standard error tells; main() returns 2.
 */
static inline bool take_options(int argc, char **argv, unsigned long long *seed, unsigned long *ops)
{
	const struct option options[] = {
		{ "seed", required_argument, NULL, 's' },
		{ ops ? "ops" : NULL, required_argument, NULL, 'o' },
		{ 0 },
	};
	int option;

	*seed = (unsigned long long)time(NULL);
	while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (option == 's')
			*seed = strtoull(optarg, NULL, 0);
		else if (option == 'o')
			*ops = strtoul(optarg, NULL, 0);
		else
			return false;
	}
	return true;
}

#endif
