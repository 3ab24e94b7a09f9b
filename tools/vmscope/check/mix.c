/* SPDX-License-Identifier: MIT */
/* The named mixes of random calls. */
#include <string.h>

#include "check/generator.h"

static const struct mix mixes[] = {
	{ "all", "a bit of everything, and rounds of each of the others",
	  { [GEN_MMAP] = 68, [GEN_MMAP_FILE] = 32, [GEN_MMAP_SHARED] = 8, [GEN_MUNMAP] = 32,
	    [GEN_MPROTECT] = 72, [GEN_MREMAP] = 40, [GEN_BRK] = 20, [GEN_MADVISE] = 40,
	    [GEN_MLOCK] = 24, [GEN_MLOCKALL] = 3, [GEN_FAULT] = 88, [GEN_SHM] = 8,
	    [GEN_REMAP_PAGES] = 4, [GEN_MSEAL] = 1, [GEN_MSYNC] = 4, [GEN_MINCORE] = 4,
	    [GEN_POLICY] = 8, [GEN_PROCESS_MADVISE] = 4, [GEN_NAME] = 4,
	    [GEN_UFFD] = 8, [GEN_PKEY] = 3, [GEN_SET] = 8, [GEN_FORK] = 4, [GEN_EXIT] = 2 } },
	{ "map", "mmap and munmap",
	  { [GEN_MMAP] = 30, [GEN_MMAP_FILE] = 8, [GEN_MMAP_SHARED] = 3, [GEN_MUNMAP] = 15,
	    [GEN_FAULT] = 10, [GEN_BRK] = 1 } },
	{ "protect", "mprotect, protection keys",
	  { [GEN_MMAP] = 8, [GEN_MMAP_FILE] = 3, [GEN_MUNMAP] = 3, [GEN_MPROTECT] = 30,
	    [GEN_PKEY] = 2, [GEN_FAULT] = 15, [GEN_MSEAL] = 1 } },
	{ "move", "mremap",
	  { [GEN_MMAP] = 12, [GEN_MMAP_FILE] = 5, [GEN_MMAP_SHARED] = 2, [GEN_MUNMAP] = 3,
	    [GEN_MPROTECT] = 4, [GEN_MREMAP] = 30, [GEN_FAULT] = 15, [GEN_MLOCK] = 2 } },
	{ "brk", "the program break, and what is put in its way",
	  { [GEN_MMAP] = 4, [GEN_MUNMAP] = 4, [GEN_MPROTECT] = 4, [GEN_MREMAP] = 2,
	    [GEN_BRK] = 30, [GEN_MADVISE] = 2, [GEN_MLOCK] = 2, [GEN_MLOCKALL] = 1,
	    [GEN_FAULT] = 10, [GEN_FORK] = 1, [GEN_EXIT] = 1 } },
	{ "lock", "mlock, mlock2, munlock, mlockall, munlockall",
	  { [GEN_MMAP] = 12, [GEN_MMAP_FILE] = 5, [GEN_MMAP_SHARED] = 2, [GEN_MUNMAP] = 6,
	    [GEN_MPROTECT] = 6, [GEN_MREMAP] = 6, [GEN_BRK] = 2, [GEN_MLOCK] = 20,
	    [GEN_MLOCKALL] = 6, [GEN_FAULT] = 8 } },
	{ "fork", "fork, whose children go on by themselves",
	  { [GEN_MMAP] = 12, [GEN_MMAP_FILE] = 3, [GEN_MMAP_SHARED] = 2, [GEN_MUNMAP] = 6,
	    [GEN_MPROTECT] = 8, [GEN_MREMAP] = 6, [GEN_BRK] = 3, [GEN_MADVISE] = 6,
	    [GEN_MLOCK] = 1, [GEN_FAULT] = 15, [GEN_FORK] = 5, [GEN_EXIT] = 5 } },
	{ "advise", "madvise, process_madvise, names of areas",
	  { [GEN_MMAP] = 12, [GEN_MMAP_FILE] = 4, [GEN_MMAP_SHARED] = 2, [GEN_MUNMAP] = 3,
	    [GEN_MADVISE] = 25, [GEN_PROCESS_MADVISE] = 8, [GEN_NAME] = 6,
	    [GEN_FAULT] = 10, [GEN_FORK] = 1, [GEN_EXIT] = 1 } },
	{ "present", "what makes pages present, and guards and huge pages, which decide about it",
	  { [GEN_MMAP] = 12, [GEN_MMAP_FILE] = 6, [GEN_MMAP_SHARED] = 1, [GEN_MUNMAP] = 5,
	    [GEN_MPROTECT] = 8, [GEN_MREMAP] = 5, [GEN_BRK] = 1, [GEN_MADVISE] = 25,
	    [GEN_MLOCK] = 12, [GEN_MLOCKALL] = 2, [GEN_FAULT] = 12, [GEN_FORK] = 1,
	    [GEN_EXIT] = 1 } },
	{ "policy", "mbind, set_mempolicy_home_node",
	  { [GEN_MMAP] = 12, [GEN_MMAP_FILE] = 4, [GEN_MMAP_SHARED] = 3, [GEN_MUNMAP] = 4,
	    [GEN_MPROTECT] = 5, [GEN_MREMAP] = 8, [GEN_BRK] = 2, [GEN_FAULT] = 8,
	    [GEN_POLICY] = 25, [GEN_FORK] = 1, [GEN_EXIT] = 1 } },
	{ "walk", "calls that look at areas and leave them: msync, mincore",
	  { [GEN_MMAP] = 8, [GEN_MMAP_FILE] = 6, [GEN_MMAP_SHARED] = 4, [GEN_MUNMAP] = 6,
	    [GEN_MLOCK] = 4, [GEN_FAULT] = 4, [GEN_MSYNC] = 12, [GEN_MINCORE] = 12 } },
	{ "files", "mappings of files, remap_file_pages",
	  { [GEN_MMAP_FILE] = 25, [GEN_MUNMAP] = 6, [GEN_MPROTECT] = 8, [GEN_MREMAP] = 8,
	    [GEN_MADVISE] = 3, [GEN_FAULT] = 12, [GEN_REMAP_PAGES] = 8 } },
	{ "shm", "System V and anonymous shared memory",
	  { [GEN_MMAP] = 3, [GEN_MMAP_SHARED] = 12, [GEN_MUNMAP] = 5, [GEN_MPROTECT] = 5,
	    [GEN_MREMAP] = 6, [GEN_FAULT] = 8, [GEN_SHM] = 25, [GEN_REMAP_PAGES] = 3,
	    [GEN_FORK] = 1, [GEN_EXIT] = 1 } },
	{ "limit", "limits lowered and raised, capabilities, personality, and who runs into them",
	  { [GEN_MMAP] = 24, [GEN_MMAP_FILE] = 6, [GEN_MMAP_SHARED] = 3, [GEN_MUNMAP] = 8,
	    [GEN_MPROTECT] = 8, [GEN_MREMAP] = 16, [GEN_BRK] = 8, [GEN_MADVISE] = 3,
	    [GEN_MLOCK] = 8, [GEN_MLOCKALL] = 8, [GEN_FAULT] = 12, [GEN_SHM] = 10,
	    [GEN_REMAP_PAGES] = 2, [GEN_POLICY] = 3, [GEN_SET] = 14, [GEN_FORK] = 2, [GEN_EXIT] = 1 } },
	{ "uffd", "userfaultfd: what is registered, and what becomes of it",
	  { [GEN_MMAP] = 14, [GEN_MMAP_FILE] = 4, [GEN_MMAP_SHARED] = 4, [GEN_MUNMAP] = 4,
	    [GEN_MPROTECT] = 10, [GEN_MREMAP] = 14, [GEN_BRK] = 3, [GEN_MADVISE] = 6,
	    [GEN_MLOCK] = 3, [GEN_MLOCKALL] = 1, [GEN_FAULT] = 12, [GEN_SHM] = 3,
	    [GEN_REMAP_PAGES] = 1, [GEN_POLICY] = 2, [GEN_NAME] = 2, [GEN_UFFD] = 35,
	    [GEN_FORK] = 3, [GEN_EXIT] = 2 } },
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
