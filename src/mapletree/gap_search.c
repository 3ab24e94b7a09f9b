/* SPDX-License-Identifier: MIT */
/*
 * gap_search.c - the search for a free range, by the widest gap of each child.
 *
 * Compiled for each instruction set, as lookup.c is; gap_select.c chooses.
 */
#include "gap.h"
#include "gap_node.h"
#include "variants.h"

#ifdef MT_ISA
bool VARIANT(gap_find)(const struct maple_tree *mt, const struct mt_area *want,
		       unsigned long *start);
#endif

/* The place for @want in the free range [first, last], which lies in the window. */
static inline bool fits(const struct mt_area *want, enum mt_fit fit, unsigned long first,
			unsigned long last, unsigned long *start)
{
	unsigned long mask = want->align ? want->align - 1 : 0;
	unsigned long span = want->size - 1;

	if (first > last || last - first < span)
		return false;
	if (fit == MT_FIT_LOWEST) {
		*start = (first + mask) & ~mask;
		return *start >= first && *start <= last && last - *start >= span;
	}
	*start = (last - span) & ~mask;
	return *start >= first;
}

/* The slot of a set that comes first in the order of the fit. */
static inline unsigned int pick(unsigned int slots, enum mt_fit fit)
{
	return (unsigned int)(fit == MT_FIT_LOWEST ? __builtin_ctz(slots)
						   : 31 ^ __builtin_clz(slots));
}

/*
 * The place for @want in a free slot of a leaf, as far as it lies in [min, max]. Its bounds are
 * read once: whatever a writer does, they are those of a range that was free.
 */
static inline bool fits_slot(const struct mt_area *want, enum mt_fit fit, struct mt_node *leaf,
			     unsigned int offset, unsigned long min, unsigned long max,
			     unsigned long *start)
{
	unsigned long last = slot_last(leaf, KIND_LEAF, offset, max);

	if (offset) {
		unsigned long below = pivot_load(leaf, offset - 1);

		if (below >= max) /* outside, or past the end */
			return false;
		min = below < min ? min : below + 1;
	}
	return fits(want, fit, min, last, start);
}

/* What a look at a leaf says. LOOK_AGAIN: a boundary moved meanwhile, under the same version. */
enum look { LOOK_NOTHING, LOOK_FOUND, LOOK_AGAIN };

static inline enum clip clip_of(enum mt_fit fit)
{
	return fit == MT_FIT_LOWEST ? CLIP_BOTH : CLIP_HIGH;
}

/*
 * The place in one of the slots of @all behind the first one, which had none. That there is no place is of
 * one state of the leaf: the same slots had room at the end. Apart, for the sake of the registers
 * of a search that finds its place in the first one, as most do.
 */
static __attribute__((noinline)) enum look place_in_rest(const struct mt_area *want,
							 struct mt_node *leaf, unsigned long min,
							 unsigned long max, unsigned int all,
							 unsigned long *start)
{
	enum mt_fit fit = want->fit;
	unsigned int slots = all ^ 1u << pick(all, fit);

	while (slots) {
		unsigned int i = pick(slots, fit);

		if (fits_slot(want, fit, leaf, i, min, max, start))
			return LOOK_FOUND;
		slots ^= 1u << i;
	}
	__atomic_thread_fence(__ATOMIC_ACQUIRE); /* the second look comes behind the first */
	return leaf_with_room(leaf, min, max, want->size, clip_of(fit)) == all ? LOOK_NOTHING :
										  LOOK_AGAIN;
}

static inline enum look place_in_leaf(const struct mt_area *want, enum mt_fit fit,
				      struct mt_node *leaf, unsigned long min, unsigned long max,
				      unsigned long *start)
{
	unsigned int slots = leaf_with_room(leaf, min, max, want->size, clip_of(fit));

	if (!slots)
		return LOOK_NOTHING;
	if (fits_slot(want, fit, leaf, pick(slots, fit), min, max, start))
		return LOOK_FOUND;
	return place_in_rest(want, leaf, min, max, slots, start);
}

/* The slots of an inner node that have room, without those that begin outside the window. */
static inline unsigned int worth_a_visit(const struct mt_area *want, enum mt_fit fit,
					 struct mt_node *node, unsigned long min,
					 unsigned long max)
{
	unsigned int slots = gaps_with_room(node, want->size);

	if (fit == MT_FIT_LOWEST)
		return slots & ~0u << node_search(node, KIND_GAPS, min);
	return slots & ((2u << node_search(node, KIND_GAPS, max)) - 1);
}

/* A child of an inner node, and what it covers of the window: nothing, if min > max. */
struct way {
	struct maple_enode *child;
	unsigned long min;
	unsigned long max;
};

static inline __attribute__((always_inline)) struct way way_at(struct mt_node *node,
							       unsigned int slot,
							       unsigned long min,
							       unsigned long max)
{
	struct way way = { slot_child(node, KIND_GAPS, slot), min, max };
	unsigned long below = slot ? pivot_load(node, slot - 1) : 0;

	if (slot && below >= min)
		way.min = below + 1;
	way.max = slot_last(node, KIND_GAPS, slot, max);
	return way;
}

/*
 * The same by a jump for each slot: the processor predicts it and is busy with the child while the
 * comparisons that chose it are still under way. Searches tend to go where others went before.
 */
static inline __attribute__((always_inline)) struct way way_through(struct mt_node *node,
								    unsigned int slot,
								    unsigned long min,
								    unsigned long max)
{
#if GAPS_SLOTS == 10
#define WAY(k) case k: return way_at(node, k, min, max);
	switch (slot) {
	WAY(0) WAY(1) WAY(2) WAY(3) WAY(4) WAY(5) WAY(6) WAY(7) WAY(8) WAY(9)
	default:
		__builtin_unreachable();
	}
#undef WAY
#else
	return way_at(node, slot, min, max);
#endif
}

/* A node with slots still to be visited; [min, max] is what it covers of the window. */
struct level {
	struct mt_node *node;
	unsigned long min;
	unsigned long max;
	unsigned int slots;
};

static inline __attribute__((always_inline)) bool search(struct maple_enode *root,
							 const struct mt_area *want,
							 enum mt_fit fit, unsigned long *start)
{
	struct level stack[MAPLE_HEIGHT_MAX];
	struct level *top = stack;
	struct way way = { root, want->min, want->max };

	for (;;) {
		struct level at = { enode_node(way.child), way.min, way.max, 0 };

		if (enode_kind(way.child) == KIND_LEAF) {
			unsigned long version = leaf_version(at.node);
			enum look look =
				place_in_leaf(want, fit, at.node, at.min, at.max, start);

			if (__builtin_expect(!leaf_unchanged(at.node, version), 0) ||
			    __builtin_expect(look == LOOK_AGAIN, 0))
				continue;
			if (look == LOOK_FOUND)
				return true;
		} else {
			at.slots = worth_a_visit(want, fit, at.node, at.min, at.max);
		}
		do {
			unsigned int i;

			if (!at.slots) {
				if (top == stack)
					return false;
				at = *--top;
			}
			i = pick(at.slots, fit);
			at.slots ^= 1u << i;
			way = way_through(at.node, i, at.min, at.max);
			if (way.min > way.max) /* behind the window, as all that follow */
				at.slots = 0;
		} while (way.min > way.max);
		if (at.slots) {
			assert(top < stack + MAPLE_HEIGHT_MAX);
			*top++ = at;
		}
	}
}

static __attribute__((noinline)) bool search_lowest(struct maple_enode *root,
						    const struct mt_area *want,
						    unsigned long *start)
{
	return search(root, want, MT_FIT_LOWEST, start);
}

static __attribute__((noinline)) bool search_highest(struct maple_enode *root,
						     const struct mt_area *want,
						     unsigned long *start)
{
	return search(root, want, MT_FIT_HIGHEST, start);
}

bool VARIANT(gap_find)(const struct maple_tree *mt, const struct mt_area *want,
		       unsigned long *start)
{
	struct maple_enode *root = root_load(mt);

	if (root_is_node(root))
		return want->fit == MT_FIT_LOWEST ? search_lowest(root, want, start)
						  : search_highest(root, want, start);
	/* without nodes there is one gap: everything, or everything above the lone entry */
	return fits(want, want->fit, root && !want->min ? 1 : want->min, want->max, start);
}
