/* SPDX-License-Identifier: MIT */
/*
 * The picture of a log: for each address space a panel with its addresses and its number of areas
 * over time.
 */
#ifndef VMSCOPE_REPORT_PICTURE_H
#define VMSCOPE_REPORT_PICTURE_H

#include <stdbool.h>
#include <stdio.h>

#include "report/history.h"

struct picture {
	const char *title;
	double width;			/* pixels */
	double max_height;		/* of one panel's addresses */
	bool by_call;			/* the horizontal axis counts calls, not seconds */
	struct history_space **spaces;	/* to draw */
	size_t space_count;
	size_t left_out;		/* number of address spaces not drawn */
};

/* Draws the picture. Returns 0, -ENOMEM, or -errno of a failed write. */
int picture_write(FILE *file, const struct history *history, const struct picture *picture);

#endif
