/* SPDX-License-Identifier: MIT */
/*
 * The traced threads, and which of them share an address space.
 *
 * Calls that change an address space are let into the kernel one at a time. The thread inside such
 * a call owns the address space; others wait, stopped at the entries of theirs. So the mirror sees
 * the calls in the order in which the kernel performed them.
 */
#ifndef VMSCOPE_TRACE_TASK_H
#define VMSCOPE_TRACE_TASK_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/call.h"

struct mirror;
struct pending_call;

enum task_state {
	TASK_UNREPORTED,	/* seen stopped, but not reported by its parent yet */
	TASK_RUNNING,
	TASK_WAITING,	/* stopped at the entry of a call: another task owns the space */
	TASK_IN_CALL,
};

struct space {
	struct space *next;
	unsigned int id;		/* from 1, in order of appearance */
	unsigned int tasks;		/* tasks whose ->space is this */
	unsigned int live;		/* of these, those before their exit stop; live <= tasks */
	struct task *owner;		/* in state TASK_IN_CALL, or NULL */
	unsigned int asleep;		/* consecutive ticks at which the owner was asleep */
	struct task *waiting, *waiting_last;	/* FIFO queue; all TASK_WAITING */
	struct mirror *mirror;		/* NULL: not followed */
};

struct task {
	struct task *next;		/* in the hash chain */
	pid_t tid, tgid;
	enum task_state state;
	bool exiting;			/* past its exit stop */
	bool held;			/* kept stopped until the detach */
	int hold_signal;		/* to deliver at the detach, or 0 */
	int first_status;		/* while attaching: wait status of its first stop, or 0 */
	struct space *space;		/* NULL before the first exec of a started program */
	struct task *next_waiting;
	struct call call;		/* valid in TASK_WAITING and TASK_IN_CALL */
	struct pending_call *pending;	/* of the call; reused; owned */
};

enum { TASK_BUCKETS = 1024 };

struct task_table {
	struct task *buckets[TASK_BUCKETS];
	struct space *spaces;
	unsigned int count, peak;	/* current and maximum number of tasks */
	unsigned int next_space;
};

struct task *task_find(const struct task_table *table, pid_t tid);

/* Creates a task without a space; the table owns it. NULL: out of memory. */
struct task *task_add(struct task_table *table, pid_t tid, pid_t tgid);

/* Removes and frees @task, which must have left its space. */
void task_remove(struct task_table *table, struct task *task);

/* Changes the tid of @task, the only one of its thread group: an exec by a non-leader. */
void task_rename(struct task_table *table, struct task *task, pid_t tid);

/* Any task of thread group @tgid except @not; NULL: there is none. */
struct task *task_in_group(const struct task_table *table, pid_t tgid, const struct task *not);

/* Calls @visit for every task; @visit may remove the task it is given. */
void task_each(struct task_table *table, void (*visit)(struct task *task, void *ctx), void *ctx);

/* Frees all tasks and spaces; the mirrors must be gone. */
void task_table_clear(struct task_table *table);

/*
 * Creates a space without tasks and mirror. The last space_leave() frees it. NULL: out of memory.
 */
struct space *space_add(struct task_table *table);

/* @task starts to use @space. */
void space_join(struct space *space, struct task *task);

/*
 * @task no longer uses its space: it gives up ownership and its place in the queue. If it was the
 * last, the space is freed; the caller must have freed the mirror.
 */
void space_leave(struct task_table *table, struct task *task);

/* Makes @task the owner, or queues it. Returns whether it is the owner now. */
bool space_enter(struct space *space, struct task *task);

/* Removes @task from the queue if it is waiting. */
void space_withdraw(struct space *space, struct task *task);

/* The owner gives up ownership. */
void space_release(struct space *space);

/*
 * Makes the next waiting task the owner and returns it; NULL: none is waiting, or there is an
 * owner.
 */
struct task *space_next(struct space *space);

#endif
