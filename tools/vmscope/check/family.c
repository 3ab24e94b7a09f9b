/* SPDX-License-Identifier: MIT */
/*
 * A family: a puppet and the children that it forks, each paired with a vmspace, driven by a
 * script.
 */
#include "check/family.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/shm.h>

#include "check/known.h"
#include "check/leave_out.h"
#include "check/page.h"

enum { SHM_PAGES = 5, KNOWN_ONE_IN = 32 };

bool script_add(struct script *script, const struct script_step *step)
{
	if (script->count == script->capacity) {
		size_t wanted = script->capacity ? script->capacity * 2 : 256;
		struct script_step *larger = reallocarray(script->steps, wanted, sizeof(*larger));

		if (!larger)
			return false;
		script->steps = larger;
		script->capacity = wanted;
	}
	script->steps[script->count++] = *step;
	return true;
}

struct script_kept {
	struct script_kept *next;
	_Alignas(max_align_t) char data[];
};

void *script_keep(struct script *script, const void *data, size_t size)
{
	struct script_kept *kept = malloc(sizeof(*kept) + size);

	if (!kept)
		return NULL;
	kept->next = script->kept;
	script->kept = kept;
	return memcpy(kept->data, data, size);
}

void script_free(struct script *script)
{
	struct script_kept *kept;

	while ((kept = script->kept)) {
		script->kept = kept->next;
		free(kept);
	}
	free(script->steps);
	*script = (struct script){ .steps = NULL };
}

int family_start(struct family *family, const struct pair_mode *mode, struct json_object *record)
{
	struct pair *first = calloc(1, sizeof(*first));
	int rc;

	*family = (struct family){ .shm_id = -1 };
	if (!first)
		return -ENOMEM;
	rc = pair_start(first, mode, record);
	if (rc != 0) {
		free(first);
		return rc;
	}
	family->members[0] = first;
	family->created = family->alive = 1;
	family->initial = settings_of(vmspace_config(first->space));
	family->shm_id = first->shm_id = shmget(IPC_PRIVATE, SHM_PAGES * PAGE, 0700);
	return family->shm_id < 0 ? -errno : 0;
}

static void end_member(struct family *family, unsigned int who)
{
	pair_end(family->members[who]);
	free(family->members[who]);
	family->members[who] = NULL;
	family->alive--;
}

void family_end(struct family *family)
{
	for (unsigned int i = 0; i < family->created; i++)
		if (family->members[i])
			end_member(family, i);
	if (family->shm_id >= 0)
		shmctl(family->shm_id, IPC_RMID, NULL);
	family->shm_id = -1;
}

static enum family_result result_of(bool equal, const struct pair *pair)
{
	return equal ? FAMILY_EQUAL : pair->gone ? FAMILY_GONE : FAMILY_DIFFERS;
}

static enum family_result fork_member(struct family *family, struct pair *parent,
				      unsigned int number)
{
	struct pair *child;
	bool equal;

	if (number >= FAMILY_MAX || family->members[number] || family->alive >= FAMILY_ALIVE)
		return FAMILY_SKIPPED;
	child = calloc(1, sizeof(*child));
	if (!child)
		return FAMILY_GONE;
	equal = pair_fork(parent, child);
	if (parent->gone) {
		free(child);
		return FAMILY_GONE;
	}
	family->members[number] = child;
	family->alive++;
	if (number >= family->created)
		family->created = number + 1;
	return equal ? FAMILY_EQUAL : child->gone ? FAMILY_GONE : FAMILY_DIFFERS;
}

/* Makes few of these requests, silently; compares everything, so that nothing shows later. */
static enum family_result perform_known(struct family *family, struct pair *pair,
					struct vmspace_request *req)
{
	const struct pair_mode mode = pair->mode;
	enum family_result result;

	if (family->known_shown[family->known] && random_below(&family->generator, KNOWN_ONE_IN))
		return FAMILY_SKIPPED;
	pair->mode.report = NULL;
	pair->mode.flags_every = 1;
	result = result_of(pair_do(pair, req), pair);
	pair->mode = mode;
	return result == FAMILY_DIFFERS ? FAMILY_KNOWN : result;
}

enum family_result family_perform(struct family *family, struct script_step *step)
{
	struct pair *pair = step->who < FAMILY_MAX ? family->members[step->who] : NULL;
	enum family_result result;

	if (!pair)
		return FAMILY_SKIPPED;
	pair->answers = family->answers;
	switch (step->verb) {
	case SCRIPT_FORK:
		return fork_member(family, pair, step->child);
	case SCRIPT_EXIT:
		if (family->alive < 2)
			return FAMILY_SKIPPED;
		end_member(family, step->who);
		return FAMILY_EQUAL;
	case SCRIPT_SET:
		return settings_apply(pair, &step->settings) ? FAMILY_EQUAL : FAMILY_GONE;
	case SCRIPT_CALL:
		break;
	}
	if (leave_out(&family->generator, pair, &step->req))
		return FAMILY_SKIPPED;
	family->known = known_find(pair, &step->req);
	if (family->known != KNOWN_NONE && family->known_shown)
		return perform_known(family, pair, &step->req);
	result = result_of(pair_do(pair, &step->req), pair);
	return result == FAMILY_DIFFERS && family->known != KNOWN_NONE ? FAMILY_KNOWN : result;
}
