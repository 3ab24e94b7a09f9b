/* SPDX-License-Identifier: MIT */
/*
 * Which open file a descriptor stands for. Linux joins neighbouring areas of a file only if they
 * were mapped through the same open file, whatever its path; the kernel shows that nowhere but
 * in kcmp(2), which wants a descriptor on either side.
 *
 * So a descriptor of each open file that is mapped is kept here, exactly as long as it is mapped:
 * the mapping itself keeps the file open for that time, so nobody can tell (locks, close events).
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
 * The system call that is refused here without which open files cannot be told apart, and in @error
 * why (an errno); NULL if none is. A filter of system calls (seccomp) or a kernel without it refuses
 * it of any process: our own is asked about.
 */
const char *open_file_refused(int *error);

/*
 * The number of the open file behind descriptor @fd of thread @tid of @pid, whose device and inode @backing tells:
 * the same for the same open file. 0 if that cannot be told (no memory, Linux before 5.6).
 */
uint64_t open_file_id(struct open_files *files, pid_t pid, pid_t tid, int fd,
		     const struct vma_backing *backing);

/* Forgets the open files that no area of @space maps any more. */
void open_file_prune(struct open_files *files, const struct vmspace *space);

/* After a fork: the child maps what its parent maps. What cannot be copied is left out. */
void open_file_copy(struct open_files *child, const struct open_files *parent);

/* Forgets all. */
void open_file_clear(struct open_files *files);

#endif
