/* SPDX-License-Identifier: MIT */
/*
 * What the kernel answered while a call was mirrored: recorded in the log, where a replay, which
 * cannot ask the kernel, finds it.
 */
#include "log/answers.h"

#include <assert.h>

#include "log/codec.h"

static void append(struct json_object **array, struct json_object *item)
{
	if (!*array)
		*array = json_object_new_array();
	json_object_array_add(*array, item);
}

void answers_add_anon(struct answers *answers, unsigned long start, unsigned long end,
		      bool has_anon)
{
	struct json_object *item;

	if (!answers)
		return;
	assert(start < end);
	item = json_object_new_array_ext(3);
	json_object_array_add(item, encode_word(start));
	json_object_array_add(item, encode_word(end));
	json_object_array_add(item, json_object_new_boolean(has_anon));
	append(&answers->asked, item);
}

void answers_add_stack(struct answers *answers, unsigned long end, unsigned long start)
{
	struct json_object *item;

	if (!answers)
		return;
	assert(start < end);
	item = json_object_new_array_ext(2);
	json_object_array_add(item, encode_word(end));
	json_object_array_add(item, encode_word(start));
	append(&answers->stacks, item);
}

void answers_add_rename(struct answers *answers, unsigned long addr,
			const struct vma_backing *backing)
{
	struct json_object *item;

	if (!answers)
		return;
	item = json_object_new_object();
	json_object_object_add(item, "addr", encode_word(addr));
	json_object_object_add(item, "backing", encode_backing(backing));
	append(&answers->renames, item);
}

void answers_add_uffd_end(struct answers *answers, unsigned int context)
{
	if (answers)
		append(&answers->uffd_ends, json_object_new_int((int)context));
}

bool answers_empty(const struct answers *answers)
{
	return !answers->asked && !answers->stacks && !answers->renames && !answers->uffd_ends;
}

static void give(struct json_object **array, struct json_object *object, const char *key)
{
	if (*array)
		json_object_object_add(object, key, *array);
	*array = NULL;
}

void answers_move_to(struct answers *answers, struct json_object *object)
{
	give(&answers->asked, object, "asked");
	give(&answers->stacks, object, "stacks");
	give(&answers->renames, object, "renames");
	give(&answers->uffd_ends, object, "uffd_ends");
}

void answers_move_anon_to(struct answers *answers, struct json_object *object, const char *key)
{
	give(&answers->asked, object, key);
}

void answers_clear(struct answers *answers)
{
	json_object_put(answers->asked);
	json_object_put(answers->stacks);
	json_object_put(answers->renames);
	json_object_put(answers->uffd_ends);
	*answers = (struct answers){ .asked = NULL };
}
