/* SPDX-License-Identifier: MIT */
/* The order of events of a space: they arrive as threads return, and leave by their turn. */
#ifndef VMSCOPE_WATCH_ORDER_H
#define VMSCOPE_WATCH_ORDER_H

#include <stdbool.h>
#include <stddef.h>

#include "watch/event.h"

/* An event that waits for its turn. */
struct waiting {
	struct waiting *next;
	__u64 turn, after;		/* turn 0: it may come when `after` is over */
	struct watch_area *areas;	/* that came with it; owned */
	size_t count;
	struct watch_limits limits;	/* that came with it */
	struct watch_stack_event *stack;	/* of a call; owned; NULL: not known */
	struct watch_head event[];	/* all of it */
};

struct order {
	__u64 over;			/* all turns up to this one are over */
	bool holes;			/* turns may be missing for good: none is waited for */
	struct waiting *first, **end;	/* in order of arrival */
};

void order_init(struct order *order);
void order_clear(struct order *order);

/* A copy of @event, of @size bytes, with @areas, which it owns then. NULL: out of memory. */
struct waiting *order_copy(const struct watch_head *event, size_t size, struct watch_area *areas,
			   size_t count);
void order_free(struct waiting *waiting);

/* Adds it; the order owns it then. */
void order_add(struct order *order, struct waiting *waiting);

/*
 * The same with @shows, which shows what there was after turn @turn: it is next. Calls up to that turn are
 * forgotten, for it shows what they did; of what else waits, it is known that it was under way then.
 */
void order_begin(struct order *order, struct waiting *shows, __u64 turn);

/* Takes out the next event whose turn it is; the caller owns it. NULL: it has not arrived yet. */
struct waiting *order_next(struct order *order);

/*
 * Events were lost, or will be known to have been: from now on no turn is waited for that comes before
 * one that has arrived, until order_whole().
 */
void order_skip(struct order *order);

/* What is there now is known again: turns are waited for. */
void order_whole(struct order *order);

#endif
