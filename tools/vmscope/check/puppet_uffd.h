/* SPDX-License-Identifier: MIT */
/*
 * The userfaultfds of a puppet: created by it, held by this process. This process makes the ioctls,
 * which to the kernel is the same as if the puppet made them, and serves the events while the
 * puppet is blocked in a call.
 *
 * Missing faults are resolved with a zero page, minor faults with the page that is there. Other
 * events (fork, remap, unmap, remove) are only read.
 */
#ifndef VMSCOPE_CHECK_PUPPET_UFFD_H
#define VMSCOPE_CHECK_PUPPET_UFFD_H

#include <poll.h>
#include <stdbool.h>
#include <stdint.h>

#include "check/puppet.h"

/* The UFFD_FEATURE_* that puppet_uffd() supports. */
extern const uint64_t puppet_uffd_features;

/* Can userfaultfds with all of these features be created here? Returns 0 or -errno. */
int puppet_uffd_possible(void);

/* The userfaultfd with number @context. NULL: there is none, or it was closed. */
const struct puppet_uffd *puppet_uffd_find(const struct puppet *puppet, unsigned int context);

/*
 * The same, but creates it with @features if there is none. Returns its descriptor in this process,
 * or -errno (-EMFILE: there are PUPPET_UFFDS already).
 */
int puppet_uffd(struct puppet *puppet, unsigned int context, uint64_t features);

/* Closes one. Returns 0, or -EBADF if there is none with that number. */
int puppet_uffd_end(struct puppet *puppet, unsigned int context);
void puppet_uffd_end_all(struct puppet *puppet);

/* For puppet.c: the descriptors to poll while the puppet is in a call. Returns how many. */
unsigned int puppet_uffd_poll(const struct puppet *puppet, struct pollfd polled[PUPPET_UFFDS]);

/*
 * For puppet.c: handles the events of these descriptors. The userfaultfd of a forked child goes to
 * @heir, or is closed if @heir is NULL. False: a fault cannot be resolved.
 */
bool puppet_uffd_serve(const struct puppet *puppet, const struct pollfd *polled,
		       struct puppet *heir);

/* The number of events handled so far for all puppets of this process, not counting faults. */
unsigned long puppet_uffd_events(void);

#endif
