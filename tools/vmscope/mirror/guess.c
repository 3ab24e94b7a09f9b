/* SPDX-License-Identifier: MIT */
/* Guesses: trying the few outcomes that a call may have had, where a tracer cannot know which. */
#include "mirror/guess.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "mirror/apply.h"
#include "mirror/choices.h"

enum { NEAR_AREAS = 8 };	/* to either side of a call */

static uint64_t last_anon(const struct vmspace *space)
{
	struct vma_info info;
	uint64_t last = 0;

	for (unsigned long at = 0; vmspace_next(space, at, &info); at = info.end)
		if (info.anon_id > last)
			last = info.anon_id;
	return last;
}

static void collect(void *ctx, const struct vmspace_event *event)
{
	struct guess *guess = ctx;
	struct vmspace_event *larger = guess->events;

	if (guess->event_count == guess->event_capacity) {
		guess->event_capacity = guess->event_capacity ? guess->event_capacity * 2 : 32;
		larger = realloc(larger, guess->event_capacity * sizeof(*larger));
		if (!larger) {
			guess->event_capacity = guess->event_count;
			session_fail(guess->session, "out of memory");
			return;
		}
		guess->events = larger;
	}
	guess->events[guess->event_count++] = *event;
}

void guess_init(struct guess *guess, struct session *session, struct host *host,
		struct comparison *comparison)
{
	*guess = (struct guess){ .session = session, .host = host, .comparison = comparison };
	guess->hooks = (struct vmspace_hooks){ .ctx = guess, .event = collect };
	marks_init(&guess->marks);
}

void guess_end(struct guess *guess)
{
	marks_end(&guess->marks);
	vmspace_snapshot_close(guess->before);
	vmspace_snapshot_close(guess->raced);
	nearby_text_free(&guess->ours);
	nearby_text_free(&guess->theirs);
	free(guess->events);
}

/* Is it certain that the process was not forked since its exec? Orphans hide their parents. */
static bool has_own_exec(pid_t pid)
{
	return kernel_file_number(pid, "status", "PPid:", 10, 0) > 1;
}

int guess_attached(struct guess *guess, pid_t pid, const struct vmspace *space)
{
	guess->attached = true;
	guess->unknown_sharing = guess->unknown_origin = last_anon(space);
	guess->may_be_copy = !has_own_exec(pid);
	return marks_attached(&guess->marks, space);
}

int guess_fork(struct guess *guess, const struct guess *parent, const struct vmspace *space)
{
	guess->attached = parent->attached;
	guess->may_be_copy = parent->may_be_copy;
	return marks_fork(&guess->marks, &parent->marks, space);
}

/* Before choices are made, which copy all areas anyway: what the last race left unknown. */
static void learn_race(struct guess *guess)
{
	if (guess->raced)
		guess->unknown_sharing = last_anon(guess->raced) + 1;
	vmspace_snapshot_close(guess->raced);
	guess->raced = NULL;
}

/*
 * Looks at @space as it is before a call. Only then the last look ends: as long as there is any, a
 * space keeps what it has reserved for copies of what calls change.
 */
static void look_before(struct guess *guess, struct vmspace *space)
{
	const struct vmspace *last = guess->before;
	int err = vmspace_snapshot(&guess->before, space);

	vmspace_snapshot_close(last);
	if (err == -EOVERFLOW) { /* with the other one, none is open any more */
		learn_race(guess);
		err = vmspace_snapshot(&guess->before, space);
	}
	if (err != 0)
		session_fail(guess->session, "out of memory");
}

/*
 * A thread has touched an area beside the call that led to @space. Even if both outcomes look the
 * same now, the area's anon_vma may matter later. Most never do, so nothing is looked for yet.
 */
static void note_race(struct guess *guess, struct vmspace *space)
{
	int err;

	vmspace_snapshot_close(guess->raced);
	err = vmspace_snapshot(&guess->raced, space);
	if (err == -EOVERFLOW) /* guess->before is open */
		guess->unknown_sharing = last_anon(space) + 1;
	else if (err != 0)
		session_fail(guess->session, "out of memory");
}

/* A copy, which the caller owns. NULL: the session has failed. */
static struct vmspace *copy_of(struct guess *guess, const struct vmspace *space)
{
	struct vmspace_config config;
	struct vmspace *copy;

	if (vmspace_clone(&copy, space) != 0) {
		session_fail(guess->session, "out of memory");
		return NULL;
	}
	guess->session->totals.copies++;
	config = *vmspace_config(copy);
	config.hooks = &guess->hooks; /* a clone has none, nor has that of a snapshot a host */
	config.host = host_callbacks(guess->host);
	vmspace_configure(copy, &config);
	return copy;
}

static bool differs_from_kernel(struct guess *guess, struct vmspace *space)
{
	return compare_areas(guess->comparison, space, &guess->host->view) == COMPARE_AREAS;
}

/*
 * Whether the areas are not the kernel's, after the call whose events have been collected: as long
 * as they are where it has changed some, others are not looked at.
 */
static bool differs_nearby(struct guess *guess, struct vmspace *space, const struct nearby *where)
{
	struct kernel_view *view = &guess->host->view;
	struct nearby changed = *where;

	for (size_t i = 0; i < guess->event_count; i++)
		nearby_add_event(&changed, &guess->events[i]);
	guess->ours.length = guess->theirs.length = 0;
	if (!changed.everywhere && nearby_ask(&changed, 0, view, &guess->theirs) == 0 &&
	    nearby_show(&changed, 0, space, &guess->ours) == 0 &&
	    nearby_equal(&guess->ours, &guess->theirs))
		return false;
	return differs_from_kernel(guess, space);
}

/*
 * Has the call, whose outcome is @space, taken the charge from an area? Only one without pages
 * loses it, and maps does not show it.
 */
static bool took_charge(const struct guess *guess, const struct vmspace *space,
			const struct vmspace_request *req)
{
	unsigned long at = req->mprotect.addr, end = at + req->mprotect.length;
	struct vma_info was, is;

	if (req->op != VMSPACE_MPROTECT)
		return false;
	for (; vmspace_next(guess->before, at, &was) && was.start < end; at = was.end)
		if (was.flags & VMA_ACCOUNT &&
		    vmspace_lookup(space, was.start > at ? was.start : at, &is) &&
		    !(is.flags & VMA_ACCOUNT))
			return true;
	return false;
}

/* Whether the kernel tells of other flags, where these matter. */
static bool differs_in_flags(const struct guess *guess, const struct vmspace *space)
{
	struct vmspace_difference difference;

	return guess->flags_of != 0 &&
	       vmspace_verify(space, guess->flags_of, VMSPACE_VERIFY_FLAGS, &difference) > 0;
}

/* Applies the request, and collects its events. */
static void apply(struct guess *guess, struct vmspace *space, struct vmspace_request *req)
{
	guess->event_count = 0;
	apply_request(guess->session, space, &guess->host->view, req);
}

/* Have areas been merged or not because of something that may be unknown? */
static bool depends_on_anon(const struct guess *guess)
{
	for (size_t i = 0; i < guess->event_count; i++) {
		const struct vmspace_event *event = &guess->events[i];

		if (event->kind == VMSPACE_EVENT_MERGE ||
		    event->verdict == VMA_DIFFERENT_ANON_VMA ||
		    event->verdict == VMA_ANON_VMA_SHARED ||
		    (event->verdict == VMA_DIFFERENT_OFFSET && !mtree_empty(&guess->marks.moved)))
			return true;
	}
	return false;
}

/*
 * Performs @asked on copies of @before, which the caller owns, and makes choices about what is
 * unknown in @before as long as the maps suggest any. True: *@space and *@req are what the kernel
 * did, and *@kept has the kinds of guesses. False: *@space and *@req are unchanged.
 */
static bool find_outcome_in(struct guess *guess, enum choice_order order, uint64_t seed,
			    struct vmspace *before, const struct vmspace_request *asked,
			    struct vmspace **space, struct vmspace_request *req,
			    unsigned int *kept)
{
	unsigned int kinds = 0, chosen = 1;

	learn_race(guess);
	choices_begin(guess, order, seed);
	for (int round = 0; round < GUESS_ROUNDS && chosen; round++) {
		struct vmspace *after = copy_of(guess, before);
		struct vmspace_request again = *asked;

		if (!after)
			return false;
		apply(guess, after, &again);
		if (!guess->session->failed && !again.out.differs &&
		    !differs_from_kernel(guess, after) && !differs_in_flags(guess, after)) {
			vmspace_destroy(*space);
			*space = after;
			*req = again;
			*kept |= kinds;
			return true;
		}
		chosen = choices_make(guess, before, after);
		kinds |= chosen;
		vmspace_destroy(after);
	}
	guess->choice_count = 0;
	return false;
}

/*
 * Where several explanations are possible, the one that is tried first may not explain all. If any
 * may be true, others are tried, each on a copy of @before.
 */
static bool find_outcome(struct guess *guess, struct vmspace *before,
			 const struct vmspace_request *asked, struct vmspace **space,
			 struct vmspace_request *req, unsigned int *kept)
{
	const enum choice_order first = guess->may_be_copy ? CHOOSE_INHERITED : CHOOSE_MOVED;
	bool reached = false;

	if (mtree_empty(&guess->marks.moved))
		return find_outcome_in(guess, first, 0, before, asked, space, req, kept);
	for (unsigned int i = 0; i < 2 + GUESS_DRAWS && !reached && !guess->session->failed; i++) {
		struct vmspace *copy = copy_of(guess, before);
		enum choice_order order = i == 0 ? first : i == 1 ? CHOOSE_MOVED_FIRST
								  : CHOOSE_DRAWN;

		if (!copy)
			break;
		reached = find_outcome_in(guess, order, i, copy, asked, space, req, kept);
		vmspace_destroy(copy);
	}
	return reached;
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

/* The call did not lead from guess->before to the kernel's areas: tries the other outcomes. */
static unsigned int try_other_outcomes(struct guess *guess, const struct vmspace_request *asked,
				       struct vmspace **space, struct vmspace_request *req,
				       bool touched)
{
	unsigned int kept = 0;

	assert(guess->attached || guess->shared || !mtree_empty(&guess->marks.emptied));
	assert(!touched || guess->shared);
	for (int first = touched ? 1 : 0; first >= 0 && !guess->session->failed; first--) {
		struct vmspace *copy = copy_of(guess, guess->before);
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

/*
 * May an area have been emptied that the call could merge with others, or that could share its
 * anon_vma with one? These follow each other without a hole; a few of them are enough.
 */
static bool emptied_near(const struct guess *guess, const struct vmspace *space,
			 const struct nearby *where)
{
	struct vma_info info;

	if (where->everywhere)
		return true;
	for (unsigned int range = 0; range < where->count; range++) {
		unsigned long start = where->ranges[range].start, end = where->ranges[range].end;

		for (int i = 0; i < NEAR_AREAS && vmspace_prev(space, start, &info); i++)
			start = info.start;
		for (int i = 0; i < NEAR_AREAS && vmspace_next(space, end, &info); i++)
			end = info.end;
		if (start < end && marks_emptied(&guess->marks, start, end))
			return true;
	}
	return false;
}

/* Whether something is unknown that may decide what a call does @where. */
static bool anything_unknown(const struct guess *guess, const struct vmspace *space,
			     const struct nearby *where)
{
	if (guess->unknown_sharing || guess->raced ||
	    !mtree_empty((struct maple_tree *)&guess->marks.moved))
		return true;
	return !marks_none(&guess->marks) && emptied_near(guess, space, where);
}

unsigned int guess_apply(struct guess *guess, struct vmspace **space, struct vmspace_request *req,
			 pid_t tid, bool touched, const struct nearby *where)
{
	const struct vmspace_request asked = *req;
	unsigned int kept = 0;
	/* The outcome of munmap() never depends on an anon_vma. */
	bool several = !guess->closed && (touched || (req->op != VMSPACE_MUNMAP &&
						      anything_unknown(guess, *space, where)));
	bool equal = false;

	guess->choice_count = 0;
	if (several)
		look_before(guess, *space);
	if (guess->session->failed)
		return 0;
	apply(guess, *space, req);
	if (several && touched)
		note_race(guess, *space);
	if (several && !guess->session->failed && !req->out.differs &&
	    (touched || depends_on_anon(guess))) {
		guess->flags_of = touched && took_charge(guess, *space, req) ? tid : 0;
		equal = !differs_nearby(guess, *space, where) && !differs_in_flags(guess, *space);
		if (!equal) {
			kept = try_other_outcomes(guess, &asked, space, req, touched);
			equal = kept != 0;
		}
	}
	if (marks_follow(&guess->marks, *space, req, guess->events, guess->event_count) != 0 ||
	    (equal && choices_learn(guess, *space) != 0))
		session_fail(guess->session, "out of memory");
	return kept;
}

void guess_past_end(struct guess *guess, const struct vmspace *space, unsigned long start,
		    unsigned long end)
{
	if (marks_past_end(&guess->marks, space, start, end) != 0)
		session_fail(guess->session, "out of memory");
}

unsigned int guess_lost(struct guess *guess, struct vmspace **space, struct vmspace_request *req)
{
	const struct vmspace_request asked = *req;
	unsigned int kept = 1u << GUESS_LOST_PERFORMED;
	struct vmspace *before;
	bool reached;

	assert(guess->shared);
	guess->choice_count = 0;
	guess->flags_of = 0;
	if (guess->closed || !differs_from_kernel(guess, *space))
		return 0;
	before = copy_of(guess, *space);
	if (!before)
		return 0;
	reached = find_outcome(guess, before, &asked, space, req, &kept);
	vmspace_destroy(before);
	return reached ? accept(guess, *space, kept) : 0;
}
