/* SPDX-License-Identifier: MIT */
/* An address space that is watched: what the kernel tells of it, applied to libvmspace in order. */
#ifndef VMSCOPE_WATCH_SPACE_H
#define VMSCOPE_WATCH_SPACE_H

#include <mapletree/vmspace.h>
#include <stdbool.h>
#include <stddef.h>

#include "log/log.h"
#include "log/site.h"
#include "mirror/kernel.h"
#include "mirror/uffd.h"
#include "watch/event.h"

/* Of a process that had ended before its files were looked at, names may be missing. */
enum watched_files { FILES_UNKNOWN, FILES_KNOWN, FILES_MISSING };

struct watched {
	struct session *session;
	unsigned int id;		/* from 1, in order of appearance */
	pid_t pid;
	char command[16];
	struct vmspace *vm;		/* NULL: it has not begun */
	const struct watch_call_event *call;	/* being applied, or NULL */
	const struct watch_area *shown;	/* areas that the kernel showed, being compared; or NULL */
	size_t shown_count;
	const struct watch_stack_event *stack;	/* of the call being applied, or NULL */
	struct site_finder *sites;	/* NULL until the first stack */
	enum watched_files files;	/* that are mapped: whether @sites has them */
	struct kernel_view view;	/* of its process; closed if that had ended */
	struct answers answers;		/* for the log */
	struct uffds uffds;
	bool uffds_fork;		/* its children have some, of whose ends nothing is told */
	unsigned long unsure;		/* what was done to it that is not known for sure */
	unsigned long unsure_merges;	/* what decides only whether neighbours are one area */
	const char *doubt, *doubt_merges; /* the last of each, in words */
	bool shared;			/* several threads have had it */
	const bool *behind;		/* whether to ask what it is like now would take too long */
	bool differs;			/* reported: no more comparisons */
	bool said_unknown, said_used;	/* the user was told that such calls are not followed */
};

/*
 * Of process @pid, of which @tid is a thread that lives. @behind may change at any time. NULL: out
 * of memory.
 */
struct watched *watched_new(struct session *session, unsigned int id, pid_t pid, pid_t tid,
			    const bool *behind);
void watched_free(struct watched *space);

/*
 * Begins with the areas and @limits that @event came with. @attach: it has been in use for a while;
 * then, if it has begun before, it may keep its limits (NULL).
 */
void watched_begin(struct watched *space, const struct watch_space_event *event,
		   const struct watch_limits *limits, const struct watch_area *areas, size_t count,
		   bool attach);

/* @child begins as a copy of @space, by the fork in @event; @areas are the child's. */
void watched_fork(struct watched *space, struct watched *child,
		  const struct watch_space_event *event, const struct watch_area *areas,
		  size_t count);

/* Applies a call that was performed; @stack, if not NULL, is where its thread was. */
void watched_call(struct watched *space, const struct watch_call_event *event,
		  const struct watch_stack_event *stack);

/* Its limits, privileges and personality are @limits, by the event @head, if they are known. */
void watched_limits(struct watched *space, const struct watch_head *head,
		    const struct watch_limits *limits);

/* The last descriptor of a userfaultfd was closed. */
void watched_uffd_end(struct watched *space, const struct watch_uffd_event *event);

/* Process @pid, which has another space, has made a call on a userfaultfd of this one. */
void watched_used(struct watched *space, pid_t pid);

/* Something happened to it that is not known for sure: @what, in words, which are kept. */
void watched_doubt(struct watched *space, const char *what);

/*
 * Compares with @areas, which the kernel showed at this very point of the order of calls. If they
 * differ, that is a difference; or, where something was not known for sure that explains it, they
 * are read again.
 */
void watched_compare(struct watched *space, const struct watch_space_event *event,
		     const struct watch_area *areas, size_t count);

/* Ends on @occasion, as log_space_ends() has it. */
void watched_end(struct watched *space, const struct log_who *who, const char *occasion);

#endif
