/* SPDX-License-Identifier: MIT */
/* Comparing a mirror with the kernel, and reporting what differs. */
#include "mirror/verify.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/color.h"
#include "log/difference.h"
#include "log/log_space.h"

enum { REPORT_LINES = 40 };

/*
 * If the kernel takes longer than this to show all flags, only every so many calls ask for them:
 * the more areas, the fewer, as for comparisons of all areas.
 */
enum { SLOW_FLAGS_NS = 2000000, SLOW_FLAGS_EVERY = 32 };

/* Reports a difference: @what it is, the call that led to it, and the areas if @areas. */
static void report(struct mirror *mirror, const struct log_who *who, const struct call *call,
		   const struct pending_call *pending, const char *what, bool areas)
{
	struct session *session = mirror->session;
	const char *kernel_text = areas ? mirror->host.view.text : NULL;
	const char *mirror_text = areas ? mirror->comparison.text : NULL;
	char text[256];

	session->totals.differences++;
	mirror->reported++;
	mirror->guess.closed = true;
	log_difference(session, who, call, what, kernel_text, mirror_text);
	fprintf(stderr, "%svmscope: difference %lu: process %d (%s), thread %d: %s%s\n",
		color_on(stderr, COLOR_WARNING), session->totals.differences, (int)who->pid,
		mirror->command, (int)who->tid, what, color_off(stderr));
	if (call) {
		call_format(call, true, text, sizeof(text));
		fprintf(stderr, "  after call %lu: %s\n", (unsigned long)call->number, text);
	}
	if (areas)
		difference_areas(stderr, kernel_text, mirror_text, REPORT_LINES);
	if (pending && (pending->model == REQUEST_MADE || pending->model == REQUEST_LATE)) {
		if (pending->request.vm.out.differs)
			difference_result(stderr, call, &pending->request.vm);
		difference_outcome(stderr, &pending->request.vm.out);
	} else if (pending && pending->model == REQUEST_UNKNOWN) {
		fprintf(stderr, "  libvmspace does not model this call\n");
	}
	if (mirror->reported >= session->options->max_differences) {
		mirror->verify_off = true;
		fprintf(stderr, "vmscope: process %d (%s) is no longer compared\n", (int)who->pid,
			mirror->command);
	}
}

void verify_report_result(struct mirror *mirror, const struct log_who *who,
			  const struct call *call, const struct pending_call *pending)
{
	if (!mirror->verify_off)
		report(mirror, who, call, pending, "the kernel's answer is not libvmspace's",
		       false);
}

/*
 * Drivers pin pages (perf events in mmap(), io_uring in io_uring_register() ...), which depends on
 * what they have counted for the user. The mirror takes the number from the kernel.
 */
static void follow_pins(struct vmspace *vm, pid_t tid)
{
	const unsigned long page_kib = vmspace_config(vm)->page_size / 1024;
	char *status = kernel_read_file(tid, "status");
	struct vmspace_stats stats;
	unsigned long pinned;

	if (!status)
		return;
	vmspace_stats(vm, &stats);
	pinned = kernel_status_number(status, "VmPin:", 10, 0) / page_kib;
	if (pinned > stats.pinned_vm)
		vmspace_pin(vm, pinned - stats.pinned_vm);
	else if (pinned < stats.pinned_vm)
		vmspace_unpin(vm, stats.pinned_vm - pinned);
	free(status);
}

static enum compare_result timed_compare_flags(struct mirror *mirror, const struct log_who *who)
{
	struct timespec before, after;
	enum compare_result result;

	/* CPU time: how busy the machine is says nothing about the areas. */
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &before);
	follow_pins(mirror->vm, who->tid);
	result = compare_flags(&mirror->comparison, mirror->vm, who->tid);
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &after);
	mirror->flags_are_slow = (after.tv_sec - before.tv_sec) * 1000000000 + after.tv_nsec -
				 before.tv_nsec > SLOW_FLAGS_NS;
	mirror->flags_skipped = 0;
	return result;
}

/* After how many calls a comparison of all areas follows; @least in any case. */
static unsigned long interval(const struct mirror *mirror, unsigned long least)
{
	unsigned long share = vmspace_count_areas(mirror->vm) / WHOLE_SHARE;

	return share > least ? share : least;
}

bool verify_flags_due(struct mirror *mirror)
{
	return !mirror->flags_are_slow ||
	       ++mirror->flags_skipped >= interval(mirror, SLOW_FLAGS_EVERY);
}

static enum compare_result compare_all(struct mirror *mirror, const struct log_who *who,
				       bool flags_too)
{
	struct comparison *comparison = &mirror->comparison;
	struct totals *totals = &mirror->session->totals;
	enum compare_result result;

	uffd_apply_ends(&mirror->uffds, mirror->vm, who->tid, mirror->host.answers);
	result = compare_areas(comparison, mirror->vm, &mirror->host.view);
	log_space_observed(mirror->session, who, &mirror->observed);
	mirror->since_whole = 0;
	totals->checks++;
	totals->whole_checks++;
	totals->stack_growths += comparison->growths;
	totals->renames += comparison->renames;
	if (result == COMPARE_EQUAL && flags_too) {
		result = timed_compare_flags(mirror, who);
		totals->flag_checks++;
	}
	return result;
}

static void comparison_failed(struct mirror *mirror, pid_t pid)
{
	const int error = mirror->comparison.error;

	if (error == -ENOMEM)
		session_fail(mirror->session, "out of memory");
	else if (kernel_is_gone(error))
		mirror->verify_off = true; /* killed meanwhile: no areas are left to compare with */
	else
		mirror_give_up(mirror, pid, kernel_reason(-error));
}

/* Remembers @difference; false if it is the one that was reported last, which is still there. */
static bool is_new(struct mirror *mirror, const char *difference)
{
	if (strcmp(difference, mirror->last_reported) == 0)
		return false;
	snprintf(mirror->last_reported, sizeof(mirror->last_reported), "%s", difference);
	return true;
}

void verify(struct mirror *mirror, const struct log_who *who, const struct call *call,
	    const struct pending_call *pending, bool flags_too)
{
	struct comparison *comparison = &mirror->comparison;
	char first[sizeof(mirror->last_reported)];
	enum compare_result result;

	assert((call == NULL) == (pending == NULL));
	if (mirror->verify_off)
		return;
	result = compare_all(mirror, who, flags_too);
	switch (result) {
	case COMPARE_EQUAL:
		return;
	case COMPARE_FAILED:
		comparison_failed(mirror, who->pid);
		return;
	case COMPARE_BROKEN:
	case COMPARE_FLAGS:
		if (is_new(mirror, comparison->why))
			report(mirror, who, call, pending, comparison->why, false);
		return;
	case COMPARE_STACK:
	case COMPARE_AREAS:
		difference_first(mirror->host.view.text, comparison->text, first, sizeof(first));
		if (is_new(mirror, first))
			report(mirror, who, call, pending,
			       result == COMPARE_STACK ?
				       "an area grew in a way that Linux does not allow" :
				       "the areas are not the kernel's", true);
		return;
	}
}

/* ---- after a call --------------------------------------------------------------------------- */

/* The kernel's areas nearby, unless they are there already. Returns 0 or -errno. */
static int ask_nearby(struct mirror *mirror)
{
	int rc;

	if (mirror->theirs.length > 0)
		return 0;
	rc = nearby_ask(&mirror->nearby, 0, &mirror->host.view, &mirror->theirs);
	if (rc != 0)
		mirror->theirs.length = 0;
	return rc;
}

/* Whether the kernel's areas are others than the mirror's, to which the call is not applied yet. */
static enum log_change look_for_change(struct mirror *mirror)
{
	int rc;

	if (mirror->nearby.everywhere) {
		rc = compare_texts(&mirror->comparison, mirror->vm, &mirror->host.view);
		return rc < 0 ? LOG_UNKNOWN : rc ? LOG_SAME : LOG_CHANGED;
	}
	rc = ask_nearby(mirror);
	if (rc == 0)
		rc = nearby_show(&mirror->nearby, 0, mirror->vm, &mirror->ours);
	if (rc != 0)
		return LOG_UNKNOWN;
	return nearby_equal(&mirror->ours, &mirror->theirs) ? LOG_SAME : LOG_CHANGED;
}

enum log_change verify_before(struct mirror *mirror, const struct nearby *where,
			      const struct pending_call *pending)
{
	const struct options *options = mirror->session->options;

	mirror->theirs.length = mirror->ours.length = 0;
	if (mirror->verify_off)
		return LOG_UNKNOWN;
	mirror->nearby = (struct nearby){ .everywhere = true };
	if (options->verify_nearby && !mirror->host.view.no_query &&
	    pending->model == REQUEST_MADE &&
	    ++mirror->since_whole < interval(mirror, WHOLE_LEAST))
		mirror->nearby = *where;
	/* A mirror that has differed does not show what there was before. */
	if (!mirror->session->log || options->verify_every != 1 || mirror->reported > 0)
		return LOG_UNKNOWN;
	return look_for_change(mirror);
}

/* The mirror may have changed areas elsewhere: compares those too. */
static bool equal_elsewhere(struct mirror *mirror)
{
	struct nearby *where = &mirror->nearby;
	const unsigned int first = where->count;

	for (size_t i = 0; i < mirror->guess.event_count; i++)
		nearby_add_event(where, &mirror->guess.events[i]);
	if (where->everywhere)
		return false;
	mirror->theirs.length = mirror->ours.length = 0;
	return nearby_ask(where, first, &mirror->host.view, &mirror->theirs) == 0 &&
	       nearby_show(where, first, mirror->vm, &mirror->ours) == 0 &&
	       nearby_equal(&mirror->ours, &mirror->theirs);
}

static bool equal_nearby(struct mirror *mirror, const struct log_who *who)
{
	if (mirror->nearby.everywhere ||
	    uffd_apply_ends(&mirror->uffds, mirror->vm, who->tid, mirror->host.answers))
		return false;
	mirror->ours.length = 0;
	return ask_nearby(mirror) == 0 &&
	       nearby_show(&mirror->nearby, 0, mirror->vm, &mirror->ours) == 0 &&
	       nearby_equal(&mirror->ours, &mirror->theirs) && equal_elsewhere(mirror);
}

void verify_call(struct mirror *mirror, const struct log_who *who, const struct call *call,
		 const struct pending_call *pending, bool flags_too)
{
	if (!mirror->verify_off && !flags_too && equal_nearby(mirror, who))
		mirror->session->totals.checks++;
	else
		verify(mirror, who, call, pending, flags_too);
}
