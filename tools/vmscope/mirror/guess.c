/* SPDX-License-Identifier: MIT */
/* Guesses: what the kernel may have done where a tracer cannot see which of a few things it did. */
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
	mt_init(&guess->emptied);
}

void guess_end(struct guess *guess)
{
	mtree_destroy(&guess->emptied);
}

int guess_attached(struct guess *guess, const struct vmspace *space)
{
	struct vma_info info;
	int rc = 0;

	guess->attached = true;
	guess->open_anon = guess->old_anon = last_anon(space);
	for (unsigned long at = 0; rc == 0 && vmspace_next(space, at, &info); at = info.end)
		if (!info.anon_id && !(info.flags & VMA_MAYSHARE))
			rc = mtree_store_range(&guess->emptied, info.start, info.end - 1, guess,
					       GFP_KERNEL);
	return rc;
}

static bool is_emptied(const struct guess *guess, const struct vma_info *area)
{
	unsigned long at = area->start;

	return mt_find((struct maple_tree *)&guess->emptied, &at, area->end - 1) != NULL;
}

int guess_fork(struct guess *guess, const struct guess *parent, const struct vmspace *space)
{
	MA_STATE(mas, (struct maple_tree *)&parent->emptied, 0, 0);
	struct vma_info info;
	int rc = 0;

	guess->attached = parent->attached;
	while (rc == 0 && mas_find(&mas, ULONG_MAX)) {
		unsigned long at = mas.index;

		for (; rc == 0 && vmspace_next(space, at, &info) && info.start <= mas.last;
		     at = info.end) {
			unsigned long first = info.start > mas.index ? info.start : mas.index;
			unsigned long last = info.end - 1 < mas.last ? info.end - 1 : mas.last;

			/* What is known to have had an anon_vma has an inherited one. */
			if (!info.anon_id && !(info.flags & (VMA_MAYSHARE | VMA_WIPEONFORK)))
				rc = mtree_store_range(&guess->emptied, first, last, guess,
						       GFP_KERNEL);
		}
	}
	return rc;
}

/* What a call has mapped or taken away is not what was there when we attached. */
static void forget_emptied(struct guess *guess, const struct vmspace_outcome *out)
{
	if (mtree_empty(&guess->emptied))
		return;
	if (out->events_lost)
		mtree_destroy(&guess->emptied); /* sooner one difference too many */
	for (unsigned int i = 0; i < out->event_count; i++) {
		const struct vmspace_event *event = &out->events[i];

		if (event->kind != VMSPACE_EVENT_MAP && event->kind != VMSPACE_EVENT_UNMAP &&
		    event->kind != VMSPACE_EVENT_MOVE)
			continue;
		if (mtree_store_range(&guess->emptied, event->start, event->end - 1, NULL,
				      GFP_KERNEL))
			session_fail(guess->session, "out of memory");
	}
}

/* A copy, the caller's. NULL: the session has failed. */
static struct vmspace *copy_of(struct guess *guess, const struct vmspace *space)
{
	struct vmspace *copy;

	if (vmspace_clone(&copy, space) == 0)
		return copy;
	session_fail(guess->session, "out of memory");
	return NULL;
}

static bool shows_otherwise(struct guess *guess, struct vmspace *space)
{
	return compare_areas(guess->comparison, space, &guess->host->view) == COMPARE_AREAS;
}

/* Whether it is open if two areas, both with anonymous pages, share an anon_vma. */
static bool is_open(const struct guess *guess, const struct vma_info *left,
		    const struct vma_info *right)
{
	return left->anon_id && right->anon_id &&
	       (left->anon_id <= guess->open_anon || right->anon_id <= guess->open_anon);
}

static void take(struct guess *guess, struct vmspace *before, enum anon_choice_kind kind,
		 unsigned long addr, unsigned long gone)
{
	const struct anon_choice turn = { kind, addr, gone };

	anon_choice_apply(before, &turn);
	/* Each takes one area out of what is open, and few areas meet in one call. */
	if (guess->choice_count < GUESS_CHOICES_MAX)
		guess->choices[guess->choice_count++] = turn;
}

static unsigned long find_anon(const struct vmspace *space, uint64_t anon_id)
{
	struct vma_info info;

	for (unsigned long at = 0; vmspace_next(space, at, &info); at = info.end)
		if (info.anon_id == anon_id)
			return info.start;
	return 0;
}

/* Whether it is open if the anon_vma of an area that has one was inherited. */
static bool is_old(const struct guess *guess, const struct vma_info *area)
{
	return area->anon_id && (area->anon_id <= guess->old_anon || is_emptied(guess, area));
}

/* Gives one area of [start, end) an anon_vma, if it has no page and it is open whether it has one. */
static bool turn_emptied(struct guess *guess, struct vmspace *before, unsigned long start,
			 unsigned long end)
{
	struct vma_info info;

	for (; start < end && vmspace_next(before, start, &info) && info.start < end;
	     start = info.end) {
		if (info.anon_id || !is_emptied(guess, &info))
			continue;
		take(guess, before, ANON_PART, info.start, 0);
		return true;
	}
	return false;
}

/* An area with an anon_vma in [start, end), all of it or a part. */
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
 * The mirror says that areas became one at @event->at; the kernel kept them apart. @mapped is what
 * the call has mapped, if anything: what was there before is gone.
 */
static unsigned int turn_merge(struct guess *guess, struct vmspace *before,
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
	/* Each side has an anon_vma, and they are two. */
	if (turn_emptied(guess, before, event->start, left_end) ||
	    turn_emptied(guess, before, right_start, event->end))
		return 1u << GUESS_ANON_EMPTIED;
	has_left = find_touched(before, event->start, left_end, &left);
	has_right = find_touched(before, right_start, event->end, &right);
	if (has_left && has_right && right.start == event->at &&
	    right.anon_id <= guess->open_anon) {
		take(guess, before, ANON_PART, event->at, 0);
		return 1u << GUESS_ANON_PARTED;
	}
	/* One side has one, that was inherited. */
	if (has_left != has_right && is_old(guess, has_left ? &left : &right)) {
		take(guess, before, ANON_INHERIT, has_left ? left.start : right.start, 0);
		return 1u << GUESS_ANON_INHERITED;
	}
	return 0;
}

/* The mirror says why areas at @event->at are two; the kernel made them one. */
static unsigned int turn_apart(struct guess *guess, struct vmspace *before,
			       const struct vmspace *after, const struct vmspace_event *event)
{
	struct vma_info left, right;
	const struct vma_info *one;

	if (!vmspace_lookup(after, event->at - 1, &left) ||
	    !vmspace_lookup(after, event->at, &right))
		return 0;
	if (event->verdict == VMA_DIFFERENT_ANON_VMA && is_open(guess, &left, &right)) {
		take(guess, before, ANON_JOIN, find_anon(before, left.anon_id),
		     find_anon(before, right.anon_id));
		return 1u << GUESS_ANON_JOINED;
	}
	one = left.anon_id ? &left : &right;
	if (event->verdict == VMA_ANON_VMA_SHARED && is_old(guess, one)) {
		take(guess, before, ANON_OWN, find_anon(before, one->anon_id), 0);
		return 1u << GUESS_ANON_INHERITED;
	}
	return 0;
}

/*
 * Takes the other alternative in @before, the state before the call, wherever an event of the call
 * hangs on an open anon_vma and the maps show that it went otherwise. @after: the state that
 * the call led to. Returns the kinds of the alternatives taken, as a set, or 0.
 */
static unsigned int turn_events(struct guess *guess, struct vmspace *before,
				const struct vmspace *after, const struct vmspace_outcome *out)
{
	const struct vmspace_event *mapped = NULL;
	unsigned int turned = 0;

	for (unsigned int i = 0; i < out->event_count; i++)
		if (out->events[i].kind == VMSPACE_EVENT_MAP)
			mapped = &out->events[i];
	for (unsigned int i = 0; i < out->event_count; i++) {
		const struct vmspace_event *event = &out->events[i];
		struct vmspace_line line;

		if (!kernel_find_line(&guess->host->view, event->at, &line))
			continue;
		if (event->kind == VMSPACE_EVENT_NO_MERGE && line.start < event->at)
			turned |= turn_apart(guess, before, after, event);
		else if (event->kind == VMSPACE_EVENT_MERGE && line.start == event->at)
			turned |= turn_merge(guess, before, event, mapped);
	}
	return turned;
}

static bool hangs_on_anon(const struct vmspace_outcome *out)
{
	for (unsigned int i = 0; i < out->event_count; i++)
		if (out->events[i].kind == VMSPACE_EVENT_MERGE ||
		    out->events[i].verdict == VMA_DIFFERENT_ANON_VMA ||
		    out->events[i].verdict == VMA_ANON_VMA_SHARED)
			return true;
	return false;
}

/*
 * Performs @asked on copies of @before, which is the caller's to destroy, and takes alternatives of
 * open anon_vmas in it as long as that leads on. True: *@space and *@req are what the kernel
 * did, and *@kept tells the alternatives. False: *@space and *@req are as they were.
 */
static bool reach(struct guess *guess, struct vmspace *before, const struct vmspace_request *asked,
		  struct vmspace **space, struct vmspace_request *req, unsigned int *kept)
{
	unsigned int taken = 0, turned = 1;

	guess->choice_count = 0;
	for (int round = 0; round < GUESS_ROUNDS && turned; round++) {
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
			*kept |= taken;
			return true;
		}
		turned = turn_events(guess, before, after, &again.out);
		taken |= turned;
		vmspace_destroy(after);
	}
	guess->choice_count = 0;
	return false;
}

/* Counts @kept, and what was taken in when the space that was kept was compared. */
static unsigned int keep(struct guess *guess, const struct vmspace *space, unsigned int kept)
{
	struct totals *totals = &guess->session->totals;

	for (int kind = 0; kind < GUESS_KINDS; kind++)
		totals->guesses[kind] += kept >> kind & 1;
	totals->stack_growths += guess->comparison->growths;
	totals->renames += guess->comparison->renames;
	/* Of one that was found now it is as open what it shares. */
	if (kept & 1u << GUESS_ANON_EMPTIED && last_anon(space) > guess->open_anon)
		guess->open_anon = last_anon(space);
	return kept;
}

/* The call did not lead from @before to the kernel's areas: tries the other alternatives. */
static unsigned int try_others(struct guess *guess, const struct vmspace *before,
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
		/* The touch first: what it left is there to be asked for now. */
		if (first)
			host_gather(guess->host, copy, &again, NULL);
		kept = first ? 1u << GUESS_RACED : 0;
		reached = reach(guess, copy, &again, space, req, &kept);
		vmspace_destroy(copy);
		if (reached)
			return keep(guess, *space, kept);
	}
	return 0;
}

static bool has_open(const struct guess *guess)
{
	return guess->open_anon || !mtree_empty(&guess->emptied);
}

unsigned int guess_apply(struct guess *guess, struct vmspace **space, struct vmspace_request *req,
			 bool touched)
{
	const struct vmspace_request asked = *req;
	struct vmspace *before = NULL;
	unsigned int kept = 0;

	guess->choice_count = 0;
	/* Nothing that munmap() does hangs on an anon_vma. */
	if (!guess->closed && (touched || (has_open(guess) && req->op != VMSPACE_MUNMAP)))
		before = copy_of(guess, *space);
	if (guess->session->failed)
		return 0;
	apply_request(guess->session, *space, &guess->host->view, req);
	/* Both alternatives may look the same now, and not later: the area's anon_id is open. */
	if (before && touched)
		guess->open_anon = last_anon(*space) + 1;
	if (before && !guess->session->failed && !req->out.differs &&
	    (touched || hangs_on_anon(&req->out)) && shows_otherwise(guess, *space))
		kept = try_others(guess, before, &asked, space, req, touched);
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
	if (guess->closed || !shows_otherwise(guess, *space))
		return 0;
	before = copy_of(guess, *space);
	if (!before)
		return 0;
	reached = reach(guess, before, &asked, space, req, &kept);
	vmspace_destroy(before);
	return reached ? keep(guess, *space, kept) : 0;
}
