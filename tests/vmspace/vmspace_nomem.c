/* SPDX-License-Identifier: MIT */
/*
 * vmspace_nomem.c - fails the n-th allocation, for every n, of requests of every kind: each then
 * succeeds or returns -ENOMEM, the space stays consistent, and nothing leaks. (The allocation
 * functions are wrapped by the linker; the tree's nodes come from an allocator of the test.)
 */
#include <errno.h>
#include <linux/prctl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include <mapletree/vmspace_proc.h>
#include <mapletree/vmspace_rules.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "space.h"

#define PAGE 4096UL
#define BASE 0x100000UL
#define AREAS 40UL
#define HEAP (BASE + AREAS * 8 * PAGE)

static long countdown; /* allocations until one fails; 0: none */

static bool fails(void)
{
	return countdown && !--countdown;
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

char *__real_strdup(const char *text);
char *__wrap_strdup(const char *text);
char *__wrap_strdup(const char *text)
{
	return fails() ? NULL : __real_strdup(text);
}

char *__real_strndup(const char *text, size_t size);
char *__wrap_strndup(const char *text, size_t size);
char *__wrap_strndup(const char *text, size_t size)
{
	return fails() ? NULL : __real_strndup(text, size);
}

void *__real_realloc(void *block, size_t size);
void *__wrap_realloc(void *block, size_t size);
void *__wrap_realloc(void *block, size_t size)
{
	return fails() ? NULL : __real_realloc(block, size);
}

void *__real_reallocarray(void *block, size_t n, size_t size);
void *__wrap_reallocarray(void *block, size_t n, size_t size);
void *__wrap_reallocarray(void *block, size_t n, size_t size)
{
	return fails() ? NULL : __real_reallocarray(block, n, size);
}

/* An area's memory: a block serves many, so the failure has to come before it. */
struct vma *__real_vma_alloc(struct vma_store *store);
struct vma *__wrap_vma_alloc(struct vma_store *store);
struct vma *__wrap_vma_alloc(struct vma_store *store)
{
	return fails() ? NULL : __real_vma_alloc(store);
}

void *__real_aligned_alloc(size_t align, size_t size);
void *__wrap_aligned_alloc(size_t align, size_t size);
void *__wrap_aligned_alloc(size_t align, size_t size)
{
	return fails() ? NULL : __real_aligned_alloc(align, size);
}

static void *node_alloc(void *ctx, size_t size, size_t align)
{
	(void)ctx;
	return fails() ? NULL : __real_aligned_alloc(align, size);
}

static void node_free(void *ctx, void *block, size_t size)
{
	(void)ctx;
	(void)size;
	free(block);
}

static const struct mt_allocator nodes = { .alloc = node_alloc, .free = node_free };

static struct vmspace *space;
static struct vmspace_request req;
static char before[16384], after[16384];

static void map(unsigned long addr, int prot, const char *name)
{
	struct vmspace_request r = { .op = VMSPACE_MMAP };

	r.mmap = (struct vmspace_mmap){ .addr = addr, .length = 4 * PAGE, .prot = prot };
	r.mmap.flags = MAP_PRIVATE | MAP_FIXED | (name ? 0 : MAP_ANONYMOUS);
	r.mmap.backing.name = name;
	r.mmap.backing.kind = name ? VMA_BACKING_FILE : VMA_BACKING_ANON;
	assert_true(vmspace_call(space, &r) > 0);
}

static bool some_stay; /* build() marks every sixth area as not inherited */
static bool limited; /* build() leaves no address space */
static bool registered; /* build() registers the first area with a userfaultfd */

/* Pairs of areas that touch, and holes; a heap above. */
static void build(void)
{
	struct vmspace_request stay = { .op = VMSPACE_MADVISE };
	struct vmspace_request brk = { .op = VMSPACE_BRK, .brk = { HEAP + 2 * PAGE } };
	static struct vmspace_config config;

	if (!config.page_size)
		vmspace_config_init(&config);
	assert_int_equal(vmspace_config_kernel(&config, "6.18"), 0);
	config.page_size = PAGE;
	config.mmap_base = 0x7f0000000000;
	config.mmap_min_addr = PAGE;
	config.anon_names = true;
	config.memory_nodes = 1;
	assert_int_equal(vmspace_create(&space, &config), 0);
	assert_int_equal(mt_set_allocator(&space->tree, &nodes), 0);
	for (unsigned long i = 0; i < AREAS; i += 2) {
		map(BASE + i * 8 * PAGE, PROT_READ | PROT_WRITE, NULL);
		map(BASE + i * 8 * PAGE + 4 * PAGE, PROT_READ, i % 3 ? NULL : "/file");
		stay.madvise = (struct vmspace_madvise){ BASE + i * 8 * PAGE, 4 * PAGE,
							 MADV_DONTFORK };
		if (some_stay && i % 6 == 0)
			assert_int_equal(vmspace_call(space, &stay), 0);
	}
	if (registered) {
		struct vmspace_request reg = { .op = VMSPACE_UFFD_REGISTER };

		reg.uffd = (struct vmspace_uffd){ .addr = BASE, .length = 4 * PAGE, .mode = 1,
						  .context = 1 };
		assert_int_equal(vmspace_call(space, &reg), 0);
	}
	space->image.start_brk = space->image.brk = HEAP;
	assert_int_equal(vmspace_call(space, &brk), HEAP + 2 * PAGE);
	if (limited) {
		struct vmspace_config low = config;

		low.rlimit_as = PAGE;
		assert_int_equal(vmspace_configure(space, &low), 0);
	}
}

/*
 * Make the request with each allocation failing in turn, in a fresh space each time: a failure
 * leaves all areas as they were. Returns how often it failed.
 */
static long try_all(void)
{
	struct vmspace_request wanted = req;
	const char *reason = "";
	bool again = true;
	long failed = 0;

	for (long n = 1; again; n++) {
		build();
		vmspace_show(space, before, sizeof(before));
		req = wanted;
		countdown = n;
		vmspace_call(space, &req);
		again = !countdown;
		countdown = 0;
		if (!vmspace_check(space, &reason))
			fail_msg("allocation %ld: %s", n, reason);
		if (again && req.out.result == -ENOMEM && !limited)
			assert_true(req.out.out_of_memory);
		if (again && req.out.out_of_memory) {
			failed++;
			vmspace_show(space, after, sizeof(after));
			assert_string_equal(before, after);
		}
		if (req.op == VMSPACE_FORK)
			vmspace_destroy(req.fork.child);
		vmspace_destroy(space);
	}
	return failed;
}

static void new_req(enum vmspace_op op)
{
	memset(&req, 0, sizeof(req));
	req.op = op;
}

static void mapping(void **state)
{
	(void)state;
	new_req(VMSPACE_MMAP);
	req.mmap = (struct vmspace_mmap){ .length = PAGE, .prot = PROT_READ };
	req.mmap.flags = MAP_PRIVATE;
	req.mmap.backing = (struct vma_backing){ .kind = VMA_BACKING_FILE, .name = "/other" };
	assert_true(try_all() > 0);
	req.mmap.flags = MAP_SHARED | MAP_ANONYMOUS;
	assert_true(try_all() > 0);
	req.mmap.addr = BASE + 2 * PAGE;
	req.mmap.length = 60 * PAGE;
	req.mmap.flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED;
	assert_true(try_all() > 0);
}

/* What is refused half-way is not begun if there is no memory for that half. */
static void refused_mapping(void **state)
{
	const struct vma_backing unsynced = { .kind = VMA_BACKING_FILE, .name = "/other",
					      .flags = VMA_BACKING_SYNC };

	(void)state;
	new_req(VMSPACE_MMAP);
	req.mmap = (struct vmspace_mmap){ .addr = BASE + 2 * PAGE, .length = 60 * PAGE,
					  .prot = PROT_READ,
					  .flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED };
	limited = true;
	assert_true(try_all() > 0);
	assert_int_equal(req.out.result, -ENOMEM);
	req.mmap.length = PAGE;
	assert_true(try_all() > 0);
	limited = false;
	req.mmap.flags = MAP_PRIVATE | MAP_FIXED | 0x80000; /* MAP_SYNC */
	req.mmap.backing = unsynced;
	assert_true(try_all() > 0);
	assert_int_equal(req.out.result, -EOPNOTSUPP);
}

static void unmapping(void **state)
{
	(void)state;
	new_req(VMSPACE_MUNMAP);
	req.munmap = (struct vmspace_munmap){ BASE + PAGE, 2 * PAGE }; /* a hole in one area */
	assert_true(try_all() > 0);
	/* Both ends lie in different areas, and without readers no node is built: no memory is needed. */
	req.munmap = (struct vmspace_munmap){ BASE + PAGE, 100 * PAGE };
	assert_int_equal(try_all(), 0);
	req.munmap = (struct vmspace_munmap){ BASE + PAGE, (AREAS * 8 - 6) * PAGE };
	assert_int_equal(try_all(), 0);
}

static void break_moving(void **state)
{
	(void)state;
	new_req(VMSPACE_BRK);
	for (unsigned long pages = 0; pages < 5; pages++) { /* it is at 2 */
		req.brk.brk = HEAP + pages * PAGE;
		try_all();
	}
}

/* Every place in a tree of several leaves: each shape that a store may meet. */
static void everywhere(void **state)
{
	long failed[4] = { 0 };

	(void)state;
	for (unsigned long i = 0; i < AREAS * 8 - 8; i++) {
		unsigned long at = BASE + i * PAGE;

		new_req(VMSPACE_MUNMAP);
		req.munmap = (struct vmspace_munmap){ at, PAGE };
		failed[0] += try_all();
		req.munmap.length = 30 * PAGE;
		failed[1] += try_all();
		new_req(VMSPACE_MPROTECT);
		req.mprotect = (struct vmspace_mprotect){ at, PAGE, PROT_EXEC, -1 };
		failed[2] += try_all();
		new_req(VMSPACE_MMAP);
		req.mmap = (struct vmspace_mmap){ .addr = at, .length = PAGE, .prot = PROT_EXEC };
		req.mmap.flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE;
		failed[3] += try_all();
	}
	for (int k = 0; k < 4; k++) /* 30 pages never lie in one area: nothing is needed */
		assert_true(k == 1 ? failed[k] == 0 : failed[k] > 0);
}

static void protecting(void **state)
{
	(void)state;
	new_req(VMSPACE_MPROTECT);
	req.mprotect = (struct vmspace_mprotect){ BASE, 4 * PAGE, PROT_EXEC, -1 };
	try_all(); /* in place */
	req.mprotect = (struct vmspace_mprotect){ BASE, 2 * PAGE, PROT_EXEC, -1 };
	assert_true(try_all() > 0);
	req.mprotect = (struct vmspace_mprotect){ BASE + PAGE, 2 * PAGE, PROT_EXEC, -1 };
	assert_true(try_all() > 0);
	req.mprotect = (struct vmspace_mprotect){ BASE + PAGE, 6 * PAGE, PROT_READ, -1 };
	assert_true(try_all() > 0);
}

static void remapping(void **state)
{
	(void)state;
	new_req(VMSPACE_MREMAP);
	req.mremap = (struct vmspace_mremap){ BASE, 4 * PAGE, 8 * PAGE, MREMAP_MAYMOVE, 0 };
	assert_true(try_all() > 0);
	req.mremap = (struct vmspace_mremap){ BASE, 8 * PAGE, 8 * PAGE,
					      MREMAP_MAYMOVE | MREMAP_FIXED, 0x7e0000000000 };
	assert_true(try_all() > 0);
}

static void others(void **state)
{
	(void)state;
	new_req(VMSPACE_MADVISE);
	req.madvise = (struct vmspace_madvise){ BASE, AREAS * 8 * PAGE, MADV_DONTFORK };
	try_all(); /* in place */
	new_req(VMSPACE_MLOCK);
	req.mlock = (struct vmspace_mlock){ BASE + PAGE, PAGE, 0, false };
	assert_true(try_all() > 0);
	new_req(VMSPACE_SET_ANON_NAME);
	req.set_anon_name = (struct vmspace_set_anon_name){ BASE, 4 * PAGE, "name" };
	assert_true(try_all() > 0);
	new_req(VMSPACE_MLOCKALL);
	req.mlockall.flags = MCL_CURRENT;
	try_all(); /* in place */
}

static void policies(void **state)
{
	const struct vmspace_range ranges[] = { { BASE, PAGE }, { BASE + 2 * PAGE, PAGE } };

	(void)state;
	new_req(VMSPACE_MBIND);
	req.mbind = (struct vmspace_mbind){ BASE, 2 * PAGE, 2, 1, 0 };
	assert_true(try_all() > 0);
	req.mbind = (struct vmspace_mbind){ BASE + PAGE, 2 * PAGE, 2, 1, 0 };
	assert_true(try_all() > 0);
	new_req(VMSPACE_PROCESS_MADVISE);
	req.process_madvise = (struct vmspace_process_madvise){ ranges, 2, MADV_DONTFORK, 0 };
	assert_true(try_all() > 0);
}

static void registering(void **state)
{
	(void)state;
	new_req(VMSPACE_UFFD_REGISTER);
	req.uffd = (struct vmspace_uffd){ .addr = BASE, .length = 2 * PAGE, .mode = 1,
					  .context = 1 };
	assert_true(try_all() > 0);
	req.uffd.addr = BASE + PAGE;
	assert_true(try_all() > 0);
	registered = true;
	req.uffd = (struct vmspace_uffd){ .addr = BASE + PAGE, .length = 2 * PAGE, .context = 1 };
	req.op = VMSPACE_UFFD_UNREGISTER;
	assert_true(try_all() > 0);
	req.op = VMSPACE_UFFD_RELEASE;
	try_all(); /* areas grow over others, in place */
	registered = false;
}

static void forking(void **state)
{
	(void)state;
	new_req(VMSPACE_FORK);
	assert_true(try_all() > 0);
	some_stay = true;
	/* One for each area that the child gets. */
	assert_true(try_all() > (long)(AREAS - (AREAS + 5) / 6));
	some_stay = false;
}

static void taking_over(void **state)
{
	struct vmspace_area areas[3] = {
		{ .start = 0x10000, .end = 0x20000, .anon_name = "x" },
		{ .start = 0x20000, .end = 0x30000,
		  .backing = { .kind = VMA_BACKING_FILE, .name = "/a" } },
		{ .start = 0x30000, .end = 0x40000,
		  .backing = { .kind = VMA_BACKING_SPECIAL, .name = "[vdso]" } },
	};
	const struct vmspace_image image = { 0 };
	int err = -ENOMEM;

	(void)state;
	for (long n = 1; err; n++) {
		build();
		vmspace_show(space, before, sizeof(before));
		countdown = n;
		err = vmspace_exec(space, areas, 3, &image);
		countdown = 0;
		vmspace_show(space, after, sizeof(after));
		assert_true(vmspace_check(space, NULL));
		if (err) {
			assert_int_equal(err, -ENOMEM);
			assert_string_equal(before, after);
		}
		vmspace_destroy(space);
	}
}

/* A child that has an area with a name of its own, and waits to be killed. */
static pid_t start_child(void)
{
	int ready[2];
	pid_t pid;
	char *named;

	assert_int_equal(pipe(ready), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		named = mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		prctl(PR_SET_VMA, PR_SET_VMA_ANON_NAME, named, PAGE, "an area");
		if (write(ready[1], "", 1) == 1)
			pause();
		_exit(0);
	}
	assert_int_equal(read(ready[0], before, 1), 1);
	close(ready[0]);
	close(ready[1]);
	return pid;
}

/* What no comparison with the process shows. */
static void assert_same(const struct vmspace *a, const struct vmspace *b)
{
	const struct vmspace_config *c = vmspace_config(a), *d = vmspace_config(b);
	struct vma_info one, other;

	assert_true(c->admin == d->admin && c->lock_privileged == d->lock_privileged &&
		    c->low_privileged == d->low_privileged &&
		    c->move_all_privileged == d->move_all_privileged);
	for (unsigned long at = 0; vmspace_next(a, at, &one); at = one.end) {
		assert_true(vmspace_lookup(b, one.start, &other));
		assert_int_equal(one.anon_shared, other.anon_shared);
		assert_true(!one.anon_id == !other.anon_id);
	}
}

/* Where memory is missing for much of it at once, the areas' store makes do with little. */
static void loading(void **state)
{
	struct vmspace_difference difference;
	struct vmspace *reference;
	pid_t pid = start_child();
	bool again = true;
	long n, failed = 0;

	(void)state;
	assert_int_equal(vmspace_load(&reference, pid), 0);
	for (n = 1; again; n++) {
		struct vmspace *loaded;
		int err;

		countdown = n;
		err = vmspace_load(&loaded, pid);
		again = !countdown;
		countdown = 0;
		if (err) {
			assert_true(again);
			assert_int_equal(err, -ENOMEM);
			assert_null(loaded);
			failed++;
			continue;
		}
		assert_same(reference, loaded);
		if (vmspace_verify(loaded, pid, VMSPACE_VERIFY_ALL, &difference))
			fail_msg("%s", difference.text);
		vmspace_destroy(loaded);
	}
	/* Every mapped file has a name, and every area a place. */
	assert_true(failed > 20);
	vmspace_destroy(reference);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

static void verifying(void **state)
{
	struct vmspace_difference difference;
	pid_t pid = start_child();
	struct vmspace *loaded;
	bool again = true;
	int err;

	(void)state;
	assert_int_equal(vmspace_load(&loaded, pid), 0);
	for (long n = 1; again; n++) {
		countdown = n;
		err = vmspace_verify(loaded, pid, VMSPACE_VERIFY_ALL, &difference);
		again = !countdown;
		countdown = 0;
		assert_int_equal(err, again ? -ENOMEM : 0);
	}
	vmspace_destroy(loaded);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(mapping), cmocka_unit_test(refused_mapping),
		cmocka_unit_test(unmapping),
		cmocka_unit_test(break_moving), cmocka_unit_test(everywhere),
		cmocka_unit_test(protecting), cmocka_unit_test(remapping),
		cmocka_unit_test(others), cmocka_unit_test(policies),
		cmocka_unit_test(registering), cmocka_unit_test(forking),
		cmocka_unit_test(taking_over), cmocka_unit_test(loading),
		cmocka_unit_test(verifying),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
