/* SPDX-License-Identifier: MIT */
/*
 * iter.c - the cursor's reads: walk, next, prev and find, each over entries or over all ranges.
 *
 * A cursor stands on the range it last saw, [index, last]. Going up means going to the range that
 * holds last + 1 now, going down to the one that holds index - 1: whatever a writer did meanwhile,
 * nothing is skipped and nothing shown twice. Steps inside a leaf are a short cut to the same.
 *
 * Where a call begins depends on the status that the cursor comes with:
 *
 *   status       next   find   prev   find_rev
 *   start        pass   show   pass   show
 *   pause        pass   show*  pass   show*    * from last + 1 or index - 1 on
 *   active       step   step   step   step
 *   root         step   step   step   step     it stands on the lone entry at 0
 *   none         pass   show   step   step
 *   overflow     step   show   show   step
 *   underflow    show   show   step   step
 *   error        stop   stop   stop   stop
 *
 *   step   the cursor stands on a range: the one beside it
 *   show   the range that holds index, if that is an entry; else the one beside it
 *   pass   the one beside the range that holds index
 *   stop   nothing is read
 *
 * An overflow or underflow that came before any walk has left no range to step from: as from start.
 * "Beside" is above for next and find, below for prev and find_rev; gaps count for the _range
 * forms alone.
 *
 * A tree without nodes has two ranges, the lone entry at 0 (ma_root) and the gap above it
 * (ma_none), or just one gap.
 */
#include "walk.h"

enum call { CALL_NEXT, CALL_FIND, CALL_PREV, CALL_FIND_REV };
enum begin { BEGIN_STEP, BEGIN_SHOW, BEGIN_PASS, BEGIN_STOP };

#define STEP BEGIN_STEP
#define SHOW BEGIN_SHOW
#define PASS BEGIN_PASS
#define STOP BEGIN_STOP

static const unsigned char begins[][4] = {
	[ma_start] = { PASS, SHOW, PASS, SHOW },
	[ma_pause] = { PASS, SHOW, PASS, SHOW },
	[ma_active] = { STEP, STEP, STEP, STEP },
	[ma_root] = { STEP, STEP, STEP, STEP },
	[ma_none] = { PASS, SHOW, STEP, STEP },
	[ma_overflow] = { STEP, SHOW, SHOW, STEP },
	[ma_underflow] = { SHOW, SHOW, STEP, STEP },
	[ma_error] = { STOP, STOP, STOP, STOP },
};

static inline bool goes_up(enum call call)
{
	return call == CALL_NEXT || call == CALL_FIND;
}

static inline bool is_find(enum call call)
{
	return call == CALL_FIND || call == CALL_FIND_REV;
}

static bool rootless(const struct ma_state *mas)
{
	return !root_is_node(root_load(mas->tree));
}

/* Whether the cursor has stood on a range of a leaf and goes on from there. */
static bool on_leaf(const struct ma_state *mas)
{
	return mas->node && (mas->status == ma_active || mas->status == ma_overflow ||
			     mas->status == ma_underflow);
}

static enum begin begin_of(const struct ma_state *mas, enum call call)
{
	enum maple_status status = mas->status;
	enum begin begin = begins[status][call];

	if (begin == STEP && !mas->node && (status == ma_overflow || status == ma_underflow))
		begin = begins[ma_start][call];
	return begin;
}

static void *end_at(struct ma_state *mas, enum maple_status status)
{
	mas->status = status;
	return NULL;
}

/*
 * After a write of NULL the cursor stands on the whole gap, wider maybe than what was written. But it
 * goes on from index and last if an entry was stored there since, or they were set by hand.
 */
static void settle(struct ma_state *mas)
{
	unsigned long first = mas->index, last = mas->last;

	if (mas->gap_written && on_leaf(mas)) {
		bool entry = walk_here(mas);

		if (entry)
			mas->index = first;
		if (entry || last > mas->last)
			mas->last = last;
	}
	mas->gap_written = false;
}

/* ---- trees without nodes ---------------------------------------------------------------- */

/* Where a cursor ends: in the gap above the lone entry, or on the entry; in an empty tree, where it is. */
static void *end_rootless(struct ma_state *mas, bool above, enum maple_status status)
{
	mas->node = NULL;
	if (root_load(mas->tree)) {
		mas->index = above;
		mas->last = above ? ULONG_MAX : 0;
	}
	return end_at(mas, status);
}

/* From index down to the lone entry, unless the limit is above it. */
static void *rootless_at_0(struct ma_state *mas, unsigned long min)
{
	mas->node = NULL;
	if (root_load(mas->tree) && min > 0)
		return end_rootless(mas, true, ma_underflow);
	return walk_to(mas, 0);
}

static void *read_rootless(struct ma_state *mas, unsigned long limit, enum call call, bool gaps,
			   enum begin begin)
{
	if (mas->index == 0 && begin == SHOW)
		return walk_to(mas, 0);
	if (goes_up(call))
		return end_rootless(mas, true, ma_none);
	if (mas->index == 0)
		return end_rootless(mas, false, ma_none);
	if (call == CALL_PREV && gaps && on_leaf(mas)) /* the gap above 0 comes first */
		return walk_to(mas, mas->index - 1);
	return rootless_at_0(mas, limit);
}

/* ---- steps ------------------------------------------------------------------------------ */

/*
 * Steps to the next entry, or range if @gaps, unless the limit is reached before: mas_find() alone
 * does not say that in the status.
 */
static void *step_up(struct ma_state *mas, unsigned long max, bool gaps, enum call call)
{
	void *entry;

	do {
		if (mas->last >= max)
			return end_at(mas, call == CALL_FIND && !gaps ? ma_active : ma_overflow);
		entry = walk_up(mas);
		if (!mas->node)
			return entry;
	} while (!entry && !gaps);
	return entry;
}

static void *step_down(struct ma_state *mas, unsigned long min, bool gaps)
{
	void *entry;

	do {
		if (mas->index <= min)
			return end_at(mas, ma_underflow);
		entry = walk_down(mas);
		if (!mas->node)
			return entry || gaps ? entry : rootless_at_0(mas, min);
	} while (!entry && !gaps);
	return entry;
}

/* ---- short cuts ------------------------------------------------------------------------- */

/* Not inlined into the quick way, which would save registers for it. */
#define APART __attribute__((noinline))
#define QUICK inline __attribute__((always_inline))

/*
 * The common case of going up: the next entry is in the same leaf, at most one gap further, and
 * below the limit. NULL: it is not, or the leaf has changed, and the cursor is where it was. Each
 * word of the leaf is read once under one version, so all are of one state of it; that it follows
 * on what the cursor has seen is what the comparison with last is for. The last range of a leaf has
 * no pivot, but the maximum in its place, and so is not followed by any here.
 */
static QUICK void *take_up(struct ma_state *mas, struct mt_node *leaf, size_t offset,
			   unsigned long below, void *entry)
{
	unsigned long last = mas->max;

	if (LIKELY(offset < WIDE_SLOTS - 1)) {
		unsigned long pivot = pivot_load(leaf, offset);

		last = pivot < last ? pivot : last;
	}
	if (UNLIKELY(last <= below) || UNLIKELY(!watch_held(mas)))
		return NULL;
	mas->offset = (unsigned char)offset;
	mas->index = below + 1;
	mas->last = last;
	return entry;
}

static QUICK void *next_in_leaf(struct ma_state *mas, unsigned long max)
{
	struct mt_node *leaf = node_of(mas->node, KIND_LEAF);
	size_t offset = mas->offset;
	unsigned long below = mas->last;
	void *entry;

	if (UNLIKELY(below >= max) || UNLIKELY(!watch_holds(mas)) ||
	    UNLIKELY(offset >= WIDE_SLOTS - 1) || UNLIKELY(pivot_load(leaf, offset) != below))
		return NULL;
	entry = slot_load(leaf, KIND_LEAF, offset + 1);
	if (LIKELY(entry))
		return take_up(mas, leaf, offset + 1, below, entry);
	if (UNLIKELY(offset >= WIDE_SLOTS - 2))
		return NULL;
	below = pivot_load(leaf, offset + 1);
	if (UNLIKELY(below >= max))
		return NULL;
	entry = slot_load(leaf, KIND_LEAF, offset + 2);
	if (UNLIKELY(!entry))
		return NULL;
	return take_up(mas, leaf, offset + 2, below, entry);
}

/* The same downwards. */
static QUICK void *prev_in_leaf(struct ma_state *mas, unsigned long min)
{
	struct mt_node *leaf = node_of(mas->node, KIND_LEAF);
	unsigned int offset = mas->offset;
	unsigned long last = mas->index - 1;
	unsigned long first;
	void *entry;

	if (UNLIKELY(mas->index <= min) || UNLIKELY(!watch_holds(mas)) ||
	    UNLIKELY(offset == 0) || UNLIKELY(pivot_load(leaf, --offset) != last))
		return NULL;
	entry = slot_load(leaf, KIND_LEAF, offset);
	if (!entry) {
		if (UNLIKELY(offset == 0))
			return NULL;
		last = pivot_load(leaf, --offset);
		if (UNLIKELY(last < min))
			return NULL;
		entry = slot_load(leaf, KIND_LEAF, offset);
		if (UNLIKELY(!entry))
			return NULL;
	}
	first = slot_first(leaf, offset, mas->min);
	if (UNLIKELY(first > last) || UNLIKELY(!watch_held(mas)))
		return NULL;
	mas->offset = (unsigned char)offset;
	mas->index = first;
	mas->last = last;
	return entry;
}

/*
 * From the end of a leaf to the first entry of the next leaf, below the limit; *@entry is NULL if
 * the cursor has come to a gap, from where it has to go on. False, and nothing has changed, if
 * that is not where the cursor stands or the way there is not as easy.
 */
static inline bool to_next_leaf(struct ma_state *mas, unsigned long max, void **entry)
{
	if (mas->status != ma_active || mas->last != mas->max || mas->last >= max ||
	    !walk_next_leaf(mas, entry))
		return false;
	if (!*entry)
		*entry = next_in_leaf(mas, max);
	return true;
}

static inline bool to_prev_leaf(struct ma_state *mas, unsigned long min, void **entry)
{
	if (mas->status != ma_active || mas->index != mas->min || mas->index <= min ||
	    !walk_prev_leaf(mas, entry))
		return false;
	if (!*entry)
		*entry = prev_in_leaf(mas, min);
	return true;
}

/* ---- the calls -------------------------------------------------------------------------- */

void *mas_walk(struct ma_state *mas)
{
	return walk_to(mas, mas->index);
}

void mas_pause(struct ma_state *mas)
{
	mas_reset(mas);
	mas->status = ma_pause;
}

/* Whether the limit leaves nothing to read: next and prev say so in the status, find after a pause. */
static bool is_beyond(struct ma_state *mas, unsigned long limit, enum call call, enum begin begin)
{
	bool up = goes_up(call);

	if (!is_find(call) || mas->status == ma_pause) {
		if (up ? mas->last < limit : mas->index > limit)
			return false;
		end_at(mas, up ? ma_overflow : ma_underflow);
		return true;
	}
	if (!up)
		return mas->index < limit;
	if (begin == STEP) /* from a lone entry to where the tree ends no limit counts */
		return mas->last >= limit && !(mas->status == ma_root && rootless(mas));
	return mas->status == ma_start ? mas->index > limit : mas->index >= limit;
}

/* find after a pause: the cursor looks for what comes behind the range it stood on. */
static void move_on(struct ma_state *mas, bool up)
{
	if (up)
		mas->index = ++mas->last;
	else
		mas->last = --mas->index;
}

static APART void *read(struct ma_state *mas, unsigned long limit, enum call call, bool gaps)
{
	enum begin begin = begin_of(mas, call);
	bool over = mas->status == ma_overflow;
	void *entry;

	if (begin == STOP)
		return NULL;
	settle(mas);
	if (is_beyond(mas, limit, call, begin))
		return NULL;
	if (mas->status == ma_pause && is_find(call))
		move_on(mas, goes_up(call));
	if (rootless(mas))
		return read_rootless(mas, limit, call, gaps, begin);
	if (begin != STEP) {
		entry = on_leaf(mas) ? walk_here(mas) : walk_to(mas, mas->index);
		if (entry && begin == SHOW)
			return entry;
		if (!mas->node)
			return read_rootless(mas, limit, call, gaps, PASS);
		if (call == CALL_FIND_REV && mas->index < limit)
			return NULL;
		if (call == CALL_FIND && over && mas->last >= limit)
			return end_at(mas, ma_overflow);
	}
	mas->status = ma_active;
	return goes_up(call) ? step_up(mas, limit, gaps, call) : step_down(mas, limit, gaps);
}

/* What is not in the cursor's leaf, upwards or downwards, mostly in the leaf beside it. */
static APART void *read_above(struct ma_state *mas, unsigned long max, enum call call)
{
	void *entry;

	if (UNLIKELY(!to_next_leaf(mas, max, &entry)))
		return read(mas, max, call, false);
	if (UNLIKELY(!entry))
		return step_up(mas, max, false, call);
	return UNLIKELY(walk_up_is_due(mas)) ? walk_ahead_up(mas, entry) : entry;
}

static APART void *read_below(struct ma_state *mas, unsigned long min, enum call call)
{
	void *entry;

	if (UNLIKELY(!to_prev_leaf(mas, min, &entry)))
		return read(mas, min, call, false);
	if (UNLIKELY(!entry))
		return step_down(mas, min, false);
	return UNLIKELY(walk_down_is_due(mas)) ? walk_ahead_down(mas, entry) : entry;
}

static QUICK void *read_up(struct ma_state *mas, unsigned long max, enum call call)
{
	void *entry = mas->status == ma_active ? next_in_leaf(mas, max) : NULL;

	return LIKELY(entry) ? entry : read_above(mas, max, call);
}

static QUICK void *read_down(struct ma_state *mas, unsigned long min, enum call call)
{
	void *entry = mas->status == ma_active ? prev_in_leaf(mas, min) : NULL;

	return LIKELY(entry) ? entry : read_below(mas, min, call);
}

void *mas_next(struct ma_state *mas, unsigned long max)
{
	return read_up(mas, max, CALL_NEXT);
}

void *mas_find(struct ma_state *mas, unsigned long max)
{
	return read_up(mas, max, CALL_FIND);
}

void *mas_prev(struct ma_state *mas, unsigned long min)
{
	return read_down(mas, min, CALL_PREV);
}

void *mas_find_rev(struct ma_state *mas, unsigned long min)
{
	return read_down(mas, min, CALL_FIND_REV);
}

void *mas_next_range(struct ma_state *mas, unsigned long max)
{
	return read(mas, max, CALL_NEXT, true);
}

void *mas_find_range(struct ma_state *mas, unsigned long max)
{
	return read(mas, max, CALL_FIND, true);
}

void *mas_prev_range(struct ma_state *mas, unsigned long min)
{
	return read(mas, min, CALL_PREV, true);
}

void *mas_find_range_rev(struct ma_state *mas, unsigned long min)
{
	return read(mas, min, CALL_FIND_REV, true);
}
