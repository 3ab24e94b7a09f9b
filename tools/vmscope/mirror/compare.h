/* SPDX-License-Identifier: MIT */
/* Comparing an address space with what /proc shows of it. */
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
	COMPARE_FLAGS,	/* VmFlags of an area or a counter differ: see why */
	COMPARE_BROKEN,	/* the mirror violates an invariant: see why */
	COMPARE_STACK,	/* a stack has grown although Linux would not have allowed it */
	COMPARE_FAILED,	/* /proc could not be read, or memory has run out: see error */
};

struct comparison {
	char *text;			/* the mirror's maps; NUL-terminated */
	size_t length, capacity;
	char why[640];			/* COMPARE_FLAGS, COMPARE_BROKEN: what is wrong */
	int error;			/* COMPARE_FAILED: -errno */
	unsigned long growths, renames;	/* found by the last compare_areas() */
	struct answers *answers;		/* gets the renames; may be NULL */
};

/*
 * Compares all areas, as text. Changes that no system call makes are applied to the mirror first,
 * if the kernel's rules allow them: stacks extended by page faults, and renamed files. Leaves both
 * texts in @view and @cmp. Reads the maps unless view->text_current.
 */
enum compare_result compare_areas(struct comparison *cmp, struct vmspace *vm,
				  struct kernel_view *view);

/* Whether the maps, which are read unless view->text_current, are @vm's now. 1, 0 or -errno. */
int compare_texts(struct comparison *cmp, const struct vmspace *vm, struct kernel_view *view);

/*
 * Compares what maps does not show: VmFlags of every area in /proc/@tid/smaps, and VmSize, VmLck,
 * VmData and VmStk in /proc/@tid/status. The areas must be equal already.
 */
enum compare_result compare_flags(struct comparison *cmp, const struct vmspace *vm, pid_t tid);

void comparison_free(struct comparison *cmp);

#endif
