/* SPDX-License-Identifier: MIT */
/*
 * vmspace_pages_random.c - random operations on the page tables of related spaces against flat
 * arrays: what a guest reads through its translations, what is counted, which tables there are.
 * Some allocations fail.
 *
 *	vmspace_pages_random [--seed N] [--ops N]
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "options.h"
#include "pages_world.h"

#define SPACES 3
#define AREAS 12

/* What a page of a space ought to be. */
struct expected {
	enum vmspace_page_kind kind; /* present; or NONE, GUARD */
	bool own;                    /* its content is value, and not the file's or zero */
	uint64_t value;
	unsigned char marks;         /* VMSPACE_MARK_ACCESSED, _DIRTY */
	bool watched;                /* as code */
};

struct space {
	bool alive;
	struct guest guest;
	struct vma area[AREAS];      /* area[0 .. areas - 1], in no order */
	unsigned int areas;
	struct expected page[GUEST_PAGES];
	bool untold[GUEST_PAGES];    /* watched, and not told of a change */
};

static struct space space[SPACES];
static uint64_t file[FILE_PAGES];
static unsigned long long draws;
static unsigned long refused, watches, done[16];

static unsigned long below(unsigned long n)
{
	draws = draws * 6364136223846793005ULL + 1442695040888963407ULL;
	return (unsigned long)(draws >> 33) % n;
}

static struct expected *expected(struct space *s, unsigned long addr)
{
	unsigned long page = guest_page(addr);

	if (page >= GUEST_PAGES) {
		fail_msg("%#lx lies in no window of the guest", addr);
		abort(); /* fail_msg() is not declared to end the test */
	}
	return &s->page[page];
}

static bool is_shared(const struct vma *vma)
{
	return vma->flags & VMA_MAYSHARE;
}

static uint64_t *file_of(const struct vma *vma, unsigned long addr)
{
	return &file[vma->pgoff + (addr - vma->start) / PAGE];
}

static uint64_t content(struct space *s, const struct vma *vma, unsigned long addr)
{
	const struct expected *page = expected(s, addr);

	if (page->own)
		return page->value;
	return vma->backing ? *file_of(vma, addr) : 0;
}

static enum vmspace_page_kind backed_kind(const struct vma *vma)
{
	return vma->backing->is.kind == VMA_BACKING_SHMEM ? VMSPACE_PAGE_SHMEM
							 : VMSPACE_PAGE_FILE;
}

/* The nearest areas around [start, end): how far tables may go. */
static void neighbours(const struct space *s, unsigned long start, unsigned long end,
		       unsigned long *floor, unsigned long *ceiling)
{
	*floor = *ceiling = 0;
	for (unsigned int i = 0; i < s->areas; i++) {
		const struct vma *vma = &s->area[i];

		if (vma->end <= start && vma->end > *floor)
			*floor = vma->end;
		if (vma->start >= end && (!*ceiling || vma->start < *ceiling))
			*ceiling = vma->start;
	}
}

static void unmap_pages(struct space *s, unsigned long start, unsigned long end)
{
	unsigned long floor, ceiling;

	neighbours(s, start, end, &floor, &ceiling);
	pages_unmap(s->guest.pages, start, end, floor, ceiling);
}

/* The hook. By then no guest may write there. */
static void note_changed(void *ctx, unsigned long start, unsigned long end)
{
	struct space *s = ctx;

	assert_true(start < end);
	for (unsigned long addr = start; addr < end; addr += PAGE) {
		assert_true(s->untold[guest_page(addr)]);
		assert_false(s->guest.tlb[guest_page(addr)].access & VMSPACE_ACCESS_WRITE);
		s->untold[guest_page(addr)] = false;
	}
}

static void forget(struct space *s, unsigned long start, unsigned long end, bool guards)
{
	for (unsigned long addr = start; addr < end; addr += PAGE)
		if (guards || expected(s, addr)->kind != VMSPACE_PAGE_GUARD)
			*expected(s, addr) = (struct expected){ 0 };
}

/* A free place of so many pages, or 0. */
static unsigned long free_place(const struct space *s, unsigned long pages)
{
	unsigned long start, end;

	start = guest_window((unsigned int)below(WINDOWS)) +
		below(WINDOW_PAGES - pages + 1) * PAGE;
	if (below(2))
		start &= ~(512 * PAGE - 1); /* whole tables fit */
	end = start + pages * PAGE;
	if (guest_page(start) == GUEST_PAGES || guest_page(end - PAGE) == GUEST_PAGES)
		return 0;
	for (unsigned int i = 0; i < s->areas; i++)
		if (s->area[i].start < end && s->area[i].end > start)
			return 0;
	return start;
}

static unsigned long some_length(void)
{
	return 1 + below(below(3) ? 40 : 1100);
}

/* Cut areas so that [start, end) of one is an area of its own; NULL: no room for more. */
static struct vma *cut(struct space *s, unsigned int which, unsigned long start,
		       unsigned long end)
{
	struct vma *vma = &s->area[which];

	if (s->areas + (start > vma->start) + (end < vma->end) > AREAS)
		return NULL;
	if (start > vma->start) {
		struct vma *low = &s->area[s->areas++];

		*low = *vma;
		low->end = start;
		vma->pgoff += (start - vma->start) / PAGE;
		vma->start = start;
	}
	if (end < vma->end) {
		struct vma *high = &s->area[s->areas++];

		*high = *vma;
		high->pgoff += (end - vma->start) / PAGE;
		high->start = end;
		vma->end = end;
	}
	return vma;
}

/* A part of a random area, cut out or not. NULL: none. */
static struct vma *some_part(struct space *s, unsigned long *start, unsigned long *end, bool cuts)
{
	unsigned int which;
	unsigned long pages;

	if (!s->areas)
		return NULL;
	which = (unsigned int)below(s->areas);
	*start = s->area[which].start;
	*end = s->area[which].end;
	pages = (*end - *start) / PAGE;
	if (below(2)) {
		*start += below(pages) * PAGE;
		*end = *start + (1 + below((*end - *start) / PAGE)) * PAGE;
	}
	return cuts ? cut(s, which, *start, *end) : &s->area[which];
}

/* ---- operations ---- */

static void op_map(struct space *s)
{
	unsigned long pages = some_length(), start = free_place(s, pages);
	struct vma *vma = &s->area[s->areas];

	if (!start || s->areas == AREAS)
		return;
	switch (below(4)) {
	case 0:
		*vma = world_file(start, pages, below(FILE_PAGES - pages), false);
		break;
	case 1:
		*vma = world_file(start, pages, below(FILE_PAGES - pages), true);
		break;
	case 2:
		*vma = world_shmem(start, pages);
		break;
	default:
		*vma = world_anon(start, pages);
	}
	if (below(2))
		vma->flags |= VMA_EXEC;
	s->areas++;
}

static void op_unmap(struct space *s)
{
	unsigned long start, end;
	struct vma *vma = some_part(s, &start, &end, true);

	if (!vma)
		return;
	*vma = s->area[--s->areas];
	unmap_pages(s, start, end);
	forget(s, start, end, true);
}

static void op_zap(struct space *s)
{
	unsigned long start, end;

	if (!some_part(s, &start, &end, false))
		return;
	pages_zap(s->guest.pages, start, end);
	if (below(2))
		pages_reclaim(s->guest.pages, start, end);
	forget(s, start, end, false);
}

static void op_protect(struct space *s)
{
	unsigned long start, end;
	struct vma *vma = some_part(s, &start, &end, true);
	vma_flags_t to;

	if (!vma)
		return;
	to = (vma->flags & ~VMA_ACCESS_FLAGS) | below(8);
	pages_protect(s->guest.pages, start, end, vma->flags, to);
	for (unsigned long addr = start; vma->flags & ~to & VMA_EXEC && addr < end; addr += PAGE)
		expected(s, addr)->watched = false;
	vma->flags = to;
}

static void op_guard(struct space *s)
{
	unsigned long start, end;
	struct vma *vma = some_part(s, &start, &end, false);
	struct vmspace_page page;
	int err;

	if (!vma)
		return;
	vma->flags |= VMA_MAYBE_GUARD;
	err = pages_guard(s->guest.pages, start, end);
	refused += err != 0;
	forget(s, start, end, false);
	for (unsigned long addr = start; addr < end; addr += PAGE) {
		pages_release(s->guest.pages, pages_lookup(s->guest.pages, vma, addr, &page));
		if (page.kind == VMSPACE_PAGE_GUARD)
			*expected(s, addr) = (struct expected){ .kind = VMSPACE_PAGE_GUARD };
		else
			assert_true(err && page.kind == VMSPACE_PAGE_NONE);
	}
}

static void op_unguard(struct space *s)
{
	unsigned long start, end;

	if (!some_part(s, &start, &end, false))
		return;
	pages_unguard(s->guest.pages, start, end);
	for (unsigned long addr = start; addr < end; addr += PAGE)
		if (expected(s, addr)->kind == VMSPACE_PAGE_GUARD)
			expected(s, addr)->kind = VMSPACE_PAGE_NONE;
}

static void op_move(struct space *s)
{
	unsigned long start, end, to, length;
	struct vma *vma = some_part(s, &start, &end, true), moved;

	if (!vma)
		return;
	length = end - start;
	to = free_place(s, length / PAGE);
	if (!to)
		return;
	if (pages_reserve_move(s->guest.pages, start, to, length) || !below(8)) {
		refused++;
		pages_end_reserve(s->guest.pages);
		return;
	}
	pages_move(s->guest.pages, start, to, length);
	pages_end_reserve(s->guest.pages);
	moved = *vma;
	moved.start = to;
	moved.end = to + length;
	if (!below(4) && s->areas < AREAS) { /* MREMAP_DONTUNMAP */
		s->area[s->areas++] = moved;
	} else {
		*vma = moved;
		unmap_pages(s, start, end);
	}
	for (unsigned long at = 0; at < length; at += PAGE) {
		*expected(s, to + at) = *expected(s, start + at);
		expected(s, to + at)->watched = false;
		*expected(s, start + at) = (struct expected){ 0 };
	}
}

static void op_access(struct space *s)
{
	unsigned long start, end, addr;
	const struct vma *vma = some_part(s, &start, &end, false);
	bool write = below(2);
	enum vmspace_fault_result result;
	struct expected *page;
	uint64_t value = 0;

	if (!vma)
		return;
	addr = start + below((end - start) / PAGE) * PAGE;
	page = expected(s, addr);
	if (write)
		result = guest_write(&s->guest, vma, addr, value = below(1000000));
	else
		result = guest_read(&s->guest, vma, addr, &value);
	if (!(vma->flags & (write ? VMA_WRITE : VMA_ACCESS_FLAGS))) {
		assert_int_equal(result, VMSPACE_FAULT_ACCERR);
		return;
	}
	if (result == VMSPACE_FAULT_NOMEM) {
		struct vmspace_page is;

		/* Nothing has changed; or only the translation is missing. */
		refused++;
		page->watched = s->untold[guest_page(addr)];
		pages_release(s->guest.pages, pages_lookup(s->guest.pages, vma, addr, &is));
		if (is.kind == page->kind)
			return;
		value = content(s, vma, addr);
	} else if (page->kind == VMSPACE_PAGE_GUARD) {
		assert_int_equal(result, VMSPACE_FAULT_MAPERR);
		return;
	} else {
		assert_int_equal(result, VMSPACE_FAULT_OK);
	}
	if (!write) {
		assert_int_equal(value, content(s, vma, addr));
		if (page->kind == VMSPACE_PAGE_NONE)
			page->kind = vma->backing ? backed_kind(vma) : VMSPACE_PAGE_ZERO;
	} else if (is_shared(vma)) {
		*file_of(vma, addr) = value;
		page->kind = backed_kind(vma);
	} else {
		*page = (struct expected){ VMSPACE_PAGE_ANON, true, value, page->marks, false };
	}
	if (write)
		page->watched = false;
	page->marks |= write ? VMSPACE_MARK_ACCESSED | VMSPACE_MARK_DIRTY : VMSPACE_MARK_ACCESSED;
}

static void many_accesses(struct space *s)
{
	for (int i = 0; i < 60; i++)
		op_access(s);
}

static unsigned char marks_of(const struct expected *page)
{
	if (page->kind == VMSPACE_PAGE_NONE || page->kind == VMSPACE_PAGE_GUARD)
		return 0;
	return VMSPACE_MARK_PRESENT | page->marks;
}

/* What pages_collect() found, by guest_page(). */
static unsigned char found[GUEST_PAGES];

static void note_found(void *ctx, unsigned long addr, const unsigned char *marks, unsigned int count)
{
	(void)ctx;
	for (unsigned int i = 0; i < count; i++)
		found[guest_page(addr) + i] = marks[i];
}

static void check_marks(struct space *s, unsigned long start, unsigned long end, unsigned int which,
			bool clear)
{
	memset(found, 0, sizeof(found));
	pages_collect(s->guest.pages, start, end, which, clear, note_found, NULL);
	for (unsigned long addr = start; addr < end; addr += PAGE) {
		struct expected *page = expected(s, addr);
		unsigned char marks = marks_of(page);

		assert_int_equal(found[guest_page(addr)], marks & which ? marks : 0);
		if (clear)
			page->marks &= (unsigned char)~which;
	}
}

static void op_collect(struct space *s)
{
	unsigned long start, end;

	if (some_part(s, &start, &end, false))
		check_marks(s, start, end, 1 + (unsigned int)below(7), below(3));
}

static void op_watch(struct space *s)
{
	unsigned long start, end, generation;
	const struct vma *vma = some_part(s, &start, &end, false);
	struct vmspace_page now;

	if (!vma || !(vma->flags & VMA_EXEC))
		return;
	generation = pages_code_generation(s->guest.pages);
	for (unsigned long addr = start; addr < end; addr += PAGE) {
		/* Most that are there, few that are not. */
		if (marks_of(expected(s, addr)) ? !below(4) : below(50) != 0)
			continue;
		assert_int_equal(pages_watch_code(s->guest.pages, vma, addr, &now),
				 marks_of(expected(s, addr)) ? VMSPACE_FAULT_OK
							     : VMSPACE_FAULT_MAPERR);
		watches += marks_of(expected(s, addr)) != 0;
		if (marks_of(expected(s, addr)))
			s->untold[guest_page(addr)] = expected(s, addr)->watched = true;
	}
	assert_int_equal(pages_code_generation(s->guest.pages), generation);
}

static void check_watched(struct space *s)
{
	for (unsigned long i = 0; i < GUEST_PAGES; i++) {
		assert_int_equal(s->untold[i], s->page[i].watched);
		if (s->untold[i])
			assert_false(s->guest.tlb[i].access & VMSPACE_ACCESS_WRITE);
	}
}

static bool inherits(const struct vma *vma)
{
	return vma->anon_id || (vma->flags & VMA_MAYBE_GUARD);
}

static void op_fork(struct space *parent)
{
	struct space *child = NULL;
	long countdown = world_countdown;

	for (unsigned int i = 0; i < SPACES; i++)
		if (!space[i].alive)
			child = &space[i];
	if (!child)
		return;
	world_countdown = 0;
	guest_begin(&child->guest);
	world_countdown = countdown;
	child->areas = parent->areas;
	memcpy(child->area, parent->area, sizeof(child->area));
	memset(child->page, 0, sizeof(child->page));
	memset(child->untold, 0, sizeof(child->untold));
	pages_set_code_hook(child->guest.pages, note_changed, child);
	for (unsigned int i = 0; i < child->areas; i++) {
		const struct vma *vma = &child->area[i];

		if (pages_copy(child->guest.pages, parent->guest.pages, vma)) {
			refused++;
			guest_end(&child->guest);
			return;
		}
		for (unsigned long addr = vma->start; inherits(vma) && addr < vma->end;
		     addr += PAGE) {
			*expected(child, addr) = *expected(parent, addr);
			expected(child, addr)->watched = false;
		}
	}
	child->alive = true;
}

static void op_exit(struct space *s)
{
	unsigned int alive = 0;

	for (unsigned int i = 0; i < SPACES; i++)
		alive += space[i].alive;
	if (alive == 1)
		return;
	guest_end(&s->guest);
	s->areas = 0;
	s->alive = false;
}

/* ---- comparing ---- */

static void check_counts(struct space *s)
{
	unsigned long kinds[VMSPACE_PAGE_GUARD + 1] = { 0 };
	struct pages_count count;

	for (unsigned long i = 0; i < GUEST_PAGES; i++)
		kinds[s->page[i].kind]++;
	pages_count(s->guest.pages, &count);
	assert_int_equal(count.anon, kinds[VMSPACE_PAGE_ANON]);
	assert_int_equal(count.file, kinds[VMSPACE_PAGE_FILE]);
	assert_int_equal(count.shmem, kinds[VMSPACE_PAGE_SHMEM]);
	assert_int_equal(count.zero, kinds[VMSPACE_PAGE_ZERO]);
	assert_int_equal(count.guards, kinds[VMSPACE_PAGE_GUARD]);
}

/* Every page that is present holds what it should. */
static void check_content(struct space *s)
{
	for (unsigned int i = 0; i < s->areas; i++) {
		const struct vma *vma = &s->area[i];

		check_marks(s, vma->start, vma->end, VMSPACE_MARK_PRESENT, false);
		for (unsigned long addr = vma->start; addr < vma->end; addr += PAGE) {
			struct vmspace_page page;
			struct frame *hold = pages_lookup(s->guest.pages, vma, addr, &page);

			assert_int_equal(page.kind, expected(s, addr)->kind);
			if (page.frame)
				assert_int_equal(world_value(page.frame), content(s, vma, addr));
			pages_release(s->guest.pages, hold);
		}
	}
}

static void check_all(void)
{
	for (unsigned int i = 0; i < SPACES; i++) {
		if (!space[i].alive)
			continue;
		guest_check(&space[i].guest, space[i].area, space[i].areas);
		check_counts(&space[i]);
		check_watched(&space[i]);
		check_content(&space[i]);
	}
}

static const struct {
	const char *name;
	void (*call)(struct space *s);
	unsigned int weight;
} ops[] = {
	{ "access", many_accesses, 60 }, { "map", op_map, 20 },     { "unmap", op_unmap, 12 },
	{ "zap", op_zap, 3 },            { "protect", op_protect, 10 }, { "guard", op_guard, 3 },
	{ "unguard", op_unguard, 3 },    { "move", op_move, 12 },   { "fork", op_fork, 4 },
	{ "exit", op_exit, 3 },          { "collect", op_collect, 8 },
	{ "watch", op_watch, 20 },
};
#define OPS (sizeof(ops) / sizeof(ops[0]))

static void one_operation(void)
{
	struct space *s = &space[below(SPACES)];
	unsigned int weights = 0, pick;
	size_t op = 0;

	if (!s->alive)
		return;
	for (size_t i = 0; i < OPS; i++)
		weights += ops[i].weight;
	pick = (unsigned int)below(weights);
	while (pick >= ops[op].weight)
		pick -= ops[op++].weight;
	world_countdown = below(4) ? 0 : 1 + (long)below(12);
	ops[op].call(s);
	world_countdown = 0;
	done[op]++;
}

static unsigned long operations = 20000;
static unsigned long long seed;

static void random_operations(void **state)
{
	(void)state;
	draws = seed;
	world_begin();
	for (uint64_t i = 0; i < FILE_PAGES; i++)
		file[i] = world_file_value(i);
	guest_begin(&space[0].guest);
	pages_set_code_hook(space[0].guest.pages, note_changed, &space[0]);
	space[0].alive = true;
	for (unsigned long i = 0; i < operations; i++) {
		one_operation();
		if (i % 16 == 0)
			check_all();
	}
	check_all();
	for (unsigned int i = 0; i < SPACES; i++)
		if (space[i].alive)
			guest_end(&space[i].guest);
	world_end();
	printf("# seed %llu:", seed);
	for (size_t i = 0; i < OPS; i++)
		printf(" %s %lu", ops[i].name, done[i]);
	printf("; %lu refused, %lu pages watched\n", refused, watches);
	assert_true(refused || operations < 1000);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(random_operations) };

	if (!take_options(argc, argv, &seed, &operations))
		return 2;
	printf("# vmspace_pages_random --seed %llu --ops %lu\n", seed, operations);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
