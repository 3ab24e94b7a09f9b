/* SPDX-License-Identifier: MIT */
/*
 * test_races.c - a read in RCU mode beside one write: the reader starts between any two stores of
 * the writer, and the writer makes some more stores before any of the reader's loads.
 *
 * Both run in one thread, the writer on its own stack. The library is compiled with races.h
 * included first, which defines where they may be switched. docs/concurrency.md says what a read
 * may return: each answer is from the tree before the write or after it. The order in which another
 * processor would see the stores is not tested here.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

#include <cmocka.h>

#include <mapletree/maple_tree.h>

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SANITIZED
#endif
#endif
#ifdef __SANITIZE_ADDRESS__
#define SANITIZED
#endif

#define NODE 256
#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))

/* ---- the content of a tree as a list ------------------------------------------------------ */

struct range {
	unsigned long first;
	unsigned long last;
	void *entry;
};

struct listing {
	unsigned int ranges;
	struct range range[64];
};

static void take(struct listing *l, struct maple_tree *mt)
{
	MA_STATE(mas, mt, 0, 0);

	for (l->ranges = 0;;) {
		void *entry = mas_walk(&mas);

		assert_true(l->ranges < LENGTH(l->range));
		l->range[l->ranges++] = (struct range){ mas.index, mas.last, entry };
		if (mas.last == ULONG_MAX)
			return;
		mas_set(&mas, mas.last + 1);
	}
}

static const struct range *range_at(const struct listing *l, unsigned long index)
{
	const struct range *r = l->range;

	while (r->last < index)
		r++;
	return r;
}

/* The nearest range with an entry that holds @index or lies above (below) it, or NULL. */
static const struct range *entry_from(const struct listing *l, unsigned long index, int step)
{
	const struct range *r = range_at(l, index);

	while (!r->entry) {
		if (r == (step > 0 ? &l->range[l->ranges - 1] : l->range))
			return NULL;
		r += step;
	}
	return r;
}

static bool fits(const struct listing *l, unsigned long size)
{
	unsigned int i;

	for (i = 0; i < l->ranges; i++)
		if (!l->range[i].entry && l->range[i].last - l->range[i].first >= size - 1)
			return true;
	return false;
}

/* ---- memory: an arena that begins anew with each race; what is freed is poisoned ----------- */

static unsigned char arena[64][NODE] __attribute__((aligned(NODE)));
static unsigned int arena_used;

static void *arena_alloc(void *ctx, size_t size, size_t align)
{
	(void)ctx;
	assert_true(arena_used < LENGTH(arena) && size == NODE && align == NODE);
	return arena[arena_used++];
}

static void arena_free(void *ctx, void *block, size_t size)
{
	(void)ctx;
	memset(block, 0xa5, size);
}

static const struct mt_allocator allocator = { arena_alloc, arena_free, NULL };

/* No grace period passes during a race. */
static void never_call(struct rcu_head *head, void (*func)(struct rcu_head *head))
{
	(void)head;
	(void)func;
}

/* Nobody reads while the original is made, and no other thread may reach the switches. */
static void call_now(struct rcu_head *head, void (*func)(struct rcu_head *head))
{
	func(head);
}

static void nothing(void)
{
}

/* All reads are made as in one section that has begun before the race. */
static int always(void)
{
	return 1;
}

static const struct mt_rcu racing = { never_call, nothing, nothing, nothing, always };
static const struct mt_rcu alone = { call_now, nothing, nothing, nothing, always };

/* ---- the race ------------------------------------------------------------------------------ */

/*
 * A write, of the value @value or of NULL (-1), in a tree of @count values, @width indexes each,
 * from @base on, 4 apart.
 */
struct scenario {
	unsigned long base;
	unsigned long count;
	unsigned long width;
	unsigned long first;
	unsigned long last;
	long value;
};

/*
 * When the two are switched: the writer has made @before stores when the reader starts; before the
 * reader's load number @load it makes @burst more, and if @again so many each @again loads later.
 */
struct schedule {
	unsigned long before;
	unsigned long load;
	unsigned long burst;
	unsigned long again;
};

/* The two that take turns: ways back into them. */
struct side {
	ucontext_t context;
	jmp_buf place;
};

static struct {
	const struct scenario *scenario;
	struct maple_tree mt;
	struct listing old;
	struct listing new;
	struct side reader;
	struct side writer;
	struct schedule schedule;
	unsigned long stores_left; /* until the writer stops */
	unsigned long stores;	   /* made so far */
	unsigned long loads_left;  /* until it goes on */
	bool writing;		   /* who runs */
	bool armed;
	bool met; /* load number @load was made */
	bool done;
	bool done_before; /* when the reader's step began */
} race;

/*
 * Without a system call, of which swapcontext(3) makes two for signals that nobody has blocked; but
 * AddressSanitizer knows only of that one.
 */
static void turn(struct side *from, struct side *to)
{
#ifdef SANITIZED
	swapcontext(&from->context, &to->context);
#else
	if (!_setjmp(from->place))
		_longjmp(to->place, 1);
#endif
}

/* Lets the writer make @stores stores; it stops before the next one. */
static void go_on(unsigned long stores)
{
	if (race.done)
		return;
	race.stores_left = stores;
	race.writing = true;
	turn(&race.reader, &race.writer);
	race.writing = false;
}

void race_store(void)
{
	if (!race.writing)
		return;
	while (!race.stores_left)
		turn(&race.writer, &race.reader);
	race.stores_left--;
	race.stores++;
}

void race_load(void)
{
	if (race.writing || !race.armed || race.loads_left--)
		return;
	race.met = true;
	race.armed = race.schedule.again;
	race.loads_left = race.schedule.again - 1;
	go_on(race.schedule.burst);
}

static void change(struct maple_tree *mt)
{
	const struct scenario *s = race.scenario;
	void *entry = s->value < 0 ? NULL : xa_mk_value((unsigned long)s->value);

	assert_int_equal(mtree_store_range(mt, s->first, s->last, entry, GFP_KERNEL), 0);
}

/* One write after the other, each when the reader begins a race. */
static void writer_main(void)
{
	for (;;) {
		turn(&race.writer, &race.reader);
		change(&race.mt);
		race.done = true;
	}
}

/* Lets the writer run to the point where it waits for the first race. */
static void start_writer(void)
{
	static unsigned char stack[256 * 1024];
	ucontext_t *context = &race.writer.context;

	getcontext(context);
	context->uc_stack.ss_sp = stack;
	context->uc_stack.ss_size = sizeof(stack);
	makecontext(context, writer_main, 0);
	if (!_setjmp(race.reader.place))
		swapcontext(&race.reader.context, context);
	/*
	 * It is left where it comes back to: AddressSanitizer need not clear its stack each time.
	 */
	context->uc_stack.ss_size = 0;
}

static void begin(struct maple_tree *original)
{
	/* A race that went wrong has left the writer amid a write. */
	if (!race.done)
		start_writer();
	arena_used = 0;
	mt_init_flags(&race.mt, original->ma_flags);
	mt_set_allocator(&race.mt, &allocator);
	mt_set_rcu_flavour(&race.mt, &racing);
	assert_int_equal(mtree_dup(original, &race.mt, GFP_KERNEL), 0);
	race.done = race.met = false;
	race.stores = 0;
}

/* ---- readers: each returns what was wrong, or NULL ------------------------------------------- */

typedef const char *(*reader)(unsigned long index);

/* A cursor claims to stand on a node only if it does. */
static bool is_whole(const struct ma_state *mas)
{
	return mas->status != ma_active || mas->node;
}

static bool same(const struct range *r, const struct ma_state *mas, const void *entry)
{
	return r ? r->entry == entry && r->first == mas->index && r->last == mas->last : !entry;
}

/* Whether the cursor stands on a range of @l; a gap may be shown in parts. */
static bool stands_in(const struct listing *l, const struct ma_state *mas, const void *entry,
		      unsigned long index)
{
	const struct range *r = range_at(l, index);

	if (entry)
		return same(r, mas, entry);
	return !r->entry && mas->index <= index && index <= mas->last &&
	       r->first <= mas->index && mas->last <= r->last;
}

static bool stands(const struct ma_state *mas, const void *entry, unsigned long index)
{
	return is_whole(mas) && (stands_in(&race.old, mas, entry, index) ||
				 stands_in(&race.new, mas, entry, index));
}

/* What a step gives was in the tree while it was made. */
static void begin_step(void)
{
	race.done_before = race.done;
}

static bool is_next(const struct ma_state *mas, const void *entry, unsigned long index, int step)
{
	if (!is_whole(mas))
		return false;
	return (!race.done_before && same(entry_from(&race.old, index, step), mas, entry)) ||
	       same(entry_from(&race.new, index, step), mas, entry);
}

static const char *load(unsigned long index)
{
	void *entry = mtree_load(&race.mt, index);

	if (entry == range_at(&race.old, index)->entry ||
	    entry == range_at(&race.new, index)->entry)
		return NULL;
	return "mtree_load() gives an entry of another state";
}

static const char *walk(unsigned long index)
{
	MA_STATE(mas, &race.mt, index, index);
	void *entry = mas_walk(&mas);

	return stands(&mas, entry, index) ? NULL : "mas_walk() shows a range of another state";
}

static const char *load_range(unsigned long index)
{
	MA_STATE(mas, &race.mt, 0, 0);
	void *entry = mtree_load_range(&race.mt, index, &mas.index, &mas.last);

	return stands(&mas, entry, index) ? NULL : "mtree_load_range() shows a range of another state";
}

static const char *gap_around(unsigned long index)
{
	MA_STATE(mas, &race.mt, 0, 0);

	if (mtree_gap_around(&race.mt, index, &mas.index, &mas.last))
		return stands(&mas, NULL, index) ? NULL : "mtree_gap_around() shows another gap";
	if (range_at(&race.old, index)->entry || range_at(&race.new, index)->entry)
		return NULL;
	return "mtree_gap_around() sees an entry where none is";
}

typedef void *(*step_call)(struct ma_state *, unsigned long limit);

/* All entries from @index upwards; from those behind its range if the cursor @walks there first. */
static const char *up(unsigned long index, step_call step, bool walks)
{
	MA_STATE(mas, &race.mt, index, index);
	void *entry = walks ? mas_walk(&mas) : NULL;

	if (walks && !stands(&mas, entry, index))
		return "mas_walk() shows a range of another state";
	if (walks)
		index = mas.last + 1;
	while (index || !walks) {
		begin_step();
		entry = step(&mas, ULONG_MAX);
		if (!is_next(&mas, entry, index, 1))
			return "an iteration upwards skips an entry or makes one up";
		if (!entry || mas.last == ULONG_MAX)
			return NULL;
		index = mas.last + 1;
	}
	return step(&mas, ULONG_MAX) ? "mas_next() goes on behind the last index" : NULL;
}

static const char *down(unsigned long index, step_call step, bool walks)
{
	MA_STATE(mas, &race.mt, index, index);
	void *entry = walks ? mas_walk(&mas) : NULL;

	if (walks && !stands(&mas, entry, index))
		return "mas_walk() shows a range of another state";
	if (walks)
		index = mas.index - 1;
	while (index < ULONG_MAX || !walks) {
		begin_step();
		entry = step(&mas, 0);
		if (!is_next(&mas, entry, index, -1))
			return "an iteration downwards skips an entry or makes one up";
		if (!entry || mas.index == 0)
			return NULL;
		index = mas.index - 1;
	}
	return step(&mas, 0) ? "mas_prev() goes on below 0" : NULL;
}

static const char *find(unsigned long index)
{
	return up(index, mas_find, false);
}

/* The same by the loop, which reads leaves ahead. */
static const char *each(unsigned long index)
{
	MA_STATE(mas, &race.mt, index, index);
	void *entry;

	begin_step();
	mas_for_each(&mas, entry, ULONG_MAX) {
		if (!is_next(&mas, entry, index, 1))
			return "a loop upwards skips an entry or makes one up";
		index = mas.last + 1;
		begin_step();
	}
	return !index || is_next(&mas, NULL, index, 1) ? NULL : "a loop upwards misses an entry";
}

static const char *each_rev(unsigned long index)
{
	MA_STATE(mas, &race.mt, index, index);
	void *entry;

	begin_step();
	mas_for_each_rev(&mas, entry, 0) {
		if (!is_next(&mas, entry, index, -1))
			return "a loop downwards skips an entry or makes one up";
		index = mas.index - 1;
		begin_step();
	}
	return index == ULONG_MAX || is_next(&mas, NULL, index, -1)
		       ? NULL
		       : "a loop downwards misses an entry";
}

/* A mt_for_each() that has begun before the write. */
static struct {
	unsigned long batch[MAS_BATCH_WORDS] __attribute__((aligned(64)));
	unsigned long step[2];
	unsigned long index;
} loop;

static void *loop_next(void)
{
	return mt_loop_next(loop.batch, loop.step, &race.mt, &loop.index, ULONG_MAX);
}

static void begin_loop(unsigned long index)
{
	loop.index = loop.step[1] = 0;
	loop.step[0] = mt_loop_begin(loop.batch);
	while (loop.index <= index && loop_next())
		;
}

static bool is_next_of_loop(const struct listing *l, const void *entry, unsigned long from)
{
	const struct range *r = entry_from(l, from, 1);

	return r ? entry == r->entry && loop.index == r->last + 1 : !entry && loop.index == from;
}

static const char *loop_on(unsigned long index)
{
	unsigned long from;
	void *entry;

	(void)index;
	do {
		from = loop.index;
		begin_step();
		entry = loop_next();
		if (!is_next_of_loop(&race.new, entry, from) &&
		    (race.done_before || !is_next_of_loop(&race.old, entry, from)))
			return "a loop without a cursor skips an entry or makes one up";
	} while (entry && loop.index);
	return NULL;
}

static const char *find_rev(unsigned long index)
{
	return down(index, mas_find_rev, false);
}

static const char *next(unsigned long index)
{
	return up(index, mas_next, true);
}

static const char *prev(unsigned long index)
{
	return down(index, mas_prev, true);
}

/* Whether an entry that the write leaves alone lies in @low .. @high. */
static bool stays_in(unsigned long low, unsigned long high)
{
	unsigned int i;

	for (i = 0; i < race.old.ranges; i++) {
		const struct range *was = &race.old.range[i];
		const struct range *is = range_at(&race.new, was->first);

		if (was->entry && low <= was->first && was->last <= high &&
		    is->entry == was->entry && is->first == was->first && is->last == was->last)
			return true;
	}
	return false;
}

/* From a cursor that has not been anywhere: entries of one state or the other, none skipped. */
static const char *next_of(unsigned long index)
{
	MA_STATE(mas, &race.mt, index, index);
	void *entry = mas_next(&mas, ULONG_MAX);

	if (index < ULONG_MAX && stays_in(index + 1, entry ? mas.index - 1 : ULONG_MAX))
		return "mas_next() skips an entry";
	if (entry && (mas.last <= index || !stands(&mas, entry, mas.index)))
		return "mas_next() shows a range of another state";
	return NULL;
}

static const char *prev_of(unsigned long index)
{
	MA_STATE(mas, &race.mt, index, index);
	void *entry = mas_prev(&mas, 0);

	if (index > 0 && stays_in(entry ? mas.last + 1 : 0, index - 1))
		return "mas_prev() skips an entry";
	if (entry && (mas.index >= index || !stands(&mas, entry, mas.index)))
		return "mas_prev() shows a range of another state";
	return NULL;
}

/* Nothing but gaps from @index on, before the write or after it. */
static bool ends(unsigned long index, int step)
{
	return !entry_from(&race.old, index, step) || !entry_from(&race.new, index, step);
}

/* All ranges upwards, gaps too. */
static const char *ranges_up(unsigned long index)
{
	MA_STATE(mas, &race.mt, index, index);
	void *entry = mas_walk(&mas);

	while (stands(&mas, entry, index)) {
		if (mas.last == ULONG_MAX)
			return NULL;
		index = mas.last + 1;
		entry = mas_next_range(&mas, ULONG_MAX);
		if (!entry && mas.status == ma_none)
			return ends(index, 1) ? NULL : "mas_next_range() misses an entry";
	}
	return "mas_next_range() shows a range of another state";
}

static const char *ranges_down(unsigned long index)
{
	MA_STATE(mas, &race.mt, index, index);
	void *entry = mas_walk(&mas);

	while (stands(&mas, entry, index)) {
		if (mas.index == 0)
			return NULL;
		index = mas.index - 1;
		entry = mas_prev_range(&mas, 0);
	}
	return "mas_prev_range() shows a range of another state";
}

static bool is_free(const struct listing *l, unsigned long first, unsigned long last)
{
	const struct range *r = range_at(l, first);

	return !r->entry && last <= r->last;
}

/* A place of @size indexes: advice, but free before the write or after it. */
static const char *area(unsigned long size)
{
	int highest;

	if (!(race.mt.ma_flags & MT_FLAGS_ALLOC_RANGE) || !size)
		return NULL;
	for (highest = 0; highest < 2; highest++) {
		MA_STATE(mas, &race.mt, 0, 0);
		int error = highest ? mas_empty_area_rev(&mas, 0, ULONG_MAX, size)
				    : mas_empty_area(&mas, 0, ULONG_MAX, size);

		if (error && fits(&race.old, size) && fits(&race.new, size))
			return "a search finds no place, though there always is one";
		if (!error && mas.last - mas.index != size - 1)
			return "a search finds a place of another size";
		if (!error && !is_free(&race.old, mas.index, mas.last) &&
		    !is_free(&race.new, mas.index, mas.last))
			return "a search finds a place that was never free";
	}
	return NULL;
}

/* @prepare: what is done before the write begins. */
static const struct {
	const char *name;
	reader read;
	void (*prepare)(unsigned long index);
} readers[] = {
	{ "load", load, NULL },
	{ "walk", walk, NULL },
	{ "find", find, NULL },
	{ "each", each, NULL },
	{ "each_rev", each_rev, NULL },
	{ "loop_on", loop_on, begin_loop },
	{ "find_rev", find_rev, NULL },
	{ "next", next, NULL },
	{ "prev", prev, NULL },
	{ "next_of", next_of, NULL },
	{ "prev_of", prev_of, NULL },
	{ "ranges_up", ranges_up, NULL },
	{ "ranges_down", ranges_down, NULL },
	{ "area", area, NULL },
	{ "load_range", load_range, NULL },
	{ "gap_around", gap_around, NULL },
};

/* ---- all schedules ------------------------------------------------------------------------- */

static void expect_listing(const struct listing *want)
{
	struct listing got;

	take(&got, &race.mt);
	assert_int_equal(got.ranges, want->ranges);
	for (unsigned int i = 0; i < got.ranges; i++) {
		assert_int_equal(got.range[i].first, want->range[i].first);
		assert_int_equal(got.range[i].last, want->range[i].last);
		assert_ptr_equal(got.range[i].entry, want->range[i].entry);
	}
	assert_true(mt_check(&race.mt, NULL));
}

/* Returns whether the reader came to the load at which the two were to be switched. */
static bool run(struct maple_tree *original, unsigned int which, unsigned long index,
		const struct schedule *schedule)
{
	const char *wrong;

	begin(original);
	race.schedule = *schedule;
	if (readers[which].prepare)
		readers[which].prepare(index);
	go_on(schedule->before);
	race.loads_left = schedule->load;
	race.armed = true;
	wrong = readers[which].read(index);
	race.armed = false;
	if (wrong)
		fail_msg("%s: %s(%#lx) at load %lu, after %lu stores, then %lu again after %lu",
			 wrong, readers[which].name, index, schedule->load, schedule->before,
			 schedule->burst, schedule->again);
	go_on(ULONG_MAX);
	return race.met;
}

/*
 * Where the writer makes many stores, not every schedule is run by every reader at every index,
 * unless asked for; but from each store on some are.
 */
static bool every_schedule;
static bool few_schedules; /* RACE_SCHEDULES=few: for what makes programs many times slower */

static void race_all(struct maple_tree *original, unsigned long stores, unsigned int which,
		     unsigned long index)
{
	static const struct schedule bursts[] = {
		{ .burst = 1 }, { .burst = 2 },		    { .burst = ULONG_MAX },
		{ .burst = 1, .again = 1 }, { .burst = 1, .again = 3 },
	};
	struct schedule s;

	for (size_t i = 0; i < LENGTH(bursts); i++) {
		unsigned long step = every_schedule ? 1 : 1 + stores / (i ? 4 : 12);

		if (few_schedules)
			step = 1 + stores;
		s = bursts[i];
		for (s.before = (which + index) % step; s.before < stores; s.before += step)
			for (s.load = 0; run(original, which, index, &s); s.load++)
				;
	}
}

static void race_scenario(const struct scenario *s, unsigned int flags)
{
	unsigned long points[] = { 0, s->first ? s->first - 1 : 0, s->first, s->last, s->last + 1 };
	struct maple_tree original;

	mt_init_flags(&original, flags | MT_FLAGS_USE_RCU);
	mt_set_rcu_flavour(&original, &alone);
	for (unsigned long i = 0; i < s->count; i++)
		mtree_store_range(&original, s->base + 4 * i, s->base + 4 * i + s->width - 1,
				  xa_mk_value(i), GFP_KERNEL);
	race.scenario = s;
	begin(&original);
	take(&race.old, &race.mt);
	go_on(ULONG_MAX);
	take(&race.new, &race.mt);
	assert_true(race.stores > 0);
	for (unsigned int which = 0; which < LENGTH(readers); which++)
		for (size_t i = 0; i < (readers[which].prepare ? 2 : LENGTH(points)); i++)
			race_all(&original, race.stores, which, points[i]);
	expect_listing(&race.new);
	mtree_destroy(&original);
}

static void race_scenarios(const struct scenario *scenarios, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		race_scenario(&scenarios[i], 0);
		race_scenario(&scenarios[i], MT_FLAGS_ALLOC_RANGE);
	}
}

static void nodes_come_and_go(void **state)
{
	static const struct scenario scenarios[] = {
		{ 0, 0, 0, 0, 0, 9 },	      /* an entry at 0 into an empty tree */
		{ 0, 0, 0, 5, 9, 9 },	      /* a node for an empty tree */
		{ 0, 0, 0, 0, ULONG_MAX, 9 }, /* one that is full */
		{ 0, 1, 1, 0, 0, -1 },	      /* away with a lone entry at 0 */
		{ 0, 1, 1, 0, 0, 9 },	      /* another */
		{ 0, 1, 1, 3, 5, 9 },	      /* a node for a lone entry */
		{ 0, 1, 1, 0, 5, 9 },
		{ 0, 2, 1, 4, 4, -1 }, /* back to a lone entry */
		{ 4, 1, 3, 4, 6, -1 }, /* the last entry goes */
		{ 4, 12, 3, 0, ULONG_MAX, -1 },
		{ 4, 12, 3, 0, ULONG_MAX, 9 },
	};

	(void)state;
	race_scenarios(scenarios, LENGTH(scenarios));
}

static void words_of_a_leaf_change(void **state)
{
	static const struct scenario scenarios[] = {
		{ 4, 2, 4, 4, 9, 0 },	       /* a boundary goes up */
		{ 4, 2, 4, 6, 11, 1 },	       /* and down */
		{ 4, 2, 4, 8, 11, 9 },	       /* another entry */
		{ 4, 2, 4, 12, 13, 9 },	       /* one more behind the last */
		{ 4, 2, 4, 14, 15, 9 },	       /* in the middle of the last gap */
		{ 4, 2, 4, 12, ULONG_MAX, 9 }, /* all of it */
		{ 4, 2, 4, 8, 11, -1 },	       /* the last entry goes */
		{ 4, 1, 4, 8, 9, 9 },
		{ 4, 2, 3, 8, 10, -1 },
	};

	(void)state;
	race_scenarios(scenarios, LENGTH(scenarios));
}

static void slots_of_a_leaf_move(void **state)
{
	static const struct scenario scenarios[] = {
		{ 4, 4, 1, 10, 10, 9 }, /* into the middle of a gap, entries behind */
		{ 4, 4, 1, 9, 10, 9 },	/* at its beginning */
		{ 4, 4, 1, 10, 11, 9 }, /* at its end */
		{ 4, 4, 1, 8, 8, -1 },	/* away from between two gaps */
		{ 4, 4, 4, 10, 11, 9 }, /* over the end of an entry */
		{ 4, 4, 4, 8, 9, 9 },	/* over the beginning of one */
		{ 4, 4, 4, 10, 11, -1 },
		{ 4, 4, 4, 4, 11, 0 },	/* an entry takes over all of the next */
		{ 4, 4, 4, 4, 11, 1 },	/* and of the one before */
	};

	(void)state;
	race_scenarios(scenarios, LENGTH(scenarios));
}

static void nodes_are_replaced(void **state)
{
	static const struct scenario scenarios[] = {
		{ 4, 12, 3, 9, 9, 9 },	   /* in the middle of a range */
		{ 4, 12, 3, 7, 7, 9 },	   /* into a gap */
		{ 4, 12, 3, 16, 18, -1 },  /* an entry between others goes */
		{ 4, 12, 3, 4, 6, -1 },	   /* the first one */
		{ 4, 12, 3, 48, 50, -1 },  /* the last one */
		{ 4, 12, 3, 5, 40, -1 },   /* many */
		{ 4, 12, 3, 9, 30, 9 },	   /* one for many */
	};

	(void)state;
	race_scenarios(scenarios, LENGTH(scenarios));
}

static void leaves_are_divided_and_joined(void **state)
{
	static const struct scenario scenarios[] = {
		{ 4, 40, 4, 70, 70, 9 },   /* into a full leaf between full ones */
		{ 4, 40, 4, 5, 5, 9 },	   /* into the first one */
		{ 4, 24, 3, 32, 34, -1 },  /* the last entry of a leaf, a gap in the next one */
		{ 0, 24, 3, 32, 34, -1 },  /* the first entry of one, a gap in the one before */
		{ 4, 33, 4, 68, 115, -1 }, /* a leaf too empty, its neighbour nearly so */
		{ 4, 40, 4, 68, 115, -1 }, /* its neighbours full */
		{ 4, 40, 4, 68, 115, 9 },
	};

	(void)state;
	race_scenarios(scenarios, LENGTH(scenarios));
}

/* --full: every schedule, about a minute. */
int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nodes_come_and_go),
		cmocka_unit_test(words_of_a_leaf_change),
		cmocka_unit_test(slots_of_a_leaf_move),
		cmocka_unit_test(nodes_are_replaced),
		cmocka_unit_test(leaves_are_divided_and_joined),
	};

	few_schedules = getenv("RACE_SCHEDULES") && !strcmp(getenv("RACE_SCHEDULES"), "few");
	every_schedule = argc > 1 && !strcmp(argv[1], "--full");
	return cmocka_run_group_tests_name("races", tests, NULL, NULL);
}
