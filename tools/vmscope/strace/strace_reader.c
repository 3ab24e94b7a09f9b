/* SPDX-License-Identifier: MIT */
/* Steps from the output of strace(1): who has which address space, and what its calls ask for. */
#include "strace/strace_reader.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "log/site.h"
#include "strace/default_config.h"
#include "strace/strace_call.h"

enum {
	QUEUE = 4,		/* steps that one line makes at most: the end of a space, a beginning, a call */
	DAY = 86400,
};

struct strace_reader {
	const char *at, *end;		/* what has not been read */
	unsigned long line;
	struct strace_processes processes;
	struct maple_tree segments;	/* shmget(): number -> size, as xa_mk_value() */
	struct maple_tree announced;	/* processes that a message named */
	unsigned int tasks;
	pid_t unnamed;			/* whose lines have no number; 0: not known */
	bool over;			/* the table of -c has begun */
	char *partial;			/* a line that a message cut; owned; NULL: none */
	double clock, first_clock, days;
	bool has_clock;
	struct step queue[QUEUE];
	unsigned int queued, taken;	/* taken <= queued <= QUEUE */
	struct strace_call call;		/* what a step points to */
	char call_name[32];
	char site[SITE_MAX];
	struct vmspace_area *areas;	/* of the first process; owned, with their names */
	size_t area_count;
	bool no_memory;
	unsigned int uffd_end;		/* context of the userfaultfd that a step is about */
	const char *why;
};

struct strace_reader *strace_reader_new(const char *text, size_t length)
{
	struct strace_reader *from = calloc(1, sizeof(*from));

	if (!from)
		return NULL;
	from->at = text;
	from->end = text + length;
	strace_processes_init(&from->processes);
	mt_init(&from->segments);
	mt_init(&from->announced);
	return from;
}

static void free_areas(struct strace_reader *from)
{
	for (size_t i = 0; i < from->area_count; i++) {
		free((char *)from->areas[i].backing.name);
		free((char *)from->areas[i].anon_name);
	}
	free(from->areas);
	from->areas = NULL;
	from->area_count = 0;
}

void strace_reader_free(struct strace_reader *from)
{
	if (!from)
		return;
	strace_processes_clear(&from->processes);
	mtree_destroy(&from->segments);
	mtree_destroy(&from->announced);
	free_areas(from);
	free(from->partial);
	free(from);
}

int strace_reader_set_areas(struct strace_reader *from, const struct vmspace_area *areas, size_t count)
{
	free_areas(from);
	from->areas = calloc(count + 1, sizeof(*areas));
	if (!from->areas)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++) {
		struct vmspace_area *area = &from->areas[from->area_count++];

		*area = areas[i];
		area->backing.name = area->backing.name ? strdup(area->backing.name) : NULL;
		area->anon_name = area->anon_name ? strdup(area->anon_name) : NULL;
		if ((areas[i].backing.name && !area->backing.name) ||
		    (areas[i].anon_name && !area->anon_name))
			return -ENOMEM;
	}
	return 0;
}

/* ---- steps ---------------------------------------------------------------------------------- */

static struct step *push(struct strace_reader *from, enum step_kind kind,
			 const struct strace_task *task)
{
	struct step *step = &from->queue[from->queued++];

	assert(from->queued <= QUEUE);
	*step = (struct step){
		.kind = kind,
		.line = from->line,
		.time = from->has_clock ? from->clock - from->first_clock : -1,
		.pid = task->tgid,
		.tid = task->tid,
		.space = task->space->id,
		.command = task->command[0] ? task->command : NULL,
	};
	return step;
}

static void push_end(struct strace_reader *from, const struct strace_task *task, unsigned int space,
		     const char *occasion)
{
	struct step *step = push(from, STEP_END, task);

	step->space = space;
	step->command = NULL; /* the task may be gone, or be another program, when it is read */
	step->occasion = occasion;
}

/* The next userfaultfd that the line read last has ended. False: it has ended none, or no further. */
static bool push_uffd_end(struct strace_reader *from)
{
	struct strace_task *task;
	struct step *step;

	do
		task = strace_uffd_next_end(&from->processes, &from->uffd_end);
	while (task && !task->space->told);
	if (!task)
		return false;
	step = push(from, STEP_SEEN, task);
	step->uffd_ends = &from->uffd_end;
	step->uffd_end_count = 1;
	return true;
}

/* Tells how the space of @task began, unless that has been told. */
static void tell_space(struct strace_reader *from, struct strace_task *task)
{
	struct step *step;

	if (task->space->told)
		return;
	task->space->told = true;
	step = push(from, STEP_SPACE, task);
	strace_default_config(&step->config);
	if (from->areas) {
		step->areas = from->areas;
		step->area_count = from->area_count;
		task->space->incomplete = false;
	}
	step->incomplete = task->space->incomplete;
}

static bool fail_memory(struct strace_reader *from)
{
	from->no_memory = true;
	return false;
}

/* ---- births --------------------------------------------------------------------------------- */

static bool is_birth(struct strace_text name)
{
	return strace_is(name, "fork") || strace_is(name, "vfork") || strace_is(name, "clone") ||
	       strace_is(name, "clone2") || strace_is(name, "clone3");
}

static uint64_t clone_flags(const struct strace_line *line)
{
	struct strace_text args[STRACE_ARGS], member;
	size_t count = strace_split(line->args, args, STRACE_ARGS);
	bool unknown = false;
	uint64_t flags = 0;

	if (strace_is(line->name, "vfork"))
		return CLONE_VM | CLONE_VFORK;
	for (size_t i = 0; i < count; i++) {
		if (strace_member(args[i], "flags", &member))
			strace_value(member, &flags, &unknown);
		else if (args[i].length > 6 && memcmp(args[i].at, "flags=", 6) == 0 &&
			 strace_value((struct strace_text){ args[i].at + 6, args[i].length - 6 },
				      &flags, &unknown))
			break;
	}
	return flags;
}

/* @parent has made @tid, as @line tells, which may be the beginning of the call only. */
static bool give_birth(struct strace_reader *from, struct strace_task *parent, pid_t tid,
		       const struct strace_line *line)
{
	uint64_t flags = clone_flags(line);
	struct strace_task *child;
	struct step *step;

	tell_space(from, parent);
	child = strace_task_add_child(&from->processes, parent, tid, flags & CLONE_THREAD,
				  flags & CLONE_VM, flags & CLONE_FILES);
	if (!child)
		return fail_memory(from);
	from->tasks++;
	if (flags & CLONE_VM)
		return true;
	child->space->told = true;
	step = push(from, STEP_COPY, child);
	step->from = parent->space->id;
	return true;
}

static bool parse_pending(const struct strace_task *task, struct strace_line *line)
{
	struct strace_text name;

	if (!task->pending)
		return false;
	name = (struct strace_text){ task->pending, strcspn(task->pending, "(") };
	if (!is_birth(name))
		return false;
	*line = (struct strace_line){ .name = name };
	line->args = (struct strace_text){ task->pending + name.length + 1,
					   strlen(task->pending) - name.length - 1 };
	return true;
}

/* The result of a call of whose text only the end is known: what follows the last "= ". */
static bool resumed_result(struct strace_text end, int64_t *result)
{
	for (size_t at = end.length; at-- > 1;)
		if (end.at[at - 1] == '=' && end.at[at] == ' ')
			return strace_result((struct strace_text){ end.at + at + 1,
								   end.length - at - 1 }, result);
	return false;
}

/* Which thread's fork, vfork or clone returns @tid further down? 0: none. */
static pid_t look_ahead(struct strace_reader *from, pid_t tid)
{
	const char *at = from->at;

	while (at < from->end) {
		const char *end = memchr(at, '\n', (size_t)(from->end - at));
		struct strace_line line;
		int64_t result;

		end = end ? end : from->end;
		strace_parse_line(at, (size_t)(end - at), &line);
		at = end + 1;
		if (line.kind != STRACE_RESUMED || !is_birth(line.name))
			continue;
		if (resumed_result(line.args, &result) && result == tid)
			return line.tid;
	}
	return 0;
}

/* A thread in the midst of a fork, vfork or clone whose child is not known; NULL: none, or several. */
static struct strace_task *find_labour(struct strace_reader *from, bool *any)
{
	struct strace_task *task, *found = NULL;
	unsigned long index = 0;
	unsigned int count = 0;
	struct strace_line line;

	mt_for_each(&from->processes.tasks, task, index, ULONG_MAX)
		if (parse_pending(task, &line) && !task->born) {
			found = task;
			count++;
		}
	*any = count > 0;
	return count == 1 ? found : NULL;
}

/* The one task whose lines had no number has this one. */
static struct strace_task *name_task(struct strace_reader *from, struct strace_task *task, pid_t tid)
{
	mtree_erase(&from->processes.tasks, 0);
	if (mtree_store(&from->processes.tasks, (unsigned long)tid, task, GFP_KERNEL)) {
		from->no_memory = true;
		return NULL;
	}
	task->tgid = task->tgid == 0 ? tid : task->tgid;
	task->tid = tid;
	from->unnamed = tid;
	return task;
}

/* The first line of @tid. */
static struct strace_task *meet(struct strace_reader *from, pid_t tid)
{
	struct strace_task *main = strace_task_find(&from->processes, 0), *parent, *task;
	bool announced = mtree_load(&from->announced, (unsigned long)tid), any;
	struct strace_line line;
	pid_t maker;

	parent = find_labour(from, &any);
	maker = any && tid ? look_ahead(from, tid) : 0;
	/* Strace gives numbers only while there are several: this one has been there. */
	if (main && !announced && !maker)
		return name_task(from, main, tid);
	if (main && maker && !strace_task_find(&from->processes, maker) &&
	    !name_task(from, main, maker))
		return NULL;
	if (maker)
		parent = strace_task_find(&from->processes, maker);
	if (parent && !parent->born && parse_pending(parent, &line)) {
		parent->born = tid;
		give_birth(from, parent, tid, &line);
		return strace_task_find(&from->processes, tid);
	}
	task = strace_task_add(&from->processes, tid);
	if (!task)
		from->no_memory = true;
	else
		from->tasks++;
	return task;
}

static struct strace_task *task_of(struct strace_reader *from, pid_t tid)
{
	struct strace_task *task = NULL;
	unsigned long index = 0;

	if (tid == 0 && from->tasks == 1)
		task = mt_find(&from->processes.tasks, &index, ULONG_MAX);
	if (!task)
		task = strace_task_find(&from->processes, tid == 0 ? from->unnamed : tid);
	return task ? task : meet(from, tid);
}

/* ---- what calls do -------------------------------------------------------------------------- */

static void set_command(struct strace_task *task, const struct strace_line *line)
{
	struct strace_text args[3];
	char path[PATH_MAX];
	const char *slash;
	size_t first = strace_is(line->name, "execveat");

	if (strace_split(line->args, args, 3) <= first ||
	    !strace_string(args[first], path, sizeof(path)))
		return;
	slash = strrchr(path, '/');
	snprintf(task->command, sizeof(task->command), "%.15s", slash ? slash + 1 : path);
}

static bool execute(struct strace_reader *from, struct strace_task *task,
		    const struct strace_line *line)
{
	struct strace_task *other;
	bool told = task->space->told;
	unsigned long index = 0;
	unsigned int ended;

	/* The other threads of the process are gone. */
	mt_for_each(&from->processes.tasks, other, index, ULONG_MAX)
		if (other != task && other->tgid == task->tgid) {
			strace_task_remove(&from->processes, other);
			from->tasks--;
		}
	set_command(task, line);
	if (!told) {
		tell_space(from, task);
		free_areas(from);
		return true;
	}
	ended = strace_task_exec(&from->processes, task);
	if (ended)
		push_end(from, task, ended, "exec");
	free_areas(from);
	if (task->space->told)
		return fail_memory(from);
	tell_space(from, task);
	return true;
}

static bool open_file(struct strace_reader *from, struct strace_task *task,
		      const struct strace_line *line, int64_t result)
{
	struct strace_text args[STRACE_ARGS];
	size_t count = strace_split(line->args, args, STRACE_ARGS);
	bool at = strace_is(line->name, "openat") || strace_is(line->name, "openat2");
	char name[PATH_MAX], path[PATH_MAX + 32];

	if (count <= at || !strace_string(args[at], name, sizeof(name)))
		return true;
	if (strace_is(line->name, "memfd_create"))
		snprintf(path, sizeof(path), "/memfd:%s (deleted)", name);
	else if (!strace_path(line->result, path, sizeof(path)))
		snprintf(path, sizeof(path), "%s", name);
	return strace_task_open(&from->processes, task, (int)result, path) == 0 || fail_memory(from);
}

/* The calls that make, copy and close descriptors. False: memory has run out. */
static bool follow_files(struct strace_reader *from, struct strace_task *task,
			 const struct strace_line *line, int64_t result)
{
	struct strace_text args[STRACE_ARGS];
	uint64_t fd, last, flags, command;
	bool unknown, cloexec;
	size_t count;

	if (strace_is(line->name, "openat") || strace_is(line->name, "openat2") ||
	    strace_is(line->name, "open") || strace_is(line->name, "creat") ||
	    strace_is(line->name, "memfd_create"))
		return open_file(from, task, line, result);
	count = strace_split(line->args, args, STRACE_ARGS);
	if (count == 0 || !strace_value(args[0], &fd, &unknown))
		return true;
	if (strace_is(line->name, "userfaultfd"))
		return strace_task_open_uffd(&from->processes, task, (int)result,
					 fd & O_CLOEXEC) == 0 || fail_memory(from);
	if (strace_is(line->name, "close_range") && count > 2 &&
	    strace_value(args[1], &last, NULL) && strace_value(args[2], &flags, NULL) &&
	    flags == 0)
		strace_task_close_range(task, (unsigned int)fd, (unsigned int)last);
	if (strace_is(line->name, "close"))
		return strace_task_open(&from->processes, task, (int)fd, NULL) == 0;
	cloexec = (count > 1 && strace_is(args[1], "F_DUPFD_CLOEXEC")) ||
		  (count > 2 && strace_value(args[2], &flags, &unknown) && flags & O_CLOEXEC);
	if (strace_is(line->name, "dup") || strace_is(line->name, "dup2") ||
	    strace_is(line->name, "dup3") ||
	    (strace_is(line->name, "fcntl") && count > 1 &&
	     strace_value(args[1], &command, NULL) &&
	     (strace_is(args[1], "F_DUPFD") || strace_is(args[1], "F_DUPFD_CLOEXEC"))))
		return strace_task_dup(task, (int)fd, (int)result, cloexec) == 0 || fail_memory(from);
	return true;
}

static bool follow_segment(struct strace_reader *from, const struct strace_line *line, int64_t result)
{
	struct strace_text args[3];
	uint64_t size;

	if (strace_split(line->args, args, 3) < 3 || !strace_value(args[1], &size, NULL) ||
	    size == 0 || size > LONG_MAX || result > INT_MAX)
		return true;
	return mtree_store(&from->segments, (unsigned long)result, xa_mk_value(size),
			   GFP_KERNEL) == 0 || fail_memory(from);
}

static bool add_call(struct strace_reader *from, struct strace_task *task,
		     const struct strace_line *line)
{
	enum strace_call_kind kind = strace_call_make(&from->call, line, task, &from->segments,
						    &from->why);
	struct step *step;

	if (kind == STRACE_CALL_MALFORMED)
		return false;
	if (kind == STRACE_CALL_NONE)
		return true;
	tell_space(from, from->call.of);
	step = push(from, STEP_CALL, task);
	snprintf(from->call_name, sizeof(from->call_name), "%.*s", (int)line->name.length,
		 line->name.at);
	step->call = from->call_name;
	if (kind == STRACE_CALL_REQUEST) {
		step->has_request = true;
		step->request = from->call.req;
		step->space = from->call.of->space->id;
	}
	if (line->ip.length && line->ip.length < 32) {
		snprintf(from->site, sizeof(from->site), "0x%.*s", (int)line->ip.length, line->ip.at);
		step->site = from->site;
	}
	return true;
}

/* A whole call. False: it is malformed, or memory has run out. */
static bool on_call(struct strace_reader *from, struct strace_task *task,
		    const struct strace_line *line)
{
	int64_t result;
	bool has_result = strace_result(line->result, &result);
	pid_t born = task->born;

	task->born = 0;
	if (is_birth(line->name)) {
		if (!has_result || result <= 0 || result > INT_MAX || result == born ||
		    strace_task_find(&from->processes, (pid_t)result))
			return true;
		return give_birth(from, task, (pid_t)result, line);
	}
	if (has_result && result == 0 &&
	    (strace_is(line->name, "execve") || strace_is(line->name, "execveat")))
		return execute(from, task, line);
	if (has_result && result >= 0 && strace_is(line->name, "shmget"))
		return follow_segment(from, line, result);
	if (has_result && result >= 0 && !follow_files(from, task, line, result))
		return false;
	return add_call(from, task, line);
}

static bool set_pending(struct strace_reader *from, struct strace_task *task, struct strace_text body)
{
	char *copy = strndup(body.at, body.length);

	if (!copy)
		return fail_memory(from);
	free(task->pending);
	task->pending = copy;
	task->born = 0;
	return true;
}

/* An execve() of a thread returns in the one that leads its process. */
static char *pending_exec(struct strace_reader *from, const struct strace_task *task)
{
	struct strace_task *other;
	unsigned long index = 0;

	mt_for_each(&from->processes.tasks, other, index, ULONG_MAX)
		if (other->tgid == task->tgid && other->pending &&
		    strncmp(other->pending, "execve", 6) == 0) {
			char *pending = other->pending;

			other->pending = NULL;
			return pending;
		}
	return NULL;
}

static bool on_resumed(struct strace_reader *from, struct strace_task *task,
		       const struct strace_line *line)
{
	struct strace_line whole = { .ip = line->ip };
	char *pending = task->pending, *text;
	bool good;
	int length;

	task->pending = NULL;
	if (!pending && strace_is(line->name, "execve"))
		pending = pending_exec(from, task);
	if (!pending)
		return true; /* it began before strace did */
	length = asprintf(&text, "%s%.*s", pending, (int)line->args.length, line->args.at);
	free(pending);
	if (length < 0)
		return fail_memory(from);
	strace_parse_body((struct strace_text){ text, (size_t)length }, &whole);
	from->why = whole.kind == STRACE_MALFORMED ? whole.why : "what resumes here is another call";
	good = whole.kind == STRACE_CALL && whole.name.length == line->name.length &&
	       memcmp(whole.name.at, line->name.at, line->name.length) == 0;
	if (whole.kind == STRACE_UNFINISHED)
		good = set_pending(from, task, whole.body);
	else if (good)
		good = on_call(from, task, &whole);
	free(text);
	return good;
}

static bool on_thread_exit(struct strace_reader *from, struct strace_task *task,
		    const struct strace_line *line)
{
	bool superseded = memmem(line->body.at, line->body.length, "superseded", 10);
	struct strace_task *leader = strace_task_find(&from->processes, task->tgid);
	unsigned int ended;
	bool told;

	if (superseded && leader && leader != task) {
		free(leader->pending);
		leader->pending = task->pending;
		task->pending = NULL;
	}
	told = task->space->told;
	/* The step needs what the task tells; whether the space is gone shows after that. */
	push_end(from, task, task->space->id, "exit");
	ended = strace_task_remove(&from->processes, task);
	from->tasks--;
	if (!ended || !told)
		from->queued--;
	return true;
}

/* ---- lines ---------------------------------------------------------------------------------- */

static void keep_time(struct strace_reader *from, const struct strace_line *line)
{
	double time = line->time;

	if (line->clock == STRACE_NO_TIME || !isfinite(time))
		return;
	if (line->clock == STRACE_RELATIVE)
		time += from->clock;
	if (line->clock == STRACE_OF_DAY) {
		if (from->has_clock && time + from->days < from->clock - DAY / 2)
			from->days += DAY;
		time += from->days;
	}
	if (!from->has_clock)
		from->first_clock = time;
	from->has_clock = true;
	/* Two threads' lines may be a little out of order. */
	if (time > from->clock || from->clock == 0)
		from->clock = time;
}

static bool take_line(struct strace_reader *from, struct strace_text *text)
{
	const char *end;

	if (from->at >= from->end)
		return false;
	end = memchr(from->at, '\n', (size_t)(from->end - from->at));
	end = end ? end : from->end;
	*text = (struct strace_text){ from->at, (size_t)(end - from->at) };
	from->at = end < from->end ? end + 1 : end;
	from->line++;
	if (text->length && text->at[text->length - 1] == '\r')
		text->length--;
	return true;
}

/* "file(function+0x1f) [0x7f...]": the file without its directory. */
static struct strace_text frame_name(struct strace_text frame)
{
	const char *bracket = memmem(frame.at, frame.length, " [", 2);
	const char *paren;

	if (bracket)
		frame.length = (size_t)(bracket - frame.at);
	paren = memchr(frame.at, '(', frame.length);
	for (const char *at = paren ? paren : frame.at + frame.length; at > frame.at; at--)
		if (at[-1] == '/') {
			frame.length -= (size_t)(at - frame.at);
			frame.at = at;
			break;
		}
	return frame;
}

/* "lib.so(space::name(int, char)+0x10)" without the parameters, which would make it long. */
static void write_site(struct strace_reader *from, struct strace_text frame)
{
	const char *open = memchr(frame.at, '(', frame.length);
	const char *end = frame.at + frame.length, *inner, *offset;

	inner = open ? memchr(open + 1, '(', (size_t)(end - open - 1)) : NULL;
	offset = inner ? memrchr(inner, '+', (size_t)(end - inner)) : NULL;
	if (offset)
		snprintf(from->site, sizeof(from->site), "%.*s%.*s", (int)(inner - frame.at),
			 frame.at, (int)(end - offset), offset);
	else
		snprintf(from->site, sizeof(from->site), "%.*s", (int)frame.length, frame.at);
}

/* Reads the frames that follow a call: its site is the first one outside of the C library. */
static void take_frames(struct strace_reader *from)
{
	struct strace_text text, name, best = { NULL, 0 };
	struct strace_line line;
	bool outside = false;

	while (from->at + 3 <= from->end && memcmp(from->at, " > ", 3) == 0 &&
	       take_line(from, &text)) {
		strace_parse_line(text.at, text.length, &line);
		if (line.kind != STRACE_FRAME || outside)
			continue;
		name = frame_name(line.body);
		outside = !site_is_runtime(name.at, name.length);
		if (outside || !best.at)
			best = name;
	}
	if (!best.at || from->queued == 0 || from->queue[from->queued - 1].kind != STEP_CALL)
		return;
	write_site(from, best);
	from->queue[from->queued - 1].site = from->site;
}

/* "strace: Process 123 attached" */
static void note_announced(struct strace_reader *from, struct strace_text text)
{
	const char *found = memmem(text.at, text.length, "strace: Process ", 16);
	char number[16] = "";
	long pid;

	if (!found)
		return;
	snprintf(number, sizeof(number), "%.*s", (int)(text.at + text.length - found - 16),
		 found + 16);
	pid = strtol(number, NULL, 10);
	if (pid > 0 && pid <= INT_MAX &&
	    mtree_store(&from->announced, (unsigned long)pid, from, GFP_KERNEL))
		from->no_memory = true;
}

/* Puts the first part of a line that was cut in two before @text. False: memory has run out. */
static bool join(struct strace_reader *from, struct strace_text *text, char **joined)
{
	int length;

	*joined = NULL;
	if (!from->partial)
		return true;
	length = asprintf(joined, "%s%.*s", from->partial, (int)text->length, text->at);
	free(from->partial);
	from->partial = NULL;
	if (length < 0) {
		*joined = NULL;
		return fail_memory(from);
	}
	*text = (struct strace_text){ *joined, (size_t)length };
	return true;
}

static bool dispatch(struct strace_reader *from, const struct strace_text *text,
		     const struct strace_line *line)
{
	struct strace_task *task;
	size_t kept;

	switch (line->kind) {
	case STRACE_NOTHING:
	case STRACE_FRAME:
		return true;
	case STRACE_SUMMARY:
		from->over = true;
		return true;
	case STRACE_PARTIAL:
		kept = (size_t)(line->body.at + line->body.length - text->at);
		from->partial = strndup(text->at, kept);
		return from->partial || fail_memory(from);
	case STRACE_MALFORMED:
		from->why = line->why;
		return false;
	default:
		break;
	}
	task = task_of(from, line->tid);
	if (!task)
		return fail_memory(from);
	if (line->kind == STRACE_UNFINISHED)
		return set_pending(from, task, line->body);
	if (line->kind == STRACE_RESUMED)
		return on_resumed(from, task, line);
	return line->kind == STRACE_EXIT ? on_thread_exit(from, task, line) : on_call(from, task, line);
}

static bool handle_line(struct strace_reader *from, struct strace_text text)
{
	struct strace_line line;
	char *joined;
	bool good;

	note_announced(from, text);
	if (!join(from, &text, &joined))
		return false;
	strace_parse_line(text.at, text.length, &line);
	keep_time(from, &line);
	good = dispatch(from, &text, &line);
	free(joined);
	if (good)
		take_frames(from);
	return good;
}

enum strace_reader_result strace_reader_next(struct strace_reader *from, struct step *step, const char **why)
{
	struct strace_text text;
	unsigned long line;
	bool good = true;

	while (from->taken == from->queued) {
		from->taken = from->queued = 0;
		if (push_uffd_end(from))
			break;
		if (from->over || !take_line(from, &text)) {
			*step = (struct step){ .line = from->line };
			return STRACE_READER_END;
		}
		line = from->line;
		good = handle_line(from, text);
		if (from->no_memory) {
			*why = "out of memory";
			return STRACE_READER_NO_MEMORY;
		}
		if (!good) {
			*step = (struct step){ .line = line };
			*why = from->why;
			return STRACE_READER_MALFORMED;
		}
	}
	*step = from->queue[from->taken++];
	return STRACE_READER_STEP;
}
