/* SPDX-License-Identifier: MIT */
/*
 * replay.h - the state of one replayed file: its trees, cursors, and locks held.
 */
#ifndef CONFORMANCE_REPLAY_H
#define CONFORMANCE_REPLAY_H

#include "words.h"

#define TREES   8
#define CURSORS 16

/*
 * A tree of the file. @locked: we hold its lock; never for an external one.
 * @changes: mutating calls so far, for the interval between checks.
 */
struct tree {
	struct maple_tree mt;
	bool live;
	bool external;
	bool locked;
	unsigned long changes;
};

/* A cursor; @tree is NULL until the first "new" or "init". */
struct cursor {
	struct ma_state mas;
	struct tree *tree;
};

struct replay {
	struct tree trees[TREES];
	struct cursor cursors[CURSORS];
	struct results got;
};

/* One argument of a call, as the call's signature reads it. */
struct argument {
	unsigned long index;
	void *entry;
	struct tree *tree;
};

/* What a call needs of its tree's lock. */
enum lock_need { lock_any, lock_free, lock_held };

/*
 * A call of the format. @signature: one letter an argument: I index, E entry, T tree; "F" takes
 * the flag words of init. @changes: the call may change the tree.
 */
struct call {
	const char *name;
	const char *signature;
	enum lock_need lock;
	bool changes;
	void (*tree)(struct replay *replay, struct tree *tree, const struct argument *arguments);
	void (*cursor)(struct replay *replay, struct cursor *cursor,
		       const struct argument *arguments);
};

/* The call of that name for a tree ('t') or a cursor ('m'), or NULL. */
const struct call *call_find(char object, const char *name);

void tree_lock(struct tree *tree);
void tree_unlock(struct tree *tree);

/*
 * replay_file - replay the vectors in @path, reporting the first difference on standard output.
 * *@line always holds the line being replayed. Returns false if something differed.
 */
bool replay_file(const char *path, volatile unsigned long *line);

#endif
