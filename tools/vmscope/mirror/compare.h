/* SPDX-License-Identifier: MIT */
/* Comparing a mirror with what the kernel says. */
#ifndef VMSCOPE_MIRROR_COMPARE_H
#define VMSCOPE_MIRROR_COMPARE_H

#include <mapletree/vmspace.h>
#include <stddef.h>
#include <sys/types.h>

#include "log/answers.h"
#include "mirror/kernel.h"

enum compare_result {
	COMPARE_EQUAL,
	COMPARE_AREAS,	/* maps differ */
	COMPARE_FLAGS,	/* VmFlags of an area or a counter differs: see why */
	COMPARE_BROKEN,	/* the mirror contradicts itself: see why */
	COMPARE_STACK,	/* a stack has grown as Linux would not have let it */
	COMPARE_FAILED,	/* the kernel's side could not be read, or memory ran out: see error */
};

struct comparison {
	char *text;			/* what the mirror says the maps are; NUL-terminated */
	size_t length, capacity;
	char why[640];			/* COMPARE_FLAGS: both sides in words; COMPARE_BROKEN: what */
	int error;			/* COMPARE_FAILED: -errno */
	unsigned long growths, renames;	/* taken in by the last compare_areas() */
	struct answers *answers;		/* gets the renames; NULL: nobody wants them */
};

/*
 * Compares all areas, as text. What is no call is taken in first, by the rules of the kernel:
 * areas that a page fault extended downwards, and files whose path has changed since. Leaves
 * both texts in @view and @check. Reads the maps unless view->text_current.
 */
enum compare_result compare_areas(struct comparison *check, struct vmspace *vm, struct kernel_view *view);

/*
 * Compares what maps does not show: VmFlags of every area in /proc/@tid/smaps, and VmSize, VmLck,
 * VmData and VmStk of /proc/@tid/status. The areas must be equal.
 */
enum compare_result compare_flags(struct comparison *check, const struct vmspace *vm, pid_t tid);

void comparison_free(struct comparison *check);

#endif
