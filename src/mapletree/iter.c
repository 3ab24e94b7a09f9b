/* SPDX-License-Identifier: MIT */
/*
 * iter.c - the cursor's reads: walk, next, prev and find, each over entries or over all ranges.
 *
 * A cursor stands on the range it last saw, [index, last]. Going up means going to the range that
 * now holds last + 1; going down, to the one that now holds index - 1. So whatever a writer did
 * meanwhile, nothing is skipped and nothing is returned twice. Steps inside a leaf are a short cut
 * to the same result.
 *
 * Where a call begins depends on the cursor's status:
 *
 *   status       next   find   prev   find_rev
 *   start        pass   show   pass   show
 *   pause        pass   show*  pass   show*    * beginning at last + 1 or index - 1
 *   active       step   step   step   step
 *   root         step   step   step   step     the cursor stands on the lone entry at 0
 *   none         pass   show   step   step
 *   overflow     step   show   show   step
 *   underflow    show   show   step   step
 *   error        stop   stop   stop   stop
 *
 *   step   the cursor stands on a range: go to the next one
 *   show   the range that holds index, if it is an entry; otherwise the next one
 *   pass   the range after the one that holds index
 *   stop   nothing is read
 *
 * An overflow or underflow before any walk leaves no range to step from: it is treated as start.
 * "Next" and "after" mean upwards for next and find, downwards for prev and find_rev. Only the
 * _range forms count gaps as ranges.
 *
 * A tree without nodes has two ranges, the lone entry at 0 (ma_root) and the gap above it
 * (ma_none), or it is one single gap.
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

/* Whether the cursor stands on a range of a leaf from which it can continue. */
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

static void *end_with(struct ma_state *mas, enum maple_status status)
{
	mas->status = status;
	return NULL;
}

/*
 * After a write of NULL the cursor stands on the whole gap, which may be wider than what was
 * written. But if an entry was stored there since, or index and last were set by hand, the cursor
 * continues from index and last.
 */
static void resync_after_null(struct ma_state *mas)
{
	unsigned long first = mas->index, last = mas->last;

	if (mas->gap_written && on_leaf(mas)) {
		bool entry = walk_reread(mas);

		if (entry)
			mas->index = first;
		if (entry || last > mas->last)
			mas->last = last;
	}
	mas->gap_written = false;
}

/* ---- trees without nodes ---------------------------------------------------------------- */

/*
 * Ends in the gap @above the lone entry, or on the entry; in an empty tree the cursor does not
 * move.
 */
static void *end_rootless(struct ma_state *mas, bool above, enum maple_status status)
{
	mas->node = NULL;
	if (root_load(mas->tree)) {
		mas->index = above;
		mas->last = above ? ULONG_MAX : 0;
	}
	return end_with(mas, status);
}

/* Steps down from index to the lone entry, unless the limit is above it. */
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
 * Steps to the next entry, or to the next range if @gaps. If it meets the limit first, it sets the
 * status to overflow, except for mas_find(), which stays active.
 */
static void *step_up(struct ma_state *mas, unsigned long max, bool gaps, enum call call)
{
	void *entry;

	do {
		if (mas->last >= max)
			return end_with(mas, call == CALL_FIND && !gaps ? ma_active : ma_overflow);
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
			return end_with(mas, ma_underflow);
		entry = walk_down(mas);
		if (!mas->node)
			return entry || gaps ? entry : rootless_at_0(mas, min);
	} while (!entry && !gaps);
	return entry;
}

/* ---- short cuts ------------------------------------------------------------------------- */

/* Keeps a slow path out of line, so that the quick one does not have to save registers for it. */
#define SLOW_PATH __attribute__((noinline))
#define FAST_PATH inline __attribute__((always_inline))

/*
 * The common case of going up: the next entry is in the same leaf, at most one gap further, and
 * below the limit. Otherwise, or if the leaf has changed, returns NULL and leaves the cursor where
 * it was. Each word of the leaf is read once under one version, so all words belong to one state of
 * the leaf; the comparison with last makes sure that this state continues what the cursor has seen.
 * The last slot of a leaf has no pivot; the leaf's maximum ends it, so no slot can follow it here.
 */
static FAST_PATH void *take_up(struct ma_state *mas, struct mt_node *leaf, size_t offset,
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

static FAST_PATH void *next_in_leaf(struct ma_state *mas, unsigned long max)
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

/* The same, going down. */
static FAST_PATH void *prev_in_leaf(struct ma_state *mas, unsigned long min)
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
 * Goes from the end of a leaf to the first entry of the next leaf, below the limit. *@entry is NULL
 * if the cursor has reached a gap, from which it has to continue. Returns false, having changed
 * nothing, if the cursor is not at the end of its leaf or the next leaf cannot simply be entered.
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

/*
 * Whether the limit leaves nothing to read. next and prev record that in the status, and so does
 * find after a pause.
 */
static bool is_beyond(struct ma_state *mas, unsigned long limit, enum call call, enum begin begin)
{
	bool up = goes_up(call);

	if (!is_find(call) || mas->status == ma_pause) {
		if (up ? mas->last < limit : mas->index > limit)
			return false;
		end_with(mas, up ? ma_overflow : ma_underflow);
		return true;
	}
	if (!up)
		return mas->index < limit;
	if (begin == STEP) /* a step from a lone entry to the end of the tree ignores the limit */
		return mas->last >= limit && !(mas->status == ma_root && rootless(mas));
	return mas->status == ma_start ? mas->index > limit : mas->index >= limit;
}

/* find after a pause: looks for what follows the range that the cursor stood on. */
static void skip_current(struct ma_state *mas, bool up)
{
	if (up)
		mas->index = ++mas->last;
	else
		mas->last = --mas->index;
}

static SLOW_PATH void *read(struct ma_state *mas, unsigned long limit, enum call call, bool gaps)
{
	enum begin begin = begin_of(mas, call);
	bool over = mas->status == ma_overflow;
	void *entry;

	if (begin == STOP)
		return NULL;
	resync_after_null(mas);
	if (is_beyond(mas, limit, call, begin))
		return NULL;
	if (mas->status == ma_pause && is_find(call))
		skip_current(mas, goes_up(call));
	if (rootless(mas))
		return read_rootless(mas, limit, call, gaps, begin);
	if (begin != STEP) {
		entry = on_leaf(mas) ? walk_reread(mas) : walk_to(mas, mas->index);
		if (entry && begin == SHOW)
			return entry;
		if (!mas->node)
			return read_rootless(mas, limit, call, gaps, PASS);
		if (call == CALL_FIND_REV && mas->index < limit)
			return NULL;
		if (call == CALL_FIND && over && mas->last >= limit)
			return end_with(mas, ma_overflow);
	}
	mas->status = ma_active;
	return goes_up(call) ? step_up(mas, limit, gaps, call) : step_down(mas, limit, gaps);
}

/*
 * Slow paths: what is not in the cursor's leaf, going up or down, is mostly in the neighbouring
 * leaf.
 */
static SLOW_PATH void *read_above(struct ma_state *mas, unsigned long max, enum call call)
{
	void *entry;

	if (UNLIKELY(!to_next_leaf(mas, max, &entry)))
		return read(mas, max, call, false);
	if (UNLIKELY(!entry))
		return step_up(mas, max, false, call);
	return UNLIKELY(walk_up_is_due(mas)) ? walk_ahead_up(mas, entry) : entry;
}

static SLOW_PATH void *read_below(struct ma_state *mas, unsigned long min, enum call call)
{
	void *entry;

	if (UNLIKELY(!to_prev_leaf(mas, min, &entry)))
		return read(mas, min, call, false);
	if (UNLIKELY(!entry))
		return step_down(mas, min, false);
	return UNLIKELY(walk_down_is_due(mas)) ? walk_ahead_down(mas, entry) : entry;
}

static FAST_PATH void *read_up(struct ma_state *mas, unsigned long max, enum call call)
{
	void *entry = mas->status == ma_active ? next_in_leaf(mas, max) : NULL;

	return LIKELY(entry) ? entry : read_above(mas, max, call);
}

static FAST_PATH void *read_down(struct ma_state *mas, unsigned long min, enum call call)
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
