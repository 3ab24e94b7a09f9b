/* SPDX-License-Identifier: MIT */
/* Guesses: trying the few outcomes that a call may have had, where a tracer cannot know which. */
#include "mirror/guess.h"

#include <assert.h>

#include "mirror/apply.h"

static uint64_t last_anon(const struct vmspace *space)
{
	struct vma_info info;
	uint64_t last = 0;

	for (unsigned long at = 0; vmspace_next(space, at, &info); at = info.end)
		if (info.anon_id > last)
			last = info.anon_id;
	return last;
}

void guess_init(struct guess *guess, struct session *session, struct host *host,
		struct comparison *comparison)
{
	*guess = (struct guess){ .session = session, .host = host, .comparison = comparison };
	mt_init(&guess->maybe_emptied);
}

void guess_end(struct guess *guess)
{
	mtree_destroy(&guess->maybe_emptied);
}

int guess_attached(struct guess *guess, const struct vmspace *space)
{
	struct vma_info info;
	int rc = 0;

	guess->attached = true;
	guess->unknown_sharing = guess->unknown_origin = last_anon(space);
	for (unsigned long at = 0; rc == 0 && vmspace_next(space, at, &info); at = info.end)
		if (!info.anon_id && !(info.flags & VMA_MAYSHARE))
			rc = mtree_store_range(&guess->maybe_emptied, info.start, info.end - 1,
					       guess, GFP_KERNEL);
	return rc;
}

static bool may_have_emptied(const struct guess *guess, const struct vma_info *area)
{
	unsigned long at = area->start;

	return mt_find((struct maple_tree *)&guess->maybe_emptied, &at, area->end - 1) != NULL;
}

int guess_fork(struct guess *guess, const struct guess *parent, const struct vmspace *space)
{
	MA_STATE(mas, (struct maple_tree *)&parent->maybe_emptied, 0, 0);
	struct vma_info info;
	int rc = 0;

	guess->attached = parent->attached;
	while (rc == 0 && mas_find(&mas, ULONG_MAX)) {
		unsigned long at = mas.index;

		for (; rc == 0 && vmspace_next(space, at, &info) && info.start <= mas.last;
		     at = info.end) {
			unsigned long first = info.start > mas.index ? info.start : mas.index;
			unsigned long last = info.end - 1 < mas.last ? info.end - 1 : mas.last;

			/*
			 * If the parent's area had an anon_vma, the child's has an inherited one.
			 */
			if (!info.anon_id && !(info.flags & (VMA_MAYSHARE | VMA_WIPEONFORK)))
				rc = mtree_store_range(&guess->maybe_emptied, first, last, guess,
						       GFP_KERNEL);
		}
	}
	return rc;
}

/* What a call has mapped or unmapped is no longer what was there when we attached. */
static void forget_emptied(struct guess *guess, const struct vmspace_outcome *out)
{
	if (mtree_empty(&guess->maybe_emptied))
		return;
	if (out->events_lost)
		mtree_destroy(&guess->maybe_emptied); /* better report a difference too many */
	for (unsigned int i = 0; i < out->event_count; i++) {
		const struct vmspace_event *event = &out->events[i];

		if (event->kind != VMSPACE_EVENT_MAP && event->kind != VMSPACE_EVENT_UNMAP &&
		    event->kind != VMSPACE_EVENT_MOVE)
			continue;
		if (mtree_store_range(&guess->maybe_emptied, event->start, event->end - 1, NULL,
				      GFP_KERNEL))
			session_fail(guess->session, "out of memory");
	}
}

/* A copy, which the caller owns. NULL: the session has failed. */
static struct vmspace *copy_of(struct guess *guess, const struct vmspace *space)
{
	struct vmspace *copy;

	if (vmspace_clone(&copy, space) == 0)
		return copy;
	session_fail(guess->session, "out of memory");
	return NULL;
}

static bool differs_from_kernel(struct guess *guess, struct vmspace *space)
{
	return compare_areas(guess->comparison, space, &guess->host->view) == COMPARE_AREAS;
}

/* Whether it is unknown if two areas, both with anonymous pages, share an anon_vma. */
static bool sharing_is_unknown(const struct guess *guess, const struct vma_info *left,
			       const struct vma_info *right)
{
	return left->anon_id && right->anon_id &&
	       (left->anon_id <= guess->unknown_sharing ||
		right->anon_id <= guess->unknown_sharing);
}

static void make_choice(struct guess *guess, struct vmspace *before, enum anon_choice_kind kind,
			unsigned long addr, unsigned long gone)
{
	const struct anon_choice choice = { kind, addr, gone };

	anon_choice_apply(before, &choice);
	/* Each choice settles one area, and few areas meet in one call. */
	if (guess->choice_count < GUESS_CHOICES_MAX)
		guess->choices[guess->choice_count++] = choice;
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
	return area->anon_id &&
	       (area->anon_id <= guess->unknown_origin || may_have_emptied(guess, area));
}

/*
 * Gives an anon_vma to one area of [start, end) without pages for which it is unknown whether it
 * has one. False: there is no such area.
 */
static bool choose_for_emptied(struct guess *guess, struct vmspace *before, unsigned long start,
			       unsigned long end)
{
	struct vma_info info;

	for (; start < end && vmspace_next(before, start, &info) && info.start < end;
	     start = info.end) {
		if (info.anon_id || !may_have_emptied(guess, &info))
			continue;
		make_choice(guess, before, ANON_PART, info.start, 0);
		return true;
	}
	return false;
}

/* Finds the first area with an anon_vma that overlaps [start, end). */
static bool find_touched(const struct vmspace *space, unsigned long start, unsigned long end,
			 struct vma_info *info)
{
	for (; start < end && vmspace_next(space, start, info) && info->start < end;
	     start = info->end)
		if (info->anon_id)
			return true;
	return false;
}

/*
 * The mirror merged areas at @event->at, and the kernel did not. @mapped is the area that the call
 * itself has mapped, or NULL: it is not what @before has there.
 */
static unsigned int choose_for_merge(struct guess *guess, struct vmspace *before,
				     const struct vmspace_event *event,
				     const struct vmspace_event *mapped)
{
	unsigned long left_end = event->at, right_start = event->at;
	struct vma_info left, right;
	bool has_left, has_right;

	if (mapped && mapped->end == event->at)
		left_end = mapped->start;
	else if (mapped && mapped->start == event->at)
		right_start = mapped->end;
	/* Do both sides have anon_vmas, and different ones? */
	if (choose_for_emptied(guess, before, event->start, left_end) ||
	    choose_for_emptied(guess, before, right_start, event->end))
		return 1u << GUESS_ANON_EMPTIED;
	has_left = find_touched(before, event->start, left_end, &left);
	has_right = find_touched(before, right_start, event->end, &right);
	if (has_left && has_right && right.start == event->at &&
	    right.anon_id <= guess->unknown_sharing) {
		make_choice(guess, before, ANON_PART, event->at, 0);
		return 1u << GUESS_ANON_PARTED;
	}
	/* Has only one side an anon_vma, and was it inherited? */
	if (has_left != has_right && origin_is_unknown(guess, has_left ? &left : &right)) {
		make_choice(guess, before, ANON_INHERIT, has_left ? left.start : right.start, 0);
		return 1u << GUESS_ANON_INHERITED;
	}
	return 0;
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
	if (event->verdict == VMA_DIFFERENT_ANON_VMA && sharing_is_unknown(guess, &left, &right)) {
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

/*
 * Makes choices in @before, the state before the call, for every merge that depends on an unknown
 * anon_vma and that the maps show to have gone the other way. @after is the state that the call led
 * to. Returns the kinds of the choices made, as a set of bits, or 0.
 */
static unsigned int choose_for_events(struct guess *guess, struct vmspace *before,
				      const struct vmspace *after,
				      const struct vmspace_outcome *out)
{
	const struct vmspace_event *mapped = NULL;
	unsigned int chosen = 0;

	for (unsigned int i = 0; i < out->event_count; i++)
		if (out->events[i].kind == VMSPACE_EVENT_MAP)
			mapped = &out->events[i];
	for (unsigned int i = 0; i < out->event_count; i++) {
		const struct vmspace_event *event = &out->events[i];
		struct vmspace_line line;

		if (!kernel_find_line(&guess->host->view, event->at, &line))
			continue;
		if (event->kind == VMSPACE_EVENT_NO_MERGE && line.start < event->at)
			chosen |= choose_for_no_merge(guess, before, after, event);
		else if (event->kind == VMSPACE_EVENT_MERGE && line.start == event->at)
			chosen |= choose_for_merge(guess, before, event, mapped);
	}
	return chosen;
}

static bool depends_on_anon(const struct vmspace_outcome *out)
{
	for (unsigned int i = 0; i < out->event_count; i++)
		if (out->events[i].kind == VMSPACE_EVENT_MERGE ||
		    out->events[i].verdict == VMA_DIFFERENT_ANON_VMA ||
		    out->events[i].verdict == VMA_ANON_VMA_SHARED)
			return true;
	return false;
}

/*
 * Performs @asked on copies of @before, which the caller owns, and makes choices about unknown
 * anon_vmas in @before as long as the maps suggest any. True: *@space and *@req are what the kernel
 * did, and *@kept has the kinds of guesses. False: *@space and *@req are unchanged.
 */
static bool find_outcome(struct guess *guess, struct vmspace *before,
			 const struct vmspace_request *asked, struct vmspace **space,
			 struct vmspace_request *req, unsigned int *kept)
{
	unsigned int kinds = 0, chosen = 1;

	guess->choice_count = 0;
	for (int round = 0; round < GUESS_ROUNDS && chosen; round++) {
		struct vmspace *after = copy_of(guess, before);
		struct vmspace_request again = *asked;

		if (!after)
			return false;
		apply_request(guess->session, after, &guess->host->view, &again);
		if (!guess->session->failed && !again.out.differs &&
		    compare_areas(guess->comparison, after, &guess->host->view) == COMPARE_EQUAL) {
			vmspace_destroy(*space);
			*space = after;
			*req = again;
			*kept |= kinds;
			return true;
		}
		chosen = choose_for_events(guess, before, after, &again.out);
		kinds |= chosen;
		vmspace_destroy(after);
	}
	guess->choice_count = 0;
	return false;
}

/* Counts the guesses, and what was found when the space that was kept was compared. */
static unsigned int accept(struct guess *guess, const struct vmspace *space, unsigned int kept)
{
	struct totals *totals = &guess->session->totals;

	for (int kind = 0; kind < GUESS_KINDS; kind++)
		totals->guesses[kind] += kept >> kind & 1;
	totals->stack_growths += guess->comparison->growths;
	totals->renames += guess->comparison->renames;
	/* It is unknown, too, what the anon_vma that was found just now is shared with. */
	if (kept & 1u << GUESS_ANON_EMPTIED && last_anon(space) > guess->unknown_sharing)
		guess->unknown_sharing = last_anon(space);
	return kept;
}

/* The call did not lead from @before to the kernel's areas: tries the other outcomes. */
static unsigned int try_other_outcomes(struct guess *guess, const struct vmspace *before,
				       const struct vmspace_request *asked, struct vmspace **space,
				       struct vmspace_request *req, bool touched)
{
	unsigned int kept = 0;

	assert(guess->attached || guess->shared);
	assert(!touched || guess->shared);
	for (int first = touched ? 1 : 0; first >= 0 && !guess->session->failed; first--) {
		struct vmspace *copy = copy_of(guess, before);
		struct vmspace_request again = *asked;
		bool reached;

		if (!copy)
			return 0;
		/*
		 * If the touch came first, its pages were there: gather again, they are there now.
		 */
		if (first)
			host_gather(guess->host, copy, &again, NULL);
		kept = first ? 1u << GUESS_RACED : 0;
		reached = find_outcome(guess, copy, &again, space, req, &kept);
		vmspace_destroy(copy);
		if (reached)
			return accept(guess, *space, kept);
	}
	return 0;
}

static bool anything_unknown(const struct guess *guess)
{
	return guess->unknown_sharing || !mtree_empty(&guess->maybe_emptied);
}

unsigned int guess_apply(struct guess *guess, struct vmspace **space, struct vmspace_request *req,
			 bool touched)
{
	const struct vmspace_request asked = *req;
	struct vmspace *before = NULL;
	unsigned int kept = 0;

	guess->choice_count = 0;
	/* The outcome of munmap() never depends on an anon_vma. */
	if (!guess->closed && (touched || (anything_unknown(guess) && req->op != VMSPACE_MUNMAP)))
		before = copy_of(guess, *space);
	if (guess->session->failed)
		return 0;
	apply_request(guess->session, *space, &guess->host->view, req);
	/* Even if both outcomes look the same now, the area's anon_vma may matter later. */
	if (before && touched)
		guess->unknown_sharing = last_anon(*space) + 1;
	if (before && !guess->session->failed && !req->out.differs &&
	    (touched || depends_on_anon(&req->out)) && differs_from_kernel(guess, *space))
		kept = try_other_outcomes(guess, before, &asked, space, req, touched);
	forget_emptied(guess, &req->out);
	vmspace_destroy(before);
	return kept;
}

unsigned int guess_lost(struct guess *guess, struct vmspace **space, struct vmspace_request *req)
{
	const struct vmspace_request asked = *req;
	unsigned int kept = 1u << GUESS_LOST_PERFORMED;
	struct vmspace *before;
	bool reached;

	assert(guess->shared);
	guess->choice_count = 0;
	if (guess->closed || !differs_from_kernel(guess, *space))
		return 0;
	before = copy_of(guess, *space);
	if (!before)
		return 0;
	reached = find_outcome(guess, before, &asked, space, req, &kept);
	vmspace_destroy(before);
	return reached ? accept(guess, *space, kept) : 0;
}
