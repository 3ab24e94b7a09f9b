/* SPDX-License-Identifier: MIT */
/* The system calls that vmscope stops at: one table for the filter, the tracer and the log. */
#include "base/call.h"

#include <errno.h>
#include <inttypes.h>
#include <linux/prctl.h>
#include <linux/sched.h>
#include <linux/userfaultfd.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>

/* Newer than the headers of Debian 12. */
#ifndef SYS_set_mempolicy_home_node
#define SYS_set_mempolicy_home_node 450
#endif
#ifndef SYS_mseal
#define SYS_mseal 462
#endif
#ifndef PR_SET_MEMORY_MERGE
#define PR_SET_MEMORY_MERGE 67
#endif
#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25
#endif

#ifdef SYS_fork
#define NR_FORK SYS_fork
#else
#define NR_FORK -1
#endif

#define ALWAYS .test = TEST_NONE

const struct call_kind call_kinds[CALL_KINDS] = {
	[CALL_MMAP] = { "mmap", CALL_MMAP, SYS_mmap, 6, ALWAYS },
	[CALL_MUNMAP] = { "munmap", CALL_MUNMAP, SYS_munmap, 2, ALWAYS },
	[CALL_MPROTECT] = { "mprotect", CALL_MPROTECT, SYS_mprotect, 3, ALWAYS },
	[CALL_PKEY_MPROTECT] = { "pkey_mprotect", CALL_PKEY_MPROTECT, SYS_pkey_mprotect, 4,
				 ALWAYS },
	[CALL_PKEY_ALLOC] = { "pkey_alloc", CALL_PKEY_ALLOC, SYS_pkey_alloc, 2, ALWAYS },
	[CALL_PKEY_FREE] = { "pkey_free", CALL_PKEY_FREE, SYS_pkey_free, 1, ALWAYS },
	[CALL_MREMAP] = { "mremap", CALL_MREMAP, SYS_mremap, 5, ALWAYS },
	[CALL_BRK] = { "brk", CALL_BRK, SYS_brk, 1, ALWAYS },
	/* Advice that neither changes areas nor discards anonymous pages does not matter here. */
	[CALL_MADVISE] = { "madvise", CALL_MADVISE, SYS_madvise, 3, TEST_NONE_OF, 2, 7,
			   { MADV_WILLNEED, MADV_COLD, MADV_PAGEOUT, MADV_POPULATE_READ,
			     MADV_POPULATE_WRITE, MADV_COLLAPSE, MADV_HWPOISON } },
	[CALL_PROCESS_MADVISE] = { "process_madvise", CALL_PROCESS_MADVISE, SYS_process_madvise, 5,
				   TEST_NONE_OF, 3, 5,
				   { MADV_WILLNEED, MADV_COLD, MADV_PAGEOUT, MADV_POPULATE_READ,
				     MADV_COLLAPSE } },
	[CALL_MLOCK] = { "mlock", CALL_MLOCK, SYS_mlock, 2, ALWAYS },
	[CALL_MLOCK2] = { "mlock2", CALL_MLOCK2, SYS_mlock2, 3, ALWAYS },
	[CALL_MUNLOCK] = { "munlock", CALL_MUNLOCK, SYS_munlock, 2, ALWAYS },
	[CALL_MLOCKALL] = { "mlockall", CALL_MLOCKALL, SYS_mlockall, 1, ALWAYS },
	[CALL_MUNLOCKALL] = { "munlockall", CALL_MUNLOCKALL, SYS_munlockall, 0, ALWAYS },
	[CALL_PRCTL] = { "prctl", CALL_PRCTL, SYS_prctl, 5, TEST_ONE_OF, 0, 3,
			 { PR_SET_VMA, PR_SET_MM, PR_SET_MEMORY_MERGE } },
	[CALL_SHMAT] = { "shmat", CALL_SHMAT, SYS_shmat, 3, ALWAYS },
	[CALL_SHMDT] = { "shmdt", CALL_SHMDT, SYS_shmdt, 1, ALWAYS },
	[CALL_REMAP_FILE_PAGES] = { "remap_file_pages", CALL_REMAP_FILE_PAGES,
				    SYS_remap_file_pages, 5, ALWAYS },
	[CALL_MSEAL] = { "mseal", CALL_MSEAL, SYS_mseal, 3, ALWAYS },
	[CALL_MBIND] = { "mbind", CALL_MBIND, SYS_mbind, 6, ALWAYS },
	[CALL_SET_HOME_NODE] = { "set_mempolicy_home_node", CALL_SET_HOME_NODE,
				 SYS_set_mempolicy_home_node, 4, ALWAYS },
	[CALL_IO_SETUP] = { "io_setup", CALL_IO_SETUP, SYS_io_setup, 2, ALWAYS },
	[CALL_IO_DESTROY] = { "io_destroy", CALL_IO_DESTROY, SYS_io_destroy, 1, ALWAYS },
	[CALL_IOCTL] = { "ioctl", CALL_IOCTL, SYS_ioctl, 3, TEST_ONE_OF, 1, 2,
			 { (uint32_t)UFFDIO_REGISTER, (uint32_t)UFFDIO_UNREGISTER } },
	[CALL_PERSONALITY] = { "personality", CALL_PERSONALITY, SYS_personality, 1, TEST_NONE_OF,
			       0, 1, { 0xffffffff } },
	[CALL_SETRLIMIT] = { "setrlimit", CALL_SETRLIMIT, SYS_setrlimit, 2, TEST_ONE_OF, 0, 4,
			     { RLIMIT_STACK, RLIMIT_AS, RLIMIT_DATA, RLIMIT_MEMLOCK } },
	[CALL_PRLIMIT] = { "prlimit64", CALL_PRLIMIT, SYS_prlimit64, 4, TEST_ONE_OF, 1, 4,
			   { RLIMIT_STACK, RLIMIT_AS, RLIMIT_DATA, RLIMIT_MEMLOCK } },
	[CALL_FORK] = { "fork", CALL_FORK, NR_FORK, 0, ALWAYS },
	/* With CLONE_VM nothing is copied, so there is nothing to order. */
	[CALL_CLONE] = { "clone", CALL_CLONE, SYS_clone, 5, TEST_BITS_CLEAR, 0, 1, { CLONE_VM } },
	[CALL_CLONE3] = { "clone3", CALL_CLONE3, SYS_clone3, 2, ALWAYS },
	[CALL_EXECVE] = { "execve", CALL_EXECVE, SYS_execve, 3, ALWAYS },
	[CALL_EXECVEAT] = { "execveat", CALL_EXECVEAT, SYS_execveat, 5, ALWAYS },
};

const struct call_kind *call_find(uint64_t nr)
{
	for (size_t i = 0; i < CALL_KINDS; i++)
		if (call_kinds[i].nr >= 0 && (uint64_t)call_kinds[i].nr == nr)
			return &call_kinds[i];
	return NULL;
}

bool call_passes(const struct call_kind *kind, const uint64_t args[6])
{
	uint32_t value = (uint32_t)args[kind->test_arg];
	bool listed = false;

	for (unsigned int i = 0; i < kind->nvalues; i++)
		listed |= kind->values[i] == value;
	switch (kind->test) {
	case TEST_ONE_OF:
		return listed;
	case TEST_NONE_OF:
		return !listed;
	case TEST_BITS_CLEAR:
		return (value & kind->values[0]) == 0;
	case TEST_NONE:
		break;
	}
	return true;
}

bool call_is_clone(const struct call_kind *kind)
{
	return kind->id == CALL_FORK || kind->id == CALL_CLONE || kind->id == CALL_CLONE3;
}

bool call_is_exec(const struct call_kind *kind)
{
	return kind->id == CALL_EXECVE || kind->id == CALL_EXECVEAT;
}

void call_format(const struct call *call, bool done, char *buf, size_t size)
{
	size_t used = (size_t)snprintf(buf, size, "%s(", call->kind->name);

	for (int i = 0; i < call->kind->nargs && used < size; i++)
		used += (size_t)snprintf(buf + used, size - used, "%s%#" PRIx64, i ? ", " : "",
					 call->args[i]);
	if (used < size)
		used += (size_t)snprintf(buf + used, size - used, ")");
	if (!done || used >= size)
		return;
	if (call->result < 0 && call->result >= -4095) {
		const char *name = strerrorname_np((int)-call->result);

		snprintf(buf + used, size - used, " = %" PRId64 " (%s)", call->result,
			 name ? name : "an unknown error");
	} else {
		snprintf(buf + used, size - used, " = %#" PRIx64, (uint64_t)call->result);
	}
}
