/* SPDX-License-Identifier: MIT */
/* Neighbouring areas that are not merged, grouped by the reason. */
#ifndef VMSCOPE_REPORT_NEIGHBOURS_H
#define VMSCOPE_REPORT_NEIGHBOURS_H

#include <mapletree/vmspace.h>
#include <stddef.h>

/* Borders between areas of the same two kinds that exist for the same reason. */
struct neighbours_group {
	enum vma_verdict verdict;
	vma_flags_t differ;		/* VMA_DIFFERENT_FLAGS: the union of all borders */
	char left[64], right[64];	/* descriptions of the areas */
	unsigned long borders;
	unsigned long example;		/* the address of one such border */
	bool one_file;			/* they are segments of one file, as it was linked */
};

/* At least RUN_LEAST adjacent anonymous areas. */
struct neighbours_run {
	unsigned long start, end;
	unsigned long areas;
	char first[64], second[64];	/* descriptions of its first two areas */
};

struct neighbours {
	struct neighbours_group *groups;	/* most borders first */
	size_t count, capacity;
	struct neighbours_run *runs;		/* most areas first */
	size_t run_count, run_capacity;
};

enum { RUN_LEAST = 4 };

/* Describes an area in a few words: "rw-p anonymous", "r-xp libc.so.6". */
void neighbours_describe(const struct vma_info *info, char *buf, size_t size);

/* Groups all borders of @vm. Returns 0 or -ENOMEM. */
int neighbours_find(struct neighbours *found, const struct vmspace *vm);
void neighbours_free(struct neighbours *found);

/* Advice on how to get such areas merged, or to keep them from being split: a sentence. */
const char *neighbours_advice(const struct neighbours_group *group);

#endif
