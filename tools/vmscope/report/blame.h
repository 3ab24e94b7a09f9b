/* SPDX-License-Identifier: MIT */
/* Which calls of a log created, split and merged areas: counted by kind of call and by thread. */
#ifndef VMSCOPE_REPORT_BLAME_H
#define VMSCOPE_REPORT_BLAME_H

#include <mapletree/vmspace.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "replay/replay_state.h"
#include "report/course.h"
#include "report/neighbours.h"

struct blame_row {
	char what[200];			/* the kind of call, or the thread */
	unsigned long calls;
	unsigned long made, gone;	/* areas added and removed, summed up by call */
	unsigned long splits, merges;
	unsigned long refused[VMA_VERDICT_COUNT];	/* merges that were refused, by reason */
};

enum { BLAME_ROWS = 8192 };	/* beyond, all are counted in one */

struct blame_table {
	struct blame_row *rows;
	size_t count, capacity;
	unsigned int *index;		/* hash table of 2 * capacity: number of a row, from 1; 0 */
};

/* A group of areas of one address space that are the same kind of thing. */
struct blame_owner {
	char what[80];
	unsigned long areas, bytes;
};

struct blame_space {
	unsigned int id;		/* its number in the log */
	pid_t pid;
	char command[64];
	bool ended;			/* by exit or exec; false: it was there after the log */
	bool incomplete, differs;	/* as of struct replay_space */
	unsigned long calls;
	unsigned long areas;		/* after the last step */
	unsigned long peak, limit;	/* most areas at one time; max_map_count */
	double peak_time;		/* in seconds; < 0: not known */
	struct course course;
	struct blame_table calls_by_kind, threads;
	/* At the end: */
	struct blame_owner *owners;	/* most areas first */
	size_t owner_count;
	struct neighbours neighbours;
};

/*
 * For the address spaces of a log. Only the one that had most areas is kept when it has ended, so
 * that the log may be of any length.
 */
struct blame {
	pid_t pid;			/* only of this process; 0: of any */
	struct blame_space *most;	/* of those that have ended; NULL: none has */
	unsigned long space_count;	/* all that the log has */
	bool failed;			/* memory has run out */
};

void blame_init(struct blame *blame, pid_t pid);
void blame_clear(struct blame *blame);

/* A listener for replay_state_new(); its ctx is a struct blame. */
void blame_notify(void *ctx, enum replay_event event, struct replay_space *space,
		  const struct step *step, const struct vmspace_request *req, const char *why);

/* Groups the areas of @vm into @space->owners and @space->neighbours. Returns 0 or -ENOMEM. */
int blame_group_areas(struct blame_space *space, const struct vmspace *vm);

/* Frees what @space points to, but not @space. */
void blame_space_clear(struct blame_space *space);

/* The kind of call that @req is: what it asks for, without addresses. */
void blame_describe(const struct step *step, const struct vmspace_request *req, char *buf,
		    size_t size);

/* The same, behind the site where it was made, if that is known. */
void blame_describe_at_site(const struct step *step, const struct vmspace_request *req, char *buf,
			    size_t size);

/* The thread that makes a call: its number, and unless @pid is -1 that of its process. */
void blame_describe_thread(pid_t tid, pid_t pid, char *buf, size_t size);

/* Counts a call in the row @what. False: out of memory. */
bool blame_count(struct blame_table *table, const char *what, const struct vmspace_request *req,
		 unsigned long before, unsigned long after);
void blame_table_clear(struct blame_table *table);

/* Sorts rows by areas created. */
void blame_sort(struct blame_table *table);

#endif
