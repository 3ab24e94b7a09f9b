/* SPDX-License-Identifier: MIT */
/* Tables of "vmscope top": compared, sorted, written as text. */
#include "top/table.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const order_names[] = {
	[TOP_BY_AREAS] = "areas", [TOP_BY_GAINED] = "gained", [TOP_BY_BYTES] = "size",
	[TOP_BY_PID] = "pid", [TOP_BY_NAME] = "name",
};

const char *top_order_name(enum top_order order)
{
	return order < TOP_ORDERS ? order_names[order] : NULL;
}

enum top_order top_order_find(const char *name)
{
	enum top_order order = 0;

	while (order < TOP_ORDERS && strcmp(order_names[order], name) != 0)
		order++;
	return order;
}

void top_clear(struct top_table *table)
{
	for (size_t i = 0; i < table->count; i++)
		free(table->rows[i].name);
	free(table->rows);
	free(table->command);
	*table = (struct top_table)TOP_TABLE_INIT;
}

char *top_printable(const char *name, size_t length)
{
	char *copy = strndup(name, length);

	for (char *c = copy; c && *c; c++)
		if ((unsigned char)*c < ' ' || *c == 127)
			*c = '?';
	return copy;
}

int top_add(struct top_table *table, const struct top_row *row, const char *name, size_t length)
{
	if (table->count == table->capacity) {
		size_t wanted = table->capacity ? table->capacity * 2 : 64;
		struct top_row *rows = realloc(table->rows, wanted * sizeof(*rows));

		if (!rows)
			return -ENOMEM;
		table->rows = rows;
		table->capacity = wanted;
	}
	table->rows[table->count] = *row;
	table->rows[table->count].name = top_printable(name, length);
	if (!table->rows[table->count].name)
		return -ENOMEM;
	table->areas += row->areas;
	table->count++;
	return 0;
}

/* ---- order ---------------------------------------------------------------------------------- */

/* Which row is the same as one of another look: processes by PID and birth, kinds by name. */
static int by_identity(const void *a, const void *b)
{
	const struct top_row *x = a, *y = b;

	if (x->pid != y->pid)
		return x->pid < y->pid ? -1 : 1;
	if (x->birth != y->birth)
		return x->birth < y->birth ? -1 : 1;
	return x->pid ? 0 : strcmp(x->name, y->name);
}

static int down(double x, double y)
{
	/* What is not known yet comes last. */
	if (isnan(x) || isnan(y))
		return isnan(x) - isnan(y);
	return (x < y) - (x > y);
}

static int by_areas(const void *a, const void *b)
{
	const struct top_row *x = a, *y = b;
	int order = down((double)x->areas, (double)y->areas);

	return order ? order : by_identity(a, b);
}

static int by_gained(const void *a, const void *b)
{
	const struct top_row *x = a, *y = b;
	int order = down(x->gained, y->gained);

	return order ? order : by_areas(a, b);
}

static int by_bytes(const void *a, const void *b)
{
	const struct top_row *x = a, *y = b;
	int order = down((double)x->bytes, (double)y->bytes);

	return order ? order : by_areas(a, b);
}

static int by_name(const void *a, const void *b)
{
	const struct top_row *x = a, *y = b;
	int order = strcmp(x->name, y->name);

	return order ? order : by_areas(a, b);
}

static void sort_by(struct top_table *table, int (*order)(const void *, const void *))
{
	if (table->count > 1)
		qsort(table->rows, table->count, sizeof(*table->rows), order);
}

void top_sort(struct top_table *table, enum top_order order)
{
	static int (*const orders[])(const void *, const void *) = {
		[TOP_BY_AREAS] = by_areas, [TOP_BY_GAINED] = by_gained,
		[TOP_BY_BYTES] = by_bytes, [TOP_BY_PID] = by_identity, [TOP_BY_NAME] = by_name,
	};

	sort_by(table, orders[order]);
}

void top_compare(struct top_table *table, struct top_table *before)
{
	double seconds = table->time - before->time;
	size_t j = 0;

	sort_by(table, by_identity);
	sort_by(before, by_identity);
	for (size_t i = 0; i < table->count; i++) {
		struct top_row *row = &table->rows[i];
		double was = 0;

		while (j < before->count && by_identity(&before->rows[j], row) < 0)
			j++;
		if (j < before->count && by_identity(&before->rows[j], row) == 0)
			was = (double)before->rows[j].areas;
		else if (row->pid)
			continue;	/* a new process: what it began with was no gain */
		if (seconds > 0)
			row->gained = ((double)row->areas - was) / seconds;
	}
}

/* ---- text ----------------------------------------------------------------------------------- */

/* Writes @format's arguments into @text, and says how much of @size - 1 bytes they took. */
static size_t put(char *text, size_t size, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

static size_t put(char *text, size_t size, const char *format, ...)
{
	va_list args;
	int length;

	if (size == 0)
		return 0;
	va_start(args, format);
	length = vsnprintf(text, size, format, args);
	va_end(args);
	if (length < 0)
		return 0;
	return (size_t)length < size ? (size_t)length : size - 1;
}

void top_title(const struct top_table *table, char *text, size_t size)
{
	size_t used;

	if (table->pid)
		used = put(text, size, "process %d (%s): %lu areas", (int)table->pid,
			   table->command ? table->command : "?", table->areas);
	else
		used = put(text, size, "%zu process%s: %lu areas", table->count,
			   table->count == 1 ? "" : "es", table->areas);
	if (table->limit)
		used += put(text + used, size - used, "%s; a process may have %lu",
			    table->pid ? "" : " in all", table->limit);
	if (table->hidden)
		put(text + used, size - used, "; %lu process%s not shown: no permission",
		    table->hidden, table->hidden == 1 ? " is" : "es are");
}

void top_head(const struct top_table *table, char *text, size_t size)
{
	if (table->pid)
		put(text, size, "%8s %6s %9s %9s  %s", "AREAS", "%", "+/S", "SIZE",
		    table->by_site ? "CALL SITE" : "KIND");
	else
		put(text, size, "%8s %8s %6s %9s %9s %9s  %s", "PID", "AREAS", "%LIMIT", "+/S",
		    "FULL IN", "SIZE", "COMMAND");
}

static void put_size(char text[16], unsigned long bytes)
{
	static const char units[] = "KMGTP";
	double number = (double)bytes / 1024;
	size_t unit = 0;

	while (number >= 9999.5 && unit + 2 < sizeof(units)) {
		number /= 1024;
		unit++;
	}
	snprintf(text, 16, "%.0f%c", number, units[unit]);
}

/* When a process that goes on gaining like this has reached the limit. */
static void put_time(char text[16], const struct top_table *table, const struct top_row *row)
{
	double left = (double)table->limit - (double)row->areas, seconds = left / row->gained;

	if (!table->limit || !(row->gained > 0))
		snprintf(text, 16, "-");
	else if (left <= 0)
		snprintf(text, 16, "full");
	else if (seconds < 600)
		snprintf(text, 16, "%.0fs", seconds);
	else if (seconds < 600 * 60)
		snprintf(text, 16, "%.0fm", seconds / 60);
	else if (seconds < 100 * 3600)
		snprintf(text, 16, "%.0fh", seconds / 3600);
	else if (seconds < 999 * 86400.0)
		snprintf(text, 16, "%.0fd", seconds / 86400);
	else
		snprintf(text, 16, "-");
}

void top_line(const struct top_table *table, size_t i, char *text, size_t size)
{
	const struct top_row *row = &table->rows[i];
	unsigned long whole = table->pid ? table->areas : table->limit;
	double share = whole ? 100 * (double)row->areas / (double)whole : 0;
	char bytes[16], full[16], gained[16];

	put_size(bytes, row->bytes);
	put_time(full, table, row);
	if (isnan(row->gained))
		snprintf(gained, sizeof(gained), "-");
	else
		snprintf(gained, sizeof(gained), "%+.1f", row->gained == 0 ? 0 : row->gained);
	if (table->pid)
		put(text, size, "%8lu %6.1f %9s %9s  %s", row->areas, share, gained, bytes,
		    row->name);
	else
		put(text, size, "%8d %8lu %6.1f %9s %9s %9s  %s", (int)row->pid, row->areas, share,
		    gained, full, bytes, row->name);
}
