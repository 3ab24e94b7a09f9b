/* SPDX-License-Identifier: MIT */
/* The system calls that vmscope stops at: one table, read by the filter, the tracer and the log. */
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

/* How the filter narrows a call by one of its arguments before it stops the program. */
enum call_test {
	TEST_NONE,		/* stop always */
	TEST_ONE_OF,		/* stop if the low 32 bits of the argument are one of values[] */
	TEST_NONE_OF,		/* stop unless they are */
	TEST_BITS_CLEAR,	/* stop if (argument & values[0]) == 0 */
};

enum { CALL_VALUES = 10 };

struct call_kind {
	const char *name;
	enum call_id id;
	int nr;			/* the number on the native architecture, -1 if it has none */
	int nargs;
	enum call_test test;
	int test_arg;
	unsigned int nvalues;
	uint32_t values[CALL_VALUES];
};

/* One call of one thread, from its entry to its result. */
struct call {
	const struct call_kind *kind;
	uint64_t args[6];
	int64_t result;		/* -errno on failure; valid after the exit only */
	uint64_t number;	/* 1 for the first call mirrored in this run, and so on */
};

/* All kinds, call_kinds[id].id == id. */
extern const struct call_kind call_kinds[CALL_KINDS];

/*
 * The kind that stops at native system call number @nr, NULL if none does. Says nothing of the
 * arguments: see call_passes().
 */
const struct call_kind *call_find(uint64_t nr);

/* Whether a call of @kind with @args would be stopped at, by the rule that the filter applies. */
bool call_passes(const struct call_kind *kind, const uint64_t args[6]);

/* Whether @kind makes a process or a thread. */
bool call_is_clone(const struct call_kind *kind);

/* Whether @kind replaces the program. */
bool call_is_exec(const struct call_kind *kind);

/*
 * Writes @call as "munmap(0x7f0000001000, 0x2000) = 0" into @buf of @size bytes, cut short
 * if it does not fit. Without @done the result is left out.
 */
void call_format(const struct call *call, bool done, char *buf, size_t size);

#endif
