/* SPDX-License-Identifier: MIT */
/* The named mixes of random calls. */
#include <string.h>

#include "check/generator.h"

static const struct mix mixes[] = {
	{ "all", "a bit of everything, and rounds of each of the others",
	  { [RANDOM_MMAP] = 68, [RANDOM_MMAP_FILE] = 32, [RANDOM_MMAP_SHARED] = 8, [RANDOM_MUNMAP] = 32,
	    [RANDOM_MPROTECT] = 72, [RANDOM_MREMAP] = 40, [RANDOM_BRK] = 20, [RANDOM_MADVISE] = 40,
	    [RANDOM_MLOCK] = 24, [RANDOM_MLOCKALL] = 3, [RANDOM_FAULT] = 88, [RANDOM_SHM] = 8,
	    [RANDOM_REMAP_PAGES] = 4, [RANDOM_MSEAL] = 1, [RANDOM_MSYNC] = 4, [RANDOM_MINCORE] = 4,
	    [RANDOM_POLICY] = 8, [RANDOM_PROCESS_MADVISE] = 4, [RANDOM_NAME] = 4,
	    [RANDOM_UFFD] = 8, [RANDOM_FORK] = 4, [RANDOM_EXIT] = 2 } },
	{ "map", "mmap and munmap",
	  { [RANDOM_MMAP] = 30, [RANDOM_MMAP_FILE] = 8, [RANDOM_MMAP_SHARED] = 3, [RANDOM_MUNMAP] = 15,
	    [RANDOM_FAULT] = 10, [RANDOM_BRK] = 1 } },
	{ "protect", "mprotect",
	  { [RANDOM_MMAP] = 8, [RANDOM_MMAP_FILE] = 3, [RANDOM_MUNMAP] = 3, [RANDOM_MPROTECT] = 30,
	    [RANDOM_FAULT] = 15, [RANDOM_MSEAL] = 1 } },
	{ "move", "mremap",
	  { [RANDOM_MMAP] = 12, [RANDOM_MMAP_FILE] = 5, [RANDOM_MMAP_SHARED] = 2, [RANDOM_MUNMAP] = 3,
	    [RANDOM_MPROTECT] = 4, [RANDOM_MREMAP] = 30, [RANDOM_FAULT] = 15, [RANDOM_MLOCK] = 2 } },
	{ "brk", "the program break, and what is put in its way",
	  { [RANDOM_MMAP] = 4, [RANDOM_MUNMAP] = 4, [RANDOM_MPROTECT] = 4, [RANDOM_MREMAP] = 2,
	    [RANDOM_BRK] = 30, [RANDOM_MADVISE] = 2, [RANDOM_MLOCK] = 2, [RANDOM_MLOCKALL] = 1,
	    [RANDOM_FAULT] = 10, [RANDOM_FORK] = 1, [RANDOM_EXIT] = 1 } },
	{ "lock", "mlock, mlock2, munlock, mlockall, munlockall",
	  { [RANDOM_MMAP] = 12, [RANDOM_MMAP_FILE] = 5, [RANDOM_MMAP_SHARED] = 2, [RANDOM_MUNMAP] = 6,
	    [RANDOM_MPROTECT] = 6, [RANDOM_MREMAP] = 6, [RANDOM_BRK] = 2, [RANDOM_MLOCK] = 20,
	    [RANDOM_MLOCKALL] = 6, [RANDOM_FAULT] = 8 } },
	{ "fork", "fork, whose children go on by themselves",
	  { [RANDOM_MMAP] = 12, [RANDOM_MMAP_FILE] = 3, [RANDOM_MMAP_SHARED] = 2, [RANDOM_MUNMAP] = 6,
	    [RANDOM_MPROTECT] = 8, [RANDOM_MREMAP] = 6, [RANDOM_BRK] = 3, [RANDOM_MADVISE] = 6,
	    [RANDOM_MLOCK] = 1, [RANDOM_FAULT] = 15, [RANDOM_FORK] = 5, [RANDOM_EXIT] = 5 } },
	{ "advise", "madvise, process_madvise, names of areas",
	  { [RANDOM_MMAP] = 12, [RANDOM_MMAP_FILE] = 4, [RANDOM_MMAP_SHARED] = 2, [RANDOM_MUNMAP] = 3,
	    [RANDOM_MADVISE] = 25, [RANDOM_PROCESS_MADVISE] = 8, [RANDOM_NAME] = 6,
	    [RANDOM_FAULT] = 10, [RANDOM_FORK] = 1, [RANDOM_EXIT] = 1 } },
	{ "present", "what makes pages present, and guards and huge pages, which decide about it",
	  { [RANDOM_MMAP] = 12, [RANDOM_MMAP_FILE] = 6, [RANDOM_MMAP_SHARED] = 1, [RANDOM_MUNMAP] = 5,
	    [RANDOM_MPROTECT] = 8, [RANDOM_MREMAP] = 5, [RANDOM_BRK] = 1, [RANDOM_MADVISE] = 25,
	    [RANDOM_MLOCK] = 12, [RANDOM_MLOCKALL] = 2, [RANDOM_FAULT] = 12, [RANDOM_FORK] = 1,
	    [RANDOM_EXIT] = 1 } },
	{ "policy", "mbind, set_mempolicy_home_node",
	  { [RANDOM_MMAP] = 12, [RANDOM_MMAP_FILE] = 4, [RANDOM_MMAP_SHARED] = 3, [RANDOM_MUNMAP] = 4,
	    [RANDOM_MPROTECT] = 5, [RANDOM_MREMAP] = 8, [RANDOM_BRK] = 2, [RANDOM_FAULT] = 8,
	    [RANDOM_POLICY] = 25, [RANDOM_FORK] = 1, [RANDOM_EXIT] = 1 } },
	{ "walk", "calls that look at areas and leave them: msync, mincore",
	  { [RANDOM_MMAP] = 8, [RANDOM_MMAP_FILE] = 6, [RANDOM_MMAP_SHARED] = 4, [RANDOM_MUNMAP] = 6,
	    [RANDOM_MLOCK] = 4, [RANDOM_FAULT] = 4, [RANDOM_MSYNC] = 12, [RANDOM_MINCORE] = 12 } },
	{ "files", "mappings of files, remap_file_pages",
	  { [RANDOM_MMAP_FILE] = 25, [RANDOM_MUNMAP] = 6, [RANDOM_MPROTECT] = 8, [RANDOM_MREMAP] = 8,
	    [RANDOM_MADVISE] = 3, [RANDOM_FAULT] = 12, [RANDOM_REMAP_PAGES] = 8 } },
	{ "shm", "System V and anonymous shared memory",
	  { [RANDOM_MMAP] = 3, [RANDOM_MMAP_SHARED] = 12, [RANDOM_MUNMAP] = 5, [RANDOM_MPROTECT] = 5,
	    [RANDOM_MREMAP] = 6, [RANDOM_FAULT] = 8, [RANDOM_SHM] = 25, [RANDOM_REMAP_PAGES] = 3,
	    [RANDOM_FORK] = 1, [RANDOM_EXIT] = 1 } },
	{ "uffd", "userfaultfd: what is registered, and what becomes of it",
	  { [RANDOM_MMAP] = 14, [RANDOM_MMAP_FILE] = 4, [RANDOM_MMAP_SHARED] = 4, [RANDOM_MUNMAP] = 4,
	    [RANDOM_MPROTECT] = 10, [RANDOM_MREMAP] = 14, [RANDOM_BRK] = 3, [RANDOM_MADVISE] = 6,
	    [RANDOM_MLOCK] = 3, [RANDOM_MLOCKALL] = 1, [RANDOM_FAULT] = 12, [RANDOM_SHM] = 3,
	    [RANDOM_REMAP_PAGES] = 1, [RANDOM_POLICY] = 2, [RANDOM_NAME] = 2, [RANDOM_UFFD] = 35,
	    [RANDOM_FORK] = 3, [RANDOM_EXIT] = 2 } },
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
