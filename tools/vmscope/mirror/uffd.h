/* SPDX-License-Identifier: MIT */
/*
 * The userfaultfds of one address space: numbers for them, and when one has ended.
 *
 * A userfaultfd ends with its last descriptor: by close(), exec or exit in this or another process
 * that has one. No call of the space tells, so it is looked for where it matters: before a call is
 * mirrored and before areas are compared. It has ended if the process holds no descriptor of it and
 * the kernel shows no mode of it any more on areas that were registered with it. (The descriptor is
 * asked for first: as long as the process has one, no area may lose its mode by itself.)
 */
#ifndef VMSCOPE_MIRROR_UFFD_H
#define VMSCOPE_MIRROR_UFFD_H

#include <mapletree/vmspace.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "log/answers.h"

struct uffd;

struct uffds {
	struct uffd *first;
};

/*
 * Whether descriptor @fd of thread @tid is a userfaultfd; *@inode is different for each, *@features
 * gets the UFFD_FEATURE_* that it was given.
 */
bool uffd_look(pid_t tid, int fd, uint64_t *inode, uint64_t *features);

/* The number of the one with @inode, whose descriptor in the process is @fd. 0: no memory. */
unsigned int uffd_context(struct uffds *uffds, uint64_t inode, int fd);

/*
 * Tells @vm of those that have ended, and @answers (may be NULL). Returns how many. @tid is a thread
 * of the process, stopped.
 */
unsigned int uffd_apply_ends(struct uffds *uffds, struct vmspace *vm, pid_t tid,
			    struct answers *answers);

/* After a fork: the child has the numbers of its parent. What cannot be copied is left out. */
void uffd_copy(struct uffds *child, const struct uffds *parent);

void uffd_clear(struct uffds *uffds);

#endif
