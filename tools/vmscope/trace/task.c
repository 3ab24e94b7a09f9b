/* SPDX-License-Identifier: MIT */
/* The traced threads, and which of them share an address space. */
#include "trace/task.h"

#include <assert.h>
#include <stdlib.h>

static struct task **bucket(struct task_table *table, pid_t tid)
{
	return &table->buckets[(unsigned int)tid % TASK_BUCKETS];
}

struct task *task_find(const struct task_table *table, pid_t tid)
{
	struct task *task = table->buckets[(unsigned int)tid % TASK_BUCKETS];

	while (task && task->tid != tid)
		task = task->next;
	return task;
}

static void link_task(struct task_table *table, struct task *task)
{
	struct task **head = bucket(table, task->tid);

	task->next = *head;
	*head = task;
}

static void unlink_task(struct task_table *table, struct task *task)
{
	struct task **link = bucket(table, task->tid);

	while (*link != task)
		link = &(*link)->next;
	*link = task->next;
}

struct task *task_add(struct task_table *table, pid_t tid, pid_t tgid)
{
	struct task *task = calloc(1, sizeof(*task));

	assert(!task_find(table, tid));
	if (!task)
		return NULL;
	task->tid = tid;
	task->tgid = tgid;
	link_task(table, task);
	if (++table->count > table->peak)
		table->peak = table->count;
	return task;
}

void task_remove(struct task_table *table, struct task *task)
{
	assert(!task->space);
	unlink_task(table, task);
	table->count--;
	free(task->pending);
	free(task);
}

void task_rename(struct task_table *table, struct task *task, pid_t tid)
{
	unlink_task(table, task);
	task->tid = tid;
	assert(!task_find(table, tid));
	link_task(table, task);
}

struct task *task_in_group(const struct task_table *table, pid_t tgid, const struct task *not)
{
	for (size_t i = 0; i < TASK_BUCKETS; i++)
		for (struct task *task = table->buckets[i]; task; task = task->next)
			if (task->tgid == tgid && task != not)
				return task;
	return NULL;
}

void task_each(struct task_table *table, void (*visit)(struct task *task, void *ctx), void *ctx)
{
	for (size_t i = 0; i < TASK_BUCKETS; i++) {
		struct task *next;

		for (struct task *task = table->buckets[i]; task; task = next) {
			next = task->next;
			visit(task, ctx);
		}
	}
}

void task_table_clear(struct task_table *table)
{
	for (size_t i = 0; i < TASK_BUCKETS; i++)
		while (table->buckets[i]) {
			struct task *task = table->buckets[i];

			table->buckets[i] = task->next;
			free(task->pending);
			free(task);
		}
	while (table->spaces) {
		struct space *space = table->spaces;

		assert(!space->mirror);
		table->spaces = space->next;
		free(space);
	}
	table->count = 0;
}

struct space *space_add(struct task_table *table)
{
	struct space *space = calloc(1, sizeof(*space));

	if (!space)
		return NULL;
	space->id = ++table->next_space;
	space->next = table->spaces;
	table->spaces = space;
	return space;
}

void space_join(struct space *space, struct task *task)
{
	assert(!task->space);
	task->space = space;
	space->tasks++;
	space->live++;
}

static void leave_queue(struct space *space, struct task *task)
{
	struct task *before = NULL;

	for (struct task *at = space->waiting; at; before = at, at = at->next_waiting) {
		if (at != task)
			continue;
		if (before)
			before->next_waiting = task->next_waiting;
		else
			space->waiting = task->next_waiting;
		if (space->waiting_last == task)
			space->waiting_last = before;
		return;
	}
}

void space_leave(struct task_table *table, struct task *task)
{
	struct space *space = task->space;
	struct space **link = &table->spaces;

	if (!space)
		return;
	task->space = NULL;
	if (space->owner == task)
		space->owner = NULL;
	leave_queue(space, task);
	if (!task->exiting)
		space->live--;
	assert(space->tasks > 0 && space->live < space->tasks);
	if (--space->tasks > 0)
		return;
	assert(!space->mirror);
	while (*link != space)
		link = &(*link)->next;
	*link = space->next;
	free(space);
}

static void own(struct space *space, struct task *task)
{
	assert(!space->owner);
	space->owner = task;
	task->state = TASK_IN_CALL;
	space->asleep = 0;
}

bool space_enter(struct space *space, struct task *task)
{
	assert(task->space == space && task->state == TASK_RUNNING);
	if (!space->owner && !space->waiting) {
		own(space, task);
		return true;
	}
	task->state = TASK_WAITING;
	task->next_waiting = NULL;
	if (space->waiting_last)
		space->waiting_last->next_waiting = task;
	else
		space->waiting = task;
	space->waiting_last = task;
	return false;
}

void space_withdraw(struct space *space, struct task *task)
{
	if (task->state != TASK_WAITING)
		return;
	leave_queue(space, task);
	task->state = TASK_RUNNING;
}

void space_release(struct space *space)
{
	assert(space->owner);
	space->owner = NULL;
}

struct task *space_next(struct space *space)
{
	struct task *task = space->waiting;

	if (!task || space->owner)
		return NULL;
	leave_queue(space, task);
	own(space, task);
	return task;
}
