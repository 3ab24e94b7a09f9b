/* SPDX-License-Identifier: MIT */
/* The state of a strace_reader, and its queue of steps: shared by the files that implement it. */
#ifndef VMSCOPE_STRACE_STEPS_H
#define VMSCOPE_STRACE_STEPS_H

#include "base/lines.h"
#include "log/site.h"
#include "log/step.h"
#include "strace/processes.h"
#include "strace/strace_call.h"
#include "strace/symbols.h"

enum { STRACE_STEPS_MAX = 8 };	/* from one line */

struct strace_reader {
	struct lines *lines;		/* not read yet */
	unsigned long line;
	struct strace_processes processes;
	struct maple_tree segments;	/* id -> struct strace_segment, if its size is known */
	struct maple_tree announced;	/* PIDs that a message has named */
	unsigned int tasks;
	bool pkeys;			/* the log shows that the processor has protection keys */
	pid_t unnamed;			/* PID of the lines without one; 0: unknown */
	bool over;			/* the table of -c has begun */
	char *partial;			/* start of a line that a message cut; owned; or NULL */
	double clock, first_clock, days;
	bool has_clock;
	bool is_stamped;		/* its times are of the day, or since 1970 */
	struct step queue[STRACE_STEPS_MAX];
	unsigned int queued, taken;	/* taken <= queued <= STRACE_STEPS_MAX */
	struct strace_call call;		/* a step points into it */
	struct vmspace_request overtaken[STRACE_STEPS_MAX];	/* of these steps */
	char call_name[32];
	char site[SITE_MAX];
	struct symbols *symbols;	/* of the files in stacks */
	bool stacks;			/* wanted: steps have their stack, too */
	char stack[STACK_MAX];		/* filled from its end */
	struct vmspace_area *areas;	/* initial ones of the first process; owned, with names */
	size_t area_count;
	bool no_memory;
	unsigned int uffd_end;		/* a step points to it */
	const char *why;
};

/* Queues a step about @task, to be filled in by the caller. */
struct step *strace_push(struct strace_reader *from, enum step_kind kind,
			 const struct strace_task *task);

/* Queues a step with which the space of @task begins, unless it has begun. */
void strace_push_begin(struct strace_reader *from, struct strace_task *task);

/* Queues a step with which number @space ends; @task was its last user. */
void strace_push_end(struct strace_reader *from, const struct strace_task *task,
		     unsigned int space, const char *occasion);

/* Queues a step for the next userfaultfd that the last line has released. False: there is none. */
bool strace_push_uffd_end(struct strace_reader *from);

/* Notes that memory has run out. Returns false. */
bool strace_out_of_memory(struct strace_reader *from);

/* Frees the initial areas of the first process. */
void strace_free_areas(struct strace_reader *from);

#endif
