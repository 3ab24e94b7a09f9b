/* SPDX-License-Identifier: MIT */
/* What the kernel was asked while a call was mirrored, and what it answered: a log keeps it for replay. */
#include "notes.h"

#include "logform.h"

static void append(struct json_object **array, struct json_object *item)
{
	if (!*array)
		*array = json_object_new_array();
	json_object_array_add(*array, item);
}

void notes_asked(struct notes *notes, unsigned long start, unsigned long end, bool has_anon)
{
	struct json_object *item;

	if (!notes)
		return;
	item = json_object_new_array_ext(3);
	json_object_array_add(item, logform_word(start));
	json_object_array_add(item, logform_word(end));
	json_object_array_add(item, json_object_new_boolean(has_anon));
	append(&notes->asked, item);
}

void notes_stack(struct notes *notes, unsigned long end, unsigned long start)
{
	struct json_object *item;

	if (!notes)
		return;
	item = json_object_new_array_ext(2);
	json_object_array_add(item, logform_word(end));
	json_object_array_add(item, logform_word(start));
	append(&notes->stacks, item);
}

void notes_rename(struct notes *notes, unsigned long addr, const struct vma_backing *backing)
{
	struct json_object *item;

	if (!notes)
		return;
	item = json_object_new_object();
	json_object_object_add(item, "addr", logform_word(addr));
	json_object_object_add(item, "backing", logform_backing(backing));
	append(&notes->renames, item);
}

void notes_uffd_end(struct notes *notes, unsigned int context)
{
	if (notes)
		append(&notes->uffd_ends, json_object_new_int((int)context));
}

bool notes_empty(const struct notes *notes)
{
	return !notes->asked && !notes->stacks && !notes->renames && !notes->uffd_ends;
}

static void give(struct json_object **array, struct json_object *object, const char *key)
{
	if (*array)
		json_object_object_add(object, key, *array);
	*array = NULL;
}

void notes_give(struct notes *notes, struct json_object *object)
{
	give(&notes->asked, object, "asked");
	give(&notes->stacks, object, "stacks");
	give(&notes->renames, object, "renames");
	give(&notes->uffd_ends, object, "uffd_ends");
}

void notes_give_asked(struct notes *notes, struct json_object *object, const char *key)
{
	give(&notes->asked, object, key);
}

void notes_clear(struct notes *notes)
{
	json_object_put(notes->asked);
	json_object_put(notes->stacks);
	json_object_put(notes->renames);
	json_object_put(notes->uffd_ends);
	*notes = (struct notes){ .asked = NULL };
}
