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

/* Which userfaultfds the kernel lets this process create. */
enum puppet_uffd_right {
	PUPPET_UFFD_NONE,
	PUPPET_UFFD_USER,	/* with UFFD_USER_MODE_ONLY and without UFFD_FEATURE_EVENT_FORK */
	PUPPET_UFFD_ALL,
};

/*
 * Found out by the first call, and the same from then on. @error: why it is not PUPPET_UFFD_ALL, or
 * 0; may be NULL.
 *
 * With PUPPET_UFFD_USER, faults that the kernel makes in registered areas are not reported but
 * fail: mlock() and MADV_POPULATE_* then answer errors.
 */
enum puppet_uffd_right puppet_uffd_right(int *error);

/* The UFFD_FEATURE_* that puppet_uffd() may be asked for. */
uint64_t puppet_uffd_features(void);

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
