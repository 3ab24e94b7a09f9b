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

struct host {
	struct kernel_view view;
	struct kernel_view *child_view;	/* while a fork is mirrored: the child's; otherwise NULL */
	struct answers *answers;	/* where answers are recorded; NULL without a log */
	struct untouched *untouched;	/* while a call is gathered at its entry; otherwise NULL */
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

/* Whether one of the ranges in @untouched has an anonymous page now. */
bool host_was_touched(struct host *host, const struct untouched *untouched);

#endif
