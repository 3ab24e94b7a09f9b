/* SPDX-License-Identifier: MIT */
/*
 * draw.c - random indexes, ranges and entries, drawn where trees break: at the bounds of ranges,
 * at 0 and at ULONG_MAX.
 */
#include "model.h"

bool chance(struct run *run, unsigned int percent)
{
	return random_chance(&run->random, percent);
}

unsigned long below(struct run *run, unsigned long limit)
{
	return random_below(&run->random, limit);
}

static unsigned long add(unsigned long a, unsigned long b)
{
	return a + b < a ? ULONG_MAX : a + b;
}

/* Often enough in small trees; seldom in those that take long to grow again. */
static bool rarely(struct run *run)
{
	return below(run, 50 + 10 * run->oracle.count) == 0;
}

/* A bound of a random range, or one beside it. */
static unsigned long near_bound(struct run *run)
{
	const struct oracle_range *range = &run->oracle.ranges[below(run, run->oracle.count)];
	unsigned long index = chance(run, 50) ? range->first : range->last;

	switch (below(run, 4)) {
	case 0: return index - (index > 0);
	case 1: return index + (index < ULONG_MAX);
	default: return index;
	}
}

unsigned long draw_end(struct run *run, unsigned long index)
{
	size_t at = oracle_at(&run->oracle, index);
	size_t ranges = run->oracle.count - at;

	if (ranges > 8 && !rarely(run))
		ranges = 8;
	return run->oracle.ranges[at + below(run, ranges)].last;
}

unsigned long draw_index(struct run *run)
{
	const struct mix *mix = run->mix;
	unsigned long units;

	if (chance(run, 2))
		return chance(run, 50) ? below(run, 3) : ULONG_MAX - below(run, 3);
	if (chance(run, 30))
		return near_bound(run);
	if (!mix->unit) /* all magnitudes alike */
		return random_next(&run->random) >> below(run, 64);
	units = (mix->high - mix->low) / mix->unit;
	return mix->low + (units == ULONG_MAX ? random_next(&run->random) :
						below(run, units + 1)) * mix->unit;
}

static unsigned long draw_length(struct run *run)
{
	const struct mix *mix = run->mix;

	if (!mix->unit)
		return (random_next(&run->random) >> (rarely(run) ? 1 : 20 + below(run, 44))) + 1;
	if (rarely(run))
		return (below(run, mix->length * 50) + 1) * mix->unit;
	return (below(run, mix->length) + 1) * mix->unit;
}

void draw_range(struct run *run, unsigned long *first, unsigned long *last)
{
	if (run->mix->append && chance(run, 80)) {
		*first = run->appended;
		*last = add(*first, draw_length(run) - 1);
		run->appended = add(*last, 1 + (chance(run, 50) ? 0 : draw_length(run)));
		if (run->appended > run->mix->high)
			run->appended = run->mix->low;
		return;
	}
	*first = draw_index(run);
	*last = add(*first, draw_length(run) - 1);
	if (chance(run, 10)) {
		*last = draw_end(run, *first);
	} else if (rarely(run)) {
		*first = chance(run, 50) ? 0 : *first;
		*last = chance(run, 50) ? ULONG_MAX : *last;
	}
	if (*first > *last) {
		unsigned long swap = *first;

		*first = *last;
		*last = swap;
	}
}

unsigned long draw_limit(struct run *run, unsigned long index, bool up)
{
	switch (below(run, 6)) {
	case 0: return draw_index(run);
	case 1: return up ? add(index, draw_length(run)) : index - (index > 0);
	case 2: return index;
	default: return up ? ULONG_MAX : 0;
	}
}

struct mt_area draw_area(struct run *run)
{
	unsigned long unit = run->mix->unit ? run->mix->unit : 1;
	struct mt_area area = { .fit = chance(run, 50) ? MT_FIT_HIGHEST : MT_FIT_LOWEST };

	draw_range(run, &area.min, &area.max);
	if (chance(run, 50))
		area.max = run->mix->high > area.min ? run->mix->high : ULONG_MAX;
	area.size = below(run, 8) ? (below(run, run->mix->length * 2) + 1) * unit :
				    area.max - area.min; /* may be 0 */
	switch (below(run, 8)) {
	case 0: area.align = draw_index(run); break; /* mostly not one */
	case 1: area.align = below(run, 2); break;
	case 2: area.align = 1UL << below(run, sizeof(long) * 8); break;
	default: area.align = unit << below(run, 7); break;
	}
	return area;
}

void *draw_entry(struct run *run)
{
	const struct oracle *oracle = &run->oracle;
	void *equal = oracle->ranges[below(run, oracle->count)].entry;
	unsigned long kind = below(run, 100);

	if (kind < 3)
		return XA_ZERO_ENTRY;
	if (kind < 8 && equal)
		return equal;
	run->entries_made++;
	if (kind < 20)
		return xa_mk_value(run->entries_made);
	return (void *)((run->entries_made << 4) + 0x10000);
}
