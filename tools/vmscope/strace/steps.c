/* SPDX-License-Identifier: MIT */
/* The queue of steps of a strace_reader. */
#include "strace/steps.h"

#include <assert.h>
#include <stdlib.h>

#include "strace/default_config.h"

struct step *strace_push(struct strace_reader *from, enum step_kind kind,
			 const struct strace_task *task)
{
	struct step *step;

	assert(from->queued < STRACE_STEPS_MAX);
	step = &from->queue[from->queued++];
	*step = (struct step){
		.kind = kind,
		.line = from->line,
		.time = from->has_clock ? from->clock - from->first_clock : -1,
		.origin = from->is_stamped ? from->first_clock : -1,
		.pid = task->tgid,
		.tid = task->tid,
		.space = task->space->id,
		.command = task->command[0] ? task->command : NULL,
	};
	return step;
}

void strace_push_end(struct strace_reader *from, const struct strace_task *task, unsigned int space,
		     const char *occasion)
{
	struct step *step = strace_push(from, STEP_END, task);

	step->space = space;
	step->command = NULL; /* when it is read, the task may be gone or run another program */
	step->occasion = occasion;
}

bool strace_push_uffd_end(struct strace_reader *from)
{
	struct strace_task *task;
	struct step *step;

	do
		task = strace_uffd_next_end(&from->processes, &from->uffd_end);
	while (task && !task->space->begun);
	if (!task)
		return false;
	step = strace_push(from, STEP_SEEN, task);
	step->uffd_ends = &from->uffd_end;
	step->uffd_end_count = 1;
	return true;
}

void strace_push_begin(struct strace_reader *from, struct strace_task *task)
{
	struct step *step;

	if (task->space->begun)
		return;
	task->space->begun = true;
	step = strace_push(from, STEP_SPACE, task);
	strace_default_config(&step->config);
	step->config.pkeys = from->pkeys;
	step->image.pkeys_unknown = true; /* the log may leave out pkey_alloc() */
	if (from->areas) {
		step->areas = from->areas;
		step->area_count = from->area_count;
		task->space->incomplete = false;
	}
	step->incomplete = task->space->incomplete;
}

bool strace_out_of_memory(struct strace_reader *from)
{
	from->no_memory = true;
	return false;
}

void strace_free_areas(struct strace_reader *from)
{
	for (size_t i = 0; i < from->area_count; i++) {
		free((char *)from->areas[i].backing.name);
		free((char *)from->areas[i].anon_name);
	}
	free(from->areas);
	from->areas = NULL;
	from->area_count = 0;
}
