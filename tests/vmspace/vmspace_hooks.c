/* SPDX-License-Identifier: MIT */
/*
 * vmspace_hooks.c - what the user's hooks are told: every event in order, also those that a
 * request's outcome has no room for; each page fault that was resolved; under which locks; and when
 * not.
 */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include <mapletree/vmspace_rules.h>
#include <sys/mman.h>
#include <urcu/urcu-bp.h>

#include "numbered_frames.h"
#include "space.h"
#include "sync.h"

#define PAGE 4096UL
#define AT 0x100000000UL
#define HEARD_MAX 512
#define PRIVATE (MAP_PRIVATE | MAP_ANONYMOUS)

static struct vmspace *space;

/* ---- what was heard ---- */

/* The ctx of the hooks. */
struct listener {
	pthread_t thread;
	unsigned int events, faults;
	struct vmspace_event event[HEARD_MAX];
	struct vmspace_page fault[HEARD_MAX];
};

static struct listener heard;

/* Every event comes in the thread of the request, with the space's lock held. */
static void hear_event(void *ctx, const struct vmspace_event *event)
{
	struct listener *to = ctx;

	assert_true(pthread_equal(to->thread, pthread_self()));
	if (to == &heard && space->sync)
		assert_true(space->sync->lock.word);
	assert_in_range(to->events, 0, HEARD_MAX - 1);
	to->event[to->events++] = *event;
}

/* Every fault in its thread, with the area locked, or all of them by the space's lock. */
static void hear_fault(void *ctx, const struct vmspace_page *page)
{
	struct listener *to = ctx;
	struct vma *vma;

	assert_true(pthread_equal(to->thread, pthread_self()));
	urcu_bp_read_lock();
	vma = mtree_load(&space->tree, page->addr);
	assert_true(space->sync->lock.word || (vma && sync_shared(space, vma)));
	urcu_bp_read_unlock();
	assert_in_range(to->faults, 0, HEARD_MAX - 1);
	to->fault[to->faults++] = *page;
}

static const struct vmspace_hooks hooks = { &heard, hear_event, hear_fault };

/* ---- a space of private memory ---- */

static const struct vmspace_memory memory = {
	.alloc = frame_alloc, .free = frame_free, .copy = frame_copy,
};

static int create(const struct vmspace_memory *of)
{
	struct vmspace_config config;

	memset(&heard, 0, sizeof(heard));
	heard.thread = pthread_self();
	vmspace_config_init(&config);
	assert_int_equal(vmspace_config_kernel(&config, "6.18"), 0);
	config.page_size = PAGE;
	config.mmap_base = 0x7f0000000000;
	config.overcommit = 1;
	config.thp = VMSPACE_THP_NEVER;
	config.rlimit_stack = VMSPACE_NO_LIMIT;
	config.memory = of;
	config.hooks = &hooks;
	return vmspace_create(&space, &config);
}

static int begin(void **state)
{
	(void)state;
	return create(NULL);
}

static int begin_with_memory(void **state)
{
	(void)state;
	return create(&memory);
}

static int end(void **state)
{
	(void)state;
	vmspace_destroy(space);
	return 0;
}

/* The hooks of a live space. */
static void set_hooks(const struct vmspace_hooks *to)
{
	struct vmspace_config config = *vmspace_config(space);

	config.hooks = to;
	assert_int_equal(vmspace_configure(space, &config), 0);
}

static void same_event(const struct vmspace_event *a, const struct vmspace_event *b)
{
	assert_int_equal(a->kind, b->kind);
	assert_int_equal(a->verdict, b->verdict);
	assert_int_equal(a->start, b->start);
	assert_int_equal(a->end, b->end);
	assert_int_equal(a->at, b->at);
	assert_int_equal(a->flags_differ, b->flags_differ);
}

/* A request that succeeds; what was heard of it is what its outcome says, in that order. */
static void call(struct vmspace_request *req)
{
	unsigned int before = heard.events;
	long result = vmspace_call(space, req);

	assert_true(result >= 0 || result < -4095);
	assert_int_equal(heard.events - before, req->out.event_count + req->out.events_lost);
	for (unsigned int i = 0; i < req->out.event_count; i++)
		same_event(&heard.event[before + i], &req->out.events[i]);
}

static void map(unsigned long page, unsigned long pages, int prot, int flags)
{
	struct vmspace_request req = { .op = VMSPACE_MMAP };

	req.mmap = (struct vmspace_mmap){ .addr = AT + page * PAGE, .length = pages * PAGE,
					  .prot = prot, .flags = flags | MAP_FIXED };
	call(&req);
}

static void unmap(unsigned long page, unsigned long pages)
{
	struct vmspace_request req = { .op = VMSPACE_MUNMAP };

	req.munmap = (struct vmspace_munmap){ AT + page * PAGE, pages * PAGE };
	call(&req);
}

static void protect(unsigned long page, unsigned long pages, int prot)
{
	struct vmspace_request req = { .op = VMSPACE_MPROTECT };

	req.mprotect = (struct vmspace_mprotect){ AT + page * PAGE, pages * PAGE, prot, -1 };
	call(&req);
}

/* The event heard last of that kind; the test fails if there was none since event `since`. */
static const struct vmspace_event *last_of(enum vmspace_event_kind kind, unsigned int since)
{
	for (unsigned int i = heard.events; i > since; i--)
		if (heard.event[i - 1].kind == kind)
			return &heard.event[i - 1];
	fail_msg("no event of kind %d", (int)kind);
	return NULL;
}

static void expect(enum vmspace_event_kind kind, unsigned int since, unsigned long page,
		   unsigned long pages)
{
	const struct vmspace_event *event = last_of(kind, since);

	assert_int_equal(event->start, AT + page * PAGE);
	assert_int_equal(event->end, AT + (page + pages) * PAGE);
}

/* ---- events ---- */

static void every_kind_of_event_is_told(void **state)
{
	struct vmspace_request move = { .op = VMSPACE_MREMAP }, fault = { .op = VMSPACE_FAULT };
	unsigned int since = 0;

	(void)state;
	map(100, 10, PROT_READ, PRIVATE);
	expect(VMSPACE_EVENT_MAP, since, 100, 10);
	since = heard.events;
	protect(104, 2, PROT_READ | PROT_WRITE);
	expect(VMSPACE_EVENT_CHANGE, since, 104, 2);
	assert_int_equal(last_of(VMSPACE_EVENT_SPLIT, since)->at, AT + 106 * PAGE);
	since = heard.events;
	protect(104, 2, PROT_READ);
	expect(VMSPACE_EVENT_MERGE, since, 100, 10);
	assert_int_equal(last_of(VMSPACE_EVENT_MERGE, since)->verdict, VMA_MERGED);
	since = heard.events;
	map(110, 2, PROT_READ | PROT_WRITE, PRIVATE);
	assert_int_equal(last_of(VMSPACE_EVENT_NO_MERGE, since)->at, AT + 110 * PAGE);
	assert_int_equal(last_of(VMSPACE_EVENT_NO_MERGE, since)->verdict, VMA_DIFFERENT_FLAGS);
	assert_int_equal(last_of(VMSPACE_EVENT_NO_MERGE, since)->flags_differ,
			 VMA_WRITE | VMA_ACCOUNT);
	since = heard.events;
	move.mremap = (struct vmspace_mremap){ AT + 110 * PAGE, 2 * PAGE, 2 * PAGE,
					       MREMAP_MAYMOVE | MREMAP_FIXED, AT + 200 * PAGE };
	call(&move);
	expect(VMSPACE_EVENT_MOVE, since, 200, 2);
	assert_int_equal(last_of(VMSPACE_EVENT_MOVE, since)->at, AT + 110 * PAGE);
	since = heard.events;
	unmap(102, 4);
	expect(VMSPACE_EVENT_UNMAP, since, 102, 4);
	map(1000, 2, PROT_READ | PROT_WRITE, PRIVATE | MAP_GROWSDOWN);
	since = heard.events;
	fault.fault = (struct vmspace_fault){ AT + 997 * PAGE, VMSPACE_ACCESS_WRITE };
	call(&fault);
	expect(VMSPACE_EVENT_GROW, since, 997, 5);
	for (int kind = VMSPACE_EVENT_MAP; kind <= VMSPACE_EVENT_GROW; kind++)
		last_of((enum vmspace_event_kind)kind, 0);
}

/* One munmap of 40 areas: the outcome keeps the first 24 events, the hook hears all, from below. */
static void events_that_an_outcome_has_no_room_for_are_told(void **state)
{
	enum { AREAS = 40 };
	struct vmspace_request req = { .op = VMSPACE_MUNMAP, .munmap = { AT, AREAS * PAGE } };
	unsigned int since;

	(void)state;
	for (unsigned long i = 0; i < AREAS; i++)
		map(i, 1, i % 2 ? PROT_READ : PROT_NONE, PRIVATE);
	since = heard.events;
	call(&req);
	assert_int_equal(req.out.event_count, VMSPACE_EVENT_MAX);
	assert_int_equal(req.out.events_lost, AREAS - VMSPACE_EVENT_MAX);
	assert_int_equal(heard.events - since, AREAS);
	for (unsigned long i = 0; i < AREAS; i++) {
		const struct vmspace_event *event = &heard.event[since + i];

		assert_int_equal(event->kind, VMSPACE_EVENT_UNMAP);
		assert_int_equal(event->start, AT + i * PAGE);
		assert_int_equal(event->end, AT + (i + 1) * PAGE);
	}
}

/* What changes nothing is told to nobody. */
static void a_refused_request_is_not_told(void **state)
{
	struct vmspace_request req = { .op = VMSPACE_MUNMAP, .munmap = { AT + 1, PAGE } };

	(void)state;
	assert_true(vmspace_call(space, &req) < 0);
	assert_int_equal(heard.events, 0);
}

/* ---- faults ---- */

static enum vmspace_fault_result touch(unsigned long page, unsigned int access,
				       struct vmspace_page *out)
{
	return vmspace_touch(space, AT + page * PAGE + 5, access, out);
}

/* The last fault that was heard is the `n`th, and of this page. */
static void expect_fault(unsigned int n, const struct vmspace_page *page)
{
	const struct vmspace_page *last = &heard.fault[n - 1];

	assert_int_equal(heard.faults, n);
	assert_int_equal(last->addr, page->addr);
	assert_int_equal(last->frame, page->frame);
	assert_int_equal(last->access, page->access);
	assert_int_equal(last->kind, page->kind);
	assert_int_equal(last->source, page->source);
}

static void every_resolved_fault_is_told(void **state)
{
	struct vmspace_request req = { .op = VMSPACE_FAULT };
	struct vmspace_page page;

	(void)state;
	map(0, 4, PROT_READ | PROT_WRITE, PRIVATE);
	assert_int_equal(touch(0, VMSPACE_ACCESS_READ, &page), VMSPACE_FAULT_OK);
	assert_int_equal(page.kind, VMSPACE_PAGE_ZERO);
	expect_fault(1, &page);
	assert_int_equal(touch(0, VMSPACE_ACCESS_WRITE, &page), VMSPACE_FAULT_OK);
	assert_int_equal(page.source, VMSPACE_PAGE_COPIED);
	expect_fault(2, &page);
	assert_int_equal(touch(1, VMSPACE_ACCESS_WRITE, &page), VMSPACE_FAULT_OK);
	assert_int_equal(page.source, VMSPACE_PAGE_NEW);
	expect_fault(3, &page);
	assert_int_equal(touch(1, VMSPACE_ACCESS_READ, &page), VMSPACE_FAULT_OK);
	assert_int_equal(page.source, VMSPACE_PAGE_PRESENT);
	expect_fault(4, &page);
	req.fault = (struct vmspace_fault){ AT + 2 * PAGE, VMSPACE_ACCESS_WRITE };
	call(&req);
	assert_int_equal(heard.faults, 5);
	assert_int_equal(heard.fault[4].addr, AT + 2 * PAGE);
	/* A call that makes pages present tells of each. */
	map(8, 3, PROT_READ | PROT_WRITE, PRIVATE | MAP_POPULATE);
	assert_int_equal(heard.faults, 8);
	for (unsigned long i = 0; i < 3; i++)
		assert_int_equal(heard.fault[5 + i].addr, AT + (8 + i) * PAGE);
}

static void a_fault_that_fails_is_not_told(void **state)
{
	(void)state;
	map(0, 1, PROT_READ, PRIVATE);
	assert_int_equal(touch(0, VMSPACE_ACCESS_WRITE, NULL), VMSPACE_FAULT_ACCERR);
	assert_int_equal(touch(1, VMSPACE_ACCESS_READ, NULL), VMSPACE_FAULT_MAPERR);
	assert_int_equal(heard.faults, 0);
}

/* ---- who is told ---- */

/* Hooks may come and go in a live space; one that is NULL is left out. */
static void hooks_come_and_go(void **state)
{
	static const struct vmspace_hooks none = { 0 }, events = { &heard, hear_event, NULL };
	struct vmspace_request req = { .op = VMSPACE_MUNMAP, .munmap = { AT + 3 * PAGE, PAGE } };
	unsigned int before;

	(void)state;
	map(0, 4, PROT_READ | PROT_WRITE, PRIVATE);
	memset(heard.event, 0, sizeof(heard.event));
	heard.events = 0;
	set_hooks(NULL);
	assert_int_equal(vmspace_call(space, &req), 0);
	assert_int_equal(vmspace_touch(space, AT, VMSPACE_ACCESS_WRITE, NULL), VMSPACE_FAULT_OK);
	set_hooks(&none);
	req.munmap.addr = AT + 2 * PAGE;
	assert_int_equal(vmspace_call(space, &req), 0);
	assert_int_equal(vmspace_touch(space, AT, VMSPACE_ACCESS_WRITE, NULL), VMSPACE_FAULT_OK);
	assert_int_equal(heard.events + heard.faults, 0);
	set_hooks(&events);
	unmap(1, 1);
	before = heard.events;
	assert_true(before > 0);
	assert_int_equal(vmspace_touch(space, AT, VMSPACE_ACCESS_WRITE, NULL), VMSPACE_FAULT_OK);
	assert_int_equal(heard.faults, 0);
	set_hooks(&hooks);
	assert_int_equal(vmspace_touch(space, AT, VMSPACE_ACCESS_WRITE, NULL), VMSPACE_FAULT_OK);
	assert_int_equal(heard.faults, 1);
	assert_int_equal(heard.events, before);
}

/* A copy tells nobody; a child tells its own hooks, with their ctx, and not its parent's. */
static void relatives_have_hooks_of_their_own(void **state)
{
	struct vmspace_request req = { .op = VMSPACE_MUNMAP, .munmap = { AT, PAGE } };
	struct vmspace_request fork = { .op = VMSPACE_FORK };
	struct listener of_child = { .thread = pthread_self() };
	const struct vmspace_hooks child_hooks = { &of_child, hear_event, NULL };
	struct vmspace *copy;
	unsigned int before;

	(void)state;
	map(0, 4, PROT_READ, PRIVATE);
	before = heard.events;
	assert_int_equal(vmspace_clone(&copy, space), 0);
	assert_int_equal(vmspace_call(copy, &req), 0);
	vmspace_destroy(copy);
	assert_int_equal(heard.events, before);
	for (unsigned int with = 0; with < 2; with++) {
		fork.fork = (struct vmspace_fork){ .child_hooks = with ? &child_hooks : NULL };
		assert_int_equal(vmspace_call(space, &fork), 0);
		before = heard.events;
		assert_int_equal(of_child.events, 0);
		assert_int_equal(vmspace_call(fork.fork.child, &req), 0);
		assert_int_equal(of_child.events > 0, with);
		vmspace_destroy(fork.fork.child);
		assert_int_equal(heard.events, before);
	}
	same_event(&of_child.event[of_child.events - 1],
		   &(struct vmspace_event){ VMSPACE_EVENT_UNMAP, VMA_MERGE_NONE, AT, AT + PAGE,
					    0, 0 });
}

int main(void)
{
#define PAGED(name) cmocka_unit_test_setup_teardown(name, begin_with_memory, end)
#define BOTH(name)                                                                                 \
	{ #name " (no pages)", name, begin, end, NULL },                                           \
	{ #name " (with pages)", name, begin_with_memory, end, NULL }
	const struct CMUnitTest tests[] = {
		BOTH(every_kind_of_event_is_told),
		BOTH(events_that_an_outcome_has_no_room_for_are_told),
		BOTH(a_refused_request_is_not_told),
		PAGED(every_resolved_fault_is_told),
		PAGED(a_fault_that_fails_is_not_told),
		PAGED(hooks_come_and_go),
		BOTH(relatives_have_hooks_of_their_own),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
