/* SPDX-License-Identifier: MIT */
/*
 * gap_search.c - the search for a free range, by the widest gap of each child.
 *
 * Compiled for each instruction set, as descend.c is; variants.c chooses.
 */
#include "gap.h"
#include "gap_node.h"
#include "retry.h"
#include "variants.h"

#ifdef MT_ISA
struct mt_place_found VARIANT(gap_find)(struct maple_tree *mt, const struct mt_area *want);
struct mt_place_found VARIANT(gap_find_lowest)(struct maple_tree *mt, unsigned long min,
					       unsigned long max, unsigned long size);
struct mt_place_found VARIANT(gap_find_highest)(struct maple_tree *mt, unsigned long min,
						unsigned long max, unsigned long size);
#endif

/*
 * The result of searching a leaf. LOOK_AGAIN: a boundary moved meanwhile, under the same version.
 */
enum look { LOOK_NOTHING, LOOK_FOUND, LOOK_AGAIN };

/*
 * How to search. If @whole, any search. Otherwise a quick one, for areas without alignment in trees
 * of at least two levels, which returns LOOK_AGAIN as soon as the first free slot it tries has no
 * place for the area or changes meanwhile. That hardly ever happens, and the code that remains
 * needs few registers and no call.
 */
struct search_mode {
	enum mt_fit fit;
	bool whole;
};

/*
 * Finds the place for @want in the free range [first, last]. In a search for the lowest place the
 * caller has cut both bounds to the window; in a search for the highest one only the upper bound.
 */
static inline bool fits(const struct mt_area *want, struct search_mode mode, unsigned long first,
			unsigned long last, unsigned long *start)
{
	unsigned long mask = mode.whole && want->align ? want->align - 1 : 0;
	unsigned long span = want->size - 1;

	if (mode.fit == MT_FIT_LOWEST) {
		*start = (first + mask) & ~mask;
		return *start >= first && *start <= last && last - *start >= span;
	}
	*start = (last - span) & ~mask;
	return span <= last && *start >= first && *start >= want->min;
}

/* The slot of the set @slots that the search tries next. */
static inline unsigned int pick(unsigned int slots, enum mt_fit fit)
{
	return (unsigned int)(fit == MT_FIT_LOWEST ? __builtin_ctz(slots)
						   : 31 ^ __builtin_clz(slots));
}

/* The set without slot @i, which pick() returned. */
static inline unsigned int drop(unsigned int slots, unsigned int i, enum mt_fit fit)
{
	return slots & (fit == MT_FIT_LOWEST ? slots - 1 : (1u << i) - 1);
}

/* A child of an inner node and its bounds, cut to the window as fits() requires. */
struct child {
	const struct maple_enode *enode;
	unsigned long min;
	unsigned long max;
};

/*
 * Finds the place for @want in a free slot of a leaf. Reads the slot's bounds once: whatever a
 * writer does meanwhile, they belong to a range that was free.
 */
static inline bool fits_slot(const struct mt_area *want, struct search_mode mode,
			     struct mt_node *leaf, unsigned int offset, const struct child *child,
			     unsigned long *start)
{
	unsigned long last = slot_last(leaf, KIND_LEAF, offset, child->max);
	unsigned long first = child->min;

	if (offset) {
		unsigned long below = pivot_load(leaf, offset - 1);

		if (below >= child->max) /* outside, or past the end */
			return false;
		first = below < first ? first : below + 1;
	}
	return fits(want, mode, first, last, start);
}

static inline enum clip clip_of(enum mt_fit fit)
{
	return fit == MT_FIT_LOWEST ? CLIP_BOTH : CLIP_HIGH;
}

/*
 * Finds the place in the first slot of a leaf that has one. The answer that there is none must come
 * from one state of the leaf, so the slots with room are determined again at the end and compared.
 */
static ALWAYS_INLINE enum look place_in_leaf(const struct mt_area *want, struct search_mode mode,
					     const struct child *child, unsigned long *start)
{
	struct mt_node *leaf = enode_node(child->enode);
	unsigned long version = leaf_version(leaf);
	enum clip clip = clip_of(mode.fit);
	unsigned int all = leaf_with_room(leaf, child->min, child->max, want->size, clip);
	enum look look = LOOK_NOTHING;
	unsigned int slots = all;

	while (slots && look == LOOK_NOTHING) {
		unsigned int i = pick(slots, mode.fit);

		slots = drop(slots, i, mode.fit);
		if (fits_slot(want, mode, leaf, i, child, start))
			look = LOOK_FOUND;
		else if (!mode.whole)
			return LOOK_AGAIN;
	}
	if (mode.whole && look == LOOK_NOTHING && all) {
		read_barrier(); /* the second look must come after the first */
		if (leaf_with_room(leaf, child->min, child->max, want->size, clip) != all)
			return LOOK_AGAIN;
	}
	return LIKELY(leaf_unchanged(leaf, version)) ? look : LOOK_AGAIN;
}

/* The same, repeated until the leaf holds still. */
static ALWAYS_INLINE enum look look_at_leaf(struct maple_tree *mt, const struct mt_area *want,
					    struct search_mode mode, const struct child *child,
					    unsigned long *start)
{
	enum look look = place_in_leaf(want, mode, child, start);
	unsigned int failed = 0;

	if (!mode.whole)
		return look;
	while (UNLIKELY(look == LOOK_AGAIN)) {
		failed = retry(mt, failed);
		look = place_in_leaf(want, mode, child, start);
	}
	retry_end(mt, failed);
	return look;
}

/* The slots of an inner node that have room and do not lie outside the window. */
static inline unsigned int slots_to_visit(const struct mt_area *want, enum mt_fit fit,
					  struct mt_node *node, unsigned long min,
					  unsigned long max)
{
	unsigned int slots = gaps_with_room(node, want->size);

	if (fit == MT_FIT_LOWEST)
		return slots & ~gaps_below(node, min);
	return slots & (gaps_below(node, max) << 1 | 1);
}

/*
 * An inner node with slots that are still to be visited. [min, max] are its bounds, as in struct
 * child.
 */
struct level {
	struct mt_node *node;
	unsigned long min;
	unsigned long max;
	unsigned int slots;
};

static ALWAYS_INLINE struct child child_at(const struct level *at, unsigned int slot,
					   enum mt_fit fit)
{
	struct child child = { slot_child(at->node, KIND_GAPS, slot), at->min, 0 };

	if (slot) {
		unsigned long below = pivot_load(at->node, slot - 1);

		if (fit == MT_FIT_HIGHEST || below >= child.min)
			child.min = below + 1;
	}
	child.max = slot_last(at->node, KIND_GAPS, slot, at->max);
	return child;
}

/*
 * The same through a jump for each slot: the processor predicts the jump and can work on the child
 * while the comparisons that chose the slot are still in progress. Searches tend to take the same
 * slots as earlier ones.
 */
static ALWAYS_INLINE struct child child_by_jump(const struct level *at, unsigned int slot,
						enum mt_fit fit)
{
#if GAPS_SLOTS == 10
#define CHILD(k) case k: return child_at(at, k, fit);
	switch (slot) {
	CHILD(0) CHILD(1) CHILD(2) CHILD(3) CHILD(4) CHILD(5) CHILD(6) CHILD(7) CHILD(8) CHILD(9)
	default:
		__builtin_unreachable();
	}
#undef CHILD
#else
	return child_at(at, slot, fit);
#endif
}

/* Whether the child, and all that follow it in the order of the search, lie outside the window. */
static ALWAYS_INLINE bool is_outside(const struct child *child, const struct mt_area *want,
				     enum mt_fit fit)
{
	return fit == MT_FIT_HIGHEST ? child->max < want->min : child->min > child->max;
}

static ALWAYS_INLINE struct level level_at(const struct mt_area *want, enum mt_fit fit,
					   const struct child *child)
{
	struct mt_node *node = enode_node(child->enode);

	return (struct level){ node, child->min, child->max,
			       slots_to_visit(want, fit, node, child->min, child->max) };
}

/* Searches the leaves below one node one after the other; inner nodes wait on the stack. */
static ALWAYS_INLINE enum look search(struct maple_tree *mt, const struct maple_enode *root,
				      const struct mt_area *want, struct search_mode mode,
				      unsigned long *start)
{
	struct level stack[MAPLE_HEIGHT_MAX];
	struct level *top = stack;
	struct child child = { root, mode.fit == MT_FIT_HIGHEST ? 0 : want->min, want->max };
	struct level at = { NULL, 0, 0, 0 };
	enum look look;

	if (mode.whole && enode_kind(root) == KIND_LEAF)
		return look_at_leaf(mt, want, mode, &child, start);
	at = level_at(want, mode.fit, &child);
	for (;;) {
		unsigned int i;

		if (!at.slots) {
			if (top == stack)
				return LOOK_NOTHING;
			at = *--top;
		}
		i = pick(at.slots, mode.fit);
		at.slots = drop(at.slots, i, mode.fit);
		child = child_by_jump(&at, i, mode.fit);
		if (is_outside(&child, want, mode.fit)) {
			at.slots = 0;
		} else if (enode_kind(child.enode) == KIND_LEAF) {
			look = look_at_leaf(mt, want, mode, &child, start);
			if (look != LOOK_NOTHING)
				return look;
		} else {
			if (at.slots) {
				assert(top < stack + MAPLE_HEIGHT_MAX);
				*top++ = at;
			}
			at = level_at(want, mode.fit, &child);
		}
	}
}

struct mt_place_found VARIANT(gap_find)(struct maple_tree *mt, const struct mt_area *want)
{
	const void *root = root_load(mt);
	struct mt_place_found place = { 0, 0 };

	if (!root_is_node(root)) /* one gap: all indexes, or all above the lone entry */
		place.found = fits(want, (struct search_mode){ want->fit, true },
				   root && !want->min ? 1 : want->min, want->max, &place.start);
	else if (want->fit == MT_FIT_LOWEST)
		place.found = search(mt, root, want, (struct search_mode){ MT_FIT_LOWEST, true },
				     &place.start) == LOOK_FOUND;
	else
		place.found = search(mt, root, want, (struct search_mode){ MT_FIT_HIGHEST, true },
				     &place.start) == LOOK_FOUND;
	return place;
}

/* Out of line, so that only here the wanted area has to be built in memory. */
static __attribute__((noinline, cold)) struct mt_place_found
find_slowly(struct maple_tree *mt, unsigned long min, unsigned long max, unsigned long size,
	    enum mt_fit fit)
{
	struct mt_area want = { .min = min, .max = max, .size = size, .fit = fit };

	return VARIANT(gap_find)(mt, &want);
}

static ALWAYS_INLINE struct mt_place_found find_quickly(struct maple_tree *mt,
							unsigned long min, unsigned long max,
							unsigned long size, enum mt_fit fit)
{
	const struct mt_area want = { .min = min, .max = max, .size = size };
	const struct search_mode mode = { fit, false };
	const void *root = root_load(mt);
	struct mt_place_found place = { 0, 0 };
	enum look look = LOOK_AGAIN;

	if (LIKELY(enode_is_gaps(root)))
		look = search(mt, root, &want, mode, &place.start);
	if (UNLIKELY(look == LOOK_AGAIN))
		return find_slowly(mt, min, max, size, fit);
	place.found = look == LOOK_FOUND;
	return place;
}

struct mt_place_found VARIANT(gap_find_lowest)(struct maple_tree *mt, unsigned long min,
					       unsigned long max, unsigned long size)
{
	return find_quickly(mt, min, max, size, MT_FIT_LOWEST);
}

struct mt_place_found VARIANT(gap_find_highest)(struct maple_tree *mt, unsigned long min,
						unsigned long max, unsigned long size)
{
	return find_quickly(mt, min, max, size, MT_FIT_HIGHEST);
}
