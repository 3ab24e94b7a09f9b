/* SPDX-License-Identifier: MIT */
/*
 * test_scarce.c - what a process may lack but nodes: keys of threads, threads, address space. Each
 * case runs in a child of its own, where nothing of the library has been used yet.
 */
#include "fixture.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include <urcu-bp.h>

#include "../sanitizer.h"
#include "node.h"

/* Sanitizers, and valgrind, for which SLAB_SANITIZED is defined, do not go on without memory. */
#if !defined(SANITIZED) && !defined(SLAB_SANITIZED)
#define RESOURCES_RUN_OUT
#endif

/* In a child: ends it with the line that was not as expected. */
#define EXPECT(condition) \
	do { \
		if (!(condition)) \
			_exit(__LINE__ % 200 + 1); \
	} while (0)

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

/* ---- keys -------------------------------------------------------------------------------- */

static void take_all_keys(void)
{
	pthread_key_t key;

	while (!pthread_key_create(&key, NULL))
		EXPECT(!pthread_setspecific(key, "theirs"));
}

static void *use_tree(void *tree)
{
	struct maple_tree *mt = tree;

	for (unsigned long i = 0; i < 1000; i++)
		EXPECT(!mtree_store(mt, 2 * i, xa_mk_value(i), GFP_KERNEL));
	return NULL;
}

static void store_without_keys(void)
{
	DEFINE_MTREE(mt);
	pthread_t thread;
	void *first;

	take_all_keys();
	first = pthread_getspecific(0); /* somebody's: a failed call leaves 0 for a key */
	use_tree(&mt);
	EXPECT(pthread_getspecific(0) == first);
	EXPECT(!pthread_create(&thread, NULL, use_tree, &mt));
	EXPECT(!pthread_join(thread, NULL));
	EXPECT(!mt_thread_register());
	for (unsigned long i = 0; i < 1000; i++)
		EXPECT(mtree_load(&mt, 2 * i) == xa_mk_value(i));
	mtree_lock(&mt);
	EXPECT(mt_check(&mt, NULL));
	mtree_unlock(&mt);
	mtree_destroy(&mt);
	mt_cache_shrink();
}

static void no_key_is_taken_from_others(void **state)
{
	(void)state;
	run_in_child(store_without_keys);
}

#ifdef RESOURCES_RUN_OUT

/* ---- threads and address space ----------------------------------------------------------- */

static int limit = RLIMIT_AS; /* or RLIMIT_DATA: of what can be written */
static struct rlimit before;

/* Nothing more can be mapped, and no thread started, until give_back(). */
static void take_address_space(void)
{
	struct rlimit none;

	EXPECT(!getrlimit(limit, &before));
	none = (struct rlimit){ 1, before.rlim_max }; /* of data, 0 would be no limit */
	EXPECT(!setrlimit(limit, &none));
}

static void give_back(void)
{
	EXPECT(!setrlimit(limit, &before));
}

static bool no_threads;

/* A new thread finds no memory: never, as long as it runs, or from its end on. Or it is slow. */
static enum { RICH, POOR, POOR_AFTER, SLOW } threads_are;
static void *(*begun_function)(void *);
static int slow_threads;

static void *run_poor(void *arg)
{
	bool poor = threads_are == POOR;
	sigset_t blocked;
	void *result;

	EXPECT(!pthread_sigmask(SIG_SETMASK, NULL, &blocked));
	EXPECT(sigismember(&blocked, SIGTERM));
	if (!getenv("EMULATED")) /* qemu-user keeps the last signals for itself */
		EXPECT(sigismember(&blocked, SIGRTMAX));
	if (threads_are == SLOW) {
		EXPECT(__atomic_add_fetch(&slow_threads, 1, __ATOMIC_SEQ_CST) == 1);
		usleep(50000);
		__atomic_sub_fetch(&slow_threads, 1, __ATOMIC_SEQ_CST);
		return begun_function(arg);
	}
	if (poor)
		take_address_space();
	result = begun_function(arg);
	if (poor)
		give_back();
	else
		take_address_space();
	return result;
}

/* In front of the C library's, for liburcu as well. */
__attribute__((visibility("default")))
int pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*function)(void *),
		   void *arg)
{
	int (*create)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);

	*(void **)&create = dlsym(RTLD_NEXT, "pthread_create");
	if (threads_are != RICH) {
		begun_function = function;
		function = run_poor;
	}
	return no_threads ? EAGAIN : create(thread, attr, function, arg);
}

/* Enough for the nodes of a small tree, so that they are not what is missing. */
static void keep_nodes_ready(void)
{
	DEFINE_MTREE(mt);

	fill(&mt, 0, 2, 3, 4000);
	mtree_destroy(&mt);
}

static void expect_range(struct maple_tree *mt, unsigned long count)
{
	for (unsigned long i = 0; i < count; i++)
		EXPECT(mtree_load(mt, i) == xa_mk_value(i));
	EXPECT(!mtree_load(mt, count));
	mtree_lock(mt);
	EXPECT(mt_check(mt, NULL));
	mtree_unlock(mt);
}

/* Stores until memory is retired many times; in between memory is missing. */
static void store_with_rcu(void)
{
	struct maple_tree mt = MTREE_INIT(mt, MT_FLAGS_USE_RCU);
	unsigned long count = 0;

	keep_nodes_ready();
	take_address_space();
	EXPECT(mtree_store(&mt, 0, xa_mk_value(0), GFP_KERNEL) == 0); /* needs no node */
	count++;
	while (count < 1000 && !mtree_store(&mt, count, xa_mk_value(count), GFP_KERNEL))
		count++;
	give_back();
	EXPECT(count == 1); /* the first one that needs a thread to free nodes is refused */
	expect_range(&mt, count);
	for (; count < 1000; count++)
		EXPECT(!mtree_store(&mt, count, xa_mk_value(count), GFP_KERNEL));
	expect_range(&mt, count);
	take_address_space(); /* now it is there */
	for (; count < 2000; count++)
		EXPECT(!mtree_store(&mt, count, xa_mk_value(count), GFP_KERNEL));
	expect_range(&mt, count);
	mtree_destroy(&mt);
	give_back();
	urcu_bp_barrier();
}

static void a_store_in_rcu_mode_is_refused_where_no_thread_can_be_started(void **state)
{
	(void)state;
	if (getenv("EMULATED")) /* qemu-user does not keep to limits */
		skip();
	run_in_child(store_with_rcu);
}

/* The same with all memory there is. */
static void store_without_threads(void)
{
	struct maple_tree mt = MTREE_INIT(mt, MT_FLAGS_USE_RCU | MT_FLAGS_ALLOC_RANGE);
	MA_STATE(mas, &mt, 7, 7);
	unsigned long start;

	no_threads = true;
	EXPECT(mtree_store(&mt, 5, E('a'), GFP_KERNEL) == -ENOMEM);
	EXPECT(mtree_alloc_range(&mt, &start, E('a'), 1, 5, 9, GFP_KERNEL) == -ENOMEM);
	mas_lock(&mas);
	EXPECT(mas_preallocate(&mas, E('a'), GFP_KERNEL) == -ENOMEM);
	mas_reset(&mas);
	EXPECT(mas_expected_entries(&mas, 10) == -ENOMEM);
	mas_reset(&mas);
	EXPECT(mas_reserve(&mas, 10, 10) == -ENOMEM);
	mas_destroy(&mas);
	EXPECT(mtree_empty(&mt) && mt_check(&mt, NULL));
	no_threads = false;
	mas_reset(&mas);
	EXPECT(mas_preallocate(&mas, E('a'), GFP_KERNEL) == 0);
	no_threads = true;
	mas_store_prealloc(&mas, E('a'));
	mas_unlock(&mas);
	for (unsigned long i = 0; i < 1000; i++)
		EXPECT(!mtree_store(&mt, i, xa_mk_value(i), GFP_KERNEL));
	expect_range(&mt, 1000);
	mtree_destroy(&mt);
	urcu_bp_barrier();
	EXPECT(mt_retired_bytes() == 0);
}

static void a_store_in_rcu_mode_is_refused_where_there_are_too_many_threads(void **state)
{
	(void)state;
	run_in_child(store_without_threads);
}

static void switch_mode(void)
{
	DEFINE_MTREE(mt);

	keep_nodes_ready();
	take_address_space();
	EXPECT(mt_set_in_rcu(&mt) == -ENOMEM);
	EXPECT(!mt_in_rcu(&mt));
	give_back();
	EXPECT(mt_set_in_rcu(&mt) == 0);
	EXPECT(mt_in_rcu(&mt));
	take_address_space();
	EXPECT(mt_set_in_rcu(&mt) == 0);
	fill(&mt, 0, 2, 3, 1000);
	mtree_destroy(&mt);
	give_back();
	urcu_bp_barrier();
}

/* The memory that there was for this thread is missing in the one that is tried, or after it. */
static void start_with_poor_threads(void)
{
	DEFINE_MTREE(mt);

	EXPECT(!mt_thread_register());
	threads_are = POOR;
	EXPECT(mt_set_in_rcu(&mt) == -ENOMEM);
	threads_are = POOR_AFTER;
	EXPECT(mt_set_in_rcu(&mt) == -ENOMEM);
	give_back();
	threads_are = RICH;
	EXPECT(mt_set_in_rcu(&mt) == 0);
	EXPECT(!mt_barrier());
}

/* A thread that liburcu does not know is not made known to it where that would end the process. */
static void wait_without_memory(void)
{
	keep_nodes_ready();
	take_address_space();
	EXPECT(mt_synchronize() == -ENOMEM);
	EXPECT(mt_barrier() == -ENOMEM);
	EXPECT(mt_start_helper(0) == -ENOMEM);
	give_back();
	EXPECT(mt_synchronize() == 0);
	EXPECT(mt_start_helper(0) == 0);
	take_address_space(); /* now it is known */
	EXPECT(mt_synchronize() == 0);
	give_back();
}

static void rcu_mode_is_refused_where_no_thread_can_be_started(void **state)
{
	(void)state;
	if (getenv("EMULATED"))
		skip();
	run_in_child(switch_mode);
	limit = RLIMIT_DATA;
	run_in_child(switch_mode);
	run_in_child(wait_without_memory);
	run_in_child(start_with_poor_threads);
	limit = RLIMIT_AS;
}

/* Returns in the child, which has not called mt_after_fork_child() yet. */
static void fork_and_end_like_the_child(void)
{
	int status;
	pid_t pid;

	mt_before_fork();
	pid = fork();
	if (pid) {
		EXPECT(pid > 0 && waitpid(pid, &status, 0) == pid);
		mt_after_fork_parent();
		_exit(WIFEXITED(status) ? WEXITSTATUS(status) : 255);
	}
	alarm(60);
}

static void destroy_copy(void)
{
	struct maple_tree mt = MTREE_INIT(mt, MT_FLAGS_USE_RCU);
	struct maple_tree old = MTREE_INIT(old, MT_FLAGS_USE_RCU);

	fill(&old, 0, 2, 3, 1000);
	mtree_lock(&old);
	fork_and_end_like_the_child();
	take_address_space();
	mt_after_fork_child();
	mtree_unlock(&old);
	mtree_destroy(&old);
	EXPECT(mtree_store(&mt, 0, xa_mk_value(1), GFP_KERNEL) == 0);
	EXPECT(mtree_store(&mt, 5, xa_mk_value(1), GFP_KERNEL) == -ENOMEM);
	give_back();
	EXPECT(mtree_store(&mt, 5, xa_mk_value(1), GFP_KERNEL) == 0);
	mtree_destroy(&mt);
	urcu_bp_barrier();
	EXPECT(mt_retired_bytes() == 0);
}

static void a_forked_child_needs_no_thread_to_destroy(void **state)
{
	(void)state;
	if (getenv("EMULATED"))
		skip();
	run_in_child(destroy_copy);
}

static unsigned int dropped;

static void count_nothing(void *entry)
{
	(void)entry;
}

static void count_dropped(void *entry)
{
	(void)entry;
	__atomic_add_fetch(&dropped, 1, __ATOMIC_RELAXED);
}

/* What could not be handed over when no thread could be started goes with the next store. */
static void replace_counted_entries(void)
{
	static const struct mt_entry_ops counting = { count_nothing, count_dropped };
	struct maple_tree mt = MTREE_INIT(mt, MT_FLAGS_USE_RCU);
	MA_STATE(mas, &mt, 7, 7);

	EXPECT(!mt_set_entry_ops(&mt, &counting));
	fill(&mt, 0, 1, 1, 10);
	mas_lock(&mas);
	EXPECT(!mas_preallocate(&mas, xa_mk_value(70), GFP_KERNEL));
	fork_and_end_like_the_child();
	no_threads = true;
	mt_after_fork_child();
	mas_store_prealloc(&mas, xa_mk_value(70));
	mas_unlock(&mas);
	no_threads = false;
	EXPECT(!dropped);
	EXPECT(!mtree_store(&mt, 8, xa_mk_value(80), GFP_KERNEL));
	urcu_bp_barrier(); /* one for each grace period */
	urcu_bp_barrier();
	EXPECT(dropped == 2);
	mtree_destroy(&mt);
	EXPECT(!mt_barrier());
	EXPECT(dropped == 12);
}

static void a_store_hands_over_what_waited_for_a_thread(void **state)
{
	(void)state;
	if (getenv("EMULATED"))
		skip();
	run_in_child(replace_counted_entries);
}

/* A child that could not start the helper again, in which nodes wait that a store has retired. */
static void begin_child_without_helper(struct maple_tree *mt)
{
	MA_STATE(mas, mt, 8, 2000);

	mt_init_flags(mt, MT_FLAGS_USE_RCU);
	fill(mt, 0, 2, 3, 1000);
	EXPECT(!mt_barrier());
	mas_lock(&mas);
	EXPECT(!mas_preallocate(&mas, E('x'), GFP_KERNEL));
	fork_and_end_like_the_child();
	no_threads = true;
	mt_after_fork_child();
	mas_store_prealloc(&mas, E('x'));
	mas_unlock(&mas);
	mtree_destroy(mt);
	EXPECT(mt_retired_bytes() > NODE_BYTES);
}

static void keep_limit_without_helper(void)
{
	struct maple_tree mt;
	unsigned long waits;

	begin_child_without_helper(&mt);
	waits = mt_retired_bytes();
	mt_set_retire_limit(1);
	mt_wait_retired(&mt); /* for nobody */
	EXPECT(mt_retired_bytes() == waits);
	no_threads = false;
	mt_wait_retired(&mt);
	EXPECT(mt_retired_bytes() == 0);
}

static void a_limit_waits_for_no_helper_that_cannot_be_started(void **state)
{
	(void)state;
	if (getenv("EMULATED"))
		skip();
	run_in_child(keep_limit_without_helper);
}

static void poll_without_helper(void)
{
	struct maple_tree mt;

	begin_child_without_helper(&mt);
	EXPECT(mt_poll());
	EXPECT(mt_retired_bytes() == 0);
	EXPECT(!mt_poll());
}

static void poll_with_helper_again(void)
{
	struct maple_tree mt;

	begin_child_without_helper(&mt);
	no_threads = false;
	EXPECT(!mt_poll()); /* it is the helper that frees it */
	EXPECT(!mt_barrier());
	EXPECT(mt_retired_bytes() == 0);
}

static void what_waits_for_the_helper_is_polled_unless_it_can_be_started(void **state)
{
	(void)state;
	if (getenv("EMULATED"))
		skip();
	run_in_child(poll_without_helper);
	run_in_child(poll_with_helper_again);
}

static pthread_barrier_t barrier;

static void *start_helper(void *unused)
{
	pthread_barrier_wait(&barrier);
	EXPECT(!mt_start_helper(0));
	return unused;
}

static void start_helper_at_once(void)
{
	pthread_t other;

	EXPECT(!pthread_barrier_init(&barrier, NULL, 2));
	EXPECT(!pthread_create(&other, NULL, start_helper, NULL));
	threads_are = SLOW;
	start_helper(NULL);
	EXPECT(!pthread_join(other, NULL));
}

static void threads_that_start_the_helper_do_so_one_by_one(void **state)
{
	(void)state;
	run_in_child(start_helper_at_once);
}

/* ---- readers ----------------------------------------------------------------------------- */

static struct maple_tree shared = MTREE_INIT(shared, MT_FLAGS_USE_RCU);

static void *read_registered(void *unused)
{
	EXPECT(!mt_thread_register());
	EXPECT(!mt_thread_register()); /* twice is once */
	pthread_barrier_wait(&barrier);
	pthread_barrier_wait(&barrier);
	EXPECT(mtree_load(&shared, 1) == xa_mk_value(0));
	EXPECT(!mtree_store(&shared, 1, xa_mk_value(0), GFP_KERNEL));
	mt_thread_unregister();
	return unused;
}

static void *read_refused(void *unused)
{
	pthread_barrier_wait(&barrier);
	pthread_barrier_wait(&barrier);
	EXPECT(mt_thread_register() == -ENOMEM);
	return unused;
}

/* As many threads as liburcu's first pages have no room for. */
#define READERS 70

static void read_without_memory(void)
{
	pthread_t threads[READERS + 1];

	EXPECT(!pthread_barrier_init(&barrier, NULL, READERS + 2));
	fill(&shared, 0, 2, 3, 1000);
	for (int i = 0; i < READERS; i++)
		EXPECT(!pthread_create(&threads[i], NULL, read_registered, NULL));
	EXPECT(!pthread_create(&threads[READERS], NULL, read_refused, NULL));
	pthread_barrier_wait(&barrier);
	take_address_space();
	pthread_barrier_wait(&barrier);
	for (int i = 0; i <= READERS; i++)
		EXPECT(!pthread_join(threads[i], NULL));
	give_back();
	mtree_destroy(&shared);
}

static void a_registered_thread_reads_without_memory(void **state)
{
	(void)state;
	if (getenv("EMULATED"))
		skip();
	run_in_child(read_without_memory);
}

#endif

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_key_is_taken_from_others),
#ifdef RESOURCES_RUN_OUT
		cmocka_unit_test(a_store_in_rcu_mode_is_refused_where_no_thread_can_be_started),
		cmocka_unit_test(a_store_in_rcu_mode_is_refused_where_there_are_too_many_threads),
		cmocka_unit_test(rcu_mode_is_refused_where_no_thread_can_be_started),
		cmocka_unit_test(a_forked_child_needs_no_thread_to_destroy),
		cmocka_unit_test(a_store_hands_over_what_waited_for_a_thread),
		cmocka_unit_test(a_limit_waits_for_no_helper_that_cannot_be_started),
		cmocka_unit_test(what_waits_for_the_helper_is_polled_unless_it_can_be_started),
		cmocka_unit_test(threads_that_start_the_helper_do_so_one_by_one),
		cmocka_unit_test(a_registered_thread_reads_without_memory),
#endif
	};

	return cmocka_run_group_tests_name("scarce", tests, NULL, NULL);
}
