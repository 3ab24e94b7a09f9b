/* SPDX-License-Identifier: MIT */
/* vmspace_copies.c - children of a fork, clones, and to which anon_vma their areas belong. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include <sys/mman.h>

#include <mapletree/vmspace_rules.h>

#include "merge.h"
#include "units.h"

static void fork_is_independent(void **state)
{
	struct vmspace *child;
	char ours[4096], theirs[4096];
	const struct vma_backing file = { .kind = VMA_BACKING_FILE, .inode = 5, .name = "/f" };
	const struct vma_backing renamed = { .inode = 5, .name = "/g" };

	(void)state;
	map(0x10000, 1, PROT_READ, NULL);
	map(0x20000, 1, PROT_READ, &file);
	map(0x30000, 1, PROT_READ, &file);
	name(0x10000, 1, "x");
	memset(&req, 0, sizeof(req));
	req.op = VMSPACE_FORK;
	assert_int_equal(call(), 0);
	child = req.fork.child;
	assert_true(vmspace_check(child, NULL));
	vmspace_show(space, ours, sizeof(ours));
	vmspace_show(child, theirs, sizeof(theirs));
	assert_string_equal(ours, theirs);
	assert_int_equal(vmspace_identify(child, 0x20000, &renamed), 0);
	vmspace_exit(space);
	assert_int_equal(vmspace_show(space, ours, sizeof(ours)), 0);
	vmspace_show(child, theirs, sizeof(theirs));
	assert_non_null(strstr(theirs, "/g"));
	vmspace_destroy(child);
}

/* Whichever way the child has got its areas, which takes turns. */
static void what_a_child_learns_is_its_own(void **state)
{
	const struct vma_backing file = { .kind = VMA_BACKING_FILE, .inode = 5, .name = "/f" };
	const struct vma_backing renamed = { .inode = 5, .name = "/g" };
	const struct vma_backing again = { .inode = 5, .name = "/h" };
	struct vma_info info;

	(void)state;
	map(0x10000, 1, PROT_READ, NULL);
	map(0x20000, 1, PROT_READ, &file);
	for (int i = 0; i < 2; i++) {
		req = (struct vmspace_request){ .op = VMSPACE_FORK };
		assert_int_equal(call(), 0);
		assert_int_equal(vmspace_identify(space, 0x20000, &renamed), 0);
		assert_true(vmspace_lookup(req.fork.child, 0x20000, &info));
		assert_string_equal(info.backing.name, "/f");
		assert_int_equal(vmspace_identify(req.fork.child, 0x20000, &again), 0);
		assert_true(vmspace_lookup(space, 0x20000, &info));
		assert_string_equal(info.backing.name, "/g");
		assert_int_equal(vmspace_identify(space, 0x20000, &file), 0);
		assert_true(vmspace_lookup(req.fork.child, 0x20000, &info));
		assert_string_equal(info.backing.name, "/h");
		vmspace_destroy(req.fork.child);
	}
}

/* From so many areas on a child has its parent's until one of the two changes them. */
#define MANY 300

/* Also when the child through which it has them has gone, which had them from its parent. */
static void what_a_parent_learns_is_its_own(void **state)
{
	const struct vma_backing file = { .kind = VMA_BACKING_FILE, .inode = 5, .name = "/f" };
	const struct vma_backing renamed = { .inode = 5, .name = "/g" };
	struct vmspace *grandchild;
	struct vma_info info;

	(void)state;
	for (unsigned long i = 0; i < MANY; i++)
		map(0x10000 + 2 * i * PAGE, 1, PROT_READ, &file);
	req = (struct vmspace_request){ .op = VMSPACE_FORK };
	assert_int_equal(call(), 0);
	assert_int_equal(vmspace_clone(&grandchild, req.fork.child), 0);
	vmspace_destroy(req.fork.child);
	map(0x8000, 1, PROT_READ, NULL); /* the call finds that nobody looks at its areas any more */
	assert_int_equal(vmspace_identify(space, 0x10000, &renamed), 0);
	assert_true(vmspace_lookup(space, 0x10000, &info));
	assert_string_equal(info.backing.name, "/g");
	assert_true(vmspace_lookup(grandchild, 0x10000, &info));
	assert_string_equal(info.backing.name, "/f");
	vmspace_destroy(grandchild);
}

/* What is not told by areas is inherited, too: the heap, keys, and which files there have been. */
static void child_goes_on_as_its_parent(void **state)
{
	const struct vmspace_image image = { .start_brk = 0x100000, .brk = 0x103000 };
	struct vmspace_config config = *vmspace_config(space);
	struct vmspace_request calls[] = {
		{ .op = VMSPACE_BRK },
		{ .op = VMSPACE_BRK, .brk = { 0x105000 } },
		{ .op = VMSPACE_PKEY_ALLOC },
		{ .op = VMSPACE_MMAP, .mmap = { .length = 2 * PAGE, .prot = PROT_READ,
						.flags = MAP_SHARED | MAP_ANONYMOUS } },
	};
	struct vma_info first, ours, theirs;
	struct vmspace *child;

	(void)state;
	config.pkeys = true;
	assert_int_equal(vmspace_configure(space, &config), 0);
	assert_int_equal(vmspace_exec(space, NULL, 0, &image), 0);
	req = calls[2];
	assert_int_equal(call(), 1);
	req = calls[3];
	assert_true(vmspace_lookup(space, (unsigned long)call(), &first));
	req = (struct vmspace_request){ .op = VMSPACE_FORK };
	assert_int_equal(call(), 0);
	child = req.fork.child;
	for (size_t i = 0; i < sizeof(calls) / sizeof(*calls); i++) {
		req = calls[i];
		assert_int_equal(vmspace_call(child, &calls[i]), call());
	}
	assert_true(vmspace_lookup(space, (unsigned long)req.out.result, &ours));
	assert_true(vmspace_lookup(child, (unsigned long)req.out.result, &theirs));
	assert_int_equal(ours.backing.file_id, theirs.backing.file_id);
	assert_int_not_equal(ours.backing.file_id, first.backing.file_id);
	vmspace_destroy(child);
}

/* ---- copies, and what is learned about anon_vmas ---- */

static long touch(struct vmspace *in, unsigned long addr)
{
	struct vmspace_request fault = { .op = VMSPACE_FAULT,
					 .fault = { addr, VMSPACE_ACCESS_WRITE } };

	return vmspace_call(in, &fault);
}

static uint64_t anon_of(const struct vmspace *in, unsigned long addr)
{
	struct vma_info info;

	assert_true(vmspace_lookup(in, addr, &info));
	return info.anon_id;
}

static void assert_same_spaces(const struct vmspace *a, const struct vmspace *b)
{
	struct vma_info x, y;
	struct vmspace_stats s, t;
	unsigned long at = 0;
	const char *why;

	assert_true(vmspace_check(b, &why));
	while (vmspace_next(a, at, &x)) {
		assert_true(vmspace_next(b, at, &y));
		assert_true(x.start == y.start && x.end == y.end && x.flags == y.flags &&
			    x.offset == y.offset && x.page_offset == y.page_offset &&
			    x.anon_id == y.anon_id && x.anon_shared == y.anon_shared &&
			    x.pkey == y.pkey && x.backing.file_id == y.backing.file_id);
		at = x.end;
	}
	assert_false(vmspace_next(b, at, &y));
	vmspace_stats(a, &s);
	vmspace_stats(b, &t);
	/* Up to the tree's own: a fresh one is packed otherwise than one that has grown. */
	assert_memory_equal(&s, &t, offsetof(struct vmspace_stats, tree_nodes));
}

/* Areas of every kind, one with a fork behind it, one locked, one named. */
static void furnish(void)
{
	const struct vma_backing file = { .kind = VMA_BACKING_FILE, .inode = 5, .name = "/f" };

	map(0x10000, 4, PROT_READ | PROT_WRITE, NULL);
	map(0x20000, 2, PROT_READ | PROT_WRITE, &file);
	map(0x22000, 2, PROT_READ, &file);
	map(0x30000, 4, PROT_READ | PROT_WRITE, NULL);
	map(0x50000, 1, PROT_READ | PROT_WRITE, NULL);
	assert_int_equal(name(0x10000, 2, "x"), 0);
	assert_int_equal(touch(space, 0x10000), 0);
	assert_int_equal(touch(space, 0x20000), 0);
	req = (struct vmspace_request){ .op = VMSPACE_MLOCK, .mlock = { 0x30000, PAGE, 0, false } };
	assert_int_equal(call(), 0);
	req = (struct vmspace_request){ .op = VMSPACE_FORK };
	assert_int_equal(call(), 0);
	vmspace_destroy(space);
	space = req.fork.child;
	assert_int_equal(touch(space, 0x31000), 0);
	req = (struct vmspace_request){ .op = VMSPACE_MLOCKALL, .mlockall.flags = MCL_FUTURE };
	assert_int_equal(call(), 0);
	map(0x40000, 2, PROT_READ | PROT_WRITE, NULL);
	assert_int_not_equal(anon_of(space, 0x40000), 0); /* locked, so there from the start */
	/* There were more areas, of which two became one; some pages are pinned. */
	map(0x60000, 1, PROT_READ, NULL);
	map(0x41000, 2, PROT_READ | PROT_WRITE, NULL);
	req = (struct vmspace_request){ .op = VMSPACE_MUNMAP, .munmap = { 0x60000, PAGE } };
	assert_int_equal(call(), 0);
	assert_int_equal(vmspace_pin(space, 3), 0);
}

static void clone_is_exact(void **state)
{
	struct vmspace *copy;
	char ours[4096], theirs[4096];

	(void)state;
	furnish();
	assert_int_equal(vmspace_clone(&copy, space), 0);
	assert_same_spaces(space, copy);
	vmspace_show(space, ours, sizeof(ours));
	vmspace_show(copy, theirs, sizeof(theirs));
	assert_string_equal(ours, theirs);
	assert_memory_equal(vmspace_config(space), vmspace_config(copy),
			    sizeof(struct vmspace_config));
	vmspace_destroy(copy);
}

/* The same calls have the same answers on both, and neither feels the other's. */
static void clone_is_independent(void **state)
{
	const struct vma_backing renamed = { .inode = 5, .name = "/g" };
	struct vmspace *copy, *second;
	char before[4096], after[4096];

	(void)state;
	furnish();
	vmspace_show(space, before, sizeof(before));
	assert_int_equal(vmspace_clone(&copy, space), 0);
	assert_int_equal(vmspace_clone(&second, space), 0);
	for (int i = 0; i < 3; i++) {
		struct vmspace_request map = { .op = VMSPACE_MMAP, .mmap = {
			.length = 3 * PAGE, .prot = PROT_READ,
			.flags = MAP_PRIVATE | MAP_ANONYMOUS } };
		struct vmspace_request unmap = { .op = VMSPACE_MUNMAP,
						 .munmap = { 0x11000, PAGE } };
		struct vmspace *in = i == 0 ? copy : i == 1 ? second : space;

		if (in == space) {
			vmspace_show(space, after, sizeof(after));
			assert_string_equal(before, after);
			assert_int_equal(anon_of(space, 0x50000), 0);
		}
		assert_true(vmspace_call(in, &map) > 0);
		assert_int_equal(vmspace_call(in, &unmap), 0);
		assert_int_equal(touch(in, 0x50000), 0);
		assert_int_equal(vmspace_identify(in, 0x20000, &renamed), 0);
	}
	assert_same_spaces(copy, second);
	assert_same_spaces(copy, space);
	vmspace_destroy(space);
	space = copy;
	assert_same_spaces(second, copy);
	vmspace_destroy(second);
}

/* Pages that MREMAP_DONTUNMAP left counted as locked, as Linux 6.18 does, stay so. */
static void clone_keeps_leaked_locks(void **state)
{
	struct vmspace_config config = *vmspace_config(space);
	struct vmspace_stats stats;
	struct vmspace *copy;

	(void)state;
	assert_int_equal(vmspace_config_kernel(&config, "6.18"), 0);
	assert_int_equal(vmspace_configure(space, &config), 0);
	map(0x10000, 2, PROT_READ | PROT_WRITE, NULL);
	req = (struct vmspace_request){ .op = VMSPACE_MLOCK,
					.mlock = { 0x10000, 2 * PAGE, 0, false } };
	assert_int_equal(call(), 0);
	req = (struct vmspace_request){ .op = VMSPACE_MREMAP, .mremap = { 0x10000, 2 * PAGE,
		2 * PAGE, MREMAP_MAYMOVE | MREMAP_DONTUNMAP, 0 } };
	assert_true(call() > 0);
	vmspace_stats(space, &stats);
	assert_int_equal(stats.locked_vm, 4);
	assert_int_equal(vmspace_clone(&copy, space), 0);
	assert_same_spaces(space, copy);
	vmspace_destroy(copy);
	/* A child has no locks, whichever way it gets its areas: it takes turns. */
	for (int i = 0; i < 2; i++) {
		req = (struct vmspace_request){ .op = VMSPACE_FORK };
		assert_int_equal(call(), 0);
		vmspace_stats(req.fork.child, &stats);
		assert_int_equal(stats.locked_vm, 0);
		vmspace_destroy(req.fork.child);
	}
}

static bool answer;
static unsigned int asked;

static bool has_anon(void *ctx, unsigned long start, unsigned long end)
{
	(void)ctx;
	assert_true(start < end);
	asked++;
	return answer;
}

/* A request gathered on the original is completed on both; gathered again, it asks anew. */
static void clone_asks_the_host_anew(void **state)
{
	struct vmspace_config config = *vmspace_config(space);
	struct vmspace_request again;
	struct vmspace *copy;
	unsigned int before;

	(void)state;
	config.host.has_anon = has_anon;
	assert_int_equal(vmspace_configure(space, &config), 0);
	map(0x10000, 4, PROT_READ | PROT_WRITE, NULL);
	answer = false;
	req = (struct vmspace_request){ .op = VMSPACE_MPROTECT,
					.mprotect = { 0x10000, PAGE, PROT_READ, -1 } };
	vmspace_gather(space, &req);
	assert_int_equal(vmspace_clone(&copy, space), 0);
	again = req;
	assert_int_equal(vmspace_complete(space, &req), 0);
	assert_int_equal(anon_of(space, 0x10000), 0);
	answer = true;
	before = asked;
	vmspace_gather(copy, &again);
	assert_true(asked > before);
	assert_int_equal(vmspace_complete(copy, &again), 0);
	assert_int_not_equal(anon_of(copy, 0x10000), 0);
	assert_true(vmspace_check(copy, NULL));
	vmspace_destroy(copy);
}

/* Also about those beside, on both sides, as far as one might give another its own anon_vma. */
static void the_host_is_asked_about_a_run_of_areas(void **state)
{
	const unsigned long run = 6, from = 0x10000;
	struct vmspace_config config = *vmspace_config(space);

	(void)state;
	map(from, run, PROT_READ | PROT_WRITE, NULL);
	for (unsigned long i = 1; i < run; i += 2)
		map(from + i * PAGE, 1, PROT_READ | PROT_WRITE | PROT_EXEC, NULL);
	map(from - 2 * PAGE, 1, PROT_READ | PROT_WRITE, NULL);
	map(from + (run + 1) * PAGE, 1, PROT_READ | PROT_WRITE, NULL);
	config.host.has_anon = has_anon;
	assert_int_equal(vmspace_configure(space, &config), 0);
	answer = false;
	for (unsigned long i = 0; i < run; i++) {
		req = (struct vmspace_request){ .op = VMSPACE_MPROTECT };
		req.mprotect.addr = from + i * PAGE;
		req.mprotect.length = PAGE;
		req.mprotect.prot = PROT_READ | PROT_WRITE | (i % 2 ? PROT_EXEC : 0); /* as it is */
		req.mprotect.pkey = -1;
		asked = 0;
		assert_int_equal(call(), 0);
		assert_int_equal(asked, run);
	}
}

/* Two neighbours that only the anon_vma keeps apart: "left" at 0x10000, "right" at 0x12000. */
static void two_anon_vmas(void)
{
	map(0x10000, 2, PROT_READ | PROT_WRITE, NULL);
	map(0x12000, 2, PROT_READ, NULL);
	map(0x20000, 1, PROT_READ | PROT_WRITE, NULL);
	assert_int_equal(touch(space, 0x10000), 0);
	assert_int_equal(touch(space, 0x20000), 0);
	/* Moved there with its page, and so with an anon_vma of its own. */
	req = (struct vmspace_request){ .op = VMSPACE_MREMAP, .mremap = { 0x20000, PAGE, PAGE,
		MREMAP_MAYMOVE | MREMAP_FIXED, 0x12000 } };
	assert_int_equal(call(), 0x12000);
}

static long protect(unsigned long addr, unsigned long pages, int prot)
{
	req = (struct vmspace_request){ .op = VMSPACE_MPROTECT,
					.mprotect = { addr, pages * PAGE, prot, -1 } };
	return call();
}

static unsigned long areas_of(const struct vmspace *in)
{
	struct vmspace_stats stats;

	vmspace_stats(in, &stats);
	return stats.areas;
}

static bool was_kept_apart(unsigned long at)
{
	for (unsigned int i = 0; i < req.out.event_count; i++)
		if (req.out.events[i].kind == VMSPACE_EVENT_NO_MERGE && req.out.events[i].at == at)
			return req.out.events[i].verdict == VMA_DIFFERENT_ANON_VMA;
	return false;
}

static const struct vmspace_area attached[2] = {
	{ .start = 0x10000, .end = 0x12000, .flags = RW_FLAGS, .has_anon = true },
	{ .start = 0x12000, .end = 0x14000, .flags = RW_FLAGS & ~VMA_WRITE, .has_anon = true },
};

static void joined_anon_vmas_merge(void **state)
{
	const struct vmspace_image image = { .start_brk = 0x1000 };
	uint64_t left, right;

	(void)state;
	assert_int_equal(vmspace_exec(space, attached, 2, &image), 0);
	vmspace_part_anon(space, 0x12000);
	left = anon_of(space, 0x10000);
	right = anon_of(space, 0x12000);
	assert_true(left && right && left != right);
	assert_int_equal(protect(0x12000, 2, PROT_READ | PROT_WRITE), 0);
	assert_int_equal(areas_of(space), 2);
	assert_true(was_kept_apart(0x12000));
	assert_int_equal(protect(0x12000, 2, PROT_READ), 0);
	vmspace_join_anon(space, left, right);
	assert_true(anon_of(space, 0x10000) == left && anon_of(space, 0x12000) == left);
	assert_int_equal(areas_of(space), 2); /* joining alone merges nothing */
	assert_int_equal(protect(0x12000, 2, PROT_READ | PROT_WRITE), 0);
	assert_int_equal(areas_of(space), 1);
}

static void parted_anon_vmas_do_not_merge(void **state)
{
	(void)state;
	map(0x10000, 4, PROT_READ | PROT_WRITE, NULL);
	assert_int_equal(touch(space, 0x10000), 0);
	assert_int_equal(protect(0x12000, 2, PROT_READ), 0);
	assert_int_equal(anon_of(space, 0x12000), anon_of(space, 0x10000));
	vmspace_part_anon(space, 0x13fff);
	assert_int_not_equal(anon_of(space, 0x12000), anon_of(space, 0x10000));
	assert_int_equal(protect(0x12000, 2, PROT_READ | PROT_WRITE), 0);
	assert_int_equal(areas_of(space), 2);
}

/* An area whose pages were given back, before anybody looked, has its anon_vma still. */
static void a_parted_area_without_pages_has_an_anon_vma(void **state)
{
	const struct vmspace_image image = { .start_brk = 0x1000 };
	struct vmspace_area areas[2] = { attached[0], attached[1] };

	(void)state;
	areas[0].has_anon = false;
	for (int hidden = 0; hidden < 2; hidden++) {
		assert_int_equal(vmspace_exec(space, areas, 2, &image), 0);
		assert_int_equal(anon_of(space, 0x10000), 0);
		if (hidden)
			vmspace_part_anon(space, 0x11000);
		assert_int_equal(protect(0x12000, 2, PROT_READ | PROT_WRITE), 0);
		assert_int_equal(areas_of(space), 1 + hidden);
	}
	assert_true(was_kept_apart(0x12000));
}

/* An area with an anon_vma, and one without that touches it: one, unless a fork handed it down. */
static void an_inherited_anon_vma_keeps_areas_apart(void **state)
{
	const struct vmspace_image image = { .start_brk = 0x1000 };

	(void)state;
	for (int inherited = 0; inherited < 2; inherited++) {
		assert_int_equal(vmspace_exec(space, attached, 1, &image), 0);
		vmspace_inherit_anon(space, 0x11000, !inherited);
		vmspace_inherit_anon(space, 0x10000, inherited);
		map(0x12000, 2, PROT_READ | PROT_WRITE, NULL);
		assert_int_equal(areas_of(space), 1 + inherited);
	}
	assert_int_not_equal(anon_of(space, 0x10000), 0);
	vmspace_inherit_anon(space, 0x12000, true); /* has none */
	vmspace_inherit_anon(space, 0x50000, true); /* is none */
	assert_int_equal(protect(0x12000, 1, PROT_READ), 0);
	assert_int_equal(areas_of(space), 3);
	assert_int_equal(protect(0x12000, 1, PROT_READ | PROT_WRITE), 0);
	assert_int_equal(areas_of(space), 2);
}

static void joining_and_parting_nothing_changes_nothing(void **state)
{
	struct vmspace *copy;
	uint64_t left;

	(void)state;
	two_anon_vmas();
	req = (struct vmspace_request){ .op = VMSPACE_MMAP, .mmap = { .addr = 0x30000,
		.length = PAGE, .flags = MAP_SHARED | MAP_ANONYMOUS | MAP_FIXED,
		.backing.kind = VMA_BACKING_SHMEM } };
	assert_int_equal(call(), 0x30000); /* cannot have an anon_vma */
	left = anon_of(space, 0x10000);
	assert_int_equal(vmspace_clone(&copy, space), 0);
	vmspace_part_anon(space, 0x30000);
	vmspace_part_anon(space, 0x50000);
	vmspace_join_anon(space, left, left);
	vmspace_join_anon(space, left, 0);
	vmspace_join_anon(space, 0, left);
	vmspace_join_anon(space, left, 99999);
	assert_same_spaces(copy, space);
	vmspace_destroy(copy);
}

/* A child has no page of an area that is wiped for it, and so no anon_vma; of others it inherits that. */
static void a_wiped_area_has_no_anon_vma_in_a_child(void **state)
{
	struct vmspace *child;
	struct vma_info info;

	(void)state;
	map(0x10000, 1, PROT_READ | PROT_WRITE, NULL);
	map(0x20000, 1, PROT_READ | PROT_WRITE, NULL);
	for (unsigned long at = 0x10000; at <= 0x20000; at += 0x10000) {
		memset(&req, 0, sizeof(req));
		req.op = VMSPACE_MLOCK;
		req.mlock.addr = at;
		req.mlock.length = PAGE;
		assert_int_equal(call(), 0);
	}
	memset(&req, 0, sizeof(req));
	req.op = VMSPACE_MADVISE;
	req.madvise = (struct vmspace_madvise){ 0x10000, PAGE, MADV_WIPEONFORK };
	assert_int_equal(call(), 0);
	assert_true(vmspace_lookup(space, 0x10000, &info) && info.anon_id);
	req = (struct vmspace_request){ .op = VMSPACE_FORK };
	assert_int_equal(call(), 0);
	child = req.fork.child;
	assert_true(vmspace_lookup(child, 0x10000, &info) && !info.anon_id && !info.anon_shared);
	assert_true(vmspace_lookup(child, 0x20000, &info) && info.anon_id && info.anon_shared);
	vmspace_destroy(child);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		SPACE(fork_is_independent), SPACE(child_goes_on_as_its_parent), SPACE(clone_is_exact),
		SPACE(what_a_child_learns_is_its_own),
		SPACE(what_a_parent_learns_is_its_own), SPACE(clone_is_independent),
		SPACE(clone_keeps_leaked_locks), SPACE(clone_asks_the_host_anew),
		SPACE(the_host_is_asked_about_a_run_of_areas),
		SPACE(joined_anon_vmas_merge), SPACE(parted_anon_vmas_do_not_merge),
		SPACE(a_parted_area_without_pages_has_an_anon_vma),
		SPACE(a_wiped_area_has_no_anon_vma_in_a_child), SPACE(an_inherited_anon_vma_keeps_areas_apart),
		SPACE(joining_and_parting_nothing_changes_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
