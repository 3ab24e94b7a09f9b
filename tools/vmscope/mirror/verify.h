/* SPDX-License-Identifier: MIT */
/* Comparing a mirror with the kernel, and reporting what differs. */
#ifndef VMSCOPE_MIRROR_VERIFY_H
#define VMSCOPE_MIRROR_VERIFY_H

#include "mirror/state.h"

/*
 * Compares all areas, and with @flags_too also their flags and the counters. Reports a difference,
 * unless it is the one reported last. @call, with its @pending state, is the last call; or both
 * are NULL.
 */
void verify(struct mirror *mirror, const struct log_who *who, const struct call *call,
	    const struct pending_call *pending, bool flags_too);

/* Whether to compare flags after a call that has changed some: every time, if that is fast. */
bool verify_flags_due(struct mirror *mirror);

/* Reports that the kernel's result of @call is not the one that libvmspace computed. */
void verify_report_result(struct mirror *mirror, const struct log_who *who,
			  const struct call *call, const struct pending_call *pending);

/*
 * Reads the kernel's maps for the next verify(). Returns whether they have changed since the last
 * time: the log tells that for each call, independently of the mirror.
 */
enum log_change verify_read_maps(struct mirror *mirror);

#endif
