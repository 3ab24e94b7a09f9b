/* SPDX-License-Identifier: MIT */
/*
 * What the kernel answered while a call was mirrored: recorded in the log, where a replay, which
 * cannot ask the kernel, finds it.
 */
#ifndef VMSCOPE_LOG_ANSWERS_H
#define VMSCOPE_LOG_ANSWERS_H

#include <json-c/json.h>
#include <mapletree/vmspace.h>
#include <stdbool.h>
#include <stddef.h>

struct answers {
	struct json_object *asked;	/* [[start, end, has anonymous pages] ...], or NULL */
	struct json_object *stacks;	/* [[end, start] ...] of stacks that have grown, or NULL */
	struct json_object *renames;	/* [{addr, backing} ...], or NULL */
	struct json_object *uffd_ends;	/* [context ...] of released userfaultfds, or NULL */
};

/* With @answers == NULL these do nothing. */
void answers_add_anon(struct answers *answers, unsigned long start, unsigned long end,
		      bool has_anon);
void answers_add_stack(struct answers *answers, unsigned long end, unsigned long start);
void answers_add_rename(struct answers *answers, unsigned long addr,
			const struct vma_backing *backing);

void answers_add_uffd_end(struct answers *answers, unsigned int context);

bool answers_empty(const struct answers *answers);

/* Moves all answers to @object, each kind under its own key. */
void answers_move_to(struct answers *answers, struct json_object *object);

/* Moves only the answers about anonymous pages, to @key of @object. */
void answers_move_anon_to(struct answers *answers, struct json_object *object, const char *key);

/* Discards all answers. */
void answers_clear(struct answers *answers);

#endif
