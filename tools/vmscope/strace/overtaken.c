/* SPDX-License-Identifier: MIT */
/* Calls of which strace(1) prints the end later than that of others, which came after them. */
#include "strace/overtaken.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "log/placed.h"

/* Whether the unfinished call of @task is a munmap() of something in [@first, @last]. */
static bool is_unmapping(const struct strace_task *task, unsigned long first, unsigned long last,
			 struct vmspace_munmap *munmap)
{
	static const char name[] = "munmap(";
	struct strace_text text, args[2];
	uint64_t addr, length;

	if (!task->pending || strncmp(task->pending, name, strlen(name)) != 0)
		return false;
	text.at = task->pending + strlen(name);
	text.length = strlen(text.at);
	if (strace_split(text, args, 2) != 2 || !strace_value(args[0], &addr, NULL) ||
	    !strace_value(args[1], &length, NULL))
		return false;
	munmap->addr = addr;
	munmap->length = length;
	return length && addr <= last && addr + (length - 1) >= first;
}

void strace_push_overtaken(struct strace_reader *from, const struct strace_task *task,
			   const struct vmspace_request *req)
{
	unsigned long index = 0, first, last;
	struct vmspace_munmap munmap;
	struct strace_task *other;
	struct step *step;

	if (from->tasks < 2 || !placed_range(req, &first, &last))
		return;
	mt_for_each(&from->processes.tasks, other, index, ULONG_MAX) {
		if (from->queued + 2 > STRACE_STEPS_MAX)	/* the call's own comes, too */
			return;
		if (other == task || other->space != task->space ||
		    !is_unmapping(other, first, last, &munmap))
			continue;
		free(other->pending);
		other->pending = NULL;	/* so that its end is none of a call known */
		step = strace_push(from, STEP_CALL, other);
		step->call = "munmap";
		from->overtaken[from->queued - 1] = (struct vmspace_request){
			.op = VMSPACE_MUNMAP,
			.munmap = munmap,
			.host.valid = true,	/* and the result 0 */
		};
		step->request = &from->overtaken[from->queued - 1];
	}
}
