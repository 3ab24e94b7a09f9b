/* SPDX-License-Identifier: MIT */
/* What was found out about the anon_vmas of areas: made true in a space, and in a log. */
#ifndef VMSCOPE_TURN_H
#define VMSCOPE_TURN_H

#include <json-c/json.h>
#include <mapletree/vmspace.h>
#include <stdbool.h>

enum turn_kind {
	TURN_JOIN,	/* those of the areas at addr and at gone are one: vmspace_join_anon() */
	TURN_PART,	/* the area at addr has its own: vmspace_part_anon() */
	TURN_INHERIT,	/* that of the area at addr came through fork: vmspace_inherit_anon() */
	TURN_OWN,	/* it did not */
};

struct turn {
	enum turn_kind kind;
	unsigned long addr, gone;
};

void turn_apply(struct vmspace *space, const struct turn *turn);

/* As in the array "turned" of a log; the reading returns false if @object is none. */
struct json_object *turn_write(const struct turn *turn);
bool turn_read(struct json_object *object, struct turn *turn);

#endif
