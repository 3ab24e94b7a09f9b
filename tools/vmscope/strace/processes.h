/* SPDX-License-Identifier: MIT */
/* The threads in the output of strace(1), which address space each uses, and its open files. */
#ifndef VMSCOPE_STRACE_PROCESSES_H
#define VMSCOPE_STRACE_PROCESSES_H

#include <mapletree/maple_tree.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct strace_space {
	unsigned int id;
	unsigned int users;	/* threads whose ->space this is; > 0 */
	bool incomplete;
	bool told;		/* a step has begun it */
};

/* Shared with clone(CLONE_FILES). */
struct strace_files {
	struct maple_tree fds;	/* descriptor -> struct strace_file */
	unsigned int users;	/* > 0 */
};

/* A userfaultfd. */
struct strace_uffd {
	struct strace_processes *of;
	unsigned int context;		/* its number: > 0 */
	unsigned int space;		/* of the task that made it: whose areas it has */
	uint64_t features;		/* that UFFDIO_API asked for */
	unsigned int fds;		/* descriptors, of all processes; 0: it is in of->ended */
	struct strace_uffd *next;	/* in of->ended */
};

struct strace_file {
	uint64_t id;			/* which open() it came from: > 0 */
	bool cloexec;			/* followed for userfaultfds alone */
	struct strace_uffd *uffd;	/* NULL: it is none */
	char path[];
};

struct strace_task {
	pid_t tid, tgid;
	struct strace_space *space;
	struct strace_files *files;
	char *pending;		/* "name(args" of the call that it is in; owned; NULL: none */
	pid_t born;		/* a child that came to light before the call that made it returned */
	char command[64];
};

struct strace_processes {
	struct maple_tree tasks;	/* tid -> struct strace_task */
	unsigned int spaces;		/* numbers given */
	uint64_t opens;
	unsigned int uffds;		/* numbers given */
	struct strace_uffd *ended;	/* userfaultfds without a descriptor */
};

void strace_processes_init(struct strace_processes *processes);
void strace_processes_clear(struct strace_processes *processes);

struct strace_task *strace_task_find(struct strace_processes *processes, pid_t tid);

/* A thread with a new space and no open files. NULL: out of memory. */
struct strace_task *strace_task_add(struct strace_processes *processes, pid_t tid);

/* A thread that @parent made. It has the parent's space if @shares_space. NULL: out of memory. */
struct strace_task *strace_task_add_child(struct strace_processes *processes, struct strace_task *parent,
				       pid_t tid, bool thread, bool shares_space,
				       bool shares_files);

/* Takes @task out and frees it. Returns the number of its space if nobody else uses that, or 0. */
unsigned int strace_task_remove(struct strace_processes *processes, struct strace_task *task);

/* Gives @task a new space. As strace_task_remove(); 0 also if memory has run out. */
unsigned int strace_task_exec(struct strace_processes *processes, struct strace_task *task);

/* Descriptor @fd is another open() of @path, or, if that is NULL, closed. Returns 0 or -ENOMEM. */
int strace_task_open(struct strace_processes *processes, struct strace_task *task, int fd, const char *path);

/* Descriptor @fd is a new userfaultfd. Returns 0 or -ENOMEM. */
int strace_task_open_uffd(struct strace_processes *processes, struct strace_task *task, int fd, bool cloexec);

/* Descriptor @to is the same open file as @fd. Returns 0 or -ENOMEM. */
int strace_task_dup(struct strace_task *task, int fd, int to, bool cloexec);

/* Descriptors @first to @last are closed. */
void strace_task_close_range(struct strace_task *task, unsigned long first, unsigned long last);

/* NULL: not known. */
const struct strace_file *strace_task_file(struct strace_task *task, int fd);

/* The userfaultfd that descriptor @fd is. NULL: not known to be one. */
struct strace_uffd *strace_task_uffd(struct strace_task *task, int fd);

/* A task of that space. NULL: it is gone. */
struct strace_task *strace_space_user(struct strace_processes *processes, unsigned int space);

/*
 * A userfaultfd whose last descriptor has been closed: a task of the space that it was made in, and
 * its number. NULL: there is no further one. Those of spaces that are gone are passed over.
 */
struct strace_task *strace_uffd_next_end(struct strace_processes *processes, unsigned int *context);

#endif
