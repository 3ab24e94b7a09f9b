/* SPDX-License-Identifier: MIT */
/* A log as folded stacks, one line each with its weight, from which flame graphs are made. */
#include <stdlib.h>
#include <string.h>

#include "log/hash.h"
#include "report/export.h"

enum { ROWS_MAX = 65536, STACK_TEXT = 4600 };

struct folded_row {
	struct folded_row *next;	/* with the same hash */
	pid_t pid;
	unsigned long weight;
	char stack[];			/* "frame;frame;call" */
};

/* Where the command of a process is, among the rows: no hash is as large. */
static unsigned long name_key(pid_t pid)
{
	return (unsigned long)LONG_MAX + 1 + (unsigned long)pid;
}

static struct folded_row *add_row(struct export *export, unsigned long key, pid_t pid,
				  const char *stack)
{
	struct folded_row *row = calloc(1, sizeof(*row) + strlen(stack) + 1);

	if (!row) {
		export->failed = true;
		return NULL;
	}
	row->next = mtree_load(&export->rows, key);
	row->pid = pid;
	strcpy(row->stack, stack);
	if (mtree_store(&export->rows, key, row, GFP_KERNEL)) {
		free(row);
		export->failed = true;
		return NULL;
	}
	export->row_count++;
	return row;
}

static struct folded_row *find_row(struct export *export, pid_t pid, const char *stack)
{
	unsigned long key = hash_bytes(HASH_INIT, stack, strlen(stack));
	struct folded_row *row;

	key = (key ^ (unsigned long)pid * 0x9e3779b97f4a7c15) & LONG_MAX;
	for (row = mtree_load(&export->rows, key); row; row = row->next)
		if (row->pid == pid && strcmp(row->stack, stack) == 0)
			return row;
	return add_row(export, key, pid, stack);
}

/* "lib.so(function+0x1f)" without where in the function: its calls are one frame. */
static void drop_offsets(char *stack)
{
	char *to = stack;

	for (const char *at = stack; *at;) {
		const size_t length = strncmp(at, "+0x", 3) == 0 && at > stack && at[-1] != '(' ?
			3 + strspn(at + 3, "0123456789abcdef") : 0;

		at += length;
		if (*at && (!length || *at != '+'))
			*to++ = *at++;
	}
	*to = '\0';
}

static void name_process(struct export *export, const struct export_event *event)
{
	const char *name = event->space->command;
	struct folded_row *old = mtree_load(&export->rows, name_key(event->pid));

	if (!name[0] || (old && strcmp(old->stack, name) == 0))
		return;
	/* The last name counts: it is the first of its list. */
	add_row(export, name_key(event->pid), event->pid, name);
}

static void put_event(struct export *export, const struct export_event *event)
{
	const unsigned long weight = export->weight == EXPORT_CALLS ? 1 :
		event->change > 0 ? (unsigned long)event->change : 0;
	const char *frames;
	char stack[STACK_TEXT];
	struct folded_row *row;

	name_process(export, event);
	if (event->kind != REPLAY_CALL_PERFORMED || weight == 0)
		return;
	frames = event->step->stack ? event->step->stack : event->step->site;
	snprintf(stack, sizeof(stack), "%.4096s%s", frames ? frames : "", frames ? ";" : "");
	drop_offsets(stack);
	strncat(stack, export_name(event), sizeof(stack) - strlen(stack) - 1);
	if (export->row_count >= ROWS_MAX) {
		export->others++;
		strcpy(stack, "stacks that were rare at first");
	}
	row = find_row(export, event->pid, stack);
	if (row)
		row->weight += weight;
}

static void put_row(struct export *export, const struct folded_row *row)
{
	const struct folded_row *name = mtree_load(&export->rows, name_key(row->pid));

	if (!row->weight)
		return;
	for (const char *at = name ? name->stack : "process"; *at; at++)
		putc(*at == ';' || *at == '\n' ? ':' : *at, export->to);
	fprintf(export->to, " (%d);%s %lu\n", (int)row->pid, row->stack, row->weight);
}

static void finish(struct export *export)
{
	struct folded_row *row, *next;
	unsigned long key = 0;

	mt_for_each(&export->rows, row, key, ULONG_MAX)
		for (const struct folded_row *at = row; at; at = at->next)
			put_row(export, at);
	key = 0;
	mt_for_each(&export->rows, row, key, ULONG_MAX)
		for (; row; row = next) {
			next = row->next;
			free(row);
		}
}

const struct export_format export_folded = {
	.name = "folded", .event = put_event, .finish = finish
};
