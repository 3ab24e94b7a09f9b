/* SPDX-License-Identifier: MIT */
/* Generating random calls on an address space. */
#ifndef VMSCOPE_CHECK_GENERATOR_H
#define VMSCOPE_CHECK_GENERATOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "check/pair.h"
#include "check/ranges.h"

/* The kinds of random calls. */
enum gen_kind {
	GEN_MMAP, GEN_MMAP_FILE, GEN_MMAP_SHARED, GEN_MUNMAP, GEN_MPROTECT, GEN_MREMAP,
	GEN_BRK, GEN_MADVISE, GEN_MLOCK, GEN_MLOCKALL, GEN_FAULT, GEN_SHM, GEN_REMAP_PAGES,
	GEN_MSEAL, GEN_MSYNC, GEN_MINCORE, GEN_POLICY, GEN_PROCESS_MADVISE, GEN_NAME,
	GEN_UFFD, GEN_PKEY,
	GEN_SET, GEN_FORK, GEN_EXIT,	/* by the round itself, not by generator_fill() */
	GEN_KINDS
};

/* How often each kind comes: weights relative to each other. */
struct mix {
	const char *name, *about;
	unsigned short weight[GEN_KINDS];
};

/* The mix called @name; NULL: there is none. */
const struct mix *mix_find(const char *name);

/* The mixes in order, from 0; NULL after the last. */
const struct mix *mix_nth(size_t n);

enum { RESERVED_MAX = 64 };

struct generator {
	uint64_t state;			/* of the random number generator; never 0 */
	const struct mix *mix;
	unsigned long busy_areas;	/* with more areas, munmap() is preferred */
	unsigned long spoil_one_in;	/* so many calls get an absurd argument; 0: none */
	unsigned long odd_file_one_in;	/* so many mapped files are none of the common ones */
	unsigned long arena_pages;	/* size of the arena: a small one makes many neighbours */
	struct span reserved[RESERVED_MAX];	/* the puppet's own areas, reserved_count of them */
	int reserved_count;
	unsigned int last_uffd;		/* context of the last userfaultfd created */
};

/* @p has just been started: its areas are the puppet's own, and are reserved. */
void generator_init(struct generator *c, uint64_t seed, const struct mix *mix,
		    const struct pair *p);

/* Draws the kind of the next call. */
enum gen_kind generator_pick(struct generator *c, const struct pair *p);

/* Draws the arguments of a call of @kind, which is none of the last three. */
void generator_fill(struct generator *c, const struct pair *p, enum gen_kind kind,
		    struct vmspace_request *req);

/* A random number in [0, n). */
unsigned long random_below(struct generator *c, unsigned long n);

#endif
