/* SPDX-License-Identifier: MIT */
/* The history of every address space of a log: each area is a rectangle in address and time. */
#ifndef VMSCOPE_REPORT_HISTORY_H
#define VMSCOPE_REPORT_HISTORY_H

#include <mapletree/maple_tree.h>
#include <stdbool.h>
#include <stddef.h>

#include "replay/replay_state.h"

/* The kind of memory that an area is; each has a colour. */
enum area_kind {
	AREA_CODE,	/* file, executable */
	AREA_CONSTANT,	/* file, read-only */
	AREA_DATA,	/* file, writable */
	AREA_HEAP,	/* the area of brk() */
	AREA_ANON,	/* anonymous, writable or readable */
	AREA_ANON_CODE,	/* anonymous, executable: generated at run time */
	AREA_STACK,	/* grows downwards */
	AREA_SHARED,	/* any shared mapping */
	AREA_NONE,	/* no access: a guard, or reserved addresses */
	AREA_SPECIAL,	/* [vdso] and the like */
	AREA_UNKNOWN,	/* inferred: see replay/unknown.h */
	AREA_KINDS
};

const char *area_kind_name(enum area_kind kind);

/*
 * A moment is a point in the log. Moments are numbered across all address spaces: 0 is before the
 * first step, and each step that may have changed areas starts another.
 */
struct history_area {
	unsigned long start, end;
	enum area_kind kind;
	char perms[5];
	unsigned int begin, until;	/* moments; [begin, until) */
	const char *name;		/* of the file or area; "" if none; interned */
};

struct history_count {
	unsigned int moment;
	unsigned long areas;
};

struct history_fork {
	unsigned int moment;
	pid_t child;
	unsigned int space;
};

struct history_space {
	unsigned int id, from;
	pid_t pid;
	char command[64];
	unsigned int begin, until;	/* moments */
	bool ended;			/* false: it still existed at the end of the log */
	bool incomplete, differs;
	unsigned long calls, peak, at_end, limit;	/* areas; limit: max_map_count */
	struct history_area *areas;
	size_t area_count, area_capacity;
	struct history_count *counts;	/* one per change */
	size_t count_count, count_capacity;
	struct history_fork *forks;
	size_t fork_count, fork_capacity;
	struct maple_tree live;		/* [start, end - 1] -> index in areas, xa_mk_value() */
	unsigned long live_count;
};

struct history {
	struct history_space **spaces;	/* in the order of their beginnings */
	size_t space_count, space_capacity;
	double *times;			/* of each moment; < 0: unknown */
	size_t moments, moment_capacity;
	struct maple_tree names;	/* hash -> first struct history_name with it */
	bool failed;			/* memory has run out */
};

void history_init(struct history *history);
void history_clear(struct history *history);

/* A listener for replay_state_new(); its ctx is a struct history. */
void history_notify(void *ctx, enum replay_event event, struct replay_space *space,
		    const struct step *step, const struct vmspace_request *req, const char *why);

/* The address space with number @id; NULL: there is none. */
struct history_space *history_find(const struct history *history, unsigned int id);

#endif
