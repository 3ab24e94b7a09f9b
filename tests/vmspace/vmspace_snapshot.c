/* SPDX-License-Identifier: MIT */
/*
 * vmspace_snapshot.c - snapshots show what their space was: after every kind of change, in spaces of
 * one thread, of several, and with memory; whatever is closed first. Takes a seed; prints the one it
 * draws.
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
#include <time.h>
#include <cmocka.h>
#include <sys/mman.h>

#include <mapletree/vmspace_rules.h>

#include "advice.h"
#include "numbered_frames.h"
#include "past.h"
#include "scarce.h"

#define PAGE 4096UL
#define BASE 0x10000000UL
#define TASK_SIZE ((1UL << (sizeof(long) == 8 ? 47 : 31)) - PAGE)
#define REQUEST(op_name, field, ...) \
	(struct vmspace_request){ .op = op_name, .field = (struct vmspace_##field){ __VA_ARGS__ } }

enum kind { OF_ONE, OF_SEVERAL, WITH_MEMORY, KINDS };

static const char *const kind_name[KINDS] = { "one thread", "several threads", "memory" };
static uint64_t seed, random_state;
static struct vmspace *space;

static int file_page(void *ctx, const struct vma_backing *backing, uint64_t index, uint64_t *frame)
{
	(void)ctx;
	(void)backing;
	*frame = ((uint64_t)1 << 40) + index;
	return 0;
}

static void file_release(void *ctx, uint64_t frame)
{
	(void)ctx;
	(void)frame;
}

static const struct vmspace_memory memory = {
	.alloc = frame_alloc, .free = frame_free, .copy = frame_copy, .file_page = file_page,
	.file_release = file_release,
};

static unsigned int draw(unsigned int below)
{
	random_state = random_state * 6364136223846793005ULL + 1442695040888963407ULL;
	return (unsigned int)(random_state >> 33) % below;
}

static unsigned long at(unsigned long page)
{
	return BASE + page * PAGE;
}

static void begin(enum kind kind)
{
	struct vmspace_config config;

	vmspace_config_init(&config);
	assert_int_equal(vmspace_config_kernel(&config, "6.18"), 0);
	config.page_size = PAGE;
	config.task_size = config.map_window = TASK_SIZE;
	config.mmap_base = 0x60000000;
	config.mmap_base_legacy = 0x2aaaa000;
	config.mmap_min_addr = PAGE;
	config.anon_names = true;
	config.lock_privileged = true;
	config.overcommit = 1;
	config.memory_nodes = 3;
	config.max_map_count = 100000;
	config.threads = kind == OF_SEVERAL;
	config.memory = kind == WITH_MEMORY ? &memory : NULL;
	assert_int_equal(vmspace_create(&space, &config), 0);
}

static void end(void)
{
	vmspace_destroy(space);
	space = NULL;
	assert_int_equal(frames, 0);
}

/* All that a space shows, as one text, which the caller frees. */
static char *text_of(const struct vmspace *of)
{
	size_t length = vmspace_show(of, NULL, 0), more, room;
	struct vmspace_stats stats;
	struct vma_iterator it;
	struct vma_info info;
	char *text;

	vmspace_stats(of, &stats);
	room = length + 1 + 400 * stats.areas + 600;
	text = test_malloc(room);
	assert_int_equal(vmspace_show(of, text, room), length);
	more = length;
	vma_iter_init(&it, of, 0);
	while (vma_iter_next(&it, &info))
		more += (size_t)snprintf(text + more, room - more,
					 "%lx %llx %llu %s%s %llu %u %d %llx %u %u %llu\n", info.start,
					 (unsigned long long)info.flags,
					 (unsigned long long)info.page_offset,
					 info.anon_name ? info.anon_name : "-",
					 info.backing.name ? info.backing.name : "-",
					 (unsigned long long)info.anon_id, info.anon_shared,
					 info.policy, (unsigned long long)info.policy_nodes,
					 (unsigned int)info.pkey, (unsigned int)info.uffd,
					 (unsigned long long)info.backing.inode);
	snprintf(text + more, room - more,
		 "%lu %lu %lu %lu %lu %lu %lu %lu %lu of %lu %lu brk %lx %lx base %lx %lu %lu "
		 "pages %lu %lu faults %lu calls %lu %lu\n", stats.areas, stats.areas_peak, stats.total_vm,
		 stats.locked_vm, stats.data_vm, stats.stack_vm, stats.exec_vm, stats.pinned_vm,
		 stats.committed_vm, stats.commit_total, stats.commit_limit, stats.brk,
		 stats.start_brk, stats.mmap_base, stats.merges, stats.splits, stats.anon_pages,
		 stats.table_bytes, stats.faults, stats.requests[VMSPACE_MMAP],
		 stats.requests[VMSPACE_FAULT]);
	return text;
}

static void same_text(const struct vmspace *of, const char *text, const char *when)
{
	char *now = text_of(of);

	if (strcmp(now, text))
		fail_msg("seed %llu, %s: a snapshot shows\n%snot\n%s", (unsigned long long)seed, when,
			 now, text);
	test_free(now);
}

static void sound(const struct vmspace *of)
{
	const char *why = "";

	if (!vmspace_check(of, &why))
		fail_msg("seed %llu: %s", (unsigned long long)seed, why);
}

static long call(struct vmspace_request r)
{
	return vmspace_call(space, &r);
}

static long map(unsigned long page, unsigned long pages, int prot)
{
	return call(REQUEST(VMSPACE_MMAP, mmap, .addr = at(page), .length = pages * PAGE,
			    .prot = prot, .flags = MAP_FIXED | MAP_PRIVATE | MAP_ANONYMOUS));
}

static long map_file(unsigned long page, unsigned long pages, int flags)
{
	return call(REQUEST(VMSPACE_MMAP, mmap, .addr = at(page), .length = pages * PAGE,
			    .prot = PROT_READ | PROT_WRITE, .flags = MAP_FIXED | flags,
			    .backing = { .kind = VMA_BACKING_FILE, .name = "/lib/file", .inode = 7,
					 .size = 4096 * PAGE }));
}

static void write_to(unsigned long page)
{
	vmspace_touch(space, at(page), VMSPACE_ACCESS_WRITE, NULL);
}

/* Areas of many kinds, on pages 0 .. 199. */
static void build(enum kind kind)
{
	struct vmspace_image image = { .start_brk = at(1000), .brk = at(1000),
				       .start_stack = at(300) };

	begin(kind);
	assert_int_equal(vmspace_exec(space, NULL, 0, &image), 0);
	for (unsigned long page = 0; page < 60; page += 6)
		assert_int_equal(map(page, 4, page % 4 ? PROT_READ : PROT_READ | PROT_WRITE),
				 at(page));
	assert_int_equal(map(60, 30, PROT_READ | PROT_WRITE), at(60));
	assert_int_equal(map_file(100, 10, MAP_PRIVATE), at(100));
	assert_int_equal(map_file(120, 10, MAP_SHARED), at(120));
	assert_int_equal(map(140, 20, PROT_READ | PROT_WRITE), at(140));
	assert_int_equal(call(REQUEST(VMSPACE_SET_ANON_NAME, set_anon_name, at(145), 5 * PAGE,
				      "old")), 0);
	assert_int_equal(call(REQUEST(VMSPACE_MMAP, mmap, .addr = at(290), .length = 10 * PAGE,
				      .prot = PROT_READ | PROT_WRITE,
				      .flags = MAP_FIXED | MAP_PRIVATE | MAP_ANONYMOUS |
					       MAP_GROWSDOWN)), at(290));
	write_to(64);
	sound(space);
}

/* ---- each kind of change -------------------------------------------------------------------- */

static void fork_and_leave(void)
{
	struct vmspace_request r = { .op = VMSPACE_FORK };

	assert_int_equal(vmspace_call(space, &r), 0);
	sound(r.fork.child);
	vmspace_destroy(r.fork.child);
}

static const struct vma_backing other_file = { .kind = VMA_BACKING_FILE, .name = "/lib/renamed",
					       .inode = 8 };

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
			      MREMAP_MAYMOVE | 4 /* DONTUNMAP */, 0)); break;
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

static void random_call(void)
{
	unsigned long page = draw(200), pages = 1 + draw(12);

	switch (draw(9)) {
	case 0: case 1: map(page, pages, draw(2) ? PROT_READ : PROT_READ | PROT_WRITE); break;
	case 2: call(REQUEST(VMSPACE_MUNMAP, munmap, at(page), pages * PAGE)); break;
	case 3: call(REQUEST(VMSPACE_MPROTECT, mprotect, at(page), pages * PAGE,
			     draw(2) ? PROT_READ : PROT_READ | PROT_WRITE, -1)); break;
	case 4: call(REQUEST(VMSPACE_MREMAP, mremap, at(page), pages * PAGE, (1 + draw(9)) * PAGE,
			     MREMAP_MAYMOVE | MREMAP_FIXED, at(draw(200)))); break;
	case 5: call(REQUEST(VMSPACE_SET_ANON_NAME, set_anon_name, at(page), pages * PAGE,
			     draw(2) ? "a" : "b")); break;
	case 6: map_file(page, pages, draw(2) ? MAP_PRIVATE : MAP_SHARED); break;
	case 7: call(REQUEST(VMSPACE_MADVISE, madvise, at(page), pages * PAGE,
			     draw(2) ? MADV_DONTFORK : MADV_DOFORK)); break;
	default: write_to(page); break;
	}
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
				same_text(view[i], text[i], kind_name[kind]);
				vmspace_snapshot_close(view[i]);
				test_free(text[i]);
				view[i] = NULL;
			} else {
				text[i] = text_of(space);
				assert_int_equal(vmspace_snapshot(&view[i], space), 0);
			}
			if (!draw(8))
				sound(space);
			/* From time to time none is open. */
			for (i = 0; i < OPEN && !draw(20); i++) {
				if (!view[i])
					continue;
				same_text(view[i], text[i], kind_name[kind]);
				vmspace_snapshot_close(view[i]);
				test_free(text[i]);
				view[i] = NULL;
			}
		}
		/* The rest outlive the space, or what is in it. */
		if (round % 2)
			vmspace_exit(space);
		else
			end();
		for (unsigned int i = 0; i < OPEN; i++) {
			if (!view[i])
				continue;
			same_text(view[i], text[i], "outliving");
			sound(view[i]);
			vmspace_snapshot_close(view[i]);
			test_free(text[i]);
		}
		if (round % 2)
			end();
	}
}

/* ---- what is refused ------------------------------------------------------------------------ */

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

/* ---- clones --------------------------------------------------------------------------------- */

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

/* What a reader in a section of its own has found stays, in a space whose areas a snapshot keeps, too. */
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
	for (enum kind kind = 0; kind < KINDS; kind++) {
		const struct vmspace *view;
		pthread_t thread[2];
		void *result;

		build(kind);
		assert_int_equal(vmspace_snapshot(&view, space), 0);
		for (int i = 0; i < 2; i++)
			assert_int_equal(pthread_create(&thread[i], NULL, look,
							(void *)(uintptr_t)view), 0);
		for (int i = 0; i < 2000; i++)
			random_call();
		for (int i = 0; i < 2; i++) {
			pthread_join(thread[i], &result);
			assert_null(result);
		}
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
	for (enum kind kind = 0; kind < KINDS; kind++) {
		const struct vmspace *view;
		pthread_t thread[2];
		void *result;

		build(kind);
		assert_int_equal(vmspace_snapshot(&view, space), 0);
		for (int i = 0; i < 2; i++)
			assert_int_equal(pthread_create(&thread[i], NULL, clone_often,
							(void *)(uintptr_t)view), 0);
		for (int i = 0; i < 2000; i++)
			random_call();
		for (int i = 0; i < 2; i++) {
			pthread_join(thread[i], &result);
			assert_null(result);
		}
		vmspace_snapshot_close(view);
		end();
	}
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_change_leaves_it_as_it_was),
		cmocka_unit_test(any_number_in_any_order),
		cmocka_unit_test(a_snapshot_cannot_be_changed),
		cmocka_unit_test(a_clone_is_that_of_its_moment),
		cmocka_unit_test(a_clone_of_what_is_inherited),
		cmocka_unit_test(a_clone_keeps_names),
		cmocka_unit_test(no_memory_for_a_snapshot),
		cmocka_unit_test(no_memory_for_a_clone),
		cmocka_unit_test(it_is_private_again),
		cmocka_unit_test(readers_of_an_emptied_space_keep_what_they_found),
		cmocka_unit_test(numbers_begin_anew),
		cmocka_unit_test(others_look_meanwhile),
		cmocka_unit_test(others_clone_meanwhile),
	};

	seed = argc > 1 ? strtoull(argv[1], NULL, 0) : (uint64_t)time(NULL);
	random_state = seed;
	printf("# seed %llu\n", (unsigned long long)seed);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
