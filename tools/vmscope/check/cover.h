/* SPDX-License-Identifier: MIT */
/* What the rounds of a run have covered: a table of rows with counts, in memory shared by workers. */
#ifndef VMSCOPE_CHECK_COVER_H
#define VMSCOPE_CHECK_COVER_H

#include "check/pair.h"

/*
 * A row is one of
 *	call NAME ERRNO		a call with its outcome ("0": it succeeded)
 *	why NAME REASON		a call, and libvmspace's explanation of its outcome
 *	advice NUMBER ERRNO	of madvise()
 *	verdict SENTENCE	about two neighbours
 *	file NUMBER		mapped: see enum puppet_file
 *	way NAME		see enum pair_way
 */
struct cover_row {
	uint64_t key;		/* 0: unused */
	unsigned long count;
};

enum { COVER_ROWS = 4096 };

struct cover {
	struct cover_row rows[COVER_ROWS];
	unsigned long lost;	/* there was no room left */
};

/* The request that @p made last. */
void cover_request(struct cover *cover, const struct pair *p);

/* One line for each row, with its count. Returns 0 or -errno. */
int cover_write(const struct cover *cover, const char *path);

#endif
