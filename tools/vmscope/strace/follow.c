/* SPDX-License-Identifier: MIT */
/* What the calls in the output of strace(1) do to processes, address spaces and descriptors. */
#include "strace/follow.h"

#include <fcntl.h>
#include <linux/sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ipc.h>

#include "strace/overtaken.h"

/* ---- clone ---------------------------------------------------------------------------------- */

static bool is_clone(struct strace_text name)
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

/* @parent has created @tid by the call in @line, of which perhaps only the beginning is known. */
static bool add_child(struct strace_reader *from, struct strace_task *parent, pid_t tid,
		      const struct strace_line *line)
{
	uint64_t flags = clone_flags(line);
	struct strace_task *child;
	struct step *step;

	strace_push_begin(from, parent);
	child = strace_task_add_child(&from->processes, parent, tid, flags & CLONE_THREAD,
				      flags & CLONE_VM, flags & CLONE_FILES);
	if (!child)
		return strace_out_of_memory(from);
	from->tasks++;
	if (flags & CLONE_VM) {
		if (!(flags & CLONE_THREAD))
			strace_push(from, STEP_PROCESS, child);
		return true;
	}
	child->space->begun = true;
	step = strace_push(from, STEP_COPY, child);
	step->from = parent->space->id;
	return true;
}

static bool parse_pending(const struct strace_task *task, struct strace_line *line)
{
	struct strace_text name;

	if (!task->pending)
		return false;
	name = (struct strace_text){ task->pending, strcspn(task->pending, "(") };
	if (!is_clone(name))
		return false;
	*line = (struct strace_line){ .name = name };
	line->args = (struct strace_text){ task->pending + name.length + 1,
					   strlen(task->pending) - name.length - 1 };
	return true;
}

/* The result of a call, of which only the end of the line is known: what follows the last "= ". */
static bool resumed_result(struct strace_text end, int64_t *result)
{
	for (size_t at = end.length; at-- > 1;)
		if (end.at[at - 1] == '=' && end.at[at] == ' ')
			return strace_result(
				(struct strace_text){ end.at + at + 1, end.length - at - 1 },
				result);
	return false;
}

/* Whose clone has returned @tid, in the line of [@at, @end) in which @found lies. 0: nobody's. */
static pid_t cloner_in_line(const char *at, const char *found, const char *end, pid_t tid)
{
	const char *before = memrchr(at, '\n', (size_t)(found - at));
	const char *behind = memchr(found, '\n', (size_t)(end - found));
	const char *start = before ? before + 1 : at;
	struct strace_line line;
	int64_t result;

	strace_parse_line(start, (size_t)((behind ? behind : end) - start), &line);
	if (line.kind != STRACE_RESUMED || !is_clone(line.name) ||
	    !resumed_result(line.args, &result) || result != tid)
		return 0;
	return line.tid;
}

/*
 * The thread whose fork, vfork or clone returns @tid further down in the log. 0: there is none, as
 * far as can be seen.
 */
static pid_t look_ahead(struct strace_reader *from, pid_t tid)
{
	const char *at, *end, *found;
	pid_t cloner = 0;
	char key[32];
	int length = snprintf(key, sizeof(key), "= %d", (int)tid);

	lines_ahead(from->lines, &at, &end);
	for (found = at; !cloner && found < end; found += length) {
		found = memmem(found, (size_t)(end - found), key, (size_t)length);
		if (!found)
			break;
		cloner = cloner_in_line(at, found, end, tid);
	}
	return cloner;
}

/*
 * The only thread inside a fork, vfork or clone whose child is not known. NULL: none, or several.
 */
static struct strace_task *find_cloning(struct strace_reader *from, bool *any)
{
	struct strace_task *task, *found = NULL;
	unsigned long index = 0;
	unsigned int count = 0;
	struct strace_line line;

	mt_for_each(&from->processes.tasks, task, index, ULONG_MAX)
		if (parse_pending(task, &line) && !task->early_child) {
			found = task;
			count++;
		}
	*any = count > 0;
	return count == 1 ? found : NULL;
}

/* The only task, whose lines had no PID so far, turns out to have this one. */
static struct strace_task *name_task(struct strace_reader *from, struct strace_task *task,
				     pid_t tid)
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

/* Adds @tid, which has its first line. */
static struct strace_task *add_first_seen(struct strace_reader *from, pid_t tid)
{
	struct strace_task *main = strace_task_find(&from->processes, 0), *parent, *task;
	bool announced = mtree_load(&from->announced, (unsigned long)tid), any;
	struct strace_line line;
	pid_t maker;

	parent = find_cloning(from, &any);
	maker = any && tid ? look_ahead(from, tid) : 0;
	/* strace prints PIDs only while there are several: this is the task from before. */
	if (main && !announced && !maker)
		return name_task(from, main, tid);
	if (main && maker && !strace_task_find(&from->processes, maker) &&
	    !name_task(from, main, maker))
		return NULL;
	if (maker)
		parent = strace_task_find(&from->processes, maker);
	if (parent && !parent->early_child && parse_pending(parent, &line)) {
		parent->early_child = tid;
		add_child(from, parent, tid, &line);
		return strace_task_find(&from->processes, tid);
	}
	task = strace_task_add(&from->processes, tid);
	if (!task)
		from->no_memory = true;
	else
		from->tasks++;
	return task;
}

struct strace_task *strace_follow_task(struct strace_reader *from, pid_t tid)
{
	struct strace_task *task = NULL;
	unsigned long index = 0;

	if (tid == 0 && from->tasks == 1)
		task = mt_find(&from->processes.tasks, &index, ULONG_MAX);
	if (!task)
		task = strace_task_find(&from->processes, tid == 0 ? from->unnamed : tid);
	return task ? task : add_first_seen(from, tid);
}

/* ---- calls ---------------------------------------------------------------------------------- */

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
	bool told = task->space->begun;
	unsigned long index = 0;
	unsigned int ended;

	/* exec has killed the other threads of the process. */
	mt_for_each(&from->processes.tasks, other, index, ULONG_MAX)
		if (other != task && other->tgid == task->tgid) {
			strace_task_remove(&from->processes, other);
			from->tasks--;
		}
	set_command(task, line);
	if (!told) {
		strace_push_begin(from, task);
		strace_free_areas(from);
		return true;
	}
	ended = strace_task_exec(&from->processes, task);
	if (ended)
		strace_push_end(from, task, ended, "exec");
	strace_free_areas(from);
	if (task->space->begun)
		return strace_out_of_memory(from);
	strace_push_begin(from, task);
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
	return strace_task_open(&from->processes, task, (int)result, path) == 0 ||
	       strace_out_of_memory(from);
}

/* Whether follow_files() has anything to do for a call that opens nothing by a name. */
static bool is_about_files(struct strace_text name)
{
	return strace_is(name, "userfaultfd") || strace_is(name, "close_range") ||
	       strace_is(name, "close") || strace_is(name, "fcntl") || strace_is(name, "dup") ||
	       strace_is(name, "dup2") || strace_is(name, "dup3");
}

/* Follows calls that create, duplicate and close descriptors. False: out of memory. */
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
	if (!is_about_files(line->name))
		return true;
	count = strace_split(line->args, args, STRACE_ARGS);
	if (count == 0 || !strace_value(args[0], &fd, &unknown))
		return true;
	if (strace_is(line->name, "userfaultfd"))
		return !strace_task_open_uffd(&from->processes, task, (int)result,
					      fd & O_CLOEXEC) || strace_out_of_memory(from);
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
		return strace_task_dup(task, (int)fd, (int)result, cloexec) == 0 ||
		       strace_out_of_memory(from);
	return true;
}

static bool keep_segment(struct strace_reader *from, unsigned long id, uint64_t size, uint64_t key)
{
	struct strace_segment *segment = calloc(1, sizeof(*segment));

	if (!segment)
		return strace_out_of_memory(from);
	segment->size = size;
	segment->key = (unsigned int)key;
	free(mtree_erase(&from->segments, id));
	if (mtree_store(&from->segments, id, segment, GFP_KERNEL) == 0)
		return true;
	free(segment);
	return strace_out_of_memory(from);
}

/*
 * shmget() tells the size of a segment that it makes. One that there was may be larger than that.
 */
static bool follow_segment(struct strace_reader *from, const struct strace_line *line,
			   int64_t result)
{
	struct strace_text args[3];
	uint64_t key, size, flags;
	bool made;

	if (strace_split(line->args, args, 3) < 3 || !strace_value(args[0], &key, NULL) ||
	    !strace_value(args[1], &size, NULL) || !strace_value(args[2], &flags, NULL) ||
	    size == 0 || size > LONG_MAX || result > INT_MAX)
		return true;
	made = key == IPC_PRIVATE || (flags & IPC_CREAT && flags & IPC_EXCL);
	return !made || keep_segment(from, (unsigned long)result, size, key);
}

/* shmctl(ID, IPC_STAT, {shm_perm={... key=KEY ...}, shm_segsz=SIZE ...}) tells it, too. */
static bool follow_segment_stat(struct strace_reader *from, const struct strace_line *line)
{
	static const char size_name[] = "shm_segsz=", key_name[] = "key=";
	const struct strace_segment *segment;
	struct strace_text args[3];
	const char *size, *key;
	uint64_t id;

	if (strace_split(line->args, args, 3) < 3 || !strace_value(args[0], &id, NULL) ||
	    id > INT_MAX)
		return true;
	size = memmem(args[2].at, args[2].length, size_name, strlen(size_name));
	key = memmem(args[2].at, args[2].length, key_name, strlen(key_name));
	segment = mtree_load(&from->segments, id);
	if (!size || strtoul(size + strlen(size_name), NULL, 10) == 0)
		return true;
	return keep_segment(from, id, strtoul(size + strlen(size_name), NULL, 10),
			    key ? strtoul(key + strlen(key_name), NULL, 0) :
			    segment ? segment->key : IPC_PRIVATE);
}

static void copy_text(char *to, size_t size, struct strace_text text)
{
	size_t length = text.length < size ? text.length : size - 1;

	memcpy(to, text.at, length);
	to[length] = '\0';
}

static bool add_call(struct strace_reader *from, struct strace_task *task,
		     const struct strace_line *line)
{
	enum strace_call_kind kind =
		strace_call_make(&from->call, line, task, &from->segments, &from->why);
	struct step *step;

	if (kind == STRACE_CALL_MALFORMED)
		return false;
	if (kind == STRACE_CALL_NONE)
		return true;
	strace_push_begin(from, from->call.of);
	if (kind == STRACE_CALL_REQUEST)
		strace_push_overtaken(from, task, &from->call.req);
	step = strace_push(from, STEP_CALL, task);
	copy_text(from->call_name, sizeof(from->call_name), line->name);
	step->call = from->call_name;
	step->untold = kind == STRACE_CALL_UNTOLD ? from->why : NULL;
	step->space = from->call.of->space->id;
	if (kind == STRACE_CALL_REQUEST)
		step->request = &from->call.req;
	if (line->ip.length && line->ip.length < 32) {
		snprintf(from->site, sizeof(from->site), "0x%.*s", (int)line->ip.length,
			 line->ip.at);
		step->site = from->site;
	}
	return true;
}

bool strace_follow_call(struct strace_reader *from, struct strace_task *task,
			const struct strace_line *line)
{
	int64_t result;
	bool has_result = strace_result(line->result, &result);
	pid_t early_child = task->early_child;

	task->early_child = 0;
	if (is_clone(line->name)) {
		if (!has_result || result <= 0 || result > INT_MAX || result == early_child ||
		    strace_task_find(&from->processes, (pid_t)result))
			return true;
		return add_child(from, task, (pid_t)result, line);
	}
	if (has_result && result == 0 &&
	    (strace_is(line->name, "execve") || strace_is(line->name, "execveat")))
		return execute(from, task, line);
	if (has_result && result >= 0 && strace_is(line->name, "shmget"))
		return follow_segment(from, line, result);
	if (has_result && result == 0 && strace_is(line->name, "shmctl"))
		return follow_segment_stat(from, line);
	if (has_result && result >= 0 && !follow_files(from, task, line, result))
		return false;
	return add_call(from, task, line);
}

bool strace_follow_unfinished(struct strace_reader *from, struct strace_task *task,
			      struct strace_text body)
{
	char *copy = strndup(body.at, body.length);

	if (!copy)
		return strace_out_of_memory(from);
	free(task->pending);
	task->pending = copy;
	task->early_child = 0;
	return true;
}

/* An execve() by another thread returns in the leader of its process. */
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

bool strace_follow_resumed(struct strace_reader *from, struct strace_task *task,
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
		return true; /* its beginning is not in the log */
	length = asprintf(&text, "%s%.*s", pending, (int)line->args.length, line->args.at);
	free(pending);
	if (length < 0)
		return strace_out_of_memory(from);
	strace_parse_body((struct strace_text){ text, (size_t)length }, &whole);
	from->why = whole.kind == STRACE_MALFORMED ? whole.why :
						     "what resumes here is another call";
	good = whole.kind == STRACE_CALL && whole.name.length == line->name.length &&
	       memcmp(whole.name.at, line->name.at, line->name.length) == 0;
	if (whole.kind == STRACE_UNFINISHED)
		good = strace_follow_unfinished(from, task, whole.body);
	else if (good)
		good = strace_follow_call(from, task, &whole);
	free(text);
	return good;
}

bool strace_follow_exit(struct strace_reader *from, struct strace_task *task,
			const struct strace_line *line)
{
	bool superseded = memmem(line->body.at, line->body.length, "superseded", 10);
	struct strace_task *leader = strace_task_find(&from->processes, task->tgid);
	unsigned int ended;
	bool begun;

	if (superseded && leader && leader != task) {
		free(leader->pending);
		leader->pending = task->pending;
		task->pending = NULL;
	}
	begun = task->space->begun;
	/*
	 * The step takes its PIDs from the task, so it must be queued before the task is removed;
	 * only then does it turn out whether it is needed.
	 */
	strace_push_end(from, task, task->space->id, "exit");
	ended = strace_task_remove(&from->processes, task);
	from->tasks--;
	if (!ended || !begun)
		from->queued--;
	return true;
}
