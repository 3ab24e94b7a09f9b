/* SPDX-License-Identifier: MIT */
/* Turning a system call of a traced thread into a request to libvmspace. */
#ifndef VMSCOPE_MIRROR_REQUEST_H
#define VMSCOPE_MIRROR_REQUEST_H

#include <mapletree/vmspace.h>
#include <stdbool.h>
#include <sys/types.h>

#include "base/call.h"
#include "mirror/backing.h"

enum { REQUEST_NAME_MAX = 80 };	/* bytes of a name given by prctl(), with its NUL */

/* A request with what its pointers point to. Not to be copied. */
struct request {
	struct vmspace_request vm;
	struct backing_file file;
	char name[REQUEST_NAME_MAX + 1];
	uint64_t uffd_inode;	/* of the userfaultfd; its context is the mirror's to know */
};

enum request_model {
	REQUEST_NONE,	/* the call changes no area (PR_SET_MM's auxv, a limit ...) */
	REQUEST_MADE,
	REQUEST_LATE,	/* only the result tells what it does: see request_finish() */
	REQUEST_UNKNOWN,/* it may change areas in ways that libvmspace does not model */
};

/* At the entry of @call by @tid, before anything has happened. @space is only read. */
enum request_model request_build(struct request *req, const struct vmspace *space, pid_t tid,
				 const struct call *call);

/*
 * At the exit: adds what only the result tells, and sets the host's result. For REQUEST_LATE,
 * makes the request. @maps is read if need be. Returns false if there is nothing to apply.
 */
bool request_finish(struct request *req, enum request_model model, pid_t tid,
		    const struct call *call, struct kernel_view *maps);

#endif
