/* SPDX-License-Identifier: MIT */
/* Comparing a mirror with the kernel, and reporting what differs. */
#ifndef VMSCOPE_MIRROR_VERIFY_H
#define VMSCOPE_MIRROR_VERIFY_H

#include "mirror/state.h"

/*
 * With --verify=each a call costs no more than the areas that it concerns: after it, only those are
 * compared where its arguments and its result say that it may have changed some, and where the
 * mirror has; with their neighbours. The kernel is asked for each by kernel_query().
 *
 * All areas are compared where that is not known, or is not told; where anything differs; where
 * flags are compared too; and else after every so many calls, as the program may have changed what
 * nobody has asked for (in a call that libvmspace gets wrong there, or that vmscope does not stop
 * at). That takes half a microsecond an area or more. As WHOLE_SHARE areas are compared for each
 * call then, it bears some microseconds, however many there are: less than a third of what its two
 * stops take. Where there are few areas, one in WHOLE_LEAST calls is as cheap.
 */
enum { WHOLE_LEAST = 16, WHOLE_SHARE = 8 };

/*
 * Compares all areas, and with @flags_too also their flags and the counters. Reports a difference,
 * unless it is the one reported last. @call, with its @pending state, is the last call; or both
 * are NULL.
 */
void verify(struct mirror *mirror, const struct log_who *who, const struct call *call,
	    const struct pending_call *pending, bool flags_too);

/*
 * A call has returned, is not applied yet, and verify_call() will follow: determines what that
 * compares. @where: what the call may have changed by its arguments and its result. Returns whether
 * the kernel's areas there are others than before the call: the log tells that for each call,
 * whatever the mirror makes of it.
 */
enum log_change verify_before(struct mirror *mirror, const struct nearby *where,
			      const struct pending_call *pending);

/* Compares as verify() does after @call, which is applied; all areas only where it has to. */
void verify_call(struct mirror *mirror, const struct log_who *who, const struct call *call,
		 const struct pending_call *pending, bool flags_too);

/* Whether to compare flags after a call that has changed some: every time, if that is fast. */
bool verify_flags_due(struct mirror *mirror);

/* Reports that the kernel's result of @call is not the one that libvmspace computed. */
void verify_report_result(struct mirror *mirror, const struct log_who *who,
			  const struct call *call, const struct pending_call *pending);

#endif
