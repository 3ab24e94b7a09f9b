/* SPDX-License-Identifier: MIT */
/*
 * A family: a puppet and the children that it forks, each paired with a vmspace, driven by a
 * script.
 */
#ifndef VMSCOPE_CHECK_FAMILY_H
#define VMSCOPE_CHECK_FAMILY_H

#include <json-c/json.h>

#include "check/generator.h"
#include "check/pair.h"
#include "check/settings.h"

enum { FAMILY_MAX = 200, FAMILY_ALIVE = 6 };

enum script_verb { SCRIPT_CALL, SCRIPT_SET, SCRIPT_FORK, SCRIPT_EXIT };

/* Members of a family are numbered in the order in which they were forked, from 0. */
struct script_step {
	enum script_verb verb;
	unsigned int who;
	unsigned int child;		/* SCRIPT_FORK: its number */
	struct settings settings;	/* SCRIPT_SET */
	struct vmspace_request req;	/* SCRIPT_CALL; its strings outlive the script */
};

struct script {
	struct pair_mode mode;
	struct script_step *steps;	/* count steps; room for capacity */
	size_t count, capacity;
	struct script_kept *kept;	/* memory that requests point to, if not static */
};

/* Appends a copy. False: out of memory. */
bool script_add(struct script *script, const struct script_step *step);
/* Copies @size bytes; the copy is freed with the script. NULL: out of memory. */
void *script_keep(struct script *script, const void *data, size_t size);
void script_free(struct script *script);

struct family {
	struct pair *members[FAMILY_MAX];	/* NULL: not forked yet, or ended */
	unsigned int created, alive;	/* members */
	int shm_id;
	struct settings initial;	/* of all members */
	struct generator generator;
	struct answers *answers;			/* of all members; may be NULL */
	int known;		/* which known difference the last step may show: see known.h */
	/*
	 * How often each has shown; not NULL: once it has, leave most requests out that may show it
	 * again, and report none.
	 */
	unsigned long *known_shown;
};

enum family_result {
	FAMILY_EQUAL,		/* performed, and both sides are equal */
	FAMILY_DIFFERS,
	FAMILY_KNOWN,		/* differs in a known way: see family->known */
	FAMILY_SKIPPED,		/* not performed: no such member, or the call would harm it */
	FAMILY_GONE,		/* a puppet has died */
};

/*
 * Starts the first member. @record: see pair_start(). Returns 0 or -errno. family_end() may be
 * called even if this fails.
 */
int family_start(struct family *family, const struct pair_mode *mode, struct json_object *record);
void family_end(struct family *family);

/* Performs @step. Stores in it what the kernel chose: the inode of new shared memory. */
enum family_result family_perform(struct family *family, struct script_step *step);

#endif
