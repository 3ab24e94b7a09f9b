/* SPDX-License-Identifier: MIT */
/* Which calls of a log created, split and merged areas: counted by kind of call and by thread. */
#ifndef VMSCOPE_REPORT_BLAME_H
#define VMSCOPE_REPORT_BLAME_H

#include <mapletree/vmspace.h>
#include <stdbool.h>
#include <stddef.h>

#include "replay/replay_state.h"
#include "report/history.h"
#include "report/neighbours.h"

struct blame_row {
	char what[200];			/* the kind of call, or the thread */
	unsigned long calls;
	unsigned long made, gone;	/* areas added and removed, summed up by call */
	unsigned long splits, merges;
	unsigned long refused[VMA_VERDICT_COUNT];	/* merges that were refused, by reason */
};

struct blame_table {
	struct blame_row *rows;
	size_t count, capacity;
};

/* A group of areas of one address space that are the same kind of thing. */
struct blame_owner {
	char what[80];
	unsigned long areas, bytes;
};

struct blame_space {
	struct blame_table calls, threads;
	unsigned long areas;		/* after the last step */
	/* At the end: */
	struct blame_owner *owners;	/* most areas first */
	size_t owner_count;
	struct neighbours neighbours;
};

/* For all address spaces of a log, with their history. */
struct blame {
	struct history history;
	struct maple_tree spaces;	/* number -> struct blame_space */
	bool failed;			/* memory has run out */
};

void blame_init(struct blame *blame);
void blame_clear(struct blame *blame);

/* A listener for replay_state_new(); its ctx is a struct blame. */
void blame_notify(void *ctx, enum replay_event event, struct replay_space *space,
		  const struct step *step, const struct vmspace_request *req, const char *why);

struct blame_space *blame_find(struct blame *blame, unsigned int id);

/* Groups the areas of @vm into @space->owners and @space->neighbours. Returns 0 or -ENOMEM. */
int blame_group_areas(struct blame_space *space, const struct vmspace *vm);

/* Frees what @space points to, but not @space. */
void blame_space_clear(struct blame_space *space);

/* Sorts rows by areas created. */
void blame_sort(struct blame_table *table);

#endif
