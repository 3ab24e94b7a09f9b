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
	uint64_t id;			/* 0: which one it is, is not known */
	struct descriptor *descriptor;	/* NULL then */
	unsigned int dev_major, dev_minor;
	uint64_t inode;
	bool suspect;			/* its last area may have gone: open_file_prune() */
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

static bool is_of(const struct open_file *file, const struct vma_backing *backing)
{
	return file->inode == backing->inode && file->dev_major == backing->dev_major &&
	       file->dev_minor == backing->dev_minor;
}

static bool is_same(const struct open_file *file, pid_t tid, int fd,
		    const struct vma_backing *backing)
{
	return file->id && is_of(file, backing) &&
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

/* @descriptor may be NULL. NULL: out of memory. */
static struct open_file *add(struct open_files *files, struct descriptor *descriptor, uint64_t id,
			     const struct vma_backing *backing)
{
	struct open_file *file = malloc(sizeof(*file));

	if (!file)
		return NULL;
	*file = (struct open_file){
		.id = id, .descriptor = descriptor, .inode = backing->inode,
		.dev_major = backing->dev_major, .dev_minor = backing->dev_minor,
	};
	if (descriptor)
		descriptor->refs++;
	file->next = files->first;
	files->first = file;
	return file;
}

static void drop(struct open_file *file)
{
	if (file->descriptor)
		put_descriptor(file->descriptor);
	free(file);
}

static struct open_file *find_unknown(const struct open_files *files,
				      const struct vma_backing *backing)
{
	struct open_file *file = files->first;

	while (file && (file->id || !is_of(file, backing)))
		file = file->next;
	return file;
}

int open_file_attached(struct open_files *files, const struct vmspace *space)
{
	struct vma_info info;

	for (unsigned long at = 0; vmspace_next(space, at, &info); at = info.end)
		if (info.backing.inode && !find_unknown(files, &info.backing) &&
		    !add(files, NULL, 0, &info.backing))
			return -ENOMEM;
	return 0;
}

bool open_file_is_unknown(const struct open_files *files, const struct vma_backing *backing)
{
	return find_unknown(files, backing);
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
	file = add(files, descriptor, ++last_id, backing);
	put_descriptor(descriptor);
	return file ? file->id : 0;
}

static bool is_behind(const struct open_file *file, const struct vma_backing *backing)
{
	return file->id ? file->id == backing->file_id : !backing->file_id && is_of(file, backing);
}

/* Of those behind an area, all are set: there is one, or the area is of none. */
static void set_suspect(struct open_files *files, const struct vma_backing *backing, bool suspect)
{
	for (struct open_file *file = files->first; file; file = file->next)
		if (file->suspect != suspect && is_behind(file, backing)) {
			file->suspect = suspect;
			files->suspects += suspect ? 1 : -1;
		}
}

void open_file_suspect(struct open_files *files, const struct vma_backing *backing)
{
	set_suspect(files, backing, true);
}

void open_file_prune(struct open_files *files, const struct vmspace *space)
{
	struct open_file **link = &files->first;
	struct vma_info info;

	for (unsigned long at = 0; files->suspects > 0 && vmspace_next(space, at, &info);
	     at = info.end)
		set_suspect(files, &info.backing, false);
	while (files->suspects > 0) {
		struct open_file *file = *link;

		if (!file->suspect) {
			link = &file->next;
			continue;
		}
		*link = file->next;
		files->suspects--;
		drop(file);
	}
}

int open_file_copy(struct open_files *child, const struct open_files *parent)
{
	for (const struct open_file *from = parent->first; from; from = from->next) {
		const struct vma_backing backing = {
			.dev_major = from->dev_major, .dev_minor = from->dev_minor,
			.inode = from->inode,
		};

		if (!add(child, from->descriptor, from->id, &backing))
			return -ENOMEM;
	}
	return 0;
}

void open_file_clear(struct open_files *files)
{
	while (files->first) {
		struct open_file *file = files->first;

		files->first = file->next;
		drop(file);
	}
	files->suspects = 0;
}
