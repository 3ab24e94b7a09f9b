/* SPDX-License-Identifier: MIT */
/*
 * scarce.h - memory of all kinds that a space with pages takes (blocks, nodes, areas, frames, pages
 * of files, translations), which fails when a test says so, and is counted.
 */
#ifndef SCARCE_H
#define SCARCE_H

#include <mapletree/maple_tree.h>

#include "space.h"

extern struct scarce {
	long countdown;      /* allocations until one fails; 0: none */
	bool for_good;       /* ... and all behind it */
	unsigned int one_of; /* ... or one of so many, at random */
	uint64_t draws;
	bool refused;        /* a translation was among those that failed */
	bool counting;
	long asked;          /* allocations while `counting` */
	long blocks;         /* allocated by the libraries and not freed; atomic */
	long frames;         /* the same, of the user's */
	long file_uses;      /* pages of files that are in use */
} scarce;

extern const struct mt_allocator scarce_nodes;
extern const struct vmspace_memory scarce_memory;

/*
 * scarce_stock - whether the nodes that calls give back serve for later ones, which is quicker: for
 * calls that a test makes in one thread before the one that it tries, and of which none fails.
 */
void scarce_stock(bool wanted);

#endif
