/* SPDX-License-Identifier: MIT */
/* The address spaces of a log, led from step to step through libvmspace, and compared with what it recorded. */
#include "story.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "difference.h"
#include "hash.h"
#include "unknown.h"

/* Invariant: totals.calls == totals.checked + totals.unchecked. */
struct story {
	struct story_listener listener;
	struct maple_tree spaces;	/* number -> struct story_space */
	struct story_totals totals;
};

struct story *story_new(const struct story_listener *listener)
{
	struct story *story = calloc(1, sizeof(*story));

	if (!story)
		return NULL;
	story->listener = *listener;
	mt_init(&story->spaces);
	return story;
}

const struct story_totals *story_totals(const struct story *story)
{
	return &story->totals;
}

static void tell(struct story *story, enum story_event event, struct story_space *space,
		 const struct vmspace_request *req, const char *why)
{
	story->listener.told(story->listener.ctx, event, space, space->step, req, why);
}

static void free_space(struct story_space *space)
{
	vmspace_destroy(space->vm);
	free(space);
}

static void end_space(struct story *story, struct story_space *space)
{
	tell(story, STORY_ENDS, space, NULL, NULL);
	mtree_erase(&story->spaces, space->id);
	free_space(space);
}

void story_free(struct story *story)
{
	struct story_space *space;
	unsigned long id = 0;

	if (!story)
		return;
	mt_for_each(&story->spaces, space, id, ULONG_MAX) {
		space->step = NULL;
		tell(story, STORY_ENDS, space, NULL, NULL);
		free_space(space);
	}
	mtree_destroy(&story->spaces);
	free(story);
}

/* ---- what the log answers in the kernel's place --------------------------------------------- */

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
	const struct story_space *space = ctx;
	const struct step *step = space->step;
	bool has = false;

	/* What was asked again is what counts: the call was performed after that. */
	if (step && !find_answer(step->answers_again, step->again_count, start, end, &has))
		find_answer(step->answers, step->answer_count, start, end, &has);
	return has;
}

static unsigned long host_stack_start(void *ctx, unsigned long start, unsigned long end)
{
	const struct story_space *space = ctx;
	const struct step *step = space->step;

	for (size_t i = 0; step && i < step->stack_count; i++)
		if (step->stacks[i].end == end && step->stacks[i].start < start)
			return step->stacks[i].start;
	return start;
}

static struct vmspace_host host_of(struct story_space *space)
{
	return (struct vmspace_host){
		.ctx = space,
		.has_anon = host_has_anon,
		.stack_start = host_stack_start,
	};
}

/* ---- spaces begin and end ------------------------------------------------------------------- */

static int add_space(struct story *story, struct story_space *space, const struct step *step)
{
	struct story_space *old = mtree_load(&story->spaces, step->space);
	int rc;

	if (old) {
		old->step = step;
		end_space(story, old);
	}
	space->id = step->space;
	space->pid = step->pid;
	space->step = step;
	rc = mtree_store(&story->spaces, space->id, space, GFP_KERNEL);
	if (rc != 0) {
		free_space(space);
		return rc;
	}
	story->totals.spaces++;
	tell(story, STORY_BEGINS, space, NULL, NULL);
	return 0;
}

static void set_command(struct story_space *space, const char *command)
{
	if (command)
		snprintf(space->command, sizeof(space->command), "%s", command);
}

/* What the library does not refuse itself: no machine has such pages, or so many addresses. */
static bool is_sane(const struct vmspace_config *config)
{
	return config->page_size >= 4096 && config->page_size <= 65536 &&
	       config->task_size <= 1UL << 57 && config->stack_guard_gap <= 1UL << 30 &&
	       config->pmd_size <= 1UL << 40;
}

static int begin(struct story *story, const struct step *step, const char **why)
{
	struct story_space *space = calloc(1, sizeof(*space));
	struct vmspace_config config = step->config;
	int rc = -ENOMEM;

	if (!space)
		return rc;
	config.host = host_of(space);
	*why = "the configuration makes no sense";
	rc = is_sane(&config) ? vmspace_create(&space->vm, &config) : -EINVAL;
	if (rc == 0) {
		rc = vmspace_exec(space->vm, step->areas, step->area_count, &step->image);
		*why = "the areas overlap, or are not in order";
	}
	/* A log may say anything: a break below the heap, say. */
	if (rc == 0 && !vmspace_check(space->vm, why))
		rc = -EINVAL;
	if (rc != 0) {
		free_space(space);
		return rc == -EINVAL ? -EBADMSG : rc;
	}
	space->incomplete = step->incomplete;
	set_command(space, step->command);
	return add_space(story, space, step);
}

static int copy(struct story *story, struct story_space *from, const struct step *step)
{
	struct story_space *space = calloc(1, sizeof(*space));
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
	space->differs = from->differs;
	space->falsified = from->falsified;
	snprintf(space->command, sizeof(space->command), "%s", from->command);
	tell(story, STORY_SAW, from, NULL, NULL);
	return add_space(story, space, step);
}

static void differ(struct story *story, struct story_space *space,
		   const struct vmspace_request *req, const char *why)
{
	story->totals.differences++;
	tell(story, STORY_DIFFERS, space, req, why);
	space->differs = true;
}

static int end(struct story *story, struct story_space *space, const struct step *step)
{
	struct vmspace_stats stats;
	uint64_t hash;
	char why[160];

	set_command(space, step->command);
	if (step->has_hash) {
		if (hash_maps(space->vm, &hash) != 0)
			return -ENOMEM;
		vmspace_stats(space->vm, &stats);
		story->totals.endings++;
		snprintf(why, sizeof(why),
			 "the areas at the end are not those that were there when it was traced "
			 "(%lu areas then, %lu now)%s", step->areas_at_end, stats.areas,
			 space->falsified ? ": --inject had hidden calls" : "");
		if (hash != step->hash || stats.areas != step->areas_at_end)
			differ(story, space, NULL, why);
	}
	end_space(story, space);
	return 0;
}

/* ---- calls ---------------------------------------------------------------------------------- */

static void take_turns(struct story_space *space, const struct step *step)
{
	for (size_t i = 0; i < step->turn_count; i++)
		turn_apply(space->vm, &step->turns[i]);
}

static void take_renames(struct story_space *space, const struct step *step)
{
	for (size_t i = 0; i < step->rename_count; i++) {
		const struct step_rename *rename = &step->renames[i];
		struct vma_info info;

		/* The areas may be others than those of the kernel: not another file's name. */
		if (vmspace_lookup(space->vm, rename->addr, &info) &&
		    info.backing.inode == rename->backing.inode &&
		    info.backing.dev_major == rename->backing.dev_major &&
		    info.backing.dev_minor == rename->backing.dev_minor)
			vmspace_identify(space->vm, rename->addr, &rename->backing);
	}
}

static void take_uffd_ends(struct story_space *space, const struct step *step)
{
	for (size_t i = 0; i < step->uffd_end_count; i++) {
		struct vmspace_request req = { .op = VMSPACE_UFFD_RELEASE,
					       .uffd.context = step->uffd_ends[i] };

		vmspace_call(space->vm, &req);
	}
}

static void check_answer(struct story *story, struct story_space *space,
			 const struct vmspace_request *req)
{
	char why[512], theirs[32], ours[32];

	if (space->incomplete && unknown_may_explain(req)) {
		story->totals.unchecked++;
		return;
	}
	story->totals.checked++;
	if (!req->out.differs)
		return;
	difference_format_result(req->host.result, theirs, sizeof(theirs));
	difference_format_result(req->out.result, ours, sizeof(ours));
	snprintf(why, sizeof(why), "the kernel answered %s, libvmspace answers %s%s%s", theirs, ours,
		 req->out.why ? ": " : "", req->out.why ? req->out.why : "");
	differ(story, space, req, why);
}

static int perform(struct story *story, struct story_space *space, const struct step *step)
{
	struct vmspace_request req = step->request, before = step->before;
	int learned = 0;

	space->falsified |= step->falsified;
	if (!step->has_request) {
		story->totals.unmodelled += !step->touches;
		return 0;
	}
	if (space->incomplete)
		learned = unknown_learn(space->vm, &req);
	if (learned < 0)
		return learned;
	story->totals.learned += (unsigned long)learned;
	if (step->has_before)
		vmspace_call(space->vm, &before);
	/* What was found out may concern an area whose pages were only asked for now. */
	vmspace_gather(space->vm, &req);
	take_turns(space, step);
	vmspace_complete(space->vm, &req);
	if (req.out.out_of_memory)
		return -ENOMEM;
	story->totals.calls++;
	space->calls++;
	tell(story, STORY_PERFORMED, space, &req, NULL);
	if (req.host.valid)
		check_answer(story, space, &req);
	else
		story->totals.checked++;
	return 0;
}

static int saw(struct story *story, struct story_space *space, const struct step *step)
{
	int grown = vmspace_refresh(space->vm);

	if (grown == -ENOMEM)
		return grown;
	if (grown < 0)
		differ(story, space, NULL, "the stack grew in a way that Linux does not allow");
	take_renames(space, step);
	take_uffd_ends(space, step);
	tell(story, STORY_SAW, space, NULL, NULL);
	return 0;
}

static int limits(struct story_space *space, const struct step *step)
{
	struct vmspace_config config = step->config;

	config.host = host_of(space);
	return is_sane(&config) && vmspace_configure(space->vm, &config) == 0 ? 0 : -EBADMSG;
}

static int apply(struct story *story, struct story_space *space, const struct step *step,
		 const char **why)
{
	switch (step->kind) {
	case STEP_CALL:
		return perform(story, space, step);
	case STEP_SEEN:
		return saw(story, space, step);
	case STEP_LIMITS:
		*why = "these limits make no sense";
		return limits(space, step);
	case STEP_END:
		return end(story, space, step);
	default:
		return 0;
	}
}

int story_apply(struct story *story, const struct step *step, const char **why)
{
	struct story_space *space;
	int rc;

	*why = "";
	if (step->kind == STEP_OTHER)
		return 0;
	if (step->kind == STEP_SPACE)
		return begin(story, step, why);
	space = mtree_load(&story->spaces, step->kind == STEP_COPY ? step->from : step->space);
	if (!space) {
		story->totals.strange++;
		*why = "the log has not told how this address space began";
		return -EBADMSG;
	}
	space->step = step;
	if (step->kind == STEP_COPY)
		return copy(story, space, step);
	rc = apply(story, space, step, why);
	/* It may be gone. */
	space = mtree_load(&story->spaces, step->space);
	if (space)
		space->step = NULL;
	return rc;
}

void story_default_config(struct vmspace_config *config)
{
	*config = (struct vmspace_config){
		.page_size = 4096,
		.task_size = 0x7ffffffff000,
		.map_window = 0x7ffffffff000,
		.mmap_base_legacy = 0x2aaaaaaab000,
		.mmap_min_addr = 65536,
		.hint_min_addr = 65536,
		.stack_guard_gap = 256,
		.max_map_count = 65530,
		.pmd_size = 2 << 20,
		.thp = VMSPACE_THP_MADVISE,
		.anon_names = true,
		.ksm = true,
		.mseal = true,
		.lock_privileged = true,
		.rlimit_as = VMSPACE_NO_LIMIT,
		.rlimit_data = VMSPACE_NO_LIMIT,
		.rlimit_data_max = VMSPACE_NO_LIMIT,
		.rlimit_stack = VMSPACE_NO_LIMIT,
		.rlimit_memlock = VMSPACE_NO_LIMIT,
	};
}
