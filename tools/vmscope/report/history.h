/* SPDX-License-Identifier: MIT */
/* What every address space of a log looked like, and when: rectangles of address against time. */
#ifndef VMSCOPE_REPORT_HISTORY_H
#define VMSCOPE_REPORT_HISTORY_H

#include <mapletree/maple_tree.h>
#include <stdbool.h>
#include <stddef.h>

#include "replay/replay_state.h"

/* What kind of memory an area is, as one colour tells it. */
enum area_kind {
	AREA_CODE,	/* executable, of a file */
	AREA_CONSTANT,	/* readable only, of a file */
	AREA_DATA,	/* writable, of a file */
	AREA_HEAP,	/* the area of brk() */
	AREA_ANON,	/* anonymous, writable or readable */
	AREA_ANON_CODE,	/* anonymous and executable: made at run time */
	AREA_STACK,	/* grows downwards */
	AREA_SHARED,	/* shared with others, of whatever kind */
	AREA_NONE,	/* no access: a guard, or room kept free */
	AREA_SPECIAL,	/* made by the kernel */
	AREA_UNKNOWN,	/* it must have been there: unknown.h */
	AREA_KINDS
};

const char *area_kind_name(enum area_kind kind);

/*
 * Moments are counted over all spaces: moment 0 is before the first step, and each step that changed or
 * might have changed areas is one more.
 */
struct history_area {
	unsigned long start, end;
	enum area_kind kind;
	char perms[5];
	unsigned int begin, until;	/* moments; [begin, until) */
	const char *name;		/* of the file or the area; "" for none; the history's */
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
	bool ended;			/* before the log did */
	bool incomplete, differs;
	unsigned long calls, peak, at_end, limit;	/* areas; limit: max_map_count */
	struct history_area *areas;
	size_t area_count, area_capacity;
	struct history_count *counts;	/* one for each change */
	size_t count_count, count_capacity;
	struct history_fork *forks;
	size_t fork_count, fork_capacity;
	struct maple_tree live;		/* [start, end - 1] -> index in areas, xa_mk_value() */
	unsigned long live_count;
};

struct history {
	struct history_space **spaces;	/* in the order in which they began */
	size_t space_count, space_capacity;
	double *times;			/* of each moment; < 0: not known */
	size_t moments, moment_capacity;
	struct maple_tree names;	/* hash -> first struct history_name with it */
	bool failed;			/* memory has run out */
};

void history_init(struct history *history);
void history_clear(struct history *history);

/* A listener for replay_state_new(), whose ctx is a struct history. */
void history_notify(void *ctx, enum replay_event event, struct replay_space *space,
		  const struct step *step, const struct vmspace_request *req, const char *why);

/* The space with that number; NULL: none. Numbers are used once. */
struct history_space *history_find(const struct history *history, unsigned int id);

#endif
