/* SPDX-License-Identifier: MIT */
/* What the kernel tells of all spaces: each event is held back until it is its turn. */
#include "watch/events.h"

#include <stdlib.h>
#include <string.h>

#include "base/now.h"
#include "watch/areas.h"

enum { LOOK_TRIES = 100 };

static void out_of_memory(struct follow *follow)
{
	session_fail(follow->session, "out of memory");
}

/* ---- spaces --------------------------------------------------------------------------------- */

static struct followed *find(struct follow *follow, __u64 name, bool make)
{
	struct followed *found = mtree_load(&follow->spaces, name);

	if (found || !make)
		return found;
	found = calloc(1, sizeof(*found));
	if (!found || mtree_store(&follow->spaces, name, found, GFP_KERNEL) != 0) {
		free(found);
		out_of_memory(follow);
		return NULL;
	}
	found->name = name;
	order_init(&found->order);
	return found;
}

static void begin(struct follow *follow, struct followed *at, const struct watch_head *head)
{
	at->space = watched_new(follow->session, ++follow->last_id, (pid_t)head->pid,
				(pid_t)head->tid, &follow->paused);
	if (!at->space)
		out_of_memory(follow);
	else
		follow->live++;
}

/* Events were lost, and may have been of this space. */
static void doubt_lost(struct followed *at)
{
	if (at->space)
		watched_doubt(at->space, "what lost events would have told");
	order_skip(&at->order);
}

/* Where @head is heard of only after a loss: what was lost may have happened to the space since. */
static void doubt_since(const struct follow *follow, struct followed *at,
			const struct watch_head *head)
{
	if (head->time < follow->lost_at)
		doubt_lost(at);
}

/* Frees all but the name, by which events that may still come are known to be of no use. */
static void leave(struct follow *follow, struct followed *at)
{
	if (at->space) {
		watched_free(at->space);
		follow->live--;
	}
	at->space = NULL;
	order_clear(&at->order);
	free(at->areas);
	at->areas = NULL;
	at->count = at->capacity = 0;
	at->left = true;
}

void events_drop(struct follow *follow, struct followed *at)
{
	leave(follow, at);
	mtree_erase(&follow->spaces, at->name);
	free(at);
}

void events_end(struct follow *follow, struct followed *at)
{
	if (at->gone)
		events_drop(follow, at);
	else
		leave(follow, at);
}

bool events_check_lost(struct follow *follow)
{
	unsigned long lost = feed_lost(follow->feed);
	struct followed *at;
	unsigned long name = 0;

	if (lost == follow->lost)
		return false;
	follow->session->totals.events_lost += lost - follow->lost;
	log_set_time(follow->session, 0);
	log_gap(follow->session, lost - follow->lost);
	follow->lost = lost;
	follow->lost_at = now_ns();
	mt_for_each(&follow->spaces, at, name, ULONG_MAX) {
		doubt_lost(at);
		at->looking &= follow->finishes; /* what it shows may have been lost */
	}
	return true;
}

/* Has its areas shown. */
static void ask(struct follow *follow, struct followed *at)
{
	if (!at->looking)
		at->looking = feed_look(follow->feed, at->space->pid, false) == 0;
}

/*
 * Mostly they arrive in order; after an exec some kernels have them shown by parts, and some twice.
 */
static void add_area(struct follow *follow, struct followed *at, const struct watch_area *area)
{
	size_t place = at->count;

	while (place > 0 && at->areas[place - 1].start > area->start)
		place--;
	if (place > 0 && at->areas[place - 1].start == area->start)
		return;
	if (at->count == at->capacity) {
		size_t capacity = at->capacity ? at->capacity * 2 : 64;
		struct watch_area *larger = realloc(at->areas, capacity * sizeof(*larger));

		if (!larger) {
			out_of_memory(follow);
			return;
		}
		at->areas = larger;
		at->capacity = capacity;
	}
	memmove(&at->areas[place + 1], &at->areas[place], (at->count++ - place) * sizeof(*area));
	at->areas[place] = *area;
}

/* ---- events, when it is their turn ---------------------------------------------------------- */

static void tell(struct follow *follow, const char *type, const struct watch_head *head,
		 unsigned int space, const char *key, int value)
{
	const struct log_who who = { (pid_t)head->pid, (pid_t)head->tid, space };
	struct json_object *detail = NULL;

	if (key) {
		detail = json_object_new_object();
		json_object_object_add(detail, key, json_object_new_int(value));
	}
	log_event(follow->session, type, &who, detail);
}

static void drain(struct follow *follow, struct followed *at, __u64 name);

static void made_process(struct follow *follow, struct followed *at, const struct waiting *waiting,
			 const struct watch_space_event *event)
{
	struct followed *child = find(follow, event->head.space, true);
	const unsigned long rereads = follow->session->totals.rereads;

	follow->session->totals.processes++;
	follow->session->totals.threads++;
	follow->session->totals.forks++;
	if (!child || child->space || !at->space)
		return;
	begin(follow, child, &event->head);
	if (!child->space)
		return;
	child->users = 1;
	if (at->space->vm && !(waiting->turn && waiting->after))
		watched_fork(at->space, child->space, event, waiting->areas, waiting->count);
	else if (event->shown)
		watched_begin(child->space, event, &waiting->limits, waiting->areas, waiting->count,
			      true);
	doubt_since(follow, child, &event->head);
	if (!event->shown)
		ask(follow, child);
	if (follow->session->totals.rereads != rereads) /* the parent is to be read again, too */
		ask(follow, at);
	tell(follow, "fork", &event->head, child->space->id, "parent", (int)event->parent);
	drain(follow, child, event->head.space);
}

/* A thread; or, by vfork, a process, which uses its parent's space until it executes a program. */
static void made_sharer(struct follow *follow, struct followed *at,
			const struct watch_space_event *event)
{
	const bool thread = event->head.tid != event->head.pid;
	struct totals *totals = &follow->session->totals;

	totals->threads++;
	totals->processes += !thread;
	totals->forks += !thread;
	at->users += !thread;
	if (at->space) {
		at->space->shared = true;
		tell(follow, thread ? "thread" : "vfork", &event->head, at->space->id, "parent",
		     (int)event->parent);
	}
}

static void executed(struct follow *follow, struct followed *at, const struct waiting *waiting,
		     const struct watch_space_event *event)
{
	struct followed *new = find(follow, event->head.space, true);
	const struct log_who who = { (pid_t)event->head.pid, (pid_t)event->head.tid,
				     at->space ? at->space->id : 0 };

	follow->session->totals.execs++;
	/* After vfork, the parent still uses the space. */
	if (at->users > 1) {
		at->users--;
	} else {
		if (at->space && at->space->vm)
			watched_end(at->space, &who, "exec");
		events_end(follow, at);
	}
	if (!new || new->space)
		return;
	if (event->is_32) {
		session_say("process %d (%s) is a 32-bit program now: it is not followed any more",
			    who.pid, event->command);
		follow->session->totals.unfollowed++;
		return;
	}
	begin(follow, new, &event->head);
	if (!new->space)
		return;
	new->users = 1;
	if (event->shown)
		watched_begin(new->space, event, &waiting->limits, waiting->areas, waiting->count,
			      false);
	else
		ask(follow, new);
	doubt_since(follow, new, &event->head);
	tell(follow, "exec", &event->head, new->space->id, NULL, 0);
	drain(follow, new, event->head.space);
}

/* The last thread of @at has ended, by @end; its space, whose areas @last shows, ends with it. */
static void end_space(struct follow *follow, struct followed *at, const struct waiting *waiting,
		      const struct watch_space_event *end, const struct watch_space_event *last)
{
	const struct log_who who = { (pid_t)end->head.pid, (pid_t)end->head.tid,
				     at->space ? at->space->id : 0 };
	const struct watch_head head = end->head; /* @end may be a part of @at, which is freed */
	const int status = end->status;

	if (at->space && at->space->vm) {
		watched_compare(at->space, last, waiting->areas, waiting->count);
		if (!last->shown) {
			session_say("process %d (%s) was not compared at its end: its areas were "
				    "not all shown", who.pid, at->space->command);
			follow->session->totals.unfollowed++;
		}
		watched_end(at->space, &who, "exit");
	}
	events_end(follow, at);
	tell(follow, "exit", &head, who.space, "status", status);
}

static void ended(struct follow *follow, struct followed *at, const struct waiting *waiting,
		  const struct watch_space_event *event)
{
	if (!event->last)
		return;
	if (at->users > 1) {
		at->users--;
		tell(follow, "exit", &event->head, at->space ? at->space->id : 0, "status",
		     event->status);
	} else if (event->last == WATCH_LAST_SHOWN_LATER && at->space) {
		at->ended = true;
		at->end = *event;
	} else {
		end_space(follow, at, waiting, event, event);
	}
}

/* A space is no more: its process has ended, or executes another program. */
static void gone(struct follow *follow, struct followed *at, const struct waiting *waiting,
		 const struct watch_space_event *event)
{
	at->gone = true;
	if (at->ended)
		end_space(follow, at, waiting, &at->end, event);
	else if (at->space && at->space->vm)
		watched_compare(at->space, event, waiting->areas, waiting->count);
}

/* The space of a process that ran before: begins with what is shown now. */
static void looked(struct follow *follow, struct followed *at, const struct waiting *waiting,
		   struct watch_space_event *event)
{
	/*
	 * Where they are shown one by one, the next turn may have been told of before that they are
	 * all.
	 */
	if (event->head.after != at->order.over)
		event->shown = 0;
	if (!event->shown && at->looking && (at->tries++ < LOOK_TRIES || follow->finishes) &&
	    feed_look(follow->feed, at->space->pid, false) == 0)
		return;
	at->looking = false;
	at->tries = 0;
	if (follow->first == 0)
		follow->first = at->name;
	if (at->space && at->space->vm) {
		watched_limits(at->space, &event->head, &waiting->limits);
		watched_compare(at->space, event, waiting->areas, waiting->count);
		if (event->shown && event->head.time >= follow->lost_at)
			order_whole(&at->order);
		doubt_since(follow, at, &event->head);
		return;
	}
	if (event->is_32) {
		session_fail(follow->session, "cannot watch process %d (%s): it is a 32-bit program",
			     (int)event->head.pid, event->command);
		return;
	}
	/* A command is followed from its exec on, not from vmscope's fork. */
	if (at->users == 0)
		at->users = 1;
	if (!event->shown || (follow->session->options->command && follow->last_id == 0))
		return;
	if (!at->space)
		begin(follow, at, &event->head);
	if (!at->space)
		return;
	watched_begin(at->space, event, &waiting->limits, waiting->areas, waiting->count, true);
	follow->attached |= at->name == follow->first;
	/* Threads may be in calls that they had entered before. */
	watched_doubt(at->space, "calls that began before it was attached to");
	doubt_since(follow, at, &event->head);
	tell(follow, "attach", &event->head, at->space->id, NULL, 0);
}

/*
 * Whether the call is one on a userfaultfd that was made by another process, mostly the parent, and
 * so changes that one's areas, in an order with its own calls that nobody knows.
 */
static bool is_of_other(struct follow *follow, const struct watch_call_event *call)
{
	struct followed *other;

	if (!call->has_memory || !call->memory.other)
		return false;
	other = find(follow, call->memory.other, false);
	if (call->result == 0 && other && other->space)
		watched_used(other->space, (pid_t)call->head.pid);
	return true;
}

static void apply(struct follow *follow, struct followed *at, struct waiting *waiting)
{
	const struct watch_head *head = waiting->event;
	const struct watch_space_event *event = (const void *)head;

	/* Its areas prove nothing if an event was lost that had led to them. */
	if (waiting->count > 0)
		events_check_lost(follow);
	log_set_time(follow->session, head->time);
	switch (head->kind) {
	case WATCH_CALL:
		if (is_of_other(follow, (const void *)head))
			break;
		if (at->space && at->space->vm)
			watched_call(at->space, (const void *)head, waiting->stack);
		break;
	case WATCH_TASK:
		if (event->from != head->space) {
			made_process(follow, at, waiting, event);
			break;
		}
		made_sharer(follow, at, event);
		break;
	case WATCH_EXEC:
		executed(follow, at, waiting, event);
		break;
	case WATCH_EXIT:
		ended(follow, at, waiting, event);
		break;
	case WATCH_GONE:
		gone(follow, at, waiting, event);
		break;
	case WATCH_UFFD_END:
		if (at->space && at->space->vm)
			watched_uffd_end(at->space, (const void *)head);
		break;
	case WATCH_LIMITS_SET:
		if (at->space && at->space->vm)
			watched_limits(at->space, head,
				       &((const struct watch_limits_event *)head)->limits);
		break;
	case WATCH_LOOK:
		looked(follow, at, waiting, (void *)waiting->event);
		break;
	default:
		break;
	}
}

static void drain(struct follow *follow, struct followed *at, __u64 name)
{
	struct waiting *waiting;

	while (mtree_load(&follow->spaces, name) == at && !at->left && !follow->session->failed &&
	       (waiting = order_next(&at->order))) {
		apply(follow, at, waiting);
		order_free(waiting);
	}
}

/* ---- events, as they arrive ----------------------------------------------------------------- */

static size_t size_of(const struct watch_head *head)
{
	const struct watch_call_event *call = (const void *)head;

	switch (head->kind) {
	case WATCH_CALL:
		if (call->has_memory)
			return WATCH_CALL_MEMORY;
		return !call->near_count ? WATCH_CALL_SHORT : call->near_count <= WATCH_MADE ?
		       WATCH_CALL_NEAR : WATCH_CALL_NEAR + call->near[WATCH_MADE].path_size;
	case WATCH_TURN:
		return sizeof(*head);
	case WATCH_UFFD_END:
		return sizeof(struct watch_uffd_event);
	case WATCH_LIMITS_SET:
		return sizeof(struct watch_limits_event);
	default:
		return sizeof(struct watch_space_event);
	}
}

/* Whose order the event is in: a fork and an exec are in that of the space they leave. */
static __u64 ordered_in(const struct watch_head *head)
{
	const struct watch_space_event *event = (const void *)head;

	return head->kind == WATCH_TASK || head->kind == WATCH_EXEC ? event->from : head->space;
}

/* Whether the event is a struct watch_space_event. */
static bool tells_of_areas(const struct watch_head *head)
{
	switch (head->kind) {
	case WATCH_CALL:
	case WATCH_TURN:
	case WATCH_UFFD_END:
	case WATCH_LIMITS_SET:
		return false;
	default:
		return true;
	}
}

/* Only if there are as many areas as the kernel counts are these all. */
static void check_shown(struct waiting *waiting)
{
	struct watch_space_event *event = (void *)waiting->event;

	if (waiting->count == 0 || waiting->count != event->count)
		event->shown = 0;
}

/* A copy of the event, with what has arrived for it: areas and limits. NULL: out of memory. */
static struct waiting *copy(struct followed *shown, const struct watch_head *head)
{
	struct waiting *waiting = order_copy(head, size_of(head), head->areas ? shown->areas : NULL,
					     head->areas ? shown->count : 0);

	if (!waiting)
		return NULL;
	if (tells_of_areas(head))
		check_shown(waiting);
	if (ordered_in(head) != head->space || head->kind == WATCH_LOOK) {
		waiting->limits = shown->limits;
		shown->limits.told = 0;
	}
	if (head->areas) {
		shown->areas = NULL;
		shown->count = shown->capacity = 0;
	}
	return waiting;
}

void events_hear(void *ctx, const struct watch_head *head)
{
	struct follow *follow = ctx;
	struct followed *shown = find(follow, head->space, true), *at;
	struct waiting *waiting;
	__u64 name = ordered_in(head);

	if (!shown || follow->session->failed)
		return;
	follow->heard = head->time;
	if (shown->left) { /* taken down when it has ended already: somebody looked at it */
		if (head->kind == WATCH_GONE)
			events_drop(follow, shown);
		return;
	}
	if (head->kind == WATCH_LIMITS) {
		shown->limits = ((const struct watch_limits_event *)head)->limits;
		return;
	}
	if (head->kind == WATCH_AREA) {
		const struct watch_area_event *event = (const void *)head;
		const struct watch_area area = areas_named(&event->area, event->path);

		add_area(follow, shown, &area);
		return;
	}
	at = name == head->space ? shown : find(follow, name, true);
	waiting = at ? copy(shown, head) : NULL;
	if (!waiting) {
		out_of_memory(follow);
		return;
	}
	if (head->kind == WATCH_CALL)
		waiting->stack = feed_stack(follow->feed, head);
	if (name != head->space) {
		waiting->turn = ((const struct watch_space_event *)head)->from_turn;
		/*
		 * Of a fork that was under way when the space was shown, only the child is known.
		 */
		waiting->after = waiting->turn && waiting->turn <= at->order.over;
	} else if (head->kind == WATCH_GONE && !at->space && !at->order.first) {
		order_free(waiting); /* it has not begun: the fork has failed */
		events_drop(follow, at);
		return;
	}
	/* A child that was made before its parent was begun with: it begins as its parent does. */
	if (head->kind == WATCH_TASK && name != head->space && !at->space && at->users > 0 &&
	    follow->session->options->attach)
		feed_look(follow->feed, (pid_t)head->pid, false);
	/* A call that had changed areas before they were shown, and has returned only now. */
	if (head->kind == WATCH_CALL && head->turn && head->turn <= at->order.over) {
		order_free(waiting);
		return;
	}
	if (head->kind == WATCH_LOOK && !((struct watch_space_event *)waiting->event)->shown)
		waiting->after = 0; /* nothing has to come before it */
	if (head->kind == WATCH_LOOK && waiting->after >= at->order.over &&
	    (!at->space || !at->space->vm))
		order_begin(&at->order, waiting, waiting->after);
	else
		order_add(&at->order, waiting);
	/* A child's events wait until its parent has come as far as the fork. */
	if (at->space || head->kind == WATCH_LOOK || follow->last_id == 0)
		drain(follow, at, name);
}
