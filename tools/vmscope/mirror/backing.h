/* SPDX-License-Identifier: MIT */
/* Finding out what an open descriptor of another process maps. */
#ifndef VMSCOPE_MIRROR_BACKING_H
#define VMSCOPE_MIRROR_BACKING_H

#include <limits.h>
#include <mapletree/vmspace.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "mirror/kernel.h"

enum { BACKING_NAME_MAX = PATH_MAX + 16 };

struct backing_file {
	struct vma_backing backing;	/* .name points to name[] */
	bool is_regular;		/* a file of a file system, or a memfd */
	bool is_device;			/* its driver may add flags that only the kernel knows */
	bool is_zero;			/* /dev/zero */
	char name[BACKING_NAME_MAX];
};

/* Describes descriptor @fd of thread @tid. False: it is not open there (EBADF). */
bool backing_of_fd(struct backing_file *file, pid_t tid, int fd);

/* Whether @path leads to the file with that device and inode now. */
bool backing_path_is(const char *path, unsigned int dev_major, unsigned int dev_minor,
		     uint64_t inode);

/*
 * Fills in @file as the kernel describes the backing in @line (device, inode and path, its
 * escapes undone). The kind is told from the name: see proc_pid_maps(5).
 */
void backing_of_line(struct backing_file *file, const struct vmspace_line *line);

#endif
