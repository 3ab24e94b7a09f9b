/* SPDX-License-Identifier: MIT */
/* Areas side by side that are not one: why, grouped. */
#ifndef VMSCOPE_REPORT_NEIGHBOURS_H
#define VMSCOPE_REPORT_NEIGHBOURS_H

#include <mapletree/vmspace.h>
#include <stddef.h>

/* Borders between areas of the same two kinds, for the same reason. */
struct neighbours_group {
	enum vma_verdict verdict;
	vma_flags_t differ;		/* VMA_DIFFERENT_FLAGS: which, of any border */
	char left[64], right[64];	/* what the areas are */
	unsigned long borders;
	unsigned long example;		/* one such border: an address */
	bool one_file;			/* they are segments of one file: so it was linked */
};

/* A stretch of at least RUN_LEAST anonymous areas without a hole. */
struct neighbours_run {
	unsigned long start, end;
	unsigned long areas;
	char first[64], second[64];	/* what its first two areas are */
};

struct neighbours {
	struct neighbours_group *groups;	/* most borders first */
	size_t count, capacity;
	struct neighbours_run *runs;		/* most areas first */
	size_t run_count, run_capacity;
};

enum { RUN_LEAST = 4 };

/* What an area is, in a few words: "rw-p anonymous", "r-xp libc.so.6". */
void neighbours_describe(const struct vma_info *info, char *buf, size_t size);

/* Looks at all areas of @vm. Returns 0 or -ENOMEM. */
int neighbours_find(struct neighbours *found, const struct vmspace *vm);
void neighbours_free(struct neighbours *found);

/* What would make areas of such a group one, or keep them from being cut: a sentence. */
const char *neighbours_advice(const struct neighbours_group *group);

#endif
