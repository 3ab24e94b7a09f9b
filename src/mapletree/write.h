/* SPDX-License-Identifier: MIT */
/*
 * write.h - the write engine: walk, plan, reserve, build, publish, retire.
 *
 * Every change of a tree's content is a store of an entry, or of NULL, over a range. Those that
 * only change a leaf in place are done there and then; the others are done in stages:
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
#include "leaf_plan.h"
#include "path.h"
#include "plan.h"
#include "pool.h"

/*
 * struct mt_write - one write.
 * @old:    the entry that was at the first index; for LEAF_NOT_ALONE.
 * @blocks: how many blocks of the pool a commit takes at most.
 * @verdict: how @leaf is to be carried out; LEAF_GROUP, LEAF_SEAM: as @group, @seam says;
 *           LEAF_NOT_ALONE: @plan and @path are in use instead.
 */
struct mt_write {
	struct maple_tree *mt;
	void *old;
	unsigned int blocks;
	enum leaf_verdict verdict;
	struct mt_leaf_plan leaf;
	struct mt_group group;
	struct mt_seam seam;
	struct mt_plan plan;
	struct mt_path path;
};

/*
 * write_store - store @entry over [mas->index, mas->last], with the cursor's reserve and, if it
 * @may, with the allocator. The cursor stands on what it wrote then, and *@old (if @old is not
 * NULL) is the entry that was at index. Returns 0, -EINVAL or -ENOMEM. Lock held.
 */
int write_store(struct ma_state *mas, void *entry, bool may, void **old);

/* write_plan - walk and plan the store of @entry over @first .. @last. Changes nothing. */
void write_plan(struct mt_write *w, struct maple_tree *mt, unsigned long first,
		unsigned long last, void *entry);

/*
 * write_commit - carry the plan out with blocks from @reserve, which holds at least w->blocks.
 * *@place becomes where the range now is.
 */
void write_commit(struct mt_write *w, struct pool_list *reserve, struct mt_place *place);

#endif
