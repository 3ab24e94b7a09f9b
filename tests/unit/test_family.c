/* SPDX-License-Identifier: MIT */
/*
 * test_family.c - a family of trees is written, snapshotted, copied and destroyed at random and
 * compared with arrays; so are the number of references to each node and, with operations for
 * entries, to each entry.
 *
 * Arguments: the seed and the number of operations.
 */
#include "fixture.h"

#include "../model/random.h"
#include "refs.h"
#include "share.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <urcu-bp.h>

static unsigned long seed = 1, operations = 20000;

/* ---- a family of trees, and what they should hold ------------------------------------------ */

#define TREES   7
#define INDEXES 1500

struct member {
	struct maple_tree mt;
	bool alive;
	unsigned int entry[INDEXES]; /* 0: none */
};

struct family {
	struct member member[TREES];
	unsigned int flags;
	bool counted; /* references to entries are */
	unsigned int entries_made;
	struct random random;
};

static unsigned int below(struct family *f, unsigned int limit)
{
	return (unsigned int)random_below(&f->random, limit);
}

static void expect_member(struct family *f, struct member *m)
{
	unsigned long index = 0;
	const char *reason;
	void *entry;
	MA_STATE(mas, &m->mt, 0, 0);

	mtree_lock(&m->mt);
	if (!mt_check(&m->mt, &reason))
		fail_msg("seed %lu: tree %td: %s", seed, m - f->member, reason);
	mas_for_each(&mas, entry, ULONG_MAX) {
		for (; index < mas.index; index++)
			assert_int_equal(m->entry[index], 0);
		for (; index <= mas.last; index++)
			assert_int_equal(m->entry[index], xa_to_value(entry));
	}
	for (; index < INDEXES; index++)
		assert_int_equal(m->entry[index], 0);
	mtree_unlock(&m->mt);
}

/* ---- references to entries ------------------------------------------------------------------ */

#define NUMBERS (1 << 20) /* more than entries are made */

static unsigned int references[NUMBERS];

static void get(void *entry)
{
	__atomic_add_fetch(&references[xa_to_value(entry)], 1, __ATOMIC_RELAXED);
}

static void drop(void *entry)
{
	assert_true(__atomic_fetch_sub(&references[xa_to_value(entry)], 1, __ATOMIC_RELAXED));
}

static const struct mt_entry_ops counting = { get, drop };

/* ---- references ----------------------------------------------------------------------------- */

struct seen {
	struct maple_enode *enode;
	unsigned int references;
};

struct census {
	struct seen seen[1 << 14];
	size_t count;
	unsigned int *slots; /* that hold an entry: [1 .. entries_made] */
};

static void count_slot(struct census *c, void *entry)
{
	if (refs_counts(entry))
		c->slots[xa_to_value(entry)]++;
}

static void count_references(struct census *c, struct maple_enode *enode)
{
	struct mt_node *node = enode_node(enode);
	enum node_kind kind = enode_kind(enode);
	size_t at = ((uintptr_t)node / NODE_BYTES) % LENGTH(c->seen);

	while (c->seen[at].enode && c->seen[at].enode != enode)
		at = (at + 1) % LENGTH(c->seen);
	c->seen[at].enode = enode;
	if (c->seen[at].references++)
		return;
	c->count++;
	assert_true(c->count < LENGTH(c->seen));
	for (unsigned int i = 0; i <= node_end(node, kind); i++)
		if (kind == KIND_LEAF)
			count_slot(c, node->wide.slot[i]);
		else
			count_references(c, slot_child(node, kind, i));
}

static void expect_entries_counted(const struct family *f, const struct census *c, bool exactly)
{
	for (unsigned int i = 1; i <= f->entries_made; i++) {
		unsigned int count = __atomic_load_n(&references[i], __ATOMIC_RELAXED);

		if (exactly ? count != c->slots[i] : count < c->slots[i])
			fail_msg("seed %lu: entry %u has %u references and stands in %u slots",
				 seed, i, count, c->slots[i]);
	}
}

/* @exactly: nothing waits for a grace period. Returns how many nodes all trees have together. */
static size_t expect_references(struct family *f, bool exactly)
{
	struct census *c = calloc(1, sizeof(*c));
	size_t count;

	c->slots = calloc(f->entries_made + 1ul, sizeof(*c->slots));
	for (struct member *m = f->member; m < f->member + TREES; m++)
		if (m->alive && root_is_node(m->mt.ma_root))
			count_references(c, m->mt.ma_root);
		else if (m->alive)
			count_slot(c, m->mt.ma_root);
	if (f->counted)
		expect_entries_counted(f, c, exactly);
	for (size_t i = 0; i < LENGTH(c->seen); i++) {
		struct maple_enode *enode = c->seen[i].enode;
		unsigned long shares;

		if (!enode)
			continue;
		shares = node_shares(enode_node(enode), enode_kind(enode));
		if (exactly ? shares + 1 != c->seen[i].references
			    : shares + 1 < c->seen[i].references)
			fail_msg("seed %lu: node %p has %lu shares and %u references", seed,
				 (void *)enode, shares, c->seen[i].references);
	}
	count = c->count;
	free(c->slots);
	free(c);
	return count;
}

/* ---- operations ----------------------------------------------------------------------------- */

static void put(struct member *m, unsigned int first, unsigned int last, unsigned int entry)
{
	for (unsigned int i = first; i <= last; i++)
		m->entry[i] = entry;
}

static unsigned int draw_last(struct family *f, unsigned int first)
{
	unsigned int width = below(f, 40) ? below(f, 6) : below(f, INDEXES);

	return first + width < INDEXES ? first + width : INDEXES - 1;
}

static void store(struct family *f, struct member *m)
{
	unsigned int first = below(f, INDEXES), last = draw_last(f, first);
	unsigned int entry = below(f, 5) < 2 ? 0 : ++f->entries_made;
	void *value = entry ? xa_mk_value(entry) : NULL;
	MA_STATE(mas, &m->mt, first, last);

	if (below(f, 2)) {
		assert_int_equal(mtree_store_range(&m->mt, first, last, value, GFP_KERNEL), 0);
	} else {
		mtree_lock(&m->mt);
		assert_int_equal(mas_preallocate(&mas, value, GFP_KERNEL), 0);
		mas_set_range(&mas, first, last);
		assert_int_equal(mas_store_gfp(&mas, value, GFP_NOWAIT), 0);
		mas_destroy(&mas);
		mtree_unlock(&m->mt);
	}
	put(m, first, last, entry);
}

/* A cursor that stays where it is for several stores. */
static void store_along(struct family *f, struct member *m)
{
	unsigned int first = below(f, INDEXES - 40), steps = 1 + below(f, 6);
	MA_STATE(mas, &m->mt, first, first);

	mtree_lock(&m->mt);
	mas_walk(&mas);
	for (; steps; steps--) {
		unsigned int from = (unsigned int)mas.index, to = (unsigned int)mas.last;
		unsigned int entry = ++f->entries_made;

		if (mas.last >= INDEXES || from >= INDEXES)
			break;
		assert_int_equal(mas_store_gfp(&mas, xa_mk_value(entry), GFP_KERNEL), 0);
		put(m, from, to, entry);
		if (!mas_find(&mas, INDEXES - 1))
			break;
	}
	mas_destroy(&mas);
	mtree_unlock(&m->mt);
}

static void erase(struct family *f, struct member *m)
{
	unsigned int index = below(f, INDEXES), first = index, last = index;
	unsigned int entry = m->entry[index];
	void *old = mtree_erase(&m->mt, index);

	assert_ptr_equal(old, entry ? xa_mk_value(entry) : NULL);
	if (!entry)
		return;
	while (first && m->entry[first - 1] == entry)
		first--;
	while (last + 1 < INDEXES && m->entry[last + 1] == entry)
		last++;
	/* the same entry may stand in two ranges: of the first store's, a part was overwritten */
	put(m, first, last, 0);
}

static void allocate(struct family *f, struct member *m)
{
	unsigned long start, size = 1 + below(f, 8);
	unsigned int entry = f->entries_made + 1, i, room;
	int error = mtree_alloc_range(&m->mt, &start, xa_mk_value(entry), size, 0, INDEXES - 1,
				      GFP_KERNEL);

	for (i = room = 0; i < INDEXES && room < size; i++)
		room = m->entry[i] ? 0 : room + 1;
	assert_int_equal(error, room == size ? 0 : -EBUSY);
	if (error)
		return;
	assert_int_equal(start, i - size);
	f->entries_made++;
	put(m, (unsigned int)start, (unsigned int)(start + size - 1), entry);
}

static struct member *a_dead_one(struct family *f)
{
	for (struct member *m = f->member; m < f->member + TREES; m++)
		if (!m->alive)
			return m;
	return NULL;
}

static void init_member(const struct family *f, struct member *m)
{
	mt_init_flags(&m->mt, f->flags);
	if (f->counted)
		assert_int_equal(mt_set_entry_ops(&m->mt, &counting), 0);
}

static void beget(struct family *f, struct member *from)
{
	struct member *to = a_dead_one(f);

	if (!to)
		return;
	if (below(f, 2))
		init_member(f, to);
	if (below(f, 6))
		assert_int_equal(mtree_snapshot(&from->mt, &to->mt, GFP_KERNEL), 0);
	else
		assert_int_equal(mtree_dup(&from->mt, &to->mt, GFP_KERNEL), 0);
	memcpy(to->entry, from->entry, sizeof(to->entry));
	to->alive = true;
}

static unsigned int living(const struct family *f)
{
	unsigned int count = 0;

	for (const struct member *m = f->member; m < f->member + TREES; m++)
		count += m->alive;
	return count;
}

static void operate(struct family *f)
{
	struct member *m;

	do
		m = &f->member[below(f, TREES)];
	while (!m->alive);
	switch (below(f, 40)) {
	case 0: case 1: case 2:
		beget(f, m);
		break;
	case 3: case 4:
		if (living(f) == 1)
			break;
		mtree_destroy(&m->mt);
		m->alive = false;
		break;
	case 5: case 6: case 7: case 8: case 9: case 10:
		erase(f, m);
		break;
	case 11: case 12:
		store_along(f, m);
		break;
	case 13: case 14:
		if (f->flags & MT_FLAGS_ALLOC_RANGE)
			allocate(f, m);
		break;
	default:
		store(f, m);
	}
}

static void run_family(unsigned int flags, bool counted)
{
	struct family *f = calloc(1, sizeof(*f));
	bool rcu = flags & MT_FLAGS_USE_RCU;

	f->flags = flags;
	f->counted = counted;
	memset(references, 0, sizeof(references));
	random_seed(&f->random, seed + flags);
	for (struct member *m = f->member; m < f->member + TREES; m++)
		init_member(f, m);
	f->member[0].alive = true;
	for (unsigned long i = 0; i < operations; i++) {
		operate(f);
		if (i % 16)
			continue;
		for (struct member *m = f->member; m < f->member + TREES; m++)
			if (m->alive)
				expect_member(f, m);
		expect_references(f, !rcu);
	}
	for (struct member *m = f->member; m < f->member + TREES; m++)
		if (m->alive)
			end(&m->mt);
	assert_int_equal(mt_barrier(), 0);
	assert_true(f->entries_made < NUMBERS);
	for (unsigned int i = 0; i <= f->entries_made; i++)
		assert_int_equal(references[i], 0);
	free(f);
}

static void families_agree_with_arrays(void **state)
{
	(void)state;
	for (unsigned int flags = 0; flags < 4; flags++)
		run_family(flags, false);
}

static void families_count_references_to_entries(void **state)
{
	(void)state;
	for (unsigned int flags = 0; flags < 4; flags++)
		run_family(flags, true);
}

static int say_seed(void **state)
{
	(void)state;
	print_message("# seed %lu, %lu operations for each kind of tree\n", seed, operations);
	return 0;
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(families_agree_with_arrays),
		cmocka_unit_test(families_count_references_to_entries),
	};

	if (argc > 1)
		seed = strtoul(argv[1], NULL, 0);
	if (argc > 2)
		operations = strtoul(argv[2], NULL, 0);
	return cmocka_run_group_tests(tests, say_seed, NULL);
}
