/* SPDX-License-Identifier: MIT */
/*
 * oracle_pages.c - pages against the kernel's: random calls and touches made for real in a process
 * of its own and in a space with memory. After each, the result and VmPTE must be equal; at
 * intervals also the anonymous pages of /proc/PID/smaps.
 *
 *	oracle_pages [--seed N] [--ops N]
 */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <mapletree/vmspace.h>

#include "../../src/vmspace/mman_names.h"
#include "options.h"

#define PAGE 4096UL
/* A part of the address space that nothing else uses, with tables of its own. */
#define BASE (1UL << 45)
#define WINDOWS 3
#define WINDOW_PAGES 1300UL
#define TOUCH (-1L) /* instead of a call's number: a touch of args[0], a write if args[1] */

static unsigned long window(unsigned long number)
{
	static const unsigned long at[WINDOWS] = { 64UL << 20, 1UL << 30, 1UL << 38 };

	return BASE + at[number] - WINDOW_PAGES / 2 * PAGE;
}

/* ---- the real process ---- */

struct order {
	long number;
	unsigned long args[6];
};

static int channel, puppet_pid;
static sigjmp_buf escape;

static void caught(int signo, siginfo_t *info, void *context)
{
	(void)context;
	siglongjmp(escape, signo == SIGBUS	       ? VMSPACE_FAULT_BUS
			   : info->si_code == SEGV_MAPERR ? VMSPACE_FAULT_MAPERR
							  : VMSPACE_FAULT_ACCERR);
}

/* Without ASan's look at its shadow of the address: that would take page tables of its own. */
__attribute__((no_sanitize("address")))
static long obey(const struct order *order)
{
	volatile char *at = (volatile char *)order->args[0];
	const unsigned long *a = order->args;
	int signalled;
	long result;

	if (order->number == TOUCH) {
		signalled = sigsetjmp(escape, 1);
		if (!signalled && a[1])
			*at = 1;
		else if (!signalled)
			(void)*at;
		return signalled;
	}
	result = syscall(order->number, a[0], a[1], a[2], a[3], a[4], a[5]);
	return result == -1 ? -errno : result;
}

static void be_puppet(int fd)
{
	struct sigaction action = { .sa_sigaction = caught, .sa_flags = SA_SIGINFO };
	struct order order;
	long result;

	sigaction(SIGSEGV, &action, NULL);
	sigaction(SIGBUS, &action, NULL);
	prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0);
	while (read(fd, &order, sizeof(order)) == sizeof(order)) {
		result = obey(&order);
		if (write(fd, &result, sizeof(result)) != sizeof(result))
			break;
	}
	_exit(0);
}

static long real(long number, unsigned long a, unsigned long b, unsigned long c, unsigned long d,
		 unsigned long e)
{
	struct order order = { number, { a, b, c, d, e, 0 } };
	long result = 0;

	if (number == SYS_mmap)
		order.args[4] = (unsigned long)-1;
	assert_int_equal(write(channel, &order, sizeof(order)), sizeof(order));
	assert_int_equal(read(channel, &result, sizeof(result)), sizeof(result));
	return result;
}

static FILE *proc_file(const char *name)
{
	char path[64];
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/%s", puppet_pid, name);
	file = fopen(path, "re");
	assert_non_null(file);
	return file;
}

static unsigned long real_table_bytes(void)
{
	FILE *file = proc_file("status");
	unsigned long kib = 0;
	char line[256];

	while (fgets(line, sizeof(line), file))
		if (sscanf(line, "VmPTE: %lu", &kib) == 1)
			break;
	fclose(file);
	return kib * 1024;
}

static unsigned long real_anon_pages(void)
{
	FILE *file = proc_file("smaps");
	unsigned long start = 0, kib, sum = 0;
	char line[512], dash;

	while (fgets(line, sizeof(line), file)) {
		unsigned long at;

		if (sscanf(line, "%lx%c", &at, &dash) == 2 && dash == '-')
			start = at;
		else if (start >= BASE && start < BASE + (1UL << 39) &&
			 sscanf(line, "Anonymous: %lu", &kib) == 1)
			sum += kib * 1024 / PAGE;
	}
	fclose(file);
	return sum;
}

/* ---- the space ---- */

static uint64_t frames;

static uint64_t frame_alloc(void *ctx)
{
	(void)ctx;
	return ++frames;
}

static void frame_free(void *ctx, uint64_t frame)
{
	(void)ctx;
	(void)frame;
}

static void frame_copy(void *ctx, uint64_t to, uint64_t from)
{
	(void)ctx;
	(void)to;
	(void)from;
}

static int file_page(void *ctx, const struct vma_backing *backing, uint64_t index, uint64_t *frame)
{
	(void)ctx;
	(void)backing;
	*frame = (1ULL << 40) + index;
	return 0;
}

static const struct vmspace_memory memory = {
	.alloc = frame_alloc, .free = frame_free, .copy = frame_copy, .file_page = file_page,
};
static struct vmspace *space;
static unsigned long long draws, seed;
static unsigned long operations = 4000, refused, signals;

static unsigned long below(unsigned long n)
{
	draws = draws * 6364136223846793005ULL + 1442695040888963407ULL;
	return (unsigned long)(draws >> 33) % n;
}

static unsigned long some_address(unsigned long *pages)
{
	unsigned long in = below(WINDOW_PAGES), most = WINDOW_PAGES - in;

	*pages = 1 + below(below(3) && most > 20 ? 20 : most);
	return window(below(WINDOWS)) + in * PAGE;
}

/* The call in both; the result must be the same. */
static void both(struct vmspace_request *req, long number, unsigned long a, unsigned long b,
		 unsigned long c, unsigned long d, unsigned long e)
{
	char text[256];
	long ours, kernels;

	ours = vmspace_call(space, req);
	kernels = real(number, a, b, c, d, e);
	vmspace_request_text(req, text, sizeof(text));
	refused += ours < 0 && ours > -4096;
	if (ours != kernels)
		fail_msg("%s: %ld here, %ld there", text, ours, kernels);
}

static void do_mmap(unsigned long addr, unsigned long length)
{
	int prot = (int)below(4);
	int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | (below(6) ? 0 : MAP_POPULATE);
	struct vmspace_request req = { .op = VMSPACE_MMAP };

	req.mmap = (struct vmspace_mmap){ .addr = addr, .length = length, .prot = prot,
					  .flags = flags };
	both(&req, SYS_mmap, addr, length, (unsigned long)prot, (unsigned long)flags, 0);
}

static void do_munmap(unsigned long addr, unsigned long length)
{
	struct vmspace_request req = { .op = VMSPACE_MUNMAP, .munmap = { addr, length } };

	both(&req, SYS_munmap, addr, length, 0, 0, 0);
}

static void do_mprotect(unsigned long addr, unsigned long length)
{
	int prot = (int)below(4);
	struct vmspace_request req = { .op = VMSPACE_MPROTECT,
				       .mprotect = { addr, length, prot, -1 } };

	both(&req, SYS_mprotect, addr, length, (unsigned long)prot, 0, 0);
}

static void do_madvise(unsigned long addr, unsigned long length)
{
	static const int advices[] = { MADV_DONTNEED, MADV_DONTNEED_LOCKED, MADV_GUARD_INSTALL,
				       MADV_GUARD_REMOVE };
	int advice = advices[below(4)];
	struct vmspace_request req = { .op = VMSPACE_MADVISE, .madvise = { addr, length, advice } };

	both(&req, SYS_madvise, addr, length, (unsigned long)advice, 0, 0);
}

static void do_mremap(unsigned long addr, unsigned long length)
{
	unsigned long pages, to = some_address(&pages);
	unsigned long flags = MREMAP_MAYMOVE | MREMAP_FIXED | (below(3) ? 0 : MREMAP_DONTUNMAP);
	struct vmspace_request req = { .op = VMSPACE_MREMAP };

	req.mremap = (struct vmspace_mremap){ addr, length, length, (int)flags, to };
	both(&req, SYS_mremap, addr, length, length, flags, to);
}

static void touch_some(unsigned long addr, unsigned long pages)
{
	for (int i = 0; i < 20; i++) {
		unsigned long at = addr + below(pages) * PAGE;
		bool write = below(2);
		enum vmspace_fault_result ours =
			vmspace_touch(space, at, write ? VMSPACE_ACCESS_WRITE : VMSPACE_ACCESS_READ,
				      NULL);

		assert_int_equal(ours, real(TOUCH, at, write, 0, 0, 0));
		signals += ours != VMSPACE_FAULT_OK;
	}
}

static void one_operation(void)
{
	unsigned long pages, addr = some_address(&pages), pick = below(20);

	if (pick < 5)
		do_mmap(addr, pages * PAGE);
	else if (pick < 7)
		do_munmap(addr, pages * PAGE);
	else if (pick < 9)
		do_mprotect(addr, pages * PAGE);
	else if (pick < 11)
		do_madvise(addr, pages * PAGE);
	else if (pick < 14)
		do_mremap(addr, pages * PAGE);
	else
		touch_some(addr, pages);
}

static unsigned long base_bytes; /* the puppet's tables outside the windows */

static int begin(void **state)
{
	struct vmspace_config config;
	int fds[2];

	(void)state;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds))
		return -1;
	puppet_pid = fork();
	if (puppet_pid < 0)
		return -1;
	if (!puppet_pid) {
		close(fds[0]); /* it ends when the test does */
		be_puppet(fds[1]);
	}
	close(fds[1]);
	channel = fds[0];
	vmspace_config_init(&config);
	config.mmap_base = 0x7ff000000000;
	config.thp = VMSPACE_THP_NEVER;
	config.pmd_size = 0;
	config.memory = &memory;
	if (vmspace_create(&space, &config))
		return -1;
	draws = seed;
	touch_some(window(0), 1); /* the puppet's own pages are there from now on */
	real(SYS_getpid, 0, 0, 0, 0, 0);
	base_bytes = real_table_bytes();
	return 0;
}

static int end(void **state)
{
	(void)state;
	vmspace_destroy(space);
	close(channel);
	return waitpid(puppet_pid, NULL, 0) == puppet_pid ? 0 : -1;
}

/* The tables are the kernel's; returns their bytes. */
static unsigned long same_tables(const char *where, unsigned long number)
{
	unsigned long there = real_table_bytes() - base_bytes;
	struct vmspace_stats stats;

	vmspace_stats(space, &stats);
	if (stats.table_bytes != there)
		fail_msg("%s %lu: tables of %lu bytes here, %lu there", where, number,
			 stats.table_bytes, there);
	return there;
}

static void random_calls_leave_the_kernels_pages(void **state)
{
	struct vmspace_stats stats;
	unsigned long most = 0;

	(void)state;
	for (unsigned long i = 0; i < operations; i++) {
		one_operation();
		same_tables("after operation", i + 1);
		vmspace_stats(space, &stats);
		if (i % 16 == 0)
			assert_int_equal(stats.anon_pages, real_anon_pages());
		most = stats.anon_pages > most ? stats.anon_pages : most;
	}
	assert_true(vmspace_check(space, NULL));
	do_munmap(BASE, 1UL << 39);
	assert_int_equal(real_table_bytes(), base_bytes);
	vmspace_stats(space, &stats);
	assert_int_equal(stats.table_bytes + stats.anon_pages + stats.zero_pages, 0);
	printf("# seed %llu: %lu operations, %lu refused, %lu signals, up to %lu pages\n", seed,
	       operations, refused, signals, most);
}

/* ---- advice that empties page tables ---- */

#define TABLE (512 * PAGE)

static void map_at(unsigned long from, unsigned long length, int prot, int shared)
{
	struct vmspace_request req = { .op = VMSPACE_MMAP };
	int flags = shared | MAP_ANONYMOUS | MAP_FIXED;

	req.mmap = (struct vmspace_mmap){ .addr = BASE + from, .length = length, .prot = prot,
					  .flags = flags };
	both(&req, SYS_mmap, BASE + from, length, (unsigned long)prot, (unsigned long)flags, 0);
}

static void advise(unsigned long from, unsigned long length, int advice)
{
	struct vmspace_request req = { .op = VMSPACE_MADVISE,
				       .madvise = { BASE + from, length, advice } };

	both(&req, SYS_madvise, BASE + from, length, (unsigned long)advice, 0, 0);
}

/* Both touch a page in each 64 of [from, from + length), which may be less than one of them. */
static void populate(unsigned long from, unsigned long length)
{
	for (unsigned long at = from; at < from + length; at += 64 * PAGE) {
		assert_int_equal(vmspace_touch(space, BASE + at, VMSPACE_ACCESS_READ, NULL),
				 VMSPACE_FAULT_OK);
		assert_int_equal(real(TOUCH, BASE + at, false, 0, 0, 0), 0);
	}
}

/*
 * Which page tables madvise() gives back, in Linux 6.14 and later: MADV_DONTNEED and its _LOCKED
 * alone do, of lowest tables that are empty and lie wholly in the range and in one area.
 */
static void advice_gives_back_the_tables_that_the_kernel_gives_back(void **state)
{
	static const struct {
		unsigned long from, length;
		int advice;
		unsigned long border;       /* not 0: another area begins there */
		unsigned long keeps;        /* not 0: a guard is there */
		bool small_first;           /* the range is dropped in small parts before */
	} cases[] = {
		{ 0, 4 * TABLE, MADV_DONTNEED, 0, 0, false },
		{ 0, 4 * TABLE, MADV_DONTNEED_LOCKED, 0, 0, false },
		{ 0, 4 * TABLE, MADV_FREE, 0, 0, false },
		{ 0, 4 * TABLE, MADV_COLD, 0, 0, false },
		{ 0, 4 * TABLE, MADV_GUARD_INSTALL, 0, 0, false },
		{ 0, 4 * TABLE, MADV_GUARD_REMOVE, 0, 0, true },
		{ 0, 4 * TABLE, MADV_POPULATE_READ, 0, 0, true },
		{ 0, TABLE, MADV_DONTNEED, 0, 0, false },
		{ 0, TABLE - PAGE, MADV_DONTNEED, 0, 0, false },
		{ PAGE, TABLE, MADV_DONTNEED, 0, 0, true },
		{ TABLE / 2, 3 * TABLE, MADV_DONTNEED, 0, 0, true },
		{ 0, 4 * TABLE, MADV_DONTNEED, 0, 0, true },
		{ 0, 4 * TABLE, MADV_DONTNEED, TABLE * 3 / 2, 0, false },
		{ 0, 2 * TABLE, MADV_DONTNEED, TABLE / 2, 0, false },
		{ 0, 4 * TABLE, MADV_DONTNEED, 2 * TABLE, 0, false },
		{ 0, 4 * TABLE, MADV_DONTNEED, 0, 2 * TABLE + PAGE, false },
	};

	(void)state;
	for (unsigned long i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		unsigned long from = cases[i].from, length = cases[i].length;

		map_at(0, 4 * TABLE, PROT_READ | PROT_WRITE, MAP_PRIVATE);
		if (cases[i].border)
			map_at(cases[i].border, 4 * TABLE - cases[i].border, PROT_READ,
			       MAP_PRIVATE);
		populate(0, 4 * TABLE);
		if (cases[i].keeps)
			advise(cases[i].keeps, PAGE, MADV_GUARD_INSTALL);
		for (unsigned long at = 0; cases[i].small_first && at < 4 * TABLE; at += TABLE / 4)
			advise(at, TABLE / 4, MADV_DONTNEED);
		assert_int_equal(same_tables("before case", i), 6 * PAGE);
		advise(from, length, cases[i].advice);
		same_tables("case", i);
		do_munmap(BASE, 4 * TABLE);
		assert_int_equal(same_tables("after case", i), 0);
	}
	map_at(0, 2 * TABLE, PROT_READ, MAP_SHARED);
	populate(0, 2 * TABLE);
	advise(0, 2 * TABLE, MADV_DONTNEED);
	same_tables("shared memory", 0);
	do_munmap(BASE, 2 * TABLE);
}

/*
 * mlock() that meets a guard says ENOMEM, MADV_POPULATE_WRITE EFAULT; what is behind it has no
 * pages.
 */
static void populating_ends_at_a_guard(void **state)
{
	struct vmspace_request req = { .op = VMSPACE_MLOCK,
				       .mlock = { BASE, 2 * TABLE, 0, false } };

	(void)state;
	map_at(0, 2 * TABLE, PROT_READ | PROT_WRITE, MAP_PRIVATE);
	advise(TABLE / 2, PAGE, MADV_GUARD_INSTALL);
	advise(0, 2 * TABLE, MADV_POPULATE_WRITE);
	same_tables("populated up to a guard", 0);
	both(&req, SYS_mlock, BASE, 2 * TABLE, 0, 0, 0);
	same_tables("locked up to a guard", 0);
	do_munmap(BASE, 2 * TABLE);
}

/*
 * The table that a move makes for its target may be that of a part of its source without pages,
 * which is past by then: nothing is made for what would be moved from there.
 */
static void a_move_into_the_tables_of_its_source(void **state)
{
	unsigned long from = 2 * TABLE - TABLE / 10 / PAGE * PAGE, length = TABLE / 2;
	struct vmspace_request req = { .op = VMSPACE_MREMAP };
	int flags = MREMAP_MAYMOVE | MREMAP_FIXED;

	(void)state;
	map_at(TABLE / 2, 5 * TABLE / 2, PROT_READ | PROT_WRITE, MAP_PRIVATE);
	populate(2 * TABLE, TABLE / 4);
	assert_int_equal(same_tables("before the move", 0), 3 * PAGE);
	req.mremap = (struct vmspace_mremap){ BASE + from, length, length, flags,
					      BASE + from - TABLE };
	both(&req, SYS_mremap, BASE + from, length, length, (unsigned long)flags,
	     BASE + from - TABLE);
	assert_int_equal(same_tables("after the move", 0), 4 * PAGE);
	do_munmap(BASE, 3 * TABLE);
}

int main(int argc, char **argv)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
	const struct CMUnitTest tests[] = {
		TEST(advice_gives_back_the_tables_that_the_kernel_gives_back),
		TEST(populating_ends_at_a_guard),
		TEST(a_move_into_the_tables_of_its_source),
		TEST(random_calls_leave_the_kernels_pages),
	};

	if (!take_options(argc, argv, &seed, &operations))
		return 2;
	printf("# oracle_pages --seed %llu --ops %lu\n", seed, operations);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
