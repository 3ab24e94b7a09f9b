/* SPDX-License-Identifier: MIT */
/* pages_fork.c - copies pages to a child: shared with the parent until one of them writes. */
#include <assert.h>
#include <errno.h>

#include "pages.h"
#include "table.h"
#include "window.h"

/*
 * As in Linux, pages are copied only for areas with an anon_vma, or with what a fault cannot
 * restore: guard markers, and pages that a driver has mapped.
 */
bool pages_inherited(const struct vma *vma)
{
	if (vma->flags & (VMA_DONTCOPY | VMA_WIPEONFORK))
		return false;
	return vma->anon_id ||
	       (vma->flags & (VMA_MAYBE_GUARD | VMA_PFNMAP | VMA_MIXEDMAP));
}

/*
 * Copy an entry to the child. A private page becomes read-only in both; returns whether it was
 * writable in the parent.
 */
static bool copy_entry(struct pages *child, struct pages *parent, uintptr_t *to, uintptr_t *from,
		       bool private)
{
	uintptr_t entry = *from & ~ENTRY_WRITABLE;
	bool writable = *from != entry && private;

	if (writable)
		entry_store(from, entry);
	/* What the parent watches is nobody's affair there. */
	entry &= ~ENTRY_CODE;
	if (entry_frame(entry))
		frame_get(entry_frame(entry));
	if (entry_is_zero(entry) && !child->zero)
		child->zero = (uintptr_t)frame_get((struct frame *)entry_load(&parent->zero));
	assert(!*to);
	table_mark_written(child, entry);
	*to = entry;
	table_count_entry(child, entry, 1);
	return writable;
}

/* Is it pinned to be written? It must not be shared, as what is written would show in both. */
static bool is_pinned(uintptr_t entry)
{
	const struct frame *frame = entry_frame(entry);

	return frame && frame->kind == VMSPACE_PAGE_ANON && frame_is_written(frame);
}

/* The child gets a copy of the page at once, and the parent keeps it as it is. 0 or -ENOMEM. */
static int copy_pinned(struct pages *child, unsigned long addr, uintptr_t *to, uintptr_t entry)
{
	const struct vmspace_memory *memory = child->memory;
	uint64_t handle = window_alloc_at(memory, addr, 0, false);
	struct frame *frame = handle ? frame_new(memory, handle, VMSPACE_PAGE_ANON) : NULL;

	if (!frame)
		return -ENOMEM;
	memory->copy(memory->ctx, handle, entry_frame(entry)->handle);
	*to = (uintptr_t)frame | (entry & (ENTRY_ACCESSED | ENTRY_DIRTY));
	table_count_entry(child, *to, 1);
	return 0;
}

/* Copy the entries of the part. An empty part needs no table. 0 or -ENOMEM. */
static int copy_part(struct pages *child, struct pages *parent, const struct leaf_part *part,
		     bool private, bool *write_protected)
{
	uintptr_t *to = NULL;
	int err = 0;

	for (unsigned int i = 0; !err && i < part->count; i++) {
		if (!part->entry[i])
			continue;
		if (!to) {
			struct table *leaf = table_make(child, part->addr, 0);

			if (!leaf)
				return -ENOMEM;
			to = table_entry(child, leaf, part->addr, 0);
		}
		if (private && is_pinned(part->entry[i]))
			err = copy_pinned(child, part->addr + ((unsigned long)i << child->page_shift),
					  &to[i], part->entry[i]);
		else
			*write_protected |= copy_entry(child, parent, &to[i], &part->entry[i], private);
	}
	return err;
}

int pages_copy(struct pages *child, struct pages *parent, const struct vma *vma)
{
	bool private = !(vma->flags & (VMA_SHARED | VMA_MAYSHARE));
	struct leaf_part part = { .next = vma->start };
	int err = 0;

	assert(child != parent && vma->start < vma->end);
	assert(child->levels == parent->levels && child->page_shift == parent->page_shift);
	if (!pages_inherited(vma))
		return 0;
	while (!err && table_next_leaf(parent, &part, vma->end)) {
		bool write_protected = false;

		err = copy_part(child, parent, &part, private, &write_protected);
		if (write_protected)
			pages_write_protect(parent, part.addr, leaf_part_end(parent, &part));
	}
	return err;
}
