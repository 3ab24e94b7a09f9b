/* SPDX-License-Identifier: MIT */
/*
 * writers.c - every kind of write, in zones of the writer's own and in the open zone.
 */
#include <errno.h>

#include "world.h"

/* A write to a live zone: where, and the number its entries carry. */
struct change {
	struct worker *me;
	struct world *w;
	struct zone *own;
	unsigned int zone;
	unsigned int first;
	unsigned int last;
	unsigned long number;
};

static void begin(struct change *c)
{
	c->number = c->own->begun + 1;
	__atomic_store_n(&c->own->begun, c->number, __ATOMIC_RELEASE);
}

static void *fresh(const struct change *c, unsigned int first, unsigned int last)
{
	return tag_entry((struct tag){ c->zone, first, last, c->number });
}

static unsigned long index_of(const struct change *c, unsigned int offset)
{
	return offset_first(c->zone, offset);
}

/* Notes in the owner's view that @entry is over first .. last; @range 0: a range of its own. */
static void note(struct change *c, unsigned int first, unsigned int last, void *entry)
{
	unsigned long range = entry ? ++c->own->ranges : 0;

	for (; first <= last; first++) {
		c->own->entry[first] = entry;
		c->own->range[first] = range;
	}
}

/* The bounds of the range at @offset, within what is free to change. */
static void bounds(const struct change *c, unsigned int offset, unsigned int *first,
		   unsigned int *last)
{
	const unsigned long *range = c->own->range;

	for (*first = offset; *first > FREE_FIRST && range[*first - 1] == range[offset]; --*first)
		;
	for (*last = offset; *last < ZONE_WIDTH - 1 && range[*last + 1] == range[offset]; ++*last)
		;
}

static bool all_free(const struct change *c, unsigned int first, unsigned int last)
{
	for (; first <= last; first++)
		if (c->own->entry[first])
			return false;
	return true;
}

/* The owner alone writes here, so what it has written is there at once. */
static void verify(struct change *c)
{
	unsigned int i, offset;

	for (i = 0; i < 4; i++) {
		void *entry;

		offset = i == 0 ? c->first : i == 1 ? c->last : below(c->me, ZONE_WIDTH);
		entry = mtree_load(&c->w->mt, index_of(c, offset));
		expect(c->me, entry == c->own->entry[offset], "%p at %#lx, not %p", entry,
		       index_of(c, offset), c->own->entry[offset]);
	}
}

/* ---- kinds of writes --------------------------------------------------------------------- */

/* The counter goes on, or the range of the last count grows over the rest of earlier ones. */
static void count(struct change *c)
{
	unsigned int last = COUNTER + below(c->me, COUNTER_LAST - COUNTER + 1);
	bool grows = below(c->me, 2);
	void *entry = grows ? c->own->entry[COUNTER] : fresh(c, COUNTER, COUNTER_LAST);
	int error;

	if (grows && c->own->range[COUNTER] == c->own->range[last])
		return;
	error = mtree_store_range(&c->w->mt, index_of(c, COUNTER), index_of(c, last), entry,
				  GFP_KERNEL);
	expect(c->me, !error, "store: %d", error);
	if (!grows)
		__atomic_store_n(&c->own->counted, c->number, __ATOMIC_RELEASE);
	note(c, COUNTER, last, entry);
}

static void store(struct change *c, void *entry)
{
	int error = mtree_store_range(&c->w->mt, index_of(c, c->first), index_of(c, c->last), entry,
				      GFP_KERNEL);

	expect(c->me, !error, "store: %d", error);
	note(c, c->first, c->last, entry);
}

static void insert(struct change *c)
{
	void *entry = fresh(c, c->first, c->last);
	int error = mtree_insert_range(&c->w->mt, index_of(c, c->first), index_of(c, c->last),
				       entry, GFP_KERNEL);

	expect(c->me, error == (all_free(c, c->first, c->last) ? 0 : -EEXIST), "insert: %d", error);
	if (!error)
		note(c, c->first, c->last, entry);
}

static void erase(struct change *c, bool cursor)
{
	MA_STATE(mas, &c->w->mt, index_of(c, c->first), index_of(c, c->first));
	unsigned int first, last;
	void *entry;

	bounds(c, c->first, &first, &last);
	if (cursor) {
		mas_lock(&mas);
		entry = mas_erase(&mas);
		mas_unlock(&mas);
		expect(c->me,
		       !entry || (mas.index == index_of(c, first) && mas.last == index_of(c, last)),
		       "erased %#lx..%#lx", mas.index, mas.last);
	} else {
		entry = mtree_erase(&c->w->mt, index_of(c, c->first));
	}
	expect(c->me, entry == c->own->entry[c->first], "erased %p", entry);
	if (entry)
		note(c, first, last, NULL);
}

/* Whether the view holds @size free offsets in first .. last, and the lowest (highest) ones. */
static bool find_room(const struct change *c, unsigned int size, bool lowest, unsigned int *at)
{
	unsigned int i, places = c->last - c->first + 1;

	for (i = 0; i + size <= places; i++) {
		*at = lowest ? c->first + i : c->last - i - (size - 1);
		if (all_free(c, *at, *at + size - 1))
			return true;
	}
	return false;
}

static void allocate(struct change *c, bool lowest)
{
	unsigned int size = 1 + below(c->me, 3), at = 0;
	void *entry = fresh(c, c->first, c->last);
	unsigned long start = 0;
	bool room = find_room(c, size, lowest, &at);
	int error = (lowest ? mtree_alloc_range : mtree_alloc_rrange)(
		&c->w->mt, &start, entry, size, index_of(c, c->first), index_of(c, c->last),
		GFP_KERNEL);

	if (size > c->last - c->first + 1) {
		expect(c->me, error == -EINVAL, "alloc: %d", error);
		return;
	}
	expect(c->me, error == (room ? 0 : -EBUSY), "alloc: %d", error);
	if (!room)
		return;
	expect(c->me, start == index_of(c, at), "alloc: %#lx, not %#lx", start, index_of(c, at));
	note(c, at, at + size - 1, entry);
}

static void cursor_store(struct change *c, unsigned int how)
{
	MA_STATE(mas, &c->w->mt, index_of(c, c->first), index_of(c, c->last));
	void *entry = below(c->me, 4) ? fresh(c, c->first, c->last) : NULL;
	int error = 0;

	mas_lock(&mas);
	if (how == 0)
		mas_store(&mas, entry);
	else if (how == 1)
		error = mas_store_gfp(&mas, entry, GFP_KERNEL);
	else if (how == 2 && !(error = mas_preallocate(&mas, entry, GFP_KERNEL)))
		mas_store_prealloc(&mas, entry);
	else if (how == 3)
		do {
			error = mas_store_gfp(&mas, entry, GFP_NOWAIT);
		} while (mas_nomem(&mas, GFP_KERNEL));
	expect(c->me, !error && !mas_is_err(&mas), "store: %d", error);
	mas_destroy(&mas);
	mas_unlock(&mas);
	note(c, c->first, c->last, entry);
}

/* Notes @entry over first .. last and over the ranges beside that have the same. */
static void note_joined(struct change *c, unsigned int first, unsigned int last, void *entry)
{
	unsigned int from = first, to = last, other;

	if (first > FREE_FIRST && c->own->entry[first - 1] == entry)
		bounds(c, first - 1, &from, &other);
	if (last < ZONE_WIDTH - 1 && c->own->entry[last + 1] == entry)
		bounds(c, last + 1, &other, &to);
	note(c, from, to, entry);
}

/* The range before, if it may reach as far, grows by a joined store; else a new one is stored. */
static void join(struct change *c)
{
	void *entry = c->first > FREE_FIRST ? c->own->entry[c->first - 1] : NULL;
	int error;

	if (!entry || entry_tag(entry).last < c->last)
		entry = fresh(c, c->first, c->last);
	error = mtree_store_merge(&c->w->mt, index_of(c, c->first), index_of(c, c->last), entry,
				  NULL, GFP_KERNEL);
	expect(c->me, !error, "join: %d", error);
	note_joined(c, c->first, c->last, entry);
}

/* An update in progress: the pieces that were asked for, and what became of them. */
struct update {
	struct change *c;
	unsigned int count;
	struct piece {
		unsigned int first;
		unsigned int last;
		void *entry;
	} piece[ZONE_WIDTH];
};

static void *update_piece(void *old, unsigned long first, unsigned long last, void *ctx)
{
	struct update *u = ctx;
	struct piece *piece = &u->piece[u->count];
	struct change *c = u->c;

	expect(c->me, u->count < ZONE_WIDTH, "too many pieces");
	piece->first = (unsigned int)(first % ZONE_WIDTH);
	piece->last = (unsigned int)(last % ZONE_WIDTH);
	expect(c->me, old == c->own->entry[piece->first] &&
	       first == index_of(c, u->count ? piece[-1].last + 1 : c->first),
	       "piece %#lx..%#lx, %p", first, last, old);
	switch (below(c->me, 4)) {
	case 0: piece->entry = NULL; break;
	case 1: piece->entry = fresh(c, piece->first, piece->last); break;
	case 2: piece->entry = fresh(c, c->first, c->last); break;
	default: piece->entry = old;
	}
	u->count++;
	return piece->entry;
}

static void update(struct change *c)
{
	struct update u = { .c = c };
	unsigned int i, from = 0;
	int error = mtree_update_range(&c->w->mt, index_of(c, c->first), index_of(c, c->last),
				       update_piece, &u, NULL, GFP_KERNEL);

	expect(c->me, !error && u.piece[u.count - 1].last == c->last, "update: %d", error);
	for (i = 0; i < u.count; i++) {
		if (i + 1 < u.count && u.piece[i + 1].entry == u.piece[i].entry)
			continue;
		note(c, u.piece[from].first, u.piece[i].last, u.piece[i].entry);
		from = i + 1;
	}
	note_joined(c, c->first, c->first, c->own->entry[c->first]);
	note_joined(c, c->last, c->last, c->own->entry[c->last]);
}

static void count_piece(void *old, unsigned long first, unsigned long last, void *ctx)
{
	struct update *u = ctx;

	(void)last;
	expect(u->c->me, old == u->c->own->entry[first % ZONE_WIDTH], "erased %p at %#lx", old,
	       first);
	u->count++;
}

static void erase_all(struct change *c)
{
	struct update u = { .c = c };
	int error = mtree_erase_range(&c->w->mt, index_of(c, c->first), index_of(c, c->last),
				      count_piece, &u, GFP_KERNEL);

	expect(c->me, !error && !u.count == all_free(c, c->first, c->last), "erase: %d", error);
	note(c, c->first, c->last, NULL);
}

/* Under one lock, a cursor goes through the zone and changes ranges as it comes by. */
static void cursor_pass(struct change *c)
{
	MA_STATE(mas, &c->w->mt, index_of(c, FREE_FIRST), index_of(c, FREE_FIRST));
	void *entry;

	mas_lock(&mas);
	mas_for_each(&mas, entry, index_of(c, ZONE_WIDTH - 1)) {
		unsigned int first = (unsigned int)(mas.index % ZONE_WIDTH);
		unsigned int last = (unsigned int)(mas.last % ZONE_WIDTH);

		if (first < FREE_FIRST || below(c->me, 3))
			continue;
		entry = below(c->me, 2) ? fresh(c, first, last) : NULL;
		mas_store(&mas, entry);
		expect(c->me, !mas_is_err(&mas), "no memory");
		note(c, first, last, entry);
	}
	mas_unlock(&mas);
}

/* The boundary behind a range moves: into its right neighbour, or back, leaving a gap. */
static void move_boundary(struct change *c)
{
	unsigned int first, last, to;
	void *entry = c->own->entry[c->first];
	struct tag tag;

	if (!entry)
		return;
	bounds(c, c->first, &first, &last);
	tag = entry_tag(entry);
	if (below(c->me, 2) && last < tag.last) {
		to = last + 1 + below(c->me, tag.last - last);
		c->first = first;
		c->last = to;
		store(c, entry); /* the same entry: its range grows */
	} else if (last > first) {
		c->first = first + 1 + below(c->me, last - first);
		c->last = last;
		store(c, NULL);
	}
}

/* Fills part of the zone one by one, so that leaves fill, split and end in gaps. */
static void fill(struct change *c)
{
	unsigned int step = 1 + below(c->me, 3), at, n = 1 + below(c->me, 40);
	bool down = below(c->me, 2);
	unsigned int from = c->first;

	for (at = from; n-- && at >= FREE_FIRST && at < ZONE_WIDTH - 1 && !stopped(c->w);
	     at = down ? at - step : at + step) {
		c->first = c->last = at;
		begin(c);
		store(c, fresh(c, at, at + below(c->me, ZONE_WIDTH - at)));
	}
	c->first = FREE_FIRST;
	c->last = ZONE_WIDTH - 1;
}

static void fill_gap(struct change *c)
{
	void *entry = fresh(c, FREE_FIRST, ZONE_WIDTH - 1);
	unsigned long first, last;
	unsigned int from, to;
	int error = mtree_fill_gap(&c->w->mt, index_of(c, c->first), entry, &first, &last,
				   GFP_KERNEL);

	expect(c->me, error == (c->own->entry[c->first] ? -EEXIST : 0), "fill_gap: %d", error);
	if (error)
		return;
	bounds(c, c->first, &from, &to);
	expect(c->me, first == index_of(c, from) && last == index_of(c, to), "filled %#lx..%#lx",
	       first, last);
	note(c, from, to, entry);
}

static void write_live(struct change *c)
{
	begin(c);
	switch (below(c->me, 25)) {
	case 0: case 1:
		count(c);
		break;
	case 2: case 3:
		store(c, NULL);
		break;
	case 4:
		insert(c);
		break;
	case 5:
		erase(c, false);
		break;
	case 6:
		erase(c, true);
		break;
	case 7: case 8:
		if (c->w->gaps)
			allocate(c, below(c->me, 2));
		break;
	case 9: case 10:
		cursor_store(c, below(c->me, 4));
		break;
	case 11:
		cursor_pass(c);
		break;
	case 12: case 13: case 14:
		move_boundary(c);
		break;
	case 15:
		fill(c);
		break;
	case 16:
		fill_gap(c);
		break;
	case 20:
		erase_all(c);
		break;
	case 21: case 22:
		join(c);
		break;
	case 23: case 24:
		update(c);
		break;
	default:
		store(c, fresh(c, c->first,
			       c->last + below(c->me, ZONE_WIDTH - c->last)));
		break;
	}
	__atomic_store_n(&c->own->done, c->own->begun, __ATOMIC_RELEASE);
	verify(c);
}

/* ---- the open zone ----------------------------------------------------------------------- */

static void *open_entry(struct world *w, unsigned int first, unsigned int last)
{
	unsigned long number = __atomic_load_n(&w->open_begun, __ATOMIC_ACQUIRE);

	return tag_entry((struct tag){ w->zones, first, last, number });
}

/* What others do here meanwhile is not known, so only errors that cannot be are looked for. */
static void write_open(struct worker *me)
{
	struct world *w = me->world;
	unsigned int width = w->zones ? ZONE_WIDTH : 9, what = below(me, 16);
	unsigned int a = below(me, width), b = below(me, 4) ? a + below(me, 3) : ZONE_WIDTH - 1;
	unsigned int last = b < ZONE_WIDTH ? b : ZONE_WIDTH - 1;
	unsigned long first_index = offset_first(w->zones, a), start = 0;
	unsigned long last_index = offset_last(w, w->zones, last);
	int error = 0;

	__atomic_fetch_add(&w->open_begun, 1, __ATOMIC_ACQ_REL);
	if (what < 5)
		error = mtree_store_range(&w->mt, first_index, last_index, open_entry(w, a, last),
					  GFP_KERNEL);
	else if (what < 8)
		error = mtree_store_range(&w->mt, first_index, last_index, NULL, GFP_KERNEL);
	else if (what < 10)
		mtree_erase(&w->mt, first_index);
	else if (what < 12)
		error = mtree_insert_range(&w->mt, first_index, last_index, open_entry(w, a, last),
					   GFP_KERNEL);
	else if (what == 12)
		error = mtree_store(&w->mt, first_index, open_entry(w, a, a), GFP_KERNEL);
	else if (what == 13 && w->gaps)
		error = mtree_alloc_rrange(&w->mt, &start, open_entry(w, a, ZONE_WIDTH - 1), 1,
					   first_index, ULONG_MAX, GFP_KERNEL);
	else if (what == 14) /* all but the first index, so that a lone entry may be left */
		error = mtree_store_range(&w->mt, offset_first(w->zones, w->zones == 0), ULONG_MAX,
					  NULL, GFP_KERNEL);
	else if (what == 15 && !w->zones)
		mtree_destroy(&w->mt);
	__atomic_fetch_add(&w->open_done, 1, __ATOMIC_ACQ_REL);
	expect(me, error == 0 || error == -EEXIST || error == -EBUSY, "error %d", error);
}

/* A copy made while readers run holds all that never changes. */
static void copy(struct worker *me)
{
	struct world *w = me->world;
	struct maple_tree new_tree;
	struct permanent p = { 0, 0, NULL };
	const char *reason = "";
	int error;

	world_init_tree(w, &new_tree);
	error = mtree_dup(&w->mt, &new_tree, GFP_KERNEL);
	expect(me, !error, "mtree_dup: %d", error);
	expect(me, mt_check(&new_tree, &reason), "%s", reason);
	for (p.last = -1ul; permanent_from(w, p.last + 1, &p);)
		expect(me, mtree_load(&new_tree, p.first) == p.entry, "copy at %#lx", p.first);
	mtree_destroy(&new_tree);
}

/* Whether anything was written. */
static bool write_once(struct worker *me)
{
	struct world *w = me->world;
	struct change c = { .me = me, .w = w };
	unsigned int span = below(me, 10) ? 6 : ZONE_WIDTH;

	c.zone = below(me, w->zones + 1);
	if (!below(me, 500))
		copy(me);
	if (c.zone == w->zones) {
		write_open(me);
		return true;
	}
	if (zone_kind(w, c.zone) != ZONE_LIVE || c.zone % w->writers != me->number)
		return false;
	c.own = &w->zone[c.zone];
	c.first = FREE_FIRST + below(me, ZONE_WIDTH - FREE_FIRST);
	c.last = c.first + below(me, span);
	if (span == ZONE_WIDTH && below(me, 2))
		c.first = FREE_FIRST;
	if (c.last >= ZONE_WIDTH)
		c.last = ZONE_WIDTH - 1;
	write_live(&c);
	return true;
}

void *writer_run(void *arg)
{
	struct worker *me = arg;
	unsigned long writes = 0;

	while (!stopped(me->world))
		writes += write_once(me);
	__atomic_fetch_add(&me->world->writes, writes, __ATOMIC_RELAXED);
	return NULL;
}
