/* SPDX-License-Identifier: MIT */
/*
 * The userfaultfds of one address space: a context number for each, and when it is released.
 *
 * A userfaultfd is released with its last descriptor: by close(), exec or exit, in this process or
 * in another that has one. No system call on the address space shows that, so vmscope looks for it
 * when it matters: before a call is mirrored and before areas are compared. It was released if the
 * process has no descriptor of it and the kernel shows no registration any more on areas that were
 * registered with it. (The descriptor is checked first: as long as the process has one, no area may
 * lose its registration by itself.)
 */
#ifndef VMSCOPE_MIRROR_UFFD_H
#define VMSCOPE_MIRROR_UFFD_H

#include <mapletree/vmspace.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "log/answers.h"

struct uffd;

#define UFFD_FEATURES_SET (1UL << 31)	/* set internally by the kernel: UFFDIO_API was called */

struct uffds {
	struct uffd *first;
};

/*
 * Whether descriptor @fd of thread @tid is a userfaultfd. If so, *@inode is its own, but for
 * Linux 5.10, in which all have the same; and *@features are the UFFD_FEATURE_* that were enabled.
 */
bool uffd_look(pid_t tid, int fd, uint64_t *inode, uint64_t *features);

/*
 * The context number of the userfaultfd with @inode, which is descriptor @fd of thread @tid. 0: out
 * of memory.
 */
unsigned int uffd_context(struct uffds *uffds, pid_t tid, uint64_t inode, int fd);

/*
 * Releases those that were released in the process of stopped thread @tid, in @vm too, and records
 * them in @answers, which may be NULL. Returns how many.
 */
unsigned int uffd_apply_ends(struct uffds *uffds, struct vmspace *vm, pid_t tid,
			     struct answers *answers);

/*
 * The one with @inode, which no other has, was released: returns its context number; 0: not known.
 */
unsigned int uffd_forget(struct uffds *uffds, uint64_t inode);

/* After a fork: the child has its parent's context numbers. Leaves out what cannot be copied. */
void uffd_copy(struct uffds *child, const struct uffds *parent);

void uffd_clear(struct uffds *uffds);

#endif
