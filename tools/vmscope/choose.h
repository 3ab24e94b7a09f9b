/* SPDX-License-Identifier: MIT */
/* Random calls on an address space: which one comes next, and on what. */
#ifndef VMSCOPE_CHOOSE_H
#define VMSCOPE_CHOOSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "pair.h"

/* The kinds of calls that a mix weighs. */
enum maker {
	MAKE_MMAP, MAKE_MMAP_FILE, MAKE_MMAP_SHARED, MAKE_MUNMAP, MAKE_MPROTECT, MAKE_MREMAP,
	MAKE_BRK, MAKE_MADVISE, MAKE_MLOCK, MAKE_MLOCKALL, MAKE_FAULT, MAKE_SHM, MAKE_REMAP_PAGES,
	MAKE_MSEAL, MAKE_MSYNC, MAKE_MINCORE, MAKE_POLICY, MAKE_PROCESS_MADVISE, MAKE_NAME,
	MAKE_UFFD,
	MAKE_FORK, MAKE_EXIT,	/* of a pair: not made by choose_request() */
	MAKERS
};

/* How often each kind comes, in proportion to the others. */
struct mix {
	const char *name, *about;
	unsigned short weight[MAKERS];
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

struct chooser {
	uint64_t state;			/* of the random numbers; never 0 */
	const struct mix *mix;
	unsigned long busy_areas;	/* with more, unmapping is preferred */
	unsigned long arena_pages;	/* where most places are drawn from: few make many neighbours */
	struct span kept[KEPT_MAX];	/* kept_count of them: not touched */
	int kept_count;
	unsigned int last_uffd;		/* number of the last userfaultfd that anybody made */
};

/* @p has just been started: its areas are kept from then on. */
void choose_begin(struct chooser *c, uint64_t seed, const struct mix *mix, const struct pair *p);

/* Which kind of call is next. */
enum maker choose_kind(struct chooser *c, const struct pair *p);

/* Fills in a request of @kind (neither MAKE_FORK nor MAKE_EXIT). */
void choose_request(struct chooser *c, const struct pair *p, enum maker kind,
		    struct vmspace_request *req);

/* Would the request hit what the puppet lives on? */
bool choose_harmful(const struct chooser *c, const struct pair *p,
		    const struct vmspace_request *req);

/* A random number below @n. */
unsigned long choose_below(struct chooser *c, unsigned long n);

#endif
