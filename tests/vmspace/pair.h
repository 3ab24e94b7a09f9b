/* SPDX-License-Identifier: MIT */
/*
 * pair.h - a real process and its vmspace: every request is made in both, and both must then be
 * equal in result, maps, flags and counters.
 */
#ifndef TESTS_VMSPACE_PAIR_H
#define TESTS_VMSPACE_PAIR_H

#include <mapletree/vmspace.h>

#include "puppet.h"

struct pair {
	struct puppet puppet;
	struct vmspace *space;
	bool mirror;         /* faults are not told: the host callbacks answer; results are given */
	bool verbose;
	bool hasty;          /* results are compared, areas are not */
	enum puppet_file file; /* what mmap without MAP_ANONYMOUS maps */
	bool guards;         /* guard regions exist: faults may fail in any area */
	int shm_id;          /* what shmat attaches */
	unsigned long made;  /* requests so far */
	struct vmspace_request last;
	long kernel_result;
};

/* Start a puppet and take its areas over. */
void pair_start(struct pair *pair, bool mirror);
/* Make the request in both. Returns false, with everything explained on stderr, if they differ. */
bool pair_do(struct pair *pair, struct vmspace_request *req);
/* Fork both. */
bool pair_fork(struct pair *pair, struct pair *child);
void pair_end(struct pair *pair);
/* The backing of a puppet's file, for req.mmap.backing. */
const struct vma_backing *pair_backing(enum puppet_file file);

#endif
