/* SPDX-License-Identifier: MIT */
/*
 * The host of a mirror's address space: answers what libvmspace asks about pages and stacks from
 * what the kernel shows in /proc, and records the answers for the log.
 */
#ifndef VMSCOPE_MIRROR_HOST_H
#define VMSCOPE_MIRROR_HOST_H

#include <mapletree/vmspace.h>
#include <stdbool.h>

#include "log/answers.h"
#include "mirror/kernel.h"

enum { UNTOUCHED_MAX = 32 };

/* Ranges that had no anonymous page when a call was entered, as far as libvmspace asked. */
struct untouched {
	unsigned int count;
	struct { unsigned long start, end; } ranges[UNTOUCHED_MAX];
};

/*
 * Where a call has put, replaced or taken away pages itself: what the kernel shows there now says
 * nothing about the time before.
 */
struct replaced {
	unsigned int count;
	struct { unsigned long start, end; } ranges[2];
};

struct host {
	struct kernel_view view;
	struct kernel_view *child_view;	/* while a fork is mirrored: the child's; otherwise NULL */
	struct answers *answers;	/* where answers are recorded; NULL without a log */
	struct untouched *untouched;	/* while a call is gathered at its entry; otherwise NULL */
	const struct untouched *before;	/* while host_look_back() holds; otherwise NULL */
	struct replaced replaced;	/* by the call that it looks back on */
};

void host_init(struct host *host);

/* Opens what answers are taken from. Returns 0 or -errno. host_close() may follow in any case. */
int host_open(struct host *host, pid_t tid);
void host_close(struct host *host);

/* The callbacks to give to a space. @host must outlive it. */
struct vmspace_host host_callbacks(struct host *host);

/*
 * Gathers @req on @space: everything that libvmspace has to ask before the call is performed. The
 * only place where vmscope gathers. @untouched, unless NULL, is filled in.
 */
void host_gather(struct host *host, struct vmspace *space, struct vmspace_request *req,
		 struct untouched *untouched);

/*
 * @req was performed, and @untouched was filled in when it was gathered. Until host_look_now(),
 * answers are those from right before the call: with what other threads have touched since it was
 * gathered, but without what the call itself has done to pages.
 */
void host_look_back(struct host *host, const struct vmspace_request *req,
		    const struct untouched *untouched);
void host_look_now(struct host *host);

/* While looking back: has one of the ranges that had no anonymous page got one? */
bool host_was_touched(struct host *host);

#endif
