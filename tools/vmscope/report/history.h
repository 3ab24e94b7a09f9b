/* SPDX-License-Identifier: MIT */
/*
 * The history of every address space of a log, in bounded memory: each area is a rectangle in
 * address and time.
 */
#ifndef VMSCOPE_REPORT_HISTORY_H
#define VMSCOPE_REPORT_HISTORY_H

#include <limits.h>
#include <mapletree/maple_tree.h>
#include <stdbool.h>
#include <stddef.h>

#include "log/names.h"
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
 * Moments are numbered across all address spaces; each is of one or more lines of the log that may
 * have changed areas. What a moment shows, is as it was after the last of its lines: if there are
 * more lines than moments, what came and went between two of them is not kept.
 */
struct history_area {
	unsigned long start, end;
	unsigned long offset;		/* bytes, as in /proc/PID/maps */
	unsigned int begin, until;	/* moments; [begin, until) */
	unsigned int line;		/* of the log, with which it began */
	pid_t tid;			/* the thread that made it */
	const struct name *what;	/* "perms device inode\tname": what maps shows of it */
	const struct name *cause;	/* "call\tsite or stack" */
	unsigned char kind;		/* enum area_kind */
	unsigned char left, right;	/* enum vma_verdict: why it was not merged when it began */
};

enum { HISTORY_OPEN = INT_MAX };	/* until: it is still there */

struct history_count {
	unsigned int moment;
	unsigned long areas;		/* at that moment */
};

struct history_fork {
	unsigned int moment;
	pid_t child;
	unsigned int space;
};

struct history_space {
	unsigned int id, from, maker;	/* as of the replay_space */
	pid_t pid;
	char command[64];
	char gate[96];			/* the line of [vsyscall], which is no area; or "" */
	unsigned int begin, until;	/* moments */
	bool ended;			/* false: it still existed at the end of the log */
	bool incomplete, differs;
	bool left_out;			/* its areas are not kept, for there were too many in all */
	unsigned long calls, peak, at_end, limit;	/* areas; limit: max_map_count */
	struct history_area *areas;
	size_t area_count, area_capacity;
	struct history_count *counts;	/* one per moment of change */
	size_t count_count, count_capacity;
	struct history_fork *forks;
	size_t fork_count, fork_capacity;
	struct maple_tree live;		/* [start, end - 1] -> index in areas, xa_mk_value() */
	unsigned long live_count;
};

struct history {
	size_t area_limit;		/* how many areas to keep, about; set after history_init() */
	struct history_space **spaces;	/* in the order of their beginnings */
	size_t space_count, space_capacity;
	unsigned long forgotten;	/* more spaces: there were too many */
	unsigned long left_out;		/* spaces without their areas */
	double *times;			/* of each moment; < 0: unknown */
	unsigned long *lines;		/* the last one of each moment, ascending */
	size_t moments, moment_capacity;
	unsigned long per_moment, in_last;	/* lines in each moment, and so far in the last */
	size_t area_count;		/* of all spaces */
	unsigned long transient;	/* areas that were there between two moments only */
	struct names whats, causes;
	bool failed;			/* memory has run out */
};

void history_init(struct history *history);
void history_clear(struct history *history);

/* A listener for replay_state_new(); its ctx is a struct history. */
void history_notify(void *ctx, enum replay_event event, struct replay_space *space,
		    const struct step *step, const struct vmspace_request *req, const char *why);

/* The address space with number @id; NULL: there is none. */
struct history_space *history_find(const struct history *history, unsigned int id);

/* The name of an area, as in maps; "" if it has none. */
const char *history_name(const struct history_area *area);

/*
 * Keeps no more than @areas areas, about: of half as many moments, or without those of ended
 * spaces that had fewest. False: it is as small as it can be.
 */
bool history_thin(struct history *history, size_t areas);

#endif
