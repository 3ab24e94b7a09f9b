/* SPDX-License-Identifier: MIT */
/*
 * A process under remote control: it makes the system calls and touches the pages that it is told
 * to, and nothing else.
 */
#ifndef VMSCOPE_CHECK_PUPPET_H
#define VMSCOPE_CHECK_PUPPET_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum { PUPPET_MAX = 8 };	/* alive at once: the channels exist before the first starts */

/* Returned instead of a result: the puppet has died, or does not answer. */
#define PUPPET_GONE LONG_MIN

enum { PUPPET_SCRATCH_BYTES = 65536 };

/* A userfaultfd of a puppet: see check/puppet_uffd.h. */
enum { PUPPET_UFFDS = 6 };
struct puppet_uffd {
	unsigned int context;	/* its number, chosen by the caller; > 0 */
	int fd;			/* in this process; the puppet has none */
	uint64_t features;	/* UFFD_FEATURE_* */
};

struct puppet {
	pid_t pid;
	int channel;		/* number of its channel */
	unsigned long scratch;	/* address of PUPPET_SCRATCH_BYTES for data of calls */
	unsigned long unwritable; /* an address that is always mapped, and never to be written */
	struct puppet_uffd uffds[PUPPET_UFFDS]; /* uffd_count, of different contexts */
	unsigned int uffd_count;
};

/*
 * Starts the first puppet of a family; none of the previous family may be left. @personality: see
 * personality(2); with ADDR_NO_RANDOMIZE addresses are the same each time. Returns 0 or -errno.
 */
int puppet_start(struct puppet *puppet, unsigned long personality);

/* Has a puppet make a system call. Returns the raw result, or PUPPET_GONE. */
long puppet_call(const struct puppet *puppet, long number, const unsigned long args[6]);

/* Copies at most PUPPET_SCRATCH_BYTES into a puppet's scratch memory. False: the puppet is gone. */
bool puppet_write_scratch(const struct puppet *puppet, const void *from, size_t size);

/*
 * Has a puppet touch a page. Returns 0, -EFAULT (no area), -EACCES (no permission), -EIO (SIGBUS)
 * or PUPPET_GONE.
 */
long puppet_touch(const struct puppet *puppet, unsigned long addr, bool write);

/*
 * Forks a puppet. The child inherits the userfaultfds with UFFD_FEATURE_EVENT_FORK, under the same
 * numbers, and no others. Returns 0, -errno of the fork, or PUPPET_GONE.
 */
long puppet_fork(const struct puppet *puppet, struct puppet *child);

/* Drops all capabilities of a puppet. Returns 0, -errno or PUPPET_GONE. */
long puppet_drop_privileges(const struct puppet *puppet);

/*
 * Takes the capabilities @off (bits) out of a puppet's effective set, and puts all others in that
 * it is permitted. Returns 0, -errno or PUPPET_GONE.
 */
long puppet_suspend_privileges(const struct puppet *puppet, unsigned long off);

/* Kills a puppet and waits for it. */
void puppet_end(struct puppet *puppet);

#endif
