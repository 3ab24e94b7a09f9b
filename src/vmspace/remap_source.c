/* SPDX-License-Identifier: MIT */
/* remap_source.c - mremap with MREMAP_DONTUNMAP: what becomes of the source, which stays. */
#include <assert.h>

#include "accounting.h"
#include "change.h"
#include "commit.h"
#include "edit.h"
#include "inherited.h"
#include "merge.h"
#include "outcome.h"
#include "remap.h"
#include "sync.h"

struct vma *remap_part_source(struct vmspace *space, struct vma *vma, const struct move *m)
{
	unsigned long end = m->addr + m->old_length;

	if (!(m->flags & MREMAP_DONTUNMAP) || !(vma->flags & VMA_LOCKED) ||
	    !rule_decides(space, RULE_DONTUNMAP_PART))
		return vma;
	if (end < vma->end) {
		if (edit_split_unchecked(space, vma, end))
			return NULL;
		vma = find_at(space, m->addr);
	}
	if (m->addr > vma->start) {
		if (edit_split_unchecked(space, vma, m->addr))
			return NULL;
		vma = find_at(space, m->addr);
	}
	return vma;
}

bool remap_stays_alone(struct vmspace *space, const struct vma *vma, const struct move *m,
		       const struct vma *proto)
{
	unsigned long page_size = space->config.page_size;
	enum vma_verdict verdict = VMA_NOT_ADJACENT;
	struct vma room;

	if (!(m->flags & MREMAP_DONTUNMAP))
		return false;
	vma = shown_as(space, vma, &room);
	if (vma->end == proto->start)
		verdict = merge_verdict(vma, proto, page_size, NULL);
	else if (proto->end == vma->start)
		verdict = merge_verdict(proto, vma, page_size, NULL);
	return verdict == VMA_MERGED && rule_decides(space, RULE_DONTUNMAP_ALONE);
}

void remap_ignore_source(struct vmspace *space, const struct vma *vma, const struct move *m,
			 struct hole *hole)
{
	if (!(m->flags & MREMAP_DONTUNMAP) || (hole->left != vma && hole->next != vma) ||
	    !rule_decides(space, RULE_DONTUNMAP_PART))
		return;
	if (hole->left == vma)
		hole->left = NULL;
	else
		hole->next = NULL;
}

/* The part that was moved is unlocked, as an area of its own, whatever is beside it. */
static long unlock_part(struct vmspace *space, const struct move *m)
{
	struct edit_span span;
	struct edit_attrs want;

	edit_span_init(&span, space, m->addr, m->addr + m->old_length);
	span.changes = VMA_LOCK_FLAGS;
	span.alone = true;
	edit_next(&span);
	want = edit_attrs_of(span.vma);
	want.flags &= ~VMA_LOCK_FLAGS;
	return edit_change(&span, &want);
}

/* The area is unlocked as a whole, and Linux does not subtract it from locked_vm (locked_leak). */
static long unlock_leaking(struct vmspace *space, struct vma *vma, const struct move *m)
{
	unsigned long pages = space_pages(space, vma->end - vma->start);
	unsigned long moved = space_pages(space, m->old_length), counted_twice = moved;
	vma_flags_t old = vma->flags, flags = old & ~VMA_LOCK_FLAGS;
	struct vma *changed;

	if (old & VMA_ACCOUNT && rule_decides(space, RULE_DONTUNMAP_UNCHARGES))
		flags &= ~VMA_ACCOUNT;
	if (flags == old)
		return 0;
	changed = change_begin(space, vma);
	if (!changed)
		return -ENOMEM;
	changed->flags = flags;
	change_end(space, vma, changed);
	account_area_flags(space, changed, old);
	if (old & VMA_LOCKED) {
		if (rule_decides(space, RULE_DONTUNMAP_COUNTS_ONCE))
			counted_twice = 0;
		space->locked_vm -= moved - counted_twice;
		space->locked_leak += pages - moved + counted_twice;
	}
	if (old & ~flags & VMA_ACCOUNT)
		commit_charge(space, pages, -1);
	return 0;
}

/*
 * What stays has no pages, and so no use for the anonymous memory that they were of; their numbers
 * can be those of its address, wherever it came from.
 */
static long forget_pages(struct vmspace *space, struct vma *vma)
{
	uint64_t here = space_pages(space, vma->start);
	struct vma *changed = change_begin(space, vma);

	if (!changed)
		return -ENOMEM;
	if (!changed->anon_id || !rule_decides(space, RULE_DONTUNMAP_KEEPS_ANON)) {
		changed->anon_id = 0;
		changed->anon_shared = false;
		changed->may_have_anon = vma_takes_anon(vma->flags);
	}
	changed->anon_shift = 0;
	if (vma_is_anon(vma) && vma->pgoff != here && rule_decides(space, RULE_DONTUNMAP_PART))
		changed->pgoff = here;
	assert(vma_is_valid(changed, space->config.page_size));
	change_end(space, vma, changed);
	return 0;
}

/*
 * A part from inside its area is cut out for the move. When the area is one again, some versions
 * take the next area for its upper part, and mark that as charged; not where the copy, which is at
 * @at, has become one with the area.
 */
static long charge_next(struct vmspace *space, const struct vma *vma, const struct move *m,
			unsigned long at)
{
	struct vma *next = find_first(space, vma->end), *changed;

	if (!(vma->flags & VMA_ACCOUNT) || !m->inner || !next || (next->flags & VMA_ACCOUNT))
		return 0;
	if ((at >= vma->start && at < vma->end) ||
	    !rule_decides(space, RULE_DONTUNMAP_CHARGES_NEXT))
		return 0;
	changed = change_begin(space, next);
	if (!changed)
		return -ENOMEM;
	changed->flags |= VMA_ACCOUNT;
	assert(vma_is_valid(changed, space->config.page_size));
	change_end(space, next, changed);
	commit_charge(space, space_pages(space, changed->end - changed->start), 1);
	outcome_event(space, VMSPACE_EVENT_CHANGE, changed->start, changed->end, 0);
	return 0;
}

/* Its steps have been reserved: see reserve_moves() in remap.c. */
long remap_leave_source(struct vmspace *space, const struct move *m, unsigned long at)
{
	struct vma *vma = find_at(space, m->addr);
	long err;

	assert(vma);
	err = charge_next(space, vma, m, at);
	if (!err && vma->flags & VMA_LOCKED && rule_decides(space, RULE_DONTUNMAP_PART))
		err = unlock_part(space, m);
	else if (!err)
		err = unlock_leaking(space, vma, m);
	if (err)
		return err;
	vma = find_at(space, m->addr);
	if (vma->start == m->addr && vma->end == m->addr + m->old_length)
		err = forget_pages(space, vma);
	return err;
}
