/* SPDX-License-Identifier: MIT */
/*
 * The scale of addresses in a picture: unused ranges take little room, and small areas are visible.
 */
#ifndef VMSCOPE_REPORT_SCALE_H
#define VMSCOPE_REPORT_SCALE_H

#include <stdbool.h>
#include <stddef.h>

#include "report/history.h"

/* The range between two adjacent borders of areas. High addresses are at the top. */
struct scale_part {
	unsigned long start, end;
	bool used;		/* an area was there at some time; otherwise a gap */
	double top, height;	/* in pixels; top from the top of the scale */
};

struct scale {
	struct scale_part *parts;	/* ascending and contiguous */
	size_t count;
	double height;
};

/*
 * Makes a scale for all areas of @spaces, as high as they need, but at most @max. Returns 0 or
 * -ENOMEM.
 */
int scale_make(struct scale *scale, struct history_space *const *spaces, size_t count, double max);
void scale_free(struct scale *scale);

/*
 * The distance of @addr from the top. The end of an area is exclusive, so that the next can begin
 * there.
 */
double scale_at(const struct scale *scale, unsigned long addr);

/* Formats a size: "4 KiB", "1.5 MiB", "127 TiB". */
void scale_format_size(unsigned long bytes, char *buf, size_t size);

#endif
