/* SPDX-License-Identifier: MIT */
/*
 * watch_follow.c - vmscope watch hears events of the kernel in orders that are rare, from a feed of the
 * test's own: nothing is waited for in vain, and nothing is left out.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/now.h"
#include "log/log.h"
#include "replay/player.h"
#include "watch/feed.h"
#include "watch/follow.h"

enum { POLLS_MOST = 200, STATUS = 768 };
enum { FIRST = 1, CHILD, PROGRAM, CHILD_PROGRAM };	/* names of spaces */
#define AREA 0x100000UL
#define BASE 0x10000000UL
#define READ_PRIVATE 0x71 /* vm_flags of a private area that may be read */

static void (*heard_by)(void *ctx, const struct watch_head *event);
static void *heard_ctx;
static unsigned int looks, polls;
static unsigned long lost; /* events, so far */
static bool behind, paused;
static unsigned long apart;	/* how far: the starts of two areas */
static uint64_t heard_late; /* when events happen; 0: now */
static void (*on_look)(unsigned int look), (*on_poll)(unsigned int poll);

/* ---- the feed --------------------------------------------------------------------------------- */

int feed_open(struct feed **out, void (*heard)(void *ctx, const struct watch_head *event),
	      void *ctx, bool stacks)
{
	(void)stacks;
	*out = NULL;
	heard_by = heard;
	heard_ctx = ctx;
	return 0;
}

void feed_close(struct feed *feed)
{
	(void)feed;
}

bool feed_poll(struct feed *feed, int milliseconds)
{
	(void)feed;
	(void)milliseconds;
	on_poll(polls++);
	return !behind;
}

int feed_look(struct feed *feed, pid_t pid, bool add)
{
	(void)feed;
	(void)pid;
	(void)add;
	on_look(looks++);
	return 0;
}

unsigned long feed_lost(const struct feed *feed)
{
	(void)feed;
	return lost;
}

struct watch_stack_event *feed_stack(struct feed *feed, const struct watch_head *call)
{
	(void)feed;
	(void)call;
	return NULL;
}

void feed_forgo_stacks(struct feed *feed)
{
	(void)feed;
}

void feed_pause(struct feed *feed, bool pause)
{
	(void)feed;
	paused = pause;
}

const char *feed_why_all(const struct feed *feed)
{
	(void)feed;
	return NULL;
}

unsigned long feed_foreign(const struct feed *feed)
{
	(void)feed;
	return 0;
}

/* ---- events ----------------------------------------------------------------------------------- */

static struct watch_head head_of(enum watch_kind kind, __u64 space)
{
	const __u32 pid = (__u32)getpid();

	return (struct watch_head){ .kind = kind, .pid = pid, .tid = pid, .space = space,
				    .time = heard_late ? heard_late : now_ns() };
}

static void area(__u64 space, unsigned int number)
{
	const struct watch_area_event event = {
		.head = head_of(WATCH_AREA, space),
		.area = { .start = BASE + number * apart, .end = BASE + number * apart + 4096,
			  .flags = READ_PRIVATE },
	};

	heard_by(heard_ctx, &event.head);
}

/* The call that makes area @number. */
static void map(__u64 space, __u64 turn, unsigned int number, __u64 prot)
{
	struct watch_call_event event = {
		.head = head_of(WATCH_CALL, space),
		.args = { BASE + number * apart, 4096, prot,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, (__u64)-1, 0 },
		.result = (__s64)(BASE + number * apart), .number = SYS_mmap,
		.near_count = 1, /* area 0, before it */
		.near = { { .start = BASE, .end = BASE + 4096, .flags = READ_PRIVATE } },
	};

	event.head.turn = turn;
	heard_by(heard_ctx, &event.head);
}

static void call(__u64 space, __u64 turn, unsigned int number)
{
	map(space, turn, number, PROT_READ);
}

/* A call on area @number that has succeeded: there is such an area. */
static void call_on(__u64 space, __u64 turn, unsigned int number, long call_number)
{
	struct watch_call_event event = {
		.head = head_of(WATCH_CALL, space),
		.args = { BASE + number * apart, 4096, PROT_READ },
		.number = (__u32)call_number,
	};

	event.head.turn = turn;
	heard_by(heard_ctx, &event.head);
}

/* An event that shows areas 0 to @count - 1; 0: it shows none. */
static struct watch_space_event space_event(enum watch_kind kind, __u64 space, unsigned int count)
{
	struct watch_space_event event = {
		.head = head_of(kind, space), .shown = count > 0, .count = count,
		.mmap_base = 0x7ffff0000000, .command = "test",
	};

	event.head.areas = count;
	for (unsigned int i = 0; i < count; i++)
		area(space, i);
	return event;
}

static void look(__u64 space, __u64 after, unsigned int count)
{
	struct watch_space_event event = space_event(WATCH_LOOK, space, count);

	event.head.after = after;
	heard_by(heard_ctx, &event.head);
}

static void made(enum watch_kind kind, __u64 space, __u64 from, __u64 turn, unsigned int count)
{
	struct watch_space_event event = space_event(kind, space, count);

	event.from = from;
	event.from_turn = turn;
	heard_by(heard_ctx, &event.head);
}

static void ends(__u64 space, __u64 after, unsigned int count)
{
	struct watch_space_event event = space_event(WATCH_EXIT, space, count);

	event.head.after = after;
	event.last = count > 0 ? WATCH_LAST : WATCH_LAST_SHOWN_LATER;
	event.status = STATUS;
	heard_by(heard_ctx, &event.head);
}

static void gone(__u64 space, __u64 after, unsigned int count)
{
	struct watch_space_event event = space_event(WATCH_GONE, space, count);

	event.head.after = after;
	heard_by(heard_ctx, &event.head);
}

/* ---- the tests -------------------------------------------------------------------------------- */

static bool long_enough(void)
{
	return polls >= POLLS_MOST;
}

static void started(pid_t pid)
{
	(void)pid;
}

static void in_child(void)
{
}

static int run_with(struct session *session, const struct options *options,
		    void (*look_does)(unsigned int look), void (*poll_does)(unsigned int poll))
{
	struct watch_run run = { .session = session, .stop = long_enough, .started = started,
				 .in_child = in_child };
	int rc;

	*session = (struct session){ .options = options };
	if (options->log_path)
		assert_int_equal(log_open(&session->log, options->log_path, options), 0);
	looks = polls = 0;
	lost = 0;
	behind = paused = false;
	apart = AREA;
	heard_late = 0;
	on_look = look_does;
	on_poll = poll_does;
	rc = follow_run(&run);
	log_close(session);
	session->options = NULL;
	return rc;
}

static int run(struct session *session, void (*look_does)(unsigned int look),
	       void (*poll_does)(unsigned int poll))
{
	const struct options options = { .attach = getpid(), .quiet = true };

	return run_with(session, &options, look_does, poll_does);
}

/* Runs it to its end, which has to come before anybody has to stop it. */
static struct totals follow(void (*look_does)(unsigned int look), void (*poll_does)(unsigned int poll))
{
	struct session session;

	assert_int_equal(run(&session, look_does, poll_does), 0);
	assert_false(session.failed);
	assert_true(polls < POLLS_MOST);
	assert_int_equal(session.totals.differences, 0);
	return session.totals;
}

/* Shown after turn 1, when the call of turn 2 has been told of already, and that of turn 1 has not. */
static void shows_late(unsigned int number)
{
	if (number == 0) {
		look(FIRST, 0, 0); /* its areas were being changed */
	} else if (number == 1) {
		call(FIRST, 2, 2);
		look(FIRST, 1, 2);
	}
}

static void goes_on(unsigned int number)
{
	if (number != 1)
		return;
	call(FIRST, 1, 1);
	call(FIRST, 3, 3);
	ends(FIRST, 3, 4);
	gone(FIRST, 3, 0);
}

static void a_turn_before_the_areas_were_shown(void **state)
{
	const struct totals totals = follow(shows_late, goes_on);

	(void)state;
	assert_int_equal(totals.calls, 2);
	assert_int_equal(totals.whole_checks, 1);
	assert_int_equal(totals.unfollowed, 0);
}

static void shows_first(unsigned int number)
{
	if (number == 0)
		look(FIRST, 0, 1);
}

/*
 * An exec whose areas are not shown, a fork before they are; and the space that was left is told to be
 * gone before the exec, or long after it.
 */
static void executes(unsigned int number)
{
	if (number != 1)
		return;
	gone(FIRST, 0, 1);
	made(WATCH_EXEC, PROGRAM, FIRST, 0, 0);
	made(WATCH_TASK, CHILD, PROGRAM, 1, 0);
	made(WATCH_EXEC, CHILD_PROGRAM, CHILD, 0, 2);
	area(CHILD, 0);
	gone(CHILD, 0, 1);
	call(CHILD_PROGRAM, 1, 2);
	ends(CHILD_PROGRAM, 1, 0);
	gone(CHILD_PROGRAM, 1, 3);
	look(PROGRAM, 1, 1);
	call(PROGRAM, 2, 1);
	ends(PROGRAM, 2, 2);
	gone(PROGRAM, 2, 0);
}

static void a_fork_before_the_areas_are_shown(void **state)
{
	const struct totals totals = follow(shows_first, executes);

	(void)state;
	assert_int_equal(totals.execs, 2);
	assert_int_equal(totals.processes, 2);
	assert_int_equal(totals.calls, 2);
	assert_int_equal(totals.whole_checks, 3);
	assert_int_equal(totals.unfollowed, 0);
}

/* Its areas are shown when they are taken down, which may be told last; a fork that failed was told of, too. */
static void is_taken_down(unsigned int number)
{
	if (number == 1) {
		area(CHILD, 0);
		gone(CHILD, 0, 0);
		ends(FIRST, 0, 0);
		call(FIRST, 1, 1);
	} else if (number == 2) {
		gone(FIRST, 1, 2);
	}
}

static void areas_that_are_shown_at_the_end(void **state)
{
	const struct totals totals = follow(shows_first, is_taken_down);

	(void)state;
	assert_int_equal(totals.calls, 1);
	assert_int_equal(totals.whole_checks, 1);
	assert_int_equal(totals.unfollowed, 0);
}

/* Some of the areas are told, and the kernel counts more: these are not compared. */
static void is_shown_in_part(unsigned int number)
{
	struct watch_space_event event;

	if (number != 1)
		return;
	ends(FIRST, 0, 0);
	event = space_event(WATCH_GONE, FIRST, 1);
	event.count = 2;
	heard_by(heard_ctx, &event.head);
}

static void areas_of_which_some_are_shown(void **state)
{
	const struct totals totals = follow(shows_first, is_shown_in_part);

	(void)state;
	assert_int_equal(totals.whole_checks, 0);
	assert_int_equal(totals.unfollowed, 1);
}

/* A look tells of its end only after the next call has been told of. */
static void looks_too_slowly(unsigned int number)
{
	if (number != 1)
		return;
	call(FIRST, 1, 1);
	look(FIRST, 0, 1);
	ends(FIRST, 1, 2);
	gone(FIRST, 1, 0);
}

static void areas_of_an_earlier_turn(void **state)
{
	const struct totals totals = follow(shows_first, looks_too_slowly);

	(void)state;
	assert_int_equal(totals.calls, 1);
	assert_int_equal(totals.whole_checks, 1);
	assert_int_equal(totals.rereads, 0);
}

/* Where calls come faster than they are heard of, they wait until the areas are shown anew. */
static void shows_anew(unsigned int number)
{
	look(FIRST, number ? 3 : 0, number ? 4 : 1);
}

static void falls_behind(unsigned int number)
{
	switch (number) {
	case 1:
		call(FIRST, 1, 1);
		lost = 1;
		behind = true;
		break;
	case 2:
		assert_true(paused);
		assert_int_equal(looks, 1);
		lost = 2;
		break;
	case 3:
		assert_true(paused);
		behind = false;
		break;
	case 4:
		assert_false(paused);
		assert_int_equal(looks, 2);
		call(FIRST, 4, 4);
		ends(FIRST, 4, 5);
		gone(FIRST, 4, 0);
		break;
	default:
		break;
	}
}

static void calls_that_come_too_fast(void **state)
{
	const struct totals totals = follow(shows_anew, falls_behind);

	(void)state;
	assert_int_equal(totals.calls, 2);
	assert_int_equal(totals.events_lost, 2);
	assert_int_equal(totals.rereads, 1);
	assert_int_equal(totals.whole_checks, 2);
}

/*
 * Not all that is lost leaves a turn that is missing (the end of a userfaultfd has none): whether something
 * was lost is asked before areas are compared.
 */
static void loses_before_the_look(unsigned int number)
{
	if (number != 1)
		return;
	gone(FIRST, 0, 1);
	made(WATCH_EXEC, PROGRAM, FIRST, 0, 1);
	lost = 1;
	look(PROGRAM, 0, 2);
	ends(PROGRAM, 0, 2);
	gone(PROGRAM, 0, 0);
}

static void areas_shown_after_a_loss(void **state)
{
	const struct totals totals = follow(shows_first, loses_before_the_look);

	(void)state;
	assert_int_equal(totals.events_lost, 1);
	assert_int_equal(totals.rereads, 1);
}

static void begins_a_thread(__u64 space)
{
	struct watch_space_event event = space_event(WATCH_TASK, space, 0);

	event.head.tid++;
	event.from = space;
	heard_by(heard_ctx, &event.head);
}

/* Area 1 becomes like area 0, beside which it is; before, neither had pages. */
static void protect_beside(__u64 space, __u64 turn)
{
	struct watch_call_event event = {
		.head = head_of(WATCH_CALL, space), .args = { BASE + apart, 4096, PROT_READ },
		.number = SYS_mprotect, .near_count = 2,
		.near = { { .start = BASE, .end = BASE + 4096, .flags = READ_PRIVATE },
			  { .start = BASE + 4096, .end = BASE + 8192, .flags = READ_PRIVATE | 2 } },
	};

	event.head.turn = turn;
	heard_by(heard_ctx, &event.head);
}

/* Both stay apart: another thread has touched them since, which nobody tells. */
static void touches_what_is_protected(unsigned int number)
{
	if (number != 1)
		return;
	apart = 4096;
	gone(FIRST, 0, 1);
	made(WATCH_EXEC, PROGRAM, FIRST, 0, 1);
	begins_a_thread(PROGRAM);
	map(PROGRAM, 1, 1, PROT_READ | PROT_WRITE);
	protect_beside(PROGRAM, 2);
	look(PROGRAM, 2, 2);
	ends(PROGRAM, 2, 2);
	gone(PROGRAM, 2, 0);
}

static void areas_that_another_thread_touches(void **state)
{
	const struct totals totals = follow(shows_first, touches_what_is_protected);

	(void)state;
	assert_int_equal(totals.calls, 2);
	assert_int_equal(totals.threads, 2);
	assert_int_equal(totals.rereads, 1);
}

/* A process whose areas are never shown is not waited for. */
static void is_never_shown(unsigned int number)
{
	(void)number;
	look(FIRST, 0, 0);
}

static void rests(unsigned int number)
{
	(void)number;
	usleep(1000);
}

static void areas_that_are_never_shown(void **state)
{
	struct session session;

	(void)state;
	assert_true(run(&session, is_never_shown, rests) < 0);
}

/* ---- what the log says of events that were lost -------------------------------------------- */

static void notify(void *ctx, enum replay_event event, struct replay_space *space,
		   const struct step *step, const struct vmspace_request *req, const char *why)
{
	(void)ctx;
	(void)event;
	(void)space;
	(void)step;
	(void)req;
	(void)why;
}

/* Runs it with a log, and plays that. */
static struct replay_totals follow_and_play(struct session *session,
					    void (*poll_does)(unsigned int poll))
{
	const struct replay_listener listener = { .notify = notify };
	char path[] = "/tmp/watch_follow.XXXXXX";
	const struct options options = { .attach = getpid(), .quiet = true, .log_path = path };
	struct player player = { .path = path, .quiet = true };
	int fd = mkstemp(path);

	assert_true(fd >= 0);
	close(fd);
	assert_int_equal(run_with(session, &options, shows_first, poll_does), 0);
	assert_int_equal(player_run(&player, &listener), 0);
	unlink(path);
	assert_int_equal(player.malformed, 0);
	assert_int_equal(player.totals.calls, session->totals.calls);
	return player.totals;
}

/*
 * Area 2 is made by a call that is lost, changed, and gone when the areas are shown. Then area 3 is
 * changed, which has been made by no call.
 */
static void loses_a_call(unsigned int number)
{
	if (number == 1) {
		gone(FIRST, 0, 1);
		made(WATCH_EXEC, PROGRAM, FIRST, 0, 1);
		call(PROGRAM, 1, 1);
	} else if (number == 2) {
		lost = 1;
	} else if (number == 3) {
		call_on(PROGRAM, 3, 2, SYS_mprotect);
		call_on(PROGRAM, 4, 2, SYS_munmap);
		look(PROGRAM, 4, 2);
	} else if (number == 4) {
		call_on(PROGRAM, 5, 1, SYS_mprotect);
		call_on(PROGRAM, 6, 3, SYS_mprotect);
		ends(PROGRAM, 6, 2);
		gone(PROGRAM, 6, 0);
	}
}

/* Until it is known what was lost, an answer proves nothing, in a replay neither; then it does. */
static void an_answer_after_a_call_that_was_lost(void **state)
{
	struct session session;
	const struct replay_totals replay = follow_and_play(&session, loses_a_call);

	(void)state;
	assert_int_equal(session.totals.calls, 5);
	assert_int_equal(session.totals.events_lost, 1);
	assert_int_equal(session.totals.rereads, 0);
	assert_int_equal(session.totals.differences, 1);
	assert_int_equal(replay.unsure, 1);
	assert_int_equal(replay.unchecked, 1);
	assert_int_equal(replay.differences, 1);
	assert_int_equal(replay.compared_at_end, 2);
}

/* A call of a child is lost, and that is known before its fork has been told of. */
static void loses_a_call_of_a_child(unsigned int number)
{
	static uint64_t forked;

	if (number == 1) {
		gone(FIRST, 0, 1);
		made(WATCH_EXEC, PROGRAM, FIRST, 0, 1);
	} else if (number == 2) {
		forked = now_ns();
		lost = 1;
	} else if (number == 3) {
		heard_late = forked;
		made(WATCH_TASK, CHILD, PROGRAM, 0, 1);
		call_on(CHILD, 2, 1, SYS_mprotect);
		ends(CHILD, 2, 2);
		gone(CHILD, 2, 0);
		ends(PROGRAM, 0, 1);
		gone(PROGRAM, 0, 0);
	}
}

static void a_call_that_was_lost_before_the_fork_was_heard_of(void **state)
{
	struct session session;
	const struct replay_totals replay =
		follow_and_play(&session, loses_a_call_of_a_child);

	(void)state;
	assert_true(polls < POLLS_MOST);
	assert_int_equal(session.totals.calls, 1);
	assert_int_equal(session.totals.rereads, 1);
	assert_int_equal(session.totals.unfollowed, 0);
	assert_int_equal(session.totals.differences, 0);
	assert_int_equal(replay.unsure, 1);
	assert_int_equal(replay.differences, 0);
	assert_int_equal(replay.compared_at_end, 3);
}

/* The program's space is gone, and nothing tells how. */
static void is_gone(unsigned int number)
{
	usleep(25000);
	if (number == 0)
		gone(FIRST, 0, 1);
}

/* Nobody waits for what the kernel has not told, and has not counted as lost either. */
static void an_end_that_is_never_told(void **state)
{
	const struct totals totals = follow(shows_first, is_gone);

	(void)state;
	assert_int_equal(totals.unfollowed, 1);
	assert_int_equal(totals.events_lost, 0);
}

/* The user is told why. */
static void a_program_that_cannot_be_started(void **state)
{
	char *command[] = { (char *)"true", NULL };
	const struct options options = { .command = command, .quiet = true };
	struct rlimit before, none;
	struct session session;
	int rc;

	(void)state;
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
	none = before;
	none.rlim_cur = 0;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
	rc = run_with(&session, &options, is_never_shown, rests);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
	assert_int_equal(rc, -EMFILE);
	assert_true(session.failed);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_turn_before_the_areas_were_shown),
		cmocka_unit_test(a_fork_before_the_areas_are_shown),
		cmocka_unit_test(areas_that_are_shown_at_the_end),
		cmocka_unit_test(areas_of_which_some_are_shown),
		cmocka_unit_test(areas_of_an_earlier_turn),
		cmocka_unit_test(calls_that_come_too_fast),
		cmocka_unit_test(areas_shown_after_a_loss),
		cmocka_unit_test(areas_that_another_thread_touches),
		cmocka_unit_test(areas_that_are_never_shown),
		cmocka_unit_test(an_end_that_is_never_told),
		cmocka_unit_test(a_program_that_cannot_be_started),
		cmocka_unit_test(an_answer_after_a_call_that_was_lost),
		cmocka_unit_test(a_call_that_was_lost_before_the_fork_was_heard_of),
	};

	return cmocka_run_group_tests_name("follow", tests, NULL, NULL);
}
