/* SPDX-License-Identifier: MIT */
/* A program that is watched, from its start, or from now, to its end. */
#include "watch/follow.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/now.h"
#include "log/site_names.h"
#include "mirror/reason.h"
#include "watch/areas.h"
#include "watch/events.h"

enum { POLL_MS = 50, LOOK_MS = 5, LOOK_SECONDS = 1, PATIENCE_MS = 2000, STACKS_MS = 1000,
       UNSEEN_LOOKS = 3 };

/* Not each time: a program that makes calls faster than they are followed loses some all the time. */
static void say_lost(struct follow *follow)
{
	if (follow->lost > follow->said)
		session_say("%lu events were lost, as calls came faster than they could be read, "
			    "or the kernel left them out: areas are read again. It helps to give "
			    "vmscope more processor time (nice)%s", follow->lost - follow->said,
			    follow->session->options->sites ? " or to do without --stacks" : "");
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
	events_end(follow, at);
}

/*
 * Nothing will be told any more of @at, whose process was not there at a number of looks by which
 * all events had been heard: its end was lost; or, if no event was, the kernel has not told it.
 */
static bool is_over(const struct follow *follow, const struct followed *at)
{
	if (follow->lost > 0)
		return at->missing > 1;
	return at->missing > UNSEEN_LOOKS && at->users <= 1 && !at->ended;
}

static void look_at_all(struct follow *follow, bool heard_all)
{
	struct followed *at;
	unsigned long name = 0;

	mt_for_each(&follow->spaces, at, name, ULONG_MAX) {
		int rc = !at->space || at->looking ? 0 : feed_look(follow->feed, at->space->pid, false);

		if (at->space && at->gone)
			rc = -ESRCH;
		at->missing += rc == -ESRCH && heard_all;
		if (rc == -ESRCH && is_over(follow, at))
			end_unseen(follow, at);
		else if (at->space)
			at->looking = rc == 0;
	}
}

static void pause_calls(struct follow *follow, bool pause)
{
	feed_pause(follow->feed, pause);
	follow->paused = pause;
}

/*
 * Calls come faster than they are heard of: one event after another would be lost, and areas never
 * be shown whole. So a part of them is lost at once, and what comes after is known again.
 */
static void keep_up(struct follow *follow, bool lost, bool behind)
{
	if (!follow->paused && lost && behind) {
		pause_calls(follow, true);
	} else if (follow->paused && !behind) {
		pause_calls(follow, false);
		events_check_lost(follow);
		look_at_all(follow, false);
	}
}

/* Hears what has happened up to now; after a second without stacks, if there are many. */
static void catch_up(struct follow *follow)
{
	const __u64 now = now_ns();

	while (!feed_poll(follow->feed, 0) && follow->heard < now && !follow->session->failed)
		if (now_ns() - now > STACKS_MS * 1000000ULL)
			feed_forgo_stacks(follow->feed);
	events_check_lost(follow);
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
	keep_up(follow, false, false);
	began = now_ms();
	look_at_all(follow, false);
	while (waits && now_ms() < began + PATIENCE_MS && !follow->session->failed) {
		feed_poll(follow->feed, POLL_MS);
		events_check_lost(follow);
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
		events_drop(follow, at);
	}
}

static void watch(struct follow *follow, pid_t child)
{
	struct watch_run *run = follow->run;
	long look = now_ms() + LOOK_SECONDS * 1000;
	bool reaped = child == 0;

	while (!run->stop() && !follow->session->failed && (follow->live > 0 || !reaped)) {
		bool behind = !feed_poll(follow->feed, POLL_MS);

		keep_up(follow, events_check_lost(follow), behind);
		if (!reaped && waitpid(child, &run->wait_status, WNOHANG) == child) {
			reaped = run->ended = true;
			run->started(0);
			feed_poll(follow->feed, 0);
		}
		if (now_ms() >= look) {
			look_at_all(follow, !behind);
			say_lost(follow);
			log_flush(follow->session);
			look = now_ms() + LOOK_SECONDS * 1000;
		}
	}
}

/*
 * Starts the command, which waits until *@go_fd is written to. Returns its pid or -errno;
 * descriptors that are not -1 then are the caller's, too.
 */
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
	if (pid < 0)
		pid = -errno;
	close(go[0]);
	close(status[1]);
	*go_fd = go[1];
	*status_fd = status[0];
	return pid;
}

/* Has the child @pid followed, and lets it execute the command. */
static int let_go(struct follow *follow, pid_t pid, int go, int status)
{
	int rc = feed_look(follow->feed, pid, true), error;

	if (rc != 0)
		return rc;
	if (write(go, "", 1) != 1)
		return -errno;
	if (read(status, &error, sizeof(error)) == sizeof(error))
		follow->run->exec_error = error;
	return 0;
}

static void say_stopped(void)
{
	session_say("nothing was watched: a signal ended it before it had begun");
}

static int run_command(struct follow *follow)
{
	struct watch_run *run = follow->run;
	int go = -1, status = -1, rc;
	pid_t pid = start(run, &go, &status);

	run->started(pid > 0 ? pid : 0); /* what came before is not for it */
	follow->session->totals.processes = follow->session->totals.threads = 1;
	rc = run->stop() ? -EINTR : pid > 0 ? let_go(follow, pid, go, status) : (int)pid;
	if (go >= 0)
		close(go);
	if (status >= 0)
		close(status);
	if (rc == 0) {
		watch(follow, pid);
		return 0;
	}
	if (rc == -EINTR)
		say_stopped();
	else
		session_fail(follow->session, "cannot start a watched program: %s", strerror(-rc));
	if (pid > 0) {
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
	}
	return rc;
}

static int run_attached(struct follow *follow)
{
	const pid_t pid = follow->session->options->attach;
	int rc = feed_look(follow->feed, pid, true);
	char why[REASON_SIZE];
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
		session_say("cannot watch process %d: %s", pid, rc != 0 ? reason_of(pid, rc, why) :
			    "it changes its areas all the time, and this kernel cannot show them "
			    "meanwhile");
		return rc == 0 ? -EBUSY : rc;
	}
	if (!follow->session->options->quiet)
		session_say("watching process %d", pid);
	watch(follow, 0);
	return 0;
}

int follow_run(struct watch_run *run)
{
	struct follow follow = { .run = run, .session = run->session };
	int rc = feed_open(&follow.feed, events_hear, &follow, run->session->options->sites);

	if (rc == -EAGAIN) {
		say_stopped();
		return run->session->options->attach ? 0 : rc; /* it is let go of already */
	}
	if (rc != 0)
		return rc;
	if (feed_why_all(follow.feed) && !run->session->options->quiet)
		session_say("this kernel lets no functions be listened to (%s): the exits of all "
			    "calls are, which costs each call of any process about 0.1 us",
			    feed_why_all(follow.feed));
	mt_init(&follow.spaces);
	rc = run->session->options->command ? run_command(&follow) : run_attached(&follow);
	finish(&follow);
	mtree_destroy(&follow.spaces);
	areas_forget();
	site_names_forget();
	feed_close(follow.feed);
	return rc;
}
