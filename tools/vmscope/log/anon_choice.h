/* SPDX-License-Identifier: MIT */
/*
 * A choice about an anon_vma that libvmspace cannot compute: see mirror/guess.h. Such choices are
 * made in an address space, and recorded in the log so that a replay can repeat them.
 */
#ifndef VMSCOPE_LOG_ANON_CHOICE_H
#define VMSCOPE_LOG_ANON_CHOICE_H

#include <json-c/json.h>
#include <mapletree/vmspace.h>
#include <stdbool.h>

enum anon_choice_kind {
	ANON_JOIN,	/* the areas at addr and gone share one: vmspace_join_anon() */
	ANON_PART,	/* the area at addr has one of its own: vmspace_part_anon() */
	ANON_INHERIT,	/* the area at addr has its parent's: vmspace_inherit_anon() */
	ANON_OWN,	/* it has not */
	ANON_NONE,	/* it has none: vmspace_drop_anon() */
	ANON_PLACE,	/* it begins at page offset `gone`: vmspace_place_anon() */
};

struct anon_choice {
	enum anon_choice_kind kind;
	unsigned long addr, gone;
};

void anon_choice_apply(struct vmspace *space, const struct anon_choice *choice);

/* One item of the array "turned" in a log. Decoding returns false if @object is not one. */
struct json_object *anon_choice_encode(const struct anon_choice *choice);
bool anon_choice_decode(struct json_object *object, struct anon_choice *choice);

#endif
