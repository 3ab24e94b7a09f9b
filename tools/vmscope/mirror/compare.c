/* SPDX-License-Identifier: MIT */
/* Comparing a mirror with what the kernel says. */
#include "mirror/compare.h"

#include <assert.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mirror/backing.h"

static int show(struct comparison *check, const struct vmspace *vm)
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

static bool texts_equal(const struct comparison *check, const struct kernel_view *view)
{
	return check->length == view->length && memcmp(check->text, view->text, view->length) == 0;
}

static bool same_but_name(const struct vmspace_line *a, const struct vmspace_line *b)
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
static int take_renames(struct comparison *check, struct vmspace *vm, const struct kernel_view *view)
{
	const char *ours = check->text, *theirs = view->text, *after_a, *after_b;
	struct vmspace_line a, b;
	uint64_t last = 0;
	int found = 0;

	while ((after_a = vmspace_parse_line(ours, &a)) &&
	       (after_b = vmspace_parse_line(theirs, &b))) {
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
		answers_add_rename(check->answers, b.start, &new.backing);
		found += last != b.inode;
		last = b.inode;
	}
	return found;
}

static enum compare_result fail(struct comparison *check, int error)
{
	check->error = error;
	return COMPARE_FAILED;
}

/* Debug builds look through the whole mirror before every comparison. */
static bool is_sound(struct comparison *check, const struct vmspace *vm)
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

enum compare_result compare_areas(struct comparison *check, struct vmspace *vm, struct kernel_view *view)
{
	int rc = view->text_current ? 0 : kernel_read_maps(view);

	check->growths = 0;
	check->renames = 0;
	if (!is_sound(check, vm))
		return COMPARE_BROKEN;
	if (rc == 0)
		rc = show(check, vm);
	if (rc != 0)
		return fail(check, rc);
	if (texts_equal(check, view))
		return COMPARE_EQUAL;
	rc = vmspace_refresh(vm);
	if (rc < 0)
		return rc == -ENOMEM ? fail(check, rc) : COMPARE_STACK;
	check->growths = (unsigned long)rc;
	rc = show(check, vm);
	if (rc != 0)
		return fail(check, rc);
	if (texts_equal(check, view))
		return COMPARE_EQUAL;
	rc = take_renames(check, vm, view);
	if (rc > 0) {
		check->renames = (unsigned long)rc;
		rc = show(check, vm);
	}
	if (rc != 0)
		return fail(check, rc);
	return texts_equal(check, view) ? COMPARE_EQUAL : COMPARE_AREAS;
}

enum compare_result compare_flags(struct comparison *check, const struct vmspace *vm, pid_t tid)
{
	struct vmspace_difference difference;
	int rc = vmspace_verify(vm, tid, VMSPACE_VERIFY_FLAGS | VMSPACE_VERIFY_COUNTERS,
				&difference);

	if (rc < 0)
		return fail(check, rc);
	snprintf(check->why, sizeof(check->why), "%s", difference.text);
	return rc ? COMPARE_FLAGS : COMPARE_EQUAL;
}

void comparison_free(struct comparison *check)
{
	free(check->text);
	*check = (struct comparison){ .text = NULL };
}
