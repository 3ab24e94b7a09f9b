/* SPDX-License-Identifier: MIT */
/* Neighbouring areas that are not merged, grouped by the reason. */
#include "report/neighbours.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *text_or_empty(const char *text)
{
	return text ? text : "";
}

static bool same_file(const struct vma_backing *a, const struct vma_backing *b)
{
	return a->kind == b->kind && a->dev_major == b->dev_major && a->dev_minor == b->dev_minor &&
	       a->inode == b->inode &&
	       (a->inode || strcmp(text_or_empty(a->name), text_or_empty(b->name)) == 0);
}

void neighbours_describe(const struct vma_info *info, char *buf, size_t size)
{
	const char *name = info->anon_name ? info->anon_name : info->backing.name;
	const char *slash = name && name[0] == '/' ? strrchr(name, '/') : NULL;

	if (info->backing.kind == VMA_BACKING_SHMEM)
		name = "shared memory";
	snprintf(buf, size, "%c%c%c%c %.50s", info->flags & VMA_READ ? 'r' : '-',
		 info->flags & VMA_WRITE ? 'w' : '-', info->flags & VMA_EXEC ? 'x' : '-',
		 info->flags & VMA_MAYSHARE ? 's' : 'p',
		 !name ? (info->flags & VMA_GROWSDOWN ? "stack" : "anonymous") :
		 slash && slash[1] && info->backing.kind != VMA_BACKING_SHMEM ? slash + 1 : name);
}

static bool grow(void *items, size_t count, size_t *capacity, size_t size)
{
	void **array = items;
	size_t wanted = *capacity ? *capacity * 2 : 16;
	void *larger;

	if (count < *capacity)
		return true;
	larger = reallocarray(*array, wanted, size);
	if (!larger)
		return false;
	*array = larger;
	*capacity = wanted;
	return true;
}

static int count_border(struct neighbours *found, const struct vmspace *vm,
			const struct vma_info *left, const struct vma_info *right)
{
	struct neighbours_group group = { .borders = 1, .example = right->start };
	struct vma_explanation why;

	vmspace_explain(vm, left->start, right->start, &why);
	group.verdict = why.verdict;
	group.differ = why.differ;
	group.one_file = left->backing.kind == VMA_BACKING_FILE &&
			 same_file(&left->backing, &right->backing);
	neighbours_describe(left, group.left, sizeof(group.left));
	neighbours_describe(right, group.right, sizeof(group.right));
	for (size_t i = 0; i < found->count; i++) {
		struct neighbours_group *old = &found->groups[i];

		if (old->verdict == group.verdict &&
		    !(old->differ & VMA_ACCESS_FLAGS) == !(group.differ & VMA_ACCESS_FLAGS) &&
		    old->one_file == group.one_file &&
		    ((strcmp(old->left, group.left) == 0 && strcmp(old->right, group.right) == 0) ||
		     (strcmp(old->left, group.right) == 0 &&
		      strcmp(old->right, group.left) == 0))) {
			old->borders++;
			old->differ |= group.differ;
			return 0;
		}
	}
	if (!grow(&found->groups, found->count, &found->capacity, sizeof(group)))
		return -ENOMEM;
	found->groups[found->count++] = group;
	return 0;
}

static int close_run(struct neighbours *found, const struct neighbours_run *run)
{
	if (run->areas < RUN_LEAST)
		return 0;
	if (!grow(&found->runs, found->run_count, &found->run_capacity, sizeof(*run)))
		return -ENOMEM;
	found->runs[found->run_count++] = *run;
	return 0;
}

/* Continues @run with @info, or ends it at a hole or at a file. */
static int follow_run(struct neighbours *found, struct neighbours_run *run,
		      const struct vma_info *info)
{
	bool anon = info->backing.kind == VMA_BACKING_ANON;
	int rc = 0;

	if (run->areas > 0 && (!anon || run->end != info->start)) {
		rc = close_run(found, run);
		run->areas = 0;
	}
	if (!anon)
		return rc;
	if (run->areas == 0) {
		*run = (struct neighbours_run){ .start = info->start };
		neighbours_describe(info, run->first, sizeof(run->first));
	}
	if (run->areas == 1)
		neighbours_describe(info, run->second, sizeof(run->second));
	run->areas++;
	run->end = info->end;
	return rc;
}

static int by_borders(const void *a, const void *b)
{
	const struct neighbours_group *left = a, *right = b;

	if (left->one_file != right->one_file)
		return left->one_file - right->one_file;
	return (left->borders < right->borders) - (left->borders > right->borders);
}

static int by_areas(const void *a, const void *b)
{
	const struct neighbours_run *left = a, *right = b;

	return (left->areas < right->areas) - (left->areas > right->areas);
}

int neighbours_find(struct neighbours *found, const struct vmspace *vm)
{
	struct vma_info before = { .end = 0 }, info;
	struct neighbours_run run = { .areas = 0 };
	int rc = 0;

	*found = (struct neighbours){ .count = 0 };
	for (unsigned long at = 0; rc == 0 && vmspace_next(vm, at, &info); at = info.end) {
		if (at > 0 && before.end == info.start)
			rc = count_border(found, vm, &before, &info);
		if (rc == 0)
			rc = follow_run(found, &run, &info);
		before = info;
	}
	if (rc == 0)
		rc = close_run(found, &run);
	if (rc != 0) {
		neighbours_free(found);
		return rc;
	}
	if (found->count)
		qsort(found->groups, found->count, sizeof(found->groups[0]), by_borders);
	if (found->run_count)
		qsort(found->runs, found->run_count, sizeof(found->runs[0]), by_areas);
	return 0;
}

void neighbours_free(struct neighbours *found)
{
	free(found->groups);
	free(found->runs);
	*found = (struct neighbours){ .count = 0 };
}

const char *neighbours_advice(const struct neighbours_group *group)
{
	if (group->one_file)
		return "segments of one file: so it was linked";
	switch (group->verdict) {
	case VMA_DIFFERENT_FLAGS:
		if (group->differ & VMA_ACCESS_FLAGS)
			return "mprotect() of a part makes areas; change whole mappings, or put "
			       "those with the same protection side by side";
		return "madvise(), mlock() or mmap() with another flag on a part; use it on the "
		       "whole mapping";
	case VMA_DIFFERENT_ANON_VMA:
		return "both were written to before they met; map the range at once, and divide it "
		       "afterwards";
	case VMA_ANON_VMA_SHARED:
		return "one was there at a fork; what is mapped after it stays apart";
	case VMA_DIFFERENT_NAME:
		return "they were given different names by prctl(PR_SET_VMA)";
	case VMA_DIFFERENT_OFFSET:
		return "they do not continue each other in the file, or were moved by mremap()";
	case VMA_NOT_TRIED:
		return "all that is known is equal: they were written to before they met, or "
		       "belong to different open files";
	default:
		return "different things: nothing to merge";
	}
}
