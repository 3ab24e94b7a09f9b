/* SPDX-License-Identifier: MIT */
/*
 * vmspace_nomem_many.c - fails allocations, one or all from one on, of calls over hundreds of areas
 * of mixed kinds, in spaces with pages and without: the call succeeds whole, or the space is
 * exactly what it was: areas, pages, tables, counters, references, and what hooks were told.
 * Nothing is left. Once more, with fewer failures, beside an open snapshot, which shows what it
 * showed before.
 *
 * argv: a seed, and how many failures to try of each call (0: all).
 */
#include <errno.h>
#include <linux/userfaultfd.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <cmocka.h>
#include <sys/shm.h>
#include <urcu/urcu-bp.h>

#include "mman_names.h"
#include "pages.h"
#include "past.h"
#include "scarce.h"

#define PAGE 4096UL
#define BASE 0x100000000UL
#define AREAS 600UL
#define EACH 3UL             /* pages of an area */
#define SEEN (AREAS * EACH + 200)
#define FAR 0x7e0000000000UL
#define BREAK 0x200000000UL
#define SEGMENT 0x300000000UL

static unsigned long told;   /* events and faults that hooks were told */
static uint64_t seed;
static long samples = 12;

static void hear_event(void *ctx, const struct vmspace_event *event)
{
	(void)ctx;
	(void)event;
	told++;
}

static void hear_fault(void *ctx, const struct vmspace_page *page)
{
	(void)ctx;
	(void)page;
	told++;
}

static const struct vmspace_hooks hooks = { .event = hear_event, .fault = hear_fault };

static struct vmspace *space;
static bool with_pages, with_snapshot;
static const struct vmspace *snapshot;
static char *shown;          /* by the snapshot, when it was taken */

static unsigned long at(unsigned long page)
{
	return BASE + page * PAGE;
}

static long request(struct vmspace_request r)
{
	return vmspace_call(space, &r);
}

static void must(struct vmspace_request r)
{
	long result = request(r);

	if (result < 0)
		fail_msg("building: op %d returned %ld", (int)r.op, result);
}

#define REQUEST(op_name, field, ...) \
	(struct vmspace_request){ .op = op_name, .field = (struct vmspace_##field){ __VA_ARGS__ } }

/* What distinguishes the areas of a space before a call: which of them merge, stay, and split. */
enum kind { PLAIN, LOCKED, NAMED, BOUND, ONLY_READ, REGISTERED, UNTOUCHED, PINNED };

static void create(void)
{
	static struct vmspace_config config;

	if (!config.page_size)
		vmspace_config_init(&config);
	config.page_size = PAGE;
	config.mmap_base = 0x7f0000000000;
	config.mmap_min_addr = PAGE;
	config.anon_names = true;
	config.overcommit = 1;
	config.memory_nodes = 3;
	config.lock_privileged = true;
	config.hooks = &hooks;
	config.memory = with_pages ? &scarce_memory : NULL;
	assert_int_equal(vmspace_create(&space, &config), 0);
	assert_int_equal(mt_set_allocator(&space->tree, &scarce_nodes), 0);
}

/* The area's own: alternating, so that a call over several makes them one, or keeps them apart. */
static void vary(unsigned long n, enum kind kind)
{
	unsigned long addr = at(n * EACH), length = EACH * PAGE;

	if (kind != PINNED && (n % 2 == 0 || n % 7 == 5))
		return;
	if (kind == LOCKED)
		must(REQUEST(VMSPACE_MLOCK, mlock, addr, length, MLOCK_ONFAULT, true));
	if (kind == PINNED)
		must(REQUEST(VMSPACE_MLOCK, mlock, addr, length, 0, false));
	if (kind == NAMED)
		must(REQUEST(VMSPACE_SET_ANON_NAME, set_anon_name, addr, length, "old"));
	if (kind == BOUND)
		must(REQUEST(VMSPACE_MBIND, mbind, addr, length, 2, 1 + n / 2 % 2, 0));
	if (kind == REGISTERED)
		must(REQUEST(VMSPACE_UFFD_REGISTER, uffd, .addr = addr, .length = length, .mode = 1,
			     .context = 1));
	if (kind == PLAIN)
		must(REQUEST(VMSPACE_MADVISE, madvise, addr, length, MADV_DONTFORK));
}

/* A segment of which parts are left. */
static void attach(void)
{
	must(REQUEST(VMSPACE_SHMAT, shmat, .addr = SEGMENT, .size = 90 * PAGE));
	for (unsigned long n = 1; n < 90; n += 3)
		must(REQUEST(VMSPACE_MUNMAP, munmap, SEGMENT + n * PAGE, PAGE));
}

static char *shown_by(const struct vmspace *of)
{
	size_t size = vmspace_show(of, NULL, 0) + 1;
	char *text = malloc(size);

	assert_non_null(text);
	vmspace_show(of, text, size);
	return text;
}

static void check_snapshot(const char *what, long n)
{
	const char *reason = "";
	char *now = shown_by(snapshot);

	if (!vmspace_check(snapshot, &reason))
		fail_msg("%s, allocation %ld: the snapshot: %s", what, n, reason);
	if (strcmp(now, shown))
		fail_msg("%s, allocation %ld: the snapshot shows something else", what, n);
	free(now);
}

/* No holes in the first half; areas that alternate, files among them, and pages here and there. */
static void build(enum kind kind)
{
	create();
	for (unsigned long n = 0; n < AREAS; n++) {
		bool file = n % 11 == 3, hole = n > AREAS / 2 && n % 17 == 5;
		struct vmspace_request r = REQUEST(VMSPACE_MMAP, mmap, .addr = at(n * EACH),
						   .length = EACH * PAGE);

		if (hole && kind != REGISTERED && kind != BOUND)
			continue;
		file &= kind != NAMED && kind != REGISTERED;
		r.mmap.prot = kind != ONLY_READ && (n % 2 || kind == PLAIN) ? PROT_READ | PROT_WRITE
									   : PROT_READ;
		if (kind == REGISTERED)
			r.mmap.prot = n % 3 ? PROT_READ : PROT_READ | PROT_WRITE;
		r.mmap.flags = MAP_FIXED | MAP_PRIVATE | (file ? 0 : MAP_ANONYMOUS);
		if (file)
			r.mmap.backing = (struct vma_backing){ .kind = VMA_BACKING_FILE,
							       .name = "/file",
							       .inode = 1 + n % 2 };
		must(r);
		vary(n, kind);
	}
	attach();
	space->image.start_brk = space->image.brk = BREAK;
	if (kind == PINNED)
		must(REQUEST(VMSPACE_MLOCKALL, mlockall, MCL_FUTURE));
	for (unsigned long n = 0; with_pages && kind != UNTOUCHED && n < AREAS * EACH; n += 5)
		vmspace_touch(space, at(n), n % 2 ? VMSPACE_ACCESS_READ : VMSPACE_ACCESS_WRITE,
			      NULL);
	if (with_snapshot) {
		assert_int_equal(vmspace_snapshot(&snapshot, space), 0);
		shown = shown_by(snapshot);
	}
}

/* All there is of a space. */
struct sight {
	struct vma area[2 * AREAS + 400];
	unsigned long areas;
	struct {
		enum vmspace_page_kind kind;
		unsigned int access;
		uint64_t frame;
	} page[SEEN];
	struct pages_count count;
	unsigned long refs, table_bytes;
	unsigned long total, locked, data, stack, exec, committed, leak, peak, merges, splits, told;
	unsigned long next_anon;
	vma_flags_t default_flags;
	struct vmspace_image image;
	long file_uses;
};
static struct sight before, after;

/* Areas that were replaced wait for a grace period, with references to names. Nobody reads here. */
static void settle(void)
{
	past_empty(space);
}

static void see(struct sight *sight)
{
	MA_STATE(mas, &space->tree, 0, 0);
	struct vma *vma;

	settle();
	memset(sight, 0, sizeof(*sight));
	mas_for_each(&mas, vma, ULONG_MAX) {
		assert_in_range(sight->areas, 0, 2 * AREAS + 399);
		vma_fill(&sight->area[sight->areas], vma);
		sight->area[sight->areas++].list_next = NULL;
		sight->refs += (vma->name ? vma->name->refs : 0) +
			       (vma->backing ? vma->backing->refs : 0) +
			       (vma->policy ? vma->policy->refs : 0);
	}
	for (unsigned long n = 0; with_pages && n < SEEN; n++) {
		struct vmspace_page page;

		vma = mtree_load(&space->tree, at(n));
		if (!vma)
			continue;
		pages_release(space->pages, pages_lookup(space->pages, vma, at(n), &page));
		sight->page[n].kind = page.kind;
		sight->page[n].access = page.access;
		sight->page[n].frame = page.frame;
	}
	if (with_pages)
		pages_count(space->pages, &sight->count);
	sight->total = space->total_vm;
	sight->locked = space->locked_vm;
	sight->data = space->data_vm;
	sight->stack = space->stack_vm;
	sight->exec = space->exec_vm;
	sight->committed = space->committed_vm;
	sight->leak = space->locked_leak;
	sight->peak = space->areas_peak;
	sight->merges = space->merges;
	sight->splits = space->splits;
	sight->told = told;
	sight->next_anon = (unsigned long)space->next_anon_id;
	sight->default_flags = space->default_flags;
	sight->image = space->image;
	sight->file_uses = scarce.file_uses;
}

static void same_sight(const char *what, long n)
{
	for (unsigned long i = 0; i < before.areas && i < after.areas; i++)
		if (memcmp(&before.area[i], &after.area[i], offsetof(struct vma, list_next)))
			fail_msg("%s, allocation %ld%s: area %lu, %lx-%lx, is %lx-%lx", what, n,
				 scarce.for_good ? " and on" : "", i, before.area[i].start,
				 before.area[i].end, after.area[i].start, after.area[i].end);
	for (unsigned long i = 0; i < SEEN; i++)
		if (memcmp(&before.page[i], &after.page[i], sizeof(before.page[i])))
			fail_msg("%s, allocation %ld: page %lu is another one", what, n, i);
	if (memcmp(&before, &after, sizeof(before)))
		fail_msg("%s, allocation %ld: %lu areas and %lu references, now %lu and %lu; "
			 "tables of %lu and %lu bytes; %lu and %lu events; or a counter", what, n,
			 before.areas, before.refs, after.areas, after.refs,
			 before.count.all_table_bytes, after.count.all_table_bytes, before.told, after.told);
}

static void destroy(void)
{
	vmspace_exit(space);
	assert_true(vmspace_check(space, NULL));
	assert_int_equal(space->total_vm, 0);
	assert_int_equal(space->committed_vm, 0);
	vmspace_destroy(space);
	assert_int_equal(scarce.frames, 0);
	assert_int_equal(scarce.file_uses, 0);
}

/* A space that has refused calls and is as it was serves for the next call: so many of them. */
#define REFUSALS 4
static int refusals; /* of `space`, which is to be built if it is NULL */

static void end_space(void)
{
	if (!space)
		return;
	if (with_snapshot) {
		free(shown);
		vmspace_snapshot_close(snapshot);
	}
	destroy();
	space = NULL;
}

/* With a failure of allocation n; if that left all as it was: ++*whole. */
static void try_one(const char *what, enum kind kind, const struct vmspace_request *wanted, long n,
		    long *whole)
{
	struct vmspace_request r = *wanted;
	const char *reason = "";

	if (!space) {
		scarce_stock(true);
		build(kind);
		scarce_stock(false);
		refusals = 0;
	}
	see(&before);
	scarce.countdown = n;
	scarce.counting = true;
	vmspace_call(space, &r);
	scarce.counting = false;
	scarce.countdown = 0;
	if (!vmspace_check(space, &reason))
		fail_msg("%s, allocation %ld%s: %s", what, n, scarce.for_good ? " and on" : "",
			 reason);
	if (!n && r.out.out_of_memory)
		fail_msg("%s: out of memory without a failure", what);
	if (r.out.out_of_memory) {
		assert_int_equal(r.out.result, wanted->op == VMSPACE_BRK ? r.out.result : -ENOMEM);
		see(&after);
		same_sight(what, n);
		++*whole;
	}
	if (with_snapshot)
		check_snapshot(what, n);
	if (!r.out.out_of_memory || ++refusals == REFUSALS)
		end_space();
}

static uint64_t draw(void)
{
	seed = seed * 6364136223846793005u + 1442695040888963407u;
	return seed >> 33;
}

static void try_all(const char *what, enum kind kind, const struct vmspace_request *wanted)
{
	long whole = 0, most, tried = 0, some = with_snapshot ? (samples + 3) / 4 : samples;

	scarce.asked = 0;
	try_one(what, kind, wanted, 0, &whole);
	most = scarce.asked + 1;
	for (int k = 0; k < 2; k++) {
		scarce.for_good = k;
		for (long n = 1; n <= most; n++, tried++) {
			/* All of the first few; then some. */
			if (some && n > some && n < most)
				n += (long)(draw() % (unsigned long)(1 + 2 * most / some));
			try_one(what, kind, wanted, n < most ? n : most, &whole);
		}
	}
	scarce.for_good = false;
	end_space();
	print_message("%s%s: %ld allocations, %ld tries, %ld failed whole\n", what,
		      with_snapshot ? ", beside a snapshot" : with_pages ? ", with pages" : "",
		      most - 1, tried, whole);
}

#define TRY(kind, op_name, field, ...) \
	do { \
		struct vmspace_request r = REQUEST(op_name, field, __VA_ARGS__); \
		try_all(#op_name " " #__VA_ARGS__, kind, &r); \
	} while (0)

#define WHOLE (AREAS * EACH * PAGE)
#define HALF (AREAS / 2 * EACH * PAGE)

static void protecting(void **state)
{
	(void)state;
	TRY(LOCKED, VMSPACE_MPROTECT, mprotect, at(0), HALF, PROT_READ, -1);
	TRY(LOCKED, VMSPACE_MPROTECT, mprotect, at(1), HALF - 2 * PAGE, PROT_READ | PROT_WRITE, -1);
	TRY(NAMED, VMSPACE_MPROTECT, mprotect, at(1), HALF - 2 * PAGE, PROT_EXEC, -1);
	TRY(BOUND, VMSPACE_MPROTECT, mprotect, at(4), WHOLE - 7 * PAGE, PROT_READ, -1);
	TRY(PLAIN, VMSPACE_MPROTECT, mprotect, at(1), WHOLE, PROT_READ, -1); /* to a hole */
	TRY(PINNED, VMSPACE_MPROTECT, mprotect, at(1), HALF, PROT_READ | PROT_WRITE, -1);
}

static void locking(void **state)
{
	(void)state;
	TRY(LOCKED, VMSPACE_MLOCK, mlock, at(1), HALF - 2 * PAGE, 0, false);
	TRY(LOCKED, VMSPACE_MLOCK, mlock, at(1), HALF - 2 * PAGE, MLOCK_ONFAULT, true);
	TRY(LOCKED, VMSPACE_MUNLOCK, mlock, at(1), HALF - 2 * PAGE, 0, false);
	TRY(LOCKED, VMSPACE_MLOCKALL, mlockall, MCL_CURRENT | MCL_FUTURE);
	TRY(LOCKED, VMSPACE_MLOCKALL, mlockall, MCL_CURRENT | MCL_ONFAULT);
	TRY(LOCKED, VMSPACE_MUNLOCKALL, mlockall, 0);
}

static void advising(void **state)
{
	const struct vmspace_range ranges[] = { { at(300), 200 * PAGE }, { at(1), 100 * PAGE },
						{ at(600), 250 * PAGE } };

	(void)state;
	TRY(PLAIN, VMSPACE_MADVISE, madvise, at(1), WHOLE - 2 * PAGE, MADV_DONTFORK);
	TRY(PLAIN, VMSPACE_MADVISE, madvise, at(1), WHOLE - 2 * PAGE, MADV_DOFORK);
	TRY(PLAIN, VMSPACE_MADVISE, madvise, at(1), WHOLE - 2 * PAGE, MADV_SEQUENTIAL);
	TRY(PLAIN, VMSPACE_MADVISE, madvise, at(1), HALF, MADV_GUARD_INSTALL);
	TRY(PLAIN, VMSPACE_MADVISE, madvise, at(1), WHOLE - 2 * PAGE, MADV_GUARD_INSTALL);
	TRY(PLAIN, VMSPACE_MADVISE, madvise, at(1), WHOLE - 2 * PAGE, MADV_DONTNEED);
	TRY(UNTOUCHED, VMSPACE_MADVISE, madvise, at(1), WHOLE - 2 * PAGE, MADV_GUARD_INSTALL);
	TRY(UNTOUCHED, VMSPACE_PROCESS_MADVISE, process_madvise, ranges, 3, MADV_GUARD_INSTALL, 0);
	TRY(PLAIN, VMSPACE_MADVISE, madvise, at(1), HALF, MADV_POPULATE_READ);
	TRY(PLAIN, VMSPACE_MADVISE, madvise, at(1), HALF, MADV_POPULATE_WRITE);
	TRY(PLAIN, VMSPACE_PROCESS_MADVISE, process_madvise, ranges, 3, MADV_DOFORK, 0);
	TRY(PLAIN, VMSPACE_PROCESS_MADVISE, process_madvise, ranges, 3, MADV_DONTFORK, 0);
	TRY(PLAIN, VMSPACE_PROCESS_MADVISE, process_madvise, ranges, 3, MADV_GUARD_INSTALL, 0);
	TRY(PLAIN, VMSPACE_PROCESS_MADVISE, process_madvise, ranges, 3, MADV_POPULATE_WRITE, 0);
}

static void marking(void **state)
{
	(void)state;
	TRY(NAMED, VMSPACE_SET_ANON_NAME, set_anon_name, at(1), HALF, "new");
	TRY(NAMED, VMSPACE_SET_ANON_NAME, set_anon_name, at(1), WHOLE - 2 * PAGE, NULL);
	TRY(PLAIN, VMSPACE_MSEAL, mseal, at(1), HALF, 0);
	TRY(BOUND, VMSPACE_MBIND, mbind, at(1), WHOLE - 2 * PAGE, 2, 1, 0);
	TRY(BOUND, VMSPACE_MBIND, mbind, at(1), WHOLE - 2 * PAGE, 0, 0, 0);
	TRY(BOUND, VMSPACE_SET_HOME_NODE, home_node, at(1), WHOLE - 2 * PAGE, 1, 0);
	TRY(REGISTERED, VMSPACE_UFFD_REGISTER, uffd, .addr = at(1), .length = HALF, .mode = 1,
	    .context = 1);
	TRY(REGISTERED, VMSPACE_UFFD_UNREGISTER, uffd, .addr = at(1), .length = HALF, .context = 1);
	TRY(REGISTERED, VMSPACE_UFFD_RELEASE, uffd, .context = 1);
}

static void moving(void **state)
{
	int fixed = MREMAP_MAYMOVE | MREMAP_FIXED;

	(void)state;
	TRY(PLAIN, VMSPACE_MREMAP, mremap, at(1), HALF, HALF, fixed, FAR);
	TRY(NAMED, VMSPACE_MREMAP, mremap, at(0), HALF, HALF, fixed, at(HALF / PAGE));
	TRY(ONLY_READ, VMSPACE_MREMAP, mremap, at(0), WHOLE, WHOLE, fixed, FAR);
	TRY(PLAIN, VMSPACE_MREMAP, mremap, at(600), HALF / 2, PAGE, fixed, at(4));
	TRY(PLAIN, VMSPACE_MREMAP, mremap, at(3), PAGE, PAGE * 300, fixed, at(100));
	TRY(PINNED, VMSPACE_MREMAP, mremap, at(3), EACH * PAGE, PAGE * 300, MREMAP_MAYMOVE, 0);
	TRY(PINNED, VMSPACE_MREMAP, mremap, at(AREAS * EACH - 3), EACH * PAGE, PAGE * 60, 0, 0);
	TRY(PINNED, VMSPACE_MREMAP, mremap, at(4), PAGE, PAGE * 40, fixed, at(9));
}

static void mapping(void **state)
{
	int fixed = MAP_FIXED | MAP_PRIVATE | MAP_ANONYMOUS, both = PROT_READ | PROT_WRITE;

	(void)state;
	TRY(PLAIN, VMSPACE_MMAP, mmap, .addr = at(1), .length = WHOLE - 2 * PAGE, .prot = PROT_READ,
	    .flags = fixed);
	TRY(PLAIN, VMSPACE_MMAP, mmap, .addr = at(1), .length = HALF, .prot = both,
	    .flags = fixed | MAP_POPULATE);
	TRY(PLAIN, VMSPACE_MMAP, mmap, .length = HALF, .prot = both,
	    .flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_LOCKED);
	TRY(PLAIN, VMSPACE_MMAP, mmap, .addr = at(1), .length = HALF, .prot = both,
	    .flags = MAP_FIXED | MAP_PRIVATE | MAP_POPULATE,
	    .backing = { .kind = VMA_BACKING_FILE, .name = "/other" });
	TRY(PLAIN, VMSPACE_MMAP, mmap, .addr = at(4), .length = PAGE, .prot = both, .flags = fixed);
	TRY(PLAIN, VMSPACE_MUNMAP, munmap, at(1), WHOLE - 2 * PAGE);
	TRY(PINNED, VMSPACE_MUNMAP, munmap, at(1), WHOLE - 2 * PAGE);
	TRY(PLAIN, VMSPACE_BRK, brk, BREAK + 100 * PAGE);
	TRY(PINNED, VMSPACE_BRK, brk, BREAK + 100 * PAGE); /* of what is locked */
	TRY(PLAIN, VMSPACE_SHMDT, shmdt, SEGMENT);
	TRY(PLAIN, VMSPACE_SHMAT, shmat, .addr = at(1), .size = HALF, .flags = SHM_REMAP);
}

static int without(void **state)
{
	(void)state;
	with_pages = false;
	return 0;
}

static int with(void **state)
{
	(void)state;
	with_pages = true;
	return 0;
}

static int beside(void **state)
{
	static bool pages;

	with_snapshot = true;
	pages = !pages;
	return pages ? with(state) : without(state);
}

static int alone(void **state)
{
	(void)state;
	with_snapshot = false;
	return 0;
}

#define BOTH(test) \
	cmocka_unit_test_setup(test, without), cmocka_unit_test_setup(test, with), \
	cmocka_unit_test_setup_teardown(test, beside, alone)

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		BOTH(protecting), BOTH(locking), BOTH(advising), BOTH(marking), BOTH(moving),
		BOTH(mapping),
	};

	seed = argc > 1 ? strtoull(argv[1], NULL, 0) : (uint64_t)time(NULL);
	if (argc > 2)
		samples = strtol(argv[2], NULL, 0);
	print_message("seed %llu\n", (unsigned long long)seed);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
