/* SPDX-License-Identifier: MIT */
/* What was found out about the anon_vmas of areas: made true in a space, and in a log. */
#include "log/anon_choice.h"

#include "log/codec.h"

/* The key that holds addr. */
static const char *const keys[] = {
	[ANON_JOIN] = "keep",
	[ANON_PART] = "part",
	[ANON_INHERIT] = "inherited",
	[ANON_OWN] = "own",
};
enum { ANON_CHOICE_KINDS = sizeof(keys) / sizeof(keys[0]) };

static uint64_t anon_at(const struct vmspace *space, unsigned long addr)
{
	struct vma_info info;

	return vmspace_lookup(space, addr, &info) ? info.anon_id : 0;
}

void anon_choice_apply(struct vmspace *space, const struct anon_choice *turn)
{
	switch (turn->kind) {
	case ANON_JOIN:
		vmspace_join_anon(space, anon_at(space, turn->addr), anon_at(space, turn->gone));
		return;
	case ANON_PART:
		vmspace_part_anon(space, turn->addr);
		return;
	case ANON_INHERIT:
	case ANON_OWN:
		vmspace_inherit_anon(space, turn->addr, turn->kind == ANON_INHERIT);
		return;
	}
}

struct json_object *anon_choice_encode(const struct anon_choice *turn)
{
	struct json_object *object = json_object_new_object();

	json_object_object_add(object, keys[turn->kind], encode_word(turn->addr));
	if (turn->kind == ANON_JOIN)
		json_object_object_add(object, "gone", encode_word(turn->gone));
	return object;
}

bool anon_choice_decode(struct json_object *object, struct anon_choice *turn)
{
	uint64_t addr, gone = 0;

	if (!json_object_is_type(object, json_type_object))
		return false;
	for (int kind = 0; kind < ANON_CHOICE_KINDS; kind++) {
		if (!decode_word(json_object_object_get(object, keys[kind]), &addr))
			continue;
		*turn = (struct anon_choice){ .kind = (enum anon_choice_kind)kind, .addr = addr };
		if (kind == ANON_JOIN &&
		    !decode_word(json_object_object_get(object, "gone"), &gone))
			return false;
		turn->gone = gone;
		return true;
	}
	return false;
}
