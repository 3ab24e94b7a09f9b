/* SPDX-License-Identifier: MIT */
/* Random calls on an address space: which one comes next, and on what. */
#ifndef VMSCOPE_CHECK_GENERATOR_H
#define VMSCOPE_CHECK_GENERATOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "check/pair.h"

/* The kinds of calls that a mix weighs. */
enum random_call {
	RANDOM_MMAP, RANDOM_MMAP_FILE, RANDOM_MMAP_SHARED, RANDOM_MUNMAP, RANDOM_MPROTECT, RANDOM_MREMAP,
	RANDOM_BRK, RANDOM_MADVISE, RANDOM_MLOCK, RANDOM_MLOCKALL, RANDOM_FAULT, RANDOM_SHM, RANDOM_REMAP_PAGES,
	RANDOM_MSEAL, RANDOM_MSYNC, RANDOM_MINCORE, RANDOM_POLICY, RANDOM_PROCESS_MADVISE, RANDOM_NAME,
	RANDOM_UFFD,
	RANDOM_FORK, RANDOM_EXIT,	/* of a pair: not made by generator_fill() */
	RANDOM_CALLS
};

/* How often each kind comes, in proportion to the others. */
struct mix {
	const char *name, *about;
	unsigned short weight[RANDOM_CALLS];
};

/* The mix with that name; NULL: there is none. */
const struct mix *mix_find(const char *name);

/* All of them in order; NULL at the end. */
const struct mix *mix_nth(size_t n);

/* Areas that the puppet lives on. */
struct span {
	unsigned long start, end;
};

enum { KEPT_MAX = 64 };

struct generator {
	uint64_t state;			/* of the random numbers; never 0 */
	const struct mix *mix;
	unsigned long busy_areas;	/* with more, unmapping is preferred */
	unsigned long arena_pages;	/* where most places are drawn from: few make many neighbours */
	struct span kept[KEPT_MAX];	/* kept_count of them: not touched */
	int kept_count;
	unsigned int last_uffd;		/* number of the last userfaultfd that anybody made */
};

/* @p has just been started: its areas are kept from then on. */
void generator_init(struct generator *c, uint64_t seed, const struct mix *mix, const struct pair *p);

/* Which kind of call is next. */
enum random_call generator_pick(struct generator *c, const struct pair *p);

/* Fills in a request of @kind (neither RANDOM_FORK nor RANDOM_EXIT). */
void generator_fill(struct generator *c, const struct pair *p, enum random_call kind,
		    struct vmspace_request *req);

/* Would the request hit what the puppet lives on? */
bool generator_harms_puppet(const struct generator *c, const struct pair *p,
		    const struct vmspace_request *req);

/* A random number below @n. */
unsigned long random_below(struct generator *c, unsigned long n);

#endif
