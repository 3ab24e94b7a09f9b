/* SPDX-License-Identifier: MIT */
/*
 * The mirror of one address space: taken over from the kernel once, at exec or attach, then
 * changed by the calls alone, and compared with the kernel.
 */
#ifndef VMSCOPE_MIRROR_H
#define VMSCOPE_MIRROR_H

#include <stdbool.h>
#include <sys/types.h>

#include "log.h"
#include "request.h"
#include "session.h"
#include "site.h"

struct mirror;
struct call_notes;

enum { QUESTIONS_MAX = 32 };

/* A call on its way through the kernel. */
struct pending {
	struct request request;
	enum request_model model;
	enum inject_kind inject;
	bool prune;		/* it may take away the last area of a file */
	bool alone;		/* no other thread used the space at the entry */
	/* Ranges without an anonymous page at the entry, as far as decisions depend on it. */
	unsigned int untouched_count;
	struct { unsigned long start, end; } untouched[QUESTIONS_MAX];
	struct call_notes *notes;	/* the mirror's; NULL without a log */
	char site[SITE_MAX];		/* where it was made; "" if that is not wanted, or not known */
};

/*
 * Makes the mirror of the space of @who, whose thread is stopped. Returns 0 or -errno (the
 * kernel will not show the space, or no memory).
 */
int mirror_take(struct session *session, const struct log_who *who, bool attach,
		struct mirror **out);

void mirror_free(struct mirror *mirror);

/*
 * @who has entered @call, and nothing has happened yet. Gives the call its number. @alone: no other
 * thread uses the space.
 */
void mirror_begin(struct mirror *mirror, const struct log_who *who, struct call *call,
		  struct pending *pending, bool alone);

/*
 * Whether the call, just begun, is sure to return 0, and no comparison is due right after it. So
 * is an munmap() within one area of anonymous memory: it waits for nothing, and fails only if the
 * kernel itself is out of memory (which the next comparison would tell).
 */
bool mirror_foresees(const struct mirror *mirror, const struct call *call,
		     const struct pending *pending);

/* The call has returned call->result: applies it, and compares if it is time to. */
void mirror_end(struct mirror *mirror, const struct log_who *who, const struct call *call,
		struct pending *pending, bool alone);

/*
 * The thread was killed in its call, and never came back to tell whether it happened. If @alone, it
 * did not: the space ends with its thread. Otherwise see guess_lost(). Returns the alternatives
 * that were kept; if there are any, @detail gets what a replay has to know of the call.
 */
unsigned int mirror_lost(struct mirror *mirror, struct pending *pending, bool alone,
			 struct json_object *detail);

/*
 * @parent has copied the space for @child, which is stopped before its first instruction.
 * Returns the child's mirror or NULL; then the session has failed, or a message tells why the
 * child is not followed.
 */
struct mirror *mirror_fork(struct mirror *mirror, const struct log_who *parent,
			   const struct log_who *child);

/*
 * The last look at the space before it goes, in an @occasion "exit" or "detach": compares, and
 * writes the final maps and the counts.
 */
void mirror_last(struct mirror *mirror, const struct log_who *who, const char *occasion);

/* A comparison at the entry of exec; should that fail, the space goes on. */
void mirror_before_exec(struct mirror *mirror, const struct log_who *who);

/* The space is gone without mirror_last(), by an @occasion "exec" or "exit": keeps the counts. */
void mirror_replaced(struct mirror *mirror, const struct log_who *who, const char *occasion);

/* The limits or privileges of process @pid have changed. */
void mirror_limits(struct mirror *mirror, pid_t pid);

/* Something has been done to the space that cannot be followed: says so, and stops comparing. */
void mirror_give_up(struct mirror *mirror, const char *why);

#endif
