/* SPDX-License-Identifier: MIT */
/* guards.c - tries whether the system has guards in shared memory, and keeps its word about them. */
#include <errno.h>
#include <pthread.h>
#include <unistd.h>

#include "guards.h"

/* An emulated system may ignore advice that it does not know: what was asked for has to show. */
static bool is_guarded(char *at, size_t page)
{
	return madvise(at, page, MADV_POPULATE_READ) && errno == EFAULT;
}

/* Install a guard and move it from `from` to `at`, each a page of shared memory. */
static bool guard_moves(char *from, char *at, size_t page)
{
	if (madvise(from, page, MADV_GUARD_INSTALL) || !is_guarded(from, page))
		return false;
	return mremap(from, page, page, MREMAP_MAYMOVE | MREMAP_FIXED, at) == at &&
	       is_guarded(at, page);
}

static bool guard_stays(char *at, size_t page)
{
	if (mprotect(at, page, PROT_READ) || !is_guarded(at, page))
		return false;
	if (mprotect(at, page, PROT_READ | PROT_WRITE) || madvise(at, page, MADV_REMOVE) ||
	    !is_guarded(at, page))
		return false;
	return !madvise(at, page, MADV_GUARD_REMOVE) && !madvise(at, page, MADV_POPULATE_READ);
}

static char *new_page(size_t page)
{
	char *at = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	return at == MAP_FAILED ? NULL : at;
}

static bool found;

static void try(void)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	char *from = new_page(page), *at = new_page(page);
	bool moves = from && at && guard_moves(from, at, page);

	found = moves && guard_stays(at, page);
	if (from && !moves)
		munmap(from, page);
	if (at)
		munmap(at, page);
}

bool guards_exist(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, try);
	return found;
}
