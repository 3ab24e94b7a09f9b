/* SPDX-License-Identifier: MIT */
/*
 * family_main.c - all sequences of stores, erasures, snapshots and destructions in a few trees over a
 * small index space, on nodes of 4 slots.
 *
 * As in main.c sequences that lead to the same shape of all trees (see shape.h), with the same
 * nodes shared, go on alike, so each is tried once: breadth first, every operation on every shape;
 * and, where a run says so, every two operations without a grace period between them.
 */
#include <stdio.h>
#include <stdlib.h>

#include "family.h"
#include "options.h"
#include "states.h"

static const struct {
	const char *name;
	unsigned int flags;
	bool counted;
} modes[] = {
	{ "plain", 0, false },
	{ "gaps, counted", MT_FLAGS_ALLOC_RANGE, true },
	{ "rcu", MT_FLAGS_USE_RCU, false },
	{ "gaps+rcu, counted", MT_FLAGS_ALLOC_RANGE | MT_FLAGS_USE_RCU, true },
	{ "counted", 0, true },
	{ "gaps", MT_FLAGS_ALLOC_RANGE, false },
	{ "rcu, counted", MT_FLAGS_USE_RCU, true },
	{ "gaps+rcu", MT_FLAGS_ALLOC_RANGE | MT_FLAGS_USE_RCU, false },
};

#define MODES (sizeof(modes) / sizeof(modes[0]))
#define SLICE_MODES 4 /* of the short run */

/*
 * @entries: single points, ascending, that are stored in the first tree before it is snapshotted
 * into the second; 0: all trees are empty. @trees, @points: see family.h.
 * @depth: length of the sequences; in the short run @slice.
 * @pairs: up to that depth two operations without a grace period, too; in the short run
 * @pairs_slice.
 */
struct run {
	unsigned int entries;
	unsigned int trees;
	unsigned int points;
	unsigned int depth;
	unsigned int slice;
	unsigned int pairs;
	unsigned int pairs_slice;
};

static const struct run runs[] = {
	{ 0, 2, 3, UNLIMITED, 4, UNLIMITED, 2 },
	{ 0, 3, 3, 6, 2, 3, 1 },
	{ 5, 2, 5, 4, 1, 2, 1 },
	{ 5, 3, 5, 3, 1, 1, 0 },
	{ 7, 2, 7, 3, 1, 1, 1 },
	{ 14, 2, 14, 2, 1, 1, 0 },
	{ 20, 2, 20, 1, 1, 1, 0 },
};

#define RUNS (sizeof(runs) / sizeof(runs[0]))

struct totals {
	unsigned long long operations;
	unsigned long long pairs;
	unsigned long long shapes;
	unsigned long long failures;
};

static void print_op(const struct op *op)
{
	static const char *const names[OP_KINDS] = { "a store", "an erasure", "a snapshot",
						     "the destruction" };

	fprintf(stderr, "%s in tree %u", names[op->kind], op->tree);
	if (op->kind == OP_SNAPSHOT)
		fprintf(stderr, " into tree %u", op->to);
	else if (op->kind != OP_DESTROY)
		fprintf(stderr, " over points %u..%u", op->first, op->last);
	fprintf(stderr, "\n");
}

/* What went wrong, with which operations, and the trees it began with. */
static int report(struct family *f, const struct shape *shape, const struct op *one,
		  const struct op *two, const char *wrong)
{
	struct maple_tree *mt[FAMILY_MAX] = { &f->tree[0], &f->tree[1], &f->tree[2] };
	unsigned int i;

	fprintf(stderr, "exhaustive family: %s\nafter ", wrong);
	print_op(one);
	if (two) {
		fprintf(stderr, "and, without a grace period, ");
		print_op(two);
	}
	fprintf(stderr, "of these trees:\n");
	family_begin(f);
	if (!shape_make_all(shape, mt, f->trees))
		for (i = 0; i < f->trees; i++)
			mt_dump(mt[i], mt_dump_dec);
	return 1;
}

static bool first_shape(struct family *f, const struct run *run, struct shape *shape)
{
	struct maple_tree *mt[FAMILY_MAX] = { &f->tree[0], &f->tree[1], &f->tree[2] };
	unsigned int i;
	int error = 0;

	family_begin(f);
	for (i = 0; i < run->entries && !error; i++)
		error = mtree_store_range(mt[0], point_index(i), point_last(i, run->points),
					  xa_mk_value(i + 1), GFP_KERNEL);
	if (run->entries && !error)
		error = mtree_snapshot(mt[0], mt[1], GFP_KERNEL);
	return !error && shape_take_all(shape, f->content, mt, f->trees, run->points) &&
	       !family_end(f);
}

/* The next operation that could be thought of; false after the last. {0}: begin. */
static bool next_op(const struct family *f, struct op *op)
{
	unsigned int *const digit[] = { &op->last, &op->first, &op->to, &op->tree };
	const unsigned int limit[] = { f->points, f->points, f->trees, f->trees };
	unsigned int i, kind = op->kind;

	for (i = 0; i < 4; i++) {
		if (++*digit[i] < limit[i])
			return true;
		*digit[i] = 0;
	}
	op->kind = (enum op_kind)(kind + 1);
	return op->kind < OP_KINDS;
}

/* The operations that are possible in a shape. */
struct menu {
	unsigned int count;
	struct op op[2000];
};

static void make_menu(struct family *f, const struct shape *shape, struct menu *menu)
{
	struct maple_tree *mt[FAMILY_MAX] = { &f->tree[0], &f->tree[1], &f->tree[2] };
	struct op op = { OP_STORE, 0, 0, 0, 0 };
	bool more = true;

	family_begin(f);
	menu->count = 0;
	if (shape_make_all(shape, mt, f->trees))
		abort();
	for (; more; more = next_op(f, &op))
		if (family_possible(f, &op) && menu->count < sizeof(menu->op) / sizeof(op))
			menu->op[menu->count++] = op;
	family_end(f);
}

/* Pairs, of operations that were possible at first or, the second, made so by the first. */
static int try_pairs(struct family *f, const struct shape *shape, const struct menu *menu,
		     struct totals *totals)
{
	unsigned int i;

	for (i = 0; i < menu->count; i++) {
		struct op two = { OP_STORE, 0, 0, 0, 0 };
		bool more = true;

		for (; more; more = next_op(f, &two)) {
			const char *wrong;

			if (two.kind <= OP_ERASE ? !family_possible(f, &two)
						 : two.first || two.last)
				continue;
			wrong = family_pair(f, shape, &menu->op[i], &two);
			if (wrong)
				return report(f, shape, &menu->op[i], &two, wrong);
			totals->pairs++;
		}
	}
	return 0;
}

static int expand(struct family *f, const struct shape *shape, bool pairs, struct states *states,
		  struct totals *totals)
{
	static struct menu menu;
	struct shape after;
	unsigned int i;

	make_menu(f, shape, &menu);
	for (i = 0; i < menu.count; i++) {
		const char *wrong = family_step(f, shape, &menu.op[i], &after);

		if (wrong)
			return report(f, shape, &menu.op[i], NULL, wrong);
		totals->operations++;
		states_add(states, &after);
	}
	return pairs ? try_pairs(f, shape, &menu, totals) : 0;
}

static int search(struct family *f, const struct run *run, unsigned int depth, unsigned int pairs,
		  struct totals *totals)
{
	size_t at = 0, level_end = 0;
	unsigned int level = 0;
	struct states states;
	struct shape shape;
	int failed = 0;

	if (!first_shape(f, run, &shape)) {
		fprintf(stderr, "exhaustive family: the trees to start from cannot be made\n");
		return 1;
	}
	states_open(&states);
	states_add(&states, &shape);
	level_end = states.used;
	while (!failed && level < depth && states_next(&states, &at, &shape)) {
		failed = expand(f, &shape, level < pairs, &states, totals);
		if (at == level_end) {
			level++;
			level_end = states.used;
		}
	}
	totals->shapes += states.count;
	states_close(&states);
	return failed;
}

static int try(const struct options *options, const struct run *run, unsigned int mode,
	       unsigned int number, struct totals *sum)
{
	static struct family f;
	unsigned int depth = options->full ? run->depth : run->slice;
	unsigned int pairs = options->full ? run->pairs : run->pairs_slice;
	struct totals totals = { 0, 0, 0, 0 };
	double begin = options_seconds();
	int failed;

	f = (struct family){ .trees = run->trees, .flags = modes[mode].flags,
			     .counted = modes[mode].counted, .points = run->points };
	family_open(&f);
	failed = search(&f, run, depth, pairs, &totals);
	if (!failed)
		family_close(&f);
	options_print_begin(options, number, failed);
	printf("%s, %u trees, %u points, from %u entries, sequences ", modes[mode].name, run->trees,
	       run->points, run->entries);
	options_print_length(depth);
	printf(": %llu shapes, %llu operations, %llu pairs, %lu failed allocations, %.1f s\n",
	       totals.shapes, totals.operations, totals.pairs, f.failures,
	       options_seconds() - begin);
	fflush(stdout);
	sum->operations += totals.operations;
	sum->pairs += totals.pairs;
	sum->shapes += totals.shapes;
	sum->failures += f.failures;
	return failed;
}

/* Whether the options ask for a run in a mode. */
static bool wanted(const struct options *options, unsigned int run, unsigned int mode)
{
	if (!options->full && options->mode < 0 && mode >= SLICE_MODES)
		return false;
	return options_want(options, run, mode);
}

int main(int argc, char **argv)
{
	struct totals sum = { 0, 0, 0, 0 };
	struct options options;
	unsigned int i, mode, number = 0;
	int failed = 0;

	if (!options_parse(&options, "family", RUNS, MODES, argc, argv))
		return 2;
	for (i = 0; i < RUNS && !failed; i++)
		for (mode = 0; mode < MODES && !failed; mode++)
			if (wanted(&options, i, mode))
				failed |= try(&options, &runs[i], mode, ++number, &sum);
	if (options.tap)
		printf("1..%u\n", number);
	printf("%s%llu shapes, %llu operations, %llu pairs, %llu failed allocations\n",
	       options.tap ? "# " : "", sum.shapes, sum.operations, sum.pairs, sum.failures);
	return failed;
}
