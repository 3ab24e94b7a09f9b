/* SPDX-License-Identifier: MIT */
/* Telling the open files of mappings apart. */
#include "mirror/open_file.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/kcmp.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef PIDFD_THREAD
#define PIDFD_THREAD O_EXCL
#endif

/* Our own descriptor of an open file, shared by the address spaces that inherited it by fork. */
struct descriptor {
	int fd;
	unsigned int refs;
};

struct open_file {
	struct open_file *next;
	uint64_t id;
	struct descriptor *descriptor;
	unsigned int dev_major, dev_minor;
	uint64_t inode;
	bool used;			/* for pruning: mark and sweep */
};

static uint64_t last_id;	/* ids are never reused: areas outlive processes by fork */

const char *open_file_refused(int *error)
{
	int pidfd = (int)syscall(SYS_pidfd_open, getpid(), 0), own = -1;
	const char *refused = NULL;

	if (pidfd < 0)
		refused = "pidfd_open(2)";
	else if ((own = (int)syscall(SYS_pidfd_getfd, pidfd, pidfd, 0)) < 0)
		refused = "pidfd_getfd(2)";
	else if (syscall(SYS_kcmp, getpid(), getpid(), KCMP_FILE, pidfd, own) != 0)
		refused = "kcmp(2)";
	*error = errno;
	if (own >= 0)
		close(own);
	if (pidfd >= 0)
		close(pidfd);
	return refused;
}

static bool is_same(const struct open_file *file, pid_t tid, int fd,
		    const struct vma_backing *backing)
{
	return file->inode == backing->inode && file->dev_major == backing->dev_major &&
	       file->dev_minor == backing->dev_minor &&
	       syscall(SYS_kcmp, getpid(), tid, KCMP_FILE, file->descriptor->fd, fd) == 0;
}

/* Duplicates descriptor @fd of thread @tid into this process. -1: that is not possible. */
static int duplicate_descriptor(pid_t pid, pid_t tid, int fd)
{
	int pidfd = (int)syscall(SYS_pidfd_open, tid, tid == pid ? 0 : PIDFD_THREAD);
	int own;

	/* Before Linux 6.9 a pidfd must refer to the leader; mostly, threads share descriptors. */
	if (pidfd < 0)
		pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	if (pidfd < 0)
		return -1;
	own = (int)syscall(SYS_pidfd_getfd, pidfd, fd, 0);
	close(pidfd);
	return own;
}

/* Takes over @fd; the caller gets the only reference. NULL: out of memory, and @fd is closed. */
static struct descriptor *new_descriptor(int fd)
{
	struct descriptor *descriptor = malloc(sizeof(*descriptor));

	if (descriptor)
		*descriptor = (struct descriptor){ .fd = fd, .refs = 1 };
	else
		close(fd);
	return descriptor;
}

static void put_descriptor(struct descriptor *descriptor)
{
	if (--descriptor->refs > 0)
		return;
	close(descriptor->fd);
	free(descriptor);
}

/* NULL: out of memory. */
static struct open_file *add(struct open_files *files, struct descriptor *descriptor)
{
	struct open_file *file = calloc(1, sizeof(*file));

	if (!file)
		return NULL;
	file->descriptor = descriptor;
	descriptor->refs++;
	file->next = files->first;
	files->first = file;
	return file;
}

static void drop(struct open_file *file)
{
	put_descriptor(file->descriptor);
	free(file);
}

uint64_t open_file_id(struct open_files *files, pid_t pid, pid_t tid, int fd,
		      const struct vma_backing *backing)
{
	struct descriptor *descriptor;
	struct open_file *file;
	int own;

	for (file = files->first; file; file = file->next)
		if (is_same(file, tid, fd, backing))
			return file->id;
	own = duplicate_descriptor(pid, tid, fd);
	descriptor = own >= 0 ? new_descriptor(own) : NULL;
	if (!descriptor)
		return 0;
	file = add(files, descriptor);
	put_descriptor(descriptor);
	if (!file)
		return 0;
	file->id = ++last_id;
	file->dev_major = backing->dev_major;
	file->dev_minor = backing->dev_minor;
	file->inode = backing->inode;
	return file->id;
}

static void mark_used(struct open_files *files, uint64_t id)
{
	for (struct open_file *file = files->first; file; file = file->next)
		if (file->id == id) {
			file->used = true;
			return;
		}
}

void open_file_prune(struct open_files *files, const struct vmspace *space)
{
	struct open_file **link = &files->first;
	struct vma_info info;

	for (struct open_file *file = files->first; file; file = file->next)
		file->used = false;
	for (unsigned long at = 0; vmspace_next(space, at, &info); at = info.end)
		if (info.backing.file_id)
			mark_used(files, info.backing.file_id);
	while (*link) {
		struct open_file *file = *link;

		if (file->used) {
			link = &file->next;
			continue;
		}
		*link = file->next;
		drop(file);
	}
}

void open_file_copy(struct open_files *child, const struct open_files *parent)
{
	for (const struct open_file *from = parent->first; from; from = from->next) {
		struct open_file *file = add(child, from->descriptor);

		if (!file)
			continue;
		file->id = from->id;
		file->dev_major = from->dev_major;
		file->dev_minor = from->dev_minor;
		file->inode = from->inode;
	}
}

void open_file_clear(struct open_files *files)
{
	while (files->first) {
		struct open_file *file = files->first;

		files->first = file->next;
		drop(file);
	}
}
