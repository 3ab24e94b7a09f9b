/* SPDX-License-Identifier: MIT */
/* What was found out about the anon_vmas of areas: made true in a space, and in a log. */
#include "turn.h"

#include "logform.h"

/* The key that holds addr. */
static const char *const keys[] = {
	[TURN_JOIN] = "keep",
	[TURN_PART] = "part",
	[TURN_INHERIT] = "inherited",
	[TURN_OWN] = "own",
};
enum { TURN_KINDS = sizeof(keys) / sizeof(keys[0]) };

static uint64_t anon_at(const struct vmspace *space, unsigned long addr)
{
	struct vma_info info;

	return vmspace_lookup(space, addr, &info) ? info.anon_id : 0;
}

void turn_apply(struct vmspace *space, const struct turn *turn)
{
	switch (turn->kind) {
	case TURN_JOIN:
		vmspace_join_anon(space, anon_at(space, turn->addr), anon_at(space, turn->gone));
		return;
	case TURN_PART:
		vmspace_part_anon(space, turn->addr);
		return;
	case TURN_INHERIT:
	case TURN_OWN:
		vmspace_inherit_anon(space, turn->addr, turn->kind == TURN_INHERIT);
		return;
	}
}

struct json_object *turn_write(const struct turn *turn)
{
	struct json_object *object = json_object_new_object();

	json_object_object_add(object, keys[turn->kind], logform_word(turn->addr));
	if (turn->kind == TURN_JOIN)
		json_object_object_add(object, "gone", logform_word(turn->gone));
	return object;
}

bool turn_read(struct json_object *object, struct turn *turn)
{
	uint64_t addr, gone = 0;

	if (!json_object_is_type(object, json_type_object))
		return false;
	for (int kind = 0; kind < TURN_KINDS; kind++) {
		if (!logform_read_word(json_object_object_get(object, keys[kind]), &addr))
			continue;
		*turn = (struct turn){ .kind = (enum turn_kind)kind, .addr = addr };
		if (kind == TURN_JOIN &&
		    !logform_read_word(json_object_object_get(object, "gone"), &gone))
			return false;
		turn->gone = gone;
		return true;
	}
	return false;
}
