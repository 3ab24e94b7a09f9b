/* SPDX-License-Identifier: MIT */
/*
 * Whether an area has anonymous pages, where the kernel has no PAGEMAP_SCAN (before Linux 6.7).
 *
 * /proc/PID/pagemap shows the zero page like an anonymous page that several processes share; then
 * smaps tells which it is, but only of the whole area. It also does for ranges too large to be read
 * page by page; there the huge zero page is only looked for in the first 16 GiB.
 */
#include "mirror/kernel.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Documentation/admin-guide/mm/pagemap.rst */
#define PRESENT (UINT64_C(1) << 63)
#define SWAPPED (UINT64_C(1) << 62)
#define OF_FILE (UINT64_C(1) << 61)
#define MAPPED_ONCE (UINT64_C(1) << 56)

#define READ_MOST (64UL << 20)     /* larger ranges are not read page by page */
#define HUGE_PAGE (2UL << 20)
#define HUGE_ZERO_MOST (16UL << 30)

/* Reads the entries of pages from @addr on. Returns how many. */
static size_t read_entries(const struct kernel_view *view, unsigned long addr, uint64_t *entries,
			   size_t count)
{
	off_t at = (off_t)(addr / (unsigned long)sysconf(_SC_PAGESIZE) * sizeof(*entries));
	ssize_t got = pread(view->pagemap_fd, entries, count * sizeof(*entries), at);

	return got > 0 ? (size_t)got / sizeof(*entries) : 0;
}

/* Has one of the areas in [start, end) an anonymous page, there or elsewhere? */
static bool areas_have_anon(const struct kernel_view *view, unsigned long start, unsigned long end)
{
	char *text = NULL;
	size_t capacity = 0;
	struct vmspace_entry entry;
	bool has = false;
	const char *at;

	if (view->smaps_fd < 0 || kernel_read_all(view->smaps_fd, &text, &capacity) < 0) {
		free(text);
		return false;
	}
	for (at = text; !has && (at = vmspace_parse_entry(at, &entry)); )
		has = entry.has_anon && entry.line.start < end && entry.line.end > start;
	free(text);
	return has;
}

/* Is it anonymous memory? Then a page that seems to be of a file is the huge zero page. */
static bool is_anon_memory(struct kernel_view *view, unsigned long addr)
{
	struct vmspace_line line;

	return kernel_line_at(view, addr, &line) && !line.inode &&
	       !(line.name_length > 1 && !strncmp(line.name, "[v", 2));
}

static bool is_huge_zero(struct kernel_view *view, unsigned long addr, uint64_t entry)
{
	return (entry & (PRESENT | OF_FILE)) == (PRESENT | OF_FILE) && !(addr & (HUGE_PAGE - 1)) &&
	       is_anon_memory(view, addr);
}

static bool has_huge_zero(struct kernel_view *view, unsigned long start, unsigned long end)
{
	uint64_t entry;

	if (!is_anon_memory(view, start))
		return false;
	if (end - start > HUGE_ZERO_MOST)
		end = start + HUGE_ZERO_MOST;
	for (start = (start + HUGE_PAGE - 1) & -HUGE_PAGE; start < end; start += HUGE_PAGE)
		if (read_entries(view, start, &entry, 1) == 1 && is_huge_zero(view, start, entry))
			return true;
	return false;
}

bool anon_by_reading(struct kernel_view *view, unsigned long start, unsigned long end)
{
	const unsigned long page = (unsigned long)sysconf(_SC_PAGESIZE);
	bool shared_or_zero = false;
	uint64_t entries[512];
	size_t got;

	if (end - start > READ_MOST)
		return areas_have_anon(view, start, end) || has_huge_zero(view, start, end);
	for (unsigned long at = start; at < end; at += got * page) {
		size_t want = (end - at) / page;

		got = read_entries(view, at, entries, want < 512 ? want : 512);
		if (!got)
			break;
		for (size_t i = 0; i < got; i++) {
			uint64_t entry = entries[i];

			if (entry & SWAPPED || (entry & (PRESENT | OF_FILE | MAPPED_ONCE)) ==
						       (PRESENT | MAPPED_ONCE) ||
			    is_huge_zero(view, at + i * page, entry))
				return true;
			shared_or_zero |= (entry & (PRESENT | OF_FILE)) == PRESENT;
		}
	}
	return shared_or_zero && areas_have_anon(view, start, end);
}
