/* SPDX-License-Identifier: MIT */
/* The threads in the output of strace(1): which address space each uses, and its descriptors. */
#include "strace/processes.h"

#include <assert.h>
#include <errno.h>
#include <mapletree/vmspace.h>
#include <stdlib.h>
#include <string.h>

/* Larger descriptors are not followed; nobody has that many. */
enum { FD_MAX = 1 << 20 };

void strace_processes_init(struct strace_processes *processes)
{
	*processes = (struct strace_processes){ .spaces = 0 };
	mt_init(&processes->tasks);
}

struct strace_task *strace_task_find(struct strace_processes *processes, pid_t tid)
{
	return mtree_load(&processes->tasks, (unsigned long)tid);
}

static void free_file(struct strace_file *file)
{
	struct strace_uffd *uffd = file ? file->uffd : NULL;

	free(file);
	if (!uffd || --uffd->fds > 0)
		return;
	uffd->next = uffd->of->released;
	uffd->of->released = uffd;
}

static void put_files(struct strace_files *files)
{
	struct strace_file *file;
	unsigned long fd = 0;

	if (!files || --files->users > 0)
		return;
	mt_for_each(&files->fds, file, fd, ULONG_MAX)
		free_file(file);
	mtree_destroy(&files->fds);
	free(files);
}

static struct strace_files *new_files(void)
{
	struct strace_files *files = calloc(1, sizeof(*files));

	if (!files)
		return NULL;
	files->users = 1;
	mt_init(&files->fds);
	return files;
}

/* Makes @fd a descriptor of the same open file as @like. */
static int put_file(struct strace_files *files, int fd, const char *path,
		    const struct strace_file *like)
{
	struct strace_file *file = malloc(sizeof(*file) + strlen(path) + 1);
	struct strace_file *old;
	int rc;

	if (!file)
		return -ENOMEM;
	*file = *like;
	strcpy(file->path, path);
	if (file->uffd)
		file->uffd->fds++;
	old = mtree_load(&files->fds, (unsigned long)fd);
	rc = mtree_store(&files->fds, (unsigned long)fd, file, GFP_KERNEL);
	free_file(rc ? file : old);
	return rc;
}

static struct strace_files *copy_files(struct strace_files *from)
{
	struct strace_files *files = new_files();
	struct strace_file *file;
	unsigned long fd = 0;

	if (!files)
		return NULL;
	/* mt_for_each() leaves fd one past the descriptor. */
	mt_for_each(&from->fds, file, fd, ULONG_MAX)
		if (put_file(files, (int)(fd - 1), file->path, file) != 0) {
			put_files(files);
			return NULL;
		}
	return files;
}

static struct strace_space *new_space(struct strace_processes *processes)
{
	struct strace_space *space = calloc(1, sizeof(*space));

	if (!space)
		return NULL;
	space->id = ++processes->spaces;
	space->users = 1;
	space->incomplete = true;
	return space;
}

/* Drops a reference. Returns the number of the space if that was the last one, or 0. */
static unsigned int put_space(struct strace_space *space)
{
	unsigned int id = space->id;

	assert(space->users > 0);
	if (--space->users > 0)
		return 0;
	free(space);
	return id;
}

static void free_task(struct strace_task *task)
{
	put_files(task->files);
	free(task->pending);
	free(task);
}

void strace_processes_clear(struct strace_processes *processes)
{
	struct strace_task *task;
	unsigned long tid = 0;

	mt_for_each(&processes->tasks, task, tid, ULONG_MAX) {
		put_space(task->space);
		free_task(task);
	}
	mtree_destroy(&processes->tasks);
	while (processes->released) {
		struct strace_uffd *uffd = processes->released;

		processes->released = uffd->next;
		free(uffd);
	}
}

/*
 * Consumes a reference to each of @space and @files. NULL, also if one of these is NULL: out of
 * memory.
 */
static struct strace_task *add_task(struct strace_processes *processes, pid_t tid, pid_t tgid,
				    struct strace_space *space, struct strace_files *files)
{
	struct strace_task *task = calloc(1, sizeof(*task));

	assert(!strace_task_find(processes, tid));
	if (task && space && files &&
	    mtree_store(&processes->tasks, (unsigned long)tid, task, GFP_KERNEL) == 0) {
		task->tid = tid;
		task->tgid = tgid;
		task->space = space;
		task->files = files;
		return task;
	}
	free(task);
	if (space)
		put_space(space);
	put_files(files);
	return NULL;
}

struct strace_task *strace_task_add(struct strace_processes *processes, pid_t tid)
{
	return add_task(processes, tid, tid, new_space(processes), new_files());
}

struct strace_task *strace_task_add_child(struct strace_processes *processes,
					  struct strace_task *parent, pid_t tid, bool thread,
					  bool shares_space, bool shares_files)
{
	struct strace_space *space = shares_space ? parent->space : new_space(processes);
	struct strace_files *files = shares_files ? parent->files : copy_files(parent->files);
	struct strace_task *task;

	if (shares_space)
		space->users++;
	else if (space)
		space->incomplete = parent->space->incomplete;
	if (shares_files)
		files->users++;
	task = add_task(processes, tid, thread ? parent->tgid : tid, space, files);
	if (task)
		memcpy(task->command, parent->command, sizeof(task->command));
	return task;
}

unsigned int strace_task_remove(struct strace_processes *processes, struct strace_task *task)
{
	unsigned int ended = put_space(task->space);

	mtree_erase(&processes->tasks, (unsigned long)task->tid);
	free_task(task);
	return ended;
}

/* Closes what exec closes; no other thread shares the descriptors any more. */
static void close_on_exec(struct strace_files *files)
{
	struct strace_file *file;
	unsigned long fd = 0;

	mt_for_each(&files->fds, file, fd, ULONG_MAX)
		if (file->cloexec && files->users == 1)
			free_file(mtree_erase(&files->fds, fd - 1));
}

unsigned int strace_task_exec(struct strace_processes *processes, struct strace_task *task)
{
	struct strace_space *space = new_space(processes);
	unsigned int ended;

	if (!space)
		return 0;
	ended = put_space(task->space);
	task->space = space;
	close_on_exec(task->files);
	return ended;
}

int strace_task_open(struct strace_processes *processes, struct strace_task *task, int fd,
		     const char *path)
{
	if (fd < 0 || fd > FD_MAX)
		return 0;
	if (path)
		return put_file(task->files, fd, path,
				&(struct strace_file){ .id = ++processes->opens });
	free_file(mtree_erase(&task->files->fds, (unsigned long)fd));
	return 0;
}

int strace_task_open_uffd(struct strace_processes *processes, struct strace_task *task, int fd,
			  bool cloexec)
{
	struct strace_file file = { .cloexec = cloexec };

	if (fd < 0 || fd > FD_MAX)
		return 0;
	file.uffd = calloc(1, sizeof(*file.uffd));
	if (!file.uffd)
		return -ENOMEM;
	file.id = ++processes->opens;
	/* Numbers wrap around, after so many that the previous owner is long gone. */
	processes->uffds = processes->uffds % VMSPACE_UFFD_CONTEXT_MAX + 1;
	*file.uffd = (struct strace_uffd){ .of = processes, .context = processes->uffds,
					    .space = task->space->id };
	return put_file(task->files, fd, "anon_inode:[userfaultfd]", &file);
}

void strace_task_close_range(struct strace_task *task, unsigned long first, unsigned long last)
{
	struct strace_file *file;

	mt_for_each(&task->files->fds, file, first, last)
		free_file(mtree_erase(&task->files->fds, first - 1));
}

int strace_task_dup(struct strace_task *task, int fd, int to, bool cloexec)
{
	const struct strace_file *file = strace_task_file(task, fd);
	struct strace_file like;

	if (!file || to < 0 || to > FD_MAX || to == fd)
		return 0;
	like = (struct strace_file){ .id = file->id, .cloexec = cloexec && file->uffd,
				      .uffd = file->uffd };
	return put_file(task->files, to, file->path, &like);
}

const struct strace_file *strace_task_file(struct strace_task *task, int fd)
{
	return fd < 0 ? NULL : mtree_load(&task->files->fds, (unsigned long)fd);
}

struct strace_uffd *strace_task_uffd(struct strace_task *task, int fd)
{
	const struct strace_file *file = strace_task_file(task, fd);

	return file ? file->uffd : NULL;
}

struct strace_task *strace_space_user(struct strace_processes *processes, unsigned int space)
{
	struct strace_task *task;
	unsigned long tid = 0;

	mt_for_each(&processes->tasks, task, tid, ULONG_MAX)
		if (task->space->id == space)
			return task;
	return NULL;
}

struct strace_task *strace_uffd_next_end(struct strace_processes *processes, unsigned int *context)
{
	struct strace_task *found = NULL;
	struct strace_uffd *uffd;

	while (!found && (uffd = processes->released)) {
		processes->released = uffd->next;
		*context = uffd->context;
		found = strace_space_user(processes, uffd->space);
		free(uffd);
	}
	return found;
}
