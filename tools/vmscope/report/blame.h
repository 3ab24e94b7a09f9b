/* SPDX-License-Identifier: MIT */
/* Which calls of a log made, cut and joined areas: counted by what they ask for and by thread. */
#ifndef VMSCOPE_REPORT_BLAME_H
#define VMSCOPE_REPORT_BLAME_H

#include <mapletree/vmspace.h>
#include <stdbool.h>
#include <stddef.h>

#include "replay/replay_state.h"
#include "report/history.h"
#include "report/neighbours.h"

struct blame_row {
	char what[200];			/* the call, as a kind; or the thread */
	unsigned long calls;
	unsigned long made, gone;	/* areas: sums of what single calls added or took away */
	unsigned long splits, merges;
	unsigned long refused[VMA_VERDICT_COUNT];	/* neighbours that stayed two, by why */
};

struct blame_table {
	struct blame_row *rows;
	size_t count, capacity;
};

/* What the areas of one space are at one moment, grouped. */
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

/* For all spaces of a log; the history goes with it. */
struct blame {
	struct history history;
	struct maple_tree spaces;	/* number -> struct blame_space */
	bool failed;			/* memory has run out */
};

void blame_init(struct blame *blame);
void blame_clear(struct blame *blame);

/* A listener for replay_state_new(), whose ctx is a struct blame. */
void blame_notify(void *ctx, enum replay_event event, struct replay_space *space,
		const struct step *step, const struct vmspace_request *req, const char *why);

struct blame_space *blame_find(struct blame *blame, unsigned int id);

/* Fills in what the areas of @vm are. Returns 0 or -ENOMEM. */
int blame_look(struct blame_space *space, const struct vmspace *vm);

/* Frees what @space holds, not itself. */
void blame_space_clear(struct blame_space *space);

/* Sorts by areas made. */
void blame_sort(struct blame_table *table);

#endif
