/* SPDX-License-Identifier: MIT */
/* Texts that are kept once each, and freed when they are no longer used. */
#ifndef VMSCOPE_LOG_NAMES_H
#define VMSCOPE_LOG_NAMES_H

#include <mapletree/maple_tree.h>
#include <stdbool.h>
#include <stddef.h>

struct name {
	struct name *next;		/* with the same hash */
	unsigned int number;		/* for the user; 0: not used */
	char text[];
};

struct names {
	struct maple_tree tree;		/* hash -> first struct name with it */
	size_t count, bytes;		/* bytes of their texts */
};

void names_init(struct names *names);
void names_clear(struct names *names);

/* The name with this text, made if need be. NULL: out of memory. */
struct name *names_get(struct names *names, const char *text);

/* Sets all numbers to 0; and frees those names that have number 0. */
void names_unmark(struct names *names);
void names_sweep(struct names *names);

#endif
