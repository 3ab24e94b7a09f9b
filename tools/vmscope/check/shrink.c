/* SPDX-License-Identifier: MIT */
/* Minimising a script that shows a difference. */
#include "check/shrink.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { PLAYS_MAX = 4000, TRIES = 3 };

/* Asks for the place that the kernel chose before, so that it no longer depends on other steps. */
static void pin_place(struct vmspace_request *req, const struct vmspace_outcome *out)
{
	if (req->op == VMSPACE_MMAP && !(req->mmap.flags & MAP_FIXED) && out->result > 0)
		req->mmap.addr = (unsigned long)out->result;
}

/* Performs the script, and leaves only the steps that could be. @pin: and pins their places. */
static enum family_result play(struct script *script, bool pin)
{
	enum family_result result = FAMILY_GONE;
	struct family family;
	size_t kept = 0;

	if (family_start(&family, &script->mode, NULL) == 0) {
		generator_init(&family.generator, 1, mix_nth(0), family.members[0]);
		result = FAMILY_EQUAL;
	}
	for (size_t i = 0; i < script->count && result == FAMILY_EQUAL; i++) {
		struct script_step step = script->steps[i];

		result = family_perform(&family, &step);
		if (result == FAMILY_SKIPPED) {
			result = FAMILY_EQUAL;
			continue;
		}
		script->steps[kept] = script->steps[i];
		if (pin && step.verb == SCRIPT_CALL)
			pin_place(&script->steps[kept].req, &step.req.out);
		kept++;
	}
	script->count = kept;
	family_end(&family);
	return result;
}

enum family_result script_play(struct script *script)
{
	return play(script, false);
}

/* Copies @from without @length steps from index @at on. */
static bool copy_without(struct script *to, const struct script *from, size_t at, size_t length)
{
	*to = (struct script){ .mode = from->mode };
	for (size_t i = 0; i < from->count; i++)
		if ((i < at || i >= at + length) && !script_add(to, &from->steps[i])) {
			script_free(to);
			return false;
		}
	return true;
}

/* Removes these steps from @script if it still differs without them. Returns whether it does. */
static bool try_without(struct script *script, size_t at, size_t length)
{
	struct script trial;

	if (!copy_without(&trial, script, at, length))
		return false;
	if (script_play(&trial) != FAMILY_DIFFERS) {
		script_free(&trial);
		return false;
	}
	script_free(script);
	*script = trial;
	return true;
}

/* Pins the places of areas if the script still differs then. */
static void pin_places(struct script *script)
{
	struct script trial;

	if (!copy_without(&trial, script, 0, 0))
		return;
	if (play(&trial, true) == FAMILY_DIFFERS && script_play(&trial) == FAMILY_DIFFERS) {
		script_free(script);
		*script = trial;
	} else {
		script_free(&trial);
	}
}

unsigned long shrink(struct script *script)
{
	unsigned long plays = 0;
	size_t chunk;
	bool again = false;

	/* If the difference depends on chance (random addresses), one try may not be enough. */
	while (plays < TRIES && !again) {
		plays++;
		again = try_without(script, script->count, 0);
	}
	if (!again)
		return 0;
	pin_places(script);
	for (chunk = script->count / 2; chunk > 0; chunk /= 2) {
		bool dropped;

		do {
			dropped = false;
			/* From the end: later steps are less often needed. */
			for (size_t end = script->count; end > 0 && plays < PLAYS_MAX;) {
				size_t at = end > chunk ? end - chunk : 0;

				plays++;
				if (try_without(script, at, end - at)) {
					dropped = true;
					if (at > script->count)
						at = script->count;
				}
				end = at;
			}
		} while (dropped && chunk == 1);
	}
	return plays;
}
