/* SPDX-License-Identifier: MIT */
/* write_kind.h - the kinds of writes. */
#ifndef MT_WRITE_KIND_H
#define MT_WRITE_KIND_H

/*
 * enum write_kind - what a write does, and whether it may be done beside readers (RCU mode). Where
 * readers may be present, the kinds that move slots of a leaf do so word by word, and only a single
 * word changes what an index holds: see inplace.h.
 *
 *   kind            beside readers  what is stored
 *   WRITE_NOTHING   yes             nothing
 *   WRITE_SLOT      yes             one slot of a leaf, its bounds unchanged
 *   WRITE_PIVOT     yes             one pivot of a leaf: a boundary between two ranges moves
 *   WRITE_FILL      yes             pivots that divide a gap, then one slot: an entry is added
 *   WRITE_CLEAR     yes             one slot, then pivots that join gaps: an entry is removed
 *   WRITE_CUT       yes             a slot that covers nothing, then one pivot: an entry loses one
 *                                   end to a new range
 *   WRITE_ABSORB    yes             one pivot: an entry takes over all of the neighbouring range
 *   WRITE_SPLICE    no              pivots and slots of a leaf
 *   WRITE_COPY      yes             the slot above a leaf: a changed copy replaces it
 *
 *   WRITE_LAYOUT                    the leaf would be too full or too empty, or shares
 *                                   the gap with another one;
 *   WRITE_SPAN                      other leaves change, too: layout_plan.c decides how
 *   WRITE_IN_NODE   no              pivots and slots of the lowest node that holds all that changes
 *   WRITE_CHILD     yes             a slot of the lowest node that keeps its own pivots
 *   WRITE_ROOT      yes             the root word: a node
 *   WRITE_VALUE     yes             the root word: NULL or a lone entry at 0
 */
enum write_kind {
	WRITE_NOTHING,
	WRITE_SLOT,
	WRITE_PIVOT,
	WRITE_FILL,
	WRITE_CLEAR,
	WRITE_CUT,
	WRITE_ABSORB,
	WRITE_SPLICE,
	WRITE_COPY,
	WRITE_LAYOUT,
	WRITE_SPAN,
	WRITE_IN_NODE,
	WRITE_CHILD,
	WRITE_ROOT,
	WRITE_VALUE,
};

#endif
