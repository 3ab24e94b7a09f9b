/* SPDX-License-Identifier: MIT */
/*
 * puppet.h - a real process whose address space is under control: it makes the system calls and
 * touches the pages that it is told, and nothing else.
 */
#ifndef TESTS_VMSPACE_PUPPET_H
#define TESTS_VMSPACE_PUPPET_H

#include <stdbool.h>
#include <sys/types.h>

#define PUPPET_MAX 6    /* alive at once: each needs a channel made before the first starts */

/* Personality of puppets started from now on (ADDR_NO_RANDOMIZE: the same addresses each time). */
extern unsigned long puppet_personality;

struct puppet {
	pid_t pid;
	int channel;         /* which pair of descriptors */
};

/* The descriptors of files that puppets inherit; the same numbers here and there. */
enum puppet_file {
	PUPPET_FILE_RW, PUPPET_FILE_RW_AGAIN, PUPPET_FILE_RDONLY, PUPPET_FILE_OTHER,
	PUPPET_MEMFD, PUPPET_PIPE, /* cannot be mapped */
	PUPPET_FILE_COUNT,
};
int puppet_fd(enum puppet_file file);

/* Start the first one: the program vmspace_puppet, beside this one. */
void puppet_start(struct puppet *puppet);
/* Let a puppet make a system call; the raw result. */
long puppet_call(const struct puppet *puppet, long number, const unsigned long args[6]);
/* Touch a page: 0, -EFAULT (no area), -EACCES (not permitted), -EIO (bus error). */
long puppet_touch(const struct puppet *puppet, unsigned long addr, bool write);
/* Take all of a puppet's capabilities away. */
void puppet_drop_privileges(const struct puppet *puppet);
/* Fork a puppet. */
void puppet_fork(const struct puppet *puppet, struct puppet *child);
void puppet_end(struct puppet *puppet);

#endif
