/* SPDX-License-Identifier: MIT */
/* pages_world.c - frames, a file and guests for tests of the page table. */
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "pages_world.h"
#include "table.h"

#define FRAMES 32768UL
#define FIRST_FRAME 1000UL   /* handles of alloc(); of the file's pages: */
#define FIRST_FILE_FRAME 100000UL

static struct {
	pthread_mutex_t lock;
	uint64_t value[FRAMES], file[FILE_PAGES];
	bool used[FRAMES];
	unsigned long next, live, file_uses;
} world = { .lock = PTHREAD_MUTEX_INITIALIZER };

_Thread_local long world_countdown;

static bool fails(void)
{
	return world_countdown && !--world_countdown;
}

void *__real_malloc(size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_malloc(size_t size)
{
	return fails() ? NULL : __real_malloc(size);
}

void *__real_calloc(size_t n, size_t size);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_calloc(size_t n, size_t size)
{
	return fails() ? NULL : __real_calloc(n, size);
}

uint64_t world_file_value(uint64_t page)
{
	return 7000000 + page;
}

void world_begin(void)
{
	memset(world.used, 0, sizeof(world.used));
	world.next = world.live = world.file_uses = 0;
	world_countdown = 0;
	for (uint64_t i = 0; i < FILE_PAGES; i++)
		world.file[i] = world_file_value(i);
}

void world_end(void)
{
	assert_int_equal(world.live, 0);
	assert_int_equal(world.file_uses, 0);
}

static uint64_t *place(uint64_t frame)
{
	if (frame >= FIRST_FILE_FRAME) {
		assert_true(frame - FIRST_FILE_FRAME < FILE_PAGES);
		return &world.file[frame - FIRST_FILE_FRAME];
	}
	assert_true(frame - FIRST_FRAME < FRAMES);
	assert_true(__atomic_load_n(&world.used[frame - FIRST_FRAME], __ATOMIC_RELAXED));
	return &world.value[frame - FIRST_FRAME];
}

uint64_t world_value(uint64_t frame)
{
	return __atomic_load_n(place(frame), __ATOMIC_RELAXED);
}

void world_set(uint64_t frame, uint64_t value)
{
	__atomic_store_n(place(frame), value, __ATOMIC_RELAXED);
}

unsigned long world_frames(void)
{
	return world.live;
}

unsigned long world_file_uses(void)
{
	return world.file_uses;
}

static uint64_t frame_alloc(void *ctx)
{
	uint64_t frame;

	(void)ctx;
	if (fails())
		return 0;
	pthread_mutex_lock(&world.lock);
	for (unsigned long i = 0; world.used[world.next] && i < FRAMES; i++)
		world.next = (world.next + 1) % FRAMES;
	assert_false(world.used[world.next]);
	__atomic_store_n(&world.used[world.next], true, __ATOMIC_RELAXED);
	frame = FIRST_FRAME + world.next;
	world.next = (world.next + 1) % FRAMES;
	world.live++;
	pthread_mutex_unlock(&world.lock);
	world_set(frame, 0);
	return frame;
}

static void frame_free(void *ctx, uint64_t frame)
{
	(void)ctx;
	world_set(frame, 0xdeadbeef);
	pthread_mutex_lock(&world.lock);
	__atomic_store_n(&world.used[frame - FIRST_FRAME], false, __ATOMIC_RELAXED);
	world.live--;
	pthread_mutex_unlock(&world.lock);
}

static void frame_copy(void *ctx, uint64_t to, uint64_t from)
{
	(void)ctx;
	world_set(to, world_value(from));
}

static int file_page(void *ctx, const struct vma_backing *backing, uint64_t index,
		     uint64_t *frame)
{
	(void)ctx;
	assert_int_not_equal(backing->kind, VMA_BACKING_ANON);
	if (fails())
		return -ENOMEM;
	if (index >= FILE_PAGES)
		return -ENXIO;
	*frame = FIRST_FILE_FRAME + index;
	__atomic_fetch_add(&world.file_uses, 1, __ATOMIC_RELAXED);
	return 0;
}

static void file_release(void *ctx, uint64_t frame)
{
	(void)ctx;
	assert_true(frame >= FIRST_FILE_FRAME);
	assert_true(__atomic_fetch_sub(&world.file_uses, 1, __ATOMIC_RELAXED) > 0);
}

/* ---- translations ---- */

unsigned long guest_window(unsigned int window)
{
	static const unsigned long border[WINDOWS] = {
		1UL << 22, sizeof(long) == 8 ? 1UL << 30 : 1UL << 25,
#if ULONG_MAX > 0xffffffff
		1UL << 39, 1UL << 46,
#else
		1UL << 27, 1UL << 30,
#endif
	};

	return border[window] - WINDOW_PAGES / 2 * PAGE;
}

unsigned long guest_page(unsigned long addr)
{
	for (unsigned int i = 0; i < WINDOWS; i++) {
		unsigned long at = addr - guest_window(i);

		if (at < WINDOW_PAGES * PAGE)
			return i * WINDOW_PAGES + at / PAGE;
	}
	return GUEST_PAGES;
}

/* The guest's translation of addr, which lies in one of its windows. */
static struct translation *translation_of(struct guest *guest, unsigned long addr)
{
	unsigned long page = guest_page(addr);

	if (page >= GUEST_PAGES) {
		fail_msg("%#lx lies in no window of the guest", addr);
		abort(); /* fail_msg() is not declared to end the test */
	}
	return &guest->tlb[page];
}

static int map(void *ctx, unsigned long addr, uint64_t frame, unsigned int access)
{
	struct guest *guest = ctx;
	unsigned long page = guest_page(addr);
	bool fail = guest->map_fails || fails();

	assert_int_equal(addr % PAGE, 0);
	(void)world_value(frame);
	__atomic_fetch_add(&guest->maps, 1, __ATOMIC_RELAXED);
	if (page < GUEST_PAGES)
		guest->tlb[page] = (struct translation){ frame, fail ? 0 : access };
	return fail ? -ENOMEM : 0;
}

static void unmap(void *ctx, unsigned long start, unsigned long end)
{
	struct guest *guest = ctx;

	assert_true(start < end && start % PAGE == 0 && end % PAGE == 0);
	guest->unmaps++;
	for (unsigned int i = 0; i < WINDOWS; i++) {
		unsigned long base = guest_window(i), top = base + WINDOW_PAGES * PAGE;
		unsigned long from = start > base ? start : base, to = end < top ? end : top;

		for (unsigned long addr = from; addr < to; addr += PAGE)
			translation_of(guest, addr)->access = 0;
	}
}

void guest_begin(struct guest *guest)
{
	memset(guest, 0, sizeof(*guest));
	guest->memory = (struct vmspace_memory){
		.ctx = guest, .alloc = frame_alloc, .free = frame_free, .copy = frame_copy,
		.file_page = file_page, .file_release = file_release, .map = map, .unmap = unmap,
	};
	assert_int_equal(pages_create(&guest->pages, &guest->memory, PAGE, TASK_SIZE), 0);
}

void guest_end(struct guest *guest)
{
	pages_destroy(guest->pages);
	for (unsigned long i = 0; i < GUEST_PAGES; i++)
		assert_int_equal(guest->tlb[i].access, 0);
	guest->pages = NULL;
}

/* Through the translation; if it does not allow the access, after a fault, which makes it so. */
static enum vmspace_fault_result reach(struct guest *guest, const struct vma *vma,
				       unsigned long addr, unsigned int access, uint64_t *frame)
{
	const struct translation *t = translation_of(guest, addr);
	enum vmspace_fault_result result;
	struct vmspace_page page;

	if (!(t->access & access)) {
		result = pages_fault(guest->pages, vma, addr, access, &page);
		if (result)
			return result;
		assert_int_equal(page.addr, addr & ~(PAGE - 1));
		assert_int_equal(page.frame, t->frame);
		assert_int_equal(page.access, t->access);
		assert_true(t->access & access);
	}
	*frame = t->frame;
	return VMSPACE_FAULT_OK;
}

enum vmspace_fault_result guest_read(struct guest *guest, const struct vma *vma,
				     unsigned long addr, uint64_t *value)
{
	enum vmspace_fault_result result;
	uint64_t frame;

	result = reach(guest, vma, addr, VMSPACE_ACCESS_READ, &frame);
	if (!result)
		*value = world_value(frame);
	return result;
}

enum vmspace_fault_result guest_write(struct guest *guest, const struct vma *vma,
				      unsigned long addr, uint64_t value)
{
	enum vmspace_fault_result result;
	uint64_t frame;

	result = reach(guest, vma, addr, VMSPACE_ACCESS_WRITE, &frame);
	if (!result)
		world_set(frame, value);
	return result;
}

/* Each table overlaps an area. */
static void check_tables(const struct pages *pages, const struct table *table, unsigned int level,
			 unsigned long first, const struct vma *vmas, size_t count)
{
	unsigned long last = first | table_mask(pages, level + 1);
	bool needed = false;

	for (size_t i = 0; i < count && !needed; i++)
		needed = vmas[i].start <= last && vmas[i].end > first;
	assert_true(needed);
	for (size_t i = 0; level && i >> pages->bits == 0; i++)
		if (table->entry[i])
			check_tables(pages, (const struct table *)table->entry[i], level - 1,
				     first + i * (table_mask(pages, level) + 1), vmas, count);
}

static void check_page(struct guest *guest, const struct vma *vma, unsigned long addr)
{
	const struct translation *t = translation_of(guest, addr);
	struct vmspace_page page;
	struct frame *hold;

	if (!t->access)
		return;
	hold = pages_lookup(guest->pages, vma, addr, &page);
	assert_int_equal(t->frame, page.frame);
	assert_int_equal(t->access & ~page.access, 0);
	pages_release(guest->pages, hold);
}

void guest_check(struct guest *guest, const struct vma *vmas, size_t count)
{
	const char *reason = NULL;
	unsigned long inside = 0, all = 0;

	if (!pages_check(guest->pages, &reason))
		fail_msg("%s", reason);
	if (guest->pages->root)
		check_tables(guest->pages, (const struct table *)guest->pages->root,
			     guest->pages->levels - 1, 0, vmas, count);
	for (size_t i = 0; i < count; i++) {
		for (unsigned long addr = vmas[i].start; addr < vmas[i].end; addr += PAGE) {
			check_page(guest, &vmas[i], addr);
			inside += translation_of(guest, addr)->access != 0;
		}
	}
	for (unsigned long i = 0; i < GUEST_PAGES; i++)
		all += guest->tlb[i].access != 0;
	assert_int_equal(inside, all);
}

/* ---- areas ---- */

static struct backing file_backing = { .refs = 1, .is = { .kind = VMA_BACKING_FILE } };
static struct backing shmem_backing = { .refs = 1, .is = { .kind = VMA_BACKING_SHMEM } };

struct vma world_anon(unsigned long start, unsigned long pages)
{
	return (struct vma){
		.start = start, .end = start + pages * PAGE, .pgoff = start / PAGE, .anon_id = 1,
		.flags = VMA_READ | VMA_WRITE,
	};
}

struct vma world_file(unsigned long start, unsigned long pages, uint64_t pgoff, bool shared)
{
	struct vma vma = world_anon(start, pages);

	vma.pgoff = pgoff;
	vma.backing = &file_backing;
	if (shared) {
		vma.flags |= VMA_SHARED | VMA_MAYSHARE;
		vma.anon_id = 0;
	}
	return vma;
}

struct vma world_shmem(unsigned long start, unsigned long pages)
{
	struct vma vma = world_file(start, pages, 0, true);

	vma.backing = &shmem_backing;
	return vma;
}
