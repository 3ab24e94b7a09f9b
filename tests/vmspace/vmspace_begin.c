/* SPDX-License-Identifier: MIT */
/*
 * vmspace_begin.c - calls that begin and end: what they do, what an end does without memory, and
 * several threads that make random calls of a kernel whose order nobody knows.
 */
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include <sys/mman.h>
#include <time.h>

#include "begin_world.h"
#include "scarce.h"

/* ---- in one thread --------------------------------------------------------------------------- */

static void test_follows(void **state)
{
	struct vmspace *space = new_space(true), *other = new_space(true);
	struct vmspace_request req = map_at(0, 4, RW), again;
	struct vmspace_ticket ticket;

	(void)state;
	assert_int_equal(vmspace_begin(space, &req, &ticket), 0);
	assert_true(req.mmap.flags & MAP_FIXED_NOREPLACE);
	assert_int_equal(vmspace_count_areas(space), 0);
	again = req;
	assert_int_equal(vmspace_end(space, &ticket, (long)req.mmap.addr), req.mmap.addr);
	assert_false(req.out.differs);
	assert_int_equal(vmspace_count_areas(space), 1);
	assert_int_equal(vmspace_call(other, &again), req.mmap.addr);
	check_same(space, other);

	/* Refused by the kernel: there is something that the space does not know of. */
	req = map_at(0, 4, RW);
	assert_int_equal(vmspace_begin(space, &req, &ticket), 0);
	assert_int_equal(vmspace_end(space, &ticket, -EEXIST), -EEXIST);
	check_same(space, other);

	req = unmap_at(again.mmap.addr, 4);
	assert_int_equal(vmspace_begin(space, &req, &ticket), 0);
	vmspace_cancel(space, &ticket);
	check_same(space, other);
	/* Nothing is held any more. */
	assert_int_equal(vmspace_begin(space, &req, &ticket), 0);
	assert_int_equal(vmspace_end(space, &ticket, 0), 0);
	assert_int_equal(vmspace_count_areas(space), 0);
	vmspace_destroy(space);
	vmspace_destroy(other);
}

/* Two mappings that are placed at the same time do not get the same place: box64's bug. */
static void test_places_apart(void **state)
{
	struct vmspace *space = new_space(true);
	struct vmspace_request low = map_at(BASE, 1, RW), high = map_at(BASE + 100 * PAGE, 1, RW);
	struct vmspace_ticket a, b;

	(void)state;
	/* Ranges that do not touch are under way at once, and end in any order. */
	assert_int_equal(vmspace_begin(space, &low, &a), 0);
	assert_int_equal(vmspace_begin(space, &high, &b), 0);
	assert_int_equal(vmspace_end(space, &a, (long)BASE), BASE);
	assert_int_equal(vmspace_end(space, &b, (long)(BASE + 100 * PAGE)), BASE + 100 * PAGE);
	assert_int_equal(vmspace_count_areas(space), 2);
	vmspace_destroy(space);
}

static void test_refused(void **state)
{
	struct vmspace *space = new_space(false), *shared = new_space(true);
	struct vmspace_request req = map_at(BASE, 1, RW);
	struct vmspace_ticket ticket;

	(void)state;
	assert_int_equal(vmspace_begin(space, &req, &ticket), -EINVAL);
	req.op = VMSPACE_FORK;
	assert_int_equal(vmspace_begin(shared, &req, &ticket), -EINVAL);
	req.op = VMSPACE_FAULT;
	assert_int_equal(vmspace_begin(shared, &req, &ticket), -EINVAL);
	req.op = VMSPACE_OP_COUNT;
	assert_int_equal(vmspace_begin(shared, &req, &ticket), -EINVAL);
	vmspace_destroy(space);
	vmspace_destroy(shared);
}

/* Pages are touched while a call is under way, and go when it ends. */
static void test_with_memory(void **state)
{
	struct vmspace *space = new_space_with(false, &scarce_memory);
	struct vmspace_request req = map_at(BASE, 4, RW);
	struct vmspace_ticket ticket;
	struct vmspace_stats stats;

	(void)state;
	assert_int_equal(vmspace_begin(space, &req, &ticket), 0);
	assert_int_equal(vmspace_touch(space, BASE, VMSPACE_ACCESS_WRITE, NULL),
			 VMSPACE_FAULT_MAPERR);
	vmspace_end(space, &ticket, (long)BASE);
	req = unmap_at(BASE, 2);
	assert_int_equal(vmspace_begin(space, &req, &ticket), 0);
	for (unsigned long i = 0; i < 4; i++)
		assert_int_equal(vmspace_touch(space, BASE + i * PAGE, VMSPACE_ACCESS_WRITE, NULL),
				 VMSPACE_FAULT_OK);
	assert_int_equal(vmspace_end(space, &ticket, 0), 0);
	vmspace_stats(space, &stats);
	assert_int_equal(stats.anon_pages, 2);
	assert_true(vmspace_check(space, NULL));
	vmspace_destroy(space);
}

/* ---- without memory -------------------------------------------------------------------------- */

#define AREAS 40UL

/* Areas that differ, and such between them as would merge; the first is large. */
static struct vmspace *striped(void)
{
	struct vmspace *space = new_space(true);
	struct vmspace_request bind = { .op = VMSPACE_MBIND };

	mt_set_allocator(&space->tree, &scarce_nodes);
	call(space, map_at(BASE, AREAS * 4, RW));
	for (unsigned long i = 0; i < AREAS; i++) {
		call(space, protect_at(BASE + i * 4 * PAGE, 2, PROT_READ));
		bind.mbind = (struct vmspace_mbind){ .addr = BASE + i * 4 * PAGE, .length = PAGE,
						     .mode = 2, .nodes = 1 };
		call(space, bind);
	}
	return space;
}

#define KINDS 13

static struct vmspace_request request_of(unsigned int kind)
{
	static const struct vmspace_range ranges[] = { { BASE, 40 * PAGE },
						       { BASE + 20 * PAGE, 60 * PAGE } };
	/* longer than what else is kept for it */
	static const char long_name[] = "a name that is as long as most of the names that are given";
	struct vmspace_request req = { 0 };

	switch (kind) {
	case 0: return map_at(BASE + 3 * PAGE, 50, PROT_READ);
	case 1: return map_at(0, 5, RW);
	case 2: return unmap_at(BASE + 3 * PAGE, 90);
	case 3: return protect_at(BASE + PAGE, 120, PROT_READ | PROT_EXEC);
	case 4:
		req.op = VMSPACE_MREMAP;
		req.mremap = (struct vmspace_mremap){ BASE + 2 * PAGE, PAGE, PAGE,
			MREMAP_MAYMOVE | MREMAP_FIXED, BASE + 41 * PAGE };
		return req;
	case 5:
		req.op = VMSPACE_MREMAP;
		req.mremap = (struct vmspace_mremap){ BASE + 2 * PAGE, 2 * PAGE, 8 * PAGE,
			MREMAP_MAYMOVE, 0 };
		return req;
	case 6:
		req.op = VMSPACE_MADVISE;
		req.madvise = (struct vmspace_madvise){ BASE, 150 * PAGE, MADV_DONTFORK };
		return req;
	case 7:
		req.op = VMSPACE_MLOCKALL;
		req.mlockall.flags = MCL_CURRENT;
		return req;
	case 8:
		req.op = VMSPACE_SET_ANON_NAME;
		req.set_anon_name = (struct vmspace_set_anon_name){ BASE + PAGE, 130 * PAGE,
								    long_name };
		return req;
	case 9:
		req.op = VMSPACE_MBIND;
		req.mbind = (struct vmspace_mbind){ .addr = BASE + PAGE, .length = 130 * PAGE,
						    .mode = 2, .nodes = 2 };
		return req;
	case 10:
		req.op = VMSPACE_SET_HOME_NODE;
		req.home_node = (struct vmspace_home_node){ BASE, 90 * PAGE, 0, 0 };
		return req;
	case 11:
		req.op = VMSPACE_PROCESS_MADVISE;
		req.process_madvise = (struct vmspace_process_madvise){ ranges, 2, MADV_COLD, 0 };
		return req;
	default:
		req = map_at(0, 3, RW);
		req.mmap.flags = MAP_PRIVATE;
		req.mmap.backing = (struct vma_backing){ .kind = VMA_BACKING_FILE, .inode = 5,
			.dev_major = 8, .name = "/a/file/with/some/name", .size = 1 << 20 };
		return req;
	}
}

/* What the same request does where there is memory. */
static long expect(unsigned int kind, struct vmspace *space)
{
	struct vmspace_request req = request_of(kind);

	return vmspace_call(space, &req);
}

static bool refused_at(struct vmspace *space, unsigned int kind, long n)
{
	struct vmspace *before;
	struct vmspace_request req = request_of(kind);
	struct vmspace_ticket ticket;
	int err;

	assert_int_equal(vmspace_clone(&before, space), 0);
	scarce.countdown = n;
	err = vmspace_begin(space, &req, &ticket);
	/* Either this one has failed, or there were not so many. */
	scarce.countdown = 0;
	check_same(space, before);
	vmspace_destroy(before);
	if (err) {
		assert_int_equal(err, -ENOMEM);
		return true;
	}
	vmspace_cancel(space, &ticket);
	return false;
}

/* When a snapshot is taken, whose nodes the call then has to copy. */
enum view { NO_VIEW, VIEW_BEFORE, VIEW_MEANWHILE, VIEWS };

static void end_without_memory(unsigned int kind, enum view when)
{
	struct vmspace *space = striped(), *other = striped();
	struct vmspace_request req = request_of(kind);
	const struct vmspace *view = NULL;
	struct vmspace_ticket ticket;
	long result = expect(kind, other), n = 1;

	while (when == NO_VIEW && refused_at(space, kind, n))
		n += n < 40 ? 1 : 1 + n / 7;
	assert_true(when != NO_VIEW || n > 3);
	if (when == VIEW_BEFORE)
		assert_int_equal(vmspace_snapshot(&view, space), 0);
	assert_int_equal(vmspace_begin(space, &req, &ticket), 0);
	if (when == VIEW_MEANWHILE)
		assert_int_equal(vmspace_snapshot(&view, space), 0);
	scarce.countdown = 1;
	scarce.for_good = true;
	vmspace_end(space, &ticket, result);
	scarce.countdown = 0;
	scarce.for_good = false;
	if (req.out.result != result || req.out.out_of_memory)
		fail_msg("kind %u: %ld in place of %ld, %s", kind, req.out.result, result,
			 req.out.why ? req.out.why : "no reason");
	check_same(space, other);
	vmspace_snapshot_close(view);
	vmspace_destroy(space);
	vmspace_destroy(other);
	mt_barrier();
}

static void test_no_memory(void **state)
{
	(void)state;
	for (unsigned int kind = 0; kind < KINDS; kind++)
		for (enum view when = NO_VIEW; when < VIEWS; when++)
			end_without_memory(kind, when);
}

/* Begun, cancelled and ended calls leave no block behind. */
static void test_no_leak(void **state)
{
	struct vmspace *space;
	long blocks;

	(void)state;
	space = striped();
	vmspace_destroy(space);
	mt_barrier();
	blocks = scarce.blocks;
	for (unsigned int kind = 0; kind < KINDS; kind++) {
		struct vmspace_request req = request_of(kind);
		struct vmspace_ticket ticket;

		space = striped();
		refused_at(space, kind, 9);
		assert_int_equal(vmspace_begin(space, &req, &ticket), 0);
		vmspace_cancel(space, &ticket);
		req = request_of(kind);
		assert_int_equal(vmspace_begin(space, &req, &ticket), 0);
		vmspace_end(space, &ticket, -EAGAIN);
		vmspace_destroy(space);
		mt_barrier();
	}
	assert_int_equal(scarce.blocks, blocks);
}

/* ---- several threads and a kernel ------------------------------------------------------------ */

#define THREADS 4
#define WINDOW 96UL /* pages */

struct actor {
	pthread_t thread;
	struct vmspace *mirror, *kernel;
	uint64_t draws;
	unsigned long calls;
};

static unsigned long draw(struct actor *actor, unsigned long below)
{
	actor->draws = actor->draws * 6364136223846793005u + 1442695040888963407u;
	return (unsigned long)(actor->draws >> 33) % below;
}

static struct vmspace_request random_request(struct actor *actor)
{
	static const int prots[] = { PROT_NONE, PROT_READ, RW, RW };
	static const int advices[] = { MADV_DONTFORK, MADV_DOFORK, MADV_DONTDUMP, MADV_DODUMP };
	unsigned long page = draw(actor, WINDOW), pages = 1 + draw(actor, 8);
	unsigned long addr = BASE + page * PAGE;
	int prot = prots[draw(actor, 4)];
	struct vmspace_request req = { 0 };

	switch (draw(actor, 12)) {
	case 0: case 1: case 2:
		return map_at(addr, pages, prot);
	case 3:
		return map_at(0, pages, prot);
	case 4: case 5:
		return unmap_at(addr, pages);
	case 6: case 7:
		return protect_at(addr, pages, prot);
	case 8:
		req.op = VMSPACE_MREMAP;
		req.mremap = (struct vmspace_mremap){
			addr, pages * PAGE, (1 + draw(actor, 8)) * PAGE,
			MREMAP_MAYMOVE | MREMAP_FIXED, BASE + draw(actor, WINDOW) * PAGE };
		return req;
	case 9:
		req.op = VMSPACE_MREMAP;
		req.mremap = (struct vmspace_mremap){
			addr, pages * PAGE, (1 + draw(actor, 12)) * PAGE,
			draw(actor, 2) ? MREMAP_MAYMOVE : 0, 0 };
		return req;
	case 10:
		req.op = draw(actor, 2) ? VMSPACE_MLOCK : VMSPACE_MUNLOCK;
		req.mlock = (struct vmspace_mlock){ .addr = addr, .length = pages * PAGE };
		return req;
	default:
		req.op = VMSPACE_MADVISE;
		req.madvise = (struct vmspace_madvise){ addr, pages * PAGE,
							advices[draw(actor, 4)] };
		return req;
	}
}

/* The kernel makes calls one by one, in the order in which they happen to come. */
static void *act(void *arg)
{
	struct actor *actor = arg;

	for (unsigned long i = 0; i < actor->calls; i++) {
		struct vmspace_request req = random_request(actor), made;
		struct vmspace_ticket ticket;

		assert_int_equal(vmspace_begin(actor->mirror, &req, &ticket), 0);
		if (!draw(actor, 16)) {
			vmspace_cancel(actor->mirror, &ticket);
			continue;
		}
		made = req;
		vmspace_call(actor->kernel, &made);
		vmspace_end(actor->mirror, &ticket, made.out.result);
		assert_false(req.out.out_of_memory);
	}
	return NULL;
}

static void test_threads(void **state)
{
	const char *given = getenv("BEGIN_SEED"), *calls = getenv("BEGIN_CALLS");
	uint64_t seed = given ? strtoull(given, NULL, 0) : (uint64_t)time(NULL);
	struct vmspace *mirror = new_space(true), *kernel = new_space(true);
	struct actor actor[THREADS];

	(void)state;
	print_message("# BEGIN_SEED=%llu\n", (unsigned long long)seed);
	for (uint64_t i = 0; i < THREADS; i++) {
		actor[i] = (struct actor){ .mirror = mirror, .kernel = kernel,
			.draws = (seed + i) * 0x9e3779b97f4a7c15u,
			.calls = calls ? strtoul(calls, NULL, 0) : 4000 };
		if (pthread_create(&actor[i].thread, NULL, act, &actor[i]))
			fail();
	}
	for (int i = 0; i < THREADS; i++)
		pthread_join(actor[i].thread, NULL);
	check_same(mirror, kernel);
	vmspace_destroy(mirror);
	vmspace_destroy(kernel);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_follows),
		cmocka_unit_test(test_places_apart),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_with_memory),
		cmocka_unit_test(test_no_memory),
		cmocka_unit_test(test_no_leak),
		cmocka_unit_test(test_threads),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
