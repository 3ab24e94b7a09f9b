/* SPDX-License-Identifier: MIT */
/* One look of "vmscope top": a row for each process, or for each kind of memory, or call site, of one. */
#ifndef VMSCOPE_TOP_TABLE_H
#define VMSCOPE_TOP_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct top_row {
	pid_t pid;			/* 0: a kind of memory */
	unsigned long long birth;	/* of a process: when it began, so that no PID means two */
	char *name;			/* of the command, or the kind; printable; the table's */
	unsigned long areas, bytes;
	double gained;			/* areas a second since the look before; NAN: there was none */
};

/* How rows are sorted; what is largest comes first, names and PIDs from the smallest. */
enum top_order { TOP_BY_AREAS, TOP_BY_GAINED, TOP_BY_BYTES, TOP_BY_PID, TOP_BY_NAME, TOP_ORDERS };

/* areas == the sum of rows[i].areas for all i < count <= capacity. */
struct top_table {
	struct top_row *rows;
	size_t count, capacity;
	double time;			/* of the look, in seconds of CLOCK_MONOTONIC */
	pid_t pid;			/* whose kinds these are; 0: rows are processes */
	char *command;			/* of @pid */
	bool by_site;			/* rows are the call sites that made its areas */
	unsigned long areas;
	unsigned long limit;		/* vm.max_map_count; 0: not known */
	unsigned long hidden;		/* processes that we may not look at */
};

#define TOP_TABLE_INIT { .rows = NULL }

/* Frees what @table holds, and makes it empty. */
void top_clear(struct top_table *table);

/* The word for an order, and what it says of itself. NULL: @order is none. */
const char *top_order_name(enum top_order order);
/* TOP_ORDERS: there is none of that name. */
enum top_order top_order_find(const char *name);

/*
 * A copy of a name, which comes from a file or a program, without what a terminal would obey. The
 * caller frees it; NULL: there is no memory.
 */
char *top_printable(const char *name, size_t length);

/* Appends a row named @name. Returns 0 or -ENOMEM. */
int top_add(struct top_table *table, const struct top_row *row, const char *name, size_t length);

/* Computes what each row of @table has gained since @before, an earlier look at the same. */
void top_compare(struct top_table *table, struct top_table *before);

void top_sort(struct top_table *table, enum top_order order);

/*
 * The title, the heads of the columns, and row @i as text without a newline, cut to @size - 1
 * bytes.
 */
void top_title(const struct top_table *table, char *text, size_t size);
void top_head(const struct top_table *table, char *text, size_t size);
void top_line(const struct top_table *table, size_t i, char *text, size_t size);

#endif
