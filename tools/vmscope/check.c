/* SPDX-License-Identifier: MIT */
/* Comparing a mirror with what the kernel says. */
#include "check.h"

#include <assert.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "backing.h"
#include "smaps.h"

/* Shown by the kernel, but not known to the mirror or a matter of pages, not of areas. */
#define FLAGS_IGNORED VMA_SOFTDIRTY

static int show(struct check *check, const struct vmspace *vm)
{
	for (;;) {
		char *larger;

		check->length = vmspace_show(vm, check->text, check->capacity);
		if (check->length < check->capacity)
			return 0;
		larger = realloc(check->text, check->length * 2 + 4096);
		if (!larger)
			return -ENOMEM;
		check->text = larger;
		check->capacity = check->length * 2 + 4096;
	}
}

static bool texts_equal(const struct check *check, const struct kernel_view *view)
{
	return check->length == view->length && memcmp(check->text, view->text, view->length) == 0;
}

static bool same_but_name(const struct kernel_line *a, const struct kernel_line *b)
{
	return a->start == b->start && a->end == b->end && strcmp(a->perms, b->perms) == 0 &&
	       a->offset == b->offset && a->dev_major == b->dev_major &&
	       a->dev_minor == b->dev_minor && a->inode == b->inode &&
	       (a->name_length != b->name_length || memcmp(a->name, b->name, a->name_length) != 0);
}

/*
 * Paths of mapped files change when files are renamed or removed; no call on the address space
 * tells. The kernel's new path is believed if it leads to the file that is mapped, or if it is the
 * old one marked as deleted and that one no longer leads there.
 */
static bool is_rename(const struct backing_file *old, const struct backing_file *new)
{
	const struct vma_backing *b = &new->backing;
	const char *deleted = " (deleted)";
	size_t length = strlen(new->name), mark = strlen(deleted);

	if (new->name[0] != '/' || old->name[0] != '/')
		return false;
	if (length > mark && strcmp(new->name + length - mark, deleted) == 0) {
		char path[BACKING_NAME_MAX];

		snprintf(path, sizeof(path), "%.*s", (int)(length - mark), new->name);
		return !backing_path_is(path, b->dev_major, b->dev_minor, b->inode);
	}
	return backing_path_is(new->name, b->dev_major, b->dev_minor, b->inode);
}

/* Tells the mirror of every changed path. Returns how many files had one, or -errno. */
static int take_renames(struct check *check, struct vmspace *vm, const struct kernel_view *view)
{
	const char *ours = check->text, *theirs = view->text, *after_a, *after_b;
	struct kernel_line a, b;
	uint64_t last = 0;
	int found = 0;

	while ((after_a = kernel_parse_line(ours, &a)) &&
	       (after_b = kernel_parse_line(theirs, &b))) {
		struct backing_file old, new;
		int rc;

		/* Where areas differ, go on with the next that both have. */
		ours = a.start <= b.start ? after_a : ours;
		theirs = b.start <= a.start ? after_b : theirs;
		if (!same_but_name(&a, &b))
			continue;
		backing_of_line(&old, &a);
		backing_of_line(&new, &b);
		if (!is_rename(&old, &new))
			continue;
		rc = vmspace_identify(vm, b.start, &new.backing);
		if (rc != 0)
			return rc;
		notes_rename(check->notes, b.start, &new.backing);
		found += last != b.inode;
		last = b.inode;
	}
	return found;
}

static enum check_result fail(struct check *check, int error)
{
	check->error = error;
	return CHECK_FAILED;
}

/* Debug builds look through the whole mirror before every comparison. */
static bool is_sound(struct check *check, const struct vmspace *vm)
{
#ifndef NDEBUG
	const char *reason = NULL;

	if (!vmspace_check(vm, &reason)) {
		snprintf(check->why, sizeof(check->why), "the mirror is damaged: %s", reason);
		return false;
	}
#else
	(void)check;
	(void)vm;
#endif
	return true;
}

enum check_result check_areas(struct check *check, struct vmspace *vm, struct kernel_view *view)
{
	int rc = view->text_current ? 0 : kernel_read_maps(view);

	check->growths = 0;
	check->renames = 0;
	if (!is_sound(check, vm))
		return CHECK_BROKEN;
	if (rc == 0)
		rc = show(check, vm);
	if (rc != 0)
		return fail(check, rc);
	if (texts_equal(check, view))
		return CHECK_EQUAL;
	rc = vmspace_refresh(vm);
	if (rc < 0)
		return rc == -ENOMEM ? fail(check, rc) : CHECK_STACK;
	check->growths = (unsigned long)rc;
	rc = show(check, vm);
	if (rc != 0)
		return fail(check, rc);
	if (texts_equal(check, view))
		return CHECK_EQUAL;
	rc = take_renames(check, vm, view);
	if (rc > 0) {
		check->renames = (unsigned long)rc;
		rc = show(check, vm);
	}
	if (rc != 0)
		return fail(check, rc);
	return texts_equal(check, view) ? CHECK_EQUAL : CHECK_AREAS;
}

static enum check_result compare_counter(struct check *check, const char *status, const char *key,
					 unsigned long pages)
{
	unsigned long kib = pages * ((unsigned long)sysconf(_SC_PAGESIZE) / 1024);
	unsigned long theirs = kernel_status_number(status, key, 10, kib);

	if (theirs == kib)
		return CHECK_EQUAL;
	snprintf(check->why, sizeof(check->why), "%s kernel %lu kB, mirror %lu kB", key, theirs,
		 kib);
	return CHECK_FLAGS;
}

static enum check_result compare_counters(struct check *check, const struct vmspace *vm, pid_t tid)
{
	char *status = kernel_read_file(tid, "status");
	enum check_result result = CHECK_EQUAL;
	struct vmspace_stats stats;

	if (!status)
		return fail(check, -errno);
	vmspace_stats(vm, &stats);
	result = compare_counter(check, status, "VmSize:", stats.total_vm);
	if (result == CHECK_EQUAL)
		result = compare_counter(check, status, "VmLck:", stats.locked_vm);
	if (result == CHECK_EQUAL)
		result = compare_counter(check, status, "VmData:", stats.data_vm);
	if (result == CHECK_EQUAL)
		result = compare_counter(check, status, "VmStk:", stats.stack_vm);
	free(status);
	return result;
}

static enum check_result compare_area(struct check *check, const struct vmspace *vm,
				      const struct smaps_area *theirs)
{
	struct vma_info ours;
	char mine[256], kernel[256];

	if (!vmspace_lookup(vm, theirs->line.start, &ours))
		return CHECK_EQUAL; /* vsyscall lies outside of the address space */
	if (((ours.flags ^ theirs->flags) & ~FLAGS_IGNORED) == 0)
		return CHECK_EQUAL;
	vma_flags_text(ours.flags, mine, sizeof(mine));
	vma_flags_text(theirs->flags, kernel, sizeof(kernel));
	snprintf(check->why, sizeof(check->why), "VmFlags of %lx-%lx: kernel \"%s\", mirror \"%s\"",
		 theirs->line.start, theirs->line.end, kernel, mine);
	return CHECK_FLAGS;
}

enum check_result check_flags(struct check *check, const struct vmspace *vm, pid_t tid)
{
	char *smaps = kernel_read_file(tid, "smaps");
	const char *at = smaps;
	struct smaps_area area;
	enum check_result result = CHECK_EQUAL;

	if (!smaps)
		return fail(check, -errno);
	while (result == CHECK_EQUAL && (at = smaps_next(at, &area)))
		result = compare_area(check, vm, &area);
	free(smaps);
	return result == CHECK_EQUAL ? compare_counters(check, vm, tid) : result;
}

void check_free(struct check *check)
{
	free(check->text);
	*check = (struct check){ .text = NULL };
}
