/* SPDX-License-Identifier: MIT */
/* kernel_probe.h - which rules the running kernel follows, found out by system calls. */
#ifndef VMSPACE_KERNEL_PROBE_H
#define VMSPACE_KERNEL_PROBE_H

#include "probe_answer.h"
#include "rules.h"

/*
 * Fills in an answer for each rule, in a child process. PROBE_UNKNOWN: there is no probe, or
 * something forbids its calls here (a limit, seccomp, no /proc).
 */
void kernel_probe(enum probe_answer answers[RULE_COUNT]);

#endif
