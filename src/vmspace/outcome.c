/* SPDX-License-Identifier: MIT */
/* outcome.c - errors, reasons and events of a request, kept in its outcome and told to hooks. */
#include <assert.h>
#include <errno.h>

#include "outcome.h"
#include "sync.h"

long outcome_no_memory(struct vmspace *space)
{
	if (space->out) {
		space->out->out_of_memory = true;
		space->out->why = "libvmspace has no memory left";
	}
	return -ENOMEM;
}

long outcome_fail(struct vmspace *space, long err, const char *why)
{
	assert(err <= 0);
	if (space->out)
		space->out->why = why;
	return err;
}

long outcome_limit(struct vmspace *space, long err, const char *why)
{
	outcome_fail(space, err, why);
	if (!space->host_succeeded)
		return err;
	if (space->out)
		space->out->differs = true;
	return 0;
}

/* Where the next event is to be written: into the outcome, or if there is no place to *lost. */
static struct vmspace_event *next_event(struct vmspace *space, struct vmspace_event *lost)
{
	struct vmspace_outcome *out = space->out;

	space->changes++;
	if (out && out->event_count < VMSPACE_EVENT_MAX)
		return &out->events[out->event_count++];
	if (out)
		out->events_lost++;
	return lost;
}

/* Every event of areas passes here, when it is written. */
static void report(const struct vmspace *space, const struct vmspace_event *event)
{
	const struct vmspace_hooks *hooks = space->config.hooks;

	if (hooks && hooks->event)
		hooks->event(hooks->ctx, event);
}

void outcome_event(struct vmspace *space, enum vmspace_event_kind kind, unsigned long start,
		   unsigned long end, unsigned long at)
{
	struct vmspace_event lost, *event = next_event(space, &lost);

	assert(start < end);
	*event = (struct vmspace_event){ .kind = kind, .start = start, .end = end, .at = at };
	if (kind == VMSPACE_EVENT_SPLIT)
		space->splits++;
	report(space, event);
}

void outcome_merge_event(struct vmspace *space, enum vma_verdict verdict, unsigned long start,
			 unsigned long end, unsigned long at, vma_flags_t differ)
{
	struct vmspace_event lost, *event = next_event(space, &lost);

	assert(start < at && at < end);
	*event = (struct vmspace_event){
		.kind = verdict == VMA_MERGED ? VMSPACE_EVENT_MERGE : VMSPACE_EVENT_NO_MERGE,
		.verdict = verdict, .start = start, .end = end, .at = at,
		.flags_differ = differ,
	};
	if (verdict == VMA_MERGED)
		space->merges++;
	report(space, event);
}

void outcome_fault_event(const struct vmspace *space, const struct vmspace_page *page)
{
	const struct vmspace_hooks *hooks = sync_hooks(space);

	if (hooks && hooks->fault)
		hooks->fault(hooks->ctx, page);
}
