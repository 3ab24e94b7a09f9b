/* SPDX-License-Identifier: MIT */
/* The number of areas of an address space over time, in bounded memory. */
#include "report/course.h"

#include <math.h>

static void join_pairs(struct course *course)
{
	for (unsigned int i = 0; i < COURSE_POINTS / 2; i++) {
		const struct course_point *one = &course->points[2 * i], *two = one + 1;
		unsigned long most = one->most > two->most ? one->most : two->most;

		course->points[i] = (struct course_point){ two->time, two->areas, most };
	}
	course->count = COURSE_POINTS / 2;
	course->per_point *= 2;
	course->in_last = course->per_point;
}

void course_add(struct course *course, double time, unsigned long areas)
{
	struct course_point *last;

	if (course->per_point == 0)
		course->per_point = course->in_last = 1;
	if (course->in_last == course->per_point && course->count == COURSE_POINTS)
		join_pairs(course);
	if (course->count == 0 || course->in_last == course->per_point) {
		course->points[course->count++] = (struct course_point){ .time = -1 };
		course->in_last = 0;
	}
	last = &course->points[course->count - 1];
	course->in_last++;
	last->time = isfinite(time) ? time : -1;
	last->areas = areas;
	if (areas > last->most)
		last->most = areas;
}

unsigned long course_most(const struct course *course, unsigned int part, unsigned int parts)
{
	unsigned int first = course->count * part / parts;
	unsigned int end = course->count * (part + 1) / parts;
	unsigned long most = 0;

	if (first == end)
		return course->count ? course->points[first].most : 0;
	for (unsigned int i = first; i < end; i++)
		most = course->points[i].most > most ? course->points[i].most : most;
	return most;
}

bool course_growth(const struct course *course, double *seconds, long *gained)
{
	const struct course_point *first, *last, *from;

	if (course->count < 2)
		return false;
	first = from = &course->points[0];
	last = &course->points[course->count - 1];
	while (from + 1 < last && from[1].time <= (first->time + last->time) / 2)
		from++;
	*seconds = last->time - from->time;
	*gained = (long)last->areas - (long)from->areas;
	return first->time >= 0 && from->time >= 0 && *seconds > 0;
}
