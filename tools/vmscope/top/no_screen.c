/* SPDX-License-Identifier: MIT */
/* In the place of screen.c where there is no ncurses. */
#include "top/screen.h"

#include <errno.h>

int top_screen(pid_t pid, struct top_sites *sites, double seconds, enum top_order order)
{
	(void)pid;
	(void)sites;
	(void)seconds;
	(void)order;
	return -ENOSYS;
}
