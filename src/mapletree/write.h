/* SPDX-License-Identifier: MIT */
/*
 * write.h - the one write engine: walk, plan, reserve, build, publish, retire.
 *
 * Every change of a tree's content is a store of an entry, or of NULL, over a range:
 *
 *	struct mt_write w;
 *
 *	write_plan(&w, mt, first, last, entry);		walk, plan
 *	if (!pool_grow(.., write_blocks(&w)))		reserve: the last point that may fail
 *		return -ENOMEM;
 *	write_commit(&w, &reserve, &place);		build, publish, retire
 *
 * All with the lock held, and nothing else changed in between.
 */
#ifndef MT_WRITE_H
#define MT_WRITE_H

#include "build.h"
#include "path.h"
#include "plan.h"
#include "pool.h"

/*
 * struct mt_write - one write.
 * @first, @last: what is stored over; for NULL, widened to the gap that results.
 * @old:    the entry that was at the first index asked for.
 * @blocks: how many blocks of the pool a commit takes at most.
 */
struct mt_write {
	struct maple_tree *mt;
	unsigned long first;
	unsigned long last;
	void *entry;
	void *old;
	unsigned int blocks;
	struct mt_plan plan;
	struct mt_path path;
};

/* write_plan - walk and plan the store of @entry over @first .. @last. Changes nothing. */
void write_plan(struct mt_write *w, struct maple_tree *mt, unsigned long first,
		unsigned long last, void *entry);

/*
 * write_commit - carry the plan out with blocks from @reserve, which holds at least w->blocks.
 * *@place becomes where the range now is.
 */
void write_commit(struct mt_write *w, struct pool_list *reserve, struct mt_place *place);

#endif
