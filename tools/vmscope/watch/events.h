/* SPDX-License-Identifier: MIT */
/* What the kernel tells of all spaces: each event is held back until it is its turn. */
#ifndef VMSCOPE_WATCH_EVENTS_H
#define VMSCOPE_WATCH_EVENTS_H

#include <mapletree/maple_tree.h>
#include <stdbool.h>
#include <stddef.h>

#include "watch/event.h"
#include "watch/feed.h"
#include "watch/follow.h"
#include "watch/order.h"
#include "watch/space.h"

/* An address space by the kernel's name for it. */
struct followed {
	__u64 name;
	struct watched *space;		/* NULL: it ended, or has not begun */
	struct order order;
	struct watch_area *areas;	/* that have arrived, for the event that follows them */
	size_t count, capacity;
	struct watch_limits limits;	/* that have arrived for it */
	unsigned int users;		/* processes: several after vfork */
	bool looking;			/* asked to be shown */
	unsigned int tries;		/* in which its areas were being changed */
	unsigned int missing;		/* looks at which there was no such process */
	bool gone;			/* no event of it will come */
	bool left;			/* nobody uses it any more; it is kept until it is gone */
	bool ended;			/* by `end`; its areas are shown when they are taken down */
	struct watch_space_event end;
};

struct follow {
	struct watch_run *run;
	struct session *session;
	struct feed *feed;
	struct maple_tree spaces;	/* kernel's name -> struct followed */
	unsigned int last_id, live;
	unsigned long lost, said;	/* events: when we last looked; that the user knows of */
	__u64 lost_at;			/* when events were last found to be lost; 0: none were */
	__u64 heard;			/* when the last event was */
	__u64 first;			/* the space that was asked for */
	bool attached;			/* it has been shown */
	bool paused;			/* see feed_pause(); the spaces see it, too */
	bool finishes;
};

/* Hears of an event: for feed_open(), with a struct follow. */
void events_hear(void *ctx, const struct watch_head *head);

/*
 * Whether events were lost: what they would have told is not known then; the areas will be read
 * again.
 */
bool events_check_lost(struct follow *follow);

/* Nobody uses the space any more. It is freed, or kept as long as events of it may come. */
void events_end(struct follow *follow, struct followed *at);

/* Frees the space; no event of it will come. */
void events_drop(struct follow *follow, struct followed *at);

#endif
