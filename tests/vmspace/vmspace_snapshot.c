/* SPDX-License-Identifier: MIT */
/*
 * vmspace_snapshot.c - snapshots show what their space was: after every kind of change, in spaces of
 * one thread, of several, and with memory; whatever is closed first. Takes a seed; prints the one it
 * draws.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "mman_names.h"
#include "past.h"
#include "scarce.h"
#include "snapshot_world.h"

/* ---- each kind of change -------------------------------------------------------------------- */

static void fork_and_leave(void)
{
	struct vmspace_request r = { .op = VMSPACE_FORK };

	assert_int_equal(vmspace_call(space, &r), 0);
	sound(r.fork.child);
	vmspace_destroy(r.fork.child);
}

static void change(unsigned int n)
{
	switch (n) {
	case 0: map(4, 1, PROT_READ); break;                       /* merges */
	case 1: map(10, 20, PROT_EXEC); break;                     /* over others */
	case 2: call(REQUEST(VMSPACE_MUNMAP, munmap, at(70), 5 * PAGE)); break; /* in the middle */
	case 3: call(REQUEST(VMSPACE_MUNMAP, munmap, at(0), 200 * PAGE)); break;
	case 4: call(REQUEST(VMSPACE_MPROTECT, mprotect, at(62), 4 * PAGE, PROT_READ, -1)); break;
	case 5: call(REQUEST(VMSPACE_MPROTECT, mprotect, at(60), 30 * PAGE, PROT_READ, -1)); break;
	case 6: call(REQUEST(VMSPACE_MREMAP, mremap, at(60), 30 * PAGE, 50 * PAGE,
			     MREMAP_MAYMOVE, 0)); break;
	case 7: call(REQUEST(VMSPACE_MREMAP, mremap, at(65), 5 * PAGE, 5 * PAGE,
			     MREMAP_MAYMOVE | MREMAP_FIXED, at(400))); break;
	case 8: call(REQUEST(VMSPACE_BRK, brk, at(1010))); break;
	case 9: call(REQUEST(VMSPACE_MLOCK, mlock, at(60), 10 * PAGE, 0, false)); break;
	case 10: call(REQUEST(VMSPACE_SET_ANON_NAME, set_anon_name, at(140), 20 * PAGE, "new")); break;
	case 11: call(REQUEST(VMSPACE_MADVISE, madvise, at(142), 6 * PAGE, MADV_DONTFORK)); break;
	case 12: call(REQUEST(VMSPACE_MADVISE, madvise, at(60), 10 * PAGE, MADV_GUARD_INSTALL)); break;
	case 13: call(REQUEST(VMSPACE_MBIND, mbind, at(60), 10 * PAGE, 2, 1, 0)); break;
	case 14: call(REQUEST(VMSPACE_UFFD_REGISTER, uffd, .addr = at(140), .length = 5 * PAGE,
			      .mode = 1, .context = 1)); break;
	case 15: call(REQUEST(VMSPACE_MSEAL, mseal, at(140), 5 * PAGE, 0)); break;
	case 16: write_to(0); break;                               /* a first anonymous page */
	case 17: write_to(143); break;
	case 18: write_to(105); break;                             /* of a file's private mapping */
	case 19: vmspace_touch(space, at(285), VMSPACE_ACCESS_WRITE, NULL); break; /* stack */
	case 20: vmspace_identify(space, at(100), &other_file); break;
	case 21: vmspace_pin(space, 5); break;
	case 22: fork_and_leave(); break;
	case 23: call(REQUEST(VMSPACE_MREMAP, mremap, at(60), 8 * PAGE, 8 * PAGE,
			      MREMAP_MAYMOVE | MREMAP_DONTUNMAP, 0)); break;
	case 24: vmspace_drop_anon(space, at(64)); break;
	case 25: call(REQUEST(VMSPACE_MLOCKALL, mlockall, MCL_CURRENT | MCL_FUTURE)); break;
	case 26: vmspace_exit(space); break;
	case 27: {
		struct vmspace_area area = { .start = at(3), .end = at(9), .flags = VMA_READ };
		struct vmspace_image image = { 0 };

		vmspace_exec(space, &area, 1, &image);
		break;
	}
	default: break;
	}
}
#define CHANGES 28

static void every_change_leaves_it_as_it_was(void **state)
{
	(void)state;
	for (enum kind kind = 0; kind < KINDS; kind++) {
		for (unsigned int n = 0; n < CHANGES; n++) {
			const struct vmspace *view;
			char *before, *after, when[40];

			build(kind);
			before = text_of(space);
			assert_int_equal(vmspace_snapshot(&view, space), 0);
			assert_true(vmspace_is_snapshot(view) && !vmspace_is_snapshot(space));
			snprintf(when, sizeof(when), "%s, change %u", kind_name[kind], n);
			same_text(view, before, when);
			change(n);
			sound(space);
			after = text_of(space);
			if (!strcmp(before, after) && n != 22)
				fail_msg("%s changes nothing", when);
			test_free(after);
			same_text(view, before, when);
			sound(view);
			/* and once more, with what is replaced by now */
			for (unsigned int m = 0; m < CHANGES - 2; m += 3)
				change(m);
			same_text(view, before, when);
			sound(view);
			vmspace_snapshot_close(view);
			test_free(before);
			sound(space);
			end();
		}
	}
}

/* ---- random calls, and several snapshots ---------------------------------------------------- */

#define OPEN 8

/* Shows what it did, and is closed. */
static void close_as_it_was(const struct vmspace **view, char *text, const char *when)
{
	same_text(*view, text, when);
	sound(*view);
	vmspace_snapshot_close(*view);
	test_free(text);
	*view = NULL;
}

static void any_number_in_any_order(void **state)
{
	(void)state;
	for (unsigned int round = 0; round < 12; round++) {
		enum kind kind = round % KINDS;
		const struct vmspace *view[OPEN] = { NULL };
		char *text[OPEN];
		unsigned int steps = 600;

		build(kind);
		while (steps--) {
			unsigned int i = draw(OPEN);

			random_call();
			if (draw(4))
				continue;
			if (view[i]) {
				close_as_it_was(&view[i], text[i], kind_name[kind]);
			} else {
				text[i] = text_of(space);
				assert_int_equal(vmspace_snapshot(&view[i], space), 0);
			}
			if (!draw(8))
				sound(space);
			/* From time to time none is open. */
			for (i = 0; i < OPEN && !draw(20); i++) {
				if (view[i])
					close_as_it_was(&view[i], text[i], kind_name[kind]);
			}
		}
		/* The rest outlive the space, or what is in it. */
		if (round % 2)
			vmspace_exit(space);
		else
			end();
		for (unsigned int i = 0; i < OPEN; i++) {
			if (view[i])
				close_as_it_was(&view[i], text[i], "outliving");
		}
		if (round % 2)
			end();
	}
}

static void a_snapshot_cannot_be_changed(void **state)
{
	(void)state;
	for (enum kind kind = 0; kind < KINDS; kind++) {
		const struct vmspace *view, *again;
		struct vmspace *cast;
		struct vmspace_image image = { 0 };
		char *text;

		build(kind);
		assert_int_equal(vmspace_snapshot(&view, space), 0);
		text = text_of(view);
		cast = (struct vmspace *)(uintptr_t)view;
		for (int op = 0; op < VMSPACE_OP_COUNT; op++) {
			struct vmspace_request r = { .op = (enum vmspace_op)op };

			if (!strcmp(vmspace_op_name(r.op), "unknown"))
				continue;
			assert_int_equal(vmspace_gather(cast, &r), -EROFS);
			assert_int_equal(vmspace_call(cast, &r), -EROFS);
			assert_non_null(strstr(r.out.why, "snapshot"));
			assert_int_equal(vmspace_complete(cast, &r), -EROFS);
		}
		again = view;
		assert_int_equal(vmspace_snapshot(&again, cast), -EROFS);
		assert_null(again);
		assert_int_equal(vmspace_exec(cast, NULL, 0, &image), -EROFS);
		assert_int_equal(vmspace_configure(cast, vmspace_config(view)), -EROFS);
		assert_int_equal(vmspace_pin(cast, 1), -EROFS);
		assert_int_equal(vmspace_unpin(cast, 0), -EROFS);
		assert_int_equal(vmspace_refresh(cast), -EROFS);
		assert_int_equal(vmspace_identify(cast, at(100), &other_file), -EROFS);
		assert_int_equal(vmspace_touch(cast, at(61), VMSPACE_ACCESS_WRITE, NULL),
				 VMSPACE_FAULT_BUS);
		vmspace_exit(cast);
		vmspace_join_anon(cast, 2, 1);
		vmspace_part_anon(cast, at(64));
		vmspace_inherit_anon(cast, at(64), true);
		vmspace_drop_anon(cast, at(64));
		vmspace_place_anon(cast, at(64), 5);
		same_text(view, text, "refused");
		same_text(space, text, "refused");
		test_free(text);
		vmspace_destroy(cast); /* closes it */
		vmspace_snapshot_close(NULL);
		end();
	}
}

/* ---- memory --------------------------------------------------------------------------------- */

static void no_memory_for_a_snapshot(void **state)
{
	(void)state;
	for (enum kind kind = 0; kind < KINDS; kind++) {
		const struct vmspace *view;
		char *text;
		long n;

		build(kind);
		text = text_of(space);
		for (n = 1;; n++) {
			int err;

			view = space;
			scarce.countdown = n;
			err = vmspace_snapshot(&view, space);
			if (!err)
				break;
			scarce.countdown = 0;
			assert_int_equal(err, -ENOMEM);
			assert_null(view);
			same_text(space, text, "no memory");
			random_call();
			test_free(text);
			text = text_of(space);
		}
		scarce.countdown = 0;
		assert_true(n > 1);
		same_text(view, text, "memory at last");
		test_free(text);
		vmspace_snapshot_close(view);
		end();
	}
}

/* A space of one thread changes areas in place again when no snapshot is open. */
static void it_is_private_again(void **state)
{
	const struct vmspace *view[2];

	(void)state;
	build(OF_ONE);
	assert_null(space->past);
	assert_int_equal(vmspace_snapshot(&view[0], space), 0);
	assert_int_equal(vmspace_snapshot(&view[1], space), 0);
	vmspace_snapshot_close(view[0]);
	map(4, 1, PROT_READ);
	assert_non_null(space->past);
	vmspace_snapshot_close(view[1]);
	map(4, 1, PROT_WRITE);
	assert_null(space->past);
	end();
}

/* What a reader in a section of its own has found stays, if a snapshot keeps the areas, too. */
static void readers_of_an_emptied_space_keep_what_they_found(void **state)
{
	const struct vmspace *view;
	struct vma_info info;

	(void)state;
	build(OF_SEVERAL);
	assert_int_equal(vmspace_snapshot(&view, space), 0);
	vmspace_exit(space);
	map(4, 1, PROT_READ);
	assert_int_equal(call(REQUEST(VMSPACE_SET_ANON_NAME, set_anon_name, at(4), PAGE, "found")), 0);
	mt_read_lock();
	assert_true(vmspace_lookup(space, at(4), &info));
	assert_int_equal(call(REQUEST(VMSPACE_MUNMAP, munmap, at(4), PAGE)), 0);
	for (unsigned long page = 8; page < 16; page += 2) {
		map(page, 1, PROT_READ);
		assert_int_equal(call(REQUEST(VMSPACE_SET_ANON_NAME, set_anon_name, at(page), PAGE,
					      "other")), 0);
	}
	assert_string_equal(info.anon_name, "found");
	mt_read_unlock();
	vmspace_snapshot_close(view);
	end();
}

/* Numbers of snapshots that have all been used begin anew when none is open. */
static void numbers_begin_anew(void **state)
{
	const struct vmspace *view, *second = NULL;
	char *text;

	(void)state;
	build(OF_SEVERAL);
	space->snapshots = UINT32_MAX - 1;
	write_to(143);
	assert_int_equal(vmspace_snapshot(&view, space), 0);
	write_to(0);
	assert_int_equal(vmspace_snapshot(&second, space), -EOVERFLOW);
	assert_null(second);
	vmspace_snapshot_close(view);
	text = text_of(space);
	assert_int_equal(vmspace_snapshot(&view, space), 0);
	same_text(view, text, "numbered anew");
	write_to(100);
	same_text(view, text, "numbered anew");
	test_free(text);
	vmspace_snapshot_close(view);
	end();
}

/* ---- threads -------------------------------------------------------------------------------- */

static void *look(void *view)
{
	char *text = text_of(view);

	for (int i = 0; i < 200; i++) {
		char *now = text_of(view);
		int differs = strcmp(now, text);

		test_free(now);
		if (differs) {
			test_free(text);
			return view;
		}
	}
	test_free(text);
	return NULL;
}

/* Also of a space that one thread uses: others may look at the snapshot, and close it. */
static void others_look_meanwhile(void **state)
{
	(void)state;
	beside_calls(look);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_change_leaves_it_as_it_was),
		cmocka_unit_test(any_number_in_any_order),
		cmocka_unit_test(a_snapshot_cannot_be_changed),
		cmocka_unit_test(no_memory_for_a_snapshot),
		cmocka_unit_test(it_is_private_again),
		cmocka_unit_test(readers_of_an_emptied_space_keep_what_they_found),
		cmocka_unit_test(numbers_begin_anew),
		cmocka_unit_test(others_look_meanwhile),
	};

	seed_from(argc, argv);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
