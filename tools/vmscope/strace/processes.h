/* SPDX-License-Identifier: MIT */
/* The threads in the output of strace(1): which address space each uses, and its descriptors. */
#ifndef VMSCOPE_STRACE_PROCESSES_H
#define VMSCOPE_STRACE_PROCESSES_H

#include <mapletree/maple_tree.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct strace_space {
	unsigned int id;
	unsigned int users;	/* threads with this ->space; > 0 */
	bool incomplete;
	bool begun;		/* its STEP_SPACE or STEP_COPY was made */
};

/* Shared with clone(CLONE_FILES). */
struct strace_files {
	struct maple_tree fds;	/* descriptor -> struct strace_file */
	unsigned int users;	/* > 0 */
};

/* A userfaultfd. */
struct strace_uffd {
	struct strace_processes *of;
	unsigned int context;		/* > 0 */
	unsigned int space;		/* number of its creator's: whose areas it has */
	uint64_t features;		/* requested by UFFDIO_API */
	unsigned int fds;		/* descriptors of all processes; 0: in released */
	struct strace_uffd *next;	/* in of->released */
};

struct strace_file {
	uint64_t id;			/* identifies the open(): > 0 */
	bool cloexec;			/* tracked for userfaultfds only */
	struct strace_uffd *uffd;	/* NULL: another kind of file */
	char path[];
};

struct strace_task {
	pid_t tid, tgid;
	struct strace_space *space;
	struct strace_files *files;
	char *pending;		/* "name(args" of its unfinished call; owned; NULL: none */
	pid_t early_child;		/* a child seen before the call that created it returned */
	char command[64];
};

struct strace_processes {
	struct maple_tree tasks;	/* tid -> struct strace_task */
	unsigned int spaces;		/* last number given */
	uint64_t opens;
	unsigned int uffds;		/* last number given */
	struct strace_uffd *released;	/* userfaultfds whose last descriptor was closed */
};

void strace_processes_init(struct strace_processes *processes);
void strace_processes_clear(struct strace_processes *processes);

struct strace_task *strace_task_find(struct strace_processes *processes, pid_t tid);

/* Adds a thread with a new space and no open files. NULL: out of memory. */
struct strace_task *strace_task_add(struct strace_processes *processes, pid_t tid);

/* Adds a thread or process created by @parent. NULL: out of memory. */
struct strace_task *strace_task_add_child(struct strace_processes *processes,
					  struct strace_task *parent, pid_t tid, bool thread,
					  bool shares_space, bool shares_files);

/* Removes and frees @task. Returns the number of its space if it was the last user, or 0. */
unsigned int strace_task_remove(struct strace_processes *processes, struct strace_task *task);

/* Gives @task a new space. Returns as strace_task_remove(); 0 also if memory has run out. */
unsigned int strace_task_exec(struct strace_processes *processes, struct strace_task *task);

/* @fd was opened on @path, or closed if @path is NULL. Returns 0 or -ENOMEM. */
int strace_task_open(struct strace_processes *processes, struct strace_task *task, int fd,
		     const char *path);

/* @fd is a new userfaultfd. Returns 0 or -ENOMEM. */
int strace_task_open_uffd(struct strace_processes *processes, struct strace_task *task, int fd,
			  bool cloexec);

/* @fd was duplicated to @to. Returns 0 or -ENOMEM. */
int strace_task_dup(struct strace_task *task, int fd, int to, bool cloexec);

/* Descriptors @first to @last were closed. */
void strace_task_close_range(struct strace_task *task, unsigned long first, unsigned long last);

/* The file of descriptor @fd. NULL: unknown. */
const struct strace_file *strace_task_file(struct strace_task *task, int fd);

/* The userfaultfd of descriptor @fd. NULL: it is not known to be one. */
struct strace_uffd *strace_task_uffd(struct strace_task *task, int fd);

/* Any task that uses @space. NULL: there is none any more. */
struct strace_task *strace_space_user(struct strace_processes *processes, unsigned int space);

/*
 * Takes the next userfaultfd whose last descriptor was closed. Returns a task that uses the space
 * it was created in, with its number in *@context; NULL: there is none. Skips those whose space is
 * gone.
 */
struct strace_task *strace_uffd_next_end(struct strace_processes *processes, unsigned int *context);

#endif
