/* SPDX-License-Identifier: MIT */
/*
 * write.c - drive one write through its stages.
 */
#include "write.h"

#include "publish.h"
#include "retire.h"

void write_plan(struct mt_write *w, struct maple_tree *mt, unsigned long first,
		unsigned long last, void *entry)
{
	const struct mt_step *leaf;

	assert(first <= last);
	w->mt = mt;
	w->first = first;
	w->last = last;
	w->entry = entry;
	path_walk(&w->path, mt, first, last);
	leaf = path_left(&w->path, w->path.depth - 1);
	w->old = leaf->node->wide.slot[leaf->offset];
	if (!entry)
		path_join_gaps(&w->path, mt, &w->first, &w->last);
	plan_make(&w->plan, mt, &w->path, w->first, w->last, entry);
	w->blocks = w->plan.nodes + retire_batches_needed(mt, w->plan.retired);
}

void write_commit(struct mt_write *w, struct pool_list *reserve, struct mt_place *place)
{
	struct mt_items buffer;
	const struct mt_items *built;

	assert(reserve->count >= w->blocks);
	place->node = NULL;
	built = build_levels(&w->plan, w->mt, reserve, &buffer, place);
	publish_write(w->mt, &w->plan, &w->path, built, reserve, place);
	retire_replaced(w->mt, &w->plan, &w->path, reserve);
}
