/* SPDX-License-Identifier: MIT */
/* pages_check.c - checks the invariants of a page table: counters, entries, frames. */
#include "pages.h"
#include "table.h"

/* Pages and tables counted anew. */
struct tally {
	const struct pages *pages;
	unsigned long kind[VMSPACE_PAGE_GUARD + 1];
	unsigned long tables[TABLE_LEVELS];
	const char *wrong; /* the first violation; NULL: none so far */
};

static void tally_page(struct tally *t, uintptr_t entry)
{
	const struct frame *frame = entry_frame(entry);
	unsigned int refs = frame ? __atomic_load_n(&frame->refs, __ATOMIC_ACQUIRE) : 0;

	if (entry == ENTRY_GUARD) {
		t->kind[VMSPACE_PAGE_GUARD]++;
	} else if (entry_is_zero(entry)) {
		t->kind[VMSPACE_PAGE_ZERO]++;
		if (!t->pages->zero)
			t->wrong = "a zero page without a frame of zeros";
	} else if (!frame || (entry & ENTRY_WRITTEN) == ENTRY_WRITABLE ||
		   (entry & (ENTRY_WRITABLE | ENTRY_CODE)) == (ENTRY_WRITABLE | ENTRY_CODE)) {
		t->wrong = "an entry of the page table is malformed";
	} else if (!refs || !frame->handle) {
		t->wrong = "a page's frame has been given back";
	} else if (frame->kind > VMSPACE_PAGE_SHMEM || frame->kind < VMSPACE_PAGE_ANON) {
		t->wrong = "a page's frame is of no kind";
	} else {
		t->kind[frame->kind]++;
		if ((entry & ENTRY_WRITABLE) && frame->kind == VMSPACE_PAGE_ANON &&
		    refs != 1 && !__atomic_load_n(&frame->was_pinned, __ATOMIC_RELAXED))
			t->wrong = "a page that is shared since a fork is writable";
	}
}

static void tally_table(struct tally *t, const struct table *table, unsigned int level)
{
	t->tables[level]++;
	for (size_t i = 0; i >> t->pages->bits == 0 && !t->wrong; i++) {
		if (!table->entry[i])
			continue;
		if (level)
			tally_table(t, (const struct table *)table->entry[i], level - 1);
		else
			tally_page(t, table->entry[i]);
	}
}

bool pages_check(const struct pages *pages, const char **reason)
{
	struct tally t = { .pages = pages };
	struct pages_count count;

	pages_count(pages, &count);
	if (pages->root)
		tally_table(&t, (const struct table *)pages->root, pages->levels - 1);
	for (unsigned int level = 0; level < pages->levels && !t.wrong; level++)
		if (t.tables[level] != pages->counts.tables[level])
			t.wrong = "the number of page tables is not what was counted";
	if (!t.wrong && (count.anon != t.kind[VMSPACE_PAGE_ANON] ||
			 count.file != t.kind[VMSPACE_PAGE_FILE] ||
			 count.shmem != t.kind[VMSPACE_PAGE_SHMEM] ||
			 count.zero != t.kind[VMSPACE_PAGE_ZERO] ||
			 count.guards != t.kind[VMSPACE_PAGE_GUARD]))
		t.wrong = "the numbers of pages are not what was counted";
	if (reason)
		*reason = t.wrong;
	return !t.wrong;
}
