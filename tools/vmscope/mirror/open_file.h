/* SPDX-License-Identifier: MIT */
/*
 * Telling the open files of mappings apart. Linux merges neighbouring areas of a file only if they
 * were mapped through the same open file description, whatever its path. Only kcmp(2) can tell
 * whether they were, and it needs a descriptor on either side.
 *
 * So vmscope keeps a descriptor of its own for each open file that is mapped, exactly as long as it
 * is mapped. The mapping keeps the file open for that time anyway, so nobody can notice the
 * difference (by locks, say, or close events).
 */
#ifndef VMSCOPE_MIRROR_OPEN_FILE_H
#define VMSCOPE_MIRROR_OPEN_FILE_H

#include <mapletree/vmspace.h>
#include <stdint.h>
#include <sys/types.h>

struct open_file;

/* The open files of one address space. */
struct open_files {
	struct open_file *first;
};

/*
 * Checks, on this process, whether the system calls needed to tell open files apart are permitted:
 * seccomp may forbid them, and old kernels lack them. Returns the name of one that is refused, with
 * the errno in *@error; NULL if none is.
 */
const char *open_file_refused(int *error);

/*
 * The id of the open file behind descriptor @fd of thread @tid in process @pid: equal ids mean the
 * same open file. @backing has its device and inode. 0 if it cannot be identified (out of memory,
 * Linux before 5.6).
 */
uint64_t open_file_id(struct open_files *files, pid_t pid, pid_t tid, int fd,
		      const struct vma_backing *backing);

/* Drops the open files that no area of @space maps any more. */
void open_file_prune(struct open_files *files, const struct vmspace *space);

/* After a fork: the child maps what its parent maps. Leaves out what cannot be copied. */
void open_file_copy(struct open_files *child, const struct open_files *parent);

/* Drops all of them. */
void open_file_clear(struct open_files *files);

#endif
