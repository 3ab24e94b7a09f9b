/* SPDX-License-Identifier: MIT */
/* Choices: which unknown facts explain where the kernel has merged areas, and where not. */
#include "mirror/choices.h"

#include <errno.h>

/* No area that was mapped anywhere has such page offsets; each area that gets one gets another. */
#define ELSEWHERE (UINT64_C(1) << 52)
#define ELSEWHERE_STEP (UINT64_C(1) << 36)

struct range {
	unsigned long start, end;	/* equal: empty */
};

/*
 * What is on one side of an address at which areas meet: where that was before the call. Empty
 * ranges are what the call itself has mapped.
 */
struct side {
	struct range near;		/* next to that address */
	struct range far;		/* what the call has merged with it */
	bool moved;			/* near has been moved by this call */
};

static const struct vmspace_event *last_event(const struct guess *guess,
					      enum vmspace_event_kind kind, unsigned long addr)
{
	for (size_t i = guess->event_count; i-- > 0;) {
		const struct vmspace_event *event = &guess->events[i];

		if (event->kind == kind && addr >= event->start && addr < event->end)
			return event;
	}
	return NULL;
}

static struct range overlap(unsigned long start, unsigned long end,
			    const struct vmspace_event *event)
{
	struct range range = { start > event->start ? start : event->start,
			       end < event->end ? end : event->end };

	if (range.end < range.start)
		range.end = range.start;
	return range;
}

/* 0 .. @limit - 1: drawn if the order is, otherwise 0. */
static unsigned int draw(struct guess *guess, unsigned int limit)
{
	if (guess->order != CHOOSE_DRAWN)
		return 0;
	guess->draw = guess->draw * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (unsigned int)(guess->draw >> 33) % limit;
}

/* The part of [@start, @end), which was merged, up to its end (@left) or from its start. */
static struct side find_side(const struct guess *guess, const struct vmspace *before,
			     unsigned long start, unsigned long end, bool left)
{
	const unsigned long edge = left ? end - 1 : start;
	const struct vmspace_event *moved = last_event(guess, VMSPACE_EVENT_MOVE, edge);
	const struct vmspace_event *placed =
		moved ? moved : last_event(guess, VMSPACE_EVENT_MAP, edge);
	struct side side = { .near = { start, end }, .far = { start, start } };
	struct vma_info info;

	if (placed) {
		side.near = overlap(start, end, placed);
		side.far = left ? (struct range){ start, side.near.start } :
				  (struct range){ side.near.end, end };
		side.moved = moved;
		if (moved) {
			side.near.start += moved->at - moved->start;
			side.near.end += moved->at - moved->start;
		} else {
			side.near.end = side.near.start;
		}
	} else if (left && !vmspace_lookup(before, edge, &info) &&
		   vmspace_prev(before, end, &info) && info.end > start) {
		side.near.end = info.end; /* it was extended up to here */
	}
	return side;
}

static unsigned long near_page(const struct side *side, bool left, unsigned long page)
{
	return left ? side->near.end - page : side->near.start;
}

static unsigned long origin_of(const struct guess *guess, const struct vmspace *space,
			       const struct side *side, bool left)
{
	const unsigned long page = vmspace_config(space)->page_size;

	return side->near.end > side->near.start ?
		       marks_origin(&guess->marks, near_page(side, left, page)) : 0;
}

static void make_choice(struct guess *guess, struct vmspace *before, enum anon_choice_kind kind,
			unsigned long addr, unsigned long other)
{
	const struct anon_choice choice = { kind, addr, other };

	anon_choice_apply(before, &choice);
	/* Each choice settles one area, and few areas meet in one call. */
	if (guess->choice_count < GUESS_CHOICES_MAX)
		guess->choices[guess->choice_count++] = choice;
}

static bool has_anon_certainly(const struct guess *guess, const struct vmspace *space,
			       const struct range *range)
{
	struct vma_info info;

	return vmspace_lookup(space, range->start, &info) && info.anon_id &&
	       !marks_emptied(&guess->marks, info.start, info.end);
}

/* ---- page offsets --------------------------------------------------------------------------- */

static bool is_settled(const struct guess *guess, unsigned long origin)
{
	for (unsigned int i = 0; i < guess->settled_count; i++)
		if (guess->settled[i] == origin)
			return true;
	return false;
}

/* What the kernel merged in this call has the offsets that it has now. */
static void settle(struct guess *guess, unsigned long origin)
{
	if (origin && !is_settled(guess, origin) && guess->settled_count < GUESS_CHOICES_MAX)
		guess->settled[guess->settled_count++] = origin;
}

/*
 * Everything of @origin (0: the area at @addr alone) is where the page at @addr has the page offset
 * @offset.
 */
static void place(struct guess *guess, struct vmspace *before, unsigned long origin,
		  unsigned long addr, uint64_t offset)
{
	const unsigned long page = vmspace_config(before)->page_size;
	unsigned long start = 0, end;
	struct vma_info info;
	uint64_t shift;

	if (!vmspace_lookup(before, addr, &info))
		return;
	/* An area without an anon_vma would take the offsets of wherever it is moved. */
	if (!info.anon_id)
		make_choice(guess, before, ANON_PART, info.start, 0);
	shift = offset - (info.page_offset + (addr - info.start) / page);
	if (!origin)
		make_choice(guess, before, ANON_PLACE, info.start, info.page_offset + shift);
	for (; origin && marks_next(&guess->marks, origin, &start, &end); start = end) {
		for (; vmspace_next(before, start, &info) && info.start < end; start = info.end)
			make_choice(guess, before, ANON_PLACE, info.start,
				    info.page_offset + shift);
		end = start > end ? start : end;
	}
}

/*
 * One of two sides, which the kernel kept apart, was moved from elsewhere. @touched: one for which
 * it is certain that it has an anon_vma, without which it had no offsets from elsewhere.
 */
static unsigned int choose_moved(struct guess *guess, struct vmspace *before,
				 const struct side *left, const struct side *right, bool touched)
{
	const unsigned long page = vmspace_config(before)->page_size;
	unsigned long of_left = origin_of(guess, before, left, true);
	unsigned long of_right = origin_of(guess, before, right, false);

	if (of_left == of_right)
		return 0;
	for (unsigned int i = 0, first = draw(guess, 2); i < 2; i++) {
		const bool on_left = i != first;
		const struct side *side = on_left ? left : right;
		unsigned long origin = on_left ? of_left : of_right;

		if (!origin || is_settled(guess, origin) ||
		    (touched && !has_anon_certainly(guess, before, &side->near)))
			continue;
		place(guess, before, origin, near_page(side, on_left, page),
		      ELSEWHERE + ++guess->elsewhere * ELSEWHERE_STEP);
		return 1u << GUESS_ANON_MOVED;
	}
	return 0;
}

/* Was such a choice made in this call for the area at @start? */
static bool was_chosen(const struct guess *guess, enum anon_choice_kind kind, unsigned long start)
{
	for (unsigned int i = 0; i < guess->choice_count; i++)
		if (guess->choices[i].kind == kind && guess->choices[i].addr == start)
			return true;
	return false;
}

/* Has the kernel shown in this call that the area at @start has none? */
static bool is_without(const struct guess *guess, unsigned long start)
{
	return was_chosen(guess, ANON_NONE, start);
}

/*
 * Was it moved by this call, and is it uncertain whether it has an anon_vma? Without one it took
 * the offsets of its new address, wherever other parts of its area are from.
 */
static bool is_on_its_own(const struct guess *guess, const struct side *side)
{
	return side->moved && marks_emptied(&guess->marks, side->near.start, side->near.end);
}

/*
 * Gives a side, if its offsets are uncertain, the offset @offset at @addr, which is at @now after
 * the call. False: they are certain.
 */
static bool place_side(struct guess *guess, struct vmspace *before, const struct side *side,
		       unsigned long origin, unsigned long addr, unsigned long now, uint64_t offset)
{
	struct vma_info info;

	if (is_on_its_own(guess, side)) {
		bool own = vmspace_lookup(before, addr, &info) &&
			   offset == now / vmspace_config(before)->page_size;

		if (own && is_without(guess, info.start)) /* it merged at its other end */
			return true;
		if (own && info.anon_id && !was_chosen(guess, ANON_PART, info.start)) {
			make_choice(guess, before, ANON_NONE, info.start, 0);
			return true;
		}
		if (!origin) /* with an anon_vma its offsets would be certain */
			return false;
		place(guess, before, 0, addr, offset);
		return true;
	}
	if (!origin || is_settled(guess, origin))
		return false;
	place(guess, before, origin, addr, offset);
	settle(guess, origin);
	return true;
}

/*
 * Two parts of one area met, of which one was moved, to another distance: if it could be merged, it
 * took the offsets of its new address, and so had no anon_vma. False: it certainly had one.
 */
static bool choose_without(struct guess *guess, struct vmspace *before, const struct side *side)
{
	struct vma_info info;

	if (!is_on_its_own(guess, side) || !vmspace_lookup(before, side->near.start, &info) ||
	    !info.anon_id || was_chosen(guess, ANON_PART, info.start))
		return false;
	make_choice(guess, before, ANON_NONE, info.start, 0);
	return true;
}

/* The kernel merged two sides of which the mirror believed that their offsets do not continue. */
static unsigned int choose_continuous(struct guess *guess, struct vmspace *before,
				      const struct vma_info *left_area,
				      const struct vma_info *right_area)
{
	const unsigned long page = vmspace_config(before)->page_size, at = right_area->start;
	struct side left = find_side(guess, before, left_area->start, at, true);
	struct side right = find_side(guess, before, at, right_area->end, false);
	unsigned long of_left = origin_of(guess, before, &left, true);
	unsigned long of_right = origin_of(guess, before, &right, false);
	bool placed = false;

	if (of_left && of_left == of_right) { /* parts of one area keep their distance */
		if (choose_without(guess, before, &left) || choose_without(guess, before, &right))
			return 1u << GUESS_ANON_MOVED;
		if (!is_on_its_own(guess, &left) && !is_on_its_own(guess, &right))
			return 0;
	}
	for (unsigned int i = 0, first = draw(guess, 2); i < 2 && !placed; i++)
		placed = i == first ?
			place_side(guess, before, &right, of_right, right.near.start, at,
				   left_area->page_offset + (at - left_area->start) / page) :
			place_side(guess, before, &left, of_left, left.near.end - page, at - page,
				   right_area->page_offset - 1);
	if (!placed)
		return 0;
	settle(guess, of_left);
	settle(guess, of_right);
	return 1u << GUESS_ANON_MOVED;
}

int choices_learn(struct guess *guess, const struct vmspace *space)
{
	const unsigned long page = vmspace_config(space)->page_size;
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < guess->event_count; i++) {
		const unsigned long at = guess->events[i].at;
		unsigned long of_left, of_right;
		struct vmspace_line line;

		if (guess->events[i].kind != VMSPACE_EVENT_MERGE ||
		    !kernel_find_line(&guess->host->view, at, &line) || line.start >= at)
			continue;
		of_left = marks_origin(&guess->marks, at - page);
		of_right = marks_origin(&guess->marks, at);
		if (of_right && of_right != of_left)
			rc = marks_unite(&guess->marks, of_right, of_left);
		else if (of_left && of_left != of_right)
			rc = marks_unite(&guess->marks, of_left, of_right);
	}
	return rc;
}

/* ---- anon_vmas ------------------------------------------------------------------------------ */

/* Whether it is unknown if an area shares its anon_vma, which it has, with another. */
static bool sharing_is_unknown(const struct guess *guess, const struct vma_info *area)
{
	/* What was given which by a neighbour depends on offsets. */
	return area->anon_id && (area->anon_id <= guess->unknown_sharing ||
				 !mtree_empty(&guess->marks.moved));
}

static unsigned long find_anon(const struct vmspace *space, uint64_t anon_id)
{
	struct vma_info info;

	for (unsigned long at = 0; vmspace_next(space, at, &info); at = info.end)
		if (info.anon_id == anon_id)
			return info.start;
	return 0;
}

/* Whether it is unknown if an area's anon_vma, which it has, was inherited. */
static bool origin_is_unknown(const struct guess *guess, const struct vma_info *area)
{
	return area->anon_id && (area->anon_id <= guess->unknown_origin ||
				 marks_emptied(&guess->marks, area->start, area->end));
}

/*
 * Gives an anon_vma to one area of the range without pages for which it is unknown whether it has
 * one. False: there is no such area.
 */
static bool choose_emptied_in(struct guess *guess, struct vmspace *before, struct range range)
{
	struct vma_info info;

	for (; range.start < range.end && vmspace_next(before, range.start, &info) &&
	       info.start < range.end; range.start = info.end) {
		if (info.anon_id || !marks_emptied(&guess->marks, info.start, info.end) ||
		    is_without(guess, info.start))
			continue;
		make_choice(guess, before, ANON_PART, info.start, 0);
		return true;
	}
	return false;
}

/* Finds the first area with an anon_vma that overlaps the range. */
static bool find_touched_in(const struct vmspace *space, struct range range, struct vma_info *info)
{
	for (; range.start < range.end && vmspace_next(space, range.start, info) &&
	       info->start < range.end; range.start = info->end)
		if (info->anon_id)
			return true;
	return false;
}

static bool find_touched(const struct vmspace *space, const struct side *side,
			 struct vma_info *info)
{
	return find_touched_in(space, side->near, info) || find_touched_in(space, side->far, info);
}

/* Do both sides have anon_vmas, and different ones? */
static unsigned int choose_parted(struct guess *guess, struct vmspace *before,
				  const struct side *left, const struct side *right)
{
	struct vma_info on_left, on_right;

	if (!find_touched(before, left, &on_left) || !find_touched(before, right, &on_right) ||
	    on_right.start > right->near.start || on_right.end <= right->near.start ||
	    !sharing_is_unknown(guess, &on_right))
		return 0;
	make_choice(guess, before, ANON_PART, on_right.start, 0);
	return 1u << GUESS_ANON_PARTED;
}

/* Has only one side an anon_vma, and was it inherited? */
static unsigned int choose_inherited(struct guess *guess, struct vmspace *before,
				     const struct side *left, const struct side *right)
{
	struct vma_info on_left, on_right;
	bool has_left = find_touched(before, left, &on_left);
	bool has_right = find_touched(before, right, &on_right);

	if (has_left == has_right || !origin_is_unknown(guess, has_left ? &on_left : &on_right))
		return 0;
	make_choice(guess, before, ANON_INHERIT, has_left ? on_left.start : on_right.start, 0);
	return 1u << GUESS_ANON_INHERITED;
}

/* Did a part of one side have an anon_vma without pages? */
static unsigned int choose_emptied(struct guess *guess, struct vmspace *before,
				   const struct side *left, const struct side *right)
{
	const struct range *range[] = { &left->near, &left->far, &right->near, &right->far };

	for (unsigned int i = 0, first = draw(guess, 4); i < 4; i++)
		if (choose_emptied_in(guess, before, *range[(first + i) % 4]))
			return 1u << GUESS_ANON_EMPTIED;
	return 0;
}

/* The first explanation that is possible, beginning with any. */
static unsigned int choose_drawn(struct guess *guess, struct vmspace *before,
				 const struct side *left, const struct side *right)
{
	unsigned int chosen = 0, first = draw(guess, 4);

	for (unsigned int i = 0; !chosen && i < 4; i++)
		switch ((first + i) % 4) {
		case 0:
			chosen = choose_emptied(guess, before, left, right);
			break;
		case 1:
			chosen = choose_parted(guess, before, left, right);
			break;
		case 2:
			chosen = choose_moved(guess, before, left, right, draw(guess, 2));
			break;
		default:
			chosen = choose_inherited(guess, before, left, right);
		}
	return chosen;
}

/* The mirror merged areas at @event->at, and the kernel did not. */
static unsigned int choose_for_merge(struct guess *guess, struct vmspace *before,
				     const struct vmspace_event *event)
{
	struct side left = find_side(guess, before, event->start, event->at, true);
	struct side right = find_side(guess, before, event->at, event->end, false);
	unsigned int chosen = 0;

	if (guess->order == CHOOSE_DRAWN)
		return choose_drawn(guess, before, &left, &right);
	if (guess->order == CHOOSE_MOVED_FIRST)
		chosen = choose_moved(guess, before, &left, &right, true);
	if (!chosen)
		chosen = choose_emptied(guess, before, &left, &right);
	if (!chosen && guess->order == CHOOSE_MOVED_FIRST)
		chosen = choose_moved(guess, before, &left, &right, false);
	if (!chosen)
		chosen = choose_parted(guess, before, &left, &right);
	if (!chosen && guess->order == CHOOSE_MOVED)
		chosen = choose_moved(guess, before, &left, &right, false);
	if (!chosen)
		chosen = choose_inherited(guess, before, &left, &right);
	if (!chosen)
		chosen = choose_moved(guess, before, &left, &right, false);
	return chosen;
}

/* The mirror did not merge areas at @event->at, and the kernel did. */
static unsigned int choose_for_no_merge(struct guess *guess, struct vmspace *before,
					const struct vmspace *after,
					const struct vmspace_event *event)
{
	struct vma_info left, right;
	const struct vma_info *one;

	if (!vmspace_lookup(after, event->at - 1, &left) ||
	    !vmspace_lookup(after, event->at, &right))
		return 0;
	if (event->verdict == VMA_DIFFERENT_OFFSET)
		return choose_continuous(guess, before, &left, &right);
	if (event->verdict == VMA_DIFFERENT_ANON_VMA &&
	    (sharing_is_unknown(guess, &left) || sharing_is_unknown(guess, &right))) {
		make_choice(guess, before, ANON_JOIN, find_anon(before, left.anon_id),
			    find_anon(before, right.anon_id));
		return 1u << GUESS_ANON_JOINED;
	}
	one = left.anon_id ? &left : &right;
	if (event->verdict == VMA_ANON_VMA_SHARED && origin_is_unknown(guess, one)) {
		make_choice(guess, before, ANON_OWN, find_anon(before, one->anon_id), 0);
		return 1u << GUESS_ANON_INHERITED;
	}
	return 0;
}

void choices_begin(struct guess *guess, enum choice_order order, uint64_t seed)
{
	guess->order = order;
	guess->draw = seed;
	guess->choice_count = 0;
	guess->settled_count = 0;
}

unsigned int choices_make(struct guess *guess, struct vmspace *before, const struct vmspace *after)
{
	unsigned int chosen = 0;

	for (size_t i = 0; i < guess->event_count; i++) {
		const struct vmspace_event *event = &guess->events[i];
		struct vmspace_line line;

		if (!kernel_find_line(&guess->host->view, event->at, &line))
			continue;
		if (event->kind == VMSPACE_EVENT_NO_MERGE && line.start < event->at)
			chosen |= choose_for_no_merge(guess, before, after, event);
		else if (event->kind == VMSPACE_EVENT_MERGE && line.start == event->at)
			chosen |= choose_for_merge(guess, before, event);
	}
	return chosen;
}
