/* SPDX-License-Identifier: MIT */
/* The files that random calls map: one of each kind that the kernel treats in a way of its own. */
#ifndef VMSCOPE_CHECK_FILES_H
#define VMSCOPE_CHECK_FILES_H

#include <mapletree/vmspace.h>
#include <stdbool.h>
#include <stdint.h>

/* Puppets inherit them; the descriptors have the same numbers in this process. */
enum puppet_file {
	PUPPET_FILE_RW, PUPPET_FILE_RW_AGAIN, PUPPET_FILE_RDONLY, PUPPET_FILE_OTHER, PUPPET_MEMFD,
	PUPPET_PIPE,		/* cannot be mapped */
	PUPPET_ZERO,		/* random calls map it shared only, see docs/fidelity.md */
	PUPPET_WRONLY, PUPPET_PATH, PUPPET_NAMED, PUPPET_TMPFS, PUPPET_NOEXEC, PUPPET_RDONLY_MOUNT,
	PUPPET_SEAL_WRITE, PUPPET_SEAL_FUTURE, PUPPET_SEAL_SIZE, PUPPET_HUGE, PUPPET_EXECUTABLE,
	PUPPET_DIRECTORY, PUPPET_SOCKET, PUPPET_EVENT, PUPPET_NULL, PUPPET_PROC, PUPPET_IO_URING,
	PUPPET_PERF,
	PUPPET_FILE_COUNT,
};

int puppet_fd(enum puppet_file file);

/*
 * Opens those of them that this user may have. To be called once by each process that starts
 * puppets. Returns 0, or -errno if one of the first six is missing.
 */
int puppet_open_files(void);

/* What random calls need to know of a file. */
struct puppet_file_info {
	bool there;			/* this user may have it */
	unsigned long bytes;		/* up to where its pages can be touched */
	bool driver_refuses;		/* to map it at all */
	/* What the driver lets be mapped, shared, where there is room; 0: anything. */
	unsigned long driver_bytes;
	unsigned long driver_offsets[3];
	vma_flags_t driver_flags;	/* that the driver adds */
};

const struct puppet_file_info *puppet_file_info(enum puppet_file file);

#endif
