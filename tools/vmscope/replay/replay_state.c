/* SPDX-License-Identifier: MIT */
/*
 * The state of a replay: the address spaces of a log. Each step is applied to one of them, and what
 * libvmspace computes is compared with what the log has recorded.
 */
#include "replay/replay_state.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "log/difference.h"
#include "log/hash.h"
#include "log/placed.h"
#include "replay/unknown.h"

/* Invariant: totals.calls == totals.checked + totals.unchecked. */
struct replay_state {
	struct replay_listener listener;
	struct maple_tree spaces;	/* number -> struct replay_space */
	struct maple_tree processes;	/* that have begun -> number, until they have another */
	struct replay_totals totals;
};

struct replay_state *replay_state_new(const struct replay_listener *listener)
{
	struct replay_state *state = calloc(1, sizeof(*state));

	if (!state)
		return NULL;
	state->listener = *listener;
	mt_init(&state->spaces);
	mt_init(&state->processes);
	return state;
}

const struct replay_totals *replay_state_totals(const struct replay_state *state)
{
	return &state->totals;
}

static void notify(struct replay_state *state, enum replay_event event, struct replay_space *space,
		   const struct vmspace_request *req, const char *why)
{
	state->listener.notify(state->listener.ctx, event, space, space->step, req, why);
}

static void free_space(struct replay_space *space)
{
	vmspace_destroy(space->vm);
	free(space);
}

static void end_space(struct replay_state *state, struct replay_space *space)
{
	assert(mtree_load(&state->spaces, space->id) == space);
	notify(state, REPLAY_SPACE_ENDS, space, NULL, NULL);
	mtree_erase(&state->spaces, space->id);
	free_space(space);
}

void replay_state_free(struct replay_state *state)
{
	struct replay_space *space;
	unsigned long id = 0;

	if (!state)
		return;
	mt_for_each(&state->spaces, space, id, ULONG_MAX) {
		space->step = NULL;
		notify(state, REPLAY_SPACE_ENDS, space, NULL, NULL);
		free_space(space);
	}
	mtree_destroy(&state->spaces);
	mtree_destroy(&state->processes);
	free(state);
}

/* ---- answers from the log instead of the kernel --------------------------------------------- */

static bool find_answer(const struct step_answer *answers, size_t count, unsigned long start,
			unsigned long end, bool *has_anon)
{
	for (size_t i = 0; i < count; i++)
		if (answers[i].start == start && answers[i].end == end) {
			*has_anon = answers[i].has_anon;
			return true;
		}
	return false;
}

static bool host_has_anon(void *ctx, unsigned long start, unsigned long end)
{
	const struct replay_space *space = ctx;
	const struct step *step = space->step;
	bool has = false;

	/* The later answer counts: it was the state in which the call was performed. */
	if (step && !find_answer(step->answers_again, step->again_count, start, end, &has))
		find_answer(step->answers, step->answer_count, start, end, &has);
	return has;
}

static unsigned long host_stack_start(void *ctx, unsigned long start, unsigned long end)
{
	const struct replay_space *space = ctx;
	const struct step *step = space->step;

	for (size_t i = 0; step && i < step->stack_count; i++)
		if (step->stacks[i].end == end && step->stacks[i].start < start)
			return step->stacks[i].start;
	return start;
}

static struct vmspace_host host_of(struct replay_space *space)
{
	return (struct vmspace_host){
		.ctx = space,
		.has_anon = host_has_anon,
		.stack_start = host_stack_start,
	};
}

/* ---- address spaces begin and end ----------------------------------------------------------- */

static int add_space(struct replay_state *state, struct replay_space *space,
		     const struct step *step)
{
	struct replay_space *old = mtree_load(&state->spaces, step->space);
	void *maker = mtree_erase(&state->processes, (unsigned long)step->pid);
	int rc;

	assert(step->space > 0 && space->vm);
	if (old) {
		old->step = step;
		end_space(state, old);
	}
	space->id = step->space;
	space->maker = maker && !space->from ? (unsigned int)xa_to_value(maker) : 0;
	space->pid = step->pid;
	space->step = step;
	rc = mtree_store(&state->spaces, space->id, space, GFP_KERNEL);
	if (rc != 0) {
		free_space(space);
		return rc;
	}
	state->totals.spaces++;
	notify(state, REPLAY_SPACE_BEGINS, space, NULL, NULL);
	return 0;
}

static void set_command(struct replay_space *space, const char *command)
{
	if (command)
		snprintf(space->command, sizeof(space->command), "%s", command);
}

/* Rejects what libvmspace would accept although no machine has such pages or addresses. */
static bool is_sane(const struct vmspace_config *config)
{
	return config->page_size >= 4096 && config->page_size <= 65536 &&
	       config->task_size <= 1UL << 57 && config->stack_guard_gap <= 1UL << 30 &&
	       config->pmd_size <= 1UL << 40;
}

/* The areas that @step tells, in *@vm. Returns as replay_state_apply() does. */
static int make_areas(struct vmspace **vm, struct replay_space *space, const struct step *step,
		      const char **why)
{
	struct vmspace_config config = step->config;
	int rc;

	config.host = host_of(space);
	*why = "the configuration makes no sense";
	rc = is_sane(&config) ? vmspace_create(vm, &config) : -EINVAL;
	if (rc != 0)
		return rc == -EINVAL ? -EBADMSG : rc;
	rc = vmspace_exec(*vm, step->areas, step->area_count, &step->image);
	*why = "the areas overlap, or are not in order";
	/* A log may contain anything, for instance a break below the start of the heap. */
	if (rc == 0 && !vmspace_check(*vm, why))
		rc = -EINVAL;
	if (rc != 0)
		vmspace_destroy(*vm);
	return rc == -EINVAL ? -EBADMSG : rc;
}

static int begin(struct replay_state *state, const struct step *step, const char **why)
{
	struct replay_space *space = calloc(1, sizeof(*space));
	int rc = -ENOMEM;

	if (!space)
		return rc;
	rc = make_areas(&space->vm, space, step, why);
	if (rc != 0) {
		free(space);
		return rc;
	}
	space->incomplete = step->incomplete;
	set_command(space, step->command);
	return add_space(state, space, step);
}

/* Its areas were read anew, as not all that led to them was known: it goes on with these. */
static int begin_again(struct replay_state *state, struct replay_space *space,
		       const struct step *step, const char **why)
{
	struct vmspace *vm = NULL;
	int rc = make_areas(&vm, space, step, why);

	if (rc != 0)
		return rc;
	vmspace_destroy(space->vm);
	space->vm = vm;
	space->incomplete = step->incomplete;
	space->untold = space->differs = false;
	set_command(space, step->command);
	space->step = step;
	notify(state, REPLAY_AREAS_OBSERVED, space, NULL, NULL);
	space->step = NULL;
	return 0;
}

static int copy(struct replay_state *state, struct replay_space *from, const struct step *step)
{
	struct replay_space *space = calloc(1, sizeof(*space));
	struct vmspace_request req = { .op = VMSPACE_FORK };
	struct vmspace_host host;

	if (!space)
		return -ENOMEM;
	host = host_of(space);
	req.fork.child_host = &host;
	req.host = (struct vmspace_host_result){ .valid = true, .result = step->pid };
	from->step = step;
	vmspace_call(from->vm, &req);
	space->vm = req.fork.child;
	if (!space->vm) {
		free_space(space);
		return -ENOMEM;
	}
	space->from = from->id;
	space->incomplete = from->incomplete;
	space->untold = from->untold;
	space->differs = from->differs;
	space->falsified = from->falsified;
	snprintf(space->command, sizeof(space->command), "%s", from->command);
	notify(state, REPLAY_AREAS_OBSERVED, from, NULL, NULL);
	return add_space(state, space, step);
}

static void differ(struct replay_state *state, struct replay_space *space,
		   const struct vmspace_request *req, const char *why)
{
	state->totals.differences++;
	notify(state, REPLAY_DIFFERS, space, req, why);
	space->differs = true;
}

static int end(struct replay_state *state, struct replay_space *space, const struct step *step)
{
	struct vmspace_stats stats;
	uint64_t hash;
	char why[160];

	set_command(space, step->command);
	if (step->has_hash) {
		if (hash_maps(space->vm, &hash) != 0)
			return -ENOMEM;
		vmspace_stats(space->vm, &stats);
		state->totals.compared_at_end++;
		snprintf(why, sizeof(why),
			 "the areas at the end are not those that were there when it was traced "
			 "(%lu areas then, %lu now)%s", step->areas_at_end, stats.areas,
			 space->falsified ? ": --inject had hidden calls" : "");
		if (hash != step->hash || stats.areas != step->areas_at_end)
			differ(state, space, NULL, why);
	}
	end_space(state, space);
	return 0;
}

/* ---- calls ---------------------------------------------------------------------------------- */

static void make_choices(struct replay_space *space, const struct step *step)
{
	for (size_t i = 0; i < step->choice_count; i++)
		anon_choice_apply(space->vm, &step->choices[i]);
}

static void apply_renames(struct replay_space *space, const struct step *step)
{
	for (size_t i = 0; i < step->rename_count; i++) {
		const struct step_rename *rename = &step->renames[i];
		struct vma_info info;

		/* If the areas have diverged, this may be another file: do not rename that one. */
		if (vmspace_lookup(space->vm, rename->addr, &info) &&
		    info.backing.inode == rename->backing.inode &&
		    info.backing.dev_major == rename->backing.dev_major &&
		    info.backing.dev_minor == rename->backing.dev_minor)
			vmspace_identify(space->vm, rename->addr, &rename->backing);
	}
}

static void apply_uffd_ends(struct replay_space *space, const struct step *step)
{
	for (size_t i = 0; i < step->uffd_end_count; i++) {
		struct vmspace_request req = { .op = VMSPACE_UFFD_RELEASE,
					       .uffd.context = step->uffd_ends[i] };

		vmspace_call(space->vm, &req);
	}
}

/* Whether there may be areas that the log does not show. */
static bool lacks_areas(const struct replay_space *space)
{
	return space->incomplete || space->untold;
}

/*
 * Whether the kernel has put what @req maps where @vm has something: no area that is unknown
 * explains it.
 */
static bool is_put_on_another(struct vmspace *vm, const struct vmspace_request *req)
{
	unsigned long first, last;
	struct vma_info info;

	return placed_range(req, &first, &last) && vmspace_next(vm, first, &info) &&
	       info.start <= last;
}

/* @overlaps: is_put_on_another() before the call. */
static void check_answer(struct replay_state *state, struct replay_space *space,
			 const struct vmspace_request *req, bool overlaps)
{
	char why[512], theirs[32], ours[32];

	if (!overlaps && lacks_areas(space) && unknown_may_explain(req)) {
		state->totals.unchecked++;
		return;
	}
	if (req->out.differs && space->step->unsure) {
		state->totals.unchecked++;
		state->totals.unsure++;
		return;
	}
	state->totals.checked++;
	if (!req->out.differs)
		return;
	difference_format_result(req->host.result, theirs, sizeof(theirs));
	difference_format_result(req->out.result, ours, sizeof(ours));
	if (overlaps)
		snprintf(why, sizeof(why), "the kernel answered %s, where something is mapped: "
			 "the log has not all calls, or not in their order", theirs);
	else
		snprintf(why, sizeof(why), "the kernel answered %s, libvmspace answers %s%s%s", theirs,
			 ours, req->out.why ? ": " : "", req->out.why ? req->out.why : "");
	differ(state, space, req, why);
}

static int perform_call(struct replay_state *state, struct replay_space *space,
			const struct step *step)
{
	struct vmspace_request req, before;
	bool overlaps;
	int inferred = 0;

	space->falsified |= step->falsified;
	if (!step->request) {
		state->totals.unmodelled++;
		space->untold |= step->untold != NULL;
		return 0;
	}
	req = *step->request;
	if (lacks_areas(space))
		inferred = unknown_infer(space->vm, &req);
	if (inferred < 0)
		return inferred;
	state->totals.inferred += (unsigned long)inferred;
	space->unseen = inferred > 0 || step->before || step->stack_count > 0;
	if (step->before) {
		before = *step->before;
		vmspace_call(space->vm, &before);
	}
	/* Gather before the choices: a choice may be about an area that only now has pages. */
	vmspace_gather(space->vm, &req);
	make_choices(space, step);
	overlaps = lacks_areas(space) && is_put_on_another(space->vm, &req);
	vmspace_complete(space->vm, &req);
	if (req.out.out_of_memory)
		return -ENOMEM;
	state->totals.calls++;
	space->calls++;
	notify(state, REPLAY_CALL_PERFORMED, space, &req, NULL);
	if (req.host.valid)
		check_answer(state, space, &req, overlaps);
	else
		state->totals.checked++;
	assert(state->totals.calls == state->totals.checked + state->totals.unchecked);
	return 0;
}

static int observe(struct replay_state *state, struct replay_space *space, const struct step *step)
{
	int grown = vmspace_refresh(space->vm);

	if (grown == -ENOMEM)
		return grown;
	if (grown < 0)
		differ(state, space, NULL, "the stack grew in a way that Linux does not allow");
	apply_renames(space, step);
	apply_uffd_ends(space, step);
	notify(state, REPLAY_AREAS_OBSERVED, space, NULL, NULL);
	return 0;
}

static int limits(struct replay_space *space, const struct step *step)
{
	struct vmspace_config config = step->config;

	config.host = host_of(space);
	return is_sane(&config) && vmspace_configure(space->vm, &config) == 0 ? 0 : -EBADMSG;
}

static int apply(struct replay_state *state, struct replay_space *space, const struct step *step,
		 const char **why)
{
	switch (step->kind) {
	case STEP_CALL:
		/* Of a touch the mirror learns by asking afterwards. */
		return step->touches ? observe(state, space, step)
				     : perform_call(state, space, step);
	case STEP_SEEN:
		return observe(state, space, step);
	case STEP_LIMITS:
		*why = "these limits make no sense";
		return limits(space, step);
	case STEP_END:
		return end(state, space, step);
	default:
		return 0;
	}
}

int replay_state_apply(struct replay_state *state, const struct step *step, const char **why)
{
	struct replay_space *space;
	int rc;

	*why = "";
	if (step->kind == STEP_OTHER)
		return 0;
	if (step->kind == STEP_PROCESS)
		return mtree_store(&state->processes, (unsigned long)step->pid,
				   xa_mk_value(step->space), GFP_KERNEL);
	if (step->kind == STEP_SPACE) {
		space = mtree_load(&state->spaces, step->space);
		return space && space->pid == step->pid ? begin_again(state, space, step, why)
							: begin(state, step, why);
	}
	space = mtree_load(&state->spaces, step->kind == STEP_COPY ? step->from : step->space);
	if (!space) {
		state->totals.orphan_steps++;
		*why = "the log has not told how this address space began";
		return -EBADMSG;
	}
	space->step = step;
	if (step->kind == STEP_COPY)
		return copy(state, space, step);
	rc = apply(state, space, step, why);
	if (step->kind != STEP_END)
		space->step = NULL;
	return rc;
}
