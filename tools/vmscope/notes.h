/* SPDX-License-Identifier: MIT */
/* What the kernel was asked while a call was mirrored, and what it answered: a log keeps it for replay. */
#ifndef VMSCOPE_NOTES_H
#define VMSCOPE_NOTES_H

#include <json-c/json.h>
#include <mapletree/vmspace.h>
#include <stdbool.h>
#include <stddef.h>

struct notes {
	struct json_object *asked;	/* [[start, end, has anonymous pages] ...], or NULL */
	struct json_object *stacks;	/* [[end, start] ...] of those that have grown, or NULL */
	struct json_object *renames;	/* [{addr, backing} ...], or NULL */
	struct json_object *uffd_ends;	/* [context ...] of userfaultfds that have ended, or NULL */
};

/* Each takes a NULL @notes, and does nothing then. */
void notes_asked(struct notes *notes, unsigned long start, unsigned long end, bool has_anon);
void notes_stack(struct notes *notes, unsigned long end, unsigned long start);
void notes_rename(struct notes *notes, unsigned long addr, const struct vma_backing *backing);

void notes_uffd_end(struct notes *notes, unsigned int context);

bool notes_empty(const struct notes *notes);

/* Moves what there is into @object, under its names; @notes is empty afterwards. */
void notes_give(struct notes *notes, struct json_object *object);

/* The same under one name, for what was asked alone. */
void notes_give_asked(struct notes *notes, struct json_object *object, const char *key);

/* Forgets all of it. */
void notes_clear(struct notes *notes);

#endif
