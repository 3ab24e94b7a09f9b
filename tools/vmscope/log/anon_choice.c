/* SPDX-License-Identifier: MIT */
/*
 * A choice about an anon_vma that libvmspace cannot compute: see mirror/guess.h. Such choices are
 * made in an address space, and recorded in the log so that a replay can repeat them.
 */
#include "log/anon_choice.h"

#include <assert.h>

#include "log/codec.h"

/* The JSON key that holds addr. */
static const char *const keys[] = {
	[ANON_JOIN] = "keep",
	[ANON_PART] = "part",
	[ANON_INHERIT] = "inherited",
	[ANON_OWN] = "own",
	[ANON_NONE] = "none",
	[ANON_PLACE] = "placed",
};
enum { ANON_CHOICE_KINDS = sizeof(keys) / sizeof(keys[0]) };

/* The key that holds what else there is; NULL: nothing. */
static const char *other_key(int kind)
{
	return kind == ANON_JOIN ? "gone" : kind == ANON_PLACE ? "offset" : NULL;
}

static uint64_t anon_at(const struct vmspace *space, unsigned long addr)
{
	struct vma_info info;

	return vmspace_lookup(space, addr, &info) ? info.anon_id : 0;
}

void anon_choice_apply(struct vmspace *space, const struct anon_choice *choice)
{
	switch (choice->kind) {
	case ANON_JOIN:
		vmspace_join_anon(space, anon_at(space, choice->addr),
				  anon_at(space, choice->gone));
		return;
	case ANON_PART:
		vmspace_part_anon(space, choice->addr);
		return;
	case ANON_INHERIT:
	case ANON_OWN:
		vmspace_inherit_anon(space, choice->addr, choice->kind == ANON_INHERIT);
		return;
	case ANON_NONE:
		vmspace_drop_anon(space, choice->addr);
		return;
	case ANON_PLACE:
		vmspace_place_anon(space, choice->addr, choice->gone);
		return;
	}
}

struct json_object *anon_choice_encode(const struct anon_choice *choice)
{
	struct json_object *object = json_object_new_object();

	assert((unsigned int)choice->kind < ANON_CHOICE_KINDS);
	json_object_object_add(object, keys[choice->kind], encode_word(choice->addr));
	if (other_key(choice->kind))
		json_object_object_add(object, other_key(choice->kind), encode_word(choice->gone));
	return object;
}

bool anon_choice_decode(struct json_object *object, struct anon_choice *choice)
{
	uint64_t addr, gone = 0;

	if (!json_object_is_type(object, json_type_object))
		return false;
	for (int kind = 0; kind < ANON_CHOICE_KINDS; kind++) {
		if (!decode_word(json_object_object_get(object, keys[kind]), &addr))
			continue;
		*choice = (struct anon_choice){ .kind = (enum anon_choice_kind)kind, .addr = addr };
		if (other_key(kind) &&
		    !decode_word(json_object_object_get(object, other_key(kind)), &gone))
			return false;
		choice->gone = gone;
		return true;
	}
	return false;
}
