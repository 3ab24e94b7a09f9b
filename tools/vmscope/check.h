/* SPDX-License-Identifier: MIT */
/* Comparing a mirror with what the kernel says. */
#ifndef VMSCOPE_CHECK_H
#define VMSCOPE_CHECK_H

#include <mapletree/vmspace.h>
#include <stddef.h>
#include <sys/types.h>

#include "kernel.h"
#include "notes.h"

enum check_result {
	CHECK_EQUAL,
	CHECK_AREAS,	/* maps differ */
	CHECK_FLAGS,	/* VmFlags of an area or a counter differs: see why */
	CHECK_BROKEN,	/* the mirror contradicts itself: see why */
	CHECK_STACK,	/* a stack has grown as Linux would not have let it */
	CHECK_FAILED,	/* the kernel's side could not be read, or memory ran out: see error */
};

struct check {
	char *text;			/* what the mirror says the maps are; NUL-terminated */
	size_t length, capacity;
	char why[640];			/* CHECK_FLAGS: both sides in words; CHECK_BROKEN: what */
	int error;			/* CHECK_FAILED: -errno */
	unsigned long growths, renames;	/* taken in by the last check_areas() */
	struct notes *notes;		/* gets the renames; NULL: nobody wants them */
};

/*
 * Compares all areas, as text. What is no call is taken in first, by the rules of the kernel:
 * areas that a page fault extended downwards, and files whose path has changed since. Leaves
 * both texts in @view and @check. Reads the maps unless view->text_current.
 */
enum check_result check_areas(struct check *check, struct vmspace *vm, struct kernel_view *view);

/*
 * Compares what maps does not show: VmFlags of every area in /proc/@tid/smaps, and VmSize, VmLck,
 * VmData and VmStk of /proc/@tid/status. The areas must be equal.
 */
enum check_result check_flags(struct check *check, const struct vmspace *vm, pid_t tid);

void check_free(struct check *check);

#endif
