/* SPDX-License-Identifier: MIT */
/* A puppet with the children that it forks, each paired with its vmspace, led by a script. */
#ifndef VMSCOPE_CHECK_FAMILY_H
#define VMSCOPE_CHECK_FAMILY_H

#include <json-c/json.h>

#include "check/generator.h"
#include "check/pair.h"

enum { FAMILY_MAX = 200, FAMILY_ALIVE = 3 };

enum script_verb { SCRIPT_CALL, SCRIPT_FORK, SCRIPT_EXIT };

/* Members of a family are numbered in the order of their births, from 0. */
struct script_step {
	enum script_verb verb;
	unsigned int who;
	unsigned int child;		/* SCRIPT_FORK: its number */
	struct vmspace_request req;	/* SCRIPT_CALL; strings live as long as the script, at least */
};

struct script {
	struct pair_mode mode;
	struct script_step *steps;	/* count of them, capacity allocated */
	size_t count, capacity;
	struct script_kept *kept;	/* what requests of it point to, if not static */
};

/* Appends a copy. False: out of memory. */
bool script_add(struct script *script, const struct script_step *step);
/* A copy of @size bytes that is freed with the script. NULL: out of memory. */
void *script_keep(struct script *script, const void *data, size_t size);
void script_free(struct script *script);

struct family {
	struct pair *members[FAMILY_MAX];	/* NULL: not born, or ended */
	unsigned int born, alive;
	int shm_id;
	struct generator generator;
	struct answers *answers;			/* for all members' answers; NULL: none */
};

enum family_result {
	FAMILY_EQUAL,		/* performed, and both sides are equal */
	FAMILY_DIFFERS,
	FAMILY_SKIPPED,		/* nothing done: the member is not there, or the call would harm it */
	FAMILY_GONE,		/* a puppet has died */
};

/*
 * Starts the first member. @record as with pair_start(). Returns 0 or -errno. The family may be
 * ended, by family_end(), also if this fails.
 */
int family_start(struct family *family, const struct pair_mode *mode, struct json_object *record);
void family_end(struct family *family);

/* Performs @step; what it has taught (new shared memory's inode) is put into it. */
enum family_result family_perform(struct family *family, struct script_step *step);

#endif
