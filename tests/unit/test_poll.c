/* SPDX-License-Identifier: MIT */
/*
 * test_poll.c - userspace RCU under the library's names: objects that wait for readers, who frees
 * them where no thread does, what threads are started when, and what a registered thread's first
 * lookup takes.
 */
#include "fixture.h"

#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../sanitizer.h"

/* Sanitizers, and valgrind (SLAB_SANITIZED is defined for it), make calls and threads too. */
#if defined(SANITIZED) || defined(SLAB_SANITIZED)
#define WATCHED
#endif
/*
 * Such builds have not the tests that see these: of a thread too many, of an allocator that stays
 * locked in a child, of the calls that a first lookup makes.
 */
#ifdef WATCHED
#define UNUSED_IF_WATCHED __attribute__((unused))
#else
#define UNUSED_IF_WATCHED
#endif

#define POLLED_MAX (1ul << 20) /* what a polled tree may leave unfreed */

/* In a child: ends it with the line that was not as expected. */
#define EXPECT(condition) \
	do { \
		if (!(condition)) \
			_exit(__LINE__ % 200 + 1); \
	} while (0)

/* Each where nothing of the library has been used yet: no thread has been started. */
static void run_in_child(void (*function)(void))
{
	int status;
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (!pid) {
		alarm(60); /* rather than hang */
		function();
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	if (status)
		fail_msg("the child ended with status %#x (signal %d, line %d mod 200)", status,
			 WTERMSIG(status), WEXITSTATUS(status) - 1);
}

static void begin_polled(struct maple_tree *mt)
{
	mt_init_flags(mt, MT_FLAGS_USE_RCU | MT_FLAGS_ALLOC_RANGE);
	EXPECT(!mt_set_rcu_flavour(mt, mt_rcu_polled()));
}

/* Entries that become two and one again, which copies leaves. */
static void write_much(struct maple_tree *mt, unsigned long count)
{
	for (unsigned long i = 0; i < count; i++) {
		unsigned long first = 4 * (i * 7919 % 4096);

		EXPECT(!mtree_store_range(mt, first, first + i / 4096 % 2, xa_mk_value(i),
					  GFP_KERNEL));
	}
}

/* How many threads the process has; and one that is not this. A sanitizer has its own. */
static int count_threads(char other[32])
{
	DIR *tasks = opendir("/proc/self/task");
	struct dirent *task;
	int count = 0;

	EXPECT(tasks);
	while ((task = readdir(tasks))) {
		if (task->d_name[0] == '.')
			continue;
		count++;
		if (atoi(task->d_name) != getpid())
			snprintf(other, 32, "%.31s", task->d_name);
	}
	closedir(tasks);
	return count;
}

/* A thread that has been joined is still seen for a moment. */
static void await_threads(int count, char other[32])
{
	for (int i = 0; i < 10000 && count_threads(other) != count; i++)
		usleep(1000);
	EXPECT(count_threads(other) == count);
}

static int freed;

static void count_freed(void *object)
{
	(void)object;
	__atomic_add_fetch(&freed, 1, __ATOMIC_RELAXED);
}

static int object;

/* A reader that stays in its section until it is told to leave. */
static pthread_barrier_t inside;
static bool leave, left;

static void *stay_inside(void *unused)
{
	mt_read_lock();
	mt_read_lock();
	mt_read_unlock();
	pthread_barrier_wait(&inside);
	while (!__atomic_load_n(&leave, __ATOMIC_RELAXED))
		usleep(1000);
	__atomic_store_n(&left, true, __ATOMIC_RELAXED);
	mt_read_unlock();
	return unused;
}

static void *leave_later(void *unused)
{
	usleep(50000);
	__atomic_store_n(&leave, true, __ATOMIC_RELAXED);
	return unused;
}

/* Whatever @wait is that waits for readers: it ends after the reader has left. */
static void expect_to_wait(bool (*wait)(void))
{
	pthread_t reader, later;

	leave = left = false;
	EXPECT(!pthread_barrier_init(&inside, NULL, 2));
	EXPECT(!pthread_create(&reader, NULL, stay_inside, NULL));
	pthread_barrier_wait(&inside);
	EXPECT(!mt_retire(&object, count_freed));
	EXPECT(!pthread_create(&later, NULL, leave_later, NULL));
	EXPECT(wait());
	EXPECT(__atomic_load_n(&left, __ATOMIC_RELAXED));
	pthread_join(reader, NULL);
	pthread_join(later, NULL);
}

static bool barrier_waits(void)
{
	return !mt_barrier() && freed;
}

static bool begun;

static void free_slowly(void *unused)
{
	__atomic_store_n(&begun, true, __ATOMIC_RELAXED);
	usleep(50000);
	count_freed(unused);
}

static void *poll_once(void *unused)
{
	EXPECT(mt_poll());
	return unused;
}

/* Whatever @wait is that waits for another thread which is in the middle of freeing. */
static void expect_to_wait_beside_poll(bool (*wait)(void))
{
	pthread_t thread;

	freed = 0;
	begun = false;
	EXPECT(!mt_retire(&object, free_slowly));
	EXPECT(!pthread_create(&thread, NULL, poll_once, NULL));
	while (!__atomic_load_n(&begun, __ATOMIC_RELAXED))
		usleep(1000);
	EXPECT(wait());
	pthread_join(thread, NULL);
}

static bool before_fork_waits(void)
{
	bool waited;

	mt_before_fork();
	waited = __atomic_load_n(&freed, __ATOMIC_RELAXED);
	mt_after_fork_parent();
	return waited;
}

static bool synchronize_waits(void)
{
	return !mt_synchronize();
}

static bool poll_waits(void)
{
	return mt_poll() && freed;
}

static void retire_without_helper(void)
{
	EXPECT(!mt_poll());
	expect_to_wait(poll_waits);
	EXPECT(freed == 1);
	EXPECT(!mt_poll());
	expect_to_wait(synchronize_waits);
	EXPECT(freed == 1);
	expect_to_wait(barrier_waits);
	EXPECT(freed == 3);
	expect_to_wait_beside_poll(barrier_waits);
	expect_to_wait_beside_poll(before_fork_waits);
}

static unsigned long mapped_pages(void)
{
	FILE *file = fopen("/proc/self/statm", "r");
	unsigned long pages;

	assert_non_null(file);
	assert_int_equal(fscanf(file, "%lu", &pages), 1);
	fclose(file);
	return pages;
}

/* Not in a child: what looks for lost memory does so where this process ends. */
static void nothing_is_left_of_what_was_retired(void **state)
{
	unsigned long pages;

	(void)state;
	freed = 0;
	assert_int_equal(mt_retire(&object, count_freed), 0);
	assert_true(mt_poll());
	assert_int_equal(mt_barrier(), 0);
	pages = mapped_pages();
	for (int i = 0; i < 20; i++)
		assert_int_equal(mt_barrier(), 0);
	assert_true(mapped_pages() < pages + 10 * (1 << 20) / (unsigned long)sysconf(_SC_PAGESIZE));
	assert_int_equal(freed, 1);
}

static void objects_wait_for_readers(void **state)
{
	(void)state;
	run_in_child(retire_without_helper);
}

static void retire_with_helper(void)
{
	EXPECT(!mt_retire(&object, count_freed)); /* waits for the helper */
	EXPECT(!mt_start_helper(0));
	for (int i = 0; i < 10000 && !__atomic_load_n(&freed, __ATOMIC_RELAXED); i++)
		usleep(1000);
	EXPECT(__atomic_load_n(&freed, __ATOMIC_RELAXED) == 1);
	expect_to_wait(barrier_waits);
	EXPECT(__atomic_load_n(&freed, __ATOMIC_RELAXED) == 2);
	EXPECT(!mt_poll()); /* all is the helper's */
}

static void the_helper_frees_objects(void **state)
{
	(void)state;
	run_in_child(retire_with_helper);
}

/* In a function that frees, and in a section, nothing waits. */
static void try_to_wait(void *unused)
{
	(void)unused;
	EXPECT(mt_synchronize() == -EDEADLK);
	EXPECT(mt_barrier() == -EDEADLK);
	EXPECT(mt_start_helper(0) == -EDEADLK);
	EXPECT(!mt_poll());
	EXPECT(!mt_retire(&object, count_freed));
	EXPECT(!mt_poll());
	freed++;
}

static void call_where_nobody_may_wait(void)
{
	mt_read_lock();
	try_to_wait(NULL);
	mt_read_unlock();
	EXPECT(freed == 1);
	EXPECT(mt_poll() && freed == 2);
	EXPECT(!mt_retire(NULL, try_to_wait));
	EXPECT(mt_poll() && freed == 3);
	EXPECT(mt_poll() && freed == 4);
	EXPECT(mt_start_helper(MT_HELPER_OWN_FILES << 1) == -EINVAL);
}

static void nothing_waits_for_itself(void **state)
{
	(void)state;
	run_in_child(call_where_nobody_may_wait);
}

static void use_polled_tree(void)
{
	struct maple_tree mt;
	unsigned long i, most = 0;
	char other[32];
	int before = count_threads(other);

	EXPECT(!mt_thread_register());
	begin_polled(&mt);
	for (i = 0; i < 100; i++) {
		write_much(&mt, 2000);
		most = mt_retired_bytes() > most ? mt_retired_bytes() : most;
	}
	EXPECT(most > 100000 && most < POLLED_MAX); /* freed by the writer */
	mtree_destroy(&mt);
	EXPECT(mt_retired_bytes());
	EXPECT(!mt_barrier());
	EXPECT(!mt_retired_bytes());
	EXPECT(!mt_retire(&object, count_freed));
	mt_cache_shrink();
	EXPECT(mt_poll() && freed == 1);
	EXPECT(count_threads(other) == before);
	mt_thread_unregister();
}

static void no_thread_is_started_for_a_polled_tree(void **state)
{
	(void)state;
	run_in_child(use_polled_tree);
}

/* Writes until so many bytes wait. Returns false if too much is freed meanwhile. */
static bool write_until(struct maple_tree *mt, unsigned long bytes)
{
	for (unsigned long i = 0; i < 50000 && mt_retired_bytes() < bytes; i++) {
		unsigned long first = 4 * (i * 7919 % 4096);

		EXPECT(!mtree_store_range(mt, first, first + i % 3, xa_mk_value(i), GFP_KERNEL));
	}
	return mt_retired_bytes() >= bytes;
}

/* However often and by whomever it has been emptied, a writer leaves the queue alone until it is long. */
static void poll_and_write(void)
{
	struct maple_tree mt;

	begin_polled(&mt);
	for (int i = 0; i < 3; i++) {
		EXPECT(write_until(&mt, 100000));
		EXPECT(mt_poll()); /* nothing but what the tree has retired */
		EXPECT(mt_retired_bytes() == 0);
		EXPECT(!mt_poll());
	}
	mtree_destroy(&mt);
	EXPECT(mt_poll() && mt_retired_bytes() == 0);
}

static void what_was_polled_is_not_counted_any_more(void **state)
{
	(void)state;
	run_in_child(poll_and_write);
}

/* Those who cannot wait leave it to the others; a limit is kept by freeing. */
static void write_without_waiting(void)
{
	struct maple_tree mt;
	unsigned long i, first, most;
	void *entry;
	int error;

	begin_polled(&mt);
	write_much(&mt, 8000);
	mt_read_lock();
	write_much(&mt, 30000);
	mt_read_unlock();
	most = mt_retired_bytes();
	EXPECT(most > POLLED_MAX);
	for (i = 0; i < 8000; i++) {
		first = 4 * (i * 7919 % 4096);
		error = mtree_store_range(&mt, first, first + i % 2, &mt, GFP_NOWAIT);
		EXPECT(!error || error == -ENOMEM);
	}
	EXPECT(mt_retired_bytes() >= most);
	mt_wait_retired(&mt);
	EXPECT(mt_retired_bytes() < POLLED_MAX);
	mt_set_retire_limit(20000);
	for (i = 0; i < 8000; i++) {
		write_much(&mt, 1);
		EXPECT(mt_retired_bytes() < 60000);
	}
	mt_set_retire_limit(0);
	i = 0;
	mt_read_lock();
	mt_for_each(&mt, entry, i, ULONG_MAX)
		EXPECT(entry);
	mt_read_unlock();
	mtree_destroy(&mt);
	EXPECT(!mt_barrier() && !mt_retired_bytes());
}

static void writers_that_may_not_wait_do_not(void **state)
{
	(void)state;
	run_in_child(write_without_waiting);
}

/* Fills @line with what the status of thread @task says of @field. */
static void status_of(const char *task, const char *field, char line[128])
{
	char path[64];
	FILE *file;

	snprintf(path, sizeof(path), "/proc/self/task/%s/status", task);
	EXPECT((file = fopen(path, "r")));
	do
		EXPECT(fgets(line, 128, file));
	while (strncmp(line, field, strlen(field)) != 0);
	fclose(file);
}

static int count_files(const char *task)
{
	char path[64];
	struct dirent *file;
	DIR *files;
	int count = 0;

	snprintf(path, sizeof(path), "/proc/self/task/%s/fd", task);
	EXPECT((files = opendir(path)));
	while ((file = readdir(files)))
		count += file->d_name[0] != '.';
	closedir(files);
	return count;
}

static void start_helper_without_files(void)
{
	char task[32] = "", line[128];
	char *blocked;
	int before = count_threads(task), error;
	sigset_t own, after;

	sigemptyset(&own);
	sigaddset(&own, SIGUSR1);
	EXPECT(!sigprocmask(SIG_SETMASK, &own, NULL));
	EXPECT(!mt_start_helper(0));
	EXPECT(!sigprocmask(SIG_SETMASK, NULL, &after));
	for (int i = 1; i < SIGRTMAX; i++)
		EXPECT(sigismember(&own, i) == sigismember(&after, i));
	await_threads(before + 1, task);
	EXPECT(!mt_start_helper(0));
	EXPECT(count_threads(task) == before + 1);
	status_of(task, "SigBlk:", line);
	/* All but those of the C library, KILL and STOP. */
	blocked = line + strlen("SigBlk:\t");
	EXPECT((strtoull(blocked, NULL, 16) | 1ull << 8 | 1ull << 18 | 3ull << 31) == ~0ull);
	EXPECT(count_files(task) >= 3);
	error = mt_start_helper(MT_HELPER_OWN_FILES);
	if (error == -ENOSYS)
		return;
	EXPECT(!error);
	EXPECT(count_files(task) == 0);
	EXPECT(dup(0) >= 0); /* ours are here */
	expect_to_wait(barrier_waits);
}

static void start_helper_by_mode(void)
{
	DEFINE_MTREE(mt);
	char task[32] = "";

	EXPECT(!mt_set_in_rcu(&mt));
	await_threads(2, task);
	EXPECT(count_files(task) >= 3); /* nobody has asked for less */
}

UNUSED_IF_WATCHED static void the_helper_has_neither_signals_nor_files(void **state)
{
	(void)state;
	if (getenv("EMULATED")) /* threads of the emulator's are seen */
		skip();
	run_in_child(start_helper_without_files);
	run_in_child(start_helper_by_mode);
}

/* ---- fork -------------------------------------------------------------------------------- */

static struct maple_tree polled;
static bool stop;

static void *write_on(void *unused)
{
	while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
		mtree_lock(&polled); /* as the fork holds it */
		mtree_unlock(&polled);
		write_much(&polled, 500);
	}
	return unused;
}

static void *poll_on(void *unused)
{
	while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
		EXPECT(!mt_retire(&object, count_freed));
		mt_poll();
	}
	return unused;
}

static void use_copy(void)
{
	int before = freed;

	alarm(60);
	EXPECT(!mt_retire(&object, count_freed));
	write_much(&polled, 5000);
	mtree_destroy(&polled);
	EXPECT(!mt_barrier());
	EXPECT(freed > before);
	EXPECT(!mt_retired_bytes());
	_exit(0);
}

static void fork_while_threads_free(void)
{
	static void *(*const job[])(void *) = { write_on, write_on, poll_on };
	pthread_t threads[3];
	int status;

	begin_polled(&polled);
	for (int i = 0; i < 3; i++)
		EXPECT(!pthread_create(&threads[i], NULL, job[i], NULL));
	for (int i = 0; i < 20; i++) {
		pid_t pid;

		usleep(2000);
		mtree_lock(&polled);
		mt_before_fork();
		pid = fork();
		if (!pid) {
			mt_after_fork_child();
			mtree_unlock(&polled);
			use_copy();
		}
		mt_after_fork_parent();
		mtree_unlock(&polled);
		EXPECT(pid > 0);
		EXPECT(waitpid(pid, &status, 0) == pid);
		if (status)
			_exit(WIFEXITED(status) ? WEXITSTATUS(status) : 255);
	}
	__atomic_store_n(&stop, true, __ATOMIC_RELAXED);
	for (int i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	mtree_destroy(&polled);
	EXPECT(!mt_barrier() && !mt_retired_bytes());
}

UNUSED_IF_WATCHED static void a_forked_process_frees_its_copy(void **state)
{
	(void)state;
	run_in_child(fork_while_threads_free);
}

/* ---- the first lookup -------------------------------------------------------------------- */

static struct maple_tree looked_up;
static bool looked;

/* From here on every system call but those to end kills the process. */
static void *look_up_without_system_calls(void *registered)
{
	unsigned long index = 0, first, last;
	bool right;

	if (registered && mt_thread_register())
		return NULL;
	if (prctl(PR_SET_SECCOMP, 1, 0, 0, 0))
		return NULL;
	right = mtree_load(&looked_up, 4000) == xa_mk_value(1000);
	right &= mt_find(&looked_up, &index, ULONG_MAX) == xa_mk_value(0);
	right &= mtree_gap_around(&looked_up, 3, &first, &last);
	mt_read_lock();
	mt_read_unlock();
	__atomic_store_n(&looked, right, __ATOMIC_RELEASE);
	syscall(SYS_exit, 0);
	return NULL;
}

/* Returns whether it came to its end. */
static bool look_up_in_new_thread(bool registered)
{
	pthread_t thread;

	fill(&looked_up, 0, 2, 4, 5000);
	EXPECT(!pthread_create(&thread, NULL, look_up_without_system_calls,
			       registered ? &thread : NULL));
	EXPECT(!pthread_join(thread, NULL));
	return looked;
}

static void look_up_registered(void)
{
	EXPECT(look_up_in_new_thread(true));
}

/* So the filter is one: it ends the thread, or the process. */
static void look_up_unregistered(void)
{
	pid_t pid = fork();
	int status;

	EXPECT(pid >= 0);
	if (!pid)
		_exit(look_up_in_new_thread(false));
	EXPECT(waitpid(pid, &status, 0) == pid);
	EXPECT(status == 0 || WIFSIGNALED(status));
}

/* What cannot be had is told, and what is retired stays the caller's. */
static void retire_without_memory(void)
{
	void *volatile block; /* a compiler leaves out what nobody looks at */
	struct rlimit limit;

	EXPECT(!mt_thread_register());
	EXPECT(!getrlimit(RLIMIT_AS, &limit));
	limit.rlim_cur = 0;
	EXPECT(!setrlimit(RLIMIT_AS, &limit));
	do
		block = malloc(16);
	while (block);
	EXPECT(mt_retire(&object, count_freed) == -ENOMEM);
	EXPECT(mt_barrier() == -ENOMEM);
	EXPECT(!mt_poll() && !freed);
	/* Whoever looks at the end of a process may need some: a tool that measures coverage does. */
	limit.rlim_cur = limit.rlim_max;
	EXPECT(!setrlimit(RLIMIT_AS, &limit));
}

UNUSED_IF_WATCHED static void without_memory_nothing_is_retired(void **state)
{
	(void)state;
	if (getenv("EMULATED")) /* qemu-user does not keep to limits */
		skip();
	run_in_child(retire_without_memory);
}

/* A child's helper is as that of its parent was asked to be. */
static void start_helper_again(void)
{
	char other[32];
	int status;
	pid_t pid;

	EXPECT(!mt_start_helper(MT_HELPER_OWN_FILES));
	mt_before_fork();
	pid = fork();
	if (pid == 0) {
		alarm(60);
		mt_after_fork_child();
		await_threads(2, other);
		EXPECT(count_files(other) == 0);
		EXPECT(!mt_start_helper(0));
		_exit(0);
	}
	mt_after_fork_parent();
	EXPECT(waitpid(pid, &status, 0) == pid);
	EXPECT(!status);
}

static void fork_without_helper(void)
{
	char other[32];
	int status;
	pid_t pid;

	EXPECT(!mt_thread_register());
	mt_before_fork();
	pid = fork();
	if (pid == 0) {
		alarm(60);
		mt_after_fork_child();
		EXPECT(count_threads(other) == 1);
		mt_before_fork(); /* it forks itself */
		mt_after_fork_parent();
		_exit(0);
	}
	mt_after_fork_parent();
	EXPECT(waitpid(pid, &status, 0) == pid);
	EXPECT(!status);
}

UNUSED_IF_WATCHED static void a_child_has_a_helper_like_its_parent(void **state)
{
	(void)state;
	if (getenv("EMULATED")) /* threads of the emulator's are seen */
		skip();
	run_in_child(start_helper_again);
	run_in_child(fork_without_helper);
}

UNUSED_IF_WATCHED static void the_first_lookup_of_a_registered_thread_is_like_any(void **state)
{
	(void)state;
	if (getenv("EMULATED"))
		skip();
	if (prctl(PR_GET_SECCOMP, 0, 0, 0, 0)) {
		print_message("# SKIP in part: this process is under a seccomp filter\n");
		return;
	}
	mt_init_flags(&looked_up, MT_FLAGS_USE_RCU | MT_FLAGS_ALLOC_RANGE);
	run_in_child(look_up_registered);
	run_in_child(look_up_unregistered);
	mt_set_rcu_flavour(&looked_up, mt_rcu_polled());
	run_in_child(look_up_registered);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(objects_wait_for_readers),
		cmocka_unit_test(the_helper_frees_objects),
		cmocka_unit_test(nothing_waits_for_itself),
		cmocka_unit_test(no_thread_is_started_for_a_polled_tree),
		cmocka_unit_test(what_was_polled_is_not_counted_any_more),
		cmocka_unit_test(writers_that_may_not_wait_do_not),
#ifndef WATCHED
		cmocka_unit_test(the_helper_has_neither_signals_nor_files),
		cmocka_unit_test(a_child_has_a_helper_like_its_parent),
		cmocka_unit_test(without_memory_nothing_is_retired),
		cmocka_unit_test(a_forked_process_frees_its_copy),
		cmocka_unit_test(the_first_lookup_of_a_registered_thread_is_like_any),
#endif
		cmocka_unit_test(nothing_is_left_of_what_was_retired), /* the last: it is no child */
	};

	return cmocka_run_group_tests_name("poll", tests, NULL, NULL);
}
