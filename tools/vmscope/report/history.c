/* SPDX-License-Identifier: MIT */
/*
 * The history of every address space of a log, in bounded memory: each area is a rectangle in
 * address and time.
 */
#include "report/history.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "replay/unknown.h"
#include "report/blame.h"

enum {
	MOMENTS_MAX = 131072,
	SPACES_MAX = 16384,
	AREAS_MAX = 400000,		/* area_limit, unless it is set */
	CAUSES_MAX = 16384, CAUSE_BYTES_MAX = 2 << 20,
	LINE_SIZE = 4096 + 160,		/* of maps */
	PERMS_LENGTH = 5,		/* with the blank before the offset */
};

static const double TIME_MAX = 1e12;

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
	*history = (struct history){ .area_limit = AREAS_MAX, .per_moment = 1 };
	names_init(&history->whats);
	names_init(&history->causes);
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
	for (size_t i = 0; i < history->space_count; i++)
		free_space(history->spaces[i]);
	free(history->spaces);
	free(history->times);
	free(history->lines);
	names_clear(&history->whats);
	names_clear(&history->causes);
}

struct history_space *history_find(const struct history *history, unsigned int id)
{
	for (size_t i = history->space_count; i-- > 0;)
		if (history->spaces[i]->id == id)
			return history->spaces[i];
	return NULL;
}

const char *history_name(const struct history_area *area)
{
	const char *tab = strchr(area->what->text, '\t');

	return tab ? tab + 1 : "";
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

/* ---- areas ---------------------------------------------------------------------------------- */

static enum area_kind file_kind(const struct vma_info *info)
{
	if (info->backing.name && strcmp(info->backing.name, UNKNOWN_NAME) == 0)
		return AREA_UNKNOWN;
	if (info->flags & VMA_EXEC)
		return AREA_CODE;
	return info->flags & VMA_WRITE ? AREA_DATA : AREA_CONSTANT;
}

static enum area_kind kind_of(const struct vma_info *info, const char *name)
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
	if (strcmp(name, "[heap]") == 0)
		return AREA_HEAP;
	return info->flags & VMA_EXEC ? AREA_ANON_CODE : AREA_ANON;
}

/* What @vm shows of the area in maps: fills its offset, kind and what. False: out of memory. */
static bool describe(struct history *history, const struct vmspace *vm,
		     const struct vma_info *info, struct history_area *area)
{
	char line[LINE_SIZE], what[LINE_SIZE], *at, *name, *to = what;
	size_t length = vmspace_show_area(vm, info->start, line, sizeof(line));

	/* "START-END PERMS OFFSET DEVICE INODE   NAME" */
	length = length < sizeof(line) ? length : sizeof(line) - 1;
	line[length - 1] = '\0';
	at = strchr(line, ' ') + 1;
	to = mempcpy(to, at, PERMS_LENGTH - 1);
	at = strchr(at + PERMS_LENGTH, ' ');
	area->offset = info->offset;
	name = strchr(strchr(at + 1, ' ') + 1, ' ');
	to = mempcpy(to, at, (size_t)(name - at));
	name += strspn(name, " ");
	*to++ = '\t';
	memcpy(to, name, (size_t)(line + length - name));
	area->kind = (unsigned char)kind_of(info, name);
	area->what = names_get(&history->whats, what);
	return area->what != NULL;
}

/* Removes an area that no moment shows: the last one takes its place. */
static void remove_area(struct history *history, struct history_space *space, size_t index)
{
	struct history_area *last = &space->areas[--space->area_count];

	history->area_count--;
	history->transient++;
	if (&space->areas[index] == last)
		return;
	space->areas[index] = *last;
	if (last->until == HISTORY_OPEN &&
	    mtree_store_range(&space->live, last->start, last->end - 1, xa_mk_value(index),
			      GFP_KERNEL))
		history->failed = true;
}

static void close_area(struct history *history, struct history_space *space, size_t index,
		       unsigned int moment)
{
	struct history_area *area = &space->areas[index];

	mtree_erase(&space->live, area->start);
	space->live_count--;
	area->until = moment;
	if (area->begin == moment)
		remove_area(history, space, index);
}

/* Closes the live areas in [start, end] that @vm no longer has. */
static void close_changed(struct history *history, struct history_space *space,
			  const struct vmspace *vm, unsigned long start, unsigned long end,
			  unsigned int moment)
{
	unsigned long at = start;
	void *entry;

	mt_for_each(&space->live, entry, at, end) {
		size_t index = xa_to_value(entry);
		struct history_area *area = &space->areas[index], now;
		struct vma_info info;
		bool same = vmspace_lookup(vm, area->start, &info) && info.start == area->start &&
			    info.end == area->end;

		/* Of neighbours only their borders can be others. */
		if (same && (area->end <= start + 1 || area->start >= end))
			continue;
		if (same && !describe(history, vm, &info, &now))
			history->failed = true;
		if (history->failed)
			return;
		if (!same || now.what != area->what || now.kind != area->kind ||
		    now.offset != area->offset)
			close_area(history, space, index, moment);
	}
}

/*
 * What a call asked for, and where in the program it was made. With @again the space had begun before
 * @step.
 */
static const struct name *cause_of(struct history *history, const struct step *step,
				   const struct vmspace_request *req, bool again)
{
	const char *site = step->stack ? step->stack : step->site;
	char call[100] = "", text[4352], *end;
	const struct name *cause;

	if (req)
		blame_describe(step, req, call, sizeof(call));
	else if (step->kind == STEP_SPACE)
		strcpy(call, again ? "was there when the areas were read again"
				   : "was there when the log, or the program, began");
	else if (step->kind == STEP_COPY)
		strcpy(call, "fork");
	else
		strcpy(call, "seen later");
	end = stpcpy(stpcpy(text, call), "\t");
	strncat(end, site ? site : "", 4096);
	if (history->causes.count >= CAUSES_MAX || history->causes.bytes >= CAUSE_BYTES_MAX)
		snprintf(text, sizeof(text), "%s\t", step->call ? step->call : call);
	cause = names_get(&history->causes, text);
	history->failed |= !cause;
	return cause;
}

/* Why the area was not merged with its neighbours, as the call has told. */
static void set_verdicts(struct history_area *area, const struct vmspace_request *req)
{
	for (unsigned int i = 0; req && i < req->out.event_count; i++) {
		const struct vmspace_event *event = &req->out.events[i];

		if (event->kind != VMSPACE_EVENT_NO_MERGE)
			continue;
		if (event->at == area->start)
			area->left = (unsigned char)event->verdict;
		if (event->at == area->end)
			area->right = (unsigned char)event->verdict;
	}
}

static void open_new(struct history *history, struct history_space *space,
		     const struct vmspace *vm, unsigned long start, unsigned long end,
		     unsigned int moment, const struct step *step,
		     const struct vmspace_request *req)
{
	const struct name *cause = NULL;
	struct vma_info info;

	for (; vmspace_next(vm, start, &info) && info.start <= end; start = info.end) {
		struct history_area area = {
			.start = info.start, .end = info.end, .begin = moment,
			.until = HISTORY_OPEN, .line = (unsigned int)step->line, .tid = step->tid,
		};

		if (mtree_load(&space->live, info.start))
			continue;
		cause = cause ? cause : cause_of(history, step, req, space->begin != moment);
		area.cause = cause;
		if (!cause || !describe(history, vm, &info, &area) ||
		    !grow(history, &space->areas, space->area_count, &space->area_capacity,
			  sizeof(area)) ||
		    mtree_store_range(&space->live, info.start, info.end - 1,
				      xa_mk_value(space->area_count), GFP_KERNEL)) {
			history->failed = true;
			return;
		}
		set_verdicts(&area, req);
		space->areas[space->area_count++] = area;
		history->area_count++;
		space->live_count++;
	}
}

/* The range in which @req may have changed areas: everything, if its events do not tell all. */
static void changed_range(const struct replay_space *from, const struct vmspace_request *req,
			  unsigned long *start, unsigned long *end)
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
	if (out->events_lost || from->unseen) {
		*start = 0;
		*end = ULONG_MAX;
	}
	/* Includes the neighbours, which may have been merged with it. */
	*start -= *start > 0;
}

static void note_count(struct history *history, struct history_space *space, unsigned long areas,
		       unsigned int moment)
{
	struct history_count *last = space->count_count ?
		&space->counts[space->count_count - 1] : NULL;

	space->at_end = areas;
	if (areas > space->peak)
		space->peak = areas;
	if (last && last->moment == moment) {
		last->areas = areas;
		return;
	}
	if (last && last->areas == areas)
		return;
	if (grow(history, &space->counts, space->count_count, &space->count_capacity,
		 sizeof(space->counts[0])))
		space->counts[space->count_count++] = (struct history_count){ moment, areas };
}

static void update(struct history *history, struct history_space *space, const struct vmspace *vm,
		   unsigned long start, unsigned long end, unsigned int moment,
		   const struct step *step, const struct vmspace_request *req)
{
	const unsigned long areas = vmspace_count_areas(vm);

	if (start <= end) {
		close_changed(history, space, vm, start, end, moment);
		open_new(history, space, vm, start, end, moment, step, req);
	}
	/* The events did not show all changes: compare everything. */
	if (space->live_count != areas && !history->failed) {
		close_changed(history, space, vm, 0, ULONG_MAX, moment);
		open_new(history, space, vm, 0, ULONG_MAX, moment, step, req);
	}
	note_count(history, space, areas, moment);
}

/* ---- events --------------------------------------------------------------------------------- */

/* In seconds; -1: it is not known, or makes no sense. */
static double time_of(const struct step *step)
{
	return step->time >= 0 && step->time < TIME_MAX ? step->time : -1;
}

/* The moment of @step, which may be a new one. */
static unsigned int moment_of(struct history *history, const struct step *step)
{
	const size_t last = history->moments - 1;
	size_t capacity = history->moment_capacity;

	if (history->moments && history->lines[last] == step->line)
		return (unsigned int)last;
	if (history->moments && history->in_last < history->per_moment) {
		history->in_last++;
		history->lines[last] = step->line;
		history->times[last] = time_of(step);
		return (unsigned int)last;
	}
	if (!grow(history, &history->times, history->moments, &capacity, sizeof(double)) ||
	    !grow(history, &history->lines, history->moments, &history->moment_capacity,
		  sizeof(*history->lines)))
		return 0;
	history->in_last = 1;
	history->times[history->moments] = time_of(step);
	history->lines[history->moments] = step->line;
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

/* Keeps the line of [vsyscall], which only an exec changes, and which is the last one. */
static int find_gate(void *ctx, const char *line, size_t length)
{
	struct history_space *space = ctx;

	if (strncmp(line, "ffffffffff600000-", 17) == 0)
		snprintf(space->gate, sizeof(space->gate), "%.*s", (int)length - 1, line);
	return 0;
}

static struct history_space *add_space(struct history *history, const struct replay_space *from,
				       unsigned int moment)
{
	struct history_space *space = calloc(1, sizeof(*space));
	const struct history_space *parent;

	if (!space || !grow(history, &history->spaces, history->space_count,
			    &history->space_capacity, sizeof(space))) {
		history->failed = true;
		free(space);
		return NULL;
	}
	space->id = from->id;
	space->from = from->from;
	space->maker = from->maker;
	space->pid = from->pid;
	space->incomplete = from->incomplete;
	space->begin = moment;
	space->until = HISTORY_OPEN;
	space->limit = vmspace_config(from->vm)->max_map_count;
	parent = space->from ? history_find(history, space->from) : NULL;
	if (parent)
		memcpy(space->gate, parent->gate, sizeof(space->gate));
	else
		vmspace_show_lines(from->vm, find_gate, space);
	mt_init(&space->live);
	history->spaces[history->space_count++] = space;
	if (space->from)
		note_fork(history, space, moment);
	return space;
}

static void end_space(struct history *history, struct history_space *space,
		      const struct replay_space *from, bool ended, unsigned int moment)
{
	space->ended = ended;
	space->calls = from->calls;
	space->differs = from->differs;
	memcpy(space->command, from->command, sizeof(space->command));
	mtree_destroy(&space->live);
	mt_init(&space->live);
	space->live_count = 0;
	if (!ended)
		return;
	space->until = moment;
	for (size_t i = space->area_count; i-- > 0;) {
		if (space->areas[i].until != HISTORY_OPEN)
			continue;
		space->areas[i].until = moment;
		if (space->areas[i].begin == moment)
			remove_area(history, space, i);
	}
}

static void stay_small(struct history *history)
{
	while (!history->failed &&
	       (history->moments >= MOMENTS_MAX || history->space_count >= SPACES_MAX ||
		history->area_count >= history->area_limit))
		if (!history_thin(history, history->area_limit / 4 * 3))
			break;
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
	moment = step ? moment_of(history, step) : (unsigned int)history->moments;
	if (event == REPLAY_SPACE_BEGINS)
		from->user = space = add_space(history, from, moment);
	if (!space || history->failed)
		return;
	if (event == REPLAY_SPACE_ENDS) {
		end_space(history, space, from, step != NULL, moment);
		from->user = NULL;
		return;
	}
	if (event == REPLAY_CALL_PERFORMED) {
		changed_range(from, req, &start, &end);
		space->calls = from->calls;
	}
	update(history, space, from->vm, start, end, moment, step, req);
	stay_small(history);
}
