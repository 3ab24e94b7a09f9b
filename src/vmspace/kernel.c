/* SPDX-License-Identifier: MIT */
/* kernel.c - the rules of the running kernel: those of its version, corrected by probing. */
#include <pthread.h>
#include <stdio.h>
#include <sys/utsname.h>

#include <mapletree/vmspace_rules.h>

#include "kernel_probe.h"

static struct vmspace_kernel running;

static void correct(const enum probe_answer answers[RULE_COUNT])
{
	for (unsigned int i = 0; i < RULE_COUNT; i++) {
		uint64_t bit = UINT64_C(1) << (i % 64), *rules = &running.rules[i / 64];

		if (answers[i] == PROBE_UNKNOWN)
			continue;
		running.probed[i / 64] |= bit;
		if ((answers[i] == PROBE_YES) == !!(*rules & bit))
			continue;
		running.unlike[i / 64] |= bit;
		*rules ^= bit;
	}
}

static void find_out(void)
{
	enum probe_answer answers[RULE_COUNT];
	struct utsname name;
	int cancel;

	/* A cancelled thread would clean up in the child also, and leave it behind. */
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	if (!uname(&name))
		snprintf(running.release, sizeof(running.release), "%s", name.release);
	running.known = rules_of_version(running.release, running.rules);
	running.version = running.release;
	if (!running.known) {
		running.version = rules_nearest_version(running.release);
		rules_of_version(running.version, running.rules);
	}
	kernel_probe(answers);
	correct(answers);
	pthread_setcancelstate(cancel, NULL);
}

const struct vmspace_kernel *vmspace_running_kernel(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, find_out);
	return &running;
}
