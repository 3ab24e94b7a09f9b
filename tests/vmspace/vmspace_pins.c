/* SPDX-License-Identifier: MIT */
/*
 * vmspace_pins.c - guest memory in the hands of system calls: what a pin guarantees against everything
 * that can happen to the guest's addresses meanwhile, and that nothing is left of it in the end.
 *
 *	vmspace_pins [--seed N]
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
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <mapletree/vmspace_pins.h>

#include "options.h"

#define START 0x10000000UL
#define PAGES 64UL
#define RW    (PROT_READ | PROT_WRITE)
#define PRIVATE (MAP_PRIVATE | MAP_ANONYMOUS)
#define READ  VMSPACE_ACCESS_READ
#define WRITE VMSPACE_ACCESS_WRITE
#define PARTS 16

static struct vmspace_memfd *memfd;
static struct vmspace_window *window;
static struct vmspace *space;
static size_t page;
static unsigned long long seed;

/* ---- allocations that fail ---- */

static _Thread_local long countdown; /* until one fails; 0: none does */

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

void *__real_reallocarray(void *old, size_t n, size_t size);
void *__wrap_reallocarray(void *old, size_t n, size_t size);
void *__wrap_reallocarray(void *old, size_t n, size_t size)
{
	return fails() ? NULL : __real_reallocarray(old, n, size);
}

/* ---- a guest ---- */

static int begin(void **state)
{
	struct vmspace_memfd_config memory = { .limit = (size_t)16 << 20 };
	struct vmspace_config config;

	(void)state;
	page = (size_t)sysconf(_SC_PAGESIZE);
	assert_int_equal(vmspace_memfd_create(&memfd, &memory), 0);
	assert_int_equal(vmspace_window_create(&window, memfd, START, PAGES * page), 0);
	vmspace_config_init(&config);
	config.overcommit = 1;
	config.thp = VMSPACE_THP_NEVER;
	config.memory = vmspace_window_memory(window);
	return vmspace_create(&space, &config);
}

/* Nothing is left: no frame either. */
static int end(void **state)
{
	(void)state;
	assert_true(vmspace_check(space, NULL));
	vmspace_destroy(space);
	assert_int_equal(vmspace_memfd_used(memfd), 0);
	vmspace_window_destroy(window);
	vmspace_memfd_destroy(memfd);
	return 0;
}

static unsigned long at(unsigned long n)
{
	return START + n * page;
}

static long map(unsigned long first, unsigned long pages, int prot, int flags)
{
	struct vmspace_request req = { .op = VMSPACE_MMAP };

	req.mmap = (struct vmspace_mmap){ .addr = at(first), .length = pages * page, .prot = prot,
					  .flags = flags | MAP_FIXED };
	return vmspace_call(space, &req);
}

static long unmap(unsigned long first, unsigned long pages)
{
	struct vmspace_request req = { .op = VMSPACE_MUNMAP };

	req.munmap = (struct vmspace_munmap){ .addr = at(first), .length = pages * page };
	return vmspace_call(space, &req);
}

static long protect(unsigned long first, unsigned long pages, int prot)
{
	struct vmspace_request req = { .op = VMSPACE_MPROTECT };

	req.mprotect = (struct vmspace_mprotect){ .addr = at(first), .length = pages * page,
						  .prot = prot, .pkey = -1 };
	return vmspace_call(space, &req);
}

static long fork_space(struct vmspace_request *req, struct vmspace_window **other)
{
	assert_int_equal(vmspace_window_create(other, memfd, START, PAGES * page), 0);
	*req = (struct vmspace_request){ .op = VMSPACE_FORK };
	req->fork.child_memory = vmspace_window_memory(*other);
	return vmspace_call(space, req);
}

static void put(unsigned long n, char value)
{
	assert_int_equal(vmspace_copy_to(space, at(n), &value, 1), 1);
}

static char get_of(struct vmspace *of, unsigned long n)
{
	char value;

	assert_int_equal(vmspace_copy_from(of, &value, at(n), 1), 1);
	return value;
}

static char get(unsigned long n)
{
	return get_of(space, n);
}

static long clear_dirty(unsigned long n)
{
	return vmspace_collect(space, at(n), at(n + 1), VMSPACE_MARK_DIRTY, VMSPACE_COLLECT_CLEAR,
			       NULL, NULL);
}

static char *pin_one(unsigned long n, unsigned int access, struct vmspace_pinned **pinned)
{
	struct iovec part;

	assert_int_equal(vmspace_pin_pages(space, at(n), page, access, &part, 1, pinned), 1);
	assert_int_equal(part.iov_len, page);
	return part.iov_base;
}

/* ---- what is pinned ---- */

static void system_calls_read_and_write_what_is_pinned(void **state)
{
	char text[] = "from one guest buffer to another", got[sizeof(text)];
	struct iovec from[PARTS], to[PARTS];
	struct vmspace_pinned *reading, *writing;
	unsigned long source = at(3) - 10, target = at(7) - 20;
	int fds[2], n, m;

	(void)state;
	map(0, 16, RW, PRIVATE);
	assert_int_equal(vmspace_copy_to(space, source, text, sizeof(text)), sizeof(text));
	assert_int_equal(pipe(fds), 0);
	n = vmspace_pin_pages(space, source, sizeof(text), READ, from, PARTS, &reading);
	assert_in_range(n, 1, 2);
	assert_int_equal(writev(fds[1], from, n), sizeof(text));
	m = vmspace_pin_pages(space, target, sizeof(text), WRITE, to, PARTS, &writing);
	assert_in_range(m, 1, 2);
	assert_int_equal(readv(fds[0], to, m), sizeof(text));
	vmspace_unpin_pages(reading);
	vmspace_unpin_pages(writing);
	assert_int_equal(vmspace_copy_from(space, got, target, sizeof(got)), sizeof(got));
	assert_memory_equal(got, text, sizeof(text));
	close(fds[0]);
	close(fds[1]);
}

static size_t length_of(const struct iovec *parts, int n)
{
	size_t length = 0;

	for (int i = 0; i < n; i++)
		length += parts[i].iov_len;
	return length;
}

static void parts_are_short_where_the_guest_or_the_caller_ends(void **state)
{
	struct iovec parts[PAGES];
	struct vmspace_pinned *pinned;
	int n;

	(void)state;
	map(0, 8, RW, PRIVATE);
	map(8, 2, PROT_READ, PRIVATE);
	n = vmspace_pin_pages(space, at(1) + 5, 20 * page, READ, parts, PAGES, &pinned);
	assert_int_equal(length_of(parts, n), 9 * page - 5);
	vmspace_unpin_pages(pinned);
	n = vmspace_pin_pages(space, at(1) + 5, 20 * page, WRITE, parts, PAGES, &pinned);
	assert_int_equal(length_of(parts, n), 7 * page - 5);
	/* Touched in order, neighbours are neighbours in the memfd. */
	assert_int_equal(n, 1);
	vmspace_unpin_pages(pinned);
	/* The frame of zeros is one, however many pages show it. */
	assert_int_equal(vmspace_pin_pages(space, at(8), 2 * page, READ, parts, 1, &pinned), 1);
	assert_int_equal(parts[0].iov_len, page);
	vmspace_unpin_pages(pinned);
	vmspace_unpin_pages(NULL);
}

static void what_cannot_be_pinned_is_refused(void **state)
{
	struct vmspace_pinned *pinned;
	struct vmspace_config config;
	struct vmspace *bare;
	struct iovec part;

	(void)state;
	map(0, 1, PROT_READ, PRIVATE);
	assert_int_equal(vmspace_pin_pages(space, at(0), 0, READ, &part, 1, &pinned), -EINVAL);
	assert_int_equal(vmspace_pin_pages(space, at(0), 1, READ, &part, 0, &pinned), -EINVAL);
	assert_int_equal(vmspace_pin_pages(space, at(0), 1, READ | WRITE, &part, 1, &pinned), -EINVAL);
	assert_int_equal(vmspace_pin_pages(space, at(0), 1, 0, &part, 1, &pinned), -EINVAL);
	assert_int_equal(vmspace_pin_pages(space, at(0), 1, WRITE, &part, 1, &pinned), -EFAULT);
	assert_int_equal(vmspace_pin_pages(space, at(1), 1, READ, &part, 1, &pinned), -EFAULT);
	assert_null(pinned);
	assert_int_equal(vmspace_pin_pages(space, ~0UL, 2, READ, &part, 1, &pinned), -EFAULT);
	vmspace_config_init(&config);
	assert_int_equal(vmspace_create(&bare, &config), 0);
	assert_int_equal(vmspace_pin_pages(bare, at(0), 1, READ, &part, 1, &pinned), -EINVAL);
	vmspace_destroy(bare);
}

/* ---- what it guarantees ---- */

static void unmapped_memory_is_left_to_the_pin(void **state)
{
	struct vmspace_pinned *pinned;
	char *host;

	(void)state;
	map(0, 2, RW, PRIVATE);
	put(0, 'a');
	host = pin_one(0, WRITE, &pinned);
	unmap(0, 1);
	map(0, 1, RW, PRIVATE);
	put(0, 'b');
	assert_int_equal(*host, 'a');
	*host = 'c';
	assert_int_equal(get(0), 'b');
	/* Also when the space has gone. */
	vmspace_exit(space);
	*host = 'd';
	assert_int_equal(vmspace_memfd_used(memfd), page);
	vmspace_unpin_pages(pinned);
	assert_int_equal(vmspace_memfd_used(memfd), 0);
}

/* Whatever takes the right to write from the page: it is the same memory when it is written again. */
static void a_pin_to_write_and_the_guest_have_the_same_memory(void **state)
{
	struct vmspace_pinned *pinned, *other;
	struct vmspace_request req;
	struct vmspace_window *childs;
	char *host, *reader;

	(void)state;
	map(0, 2, RW, PRIVATE);
	put(0, 'a');
	host = pin_one(0, WRITE, &pinned);
	reader = pin_one(0, READ, &other);
	assert_int_equal(protect(0, 1, PROT_READ), 0);
	*host = 'b';
	assert_int_equal(get(0), 'b');
	assert_int_equal(protect(0, 1, RW), 0);
	put(0, 'c');
	assert_int_equal(*host, 'c');
	assert_int_equal(clear_dirty(0), 1);
	put(0, 'd');
	assert_int_equal(*host, 'd');
	assert_int_equal(fork_space(&req, &childs), 0);
	*host = 'e';
	assert_int_equal(get(0), 'e');
	put(0, 'f');
	assert_int_equal(*host, 'f');
	assert_int_equal(*reader, 'f');
	assert_int_equal(get_of(req.fork.child, 0), 'd');
	vmspace_unpin_pages(pinned);
	vmspace_unpin_pages(other);
	vmspace_destroy(req.fork.child);
	vmspace_window_destroy(childs);
}

/* The second pin of a space must not let a page be written that a relative shows. */
static void a_page_that_is_shared_since_a_fork_is_copied_to_be_pinned(void **state)
{
	struct vmspace_pinned *pinned, *reading;
	struct vmspace_request req;
	struct vmspace_window *childs;
	char *host, *seen;

	(void)state;
	map(0, 1, RW, PRIVATE);
	put(0, 'a');
	assert_int_equal(fork_space(&req, &childs), 0);
	seen = pin_one(0, READ, &reading);
	host = pin_one(0, WRITE, &pinned);
	assert_ptr_not_equal(host, seen);
	*host = 'b';
	assert_int_equal(get(0), 'b');
	assert_int_equal(*seen, 'a');
	assert_int_equal(get_of(req.fork.child, 0), 'a');
	vmspace_unpin_pages(pinned);
	vmspace_destroy(req.fork.child);
	assert_int_equal(*seen, 'a');
	vmspace_unpin_pages(reading);
	vmspace_window_destroy(childs);
}

static void what_is_pinned_to_write_stays_dirty(void **state)
{
	struct vmspace_pinned *pinned;
	struct vmspace_page now;

	(void)state;
	map(0, 1, RW | PROT_EXEC, PRIVATE);
	pin_one(0, WRITE, &pinned);
	assert_int_equal(clear_dirty(0), 1);
	assert_int_equal(clear_dirty(0), 1);
	/* Nobody can tell when it is written, so it is not watched. */
	assert_int_equal(vmspace_watch_code(space, at(0), &now), VMSPACE_FAULT_PINNED);
	assert_true(now.access & WRITE);
	vmspace_unpin_pages(pinned);
	assert_int_equal(clear_dirty(0), 1);
	assert_int_equal(clear_dirty(0), 0);
	assert_int_equal(vmspace_watch_code(space, at(0), &now), VMSPACE_FAULT_OK);
	assert_false(now.access & WRITE);
	pin_one(0, READ, &pinned);
	assert_int_equal(clear_dirty(0), 0);
	vmspace_unpin_pages(pinned);
}

static void note_change(void *ctx, unsigned long start, unsigned long end)
{
	assert_int_equal(start, at(0));
	assert_int_equal(end, at(1));
	++*(int *)ctx;
}

/* Code is only said to be watched if whoever writes it, by a pin, too, is told of. */
static void code_that_a_pin_may_write_is_not_said_to_be_watched(void **state)
{
	struct vmspace_pinned *pinned, *another, *reads;
	unsigned long generation;
	struct vmspace_page now;
	int changes = 0;
	char *host;

	(void)state;
	map(0, 1, RW | PROT_EXEC, PRIVATE);
	assert_int_equal(vmspace_set_code_hook(space, note_change, &changes), 0);
	generation = vmspace_code_generation(space);
	assert_int_equal(vmspace_watch_code(space, at(0), NULL), VMSPACE_FAULT_OK);
	/* To read changes nothing; to write is told of before it can be. */
	pin_one(0, READ, &reads);
	assert_int_equal(changes, 0);
	host = pin_one(0, WRITE, &pinned);
	assert_int_equal(changes, 1);
	assert_int_equal(vmspace_code_generation(space), generation + 1);
	pin_one(0, WRITE, &another);
	assert_int_equal(vmspace_watch_code(space, at(0), NULL), VMSPACE_FAULT_PINNED);
	vmspace_unpin_pages(pinned);
	assert_int_equal(vmspace_watch_code(space, at(0), &now), VMSPACE_FAULT_PINNED);
	assert_int_equal(now.addr, at(0));
	assert_true(now.access & VMSPACE_ACCESS_EXEC);
	*host = 'p';
	assert_int_equal(get(0), 'p');
	vmspace_unpin_pages(another);
	assert_int_equal(changes, 1);
	/* From now on it is. */
	assert_int_equal(vmspace_watch_code(space, at(0), &now), VMSPACE_FAULT_OK);
	assert_false(now.access & WRITE);
	assert_int_equal(get(0), 'p');
	put(0, 'q');
	assert_int_equal(changes, 2);
	vmspace_unpin_pages(reads);
	assert_int_equal(vmspace_set_code_hook(space, NULL, NULL), 0);
}

static void shared_memory_is_the_same_for_all(void **state)
{
	struct vmspace_pinned *pinned;
	struct vmspace_request req;
	struct vmspace_window *childs;
	struct vma_info info;
	char *host;

	(void)state;
	map(0, 1, RW, MAP_SHARED | MAP_ANONYMOUS);
	assert_true(vmspace_lookup(space, at(0), &info));
	put(0, 'a');
	host = pin_one(0, WRITE, &pinned);
	assert_int_equal(fork_space(&req, &childs), 0);
	*host = 'b';
	assert_int_equal(get(0), 'b');
	assert_int_equal(get_of(req.fork.child, 0), 'b');
	vmspace_unpin_pages(pinned);
	vmspace_destroy(req.fork.child);
	vmspace_window_destroy(childs);
	unmap(0, 1);
	assert_int_equal(vmspace_memfd_used(memfd), page);
	/* As in Linux the last unmapping would free it; here the program says so. */
	vmspace_memfd_forget(memfd, &info.backing);
}

/* ---- without memory ---- */

static void an_allocation_that_fails_leaves_nothing_pinned(void **state)
{
	struct iovec parts[PAGES];
	struct vmspace_pinned *pinned;
	long tries = 0;
	int n;

	(void)state;
	map(0, PAGES, RW, PRIVATE);
	for (unsigned long i = 0; i < PAGES; i++)
		put(i, 'a');
	do {
		countdown = ++tries;
		n = vmspace_pin_pages(space, at(0), PAGES * page, WRITE, parts, PAGES, &pinned);
		if (n < 0) {
			assert_int_equal(n, -ENOMEM);
			assert_null(pinned);
		} else {
			assert_true(length_of(parts, n) == PAGES * page || !countdown);
		}
		vmspace_unpin_pages(pinned);
	} while (!countdown);
	countdown = 0;
	assert_true(tries > 3);
	/* No pin was left: the page is exclusive, and clean when it was cleaned. */
	assert_int_equal(clear_dirty(5), 1);
	assert_int_equal(clear_dirty(5), 0);
}

static void a_fork_that_cannot_copy_a_pinned_page_changes_nothing(void **state)
{
	struct vmspace_pinned *pinned;
	struct vmspace_request req;
	struct vmspace_window *childs;
	long tries = 0, result;
	char *host;

	(void)state;
	map(0, 4, RW, PRIVATE);
	for (unsigned long i = 0; i < 4; i++)
		put(i, 'a');
	host = pin_one(1, WRITE, &pinned);
	assert_int_equal(vmspace_window_create(&childs, memfd, START, PAGES * page), 0);
	do {
		req = (struct vmspace_request){ .op = VMSPACE_FORK };
		req.fork.child_memory = vmspace_window_memory(childs);
		countdown = ++tries;
		result = vmspace_call(space, &req);
		assert_true(result == 0 || result == -ENOMEM);
		*host = 'b';
		put(1, 'c');
		assert_int_equal(*host, 'c');
		if (result)
			assert_int_equal(vmspace_memfd_used(memfd), 4 * page);
	} while (result);
	countdown = 0;
	vmspace_destroy(req.fork.child);
	vmspace_window_destroy(childs);
	vmspace_unpin_pages(pinned);
}

/* ---- threads ---- */

/*
 * Each thread has a page of its own, pins it, and writes it by turns through the pin and as a guest,
 * while another does to all pages what takes the right to write from them, and forks. The two are one
 * memory as long as it is pinned, and what was written last is there afterwards.
 */
#define PINNERS 3

static bool stop;

struct word {
	uint64_t value;
	bool write;
};

static void use_word(void *ctx, const struct vmspace_page *now)
{
	uint64_t *guest = vmspace_memfd_frame(memfd, now->frame);
	struct word *word = ctx;

	if (word->write)
		__atomic_store_n(guest, word->value, __ATOMIC_RELAXED);
	else
		word->value = __atomic_load_n(guest, __ATOMIC_RELAXED);
}

/* Until the other thread lets it. */
static void access_word(unsigned long n, struct word *word)
{
	enum vmspace_fault_result result;

	do
		result = vmspace_access(space, at(n), word->write ? WRITE : READ, use_word, word);
	while (result == VMSPACE_FAULT_ACCERR);
	if (result)
		abort();
}

static bool is_there(unsigned long n, uint64_t value)
{
	struct word word = { 0 };

	access_word(n, &word);
	return word.value == value;
}

/*
 * A system call that writes; not by read(), which ThreadSanitizer would take for a write of the program's:
 * a fork copies the page meanwhile.
 */
static bool receive(const int fds[2], uint64_t *host, uint64_t value)
{
	return write(fds[1], &value, sizeof(value)) == sizeof(value) &&
	       syscall(SYS_read, fds[0], host, sizeof(*host)) == sizeof(*host);
}

static bool pin_and_write(const int fds[2], unsigned long n, uint64_t value)
{
	struct vmspace_pinned *pinned;
	struct iovec part;
	uint64_t *host;
	int got;

	do
		got = vmspace_pin_pages(space, at(n), sizeof(*host), WRITE, &part, 1, &pinned);
	while (got == -EFAULT);
	host = part.iov_base;
	if (got != 1)
		return false;
	for (int i = 0; i < 4; i++, value++) {
		if (!receive(fds, host, value) || !is_there(n, value))
			return false;
		value++;
		access_word(n, &(struct word){ value, true });
		if (__atomic_load_n(host, __ATOMIC_RELAXED) != value)
			return false;
	}
	if (!receive(fds, host, value))
		return false;
	vmspace_unpin_pages(pinned);
	return is_there(n, value);
}

static void *pinner(void *arg)
{
	unsigned long n = (unsigned long)(uintptr_t)arg;
	bool ok = true;
	int fds[2];

	if (pipe(fds))
		return arg;
	for (uint64_t i = 1; ok && i < 1000; i++)
		ok = pin_and_write(fds, n, 100 * i);
	close(fds[0]);
	close(fds[1]);
	return ok ? NULL : arg;
}

/* What the child has does not change any more. */
static bool fork_once(unsigned int *random)
{
	unsigned long n = (unsigned long)rand_r(random) % PINNERS + 1;
	struct vmspace *parent = space, *child;
	struct word first = { 0 }, second = { 0 };
	struct vmspace_request req;
	struct vmspace_window *childs;
	bool same;

	if (fork_space(&req, &childs))
		return false;
	child = req.fork.child;
	same = !vmspace_access(child, at(n), READ, use_word, &first);
	usleep(100);
	same = same && !vmspace_access(child, at(n), READ, use_word, &second) &&
	       first.value == second.value && space == parent && vmspace_check(child, NULL);
	vmspace_destroy(child);
	vmspace_window_destroy(childs);
	return same;
}

static void *meddler(void *arg)
{
	unsigned int random = (unsigned int)seed;
	bool ok = true;

	while (ok && !__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
		unsigned long n = (unsigned long)rand_r(&random) % PINNERS + 1;

		switch (rand_r(&random) % 5) {
		case 0:
			ok = protect(n, 1, PROT_READ) == 0 && protect(n, 1, RW) == 0;
			break;
		case 1:
			ok = clear_dirty(n) >= 0;
			break;
		case 2:
			ok = fork_once(&random);
			break;
		case 3:
			ok = map(PINNERS + 1, 4, RW, PRIVATE) == (long)at(PINNERS + 1);
			break;
		default:
			ok = vmspace_check(space, NULL);
		}
	}
	return ok ? NULL : arg;
}

static void pins_hold_against_other_threads(void **state)
{
	pthread_t thread[PINNERS + 1];
	void *result;

	(void)state;
	printf("# vmspace_pins --seed %llu\n", seed);
	stop = false;
	map(0, PAGES, RW, PRIVATE);
	for (unsigned long i = 0; i < PINNERS + 1; i++)
		put(i, 'a');
	for (uintptr_t i = 0; i < PINNERS; i++)
		assert_int_equal(pthread_create(&thread[i], NULL, pinner, (void *)(i + 1)), 0);
	assert_int_equal(pthread_create(&thread[PINNERS], NULL, meddler, &stop), 0);
	for (int i = 0; i <= PINNERS; i++) {
		if (i == PINNERS)
			__atomic_store_n(&stop, true, __ATOMIC_RELAXED);
		assert_int_equal(pthread_join(thread[i], &result), 0);
		assert_null(result);
	}
}

int main(int argc, char **argv)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
	const struct CMUnitTest tests[] = {
		TEST(system_calls_read_and_write_what_is_pinned),
		TEST(parts_are_short_where_the_guest_or_the_caller_ends),
		TEST(what_cannot_be_pinned_is_refused),
		TEST(unmapped_memory_is_left_to_the_pin),
		TEST(a_pin_to_write_and_the_guest_have_the_same_memory),
		TEST(a_page_that_is_shared_since_a_fork_is_copied_to_be_pinned),
		TEST(what_is_pinned_to_write_stays_dirty),
		TEST(code_that_a_pin_may_write_is_not_said_to_be_watched),
		TEST(shared_memory_is_the_same_for_all),
		TEST(an_allocation_that_fails_leaves_nothing_pinned),
		TEST(a_fork_that_cannot_copy_a_pinned_page_changes_nothing),
		TEST(pins_hold_against_other_threads),
	};

	if (!take_options(argc, argv, &seed, NULL))
		return 2;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
