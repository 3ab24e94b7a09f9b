/* SPDX-License-Identifier: MIT */
/* The threads in the output of strace(1), which address space each uses, and its open files. */
#ifndef VMSCOPE_STRACED_H
#define VMSCOPE_STRACED_H

#include <mapletree/maple_tree.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct straced_space {
	unsigned int id;
	unsigned int users;	/* threads whose ->space this is; > 0 */
	bool incomplete;
	bool told;		/* a step has begun it */
};

/* Shared with clone(CLONE_FILES). */
struct straced_files {
	struct maple_tree fds;	/* descriptor -> struct straced_file */
	unsigned int users;	/* > 0 */
};

/* A userfaultfd. */
struct straced_uffd {
	struct straced *of;
	unsigned int context;		/* its number: > 0 */
	unsigned int space;		/* of the task that made it: whose areas it has */
	uint64_t features;		/* that UFFDIO_API asked for */
	unsigned int fds;		/* descriptors, of all processes; 0: it is in of->ended */
	struct straced_uffd *next;	/* in of->ended */
};

struct straced_file {
	uint64_t id;			/* which open() it came from: > 0 */
	bool cloexec;			/* followed for userfaultfds alone */
	struct straced_uffd *uffd;	/* NULL: it is none */
	char path[];
};

struct straced_task {
	pid_t tid, tgid;
	struct straced_space *space;
	struct straced_files *files;
	char *pending;		/* "name(args" of the call that it is in; owned; NULL: none */
	pid_t born;		/* a child that came to light before the call that made it returned */
	char command[64];
};

struct straced {
	struct maple_tree tasks;	/* tid -> struct straced_task */
	unsigned int spaces;		/* numbers given */
	uint64_t opens;
	unsigned int uffds;		/* numbers given */
	struct straced_uffd *ended;	/* userfaultfds without a descriptor */
};

void straced_init(struct straced *straced);
void straced_clear(struct straced *straced);

struct straced_task *straced_find(struct straced *straced, pid_t tid);

/* A thread with a new space and no open files. NULL: out of memory. */
struct straced_task *straced_add(struct straced *straced, pid_t tid);

/* A thread that @parent made. It has the parent's space if @shares_space. NULL: out of memory. */
struct straced_task *straced_add_child(struct straced *straced, struct straced_task *parent,
				       pid_t tid, bool thread, bool shares_space,
				       bool shares_files);

/* Takes @task out and frees it. Returns the number of its space if nobody else uses that, or 0. */
unsigned int straced_remove(struct straced *straced, struct straced_task *task);

/* Gives @task a new space. As straced_remove(); 0 also if memory has run out. */
unsigned int straced_exec(struct straced *straced, struct straced_task *task);

/* Descriptor @fd is another open() of @path, or, if that is NULL, closed. Returns 0 or -ENOMEM. */
int straced_open(struct straced *straced, struct straced_task *task, int fd, const char *path);

/* Descriptor @fd is a new userfaultfd. Returns 0 or -ENOMEM. */
int straced_open_uffd(struct straced *straced, struct straced_task *task, int fd, bool cloexec);

/* Descriptor @to is the same open file as @fd. Returns 0 or -ENOMEM. */
int straced_dup(struct straced_task *task, int fd, int to, bool cloexec);

/* Descriptors @first to @last are closed. */
void straced_close_range(struct straced_task *task, unsigned long first, unsigned long last);

/* NULL: not known. */
const struct straced_file *straced_file(struct straced_task *task, int fd);

/* The userfaultfd that descriptor @fd is. NULL: not known to be one. */
struct straced_uffd *straced_uffd(struct straced_task *task, int fd);

/* A task of that space. NULL: it is gone. */
struct straced_task *straced_user(struct straced *straced, unsigned int space);

/*
 * A userfaultfd whose last descriptor has been closed: a task of the space that it was made in, and
 * its number. NULL: there is no further one. Those of spaces that are gone are passed over.
 */
struct straced_task *straced_next_end(struct straced *straced, unsigned int *context);

#endif
