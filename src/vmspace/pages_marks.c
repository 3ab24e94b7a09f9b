/* SPDX-License-Identifier: MIT */
/*
 * pages_marks.c - which pages are present, were accessed, were written: marks of their entries; and pins,
 * by which they may be written without one.
 *
 * There is no processor that sets bits when it accesses a page, so the marks are set by faults. What
 * is to be seen again must fault again: with ENTRY_DIRTY goes the right to write, and with
 * ENTRY_ACCESSED the translation.
 */
#include <assert.h>

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

/* Where it is known who writes the frame, if it is a page of a file; NULL: nowhere. */
static struct vmspace_memfd *memfd_of(const struct vmspace_memory *memory, const struct frame *frame)
{
	return frame && frame->kind == VMSPACE_PAGE_FILE ? window_memfd(memory) : NULL;
}

static void add_writer(const struct vmspace_memory *memory, const struct frame *frame)
{
	struct vmspace_memfd *memfd = memfd_of(memory, frame);

	if (memfd)
		memfd_add_writer(memfd, frame->handle);
}

static void end_writer(const struct vmspace_memory *memory, const struct frame *frame)
{
	struct vmspace_memfd *memfd = memfd_of(memory, frame);

	if (memfd)
		memfd_end_writer(memfd, frame->handle);
}

void table_mark_written(const struct pages *pages, uintptr_t entry)
{
	if (entry & ENTRY_DIRTY)
		add_writer(pages->memory, entry_frame(entry));
}

void table_unmark_written(const struct pages *pages, uintptr_t entry)
{
	if (entry & ENTRY_DIRTY)
		end_writer(pages->memory, entry_frame(entry));
}

struct frame *pages_pin(struct pages *pages, unsigned long addr, bool write)
{
	struct table *leaf = table_find(pages, addr, 0);
	struct frame *frame;
	uintptr_t entry;

	pthread_mutex_lock(&leaf->lock);
	entry = entry_load(table_entry(pages, leaf, addr, 0));
	assert(entry_present(entry) && (!write || (entry & ENTRY_WRITABLE)));
	frame = entry_is_zero(entry) ? (struct frame *)entry_load(&pages->zero) : entry_frame(entry);
	frame_pin(frame, write);
	if (write)
		add_writer(pages->memory, frame);
	pthread_mutex_unlock(&leaf->lock);
	return frame;
}

void pages_unpin(const struct vmspace_memory *memory, struct frame *frame, bool write)
{
	if (write)
		end_writer(memory, frame);
	frame_unpin(memory, frame, write);
}

/* A few neighbouring pages. */
struct stretch {
	struct pages *pages;
	uintptr_t *entry;
	unsigned long addr;
	unsigned int count;
};

/* The pages [*first, *end) of the stretch have all that have a mark of `which`. Returns which they have. */
static unsigned int find_marks(const struct stretch *stretch, unsigned int which, unsigned int *first,
			       unsigned int *end)
{
	unsigned int found = 0;

	*first = *end = 0;
	for (unsigned int i = 0; i < stretch->count; i++) {
		unsigned int marks = marks_of(stretch->entry[i]) & which;

		if (!marks)
			continue;
		if (!found)
			*first = i;
		found |= marks;
		*end = i + 1;
	}
	return found;
}

/* Clear the marks of pages that have one of them. */
static void clear_marks(const struct stretch *stretch, unsigned int which)
{
	unsigned int shift = stretch->pages->page_shift, first, end;
	unsigned int lost = find_marks(stretch, which, &first, &end);

	if (!lost)
		return;
	/* First, so that nobody writes what the memfd takes for written by then. */
	if (lost & VMSPACE_MARK_ACCESSED)
		pages_end_translations(stretch->pages, stretch->addr + ((unsigned long)first << shift),
				       stretch->addr + ((unsigned long)end << shift));
	else
		pages_write_protect(stretch->pages, stretch->addr + ((unsigned long)first << shift),
				    stretch->addr + ((unsigned long)end << shift));
	for (unsigned int i = first; i < end; i++) {
		uintptr_t old = stretch->entry[i];
		uintptr_t entry = without(old, marks_of(old) & which);

		entry_store(&stretch->entry[i], entry);
		if ((old & ~entry) & ENTRY_DIRTY)
			table_unmark_written(stretch->pages, old);
	}
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
	if (found)
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
