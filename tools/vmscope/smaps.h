/* SPDX-License-Identifier: MIT */
/* Reading /proc/PID/smaps: what maps does not show of each area. */
#ifndef VMSCOPE_SMAPS_H
#define VMSCOPE_SMAPS_H

#include <mapletree/vmspace.h>
#include <stdbool.h>
#include <sys/types.h>

#include "kernel.h"

struct smaps_area {
	struct kernel_line line;
	vma_flags_t flags;
	unsigned int pkey;
	bool has_anon;		/* anonymous pages, in memory or swapped */
};

/*
 * Takes apart the entry at @text. Returns the text after it, NULL if there is none.
 */
const char *smaps_next(const char *text, struct smaps_area *area);

/* The flags of the area of @tid that holds @addr, 0 if there is none. */
vma_flags_t smaps_flags(pid_t tid, unsigned long addr);

#endif
