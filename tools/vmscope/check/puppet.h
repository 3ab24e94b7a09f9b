/* SPDX-License-Identifier: MIT */
/*
 * A real process whose address space is under control: it makes the system calls and touches the
 * pages that it is told, and nothing else.
 */
#ifndef VMSCOPE_CHECK_PUPPET_H
#define VMSCOPE_CHECK_PUPPET_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum { PUPPET_MAX = 8 };	/* alive at once: each needs a channel made before the first starts */

/* Instead of a result: the puppet has died, or does not answer. */
#define PUPPET_GONE LONG_MIN

enum { PUPPET_SCRATCH_BYTES = 65536 };

/* A userfaultfd of a puppet: see puppetuffd.h. */
enum { PUPPET_UFFDS = 6 };
struct puppet_uffd {
	unsigned int context;	/* its number, of the caller's choice; > 0 */
	int fd;			/* here; the puppet has none */
	uint64_t features;	/* UFFD_FEATURE_* */
};

struct puppet {
	pid_t pid;
	int channel;		/* which pair of descriptors */
	unsigned long scratch;	/* PUPPET_SCRATCH_BYTES there, for what calls are pointed to */
	struct puppet_uffd uffds[PUPPET_UFFDS]; /* uffd_count of them, no two of one context */
	unsigned int uffd_count;
};

/* The descriptors of files that puppets inherit; the same numbers here and there. */
enum puppet_file {
	PUPPET_FILE_RW, PUPPET_FILE_RW_AGAIN, PUPPET_FILE_RDONLY, PUPPET_FILE_OTHER,
	PUPPET_MEMFD, PUPPET_PIPE, /* cannot be mapped */
	PUPPET_ZERO, /* /dev/zero: not among the random calls, see docs/fidelity.md */
	PUPPET_FILE_COUNT,
};
int puppet_fd(enum puppet_file file);

/* Opens these files, once in each process that starts puppets. Returns 0 or -errno. */
int puppet_open_files(void);

/*
 * Starts the first one of a family, when none is left of the family before. @personality: see
 * personality(2); ADDR_NO_RANDOMIZE gives the same addresses each time. Returns 0 or -errno.
 */
int puppet_start(struct puppet *puppet, unsigned long personality);

/* Lets a puppet make a system call; the raw result, or PUPPET_GONE. */
long puppet_call(const struct puppet *puppet, long number, const unsigned long args[6]);

/* Copies at most PUPPET_SCRATCH_BYTES into a puppet's scratch memory. False: it is gone. */
bool puppet_write_scratch(const struct puppet *puppet, const void *from, size_t size);

/*
 * Touches a page: 0, -EFAULT (no area), -EACCES (not permitted), -EIO (bus error), or PUPPET_GONE.
 */
long puppet_touch(const struct puppet *puppet, unsigned long addr, bool write);

/*
 * Forks a puppet. The child has the userfaultfds whose UFFD_FEATURE_EVENT_FORK gave it one, under
 * the same numbers, and no other. Returns 0, -errno of the fork, or PUPPET_GONE.
 */
long puppet_fork(const struct puppet *puppet, struct puppet *child);

/* Takes all of its capabilities away. Returns 0 or -errno, or PUPPET_GONE. */
long puppet_drop_privileges(const struct puppet *puppet);

/* Kills it and waits for its end. */
void puppet_end(struct puppet *puppet);

#endif
