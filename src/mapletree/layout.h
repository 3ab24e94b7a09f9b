/* SPDX-License-Identifier: MIT */
/*
 * layout.h - a write that changes several nodes: they are laid out anew, level by level.
 *
 * From the leaves upwards a run of slots is replaced by a few items: in the leaves by the new range
 * and what is left of the ranges it cuts, above them by the nodes laid out below. What a level
 * holds then, old slots and items, is gathered in one buffer and spread over one node to three. It
 * ends at the lowest level where one node takes it all: a slot of that node is stored, or, without
 * readers, the node itself is laid out where it is; or at the root.
 *
 * Beside readers the nodes laid out are fresh ones, and one store makes all of them visible. No leaf
 * gets other bounds there, not even one whose content stays: a reader on its way to it would take
 * an entry that is stored there later for one that ends at the old bound. Without readers the old
 * nodes are used again, as far as they suffice.
 *
 * The plan comes first and changes nothing; it knows exactly how many blocks of the pool are needed.
 */
#ifndef MT_LAYOUT_H
#define MT_LAYOUT_H

#include "leaf_plan.h"
#include "pool.h"

/* What goes into a level: so many items at most, and so many nodes come out of it. */
#define LAYOUT_ITEMS 3
#define LAYOUT_NODES 3

/* Something that takes a slot and ends at @last; @gap means something in trees that track gaps. */
struct mt_item {
	unsigned long last;
	void *slot;
	unsigned long gap;
};

struct mt_items {
	unsigned int count;
	struct mt_item item[LAYOUT_ITEMS];
};

/* Which node beside those that a level changes takes part, under the same parent. */
enum sibling_side { SIBLING_NONE, SIBLING_LEFT, SIBLING_RIGHT };

/*
 * struct mt_layout_level - a level that is laid out anew. Counts are of slots.
 *   left == right, or left comes before right
 *   total == (all of sibling) + keep_left + inserted + (right's end + 1 - keep_right_from)
 *   cut[0] + .. + cut[nodes - 1] == total, 1 <= nodes <= LAYOUT_NODES
 * @left, @right: the nodes at both ends of what is replaced: of @left the slots below @keep_left
 *           stay, of @right those from @keep_right_from on.
 * @border:  the last index of the lower one of @sibling and the node beside it.
 * @last:    the last index of all that the level covers.
 */
struct mt_layout_level {
	struct mt_node *left;
	struct mt_node *right;
	struct mt_node *sibling;
	unsigned long border;
	unsigned long last;
	enum sibling_side side;
	unsigned int keep_left;
	unsigned int inserted;
	unsigned int keep_right_from;
	unsigned int total;
	unsigned int nodes;
	unsigned int cut[LAYOUT_NODES];
};

/*
 * struct mt_layout - the plan.
 * @kind:    how it becomes visible: WRITE_IN_NODE, _CHILD, _ROOT, _VALUE or _NOTHING.
 * @value:   for WRITE_VALUE.
 * @levels:  levels 0 .. levels - 1 are laid out.
 * @first, @last: what is written: for NULL as wide as the gap becomes.
 * @blocks:  how many blocks of the pool it takes: for fresh nodes, and for what waits for a grace
 *           period.
 * @drops:   the highest level at which children between both ways are dropped; 0: none are.
 * @min:     the first index of what is laid out, in the leaves.
 * @items:   what goes into the leaves; @own: which of them is the range written.
 * @left, @right: the ways to the leaves of the first and of the last index: the tree's finger, or one
 *           of @own_way. @low, @high: the slots of these leaves.
 * @scratch: a leaf made of the root word of a tree without nodes: it is the leaf of @left then.
 */
struct mt_layout {
	enum write_kind kind;
	void *value;
	unsigned long first;
	unsigned long last;
	unsigned int levels;
	unsigned int blocks;
	unsigned int own;
	unsigned int drops;
	unsigned long min;
	struct mt_items items;
	const struct mt_finger *left;
	const struct mt_finger *right;
	unsigned int low;
	unsigned int high;
	struct mt_layout_level level[MAPLE_HEIGHT_MAX];
	struct mt_finger own_way[3];
	struct mt_node scratch;
};

/* layout_plan - plan what leaf_plan() says is WRITE_LAYOUT. Changes nothing but *@l. Lock held. */
void layout_plan(struct mt_layout *l, struct maple_tree *mt, const struct mt_leaf_plan *leaf);

/*
 * layout_plan_span - plan the store of @entry over [@first, @last], wherever that is; @step is what
 * finger_to(@mt, @first) returned. Changes nothing but *@l. Lock held.
 */
void layout_plan_span(struct mt_layout *l, struct maple_tree *mt, unsigned long first,
		      unsigned long last, void *entry, unsigned long step);

/*
 * layout_write - carry the plan out, with blocks of @reserve, which holds l->blocks at least. If the
 * tree has nodes then, its finger leads to the range written. Lock held; nothing was changed since
 * the plan was made.
 */
void layout_write(const struct mt_layout *l, struct maple_tree *mt, struct pool_list *reserve);

/*
 * layout_dropped - how many children of the nodes at @level on both ways lie strictly between these:
 * a write over all of it drops them with all below them.
 */
unsigned int layout_dropped(const struct mt_layout *l, unsigned int level, enum node_kind inner);

/* ---- what a level holds --------------------------------------------------------------------- */

/* Two slots of leaves, maybe the same: where the first begins and the last ends, and what they hold. */
struct mt_ends {
	unsigned long first;
	unsigned long last;
	void *first_entry;
	void *last_entry;
};

/*
 * layout_items - what takes the place of slots with these @ends when [@first, @last], which lies in
 * them, becomes @entry. Returns which of the items that is.
 */
unsigned int layout_items(struct mt_items *items, const struct mt_ends *ends, unsigned long first,
			  unsigned long last, void *entry);

#define CONTENT_SLOTS (2 * WIDE_SLOTS + LAYOUT_ITEMS)

/*
 * All slots of a level, and where each ends. count <= CONTENT_SLOTS; there is room for a whole node
 * behind it, so that nodes can be copied whole, which takes no call.
 */
struct mt_content {
	unsigned int count;
	unsigned long pivot[CONTENT_SLOTS + WIDE_SLOTS];
	void *slot[CONTENT_SLOTS + WIDE_SLOTS];
	unsigned long gap[CONTENT_SLOTS + WIDE_SLOTS];
};

/* content_gather - what the level @s, of nodes of @kind, holds with @items in it. */
void content_gather(struct mt_content *content, const struct mt_layout_level *s,
		    enum node_kind kind, const struct mt_items *items);

#endif
