/* SPDX-License-Identifier: MIT */
/*
 * family.h - one operation on trees that share nodes, with every check there is.
 */
#ifndef EXHAUSTIVE_FAMILY_H
#define EXHAUSTIVE_FAMILY_H

#include "shape.h"

#define FAMILY_MAX 3

enum op_kind { OP_STORE, OP_ERASE, OP_SNAPSHOT, OP_DESTROY, OP_KINDS };

/*
 * struct op - what is done to @tree: a new entry, or NULL, is stored over the points @first ..
 * @last; it is snapshotted into the tree @to, which is empty; it is destroyed.
 */
struct op {
	enum op_kind kind;
	unsigned int tree;
	unsigned int to;
	unsigned int first;
	unsigned int last;
};

/*
 * struct family - the trees under test. @flags: of the trees; @counted: references to entries are
 * counted; @points: see shape.h; @failures: allocations failed so far.
 */
struct family {
	struct heap heap;
	struct maple_tree tree[FAMILY_MAX];
	struct listing content[FAMILY_MAX];
	unsigned int trees;
	unsigned int flags;
	bool counted;
	unsigned int points;
	unsigned long failures;
};

void family_open(struct family *f);
void family_close(struct family *f);

/* family_begin - all trees are empty; family_end - they are destroyed, and no node is left. */
void family_begin(struct family *f);
const char *family_end(struct family *f);

/* family_possible - whether @op is one: trees to snapshot hold something, and are not themselves. */
bool family_possible(const struct family *f, const struct op *op);

/*
 * family_step - make @before and carry @op out, each time in another way: as often as there are
 * allocations, of which one more succeeds each time, until it can be done; with reserved nodes
 * alone; and in RCU mode once for each tree with a reader that looks at it between any two stores.
 * What fails changes nothing. Otherwise the trees hold what they should, nothing that other trees
 * hold is touched, and each node and entry has as many references as there are words that refer to
 * it. Sets *@after. Returns NULL, or what was wrong.
 */
const char *family_step(struct family *f, const struct shape *before, const struct op *op,
			struct shape *after);

/*
 * family_pair - make @before, carry out two operations without a grace period between them, and
 * check the same.
 */
const char *family_pair(struct family *f, const struct shape *before, const struct op *one,
			const struct op *two);

#endif
