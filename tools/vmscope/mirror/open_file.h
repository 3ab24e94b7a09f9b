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
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct open_file;

/* The open files of one address space. */
struct open_files {
	struct open_file *first;
	unsigned int suspects;		/* how many may not be mapped any more */
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

/*
 * We have attached to a process with the areas of @space: of the files that they map it is not
 * known which open file each is. Returns 0 or -ENOMEM.
 */
int open_file_attached(struct open_files *files, const struct vmspace *space);

/* Is an area of that file mapped of which this is not known? */
bool open_file_is_unknown(const struct open_files *files, const struct vma_backing *backing);

/* An area with @backing is going to go, or has not come: it may be the last of its open file. */
void open_file_suspect(struct open_files *files, const struct vma_backing *backing);

/*
 * Drops the suspects that no area of @space maps any more. O(areas up to one of each suspect), all
 * areas if one has gone.
 */
void open_file_prune(struct open_files *files, const struct vmspace *space);

/* After a fork: the child maps what its parent maps. Returns 0 or -ENOMEM. */
int open_file_copy(struct open_files *child, const struct open_files *parent);

/* Drops all of them. */
void open_file_clear(struct open_files *files);

#endif
