/* SPDX-License-Identifier: MIT */
/* What was found out about the anon_vmas of areas: made true in a space, and in a log. */
#ifndef VMSCOPE_LOG_ANON_CHOICE_H
#define VMSCOPE_LOG_ANON_CHOICE_H

#include <json-c/json.h>
#include <mapletree/vmspace.h>
#include <stdbool.h>

enum anon_choice_kind {
	ANON_JOIN,	/* those of the areas at addr and at gone are one: vmspace_join_anon() */
	ANON_PART,	/* the area at addr has its own: vmspace_part_anon() */
	ANON_INHERIT,	/* that of the area at addr came through fork: vmspace_inherit_anon() */
	ANON_OWN,	/* it did not */
};

struct anon_choice {
	enum anon_choice_kind kind;
	unsigned long addr, gone;
};

void anon_choice_apply(struct vmspace *space, const struct anon_choice *turn);

/* As in the array "turned" of a log; the reading returns false if @object is none. */
struct json_object *anon_choice_encode(const struct anon_choice *turn);
bool anon_choice_decode(struct json_object *object, struct anon_choice *turn);

#endif
