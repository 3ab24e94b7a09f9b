/* SPDX-License-Identifier: MIT */
/*
 * calls.h - every call that changes a tree, behind one interface.
 */
#ifndef FAULT_CALLS_H
#define FAULT_CALLS_H

#include "heap.h"

/* What a call is to do; those that need less use less of it. */
struct request {
	unsigned long first;
	unsigned long last;
	void *entry;
	gfp_t gfp;
};

/*
 * struct call - @run makes the call and checks what it says; returns 0, the negative errno it
 * reported, or -ENOMEM where the way to report no memory is another.
 * @takes_gfp: follows request.gfp; the others may always allocate.
 */
struct call {
	const char *name;
	bool takes_gfp;
	int (*run)(struct maple_tree *mt, const struct request *request, struct heap *heap);
};

extern const struct call calls[];
extern const unsigned int calls_count;

#endif
