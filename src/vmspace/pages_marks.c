/* SPDX-License-Identifier: MIT */
/*
 * pages_marks.c - which pages are present, were accessed, were written: marks of their entries.
 *
 * There is no processor that sets bits when it accesses a page, so the marks are set by faults. What
 * is to be seen again must fault again: with ENTRY_DIRTY goes the right to write, and with
 * ENTRY_ACCESSED the translation.
 */
#include "memfd.h"
#include "pages.h"
#include "table.h"
#include "window.h"

/* So many pages are looked at together. */
#define TOGETHER 512u

static unsigned char marks_of(uintptr_t entry)
{
	unsigned int marks = 0;

	if (!entry_present(entry))
		return 0;
	marks |= VMSPACE_MARK_PRESENT;
	if (entry & ENTRY_ACCESSED)
		marks |= VMSPACE_MARK_ACCESSED;
	if (entry_frame(entry) && (entry & ENTRY_DIRTY))
		marks |= VMSPACE_MARK_DIRTY;
	return (unsigned char)marks;
}

/* An entry of a page without the marks. Who has pinned it to write may do so at any time. */
static uintptr_t without(uintptr_t entry, unsigned int marks)
{
	if (entry_frame(entry) && frame_is_written(entry_frame(entry)))
		marks &= ~VMSPACE_MARK_DIRTY;
	if (marks & VMSPACE_MARK_ACCESSED)
		entry &= ~ENTRY_ACCESSED;
	if (marks & VMSPACE_MARK_DIRTY && entry_frame(entry))
		entry &= ~ENTRY_WRITTEN;
	return entry;
}

void table_keep_dirty(const struct pages *pages, uintptr_t entry)
{
	struct frame *frame = entry_frame(entry);
	struct vmspace_memfd *memfd;

	if (!frame || !(entry & ENTRY_DIRTY) || frame->kind != VMSPACE_PAGE_FILE)
		return;
	memfd = window_memfd(pages->memory);
	if (memfd)
		memfd_note_dirty(memfd, frame->handle);
}

/* A few neighbouring pages. */
struct stretch {
	struct pages *pages;
	uintptr_t *entry;
	unsigned long addr;
	unsigned int count;
};

/* Clear the marks of pages that have one of them. */
static void clear_marks(const struct stretch *stretch, unsigned int which)
{
	unsigned int shift = stretch->pages->page_shift, first = stretch->count, end = 0;
	unsigned int lost = 0;

	for (unsigned int i = 0; i < stretch->count; i++) {
		unsigned int marks = marks_of(stretch->entry[i]) & which;

		if (!marks)
			continue;
		if (marks & VMSPACE_MARK_DIRTY)
			table_keep_dirty(stretch->pages, stretch->entry[i]);
		entry_store(&stretch->entry[i], without(stretch->entry[i], marks));
		lost |= marks;
		if (first == stretch->count)
			first = i;
		end = i + 1;
	}
	if (lost & VMSPACE_MARK_ACCESSED)
		pages_end_translations(stretch->pages, stretch->addr + ((unsigned long)first << shift),
				       stretch->addr + ((unsigned long)end << shift));
	else if (lost)
		pages_write_protect(stretch->pages, stretch->addr + ((unsigned long)first << shift),
				    stretch->addr + ((unsigned long)end << shift));
}

static void collect(const struct stretch *stretch, unsigned int which, bool clear,
		    pages_found *found, void *ctx)
{
	unsigned char marks[TOGETHER];
	unsigned int any = 0;

	for (unsigned int i = 0; i < stretch->count; i++) {
		marks[i] = marks_of(entry_load(&stretch->entry[i]));
		if (!(marks[i] & which))
			marks[i] = 0;
		any |= marks[i];
	}
	if (!any)
		return;
	/* First, so that whoever looks at the pages when told of them misses no write. */
	if (clear)
		clear_marks(stretch, which & ~VMSPACE_MARK_PRESENT);
	found(ctx, stretch->addr, marks, stretch->count);
}

void pages_collect(struct pages *pages, unsigned long start, unsigned long end, unsigned int which,
		   bool clear, pages_found *found, void *ctx)
{
	struct leaf_part part = { .next = start };

	while (table_next_leaf(pages, &part, end))
		for (unsigned int i = 0; i < part.count; i += TOGETHER) {
			const struct stretch stretch = {
				.pages = pages, .entry = part.entry + i,
				.addr = part.addr + ((unsigned long)i << pages->page_shift),
				.count = part.count - i < TOGETHER ? part.count - i : TOGETHER,
			};

			collect(&stretch, which, clear, found, ctx);
		}
}
