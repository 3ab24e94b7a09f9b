/* SPDX-License-Identifier: MIT */
/* A program that is watched, from its start, or from now, to its end. */
#include "watch/follow.h"

#include <errno.h>
#include <fcntl.h>
#include <mapletree/maple_tree.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/now.h"
#include "log/site_names.h"
#include "watch/areas.h"
#include "watch/feed.h"
#include "watch/order.h"
#include "watch/space.h"

enum { POLL_MS = 50, LOOK_MS = 5, LOOK_TRIES = 100, LOOK_SECONDS = 1, PATIENCE_MS = 2000, STACKS_MS = 1000 };

/* An address space by the kernel's name for it. */
struct followed {
	__u64 name;
	struct watched *space;		/* NULL: it ended, or has not begun */
	struct order order;
	struct watch_area *areas;	/* that have arrived, for the event that follows them */
	size_t count, capacity;
	unsigned int users;		/* processes: several after vfork */
	bool looking;			/* asked to be shown */
	unsigned int tries;		/* in which its areas were being changed */
	unsigned int missing;		/* looks at which there was no such process */
	__u64 lost_at;			/* when events were found to be lost */
	bool gone;			/* no event of it will come */
	bool left;			/* nobody uses it any more; it is kept until it is gone */
	bool ended;			/* by `end`; its areas will be shown when they are taken down */
	struct watch_space_event end;
};

struct follow {
	struct watch_run *run;
	struct session *session;
	struct feed *feed;
	struct maple_tree spaces;	/* kernel's name -> struct followed */
	unsigned int last_id, live;
	unsigned long lost, said;	/* events: when we last looked; that the user knows of */
	__u64 heard;			/* when the last event was */
	__u64 first;			/* the space that was asked for */
	bool attached;			/* it has been shown */
	bool finishes;
};

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
	at->space = watched_new(follow->session, ++follow->last_id, (pid_t)head->pid);
	if (!at->space)
		out_of_memory(follow);
	else
		follow->live++;
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

static void drop(struct follow *follow, struct followed *at)
{
	leave(follow, at);
	mtree_erase(&follow->spaces, at->name);
	free(at);
}

static void end_of(struct follow *follow, struct followed *at)
{
	if (at->gone)
		drop(follow, at);
	else
		leave(follow, at);
}

/* Has its areas shown. */
static void ask(struct follow *follow, struct followed *at)
{
	if (!at->looking)
		at->looking = feed_look(follow->feed, at->space->pid, false) == 0;
}

/* Mostly they arrive in order; after an exec some kernels have them shown by parts, and some twice. */
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
		watched_begin(child->space, event, waiting->areas, waiting->count, true);
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
	if (at->space)
		tell(follow, thread ? "thread" : "vfork", &event->head, at->space->id, "parent",
		     (int)event->parent);
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
		end_of(follow, at);
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
		watched_begin(new->space, event, waiting->areas, waiting->count, false);
	else
		ask(follow, new);
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
		if (!last->shown)
			follow->session->totals.unfollowed++;
		watched_end(at->space, &who, "exit");
	}
	end_of(follow, at);
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
	/* Where they are shown one by one, the next turn may have been told of before that they are all. */
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
		watched_compare(at->space, event, waiting->areas, waiting->count);
		if (event->head.time < at->lost_at) /* what was lost may be later */
			at->space->unsure++;
		else if (event->shown)
			order_whole(&at->order);
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
	watched_begin(at->space, event, waiting->areas, waiting->count, true);
	follow->attached |= at->name == follow->first;
	at->space->unsure = 1; /* threads may be in calls that they had entered before */
	tell(follow, "attach", &event->head, at->space->id, NULL, 0);
}

static void apply(struct follow *follow, struct followed *at, struct waiting *waiting)
{
	const struct watch_head *head = waiting->event;
	const struct watch_space_event *event = (const void *)head;

	log_set_time(follow->session, head->time);
	switch (head->kind) {
	case WATCH_CALL:
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

/* Only if there are as many areas as the kernel counts are these all. */
static void check_shown(struct waiting *waiting)
{
	struct watch_space_event *event = (void *)waiting->event;

	if (waiting->count == 0 || waiting->count != event->count)
		event->shown = 0;
}

static void heard(void *ctx, const struct watch_head *head)
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
			drop(follow, shown);
		return;
	}
	if (head->kind == WATCH_AREA) {
		const struct watch_area_event *event = (const void *)head;
		const struct watch_area area = areas_named(&event->area, event->path);

		add_area(follow, shown, &area);
		return;
	}
	at = name == head->space ? shown : find(follow, name, true);
	waiting = at ? order_copy(head, size_of(head), head->areas ? shown->areas : NULL,
				  head->areas ? shown->count : 0) : NULL;
	if (!waiting) {
		out_of_memory(follow);
		return;
	}
	if (head->kind != WATCH_CALL && head->kind != WATCH_TURN && head->kind != WATCH_UFFD_END)
		check_shown(waiting);
	if (head->areas) {
		shown->areas = NULL;
		shown->count = shown->capacity = 0;
	}
	if (head->kind == WATCH_CALL)
		waiting->stack = feed_stack(follow->feed, head);
	if (name != head->space) {
		waiting->turn = ((const struct watch_space_event *)head)->from_turn;
		/* Of a fork that was under way when the space was shown, only the child is known. */
		waiting->after = waiting->turn && waiting->turn <= at->order.over;
	} else if (head->kind == WATCH_GONE && !at->space && !at->order.first) {
		order_free(waiting); /* it has not begun: the fork has failed */
		drop(follow, at);
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
	if (head->kind == WATCH_LOOK && waiting->after >= at->order.over && (!at->space || !at->space->vm))
		order_begin(&at->order, waiting, waiting->after);
	else
		order_add(&at->order, waiting);
	/* A child's events wait until its parent has come as far as the fork. */
	if (at->space || head->kind == WATCH_LOOK || follow->last_id == 0)
		drain(follow, at, name);
}

/* ---- the run -------------------------------------------------------------------------------- */

/* Events were lost: what they would have told is not known; the areas will be read again. */
static void check_lost(struct follow *follow)
{
	unsigned long lost = feed_lost(follow->feed);
	struct followed *at;
	unsigned long name = 0;

	if (lost == follow->lost)
		return;
	follow->session->totals.events_lost += lost - follow->lost;
	follow->lost = lost;
	mt_for_each(&follow->spaces, at, name, ULONG_MAX) {
		if (at->space)
			at->space->unsure++;
		at->lost_at = now_ns();
		at->looking &= follow->finishes; /* what it shows may have been lost */
		order_skip(&at->order);
	}
}

/* Not each time: a program that makes calls faster than they are followed loses some all the time. */
static void say_lost(struct follow *follow)
{
	if (follow->lost > follow->said)
		session_say("%lu events were lost, as there was no room for them or the kernel left them "
			    "out: areas are read again", follow->lost - follow->said);
	follow->said = follow->lost;
}

/* Its end was among the events that were lost. */
static void end_unseen(struct follow *follow, struct followed *at)
{
	const struct log_who who = { at->space->pid, at->space->pid, at->space->id };

	session_say("process %d has ended unseen", who.pid);
	follow->session->totals.unfollowed++;
	if (at->space->vm)
		watched_end(at->space, &who, "detach");
	end_of(follow, at);
}

static void look_at_all(struct follow *follow)
{
	struct followed *at;
	unsigned long name = 0;

	mt_for_each(&follow->spaces, at, name, ULONG_MAX) {
		int rc = !at->space || at->looking ? 0 : feed_look(follow->feed, at->space->pid, false);

		if (at->space && at->gone)
			rc = -ESRCH;
		if (rc == -ESRCH && at->missing++ > 0 && follow->lost > 0)
			end_unseen(follow, at);
		else if (at->space)
			at->looking = rc == 0;
	}
}

/* Hears what has happened up to now; after a second without stacks, if there are many. */
static void catch_up(struct follow *follow)
{
	const __u64 now = now_ns();

	while (!feed_poll(follow->feed, 0) && follow->heard < now && !follow->session->failed)
		if (now_ns() - now > STACKS_MS * 1000000ULL)
			feed_forgo_stacks(follow->feed);
	check_lost(follow);
}

/* The last comparison of what still runs. */
static void finish(struct follow *follow)
{
	struct followed *at;
	unsigned long name = 0;
	bool waits = true;
	long began;

	follow->finishes = true;
	catch_up(follow);
	began = now_ms();
	look_at_all(follow);
	while (waits && now_ms() < began + PATIENCE_MS && !follow->session->failed) {
		feed_poll(follow->feed, POLL_MS);
		check_lost(follow);
		waits = false;
		name = 0;
		mt_for_each(&follow->spaces, at, name, ULONG_MAX)
			waits |= at->space && (at->looking || at->ended);
	}
	say_lost(follow);
	if (feed_foreign(follow->feed) > 0) {
		session_say("%lu calls came through the entry for 32-bit programs: they are not known",
			    feed_foreign(follow->feed));
		follow->session->totals.unfollowed++;
	}
	log_set_time(follow->session, 0);
	name = 0;
	mt_for_each(&follow->spaces, at, name, ULONG_MAX) {
		if (at->space && at->space->vm) {
			const struct log_who who = { at->space->pid, at->space->pid,
						     at->space->id };

			if (at->looking || at->ended) {
				session_say("process %d was not compared at the end", who.pid);
				follow->session->totals.unfollowed++;
			}
			watched_end(at->space, &who, "detach");
		}
		drop(follow, at);
	}
}

static void watch(struct follow *follow, pid_t child)
{
	struct watch_run *run = follow->run;
	long look = now_ms() + LOOK_SECONDS * 1000;
	bool reaped = child == 0;

	while (!run->stop() && !follow->session->failed && (follow->live > 0 || !reaped)) {
		feed_poll(follow->feed, POLL_MS);
		check_lost(follow);
		if (!reaped && waitpid(child, &run->wait_status, WNOHANG) == child) {
			reaped = run->ended = true;
			run->started(0);
			feed_poll(follow->feed, 0);
		}
		if (now_ms() >= look) {
			look_at_all(follow);
			say_lost(follow);
			log_flush(follow->session);
			look = now_ms() + LOOK_SECONDS * 1000;
		}
	}
}

/* Starts the command, which waits until go_fd is written to. */
static pid_t start(struct watch_run *run, int *go_fd, int *status_fd)
{
	int go[2], status[2];
	pid_t pid;

	if (pipe2(go, O_CLOEXEC) != 0)
		return -errno;
	if (pipe2(status, O_CLOEXEC) != 0) {
		close(go[0]);
		close(go[1]);
		return -errno;
	}
	pid = fork();
	if (pid == 0) {
		char **command = run->session->options->command, byte;

		close(go[1]);
		run->in_child();
		if (read(go[0], &byte, 1) == 1) {
			int error;

			execvp(command[0], command);
			error = errno;
			if (write(status[1], &error, sizeof(error)) != sizeof(error))
				_exit(125);
		}
		_exit(125);
	}
	close(go[0]);
	close(status[1]);
	*go_fd = go[1];
	*status_fd = status[0];
	return pid;
}

static int run_command(struct follow *follow)
{
	struct watch_run *run = follow->run;
	int go = -1, status = -1, rc, error;
	pid_t pid = start(run, &go, &status);

	if (pid < 0)
		return (int)pid;
	run->started(pid);
	follow->session->totals.processes = follow->session->totals.threads = 1;
	rc = feed_look(follow->feed, pid, true);
	if (rc == 0 && write(go, "", 1) != 1)
		rc = -errno;
	close(go);
	if (rc == 0 && read(status, &error, sizeof(error)) == sizeof(error))
		run->exec_error = error;
	close(status);
	if (rc != 0) {
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
		return rc;
	}
	watch(follow, pid);
	return 0;
}

static int run_attached(struct follow *follow)
{
	const pid_t pid = follow->session->options->attach;
	int rc = feed_look(follow->feed, pid, true);
	long until;

	follow->session->totals.processes = follow->session->totals.threads = 1;
	feed_poll(follow->feed, 0);
	/* While its areas are being changed they cannot be shown. */
	for (until = now_ms() + PATIENCE_MS; !follow->attached && rc == 0 && now_ms() < until &&
	     !follow->session->failed;) {
		rc = feed_look(follow->feed, pid, false);
		feed_poll(follow->feed, LOOK_MS);
	}
	if (follow->session->failed)
		return -ENOEXEC;
	if (!follow->attached) {
		session_say("cannot watch process %d: %s", pid, rc == 0 ? "it changes its areas all the time, and "
			    "this kernel cannot show them meanwhile" : rc != -ESRCH ? strerror(-rc) :
			    kill(pid, 0) != 0 && errno == ESRCH ? "there is no such process" :
			    "it has no address space, or is not to be looked at");
		return rc == 0 ? -EBUSY : rc;
	}
	watch(follow, 0);
	return 0;
}

int follow_run(struct watch_run *run)
{
	struct follow follow = { .run = run, .session = run->session };
	int rc = feed_open(&follow.feed, heard, &follow, run->session->options->sites);

	if (rc == -EAGAIN && run->session->options->attach && run->stop())
		return 0; /* the process was let go of before it was attached to */
	if (rc != 0)
		return rc;
	if (feed_why_all(follow.feed) && !run->session->options->quiet)
		session_say("this kernel lets no functions be listened to (%s): the exits of all calls are, "
			    "which costs each call of any process about 0.1 us", feed_why_all(follow.feed));
	mt_init(&follow.spaces);
	rc = run->session->options->command ? run_command(&follow) : run_attached(&follow);
	finish(&follow);
	mtree_destroy(&follow.spaces);
	areas_forget();
	site_names_forget();
	feed_close(follow.feed);
	return rc;
}
