/* SPDX-License-Identifier: MIT */
/* What the kernel was asked while a call was mirrored, and what it answered: a log keeps it for replay. */
#ifndef VMSCOPE_LOG_ANSWERS_H
#define VMSCOPE_LOG_ANSWERS_H

#include <json-c/json.h>
#include <mapletree/vmspace.h>
#include <stdbool.h>
#include <stddef.h>

struct answers {
	struct json_object *asked;	/* [[start, end, has anonymous pages] ...], or NULL */
	struct json_object *stacks;	/* [[end, start] ...] of those that have grown, or NULL */
	struct json_object *renames;	/* [{addr, backing} ...], or NULL */
	struct json_object *uffd_ends;	/* [context ...] of userfaultfds that have ended, or NULL */
};

/* Each takes a NULL @answers, and does nothing then. */
void answers_add_anon(struct answers *answers, unsigned long start, unsigned long end, bool has_anon);
void answers_add_stack(struct answers *answers, unsigned long end, unsigned long start);
void answers_add_rename(struct answers *answers, unsigned long addr, const struct vma_backing *backing);

void answers_add_uffd_end(struct answers *answers, unsigned int context);

bool answers_empty(const struct answers *answers);

/* Moves what there is into @object, under its names; @answers is empty afterwards. */
void answers_move_to(struct answers *answers, struct json_object *object);

/* The same under one name, for what was asked alone. */
void answers_move_anon_to(struct answers *answers, struct json_object *object, const char *key);

/* Forgets all of it. */
void answers_clear(struct answers *answers);

#endif
