/* SPDX-License-Identifier: MIT */
/*
 * The scale of addresses in a picture: unused ranges take little room, and small areas are visible.
 */
#include "report/scale.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Heights in pixels. Used parts grow with the logarithm of their size. */
enum { GAP_HEIGHT = 13, SMALL_GAP_HEIGHT = 3, GAP_LABELLED = 1 << 20 };

static const double PART_LEAST = 3.0, PART_STEP = 1.4;

static int compare(const void *a, const void *b)
{
	unsigned long left = *(const unsigned long *)a, right = *(const unsigned long *)b;

	return (left > right) - (left < right);
}

/* All addresses at which areas begin or end, sorted, without duplicates. */
static unsigned long *borders(struct history_space *const *spaces, size_t count, size_t *found)
{
	unsigned long *list;
	size_t areas = 0, n = 0, kept = 0;

	for (size_t i = 0; i < count; i++)
		areas += spaces[i]->area_count;
	list = calloc(areas * 2 + 1, sizeof(*list));
	if (!list)
		return NULL;
	for (size_t i = 0; i < count; i++)
		for (size_t k = 0; k < spaces[i]->area_count; k++) {
			list[n++] = spaces[i]->areas[k].start;
			list[n++] = spaces[i]->areas[k].end;
		}
	qsort(list, n, sizeof(*list), compare);
	for (size_t i = 0; i < n; i++)
		if (kept == 0 || list[kept - 1] != list[i])
			list[kept++] = list[i];
	*found = kept;
	return list;
}

static size_t find(const struct scale *scale, unsigned long addr)
{
	size_t low = 0, high = scale->count;

	/* Binary search for the last part that begins at or below @addr. */
	while (low + 1 < high) {
		size_t middle = (low + high) / 2;

		if (scale->parts[middle].start <= addr)
			low = middle;
		else
			high = middle;
	}
	return low;
}

/*
 * Marks the parts that areas cover. Sweeps over the borders, adding 1 where an area begins and
 * subtracting 1 where one ends: a part is used if the sum is positive.
 */
static int mark_used(struct scale *scale, struct history_space *const *spaces, size_t count)
{
	long *change = calloc(scale->count + 2, sizeof(*change)), sum = 0;

	if (!change)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		for (size_t k = 0; k < spaces[i]->area_count; k++) {
			change[find(scale, spaces[i]->areas[k].start)]++;
			change[find(scale, spaces[i]->areas[k].end - 1) + 1]--;
		}
	for (size_t i = 0; i < scale->count; i++) {
		sum += change[i];
		scale->parts[i].used = sum > 0;
	}
	free(change);
	return 0;
}

static double wanted_height(const struct scale_part *part)
{
	unsigned long size = part->end - part->start;

	if (!part->used)
		return size >= GAP_LABELLED ? GAP_HEIGHT : SMALL_GAP_HEIGHT;
	return PART_LEAST + PART_STEP * log2((double)size / 4096 + 1);
}

static void set_heights(struct scale *scale, double max)
{
	double used = 0, gaps = 0, factor, top = 0;

	for (size_t i = 0; i < scale->count; i++)
		*(scale->parts[i].used ? &used : &gaps) += wanted_height(&scale->parts[i]);
	/* Gaps keep their height as long as enough room is left for used parts. */
	if (gaps > max / 3)
		factor = max / (used + gaps);
	else
		factor = used > max - gaps ? (max - gaps) / used : 1;
	for (size_t i = scale->count; i-- > 0;) {
		bool keep = !scale->parts[i].used && gaps <= max / 3;

		scale->parts[i].height = wanted_height(&scale->parts[i]) *
					 (keep || factor > 1 ? 1 : factor);
		scale->parts[i].top = top;
		top += scale->parts[i].height;
	}
	scale->height = top;
}

int scale_make(struct scale *scale, struct history_space *const *spaces, size_t count, double max)
{
	size_t found = 0;
	unsigned long *list = borders(spaces, count, &found);
	int rc;

	*scale = (struct scale){ .count = 0 };
	if (!list)
		return -ENOMEM;
	scale->parts = calloc(found + 1, sizeof(*scale->parts));
	if (!scale->parts) {
		free(list);
		return -ENOMEM;
	}
	for (size_t i = 0; i + 1 < found; i++)
		scale->parts[scale->count++] =
			(struct scale_part){ .start = list[i], .end = list[i + 1] };
	free(list);
	rc = scale->count > 0 ? mark_used(scale, spaces, count) : 0;
	if (rc != 0) {
		scale_free(scale);
		return rc;
	}
	set_heights(scale, max);
	return 0;
}

void scale_free(struct scale *scale)
{
	free(scale->parts);
	*scale = (struct scale){ .count = 0 };
}

double scale_at(const struct scale *scale, unsigned long addr)
{
	const struct scale_part *part;
	double share;

	if (scale->count == 0)
		return 0;
	part = &scale->parts[find(scale, addr)];
	if (addr >= part->end)
		return part->top;
	if (addr <= part->start)
		return part->top + part->height;
	share = (double)(addr - part->start) / (double)(part->end - part->start);
	return part->top + part->height * (1 - share);
}

static void put_whole(unsigned int value, const char *unit, char *buf)
{
	if (value >= 100)
		*buf++ = (char)('0' + value / 100);
	if (value >= 10)
		*buf++ = (char)('0' + value / 10 % 10);
	*buf++ = (char)('0' + value % 10);
	*buf++ = ' ';
	strcpy(buf, unit);
}

void scale_format_size(unsigned long bytes, char *buf, size_t size)
{
	static const char *const units[] = { "B", "KiB", "MiB", "GiB", "TiB", "PiB" };
	double value = (double)bytes;
	unsigned int unit = 0;

	while (value >= 1024 && unit < 5) {
		value /= 1024;
		unit++;
	}
	/* Most are whole and small, and printf is slow. */
	if (bytes == (unsigned long)value << 10 * unit && value < 1000 && size >= sizeof("999 KiB"))
		put_whole((unsigned int)value, units[unit], buf);
	else if (bytes == (unsigned long)value << 10 * unit)
		snprintf(buf, size, "%lu %s", (unsigned long)value, units[unit]);
	else
		snprintf(buf, size, value < 10 ? "%.1f %s" : "%.0f %s", value, units[unit]);
}
