/* SPDX-License-Identifier: MIT */
/*
 * options.h - what the exhaustive programs have in common: which runs are wanted, and how they are
 * told.
 */
#ifndef OPTIONS_H
#define OPTIONS_H

#include <stdbool.h>
#include <stddef.h>

#define UNLIMITED 1000 /* a length of sequences that none reaches */

/*
 * @full: all of it, else a slice. @tap: print what meson reads.
 * @run, @mode: this one alone; below 0: all.
 */
struct options {
	bool full;
	bool tap;
	int run;
	int mode;
};

/* Parses the arguments. False, after the usage is printed: they are wrong. */
bool options_parse(struct options *options, const char *program, size_t runs, size_t modes,
		   int argc, char **argv);

/* Is a run in a mode wanted? */
bool options_want(const struct options *options, unsigned int run, unsigned int mode);

/* Prints how the line of run @number begins; and the length of its sequences in words. */
void options_print_begin(const struct options *options, unsigned int number, bool failed);
void options_print_length(unsigned int depth);

/* A clock. */
double options_seconds(void);

#endif
