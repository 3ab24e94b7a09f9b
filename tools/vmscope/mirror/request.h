/* SPDX-License-Identifier: MIT */
/* Turning a system call of a traced thread into a request to libvmspace. */
#ifndef VMSCOPE_MIRROR_REQUEST_H
#define VMSCOPE_MIRROR_REQUEST_H

#include <mapletree/vmspace.h>
#include <stdbool.h>
#include <sys/types.h>

#include "base/call.h"
#include "mirror/backing.h"

enum { REQUEST_NAME_MAX = 80 };	/* bytes of a name set by prctl(), including its NUL */

/* A request together with the memory that it points to. Must not be copied. */
struct request {
	struct vmspace_request vm;
	struct backing_file file;
	char name[REQUEST_NAME_MAX + 1];
	uint64_t uffd_inode;	/* of the userfaultfd; the mirror maps it to a context */
};

enum request_model {
	REQUEST_NONE,	/* the call changes no area */
	REQUEST_MADE,
	REQUEST_LATE,	/* only the result shows what it did: see request_finish() */
	REQUEST_UNKNOWN,/* it may change areas in a way that libvmspace does not model */
};

/* Translates @call, which @tid has just entered. @space is only read. */
enum request_model request_build(struct request *req, const struct vmspace *space, pid_t tid,
				 const struct call *call);

/*
 * At the exit: sets the kernel's result and adds what only the result shows. For REQUEST_LATE,
 * translates the call. Reads @maps if necessary. Returns false if there is nothing to apply.
 */
bool request_finish(struct request *req, enum request_model model, pid_t tid,
		    const struct call *call, struct kernel_view *maps);

/*
 * Whether the kernel makes a file for what is mapped, whose device and inode only the result shows: for
 * shared anonymous memory, and for anonymous huge pages.
 */
bool request_makes_file(const struct vmspace_request *req);

#endif
