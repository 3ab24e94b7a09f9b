/* SPDX-License-Identifier: MIT */
/* The threads in the output of strace(1), which address space each uses, and its open files. */
#include "straced.h"

#include <assert.h>
#include <errno.h>
#include <mapletree/vmspace.h>
#include <stdlib.h>
#include <string.h>

/* Descriptors beyond are not followed: nobody has that many. */
enum { FD_MAX = 1 << 20 };

void straced_init(struct straced *straced)
{
	*straced = (struct straced){ .spaces = 0 };
	mt_init(&straced->tasks);
}

struct straced_task *straced_find(struct straced *straced, pid_t tid)
{
	return mtree_load(&straced->tasks, (unsigned long)tid);
}

static void free_file(struct straced_file *file)
{
	struct straced_uffd *uffd = file ? file->uffd : NULL;

	free(file);
	if (!uffd || --uffd->fds > 0)
		return;
	uffd->next = uffd->of->ended;
	uffd->of->ended = uffd;
}

static void put_files(struct straced_files *files)
{
	struct straced_file *file;
	unsigned long fd = 0;

	if (!files || --files->users > 0)
		return;
	mt_for_each(&files->fds, file, fd, ULONG_MAX)
		free_file(file);
	mtree_destroy(&files->fds);
	free(files);
}

static struct straced_files *new_files(void)
{
	struct straced_files *files = calloc(1, sizeof(*files));

	if (!files)
		return NULL;
	files->users = 1;
	mt_init(&files->fds);
	return files;
}

/* A descriptor of the file that @like is. */
static int put_file(struct straced_files *files, int fd, const char *path,
		    const struct straced_file *like)
{
	struct straced_file *file = malloc(sizeof(*file) + strlen(path) + 1);
	struct straced_file *old;
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

static struct straced_files *copy_files(struct straced_files *from)
{
	struct straced_files *files = new_files();
	struct straced_file *file;
	unsigned long fd = 0;

	if (!files)
		return NULL;
	/* fd is one past the descriptor. */
	mt_for_each(&from->fds, file, fd, ULONG_MAX)
		if (put_file(files, (int)(fd - 1), file->path, file) != 0) {
			put_files(files);
			return NULL;
		}
	return files;
}

static struct straced_space *new_space(struct straced *straced)
{
	struct straced_space *space = calloc(1, sizeof(*space));

	if (!space)
		return NULL;
	space->id = ++straced->spaces;
	space->users = 1;
	space->incomplete = true;
	return space;
}

/* Returns its number if nobody uses it any more, or 0. */
static unsigned int put_space(struct straced_space *space)
{
	unsigned int id = space->id;

	assert(space->users > 0);
	if (--space->users > 0)
		return 0;
	free(space);
	return id;
}

static void free_task(struct straced_task *task)
{
	put_files(task->files);
	free(task->pending);
	free(task);
}

void straced_clear(struct straced *straced)
{
	struct straced_task *task;
	unsigned long tid = 0;

	mt_for_each(&straced->tasks, task, tid, ULONG_MAX) {
		put_space(task->space);
		free_task(task);
	}
	mtree_destroy(&straced->tasks);
	while (straced->ended) {
		struct straced_uffd *uffd = straced->ended;

		straced->ended = uffd->next;
		free(uffd);
	}
}

/* Takes @space and @files, one use of each; any may be NULL: out of memory. */
static struct straced_task *add_task(struct straced *straced, pid_t tid, pid_t tgid,
				     struct straced_space *space, struct straced_files *files)
{
	struct straced_task *task = calloc(1, sizeof(*task));

	assert(!straced_find(straced, tid));
	if (task && space && files &&
	    mtree_store(&straced->tasks, (unsigned long)tid, task, GFP_KERNEL) == 0) {
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

struct straced_task *straced_add(struct straced *straced, pid_t tid)
{
	return add_task(straced, tid, tid, new_space(straced), new_files());
}

struct straced_task *straced_add_child(struct straced *straced, struct straced_task *parent,
				       pid_t tid, bool thread, bool shares_space, bool shares_files)
{
	struct straced_space *space = shares_space ? parent->space : new_space(straced);
	struct straced_files *files = shares_files ? parent->files : copy_files(parent->files);
	struct straced_task *task;

	if (shares_space)
		space->users++;
	else if (space)
		space->incomplete = parent->space->incomplete;
	if (shares_files)
		files->users++;
	task = add_task(straced, tid, thread ? parent->tgid : tid, space, files);
	if (task)
		memcpy(task->command, parent->command, sizeof(task->command));
	return task;
}

unsigned int straced_remove(struct straced *straced, struct straced_task *task)
{
	unsigned int ended = put_space(task->space);

	mtree_erase(&straced->tasks, (unsigned long)task->tid);
	free_task(task);
	return ended;
}

/* What an exec closes; no thread that shares the descriptors is left then. */
static void close_on_exec(struct straced_files *files)
{
	struct straced_file *file;
	unsigned long fd = 0;

	mt_for_each(&files->fds, file, fd, ULONG_MAX)
		if (file->cloexec && files->users == 1)
			free_file(mtree_erase(&files->fds, fd - 1));
}

unsigned int straced_exec(struct straced *straced, struct straced_task *task)
{
	struct straced_space *space = new_space(straced);
	unsigned int ended;

	if (!space)
		return 0;
	ended = put_space(task->space);
	task->space = space;
	close_on_exec(task->files);
	return ended;
}

int straced_open(struct straced *straced, struct straced_task *task, int fd, const char *path)
{
	if (fd < 0 || fd > FD_MAX)
		return 0;
	if (path)
		return put_file(task->files, fd, path,
				&(struct straced_file){ .id = ++straced->opens });
	free_file(mtree_erase(&task->files->fds, (unsigned long)fd));
	return 0;
}

int straced_open_uffd(struct straced *straced, struct straced_task *task, int fd, bool cloexec)
{
	struct straced_file file = { .cloexec = cloexec };

	if (fd < 0 || fd > FD_MAX)
		return 0;
	file.uffd = calloc(1, sizeof(*file.uffd));
	if (!file.uffd)
		return -ENOMEM;
	file.id = ++straced->opens;
	/* A number comes again after so many that the one which had it has long ended. */
	straced->uffds = straced->uffds % VMSPACE_UFFD_CONTEXT_MAX + 1;
	*file.uffd = (struct straced_uffd){ .of = straced, .context = straced->uffds,
					    .space = task->space->id };
	return put_file(task->files, fd, "anon_inode:[userfaultfd]", &file);
}

void straced_close_range(struct straced_task *task, unsigned long first, unsigned long last)
{
	struct straced_file *file;

	mt_for_each(&task->files->fds, file, first, last)
		free_file(mtree_erase(&task->files->fds, first - 1));
}

int straced_dup(struct straced_task *task, int fd, int to, bool cloexec)
{
	const struct straced_file *file = straced_file(task, fd);
	struct straced_file like;

	if (!file || to < 0 || to > FD_MAX || to == fd)
		return 0;
	like = (struct straced_file){ .id = file->id, .cloexec = cloexec && file->uffd,
				      .uffd = file->uffd };
	return put_file(task->files, to, file->path, &like);
}

const struct straced_file *straced_file(struct straced_task *task, int fd)
{
	return fd < 0 ? NULL : mtree_load(&task->files->fds, (unsigned long)fd);
}

struct straced_uffd *straced_uffd(struct straced_task *task, int fd)
{
	const struct straced_file *file = straced_file(task, fd);

	return file ? file->uffd : NULL;
}

struct straced_task *straced_user(struct straced *straced, unsigned int space)
{
	struct straced_task *task;
	unsigned long tid = 0;

	mt_for_each(&straced->tasks, task, tid, ULONG_MAX)
		if (task->space->id == space)
			return task;
	return NULL;
}

struct straced_task *straced_next_end(struct straced *straced, unsigned int *context)
{
	struct straced_task *found = NULL;
	struct straced_uffd *uffd;

	while (!found && (uffd = straced->ended)) {
		straced->ended = uffd->next;
		*context = uffd->context;
		found = straced_user(straced, uffd->space);
		free(uffd);
	}
	return found;
}
