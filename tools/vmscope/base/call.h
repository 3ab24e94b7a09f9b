/* SPDX-License-Identifier: MIT */
/* The system calls that vmscope stops at: one table for the filter, the tracer and the log. */
#ifndef VMSCOPE_BASE_CALL_H
#define VMSCOPE_BASE_CALL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum call_id {
	CALL_MMAP,
	CALL_MUNMAP,
	CALL_MPROTECT,
	CALL_PKEY_MPROTECT,
	CALL_PKEY_ALLOC,
	CALL_PKEY_FREE,
	CALL_MREMAP,
	CALL_BRK,
	CALL_MADVISE,
	CALL_PROCESS_MADVISE,
	CALL_MLOCK,
	CALL_MLOCK2,
	CALL_MUNLOCK,
	CALL_MLOCKALL,
	CALL_MUNLOCKALL,
	CALL_PRCTL,
	CALL_SHMAT,
	CALL_SHMDT,
	CALL_REMAP_FILE_PAGES,
	CALL_MSEAL,
	CALL_MBIND,
	CALL_SET_HOME_NODE,
	CALL_IO_SETUP,
	CALL_IO_DESTROY,
	CALL_IOCTL,
	CALL_PERSONALITY,
	CALL_SETRLIMIT,
	CALL_PRLIMIT,
	CALL_FORK,
	CALL_CLONE,
	CALL_CLONE3,
	CALL_EXECVE,
	CALL_EXECVEAT,
	CALL_KINDS
};

/* Which calls of a kind stop the program, judged by one of their arguments. */
enum call_test {
	TEST_NONE,		/* all of them */
	TEST_ONE_OF,		/* those whose argument (its low 32 bits) is in values[] */
	TEST_NONE_OF,		/* those whose argument is not in values[] */
	TEST_BITS_CLEAR,	/* those with (argument & values[0]) == 0 */
};

enum { CALL_VALUES = 10 };

struct call_kind {
	const char *name;
	enum call_id id;
	int nr;			/* system call number; -1: this architecture has none */
	int nargs;
	enum call_test test;
	int test_arg;
	unsigned int nvalues;
	uint32_t values[CALL_VALUES];
};

/* What was copied of the caller's memory at a call. */
struct call_memory {
	uint64_t addr;
	size_t size;		/* 0: nothing, or it could not be read */
	const unsigned char *bytes;
	uint64_t uffd_inode, uffd_features;	/* of the userfaultfd of an ioctl; 0: none, or not known */
	bool own;		/* the call has had the lock of its own process's areas */
};

/* One system call by one thread. */
struct call {
	const struct call_kind *kind;
	uint64_t args[6];
	int64_t result;		/* -errno on failure; valid after the exit only */
	uint64_t number;	/* counts mirrored calls from 1; 0: not mirrored */
	const struct call_memory *memory;	/* NULL: its thread is stopped in it, and shows its memory */
};

/* All kinds, call_kinds[id].id == id. */
extern const struct call_kind call_kinds[CALL_KINDS];

/*
 * The kind with system call number @nr, or NULL. Whether a call of this kind stops the program also
 * depends on its arguments: see call_passes().
 */
const struct call_kind *call_find(uint64_t nr);

/* Whether a call of @kind with @args stops the program, by the same rule as in the filter. */
bool call_passes(const struct call_kind *kind, const uint64_t args[6]);

/* Whether @kind creates a process or a thread. */
bool call_is_clone(const struct call_kind *kind);

/* Whether @kind replaces the program. */
bool call_is_exec(const struct call_kind *kind);

/*
 * Formats @call as "munmap(0x7f0000001000, 0x2000) = 0" into @buf of @size bytes, truncating it if
 * necessary. Omits the result unless @done.
 */
void call_format(const struct call *call, bool done, char *buf, size_t size);

#endif
