/* SPDX-License-Identifier: MIT */
/* outcome.h - what a request reports: errors, their reasons, events. */
#ifndef VMSPACE_OUTCOME_H
#define VMSPACE_OUTCOME_H

#include "rules.h"
#include "space.h"

/* Does the rule apply, now that the request depends on it? Recorded in the outcome. */
static inline bool rule_decides(const struct vmspace *space, enum rule rule)
{
	if (space->out)
		space->out->rules[rule / 64] |= UINT64_C(1) << (rule % 64);
	return rule_applies(&space->config, rule);
}

/* libvmspace itself has run out of memory: mark the outcome, return -ENOMEM. */
long outcome_no_memory(struct vmspace *space);
/* Set the outcome's explanation (a static string), return err. */
long outcome_fail(struct vmspace *space, long err, const char *why);
/*
 * A limit refuses the request with `err`. Returns err; or 0 if the host let the request pass (its
 * limit is not ours), which is recorded as a difference.
 */
long outcome_limit(struct vmspace *space, long err, const char *why);

/* Report an event to the hooks, and record it for the request being completed. */
void outcome_event(struct vmspace *space, enum vmspace_event_kind kind, unsigned long start,
		   unsigned long end, unsigned long at);
void outcome_merge_event(struct vmspace *space, enum vma_verdict verdict, unsigned long start,
			 unsigned long end, unsigned long at, vma_flags_t differ);
/* Report a resolved page fault to the hooks. The area's lock is held. */
void outcome_fault_event(const struct vmspace *space, const struct vmspace_page *page);

#endif
