/* SPDX-License-Identifier: MIT */
/*
 * The mirror of one address space: copied from the kernel once, at exec or attach, from then on
 * changed only by the program's own system calls, and compared with the kernel.
 */
#ifndef VMSCOPE_MIRROR_MIRROR_H
#define VMSCOPE_MIRROR_MIRROR_H

#include <json-c/json.h>
#include <stdbool.h>
#include <sys/types.h>

#include "base/call.h"
#include "base/session.h"
#include "log/log.h"
#include "log/site.h"
#include "mirror/host.h"
#include "mirror/request.h"

struct mirror;
struct call_answers;

/* A system call in progress: a thread has entered it and has not returned yet. */
struct pending_call {
	struct request request;
	enum request_model model;
	enum inject_kind inject;
	bool alone;			/* no other thread used the address space at the entry */
	struct untouched untouched;
	struct call_answers *answers;	/* the mirror's; NULL without a log */
	char site[SITE_MAX];		/* where in the program it was made; "" if not known */
};

/*
 * Creates the mirror of the address space of @who, whose thread is stopped. Returns 0 or -errno:
 * the kernel does not show the address space, or memory has run out.
 */
int mirror_create(struct session *session, const struct log_who *who, bool attach,
		  struct mirror **out);

/*
 * @parent has forked @child, which is stopped before its first instruction. Returns the child's
 * mirror. NULL: the session has failed, or a message says why the child is not followed.
 */
struct mirror *mirror_fork(struct mirror *mirror, const struct log_who *parent,
			   const struct log_who *child);

void mirror_free(struct mirror *mirror);

/*
 * @who has entered @call, and nothing has happened yet. Gives the call its number. @alone: no
 * other thread uses the address space.
 */
void mirror_call_enter(struct mirror *mirror, const struct log_who *who, struct call *call,
		       struct pending_call *pending, bool alone);

/*
 * Whether the call, just entered, is certain to return 0 and is not followed by a comparison, so
 * that the thread need not stop at its exit. That holds for munmap() within one anonymous area:
 * it does not block, and it fails only if the kernel itself is out of memory, which the next
 * comparison would show.
 */
bool mirror_call_is_certain(const struct mirror *mirror, const struct call *call,
			    const struct pending_call *pending);

/* The call has returned call->result: applies it, and compares if a comparison is due. */
void mirror_call_exit(struct mirror *mirror, const struct log_who *who, const struct call *call,
		      struct pending_call *pending, bool alone);

/*
 * The thread was killed inside its call, so nobody saw whether the call was performed. If @alone,
 * it does not matter: the address space ends with its thread. Otherwise see guess_lost(). Returns
 * the guesses that were kept, as guess_lost() does; if there are any, @detail gets what a replay
 * has to know about the call.
 */
unsigned int mirror_call_lost(struct mirror *mirror, struct pending_call *pending, bool alone,
			      struct json_object *detail);

/* Compares at the entry of exec; if the exec fails, the address space lives on. */
void mirror_before_exec(struct mirror *mirror, const struct log_who *who);

/*
 * The address space is about to go, on @occasion "exit" or "detach", and the kernel still shows
 * it: compares for the last time, then does as mirror_gone().
 */
void mirror_finish(struct mirror *mirror, const struct log_who *who, const char *occasion);

/* The address space is gone, on @occasion "exec" or "exit": writes final maps and counts. */
void mirror_gone(struct mirror *mirror, const struct log_who *who, const char *occasion);

/* The limits of process @pid or the privileges of its thread @tid may have changed: reads them. */
void mirror_refresh_limits(struct mirror *mirror, pid_t pid, pid_t tid);

/*
 * The address space of process @pid was changed in a way that cannot be followed: says so, and
 * stops comparing.
 */
void mirror_give_up(struct mirror *mirror, pid_t pid, const char *why);

#endif
