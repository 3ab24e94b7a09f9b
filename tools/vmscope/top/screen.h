/* SPDX-License-Identifier: MIT */
/* The full-screen view of "vmscope top". */
#ifndef VMSCOPE_TOP_SCREEN_H
#define VMSCOPE_TOP_SCREEN_H

#include "top/sites.h"
#include "top/table.h"

/*
 * Shows processes, or the kinds of memory of process @pid, or, if @sites is not NULL, its call sites,
 * and obeys keys until the user quits.
 * A look is taken every @seconds. Returns 0 or -errno; -ENOTTY: there is no terminal, -ENOSYS: this
 * vmscope was built without ncurses.
 */
int top_screen(pid_t pid, struct top_sites *sites, double seconds, enum top_order order);

#endif
