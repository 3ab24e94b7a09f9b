/* SPDX-License-Identifier: MIT */
/*
 * The userfaultfds of a puppet: made in it, held here. Registrations are asked for here, too, which
 * the kernel does not tell from the puppet's own; and events are taken here while the puppet, which
 * waits for that, makes a call.
 *
 * What they are given: a page of zeros where one is missing, the page that there is where only the
 * mapping of it is missing. Other events (fork, move, unmapping, removal) are read, no more.
 */
#ifndef VMSCOPE_CHECK_PUPPET_UFFD_H
#define VMSCOPE_CHECK_PUPPET_UFFD_H

#include <poll.h>
#include <stdbool.h>
#include <stdint.h>

#include "check/puppet.h"

/* UFFD_FEATURE_* that puppet_uffd() takes; of these pages and events are known. */
extern const uint64_t puppet_uffd_features;

/*
 * May userfaultfds with all of these features be made? 0, or -errno: it is refused, or not there.
 */
int puppet_uffd_possible(void);

/* The one with this number. NULL: there is none, or it has ended. */
const struct puppet_uffd *puppet_uffd_find(const struct puppet *puppet, unsigned int context);

/*
 * The same; if there is none, it is made, with @features. Returns its descriptor here, or -errno
 * (-EMFILE: there are PUPPET_UFFDS).
 */
int puppet_uffd(struct puppet *puppet, unsigned int context, uint64_t features);

/* Ends one. Returns 0, or -EBADF if there is none of that number. */
int puppet_uffd_end(struct puppet *puppet, unsigned int context);
void puppet_uffd_end_all(struct puppet *puppet);

/* For puppet.c: the descriptors to be polled while a puppet makes a call. Returns how many. */
unsigned int puppet_uffd_poll(const struct puppet *puppet, struct pollfd polled[PUPPET_UFFDS]);

/*
 * For puppet.c: takes what these have to tell. A new userfaultfd, that of a fork's child, becomes
 * @heir's, or is closed if that is NULL. False: a fault cannot be answered.
 */
bool puppet_uffd_serve(const struct puppet *puppet, const struct pollfd *polled,
		       struct puppet *heir);

/* How many events were taken so far, for all puppets of this process; faults are none. */
unsigned long puppet_uffd_events(void);

#endif
