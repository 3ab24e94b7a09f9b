/* SPDX-License-Identifier: MIT */
/*
 * layout.h - a write that changes several nodes: they are laid out anew, level by level.
 *
 * From the leaves upwards a run of slots is replaced by a few items: in the leaves by the new range
 * and the remainders of the ranges that it cuts, above them by the nodes laid out below. The
 * resulting content of a level, old slots and items, is gathered in one buffer and spread over one
 * to three nodes. The layout ends at the lowest level where a single node can take the items, or at
 * the root. There one slot of the node is stored or, without readers, the node itself is changed in
 * place.
 *
 * Beside readers the nodes laid out are fresh ones, and one store makes all of them visible. No
 * leaf gets other bounds in place, not even one whose content stays: a reader on its way to it
 * would believe that an entry stored there later ends at the old bound. Without readers the old
 * nodes are reused, as far as they suffice.
 *
 * The plan is made first and changes nothing. It knows exactly how many blocks are needed.
 */
#ifndef MT_LAYOUT_H
#define MT_LAYOUT_H

#include "content.h"
#include "leaf_plan.h"
#include "pool.h"

/*
 * struct mt_layout - the plan.
 * @kind:    how it becomes visible: WRITE_IN_NODE, _CHILD, _ROOT, _VALUE or _NOTHING.
 * @value:   for WRITE_VALUE.
 * @levels:  levels 0 .. levels - 1 are laid out.
 * @first, @last: the range written; for NULL the whole resulting gap.
 * @blocks:  how many blocks are needed for fresh nodes, and for batches of nodes that wait for a
 *           grace period.
 * @drops:   the highest level at which children between the two paths are dropped; 0 if none are.
 * @min:     the first index of what is laid out, in the leaves.
 * @items:   what goes into the leaves; @own: which of them is the range written.
 * @left, @right: the paths to the leaves of the first and of the last index: the tree's finger, or
 *                one of @own_way. @low, @high: the slots in these leaves.
 * @scratch: in a tree without nodes, a leaf made of the root word; @left leads to it.
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

/*
 * layout_plan - plan a write for which leaf_plan() returned WRITE_LAYOUT. Changes nothing but *@l.
 * Lock held.
 */
void layout_plan(struct mt_layout *l, struct maple_tree *mt, const struct mt_leaf_plan *leaf);

/*
 * layout_plan_before - the same for a write into the first slot of a leaf that is not the tree's
 * first one, so that afterwards what lies before is in the same leaf: the write that undoes this
 * one can be done in place then. leaf_first_slot() says for which writes that matters.
 */
void layout_plan_before(struct mt_layout *l, struct maple_tree *mt,
			const struct mt_leaf_plan *leaf);

/*
 * layout_plan_span - plan the store of @entry over [@first, @last], wherever that is; @step is what
 * finger_to(@mt, @first) returned. Changes nothing but *@l. Lock held.
 */
void layout_plan_span(struct mt_layout *l, struct maple_tree *mt, unsigned long first,
		      unsigned long last, void *entry, unsigned long step);

/*
 * layout_write - carry the plan out, with blocks of @reserve, which holds at least l->blocks. If
 * the tree has nodes afterwards, its finger leads to the range written. Lock held; the tree is
 * unchanged since the plan was made.
 */
void layout_write(const struct mt_layout *l, struct maple_tree *mt, struct pool_list *reserve);

/*
 * layout_dropped - how many children of the nodes at @level lie strictly between the two paths: a
 * write over all of them drops them with everything below.
 */
unsigned int layout_dropped(const struct mt_layout *l, unsigned int level, enum node_kind inner);

/*
 * layout_boundary - where the boundary between two nodes with slots of @kind goes when @inserted
 * slots replace what lies between the first @keep_left slots of the first and the last slots of the
 * second, which become @total together: before or behind all that is inserted, so that it stays
 * together, on the emptier side, and the next write of the same kind finds it in one node. Returns
 * how many slots the first one gets; 0 if a node would have less than @least, or be too full.
 */
static ALWAYS_INLINE unsigned int layout_boundary(enum node_kind kind, unsigned int keep_left,
						  unsigned int inserted, unsigned int total,
						  unsigned int least)
{
	unsigned int slots = kind_slots(kind), cut = keep_left;

	if (2u * keep_left + inserted <= total)
		cut += inserted;
	return cut >= least && cut <= slots && total >= cut + least && total <= cut + slots ? cut
											    : 0;
}

/*
 * layout_divides_alone - whether a leaf that is too full is divided without regard to the one
 * beside it: beside readers, since each leaf that changes has to be copied; and where the root is
 * all there is above the leaves, as long as it has room, since few leaves are cheap, and sharing
 * is not.
 */
static ALWAYS_INLINE bool layout_divides_alone(const struct mt_finger *finger, enum node_kind inner,
					       bool rcu)
{
	return rcu || (finger->height == 2 &&
		       node_end(step_node(finger->step[1]), inner) + 1 < kind_slots(inner));
}

/* layout_joins - whether two nodes of a level that keeps @total slots become one. */
static ALWAYS_INLINE bool layout_joins(enum node_kind kind, unsigned int total)
{
	return total <= kind_slots(kind) - kind_slots(kind) / 8;
}

/* layout_nodes - how many nodes a level of @total slots takes. */
static ALWAYS_INLINE unsigned int layout_nodes(enum node_kind kind, unsigned int total)
{
	unsigned int slots = kind_slots(kind);

	return total <= slots ? 1 : total <= 2 * slots ? 2 : LAYOUT_NODES;
}

/*
 * Finds the child at slot @at of the node of @step, and returns its number of slots; 0 if there is
 * none (as for -1).
 */
static ALWAYS_INLINE unsigned int layout_child_slots(unsigned long step, unsigned int at,
						     enum node_kind kind, enum node_kind inner,
						     struct mt_node **child)
{
	if (at > node_end(step_node(step), inner))
		return 0;
	*child = enode_node(slot_child(step_node(step), inner, at));
	return node_end(*child, kind) + 1;
}

/*
 * layout_take_sibling - include in level @s, of nodes of @kind, the emptier of its two siblings
 * under the same parents, if there is one. @left, @right: the steps to the nodes at both ends, in
 * nodes of kind @inner.
 */
static ALWAYS_INLINE void layout_take_sibling(struct mt_layout_level *s, unsigned long left,
					      unsigned long right, enum node_kind kind,
					      enum node_kind inner)
{
	struct mt_node *before, *behind;
	unsigned int slots_before =
		layout_child_slots(left, step_offset(left) - 1, kind, inner, &before);
	unsigned int slots_behind =
		layout_child_slots(right, step_offset(right) + 1, kind, inner, &behind);

	if (slots_before && (!slots_behind || slots_before <= slots_behind)) {
		s->side = SIBLING_LEFT;
		s->sibling = before;
		s->border = step_node(left)->pivot[step_offset(left) - 1];
		s->total += slots_before;
	} else if (slots_behind) {
		s->side = SIBLING_RIGHT;
		s->sibling = behind;
		s->border = step_node(right)->pivot[step_offset(right)];
		s->total += slots_behind;
	}
}

/*
 * layout_cut_evenly - divide a level of s->total slots evenly over s->nodes nodes, of which two
 * that have no room to spare may become three. What is inserted stays in one node, before or behind
 * the cut: else the write that removes it again would move a boundary, and the next one divide the
 * level again, and so on for as long as the two are repeated.
 */
static ALWAYS_INLINE void layout_cut_evenly(struct mt_layout_level *s, enum node_kind kind)
{
	unsigned int sibling = s->side == SIBLING_LEFT ? node_end(s->sibling, kind) + 1 : 0;
	unsigned int first = s->keep_left + sibling, behind = first + s->inserted;
	unsigned int i, at = 0, from = 0, slots = kind_slots(kind);

	for (i = 0; i + 1 < s->nodes; i++, from = at) {
		unsigned int others = s->nodes - i - 1, rest = s->total - from;

		at = from + (rest + others) / (others + 1);
		if (first < at && at < behind) {
			bool fits_here = behind - from <= slots;
			bool fits_there = s->total - first <= others * slots;

			/* each node gets at least as many slots as are inserted */
			assert(from < first && (behind < s->total || !fits_here));
			if (fits_here && (!fits_there || behind - at < at - first)) {
				at = behind;
			} else if (fits_there) {
				at = first;
			} else { /* three have room in any case */
				assert(s->nodes == 2);
				s->nodes = 3;
				at = (rest + 2) / 3;
			}
		}
		s->cut[i] = at - from;
	}
	s->cut[i] = s->total - from;
}

/* ---- what a write puts into its leaves ------------------------------------------------------ */

/*
 * Two slots of leaves, possibly the same: the start of the first, the end of the last, and their
 * entries.
 */
struct mt_ends {
	unsigned long first;
	unsigned long last;
	void *first_entry;
	void *last_entry;
};

/*
 * layout_items - compute what replaces the slots described by @ends when [@first, @last], which
 * lies within them, becomes @entry. Returns which of the items is the new range.
 */
unsigned int layout_items(struct mt_items *items, const struct mt_ends *ends, unsigned long first,
			  unsigned long last, void *entry);

#endif
