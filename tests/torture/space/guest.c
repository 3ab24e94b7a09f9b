/* SPDX-License-Identifier: MIT */
/* guest.c - frames, translations, loads and stores. */
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>

#include "guest.h"

#define FRAMES 100000
#define FREE_VALUE 0xdeadbeefdeadbeefu

unsigned int frames_fail_one_of;
bool guests_translate = true;

/* Numbers are atomic; `live` too, changed under the lock. Frame n is frames[n - 1]. */
static struct {
	uint64_t value;
	unsigned int live;
} frames[FRAMES];

/* What the lock covers. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static uint32_t free_frames[FRAMES];
static unsigned long free_count, used_ever, in_use;
static uint64_t draws = 1;

unsigned long frames_in_use(void)
{
	unsigned long count;

	pthread_mutex_lock(&lock);
	count = in_use;
	pthread_mutex_unlock(&lock);
	return count;
}

static uint64_t frame_alloc(void *ctx)
{
	uint64_t frame = 0;

	(void)ctx;
	pthread_mutex_lock(&lock);
	draws = draws * 6364136223846793005u + 1442695040888963407u;
	if (!frames_fail_one_of || (draws >> 33) % frames_fail_one_of) {
		if (free_count)
			frame = free_frames[--free_count];
		else if (used_ever < FRAMES)
			frame = ++used_ever;
	}
	in_use += frame != 0;
	pthread_mutex_unlock(&lock);
	if (!frame)
		return 0;
	expect(!__atomic_exchange_n(&frames[frame - 1].live, 1, __ATOMIC_ACQ_REL),
	       "a free frame is in use");
	__atomic_store_n(&frames[frame - 1].value, 0, __ATOMIC_RELAXED);
	return frame;
}

static void frame_free(void *ctx, uint64_t frame)
{
	(void)ctx;
	__atomic_store_n(&frames[frame - 1].value, FREE_VALUE, __ATOMIC_RELAXED);
	expect(__atomic_exchange_n(&frames[frame - 1].live, 0, __ATOMIC_ACQ_REL),
	       "a frame is freed twice");
	pthread_mutex_lock(&lock);
	free_frames[free_count++] = (uint32_t)frame;
	in_use--;
	pthread_mutex_unlock(&lock);
}

static uint64_t frame_load(uint64_t frame)
{
	uint64_t value;

	expect(frame && frame <= FRAMES, "there is no frame %llu", (unsigned long long)frame);
	value = __atomic_load_n(&frames[frame - 1].value, __ATOMIC_RELAXED);
	expect(__atomic_load_n(&frames[frame - 1].live, __ATOMIC_ACQUIRE) && value != FREE_VALUE,
	       "a frame is read that was freed");
	return value;
}

static void frame_store(uint64_t frame, uint64_t value)
{
	expect(frame && frame <= FRAMES &&
		       __atomic_load_n(&frames[frame - 1].live, __ATOMIC_ACQUIRE),
	       "a frame is written that was freed");
	__atomic_store_n(&frames[frame - 1].value, value, __ATOMIC_RELAXED);
}

static void frame_copy(void *ctx, uint64_t to, uint64_t from)
{
	(void)ctx;
	frame_store(to, frame_load(from));
}

static unsigned long page_number(unsigned long addr)
{
	return addr < BASE ? GUEST_PAGES : (addr - BASE) / PAGE;
}

static struct translation *hold(struct guest *guest, unsigned long n)
{
	struct translation *t = &guest->tlb[n];

	while (__atomic_exchange_n(&t->busy, 1, __ATOMIC_ACQUIRE))
		sched_yield();
	return t;
}

static void release(struct translation *t)
{
	__atomic_store_n(&t->busy, 0, __ATOMIC_RELEASE);
}

static int map(void *ctx, unsigned long addr, uint64_t frame, unsigned int access)
{
	struct translation *t;

	if (page_number(addr) >= GUEST_PAGES)
		return 0;
	t = hold(ctx, page_number(addr));
	t->frame = frame;
	t->access = access;
	release(t);
	return 0;
}

static void unmap(void *ctx, unsigned long start, unsigned long end)
{
	unsigned long n = start < BASE ? 0 : page_number(start);

	for (; n < GUEST_PAGES && BASE + n * PAGE < end; n++) {
		struct translation *t = hold(ctx, n);

		t->access = 0;
		release(t);
	}
}

struct guest *guest_for_child(void)
{
	struct guest *guest = calloc(1, sizeof(*guest));

	if (!guest)
		abort();
	guest->memory = (struct vmspace_memory){
		.ctx = guest, .alloc = frame_alloc, .free = frame_free, .copy = frame_copy,
	};
	if (guests_translate) {
		guest->memory.map = map;
		guest->memory.unmap = unmap;
	}
	return guest;
}

struct guest *guest_new(void)
{
	struct guest *guest = guest_for_child();
	struct vmspace_config config;

	vmspace_config_init(&config);
	config.page_size = PAGE;
	config.mmap_base = 0x7f0000000000;
	config.anon_names = true;
	config.overcommit = 1;
	config.stack_guard_gap = 1;
	config.max_map_count = 1000000;
	config.rlimit_as = config.rlimit_data = config.rlimit_stack = VMSPACE_NO_LIMIT;
	config.memory = &guest->memory;
	expect(!vmspace_create(&guest->space, &config), "no space");
	return guest;
}

void guest_end(struct guest *guest)
{
	struct vmspace_stats stats;
	const char *why = "";

	if (guest->space) {
		vmspace_exit(guest->space);
		expect(vmspace_check(guest->space, &why), "after exit: %s", why);
		vmspace_stats(guest->space, &stats);
		expect(!stats.areas && !stats.total_vm && !stats.locked_vm && !stats.committed_vm,
		       "counters are left after exit");
		vmspace_destroy(guest->space);
	}
	for (unsigned long n = 0; n < GUEST_PAGES; n++)
		expect(!guest->tlb[n].access, "page %lu is translated after exit", n);
	free(guest);
}

static void use_load(void *ctx, const struct vmspace_page *page)
{
	expect(page->access & VMSPACE_ACCESS_READ, "a page that was read is not readable");
	*(uint64_t *)ctx = frame_load(page->frame);
}

static void use_store(void *ctx, const struct vmspace_page *page)
{
	expect(page->access & VMSPACE_ACCESS_WRITE, "a page that was written is not writable");
	frame_store(page->frame, *(uint64_t *)ctx);
}

enum vmspace_fault_result guest_load(struct guest *guest, unsigned long n, uint64_t *value)
{
	struct translation *t = hold(guest, n);
	bool here = t->access & VMSPACE_ACCESS_READ;

	if (here)
		*value = frame_load(t->frame);
	release(t);
	if (here)
		return VMSPACE_FAULT_OK;
	return vmspace_access(guest->space, BASE + n * PAGE + n % PAGE, VMSPACE_ACCESS_READ,
			      use_load, value);
}

enum vmspace_fault_result guest_store(struct guest *guest, unsigned long n, uint64_t value)
{
	struct translation *t = hold(guest, n);
	bool here = t->access & VMSPACE_ACCESS_WRITE;

	if (here)
		frame_store(t->frame, value);
	release(t);
	if (here)
		return VMSPACE_FAULT_OK;
	return vmspace_access(guest->space, BASE + n * PAGE, VMSPACE_ACCESS_WRITE, use_store,
			      &value);
}

void guest_forget(struct guest *guest, unsigned long n)
{
	struct translation *t = hold(guest, n);

	t->access = 0;
	release(t);
}

unsigned int guest_access(struct guest *guest, unsigned long n)
{
	struct translation *t = hold(guest, n);
	unsigned int access = t->access;

	release(t);
	return access;
}
