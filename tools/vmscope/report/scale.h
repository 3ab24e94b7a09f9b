/* SPDX-License-Identifier: MIT */
/* The scale of addresses in a picture: what was never used takes no room, and small areas are seen too. */
#ifndef VMSCOPE_REPORT_SCALE_H
#define VMSCOPE_REPORT_SCALE_H

#include <stdbool.h>
#include <stddef.h>

#include "report/history.h"

/* A stretch between two addresses at which areas began or ended. The highest addresses are at the top. */
struct scale_part {
	unsigned long start, end;
	bool used;		/* an area was there at some time; else it is a gap */
	double top, height;	/* pixels, from the top of the scale */
};

struct scale {
	struct scale_part *parts;	/* in ascending order; neighbours meet */
	size_t count;
	double height;
};

/* For all areas of @spaces. The height is what they need, at most @max. Returns 0 or -ENOMEM. */
int scale_make(struct scale *scale, struct history_space *const *spaces, size_t count, double max);
void scale_free(struct scale *scale);

/* From the top to where @addr is; an end of an area is where the next could begin. */
double scale_at(const struct scale *scale, unsigned long addr);

/* "4 KiB", "1.5 MiB", "127 TiB" */
void scale_format_size(unsigned long bytes, char *buf, size_t size);

#endif
