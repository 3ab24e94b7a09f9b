/* SPDX-License-Identifier: MIT */
/* Which calls of a log created, split and merged areas: counted by kind of call and by thread. */
#include "report/blame.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "log/hash.h"
#include "report/scale.h"
#include "strace/line.h"

void blame_init(struct blame *blame, pid_t pid)
{
	*blame = (struct blame){ .pid = pid };
}

void blame_table_clear(struct blame_table *table)
{
	free(table->rows);
	free(table->index);
	*table = (struct blame_table){ .count = 0 };
}

void blame_space_clear(struct blame_space *space)
{
	blame_table_clear(&space->calls_by_kind);
	blame_table_clear(&space->threads);
	free(space->owners);
	neighbours_free(&space->neighbours);
	*space = (struct blame_space){ .areas = 0 };
}

static void free_space(struct blame_space *space)
{
	if (space)
		blame_space_clear(space);
	free(space);
}

void blame_clear(struct blame *blame)
{
	free_space(blame->most);
	blame->most = NULL;
}

/* ---- what areas are ------------------------------------------------------------------------- */

static void describe_owner(const struct vma_info *info, const struct vmspace_stats *stats,
			   char *buf, size_t size)
{
	neighbours_describe(info, buf, size);
	if (info->backing.kind == VMA_BACKING_FILE) {
		/* Count all segments of a file together. */
		memmove(buf, buf + 5, strlen(buf + 5) + 1);
	} else if (info->backing.kind == VMA_BACKING_ANON && !info->anon_name) {
		if (stats->start_brk && info->start < stats->brk && info->end > stats->start_brk)
			snprintf(buf, size, "[heap]");
		else if (!(info->flags & VMA_ACCESS_FLAGS))
			snprintf(buf, size, "---p no access: guards, and room kept free");
	}
}

static int by_owned(const void *a, const void *b)
{
	const struct blame_owner *left = a, *right = b;

	if (left->areas != right->areas)
		return left->areas < right->areas ? 1 : -1;
	return (left->bytes < right->bytes) - (left->bytes > right->bytes);
}

static int add_owner(struct blame_space *space, size_t *capacity, const char *what,
		     unsigned long bytes)
{
	for (size_t i = 0; i < space->owner_count; i++)
		if (strcmp(space->owners[i].what, what) == 0) {
			space->owners[i].areas++;
			space->owners[i].bytes += bytes;
			return 0;
		}
	if (space->owner_count == *capacity) {
		size_t wanted = *capacity ? *capacity * 2 : 32;
		struct blame_owner *larger = reallocarray(space->owners, wanted, sizeof(*larger));

		if (!larger)
			return -ENOMEM;
		space->owners = larger;
		*capacity = wanted;
	}
	space->owners[space->owner_count] = (struct blame_owner){ .areas = 1, .bytes = bytes };
	snprintf(space->owners[space->owner_count++].what, sizeof(space->owners[0].what), "%s",
		 what);
	return 0;
}

int blame_group_areas(struct blame_space *space, const struct vmspace *vm)
{
	struct vmspace_stats stats;
	struct vma_info info;
	size_t capacity = 0;
	char what[80];
	int rc = 0;

	vmspace_stats(vm, &stats);
	space->areas = stats.areas;
	for (unsigned long at = 0; rc == 0 && vmspace_next(vm, at, &info); at = info.end) {
		describe_owner(&info, &stats, what, sizeof(what));
		rc = add_owner(space, &capacity, what, info.end - info.start);
	}
	if (rc == 0 && space->owner_count)
		qsort(space->owners, space->owner_count, sizeof(space->owners[0]), by_owned);
	return rc == 0 ? neighbours_find(&space->neighbours, vm) : rc;
}

/* ---- what calls did ------------------------------------------------------------------------- */

/*
 * Text that is put together: of each call, so without printf, which takes longer than all else
 * does.
 */
struct words {
	char *at, *end;			/* where the NUL is, and the last place for it */
};

static struct words words_in(char *buf, size_t size)
{
	*buf = '\0';
	return (struct words){ buf, buf + size - 1 };
}

static void put_bytes(struct words *words, const char *bytes, size_t length)
{
	size_t room = (size_t)(words->end - words->at);

	words->at = mempcpy(words->at, bytes, length < room ? length : room);
	*words->at = '\0';
}

/* Inlined, so that the length of a constant is one. */
static inline void put(struct words *words, const char *text)
{
	put_bytes(words, text, strlen(text));
}

static void put_most(struct words *words, const char *text, size_t most)
{
	put_bytes(words, text, strnlen(text, most));
}

static void put_decimal(struct words *words, unsigned int value)
{
	char digits[10], *first = digits + sizeof(digits);

	do
		*--first = (char)('0' + value % 10);
	while (value /= 10);
	put_bytes(words, first, (size_t)(digits + sizeof(digits) - first));
}

static void put_prot(struct words *words, int prot)
{
	const char text[] = { prot & PROT_READ ? 'r' : '-', prot & PROT_WRITE ? 'w' : '-',
			      prot & PROT_EXEC ? 'x' : '-', '\0' };

	put(words, text);
}

static void put_size(struct words *words, unsigned long bytes)
{
	char length[32];

	scale_format_size(bytes, length, sizeof(length));
	put(words, length);
}

static void describe_mmap(const struct vmspace_mmap *mmap, struct words *words)
{
	const char *name = mmap->backing.name, *slash = name ? strrchr(name, '/') : NULL;

	put(words, "mmap ");
	if (mmap->backing.kind == VMA_BACKING_FILE) {
		put_most(words, slash && slash[1] ? slash + 1 : name ? name : "a file", 60);
		return;
	}
	put(words, mmap->backing.kind == VMA_BACKING_ANON ? "anonymous" : "shared memory");
	put(words, mmap->flags & MAP_FIXED ? " at a fixed address, " : ", ");
	put_size(words, mmap->length);
	put(words, ", ");
	put_prot(words, mmap->prot);
}

static void describe_madvise(const struct vmspace_madvise *madvise, struct words *words)
{
	const char *name = strace_name("MADV_", (uint64_t)madvise->advice);
	char number[32];

	put(words, "madvise ");
	put_size(words, madvise->length);
	put(words, ", ");
	if (!name)
		snprintf(number, sizeof(number), "advice %d", madvise->advice);
	put(words, name ? name : number);
}

void blame_describe(const struct step *step, const struct vmspace_request *req, char *buf,
		    size_t size)
{
	struct words words = words_in(buf, size);

	switch (req->op) {
	case VMSPACE_MMAP:
		describe_mmap(&req->mmap, &words);
		break;
	case VMSPACE_MPROTECT:
		put(&words, "mprotect ");
		put_size(&words, req->mprotect.length);
		put(&words, " to ");
		put_prot(&words, req->mprotect.prot);
		break;
	case VMSPACE_MUNMAP:
		put(&words, "munmap ");
		put_size(&words, req->munmap.length);
		break;
	case VMSPACE_MADVISE:
		describe_madvise(&req->madvise, &words);
		break;
	default:
		put(&words, step && step->call ? step->call : vmspace_op_name(req->op));
	}
}

void blame_describe_at_site(const struct step *step, const struct vmspace_request *req, char *buf,
			    size_t size)
{
	struct words words = words_in(buf, size);

	if (step->site) {
		put_most(&words, step->site, 72);
		put(&words, ": ");
	}
	blame_describe(step, req, words.at, (size_t)(words.end + 1 - words.at));
}

void blame_describe_thread(pid_t tid, pid_t pid, char *buf, size_t size)
{
	struct words words = words_in(buf, size);

	put_decimal(&words, (unsigned int)tid);
	if (pid < 0)
		return;
	put(&words, " of process ");
	put_decimal(&words, (unsigned int)pid);
}

/* Where @what is in the index, or where it belongs. */
static unsigned int *find_place(const struct blame_table *table, const char *what)
{
	const size_t mask = 2 * table->capacity - 1;
	size_t at = (size_t)hash_bytes(HASH_INIT, what, strlen(what)) & mask;

	while (table->index[at] && strcmp(table->rows[table->index[at] - 1].what, what) != 0)
		at = (at + 1) & mask;
	return &table->index[at];
}

static bool grow_table(struct blame_table *table)
{
	size_t wanted = table->capacity ? table->capacity * 2 : 32;
	struct blame_row *rows = reallocarray(table->rows, wanted, sizeof(*rows));
	unsigned int *index = calloc(2 * wanted, sizeof(*index));

	if (rows)
		table->rows = rows;
	if (!rows || !index) {
		free(index);
		return false;
	}
	free(table->index);
	table->index = index;
	table->capacity = wanted;
	for (unsigned int i = 0; i < table->count; i++)
		*find_place(table, table->rows[i].what) = i + 1;
	return true;
}

static struct blame_row *find_row(struct blame_table *table, const char *what)
{
	unsigned int *place;

	if (table->count == table->capacity && !grow_table(table))
		return NULL;
	place = find_place(table, what);
	if (!*place && table->count >= BLAME_ROWS)
		place = find_place(table, what = "others, each of them rare at first");
	if (*place)
		return &table->rows[*place - 1];
	memset(&table->rows[table->count], 0, sizeof(table->rows[0]));
	snprintf(table->rows[table->count].what, sizeof(table->rows[0].what), "%s", what);
	*place = (unsigned int)table->count + 1;
	return &table->rows[table->count++];
}

bool blame_count(struct blame_table *table, const char *what, const struct vmspace_request *req,
		 unsigned long before, unsigned long after)
{
	struct blame_row *row = find_row(table, what);

	if (!row)
		return false;
	row->calls++;
	row->made += after > before ? after - before : 0;
	row->gone += before > after ? before - after : 0;
	for (unsigned int i = 0; i < req->out.event_count; i++) {
		const struct vmspace_event *event = &req->out.events[i];

		row->splits += event->kind == VMSPACE_EVENT_SPLIT;
		row->merges += event->kind == VMSPACE_EVENT_MERGE;
		if (event->kind == VMSPACE_EVENT_NO_MERGE && event->verdict < VMA_VERDICT_COUNT)
			row->refused[event->verdict]++;
	}
	return true;
}

static bool blame_call(struct blame_space *space, const struct replay_space *from,
		       const struct step *step, const struct vmspace_request *req)
{
	const unsigned long areas = vmspace_count_areas(from->vm);
	char what[200];

	blame_describe_at_site(step, req, what, sizeof(what));
	if (!blame_count(&space->calls_by_kind, what, req, space->areas, areas))
		return false;
	blame_describe_thread(step->tid, -1, what, sizeof(what));
	return blame_count(&space->threads, what, req, space->areas, areas);
}

static void add_space(struct blame *blame, struct replay_space *from)
{
	struct blame_space *space = calloc(1, sizeof(*space));

	blame->space_count++;
	from->user = space;
	if (!space) {
		blame->failed = true;
		return;
	}
	space->id = from->id;
	space->pid = from->pid;
	space->peak_time = -1;
	space->incomplete = from->incomplete;
	space->limit = vmspace_config(from->vm)->max_map_count;
}

static void note_areas(struct blame_space *space, const struct replay_space *from,
		       const struct step *step)
{
	double time = step ? step->time : -1;

	space->areas = vmspace_count_areas(from->vm);
	course_add(&space->course, time, space->areas);
	if (space->areas <= space->peak)
		return;
	space->peak = space->areas;
	space->peak_time = time;
}

/* Has @space had more areas than the one that is kept? Of equal ones the first stays. */
static bool is_most(const struct blame *blame, const struct blame_space *space)
{
	const struct blame_space *most = blame->most;

	if (blame->pid && space->pid != blame->pid)
		return false;
	if (!most || space->peak != most->peak)
		return !most || space->peak > most->peak;
	return space->calls != most->calls ? space->calls > most->calls : space->id < most->id;
}

static void end_space(struct blame *blame, struct replay_space *from, const struct step *step)
{
	struct blame_space *space = from->user;

	from->user = NULL;
	space->calls = from->calls;
	space->differs = from->differs;
	space->ended = step && step->kind == STEP_END && strcmp(step->occasion, "detach") != 0;
	memcpy(space->command, from->command, sizeof(space->command));
	if (!is_most(blame, space)) {
		free_space(space);
		return;
	}
	blame->failed |= blame_group_areas(space, from->vm) != 0;
	free_space(blame->most);
	blame->most = space;
}

void blame_notify(void *ctx, enum replay_event event, struct replay_space *from,
		  const struct step *step, const struct vmspace_request *req, const char *why)
{
	struct blame *blame = ctx;

	(void)why;
	if (event == REPLAY_SPACE_BEGINS)
		add_space(blame, from);
	if (!from->user || event == REPLAY_DIFFERS)
		return;
	if (event == REPLAY_SPACE_ENDS) {
		end_space(blame, from, step);
		return;
	}
	if (event == REPLAY_CALL_PERFORMED)
		blame->failed |= !blame_call(from->user, from, step, req);
	note_areas(from->user, from, step);
}

static int by_made(const void *a, const void *b)
{
	const struct blame_row *left = a, *right = b;

	if (left->made != right->made)
		return left->made < right->made ? 1 : -1;
	if (left->calls != right->calls)
		return left->calls < right->calls ? 1 : -1;
	return strcmp(left->what, right->what);
}

void blame_sort(struct blame_table *table)
{
	if (table->count)
		qsort(table->rows, table->count, sizeof(table->rows[0]), by_made);
}
