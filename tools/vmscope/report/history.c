/* SPDX-License-Identifier: MIT */
/* The history of every address space of a log: each area is a rectangle in address and time. */
#include "report/history.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "replay/unknown.h"

struct history_name {
	struct history_name *next;	/* with the same hash */
	char text[];
};

const char *area_kind_name(enum area_kind kind)
{
	static const char *const names[AREA_KINDS] = {
		[AREA_CODE] = "code",
		[AREA_CONSTANT] = "read-only file",
		[AREA_DATA] = "data of a file",
		[AREA_HEAP] = "heap (brk)",
		[AREA_ANON] = "anonymous",
		[AREA_ANON_CODE] = "code made at run time",
		[AREA_STACK] = "stack",
		[AREA_SHARED] = "shared",
		[AREA_NONE] = "no access",
		[AREA_SPECIAL] = "the kernel's",
		[AREA_UNKNOWN] = "not told",
	};

	return names[kind];
}

void history_init(struct history *history)
{
	*history = (struct history){ .failed = false };
	mt_init(&history->names);
}

static void free_space(struct history_space *space)
{
	free(space->areas);
	free(space->counts);
	free(space->forks);
	mtree_destroy(&space->live);
	free(space);
}

void history_clear(struct history *history)
{
	struct history_name *name, *next;
	unsigned long hash = 0;

	for (size_t i = 0; i < history->space_count; i++)
		free_space(history->spaces[i]);
	free(history->spaces);
	free(history->times);
	mt_for_each(&history->names, name, hash, ULONG_MAX)
		for (; name; name = next) {
			next = name->next;
			free(name);
		}
	mtree_destroy(&history->names);
}

struct history_space *history_find(const struct history *history, unsigned int id)
{
	for (size_t i = history->space_count; i-- > 0;)
		if (history->spaces[i]->id == id)
			return history->spaces[i];
	return NULL;
}

/* Makes room for one more item. */
static bool grow(struct history *history, void *items, size_t count, size_t *capacity, size_t size)
{
	void **array = items;
	size_t wanted = *capacity ? *capacity * 2 : 16;
	void *larger;

	if (count < *capacity)
		return true;
	larger = reallocarray(*array, wanted, size);
	if (!larger) {
		history->failed = true;
		return false;
	}
	*array = larger;
	*capacity = wanted;
	return true;
}

/* Interns @text. */
static const char *intern_name(struct history *history, const char *text)
{
	unsigned long hash = 5381;
	struct history_name *first, *name;

	for (const char *at = text; *at; at++)
		hash = hash * 33 + (unsigned char)*at;
	hash &= LONG_MAX;
	first = mtree_load(&history->names, hash);
	for (name = first; name; name = name->next)
		if (strcmp(name->text, text) == 0)
			return name->text;
	name = malloc(sizeof(*name) + strlen(text) + 1);
	if (!name || mtree_store(&history->names, hash, name, GFP_KERNEL)) {
		free(name);
		history->failed = true;
		return "";
	}
	name->next = first;
	strcpy(name->text, text);
	return name->text;
}

/* ---- areas ---------------------------------------------------------------------------------- */

static enum area_kind file_kind(const struct vma_info *info)
{
	if (info->backing.name && strcmp(info->backing.name, UNKNOWN_NAME) == 0)
		return AREA_UNKNOWN;
	if (info->flags & VMA_EXEC)
		return AREA_CODE;
	return info->flags & VMA_WRITE ? AREA_DATA : AREA_CONSTANT;
}

static enum area_kind kind_of(const struct vma_info *info, const struct vmspace_stats *stats)
{
	if (info->backing.kind == VMA_BACKING_SPECIAL)
		return AREA_SPECIAL;
	if (!(info->flags & VMA_ACCESS_FLAGS))
		return AREA_NONE;
	if (info->flags & VMA_MAYSHARE)
		return AREA_SHARED;
	if (info->flags & VMA_GROWSDOWN)
		return AREA_STACK;
	if (info->backing.kind != VMA_BACKING_ANON)
		return file_kind(info);
	if (stats->start_brk && info->start < stats->brk && info->end > stats->start_brk)
		return AREA_HEAP;
	return info->flags & VMA_EXEC ? AREA_ANON_CODE : AREA_ANON;
}

static const char *name_of(struct history *history, const struct vma_info *info,
			   enum area_kind kind)
{
	if (info->anon_name)
		return intern_name(history, info->anon_name);
	if (info->backing.kind == VMA_BACKING_SHMEM)
		return "shared memory";
	if (info->backing.name)
		return intern_name(history, info->backing.name);
	return kind == AREA_HEAP ? "[heap]" : kind == AREA_STACK ? "[stack]" : "";
}

static void set_perms(char perms[5], vma_flags_t flags)
{
	perms[0] = flags & VMA_READ ? 'r' : '-';
	perms[1] = flags & VMA_WRITE ? 'w' : '-';
	perms[2] = flags & VMA_EXEC ? 'x' : '-';
	perms[3] = flags & VMA_MAYSHARE ? 's' : 'p';
	perms[4] = '\0';
}

static void close_area(struct history_space *space, unsigned long start, size_t index,
		       unsigned int moment)
{
	space->areas[index].until = moment;
	mtree_erase(&space->live, start);
	space->live_count--;
}

/* Closes the live areas in [start, end) that @vm no longer has. */
static void close_changed(struct history *history, struct history_space *space,
			  const struct vmspace *vm, const struct vmspace_stats *stats,
			  unsigned long start, unsigned long end, unsigned int moment)
{
	unsigned long at = start;
	void *entry;

	mt_for_each(&space->live, entry, at, end) {
		size_t index = xa_to_value(entry);
		struct history_area *area = &space->areas[index];
		struct vma_info info;
		char perms[5];
		bool same = vmspace_lookup(vm, area->start, &info) && info.start == area->start &&
			    info.end == area->end && kind_of(&info, stats) == area->kind &&
			    name_of(history, &info, area->kind) == area->name;

		set_perms(perms, same ? info.flags : 0);
		if (!same || strcmp(perms, area->perms) != 0)
			close_area(space, area->start, index, moment);
	}
}

static void open_new(struct history *history, struct history_space *space,
		     const struct vmspace *vm, const struct vmspace_stats *stats,
		     unsigned long start, unsigned long end, unsigned int moment)
{
	struct vma_info info;

	for (; vmspace_next(vm, start, &info) && info.start <= end; start = info.end) {
		struct history_area *area;

		if (mtree_load(&space->live, info.start))
			continue;
		if (!grow(history, &space->areas, space->area_count, &space->area_capacity,
			  sizeof(*area)))
			return;
		area = &space->areas[space->area_count];
		*area = (struct history_area){ .start = info.start, .end = info.end,
					       .begin = moment, .until = moment };
		area->kind = kind_of(&info, stats);
		area->name = name_of(history, &info, area->kind);
		set_perms(area->perms, info.flags);
		if (mtree_store_range(&space->live, info.start, info.end - 1,
				      xa_mk_value(space->area_count), GFP_KERNEL)) {
			history->failed = true;
			return;
		}
		space->area_count++;
		space->live_count++;
	}
}

/* The range in which @req may have changed areas: everything, if events were lost. */
static void changed_range(const struct vmspace_request *req, unsigned long *start,
			  unsigned long *end)
{
	const struct vmspace_outcome *out = &req->out;

	*start = ULONG_MAX;
	*end = 0;
	for (unsigned int i = 0; i < out->event_count; i++) {
		const struct vmspace_event *event = &out->events[i];
		unsigned long low = event->start, high = event->end;

		if (event->at && event->at < low)
			low = event->at;
		if (event->at > high)
			high = event->at;
		*start = low < *start ? low : *start;
		*end = high > *end ? high : *end;
	}
	if (out->events_lost) {
		*start = 0;
		*end = ULONG_MAX;
	}
	/* Includes the neighbours, which may have been merged with it. */
	*start -= *start > 0;
}

static void note_count(struct history *history, struct history_space *space, unsigned long areas,
		       unsigned int moment)
{
	space->at_end = areas;
	if (areas > space->peak)
		space->peak = areas;
	if (space->count_count > 0 && space->counts[space->count_count - 1].areas == areas)
		return;
	if (grow(history, &space->counts, space->count_count, &space->count_capacity,
		 sizeof(space->counts[0])))
		space->counts[space->count_count++] = (struct history_count){ moment, areas };
}

static void update(struct history *history, struct history_space *space, const struct vmspace *vm,
		   unsigned long start, unsigned long end, unsigned int moment)
{
	struct vmspace_stats stats;

	vmspace_stats(vm, &stats);
	if (start <= end) {
		close_changed(history, space, vm, &stats, start, end, moment);
		open_new(history, space, vm, &stats, start, end, moment);
	}
	/* The events did not show all changes: compare everything. */
	if (space->live_count != stats.areas) {
		close_changed(history, space, vm, &stats, 0, ULONG_MAX, moment);
		open_new(history, space, vm, &stats, 0, ULONG_MAX, moment);
	}
	note_count(history, space, stats.areas, moment);
}

/* ---- events --------------------------------------------------------------------------------- */

/* Starts a new moment, at the time of @step. */
static unsigned int new_moment(struct history *history, const struct step *step)
{
	if (!grow(history, &history->times, history->moments, &history->moment_capacity,
		  sizeof(history->times[0])))
		return 0;
	history->times[history->moments] = step && isfinite(step->time) ? step->time : -1;
	return (unsigned int)history->moments++;
}

static void note_fork(struct history *history, const struct history_space *child,
		      unsigned int moment)
{
	struct history_space *parent = history_find(history, child->from);

	if (parent && grow(history, &parent->forks, parent->fork_count, &parent->fork_capacity,
			   sizeof(parent->forks[0])))
		parent->forks[parent->fork_count++] =
			(struct history_fork){ moment, child->pid, child->id };
}

static struct history_space *add_space(struct history *history, const struct replay_space *from,
				       unsigned int moment)
{
	struct history_space *space = calloc(1, sizeof(*space));

	if (!space || !grow(history, &history->spaces, history->space_count,
			    &history->space_capacity, sizeof(space))) {
		history->failed = true;
		free(space);
		return NULL;
	}
	space->id = from->id;
	space->from = from->from;
	space->pid = from->pid;
	space->incomplete = from->incomplete;
	space->begin = space->until = moment;
	space->limit = vmspace_config(from->vm)->max_map_count;
	mt_init(&space->live);
	history->spaces[history->space_count++] = space;
	if (space->from)
		note_fork(history, space, moment);
	return space;
}

static void end_space(struct history_space *space, const struct replay_space *from, bool ended,
		      unsigned int moment)
{
	unsigned long at = 0;
	void *entry;

	mt_for_each(&space->live, entry, at, ULONG_MAX)
		space->areas[xa_to_value(entry)].until = moment;
	space->until = moment;
	space->ended = ended;
	space->calls = from->calls;
	space->differs = from->differs;
	memcpy(space->command, from->command, sizeof(space->command));
	mtree_destroy(&space->live);
	mt_init(&space->live);
	space->live_count = 0;
}

void history_notify(void *ctx, enum replay_event event, struct replay_space *from,
		    const struct step *step, const struct vmspace_request *req, const char *why)
{
	struct history *history = ctx;
	struct history_space *space = from->user;
	unsigned long start = 0, end = ULONG_MAX;
	unsigned int moment;

	(void)why;
	if (event == REPLAY_DIFFERS || history->failed)
		return;
	if (event == REPLAY_CALL_PERFORMED) {
		changed_range(req, &start, &end);
		if (space)
			space->calls = from->calls;
	}
	moment = new_moment(history, step);
	if (event == REPLAY_SPACE_BEGINS)
		from->user = space = add_space(history, from, moment);
	if (!space || history->failed)
		return;
	if (event == REPLAY_SPACE_ENDS)
		end_space(space, from, step != NULL, moment);
	else
		update(history, space, from->vm, start, end, moment);
}
