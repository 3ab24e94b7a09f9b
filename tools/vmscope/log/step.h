/* SPDX-License-Identifier: MIT */
/*
 * A step of a replay: one thing that happened to an address space, whatever kind of log it is from.
 */
#ifndef VMSCOPE_LOG_STEP_H
#define VMSCOPE_LOG_STEP_H

#include <mapletree/vmspace.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "log/anon_choice.h"

enum step_kind {
	STEP_OTHER,	/* changes no address space */
	STEP_SPACE,	/* one begins with given areas: exec, attach, a process's first line */
	STEP_COPY,	/* one begins as a copy of another: fork */
	STEP_PROCESS,	/* a process begins, in one that there is: its own, or its parent's */
	STEP_CALL,	/* a system call */
	STEP_SEEN,	/* the kernel was observed to have changed areas without a call */
	STEP_LIMITS,	/* limits have changed */
	STEP_END,	/* an address space ends */
};

/* Whether there were anonymous pages in [start, end). */
struct step_answer {
	unsigned long start, end;
	bool has_anon;
};

/* The growsdown area that ends at end has grown down to start. */
struct step_stack {
	unsigned long end, start;
};

/* The file mapped at addr was renamed or removed. */
struct step_rename {
	unsigned long addr;
	struct vma_backing backing;
};

/* Pointers belong to the reader, and remain valid until it reads the next step. */
struct step {
	enum step_kind kind;
	unsigned long line;		/* in the log, from 1 */
	double time;			/* in seconds since the log's beginning; < 0: unknown */
	double origin;			/* the first stamp: of the day or since 1970; < 0: none */
	pid_t pid, tid;
	unsigned int space;		/* number of the address space, from 1 */
	unsigned int from;		/* STEP_COPY: number of the parent */
	const char *command;		/* of the process; NULL: unknown */

	/* STEP_SPACE */
	bool incomplete;		/* it also has areas that the log does not show */
	const struct vmspace_area *areas;
	size_t area_count;
	struct vmspace_image image;
	struct vmspace_config config;	/* STEP_LIMITS too */

	/* STEP_CALL */
	const char *call;		/* its name */
	const char *site;		/* call site; NULL: unknown */
	const char *stack;		/* "outermost;...;innermost"; NULL: unknown, or not wanted */
	const char *untold;		/* why the area it has made is not known; NULL: it is */
	bool touches;			/* request is a fault, which a mirror does not see */
	const struct vmspace_request *request;	/* with the kernel's result; NULL: not modelled */
	const struct vmspace_request *before;	/* to perform before it; NULL: nothing */
	bool falsified;			/* by --inject */
	bool unsure;			/* watch did not know all that had led to its answer */
	const struct anon_choice *choices;	/* to make before the call */
	size_t choice_count;

	/* STEP_CALL, STEP_COPY */
	const struct step_answer *answers, *answers_again;
	size_t answer_count, again_count;

	/* STEP_CALL, STEP_COPY, STEP_SEEN */
	const struct step_stack *stacks;
	size_t stack_count;
	const struct step_rename *renames;
	size_t rename_count;
	const unsigned int *uffd_ends;	/* contexts of userfaultfds that were released */
	size_t uffd_end_count;

	/* STEP_END */
	const char *occasion;		/* "exit", "exec", "detach" */
	bool has_hash;
	unsigned long areas_at_end;
	uint64_t hash;			/* of all areas: hash_maps() */
};

#endif
