/* SPDX-License-Identifier: MIT */
/* The picture of a log: a panel for each address space, with addresses, and number of areas, against time. */
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
	struct history_space **spaces;	/* those to be drawn */
	size_t space_count;
	size_t left_out;		/* spaces of the log that are not drawn */
};

/* Returns 0, -ENOMEM or -errno of a failed write. */
int picture_write(FILE *file, const struct history *history, const struct picture *picture);

#endif
