/* SPDX-License-Identifier: MIT */
/* The number of areas of an address space over time, in bounded memory. */
#ifndef VMSCOPE_REPORT_COURSE_H
#define VMSCOPE_REPORT_COURSE_H

#include <stdbool.h>

enum { COURSE_POINTS = 512 };

struct course_point {
	double time;			/* of its last sample, in seconds; < 0: not known */
	unsigned long areas, most;	/* at its last sample; the most of all its samples */
};

/*
 * Each point is of per_point samples, the last one perhaps of fewer: in_last. When there are too
 * many points, each two become one. All zero: no sample yet.
 */
struct course {
	unsigned long per_point, in_last;
	unsigned int count;
	struct course_point points[COURSE_POINTS];
};

void course_add(struct course *course, double time, unsigned long areas);

/* The most areas in part @part of @parts equal ones; those of the last before it if it has none. */
unsigned long course_most(const struct course *course, unsigned int part, unsigned int parts);

/*
 * How many areas were gained, or lost, in the second half of the time, and how long that was.
 * False: the times are not known, or all the same.
 */
bool course_growth(const struct course *course, double *seconds, long *gained);

#endif
