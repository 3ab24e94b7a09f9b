/* SPDX-License-Identifier: MIT */
/*
 * vmspace_snapshot_clone.c - clones of snapshots: they are what a clone of the space was then, and
 * go on as that does, whatever happens to the space. Takes a seed; prints the one it draws.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include <sys/mman.h>

#include "scarce.h"
#include "snapshot_world.h"

/* The space and its clone answer the same random calls alike. */
static void go_on_alike(struct vmspace *copy, struct vmspace *model, const char *when)
{
	struct vmspace *const live = space;
	const uint64_t state = random_state;
	char *text;

	space = model;
	for (int i = 0; i < 200; i++)
		random_call();
	text = text_of(model);
	random_state = state;
	space = copy;
	for (int i = 0; i < 200; i++)
		random_call();
	sound(copy);
	same_text(copy, text, when);
	test_free(text);
	space = live;
}

/* Of a snapshot that was taken when `model` was: a clone of the space, which is the same. */
static void clone_like(const struct vmspace *view, struct vmspace *model, const char *when)
{
	char *text = text_of(model);
	struct vmspace *copy;

	assert_int_equal(vmspace_clone(&copy, view), 0);
	assert_false(vmspace_is_snapshot(copy));
	same_text(copy, text, when);
	sound(copy);
	vmspace_snapshot_close(view);
	for (int i = 0; i < 100; i++)
		random_call();
	sound(space);
	same_text(copy, text, when);
	test_free(text);
	text = text_of(space);
	go_on_alike(copy, model, when);
	vmspace_destroy(copy);
	same_text(space, text, when);
	sound(space);
	test_free(text);
}

/* A clone of a snapshot is what one of the space was then, and goes on as that does. */
static void a_clone_is_that_of_its_moment(void **state)
{
	(void)state;
	for (unsigned int round = 0; round < 12; round++) {
		enum kind kind = round % KINDS;
		const struct vmspace *view;
		struct vmspace *model;

		build(kind);
		for (int i = 0; i < 100; i++)
			random_call();
		assert_int_equal(vmspace_clone(&model, space), 0);
		assert_int_equal(vmspace_snapshot(&view, space), 0);
		for (int i = 0; i < 200; i++)
			random_call();
		write_to(64);
		if (round / KINDS % 2)
			vmspace_exit(space); /* the snapshot outlives the areas */
		clone_like(view, model, kind_name[kind]);
		vmspace_destroy(model);
		end();
	}
}

/* Enough areas that a child shares them (inherited.h). */
#define MANY 600

/* Areas that a child shares with its parent are its own in a clone of its snapshot. */
static void a_clone_of_what_is_inherited(void **state)
{
	struct vmspace_request r = { .op = VMSPACE_FORK };
	const struct vmspace *view;
	struct vmspace *parent, *model;

	(void)state;
	build(OF_ONE);
	for (unsigned long page = 0; page < MANY; page++)
		assert_int_equal(map(1000 + page, 1, page % 2 ? PROT_READ : PROT_READ | PROT_WRITE),
				 at(1000 + page));
	for (unsigned long page = 0; page < MANY; page += 4)
		write_to(1000 + page);
	assert_int_equal(vmspace_call(space, &r), 0);
	parent = space;
	space = r.fork.child;
	assert_non_null(space->origin);
	assert_int_equal(vmspace_clone(&model, space), 0);
	assert_int_equal(vmspace_snapshot(&view, space), 0);
	for (unsigned long page = 2; page < MANY; page += 4)
		write_to(1000 + page);
	vmspace_destroy(parent);
	clone_like(view, model, "inherited");
	vmspace_destroy(model);
	end();
}

/* The space gives a file another name: not in the clone, which has it from the snapshot. */
static void a_clone_keeps_names(void **state)
{
	(void)state;
	for (enum kind kind = 0; kind < KINDS; kind++) {
		const struct vmspace *view;
		struct vmspace *copy;
		char *text;

		build(kind);
		assert_int_equal(vmspace_snapshot(&view, space), 0);
		assert_int_equal(vmspace_clone(&copy, view), 0);
		text = text_of(copy);
		vmspace_snapshot_close(view);
		map(4, 1, PROT_READ);
		assert_true(kind != OF_ONE || !space->past); /* areas change in place again */
		assert_int_equal(vmspace_identify(space, at(100), &other_file), 0);
		same_text(copy, text, "renamed in the space");
		vmspace_destroy(copy);
		test_free(text);
		end();
	}
}

static void no_memory_for_a_clone(void **state)
{
	(void)state;
	for (enum kind kind = 0; kind < KINDS; kind++) {
		const struct vmspace *view;
		struct vmspace *copy = NULL;
		char *text;
		long n;

		build(kind);
		text = text_of(space);
		assert_int_equal(vmspace_snapshot(&view, space), 0);
		for (n = 1;; n++) {
			int err;

			scarce.countdown = n;
			err = vmspace_clone(&copy, view);
			if (!err)
				break;
			scarce.countdown = 0;
			assert_int_equal(err, -ENOMEM);
			assert_null(copy);
			same_text(view, text, "no memory");
			random_call();
			sound(space);
		}
		scarce.countdown = 0;
		assert_true(n > (long)copy->areas); /* each area's failed, too */
		sound(copy);
		vmspace_destroy(copy);
		same_text(view, text, "cloned");
		test_free(text);
		vmspace_snapshot_close(view);
		end();
	}
}

static void *clone_often(void *view)
{
	struct vmspace *first, *copy;
	void *differs = NULL;
	char *text;

	if (vmspace_clone(&first, view))
		return view;
	text = text_of(first);
	for (int i = 0; i < 100 && !differs; i++) {
		char *now;

		if (vmspace_clone(&copy, view)) {
			differs = view;
			break;
		}
		now = text_of(copy);
		if (strcmp(now, text))
			differs = view;
		test_free(now);
		vmspace_destroy(copy);
	}
	test_free(text);
	vmspace_destroy(first);
	return differs;
}

/* Clones take no lock of the space, and nothing that calls on it change. */
static void others_clone_meanwhile(void **state)
{
	(void)state;
	beside_calls(clone_often);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_clone_is_that_of_its_moment),
		cmocka_unit_test(a_clone_of_what_is_inherited),
		cmocka_unit_test(a_clone_keeps_names),
		cmocka_unit_test(no_memory_for_a_clone),
		cmocka_unit_test(others_clone_meanwhile),
	};

	seed_from(argc, argv);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
