/* SPDX-License-Identifier: MIT */
/* One thing that happened to an address space, as every kind of log tells it. */
#ifndef VMSCOPE_LOG_STEP_H
#define VMSCOPE_LOG_STEP_H

#include <mapletree/vmspace.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "log/anon_choice.h"

enum step_kind {
	STEP_OTHER,	/* nothing that changes a space */
	STEP_SPACE,	/* a space begins with areas: exec, attach, the first sight of a process */
	STEP_COPY,	/* a space begins as a copy of another: fork */
	STEP_CALL,	/* a call on a space */
	STEP_SEEN,	/* what the kernel was seen to have done without a call */
	STEP_LIMITS,	/* limits of a space are others now */
	STEP_END,	/* a space is gone */
};

/* Were there anonymous pages in [start, end)? */
struct step_answer {
	unsigned long start, end;
	bool has_anon;
};

/* The growsdown area that ends there begins there. */
struct step_stack {
	unsigned long end, start;
};

/* The file at addr has another name, or is marked as deleted. */
struct step_rename {
	unsigned long addr;
	struct vma_backing backing;
};

/* Pointers belong to the reader that made the step, and live until its next one. */
struct step {
	enum step_kind kind;
	unsigned long line;		/* of the log, from 1 */
	double time;			/* in seconds; < 0: not known */
	pid_t pid, tid;
	unsigned int space;		/* number of the space, from 1 */
	unsigned int from;		/* STEP_COPY: which it is a copy of */
	const char *command;		/* of the process; NULL: not told */

	/* STEP_SPACE */
	bool incomplete;		/* it has areas that nobody told of */
	const struct vmspace_area *areas;
	size_t area_count;
	struct vmspace_image image;
	struct vmspace_config config;	/* STEP_LIMITS too */

	/* STEP_CALL */
	const char *call;		/* its name */
	const char *site;		/* where in the program it was made; NULL: not told */
	bool has_request;		/* libvmspace models it */
	bool touches;			/* request is a fault that nobody is told of */
	bool has_before;
	struct vmspace_request request;	/* with what the kernel answered in .host */
	struct vmspace_request before;	/* one that comes before it */
	bool falsified;			/* by --inject */
	const struct anon_choice *choices;	/* before the call: see guess.h */
	size_t choice_count;

	/* STEP_CALL, STEP_COPY */
	const struct step_answer *answers, *answers_again;
	size_t answer_count, again_count;

	/* STEP_CALL, STEP_COPY, STEP_SEEN */
	const struct step_stack *stacks;
	size_t stack_count;
	const struct step_rename *renames;
	size_t rename_count;
	const unsigned int *uffd_ends;	/* contexts of userfaultfds that have ended */
	size_t uffd_end_count;

	/* STEP_END */
	const char *occasion;		/* "exit", "exec", "detach" */
	bool has_hash;
	unsigned long areas_at_end;
	uint64_t hash;			/* of all areas: hash_maps() */
};

#endif
