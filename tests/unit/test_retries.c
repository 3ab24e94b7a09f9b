/* SPDX-License-Identifier: MIT */
/*
 * test_retries.c - a reader beside a writer that never stops tries to read a leaf at most as often
 * as retry.h says. Also tests what writers do meanwhile, and that a leaf never gets a version
 * again; and that nothing is lost which threads retire at once.
 *
 * Reader and writer run in one thread, the writer on its own stack, with looks.h included before
 * the library: the writer makes some stores before loads of the reader. At the end both run as
 * threads for a moment.
 */
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <ucontext.h>

#include <cmocka.h>

#include "retry.h"

#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))
#define META          (WIDE_PIVOTS * sizeof(long)) /* where a leaf has it */

/* ---- memory: an arena that begins anew with each run; no grace period passes -------------- */

static unsigned char arena[8192][NODE_BYTES] __attribute__((aligned(NODE_BYTES)));
static unsigned int arena_used;
static bool arena_closed;

static void *arena_alloc(void *ctx, size_t size, size_t align)
{
	(void)ctx;
	if (arena_closed)
		return NULL;
	assert_true(arena_used < LENGTH(arena) && size == NODE_BYTES && align == NODE_BYTES);
	return arena[arena_used++];
}

static void arena_free(void *ctx, void *block, size_t size)
{
	(void)ctx;
	(void)block;
	(void)size;
}

static const struct mt_allocator allocator = { arena_alloc, arena_free, NULL };

static void never_call(struct rcu_head *head, void (*func)(struct rcu_head *head))
{
	(void)head;
	(void)func;
}

static void nothing(void)
{
}

static const struct mt_rcu racing = { never_call, nothing, nothing, nothing, NULL };

/* ---- the two sides ------------------------------------------------------------------------- */

/*
 * A writer that stores @value over [@first, @last] and then @other (NULL if negative) over
 * [@first, @other_last], over and over.
 */
struct hammer {
	const char *name;
	unsigned long count; /* entries of one index, 4 apart, from 4 on */
	unsigned long first;
	unsigned long last;
	unsigned long other_last;
	long other;
	unsigned int words; /* at most stored by one of these; 0: IN_PLACE_WORDS_MAX */
};

/*
 * When the writer goes on: it has made @before stores when the reader starts, and makes @burst more
 * before each of the reader's loads or, @at_end, before those that end a try.
 */
struct schedule {
	unsigned long before;
	unsigned long burst;
	bool at_end;
};

static struct {
	const struct hammer *hammer;
	struct schedule schedule;
	struct maple_tree mt;
	ucontext_t reader;
	ucontext_t writer;
	unsigned long stores_left;
	bool writing; /* who runs */
	bool armed;
	bool stop;
	unsigned long loads; /* by readers */
	unsigned long root_loads;
	unsigned long tries; /* of the reader's call */
	unsigned long limit; /* of tries: the writer stops then, so that every test ends */
} race;

static _Thread_local unsigned long own_tries; /* of a thread */

static void go_on(unsigned long stores)
{
	if (!stores)
		return;
	race.stores_left = stores;
	race.writing = true;
	swapcontext(&race.reader, &race.writer);
	race.writing = false;
}

void look_store(void)
{
	if (!race.writing)
		return;
	while (!race.stores_left)
		swapcontext(&race.writer, &race.reader);
	race.stores_left--;
}

static bool is_meta(const volatile void *word)
{
	return ((uintptr_t)word & (NODE_BYTES - 1)) == META &&
	       (unsigned char *)(uintptr_t)word >= arena[0] &&
	       (unsigned char *)(uintptr_t)word < arena[0] + sizeof(arena);
}

/* What another thread does in the middle of something: before which load or exchange, if any. */
static void (*meanwhile)(void);
static unsigned long meanwhile_step;

void look_exchange(void)
{
	if (meanwhile_step && !--meanwhile_step)
		meanwhile();
}

/* A try begins with an acquire load of the leaf's version and ends with a relaxed one. */
void look_load(const volatile void *word, int order)
{
	bool meta = is_meta(word);

	if (race.writing)
		return;
	look_exchange();
	race.loads++;
	race.root_loads += word == &race.mt.ma_root;
	if (meta && order == __ATOMIC_ACQUIRE) {
		own_tries++;
		race.tries += race.armed;
	}
	if (!race.armed || race.tries > race.limit)
		return;
	if (!race.schedule.at_end || (meta && order == __ATOMIC_RELAXED))
		go_on(race.schedule.burst);
}

static void *value(long number)
{
	return number < 0 ? NULL : xa_mk_value((unsigned long)number);
}

static void writer_main(void)
{
	const struct hammer *h = race.hammer;

	for (;;) {
		mtree_store_range(&race.mt, h->first, h->last, value(99), GFP_KERNEL);
		mtree_store_range(&race.mt, h->first, h->other_last, value(h->other), GFP_KERNEL);
	}
}

static void make_tree(struct maple_tree *mt, unsigned int flags, unsigned long count)
{
	arena_used = 0;
	arena_closed = false;
	mt_init_flags(mt, flags | MT_FLAGS_USE_RCU);
	mt_set_allocator(mt, &allocator);
	mt_set_rcu_flavour(mt, &racing);
	for (unsigned long i = 1; i <= count; i++)
		mtree_store(mt, 4 * i, value((long)i), GFP_KERNEL);
}

static void begin(const struct hammer *h, unsigned int flags, const struct schedule *s)
{
	static unsigned char stack[256 * 1024];

	make_tree(&race.mt, flags, h->count);
	race.hammer = h;
	race.schedule = *s;
	race.tries = 0;
	race.limit = 100000;
	getcontext(&race.writer);
	race.writer.uc_stack.ss_sp = stack;
	race.writer.uc_stack.ss_size = sizeof(stack);
	makecontext(&race.writer, writer_main, 0);
	go_on(s->before);
}

/* ---- reads, each with the most leaves that it may read ------------------------------------ */

static void do_load(unsigned long index)
{
	mtree_load(&race.mt, index);
}

static void do_load_many(unsigned long index)
{
	unsigned long keys[2] = { index, index };
	void *entries[2];

	mtree_load_many(&race.mt, keys, entries, 2);
}

static void do_walk(unsigned long index)
{
	MA_STATE(mas, &race.mt, index, index);

	mas_walk(&mas);
}

static void do_load_range(unsigned long index)
{
	unsigned long first, last;

	mtree_load_range(&race.mt, index, &first, &last);
}

static void do_gap_around(unsigned long index)
{
	unsigned long first, last;

	mtree_gap_around(&race.mt, index, &first, &last);
}

static void do_find(unsigned long index)
{
	mt_find(&race.mt, &index, index);
}

static void do_next(unsigned long index)
{
	mt_next(&race.mt, index, index + 3);
}

static void do_prev(unsigned long index)
{
	mt_prev(&race.mt, index, index - 3);
}

static void do_each(unsigned long index)
{
	MA_STATE(mas, &race.mt, index, index);
	void *entry;

	mas_for_each(&mas, entry, index + 3)
		;
}

static void do_each_rev(unsigned long index)
{
	MA_STATE(mas, &race.mt, index, index);
	void *entry;

	mas_for_each_rev(&mas, entry, index - 3)
		;
}

static void do_mt_each(unsigned long index)
{
	unsigned long max = index + 3;
	void *entry;

	mt_for_each(&race.mt, entry, index, max)
		;
}

static void do_lowest(unsigned long index)
{
	MA_STATE(mas, &race.mt, 0, 0);

	if (race.mt.ma_flags & MT_FLAGS_ALLOC_RANGE)
		mas_empty_area(&mas, index, index + 3, 4); /* no such place; searches one leaf */
}

static void do_highest(unsigned long index)
{
	MA_STATE(mas, &race.mt, 0, 0);

	if (race.mt.ma_flags & MT_FLAGS_ALLOC_RANGE)
		mas_empty_area_rev(&mas, index, index + 3, 4);
}

static const struct {
	const char *name;
	void (*read)(unsigned long index);
	unsigned int looks;
} reads[] = {
	{ "mtree_load", do_load, 1 },		  { "mtree_load_many", do_load_many, 2 },
	{ "mas_walk", do_walk, 1 },		  { "mtree_load_range", do_load_range, 1 },
	{ "mtree_gap_around", do_gap_around, 1 },
	{ "mt_find", do_find, 1 },		  { "mt_next", do_next, 4 },
	{ "mt_prev", do_prev, 4 },		  { "mas_for_each", do_each, 8 },
	{ "mas_for_each_rev", do_each_rev, 8 },	  { "mt_for_each", do_mt_each, 8 },
	{ "mas_empty_area", do_lowest, 3 },	  { "mas_empty_area_rev", do_highest, 3 },
};

static unsigned long bound(unsigned int words)
{
	return RETRY_QUICK + 2 * (words ? words : IN_PLACE_WORDS_MAX) + 3;
}

static unsigned long read_beside(const struct hammer *h, unsigned int flags, unsigned int which,
				 const struct schedule *s)
{
	begin(h, flags, s);
	race.armed = true;
	reads[which].read(h->first);
	race.armed = false;
	assert_int_equal(race.mt.ma_retrying, 0);
	if (race.tries > reads[which].looks * bound(h->words))
		fail_msg("%s beside %s: %lu tries; %lu stores before, then %lu", reads[which].name,
			 h->name, race.tries, s->before, s->burst);
	return race.tries;
}

static void no_writer_keeps_a_reader(void **state)
{
	static const struct hammer hammers[] = {
		{ "another entry in a slot", 3, 8, 8, 8, 5, 1 },
		{ "a boundary that moves", 3, 8, 9, 9, -1, 0 },
		{ "an entry at the low end of a leaf", WIDE_SLOTS / 2 - 2, 2, 2, 2, -1, 0 },
		{ "another entry in a slot of many leaves", 60, 40, 40, 40, 5, 1 },
		{ "an entry in the middle of many leaves", 60, 42, 42, 42, -1, 0 },
	};
	static const unsigned long bursts[] = { 1, 2, 3, 5, 40 };
	unsigned long most = 0;
	struct schedule s;

	(void)state;
	for (size_t i = 0; i < LENGTH(hammers) * LENGTH(reads) * LENGTH(bursts) * 4; i++) {
		unsigned int which = i % LENGTH(reads);
		unsigned int flags = i / LENGTH(reads) % 2 ? MT_FLAGS_ALLOC_RANGE : 0;
		const struct hammer *h = &hammers[i / LENGTH(reads) / 4 % LENGTH(hammers)];

		s.at_end = i / LENGTH(reads) / 2 % 2;
		s.burst = bursts[i / LENGTH(reads) / 4 / LENGTH(hammers)];
		for (s.before = 0; s.before < 12 + 2 * IN_PLACE_WORDS_MAX;
		     s.before += 1 + s.before / 8) {
			unsigned long tries = read_beside(h, flags, which, &s);

			if (reads[which].looks == 1 && tries > most)
				most = tries;
		}
	}
	assert_true(most > RETRY_QUICK);
	print_message("# a look took %lu tries at most, of %lu\n", most, bound(0));
}

static unsigned long loads_of_no_place(struct mt_area *area)
{
	race.loads = 0;
	assert_int_equal(mtree_alloc_area(&race.mt, area, value(1), GFP_KERNEL), -EBUSY);
	return race.loads;
}

/*
 * That there is no place must come from one state of the leaf: where slots have room but no aligned
 * place they are determined again. A place that is found is free.
 */
static void a_place_that_is_found_is_looked_for_once(void **state)
{
	MA_STATE(mas, &race.mt, 0, 0);
	unsigned long found;

	(void)state;
	make_tree(&race.mt, MT_FLAGS_ALLOC_RANGE, 3);
	race.loads = 0;
	assert_int_equal(mas_empty_area(&mas, 0, ULONG_MAX, 3), 0);
	found = race.loads;
	assert_int_equal(mas.index, 0);
	assert_in_range(found, 1, 2 * WIDE_SLOTS + 8); /* each pivot and each slot, and a few */
	race.loads = 0;
	assert_int_equal(mas_empty_area(&mas, 1, 6, 4), -EBUSY);
	assert_in_range(race.loads, 1, found + 1); /* no slot has room: one look says so */
	assert_true(loads_of_no_place(&(struct mt_area){ .min = 1, .max = 7, .size = 3, .align = 4 }) >
		    loads_of_no_place(&(struct mt_area){ .min = 1, .max = 7, .size = 4, .align = 4 }) +
			    WIDE_SLOTS);

	make_tree(&race.mt, MT_FLAGS_ALLOC_RANGE, 60);
	race.root_loads = 0;
	assert_int_equal(mas_empty_area(&mas, 0, ULONG_MAX, 3), 0);
	assert_int_equal(mas_empty_area_rev(&mas, 0, ULONG_MAX, 3), 0);
	assert_int_equal(race.root_loads, 2);
}

/* From end to end of a full leaf, with gaps between the entries or without. */
static void steps_in_a_leaf_read_few_words(void **state)
{
	static void *(*const steps[])(struct ma_state *mas, unsigned long limit) = {
		mas_next, mas_find, mas_prev, mas_find_rev,
	};
	struct maple_tree mt;
	MA_STATE(mas, &mt, 0, 0);

	(void)state;
	for (size_t i = 0; i < 2 * LENGTH(steps); i++) {
		unsigned long gap = i % 2, count = WIDE_SLOTS / (1 + gap), n;
		bool up = i / 2 < 2;

		mt_init(&mt);
		for (n = 0; n < count; n++)
			mtree_store_range(&mt, 2 * n + gap, n + 1 < count ? 2 * n + 1 : ULONG_MAX,
					  value((long)n), GFP_KERNEL);
		assert_int_equal(mt_height(&mt), 1);
		mtree_lock(&mt);
		mas_set(&mas, up ? 1 : ULONG_MAX);
		assert_non_null(mas_walk(&mas));
		for (n = 1; n < count; n++) {
			race.loads = 0;
			assert_ptr_equal(steps[i / 2](&mas, up ? ULONG_MAX : 0),
					 value((long)(up ? n : count - 1 - n)));
			assert_in_range(race.loads, 1, 8);
		}
		mtree_unlock(&mt);
		mtree_destroy(&mt);
	}
}

/* ---- what writers do beside a reader that retries ------------------------------------------ */

static uint32_t random_below(uint32_t below)
{
	static uint32_t x = 2463534242;

	x ^= x << 13; /* xorshift (Marsaglia 2003) */
	x ^= x >> 17;
	x ^= x << 5;
	return x % below;
}

static void expect_equal(struct maple_tree *a, struct maple_tree *b)
{
	MA_STATE(x, a, 0, 0);
	MA_STATE(y, b, 0, 0);
	const char *reason = "";
	void *entry;

	if (!mt_check(a, &reason))
		fail_msg("%s", reason);
	do {
		entry = mas_find(&x, ULONG_MAX);
		assert_ptr_equal(entry, mas_find(&y, ULONG_MAX));
		assert_true(!entry || (x.index == y.index && x.last == y.last));
	} while (entry);
}

/* Every store has the same result as in place, and no leaf that readers may be in changes. */
static void copies_are_what_changes_in_place_make(void **state)
{
	struct maple_tree in_place;

	(void)state;
	for (unsigned int flags = 0; flags <= MT_FLAGS_ALLOC_RANGE; flags++) {
		make_tree(&race.mt, flags, 0);
		mt_init_flags(&in_place, flags | MT_FLAGS_USE_RCU);
		mt_set_allocator(&in_place, &allocator);
		mt_set_rcu_flavour(&in_place, &racing);
		race.mt.ma_retrying = 1;
		for (int i = 0; i < 800; i++) {
			unsigned long first = random_below(60), last = first + random_below(6);
			void *entry = value((long)random_below(4) - 1);
			void *root = race.mt.ma_root;
			struct mt_node *node = enode_node(root), before;
			bool leaf = root_is_node(root) && enode_kind(root) == KIND_LEAF;

			if (leaf)
				before = *node;
			assert_int_equal(mtree_store_range(&race.mt, first, last, entry,
							   GFP_KERNEL), 0);
			assert_int_equal(mtree_store_range(&in_place, first, last, entry,
							   GFP_KERNEL), 0);
			if (leaf && race.mt.ma_root == root)
				assert_memory_equal(node, &before, sizeof(before));
			expect_equal(&race.mt, &in_place);
		}
	}
}

/* A reader intervenes: what is reserved for a change in place is enough for a copy. */
static void preallocated_stores_have_memory_for_a_copy(void **state)
{
	MA_STATE(mas, &race.mt, 8, 8);
	void *root;

	(void)state;
	make_tree(&race.mt, 0, 3);
	for (int i = 0; i < 100; i++) { /* batches of retired nodes become full meanwhile */
		root = race.mt.ma_root;
		mtree_lock(&race.mt);
		mas_set(&mas, 8);
		assert_int_equal(mas_preallocate(&mas, value(i), GFP_KERNEL), 0);
		race.mt.ma_retrying = 1;
		arena_closed = true;
		mas_store_prealloc(&mas, value(i));
		arena_closed = false;
		mtree_unlock(&race.mt);
		assert_ptr_not_equal(race.mt.ma_root, root);
		assert_ptr_equal(mtree_load(&race.mt, 8), value(i));
	}
}

static void a_store_without_memory_changes_in_place(void **state)
{
	MA_STATE(mas, &race.mt, 8, 8);
	void *root;

	(void)state;
	make_tree(&race.mt, MT_FLAGS_ALLOC_RANGE, 2);
	race.mt.ma_retrying = 1;
	root = race.mt.ma_root;
	arena_closed = true;
	assert_int_equal(mtree_store(&race.mt, 8, value(7), GFP_KERNEL), 0);
	assert_int_equal(mtree_store(&race.mt, 5, value(6), GFP_NOWAIT), 0);
	mtree_lock(&race.mt);
	assert_ptr_equal(mas_store(&mas, value(5)), value(7));
	assert_int_equal(mas_store_gfp(&mas, value(4), GFP_NOWAIT), 0);
	assert_true(mas_is_active(&mas));
	mtree_unlock(&race.mt);
	assert_ptr_equal(mtree_erase(&race.mt, 5), value(6));
	arena_closed = false;
	assert_ptr_equal(race.mt.ma_root, root);
	assert_ptr_equal(mtree_load(&race.mt, 8), value(4));
	assert_true(mt_check(&race.mt, NULL));
}

/* Copies take nothing from a reserve that is for the nodes a bulk load makes. */
static void a_bulk_load_has_memory_to_the_end(void **state)
{
	MA_STATE(mas, &race.mt, 0, 0);
	int i;

	(void)state;
	make_tree(&race.mt, 0, 0);
	mtree_lock(&race.mt);
	assert_int_equal(mas_expected_entries(&mas, 600), 0);
	race.mt.ma_retrying = 1;
	for (i = 0; i < 600; i++) {
		arena_closed = i > 300;
		mas_set(&mas, 4ul * (unsigned int)i);
		mas_store(&mas, value(i));
		assert_false(mas_is_err(&mas));
	}
	arena_closed = false;
	mtree_unlock(&race.mt);
	for (i = 0; i < 600; i++)
		assert_ptr_equal(mtree_load(&race.mt, 4ul * (unsigned int)i), value(i));
}

/* Of a reader that will never say so: it was in another process, or its thread is gone. */
static void leaving_the_mode_forgets_readers(void **state)
{
	(void)state;
	make_tree(&race.mt, 0, 3);
	race.mt.ma_retrying = 1;
	mt_clear_in_rcu(&race.mt);
	assert_int_equal(race.mt.ma_retrying, 0);
}

/* ---- versions and words ---------------------------------------------------------------------- */

static unsigned long version_of(const struct mt_node *leaf)
{
	return leaf->wide.meta >> META_VERSION_SHIFT;
}

/* A leaf whose last slot is in use: to erase the entry at 4 stores the most words of all. */
static void make_leaf_of_most_words(void)
{
	make_tree(&race.mt, 0, WIDE_SLOTS / 2 - 1);
	mtree_store_range(&race.mt, 2 * WIDE_SLOTS, ULONG_MAX, value(1), GFP_KERNEL);
}

/* No change in place stores more words than the bound is computed with. */
static void changes_store_no_more_words_than_said(void **state)
{
	unsigned long most = 0, version;

	(void)state;
	/* The version is raised before each word and once at the end. */
	make_leaf_of_most_words();
	version = version_of(enode_node(race.mt.ma_root));
	assert_ptr_equal(mtree_erase(&race.mt, 4), value(1));
	assert_int_equal(version_of(enode_node(race.mt.ma_root)) - version,
			 IN_PLACE_WORDS_MAX + 1);
	make_tree(&race.mt, 0, 0);
	for (int i = 0; i < 200000; i++) {
		unsigned long first = random_below(2 * WIDE_SLOTS);
		void *entry = value((long)random_below(2 * WIDE_SLOTS) - WIDE_SLOTS);
		void *root = race.mt.ma_root;
		struct mt_node *leaf = root_is_node(root) ? enode_node(root) : NULL;
		unsigned long before = leaf ? version_of(leaf) : 0;

		if (mt_height(&race.mt) > 1 || arena_used > LENGTH(arena) - 64)
			make_tree(&race.mt, 0, WIDE_SLOTS / 2 - 1);
		else if (!mtree_store_range(&race.mt, first, first + random_below(2), entry,
					    GFP_KERNEL) &&
			 leaf && race.mt.ma_root == root && version_of(leaf) - before > most)
			most = version_of(leaf) - before;
	}
	assert_true(most > IN_PLACE_WORDS_MAX / 2 && most <= IN_PLACE_WORDS_MAX + 1);
}

/* Whatever version the leaf has before the change that raises it most. */
static void the_last_version_is_not_passed(void **state)
{
	unsigned long copies = 0;

	(void)state;
	if (META_VERSION_BITS > 48)
		return; /* they last */
	for (unsigned long left = 0; left < 2 * IN_PLACE_WORDS_MAX; left++) {
		unsigned long version = META_VERSION_MAX - left;
		struct mt_node *leaf;

		make_leaf_of_most_words();
		leaf = enode_node(race.mt.ma_root);
		leaf->wide.meta = node_end(leaf, KIND_LEAF) | version << META_VERSION_SHIFT;
		assert_ptr_equal(mtree_erase(&race.mt, 4), value(1));
		if (leaf == enode_node(race.mt.ma_root)) {
			assert_in_range(version_of(leaf), version + 1, META_VERSION_MAX);
		} else {
			assert_int_equal(version_of(enode_node(race.mt.ma_root)), 0);
			copies++;
		}
	}
	assert_int_equal(copies, IN_PLACE_WORDS_MAX + 1);
}

/* Before the versions of a leaf begin again a copy takes its place, though nobody reads. */
static void versions_do_not_come_again(void **state)
{
	unsigned long copies = 0, writes;

	(void)state;
	make_tree(&race.mt, 0, 3);
	for (writes = 0; writes < 5000; writes++) {
		struct mt_node *leaf = enode_node(race.mt.ma_root);
		unsigned long version = version_of(leaf);

		mtree_store(&race.mt, 8, value((long)writes), GFP_KERNEL);
		if (leaf == enode_node(race.mt.ma_root)) {
			assert_true(version_of(leaf) > version);
			assert_true(version_of(leaf) <= META_VERSION_MAX);
		} else {
			assert_int_equal(version_of(enode_node(race.mt.ma_root)), 0);
			copies++;
		}
	}
#ifdef MT_TEST_VERSION_BITS
	arena_closed = true; /* rather than take a version for the second time, a store fails */
	for (writes = 0; !mtree_store(&race.mt, 8, value(1), GFP_KERNEL); writes++)
		;
	arena_closed = false;
	assert_true(writes < META_VERSION_MAX && copies > 5000 / META_VERSION_MAX);
#else
	assert_int_equal(copies, 0);
#endif
}

/* ---- what is retired at once ---------------------------------------------------------------- */

static unsigned int given_back;

static void give_back(void *object)
{
	(void)object;
	given_back++;
}

static void retire_one(void)
{
	assert_int_equal(mt_retire(&given_back, give_back), 0);
}

/* However far one thread has come with it when another retires something, too. */
static void nothing_is_lost_that_is_retired_meanwhile(void **state)
{
	unsigned long step = 0;
	bool met;

	(void)state;
	meanwhile = retire_one;
	do {
		given_back = 0;
		meanwhile_step = ++step;
		retire_one();
		met = !meanwhile_step;
		meanwhile_step = 0;
		assert_true(mt_poll());
		assert_int_equal(given_back, 1 + met);
	} while (met);
	assert_true(step > 2);
}

/* ---- two threads ----------------------------------------------------------------------------- */

static void *hammer_on(void *arg)
{
	unsigned long writes = 0;

	(void)arg;
	while (!__atomic_load_n(&race.stop, __ATOMIC_RELAXED)) {
		if (arena_used > LENGTH(arena) - 8)
			break;
		mtree_store(&race.mt, 8, value((long)(writes++ & 7)), GFP_KERNEL);
	}
	return NULL;
}

/* More stores than any processor lets a thread have on their way. */
#define STORE_BUFFER 512

static void a_thread_gets_on_beside_another(void **state)
{
	unsigned long most = 0;
	pthread_t writer;

	(void)state;
	make_tree(&race.mt, 0, 3);
	race.stop = false;
	assert_int_equal(pthread_create(&writer, NULL, hammer_on, NULL), 0);
	for (int i = 0; i < 1000000; i++) {
		own_tries = 0;
		assert_non_null(mtree_load(&race.mt, 8));
		most = own_tries > most ? own_tries : most;
	}
	__atomic_store_n(&race.stop, true, __ATOMIC_RELAXED);
	pthread_join(writer, NULL);
	assert_int_equal(race.mt.ma_retrying, 0);
	assert_true(most <= bound(1) + STORE_BUFFER);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_writer_keeps_a_reader),
		cmocka_unit_test(a_place_that_is_found_is_looked_for_once),
		cmocka_unit_test(steps_in_a_leaf_read_few_words),
		cmocka_unit_test(copies_are_what_changes_in_place_make),
		cmocka_unit_test(preallocated_stores_have_memory_for_a_copy),
		cmocka_unit_test(a_store_without_memory_changes_in_place),
		cmocka_unit_test(a_bulk_load_has_memory_to_the_end),
		cmocka_unit_test(leaving_the_mode_forgets_readers),
		cmocka_unit_test(changes_store_no_more_words_than_said),
		cmocka_unit_test(the_last_version_is_not_passed),
		cmocka_unit_test(versions_do_not_come_again),
		cmocka_unit_test(nothing_is_lost_that_is_retired_meanwhile),
		cmocka_unit_test(a_thread_gets_on_beside_another),
	};

	return cmocka_run_group_tests_name("retries", tests, NULL, NULL);
}
