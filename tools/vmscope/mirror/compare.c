/* SPDX-License-Identifier: MIT */
/* Comparing an address space with what /proc shows of it. */
#include "mirror/compare.h"

#include <assert.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mirror/backing.h"

static int show(struct comparison *cmp, const struct vmspace *vm)
{
	for (;;) {
		char *larger;

		cmp->length = vmspace_show(vm, cmp->text, cmp->capacity);
		if (cmp->length < cmp->capacity)
			return 0;
		larger = realloc(cmp->text, cmp->length * 2 + 4096);
		if (!larger)
			return -ENOMEM;
		cmp->text = larger;
		cmp->capacity = cmp->length * 2 + 4096;
	}
}

static bool texts_equal(const struct comparison *cmp, const struct kernel_view *view)
{
	return cmp->length == view->length && memcmp(cmp->text, view->text, view->length) == 0;
}

static bool same_but_name(const struct vmspace_line *a, const struct vmspace_line *b)
{
	return a->start == b->start && a->end == b->end && strcmp(a->perms, b->perms) == 0 &&
	       a->offset == b->offset && a->dev_major == b->dev_major &&
	       a->dev_minor == b->dev_minor && a->inode == b->inode &&
	       (a->name_length != b->name_length || memcmp(a->name, b->name, a->name_length) != 0);
}

/*
 * The paths of mapped files change when files are renamed or removed, which no system call on the
 * address space shows. The kernel's new path is accepted if it resolves to the mapped file, or if
 * it is marked as deleted and indeed does not resolve to it.
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

/* Gives the mirror every changed path. Returns the number of files with one, or -errno. */
static int apply_renames(struct comparison *cmp, struct vmspace *vm, const struct kernel_view *view)
{
	const char *ours = cmp->text, *theirs = view->text, *after_a, *after_b;
	struct vmspace_line a, b;
	uint64_t last = 0;
	int found = 0;

	while ((after_a = vmspace_parse_line(ours, &a)) &&
	       (after_b = vmspace_parse_line(theirs, &b))) {
		struct backing_file old, new;
		int rc;

		/* Skip areas that only one side has. */
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
		answers_add_rename(cmp->answers, b.start, &new.backing);
		found += last != b.inode;
		last = b.inode;
	}
	return found;
}

static enum compare_result fail(struct comparison *cmp, int error)
{
	cmp->error = error;
	return COMPARE_FAILED;
}

/* Debug builds cmp all invariants of the mirror before every comparison. */
static bool is_sound(struct comparison *cmp, const struct vmspace *vm)
{
#ifndef NDEBUG
	const char *reason = NULL;

	if (!vmspace_check(vm, &reason)) {
		snprintf(cmp->why, sizeof(cmp->why), "the mirror is damaged: %s", reason);
		return false;
	}
#else
	(void)cmp;
	(void)vm;
#endif
	return true;
}

int compare_texts(struct comparison *cmp, const struct vmspace *vm, struct kernel_view *view)
{
	int rc = view->text_current ? 0 : kernel_read_maps(view);

	if (rc == 0)
		rc = show(cmp, vm);
	return rc == 0 ? texts_equal(cmp, view) : rc;
}

enum compare_result compare_areas(struct comparison *cmp, struct vmspace *vm,
				  struct kernel_view *view)
{
	int rc;

	cmp->growths = 0;
	cmp->renames = 0;
	if (!is_sound(cmp, vm))
		return COMPARE_BROKEN;
	rc = compare_texts(cmp, vm, view);
	if (rc < 0)
		return fail(cmp, rc);
	if (rc > 0)
		return COMPARE_EQUAL;
	rc = vmspace_refresh(vm);
	if (rc < 0)
		return rc == -ENOMEM ? fail(cmp, rc) : COMPARE_STACK;
	cmp->growths = (unsigned long)rc;
	rc = show(cmp, vm);
	if (rc != 0)
		return fail(cmp, rc);
	if (texts_equal(cmp, view))
		return COMPARE_EQUAL;
	rc = apply_renames(cmp, vm, view);
	if (rc > 0) {
		cmp->renames = (unsigned long)rc;
		rc = show(cmp, vm);
	}
	if (rc != 0)
		return fail(cmp, rc);
	return texts_equal(cmp, view) ? COMPARE_EQUAL : COMPARE_AREAS;
}

enum compare_result compare_flags(struct comparison *cmp, const struct vmspace *vm, pid_t tid)
{
	struct vmspace_difference difference;
	int rc = vmspace_verify(vm, tid, VMSPACE_VERIFY_FLAGS | VMSPACE_VERIFY_COUNTERS,
				&difference);

	if (rc < 0)
		return fail(cmp, rc);
	snprintf(cmp->why, sizeof(cmp->why), "%s", difference.text);
	return rc ? COMPARE_FLAGS : COMPARE_EQUAL;
}

void comparison_free(struct comparison *cmp)
{
	free(cmp->text);
	*cmp = (struct comparison){ .text = NULL };
}
