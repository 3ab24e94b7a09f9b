/* SPDX-License-Identifier: MIT */
/*
 * reading.c - the cursor's reads as a function of its status, the ranges and the limit.
 */
#include "reading.h"

static bool upward(enum read_kind kind)
{
	return kind == read_find || kind == read_find_range || kind == read_next ||
	       kind == read_next_range;
}

static bool stops_at_gaps(enum read_kind kind)
{
	return kind == read_find_range || kind == read_find_range_rev ||
	       kind == read_next_range || kind == read_prev_range;
}

static bool finds(enum read_kind kind)
{
	return kind == read_find || kind == read_find_range || kind == read_find_rev ||
	       kind == read_find_range_rev;
}

static enum maple_status end_status(enum read_kind kind)
{
	if (kind == read_find)
		return ma_active;
	return upward(kind) ? ma_overflow : ma_underflow;
}

static bool answer(struct reading *reading, void *entry, const struct oracle_range *place,
		   enum maple_status status)
{
	*reading = (struct reading){ entry, place->first, place->last, status, true, true, true };
	return true;
}

/* NULL, with index and last as they were. @usable: the status is promised, and to go on too. */
static bool unchanged(struct reading *reading, const struct oracle_cursor *cursor,
		      enum maple_status status, bool status_known, bool usable)
{
	*reading = (struct reading){ NULL, cursor->index, cursor->last, status, true, status_known,
				     usable };
	return true;
}

/* ---- an empty tree, a lone entry at 0 --------------------------------------------------- */

static bool read_empty(enum read_kind kind, struct reading *reading)
{
	*reading = (struct reading){ .last = ULONG_MAX, .status = ma_none };
	if (kind == read_walk) {
		reading->place_known = true;
		reading->status_known = true;
	}
	return true;
}

static bool lone_next(const struct oracle_range *above, const struct oracle_cursor *cursor,
		      unsigned long limit, struct reading *reading)
{
	bool fresh = cursor->status == ma_start || cursor->status == ma_pause;

	if (cursor->last < limit && (fresh || cursor->status == ma_root))
		return answer(reading, NULL, above, ma_none);
	if (fresh)
		return unchanged(reading, cursor, ma_overflow, true, false);
	return false;
}

static bool lone_prev(const struct oracle *oracle, const struct oracle_cursor *cursor,
		      unsigned long limit, struct reading *reading)
{
	const struct oracle_range *zero = &oracle->ranges[0];
	bool fresh = cursor->status == ma_start || cursor->status == ma_pause;

	if (limit != 0 && (oracle->lone == lone_yes || !fresh))
		return false;
	if (cursor->index > limit && limit > 0)
		return answer(reading, NULL, zero + 1, ma_underflow);
	if (cursor->index > limit && (fresh || cursor->status == ma_none))
		return answer(reading, zero->entry, zero, ma_root);
	if (fresh)
		return unchanged(reading, cursor, ma_underflow, true, false);
	return false;
}

/* From the root the limit does not count. */
static bool lone_find(const struct oracle_range *zero, const struct oracle_cursor *cursor,
		      unsigned long limit, struct reading *reading)
{
	switch (cursor->status) {
	case ma_start:
		if (cursor->index > limit)
			return unchanged(reading, cursor, cursor->status, false, false);
		if (cursor->index == 0)
			return answer(reading, zero->entry, zero, ma_root);
		return answer(reading, NULL, zero + 1, ma_none);
	case ma_root:
		return answer(reading, NULL, zero + 1, ma_none);
	case ma_none:
		if (cursor->last >= limit)
			return unchanged(reading, cursor, ma_none, true, true);
		return answer(reading, zero->entry, zero, ma_root);
	default:
		return false;
	}
}

static bool lone_find_rev(const struct oracle_range *zero, const struct oracle_cursor *cursor,
			  unsigned long limit, struct reading *reading)
{
	if (limit != 0)
		return false;
	if (cursor->status == ma_start || (cursor->status == ma_none && cursor->index > 0))
		return answer(reading, zero->entry, zero, ma_root);
	if (cursor->status == ma_root || cursor->status == ma_none)
		return answer(reading, NULL, zero, ma_none);
	return false;
}

static bool read_lone(const struct oracle *oracle, const struct oracle_cursor *cursor,
		      enum read_kind kind, unsigned long limit, struct reading *reading)
{
	const struct oracle_range *zero = &oracle->ranges[0];
	bool promised;

	if (kind == read_walk)
		promised = cursor->index == 0 ? answer(reading, zero->entry, zero, ma_root) :
						answer(reading, NULL, zero + 1, ma_none);
	else if (finds(kind))
		promised = upward(kind) ? lone_find(zero, cursor, limit, reading) :
					  lone_find_rev(zero, cursor, limit, reading);
	else
		promised = upward(kind) ? lone_next(zero + 1, cursor, limit, reading) :
					  lone_prev(oracle, cursor, limit, reading);
	if (promised && oracle->lone == lone_unknown)
		reading->status_known = reading->usable = false;
	return promised;
}

/* ---- trees with entries ----------------------------------------------------------------- */

static bool step_up(const struct oracle *oracle, size_t at, enum read_kind kind,
		    unsigned long limit, struct reading *reading)
{
	const struct oracle_range *range = &oracle->ranges[at];

	while (range->last < limit) {
		range++;
		if (range->entry || stops_at_gaps(kind))
			return answer(reading, range->entry, range, ma_active);
	}
	return answer(reading, NULL, range, end_status(kind));
}

static bool step_down(const struct oracle *oracle, size_t at, enum read_kind kind,
		      unsigned long limit, struct reading *reading)
{
	const struct oracle_range *range = &oracle->ranges[at];

	while (range->first > limit) {
		range--;
		if (range->entry || stops_at_gaps(kind))
			return answer(reading, range->entry, range, ma_active);
	}
	return answer(reading, NULL, range, end_status(kind));
}

static bool step(const struct oracle *oracle, size_t at, enum read_kind kind, unsigned long limit,
		 struct reading *reading)
{
	return upward(kind) ? step_up(oracle, at, kind, limit, reading) :
			      step_down(oracle, at, kind, limit, reading);
}

/* The entry here if there is one, else a step. */
static bool here_or_step(const struct oracle *oracle, size_t at, enum read_kind kind,
			 unsigned long limit, struct reading *reading)
{
	const struct oracle_range *range = &oracle->ranges[at];

	if (range->entry)
		return answer(reading, range->entry, range, ma_active);
	return step(oracle, at, kind, limit, reading);
}

static bool read_list(const struct oracle *oracle, const struct oracle_cursor *cursor,
		      enum read_kind kind, unsigned long limit, struct reading *reading)
{
	bool fresh = cursor->status == ma_start || cursor->status == ma_pause;
	bool reached = upward(kind) ? cursor->last >= limit : cursor->index <= limit;
	enum maple_status other_end = upward(kind) ? ma_underflow : ma_overflow;
	size_t at = oracle_at(oracle, cursor->index);

	if (cursor->status == other_end && reached && oracle->ranges[at].entry)
		return false;
	if (reached)
		return unchanged(reading, cursor, end_status(kind), true, !fresh);
	if (cursor->status == other_end)
		return here_or_step(oracle, at, kind, limit, reading);
	return step(oracle, at, kind, limit, reading);
}

static bool read_upward_find(const struct oracle *oracle, const struct oracle_cursor *cursor,
			     enum read_kind kind, unsigned long limit, struct reading *reading)
{
	size_t at = oracle_at(oracle, cursor->index);

	switch (cursor->status) {
	case ma_start:
	case ma_underflow:
		if (cursor->index > limit ||
		    (cursor->status == ma_underflow && cursor->index == limit))
			return unchanged(reading, cursor, cursor->status, false, false);
		return here_or_step(oracle, at, kind, limit, reading);
	case ma_pause:
		if (cursor->last >= limit)
			return unchanged(reading, cursor, cursor->status, false, false);
		return here_or_step(oracle, oracle_at(oracle, cursor->last + 1), kind, limit,
				    reading);
	case ma_active:
		if (cursor->last >= limit)
			return unchanged(reading, cursor, ma_active, kind == read_find,
					 kind == read_find);
		return step(oracle, at, kind, limit, reading);
	case ma_overflow:
		if (oracle->ranges[at].entry)
			return false;
		if (cursor->last >= limit)
			return unchanged(reading, cursor, ma_overflow, false, false);
		return step(oracle, at, kind, limit, reading);
	default:
		return false;
	}
}

/* The first search down: its status is not promised if the limit lies inside the gap here. */
static bool find_down_from(const struct oracle *oracle, size_t at, enum read_kind kind,
			   unsigned long limit, struct reading *reading)
{
	const struct oracle_range *range = &oracle->ranges[at];

	here_or_step(oracle, at, kind, limit, reading);
	if (!range->entry && range->first < limit) {
		reading->status = ma_active;
		reading->status_known = reading->usable = false;
	}
	return true;
}

static bool read_downward_find(const struct oracle *oracle, const struct oracle_cursor *cursor,
			       enum read_kind kind, unsigned long limit, struct reading *reading)
{
	size_t at = oracle_at(oracle, cursor->index);

	if (cursor->index < limit && cursor->status != ma_pause)
		return unchanged(reading, cursor, cursor->status, false, false);
	switch (cursor->status) {
	case ma_start:
		return find_down_from(oracle, at, kind, limit, reading);
	case ma_pause:
		if (cursor->index <= limit)
			return unchanged(reading, cursor, ma_underflow, true, false);
		return find_down_from(oracle, oracle_at(oracle, cursor->index - 1), kind, limit,
				      reading);
	case ma_active:
	case ma_underflow:
		return step(oracle, at, kind, limit, reading);
	case ma_overflow:
		return !oracle->ranges[at].entry && step(oracle, at, kind, limit, reading);
	default:
		return false;
	}
}

bool oracle_read(const struct oracle *oracle, const struct oracle_cursor *cursor,
		 enum read_kind kind, unsigned long limit, struct reading *reading)
{
	const struct oracle_range *here = &oracle->ranges[oracle_at(oracle, cursor->index)];
	struct oracle_cursor place = *cursor;

	if (oracle_empty(oracle))
		return read_empty(kind, reading);
	if (oracle->lone != lone_no)
		return read_lone(oracle, cursor, kind, limit, reading);
	if (cursor->status == ma_root || cursor->status == ma_none || cursor->status == ma_error)
		return false;
	if (kind == read_walk)
		return answer(reading, here->entry, here, ma_active);
	if (place.status == ma_active) { /* what was erased joined the gaps around it */
		place.index = here->first;
		place.last = here->last;
	}
	if (!finds(kind))
		return read_list(oracle, &place, kind, limit, reading);
	if (upward(kind))
		return read_upward_find(oracle, &place, kind, limit, reading);
	return read_downward_find(oracle, &place, kind, limit, reading);
}

const char *read_name(enum read_kind kind)
{
	static const char *const names[read_kinds] = {
		[read_walk] = "walk",
		[read_find] = "find",
		[read_find_range] = "find_range",
		[read_find_rev] = "find_rev",
		[read_find_range_rev] = "find_range_rev",
		[read_next] = "next",
		[read_next_range] = "next_range",
		[read_prev] = "prev",
		[read_prev_range] = "prev_range",
	};

	return names[kind];
}
