/* SPDX-License-Identifier: MIT */
/* The order of events of a space: they arrive as threads return, and leave by their turn. */
#include "watch/order.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

void order_init(struct order *order)
{
	order->over = 0;
	order->holes = false;
	order->first = NULL;
	order->end = &order->first;
}

struct waiting *order_copy(const struct watch_head *event, size_t size, struct watch_area *areas,
			   size_t count)
{
	struct waiting *waiting = malloc(sizeof(*waiting) + size);

	if (!waiting)
		return NULL;
	*waiting = (struct waiting){ .turn = event->turn, .after = event->after, .areas = areas,
				     .count = count };
	memcpy(waiting->event, event, size);
	return waiting;
}

void order_free(struct waiting *waiting)
{
	free(waiting->areas);
	free(waiting->stack);
	free(waiting);
}

void order_clear(struct order *order)
{
	while (order->first) {
		struct waiting *waiting = order->first;

		order->first = waiting->next;
		order_free(waiting);
	}
	order->end = &order->first;
}

void order_add(struct order *order, struct waiting *waiting)
{
	waiting->next = NULL;
	*order->end = waiting;
	order->end = &waiting->next;
}

void order_begin(struct order *order, struct waiting *shows, __u64 turn)
{
	struct waiting **link = &order->first;

	while (*link) {
		struct waiting *waiting = *link;
		const __u32 kind = waiting->event->kind;
		const bool call = kind == WATCH_CALL || kind == WATCH_TURN || kind == WATCH_UFFD_END;

		if ((waiting->turn ? waiting->turn : waiting->after) > turn) {
			link = &waiting->next;
		} else if (call) {
			*link = waiting->next;
			order_free(waiting);
		} else {
			waiting->after = waiting->turn != 0;
			link = &waiting->next;
		}
	}
	order->end = link;
	order->over = turn;
	shows->next = order->first;
	order->first = shows;
	if (!shows->next)
		order->end = &shows->next;
}

/* The first whose turn it is. */
static struct waiting *take(struct order *order)
{
	for (struct waiting **link = &order->first; *link; link = &(*link)->next) {
		struct waiting *waiting = *link;

		if (waiting->turn ? waiting->turn > order->over + 1 :
				    waiting->after > order->over)
			continue;
		*link = waiting->next;
		if (!*link)
			order->end = link;
		if (waiting->turn > order->over)
			order->over = waiting->turn;
		return waiting;
	}
	return NULL;
}

/* Goes on to the first turn that has arrived, or is waited for. */
static void skip(struct order *order)
{
	__u64 least = ULLONG_MAX;

	for (const struct waiting *w = order->first; w; w = w->next) {
		__u64 at = w->turn ? w->turn - 1 : w->after;

		if (at < least)
			least = at;
	}
	if (order->first && least > order->over)
		order->over = least;
}

struct waiting *order_next(struct order *order)
{
	struct waiting *waiting = take(order);

	if (!waiting && order->first && order->holes) {
		skip(order);
		waiting = take(order);
	}
	return waiting;
}

void order_skip(struct order *order)
{
	order->holes = true;
}

void order_whole(struct order *order)
{
	order->holes = false;
}
