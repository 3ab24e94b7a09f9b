/* SPDX-License-Identifier: MIT */
/* The named mixes of random calls. */
#include <string.h>

#include "choose.h"

static const struct mix mixes[] = {
	{ "all", "a bit of everything, and rounds of each of the others",
	  { [MAKE_MMAP] = 68, [MAKE_MMAP_FILE] = 32, [MAKE_MMAP_SHARED] = 8, [MAKE_MUNMAP] = 32,
	    [MAKE_MPROTECT] = 72, [MAKE_MREMAP] = 40, [MAKE_BRK] = 20, [MAKE_MADVISE] = 40,
	    [MAKE_MLOCK] = 24, [MAKE_MLOCKALL] = 3, [MAKE_FAULT] = 88, [MAKE_SHM] = 8,
	    [MAKE_REMAP_PAGES] = 4, [MAKE_MSEAL] = 1, [MAKE_MSYNC] = 4, [MAKE_MINCORE] = 4,
	    [MAKE_POLICY] = 8, [MAKE_PROCESS_MADVISE] = 4, [MAKE_NAME] = 4,
	    [MAKE_UFFD] = 8, [MAKE_FORK] = 4, [MAKE_EXIT] = 2 } },
	{ "map", "mmap and munmap",
	  { [MAKE_MMAP] = 30, [MAKE_MMAP_FILE] = 8, [MAKE_MMAP_SHARED] = 3, [MAKE_MUNMAP] = 15,
	    [MAKE_FAULT] = 10, [MAKE_BRK] = 1 } },
	{ "protect", "mprotect",
	  { [MAKE_MMAP] = 8, [MAKE_MMAP_FILE] = 3, [MAKE_MUNMAP] = 3, [MAKE_MPROTECT] = 30,
	    [MAKE_FAULT] = 15, [MAKE_MSEAL] = 1 } },
	{ "move", "mremap",
	  { [MAKE_MMAP] = 12, [MAKE_MMAP_FILE] = 5, [MAKE_MMAP_SHARED] = 2, [MAKE_MUNMAP] = 3,
	    [MAKE_MPROTECT] = 4, [MAKE_MREMAP] = 30, [MAKE_FAULT] = 15, [MAKE_MLOCK] = 2 } },
	{ "brk", "the program break, and what is put in its way",
	  { [MAKE_MMAP] = 4, [MAKE_MUNMAP] = 4, [MAKE_MPROTECT] = 4, [MAKE_MREMAP] = 2,
	    [MAKE_BRK] = 30, [MAKE_MADVISE] = 2, [MAKE_MLOCK] = 2, [MAKE_MLOCKALL] = 1,
	    [MAKE_FAULT] = 10, [MAKE_FORK] = 1, [MAKE_EXIT] = 1 } },
	{ "lock", "mlock, mlock2, munlock, mlockall, munlockall",
	  { [MAKE_MMAP] = 12, [MAKE_MMAP_FILE] = 5, [MAKE_MMAP_SHARED] = 2, [MAKE_MUNMAP] = 6,
	    [MAKE_MPROTECT] = 6, [MAKE_MREMAP] = 6, [MAKE_BRK] = 2, [MAKE_MLOCK] = 20,
	    [MAKE_MLOCKALL] = 6, [MAKE_FAULT] = 8 } },
	{ "fork", "fork, whose children go on by themselves",
	  { [MAKE_MMAP] = 12, [MAKE_MMAP_FILE] = 3, [MAKE_MMAP_SHARED] = 2, [MAKE_MUNMAP] = 6,
	    [MAKE_MPROTECT] = 8, [MAKE_MREMAP] = 6, [MAKE_BRK] = 3, [MAKE_MADVISE] = 6,
	    [MAKE_MLOCK] = 1, [MAKE_FAULT] = 15, [MAKE_FORK] = 5, [MAKE_EXIT] = 5 } },
	{ "advise", "madvise, process_madvise, names of areas",
	  { [MAKE_MMAP] = 12, [MAKE_MMAP_FILE] = 4, [MAKE_MMAP_SHARED] = 2, [MAKE_MUNMAP] = 3,
	    [MAKE_MADVISE] = 25, [MAKE_PROCESS_MADVISE] = 8, [MAKE_NAME] = 6,
	    [MAKE_FAULT] = 10, [MAKE_FORK] = 1, [MAKE_EXIT] = 1 } },
	{ "present", "what makes pages present, and guards and huge pages, which decide about it",
	  { [MAKE_MMAP] = 12, [MAKE_MMAP_FILE] = 6, [MAKE_MMAP_SHARED] = 1, [MAKE_MUNMAP] = 5,
	    [MAKE_MPROTECT] = 8, [MAKE_MREMAP] = 5, [MAKE_BRK] = 1, [MAKE_MADVISE] = 25,
	    [MAKE_MLOCK] = 12, [MAKE_MLOCKALL] = 2, [MAKE_FAULT] = 12, [MAKE_FORK] = 1,
	    [MAKE_EXIT] = 1 } },
	{ "policy", "mbind, set_mempolicy_home_node",
	  { [MAKE_MMAP] = 12, [MAKE_MMAP_FILE] = 4, [MAKE_MMAP_SHARED] = 3, [MAKE_MUNMAP] = 4,
	    [MAKE_MPROTECT] = 5, [MAKE_MREMAP] = 8, [MAKE_BRK] = 2, [MAKE_FAULT] = 8,
	    [MAKE_POLICY] = 25, [MAKE_FORK] = 1, [MAKE_EXIT] = 1 } },
	{ "walk", "calls that look at areas and leave them: msync, mincore",
	  { [MAKE_MMAP] = 8, [MAKE_MMAP_FILE] = 6, [MAKE_MMAP_SHARED] = 4, [MAKE_MUNMAP] = 6,
	    [MAKE_MLOCK] = 4, [MAKE_FAULT] = 4, [MAKE_MSYNC] = 12, [MAKE_MINCORE] = 12 } },
	{ "files", "mappings of files, remap_file_pages",
	  { [MAKE_MMAP_FILE] = 25, [MAKE_MUNMAP] = 6, [MAKE_MPROTECT] = 8, [MAKE_MREMAP] = 8,
	    [MAKE_MADVISE] = 3, [MAKE_FAULT] = 12, [MAKE_REMAP_PAGES] = 8 } },
	{ "shm", "System V and anonymous shared memory",
	  { [MAKE_MMAP] = 3, [MAKE_MMAP_SHARED] = 12, [MAKE_MUNMAP] = 5, [MAKE_MPROTECT] = 5,
	    [MAKE_MREMAP] = 6, [MAKE_FAULT] = 8, [MAKE_SHM] = 25, [MAKE_REMAP_PAGES] = 3,
	    [MAKE_FORK] = 1, [MAKE_EXIT] = 1 } },
	{ "uffd", "userfaultfd: what is registered, and what becomes of it",
	  { [MAKE_MMAP] = 14, [MAKE_MMAP_FILE] = 4, [MAKE_MMAP_SHARED] = 4, [MAKE_MUNMAP] = 4,
	    [MAKE_MPROTECT] = 10, [MAKE_MREMAP] = 14, [MAKE_BRK] = 3, [MAKE_MADVISE] = 6,
	    [MAKE_MLOCK] = 3, [MAKE_MLOCKALL] = 1, [MAKE_FAULT] = 12, [MAKE_SHM] = 3,
	    [MAKE_REMAP_PAGES] = 1, [MAKE_POLICY] = 2, [MAKE_NAME] = 2, [MAKE_UFFD] = 35,
	    [MAKE_FORK] = 3, [MAKE_EXIT] = 2 } },
};

const struct mix *mix_find(const char *name)
{
	for (size_t i = 0; i < sizeof(mixes) / sizeof(mixes[0]); i++)
		if (strcmp(mixes[i].name, name) == 0)
			return &mixes[i];
	return NULL;
}

const struct mix *mix_nth(size_t n)
{
	return n < sizeof(mixes) / sizeof(mixes[0]) ? &mixes[n] : NULL;
}
