/* SPDX-License-Identifier: MIT */
/* Comparing a vmspace with its puppet. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/personality.h>
#include <unistd.h>

#include "check/page.h"
#include "check/pair.h"
#include "log/difference.h"

enum { LINES_MAX = 60 };

static void say(const struct pair *p, const char *what)
{
	if (p->mode.report)
		fprintf(p->mode.report, "%s\n", what);
}

static bool areas_equal(struct pair *p)
{
	enum compare_result result;

	p->view.text_current = false;
	result = compare_areas(&p->comparison, p->space, &p->view);
	if (result == COMPARE_EQUAL)
		return true;
	if (result == COMPARE_FAILED) {
		p->gone = true;
		return false;
	}
	if (result == COMPARE_BROKEN)
		say(p, p->comparison.why);
	else if (p->mode.report)
		difference_areas(p->mode.report, p->view.text, p->comparison.text, LINES_MAX);
	return false;
}

static bool counter_equal(const struct pair *p, const char *status, const char *key,
			  unsigned long pages)
{
	unsigned long kib = pages * (PAGE / 1024);
	unsigned long theirs = kernel_status_number(status, key, 10, kib);

	if (theirs == kib)
		return true;
	if (p->mode.report)
		fprintf(p->mode.report, "%s kernel %lu kB, libvmspace %lu kB\n", key, theirs, kib);
	return false;
}

/* Reads /proc/PID/status, which is short. Returns NULL if the process is gone. */
static const char *read_status(struct pair *p)
{
	static char text[8192];
	ssize_t length = pread(p->status_fd, text, sizeof(text) - 1, 0);

	if (length <= 0) {
		p->gone = true;
		return NULL;
	}
	text[length] = '\0';
	/* Skip the long part before the memory counters. */
	return strstr(text, "VmPeak:");
}

/* How many pages of a perf ring are pinned depends on the rings of all processes of this user. */
static void follow_pins(struct pair *p, const char *status)
{
	unsigned long pinned = kernel_status_number(status, "VmPin:", 10, 0) / 4;
	struct vmspace_stats stats;

	vmspace_stats(p->space, &stats);
	if (pinned > stats.pinned_vm)
		vmspace_pin(p->space, pinned - stats.pinned_vm);
	else if (pinned < stats.pinned_vm)
		vmspace_unpin(p->space, stats.pinned_vm - pinned);
}

static bool counters_equal(struct pair *p)
{
	const char *status = read_status(p);
	struct vmspace_stats stats;
	bool equal;

	if (!status)
		return false;
	if (p->pinned)
		follow_pins(p, status);
	vmspace_stats(p->space, &stats);
	equal = counter_equal(p, status, "VmSize:", stats.total_vm);
	equal &= counter_equal(p, status, "VmLck:", stats.locked_vm);
	equal &= counter_equal(p, status, "VmPin:", stats.pinned_vm);
	equal &= counter_equal(p, status, "VmData:", stats.data_vm);
	equal &= counter_equal(p, status, "VmStk:", stats.stack_vm);
	equal &= counter_equal(p, status, "VmExe:", stats.text_vm);
	equal &= counter_equal(p, status, "VmLib:", stats.lib_vm);
	return equal;
}

static bool flags_equal(struct pair *p)
{
	enum compare_result result;

	if (!p->mode.flags_every || p->requests % p->mode.flags_every)
		return true;
	result = compare_flags(&p->comparison, p->space, p->puppet.pid);
	p->gone |= result == COMPARE_FAILED;
	if (result == COMPARE_FLAGS)
		say(p, p->comparison.why);
	return result == COMPARE_EQUAL;
}

bool pair_equal(struct pair *p)
{
	const char *reason = "";
	bool equal = areas_equal(p);

	if (p->gone)
		return false;
	equal &= counters_equal(p);
	if (equal)
		equal = flags_equal(p);
	if (!p->gone && !vmspace_check(p->space, &reason)) {
		say(p, reason);
		equal = false;
	}
	return equal;
}
