/* SPDX-License-Identifier: MIT */
/*
 * slab.h - nodes for the kernel's tree; what shim.h makes a kmem_cache of.
 */
#ifndef BENCH_KERNEL_SLAB_H
#define BENCH_KERNEL_SLAB_H

#include <stdbool.h>
#include <stddef.h>

#define NODE_BYTES 256

void *kernel_slab_alloc(void);
void kernel_slab_free(void *node);
size_t kernel_slab_live(void); /* nodes handed out and not given back */

/* Nodes set aside for a write that is not to fail half way. */
struct slab_sheaf {
	unsigned int count; /* nodes in it */
	unsigned int room;
	void *nodes[];
};

struct slab_sheaf *kernel_sheaf_take(unsigned int count);
bool kernel_sheaf_fill(struct slab_sheaf **sheaf, unsigned int count);
void kernel_sheaf_return(struct slab_sheaf *sheaf);

#endif
