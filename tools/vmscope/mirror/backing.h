/* SPDX-License-Identifier: MIT */
/* What a mapping of another process's file descriptor, or a line of maps, is backed by. */
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
	bool is_regular;		/* includes memfds */
	bool is_device;			/* its driver may add flags to the area */
	bool is_zero;			/* /dev/zero */
	uint64_t bytes;			/* of a regular file, now; else 0 */
	char name[BACKING_NAME_MAX];
};

/* Describes descriptor @fd of thread @tid. False: it is not open (EBADF). */
bool backing_of_fd(struct backing_file *file, pid_t tid, int fd);

/*
 * What the file that @tid has mapped at [@start, @end), an area, denies by now: VMA_BACKING_NO_EXEC
 * and _SEAL_WRITE. 0 where it cannot be opened (which takes CAP_SYS_ADMIN).
 */
unsigned int backing_denials(pid_t tid, unsigned long start, unsigned long end);

/*
 * What a file system makes of mappings of its regular files, by its magic number as statfs(2) has it: the
 * VMA_BACKING_* of such a file. Of @backing only the device is read.
 */
unsigned int backing_system_flags(unsigned long magic, const struct vma_backing *backing);

/* Whether @path currently resolves to the file with that device and inode. */
bool backing_path_is(const char *path, unsigned int dev_major, unsigned int dev_minor,
		     uint64_t inode);

/*
 * Describes the backing of the area in @line: device, inode, and the path with its escapes undone.
 * The kind follows from the name: see proc_pid_maps(5).
 */
void backing_of_line(struct backing_file *file, const struct vmspace_line *line);

#endif
