/* SPDX-License-Identifier: MIT */
/*
 * The traced threads, and which of them share an address space.
 *
 * Calls that change one address space are let into the kernel one at a time: the thread inside
 * is the space's owner, others that reached theirs wait stopped. So the mirror sees calls in the
 * order in which the kernel performed them.
 */
#ifndef VMSCOPE_TRACE_TASK_H
#define VMSCOPE_TRACE_TASK_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/call.h"

struct mirror;
struct pending_call;

enum task_state {
	TASK_NEWBORN,	/* seen stopped, its parent's report is still to come */
	TASK_RUNNING,
	TASK_WAITING,	/* stopped at the entry of a call, until the owner of its space is done */
	TASK_IN_CALL,
};

struct space {
	struct space *next;
	unsigned int id;		/* from 1, in order of appearance */
	unsigned int tasks;		/* tasks whose ->space is this */
	unsigned int live;		/* of these, those not past their exit stop; live <= tasks */
	struct task *owner;		/* in state TASK_IN_CALL, or NULL */
	unsigned int asleep;		/* ticks in a row at which the owner was seen asleep */
	struct task *waiting, *waiting_last;	/* first come, first served; all TASK_WAITING */
	struct mirror *mirror;		/* NULL: not followed */
};

struct task {
	struct task *next;		/* in the hash chain */
	pid_t tid, tgid;
	enum task_state state;
	bool exiting;			/* past its exit stop */
	bool held;			/* stopped for good, until it is let go */
	int hold_signal;		/* then: the signal that it gets, or 0 */
	int first_status;		/* while attaching: the wait status of its first stop, or 0 */
	struct space *space;		/* NULL before the first exec of a started program */
	struct task *next_waiting;
	struct call call;		/* valid in TASK_WAITING and TASK_IN_CALL */
	struct pending_call *pending;	/* of the call; kept for the next one; owned */
};

enum { TASK_BUCKETS = 1024 };

struct task_table {
	struct task *buckets[TASK_BUCKETS];
	struct space *spaces;
	unsigned int count, peak;	/* tasks now, and most at once */
	unsigned int next_space;
};

struct task *task_find(const struct task_table *table, pid_t tid);

/* A new task of no space. The table owns it. NULL: out of memory. */
struct task *task_add(struct task_table *table, pid_t tid, pid_t tgid);

/* Takes @task out and frees it. It must have left its space. */
void task_remove(struct task_table *table, struct task *task);

/* Gives @task, which must be alone in its group, another @tid (exec by a thread that did not lead). */
void task_rename(struct task_table *table, struct task *task, pid_t tid);

/* Any task of thread group @tgid other than @not; NULL: none. */
struct task *task_in_group(const struct task_table *table, pid_t tgid, const struct task *not);

/* Calls @visit for every task; it may remove the one it is given. */
void task_each(struct task_table *table, void (*visit)(struct task *task, void *ctx), void *ctx);

/* Frees all tasks and spaces; the mirrors must be gone. */
void task_table_clear(struct task_table *table);

/* A new space without users and without a mirror; freed by space_leave() of its last. NULL: no memory. */
struct space *space_add(struct task_table *table);

/* @task begins to use @space. */
void space_join(struct space *space, struct task *task);

/*
 * @task ceases to use its space: gives up ownership and its place in the queue. If it was the
 * last, the space is taken out of the table and freed; the caller must have ended its mirror.
 */
void space_leave(struct task_table *table, struct task *task);

/* Makes @task the owner, or queues it. True if it is the owner now. */
bool space_enter(struct space *space, struct task *task);

/* @task no longer waits, if it did. */
void space_withdraw(struct space *space, struct task *task);

/* The owner is done. */
void space_release(struct space *space);

/* The next waiting task, made the owner; NULL if none waits or there is an owner. */
struct task *space_next(struct space *space);

#endif
