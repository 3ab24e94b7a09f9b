/* SPDX-License-Identifier: MIT */
/*
 * vmspace_begin_waits.c - who waits for whom: a call that begins holds the range that it is about,
 * which others wait for.
 */
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>
#include <cmocka.h>

#include "begin_world.h"
#include "mman_names.h"
#include "sync.h"

struct other {
	struct vmspace *space;
	struct vmspace_request req;
	long result;
	bool begun;
	pthread_t thread;
};

static void *begin_and_end(void *arg)
{
	struct other *other = arg;
	struct vmspace_ticket ticket;

	assert_int_equal(vmspace_begin(other->space, &other->req, &ticket), 0);
	__atomic_store_n(&other->begun, true, __ATOMIC_RELEASE);
	vmspace_end(other->space, &ticket, other->req.op == VMSPACE_MMAP
						   ? (long)other->req.mmap.addr : other->result);
	return NULL;
}

static bool has_begun(const struct other *other)
{
	return __atomic_load_n(&other->begun, __ATOMIC_ACQUIRE);
}

static unsigned int waiting(const struct vmspace *space)
{
	unsigned int count;

	sync_enter(space);
	count = space->sync->waiting;
	sync_leave(space);
	return count;
}

/* Until the thread has begun its call, or `count` threads wait. */
static void until_decided(const struct vmspace *space, const struct other *other,
			  unsigned int count)
{
	while (!has_begun(other) && waiting(space) < count)
		nanosleep(&(struct timespec){ .tv_nsec = 100000 }, NULL);
}

/* Does `second`, which returns `its`, wait while `first` is under way, which returns `result`? */
static bool waits_with(struct vmspace *space, struct vmspace_request first,
		       struct vmspace_request second, long result, long its)
{
	struct other other = { .space = space, .req = second, .result = its };
	struct vmspace_ticket ticket;
	bool waited;

	assert_int_equal(vmspace_begin(space, &first, &ticket), 0);
	if (pthread_create(&other.thread, NULL, begin_and_end, &other))
		fail();
	until_decided(space, &other, 1);
	waited = !has_begun(&other);
	if (first.op == VMSPACE_MMAP && !result)
		result = (long)first.mmap.addr;
	vmspace_end(space, &ticket, result);
	pthread_join(other.thread, NULL);
	assert_true(has_begun(&other));
	return waited;
}

static bool waits(struct vmspace *space, struct vmspace_request first,
		  struct vmspace_request second, long result)
{
	return waits_with(space, first, second, result, 0);
}

static void test_waits(void **state)
{
	struct vmspace *space = new_space(true);
	struct vmspace_request move = { .op = VMSPACE_MREMAP }, brk = { .op = VMSPACE_BRK };

	(void)state;
	call(space, map_at(BASE, 10, RW));
	call(space, map_at(BASE + 50 * PAGE, 10, RW));
	assert_true(waits(space, protect_at(BASE, 1, PROT_READ), protect_at(BASE, 1, RW), 0));
	/* It is one area, and the other's neighbour. */
	assert_true(waits(space, protect_at(BASE, 1, RW), unmap_at(BASE + 8 * PAGE, 1), 0));
	assert_true(waits(space, map_at(BASE + 60 * PAGE, 1, RW),
			  protect_at(BASE + 50 * PAGE, 1, PROT_READ), 0));
	/* Adjacent, where nothing is mapped yet. */
	assert_true(waits(space, map_at(BASE + 80 * PAGE, 1, RW), map_at(BASE + 81 * PAGE, 1, RW),
			  0));
	/* Both would be placed there. */
	assert_true(waits(space, map_at(0, 1, RW), map_at(0, 1, RW), 0));
	assert_false(waits(space, protect_at(BASE, 1, RW), map_at(0, 1, RW), 0));
	assert_false(waits(space, protect_at(BASE, 1, RW),
			   protect_at(BASE + 50 * PAGE, 1, PROT_READ), 0));
	/* Where it moves to is the kernel's choice. */
	move.mremap = (struct vmspace_mremap){ BASE, PAGE, 2 * PAGE, MREMAP_MAYMOVE, 0 };
	assert_true(waits(space, move, protect_at(BASE + 50 * PAGE, 1, RW), -ENOMEM));
	assert_true(waits(space, brk, brk, 0));
	vmspace_destroy(space);
}

static struct vmspace_request about(enum vmspace_op op, unsigned long addr)
{
	struct vmspace_request req = { .op = op };

	switch (op) {
	case VMSPACE_MUNMAP: req.munmap = (struct vmspace_munmap){ addr, PAGE }; break;
	case VMSPACE_MPROTECT: return protect_at(addr, 1, PROT_READ);
	case VMSPACE_MADVISE:
		req.madvise = (struct vmspace_madvise){ addr, PAGE, MADV_DONTFORK };
		break;
	case VMSPACE_MLOCK: case VMSPACE_MUNLOCK:
		req.mlock = (struct vmspace_mlock){ .addr = addr, .length = PAGE };
		break;
	case VMSPACE_SET_ANON_NAME:
		req.set_anon_name = (struct vmspace_set_anon_name){ addr, PAGE, "name" };
		break;
	case VMSPACE_REMAP_FILE_PAGES:
		req.remap_file_pages =
			(struct vmspace_remap_file_pages){ .addr = addr, .size = PAGE };
		break;
	case VMSPACE_MSEAL: req.mseal = (struct vmspace_mseal){ addr, PAGE, 0 }; break;
	case VMSPACE_MSYNC: req.msync = (struct vmspace_msync){ addr, PAGE, MS_SYNC }; break;
	case VMSPACE_MINCORE:
		req.mincore = (struct vmspace_mincore){ .addr = addr, .length = PAGE };
		break;
	case VMSPACE_MBIND:
		req.mbind = (struct vmspace_mbind){
			.addr = addr, .length = PAGE, .mode = 2, .nodes = 1 };
		break;
	case VMSPACE_SET_HOME_NODE:
		req.home_node = (struct vmspace_home_node){ addr, PAGE, 0, 0 };
		break;
	case VMSPACE_UFFD_REGISTER: case VMSPACE_UFFD_UNREGISTER:
		req.uffd = (struct vmspace_uffd){
			.addr = addr, .length = PAGE, .mode = 1, .context = 1 };
		break;
	default:
		assert_int_equal(op, VMSPACE_SHMAT);
		req.shmat = (struct vmspace_shmat){ .addr = addr, .size = PAGE };
		break;
	}
	return req;
}

/* Whatever the call is: it waits for one about the same area, and for none about another one. */
static void test_each_holds_its_range(void **state)
{
	static const enum vmspace_op ops[] = {
		VMSPACE_MUNMAP, VMSPACE_MPROTECT, VMSPACE_MADVISE, VMSPACE_MLOCK, VMSPACE_MUNLOCK,
		VMSPACE_SET_ANON_NAME, VMSPACE_REMAP_FILE_PAGES, VMSPACE_MSEAL, VMSPACE_MSYNC,
		VMSPACE_MINCORE, VMSPACE_MBIND, VMSPACE_SET_HOME_NODE, VMSPACE_UFFD_REGISTER,
		VMSPACE_UFFD_UNREGISTER, VMSPACE_SHMAT,
	};
	struct vmspace *space = new_space(true);
	struct vmspace_request first = protect_at(BASE + 50 * PAGE, 1, PROT_READ);

	(void)state;
	call(space, map_at(BASE, 10, RW));
	call(space, map_at(BASE + 50 * PAGE, 10, RW));
	for (size_t i = 0; i < sizeof(ops) / sizeof(*ops); i++) {
		assert_true(waits_with(space, first, about(ops[i], BASE + 55 * PAGE), -EAGAIN,
				       -EAGAIN));
		assert_false(waits_with(space, first, about(ops[i], BASE + 5 * PAGE), -EAGAIN,
					-EAGAIN));
	}
	/* Where the kernel chooses the place, all. */
	assert_true(waits_with(space, first, about(VMSPACE_SHMAT, 0), -EAGAIN, -EAGAIN));
	assert_true(waits_with(space, map_at(0, 1UL << 40, RW), first, -ENOMEM, -EAGAIN));
	vmspace_destroy(space);
}

/*
 * What a call that moves an area holds: where it is, where it is going to be if that is known, or
 * all.
 */
static void test_what_a_move_holds(void **state)
{
	const unsigned long far = BASE + 50 * PAGE, target = BASE + 80 * PAGE;
	const int fixed = MREMAP_MAYMOVE | MREMAP_FIXED;
	const struct {
		struct vmspace_mremap args;
		unsigned long at;
		bool waits;
	} cases[] = {
		/* smaller: nothing moves */
		{ { BASE, 10 * PAGE, 5 * PAGE, MREMAP_MAYMOVE, 0 }, BASE + 8 * PAGE, true },
		{ { BASE, 10 * PAGE, 5 * PAGE, MREMAP_MAYMOVE, 0 }, far, false },
		/* as large: nor does it */
		{ { BASE, PAGE, PAGE, MREMAP_MAYMOVE, 0 }, far, false },
		/* larger, where it is */
		{ { BASE, 10 * PAGE, 15 * PAGE, 0, 0 }, BASE + 14 * PAGE, true },
		{ { BASE, 10 * PAGE, 15 * PAGE, 0, 0 }, far, false },
		{ { BASE, PAGE, PAGE, fixed, target }, BASE, true },
		{ { BASE, PAGE, PAGE, fixed, target }, target, true },
		{ { BASE, PAGE, PAGE, fixed, target }, far, false },
		{ { BASE, PAGE, 2 * PAGE, fixed, -PAGE }, far, true },
		{ { BASE, PAGE, PAGE, MREMAP_MAYMOVE | MREMAP_DONTUNMAP, 0 }, far, true },
	};
	struct vmspace *space = new_space(true);
	struct vmspace_request unmap_all = unmap_at(BASE, 0), move = { .op = VMSPACE_MREMAP };

	(void)state;
	call(space, map_at(BASE, 10, RW));
	call(space, map_at(far, 10, RW));
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		move.mremap = cases[i].args;
		if (waits_with(space, move, unmap_at(cases[i].at, 1), -EAGAIN, -EAGAIN) !=
		    cases[i].waits)
			fail_msg("case %zu", i);
	}
	unmap_all.munmap.length = -PAGE;
	assert_true(waits_with(space, unmap_all, unmap_at(far, 1), -EAGAIN, -EAGAIN));
	vmspace_destroy(space);
}

/* The heap, as it is and as it is going to be, whichever is longer. */
static void test_what_brk_holds(void **state)
{
	const struct vmspace_image image = { .start_brk = BASE, .brk = BASE };
	struct vmspace *space = new_space(true);
	struct vmspace_request brk = { .op = VMSPACE_BRK };

	(void)state;
	assert_int_equal(vmspace_exec(space, NULL, 0, &image), 0);
	brk.brk.brk = BASE + 10 * PAGE;
	call(space, brk);
	call(space, map_at(BASE + 50 * PAGE, 10, RW));
	for (unsigned long pages = 5; pages <= 20; pages += 15) {
		brk.brk.brk = BASE + pages * PAGE;
		assert_true(waits_with(space, brk, unmap_at(BASE, 1), -EAGAIN, -EAGAIN));
		assert_true(waits_with(space, brk, unmap_at(BASE + 9 * PAGE, 1), -EAGAIN, -EAGAIN));
		assert_int_equal(waits_with(space, brk, unmap_at(BASE + 19 * PAGE, 1), -EAGAIN, -EAGAIN),
				 pages == 20);
		assert_false(waits_with(space, brk, unmap_at(BASE + 50 * PAGE, 1), -EAGAIN, -EAGAIN));
	}
	vmspace_destroy(space);
}

/* A tag of a call's address is none of the range's, and the request keeps it. */
static void test_tagged_address(void **state)
{
	const unsigned long tag = 0x5aUL << 56;
	struct vmspace *space = new_space(true);
	struct vmspace_config config = *vmspace_config(space);
	struct vmspace_request req = unmap_at(BASE + tag, 1);
	struct vmspace_ticket ticket;

	(void)state;
	config.address_tags = true;
	assert_int_equal(vmspace_configure(space, &config), 0);
	call(space, map_at(BASE, 2, RW));
	assert_int_equal(vmspace_begin(space, &req, &ticket), 0);
	assert_int_equal(req.munmap.addr, BASE + tag);
	assert_int_equal(vmspace_end(space, &ticket, 0), 0);
	assert_int_equal(req.munmap.addr, BASE + tag);
	assert_false(req.out.differs);
	assert_false(vmspace_lookup(space, BASE, NULL));
	vmspace_destroy(space);
}

/* One that holds everything is not passed by those that come later. */
static void test_first_come(void **state)
{
	struct vmspace *space = new_space(true);
	struct vmspace_request all = { .op = VMSPACE_MUNLOCKALL };
	struct vmspace_request first = map_at(BASE, 1, RW);
	struct other second = { .space = space, .req = all },
		     third = { .space = space, .req = map_at(BASE + 100 * PAGE, 1, RW) };
	struct vmspace_ticket ticket;

	(void)state;
	assert_int_equal(vmspace_begin(space, &first, &ticket), 0);
	if (pthread_create(&second.thread, NULL, begin_and_end, &second))
		fail();
	until_decided(space, &second, 1);
	if (pthread_create(&third.thread, NULL, begin_and_end, &third))
		fail();
	until_decided(space, &third, 2);
	assert_false(has_begun(&second));
	assert_false(has_begun(&third));
	vmspace_end(space, &ticket, (long)BASE);
	pthread_join(second.thread, NULL);
	pthread_join(third.thread, NULL);
	assert_int_equal(vmspace_count_areas(space), 2);
	vmspace_destroy(space);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_waits),
		cmocka_unit_test(test_each_holds_its_range),
		cmocka_unit_test(test_what_a_move_holds),
		cmocka_unit_test(test_what_brk_holds),
		cmocka_unit_test(test_tagged_address),
		cmocka_unit_test(test_first_come),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
