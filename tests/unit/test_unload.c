/* SPDX-License-Identifier: MIT */
/*
 * test_unload.c LIBRARY - dlclose() of the shared library while threads live that have used it, and
 * nodes wait for a grace period: nothing of either comes back into unmapped memory.
 */
#include "fixture.h"

#include <dlfcn.h>
#include <pthread.h>
#include <unistd.h>

/*
 * Asked by LeakSanitizer, which crashes here one time in twenty: for a thread that is there when the
 * program ends (liburcu's) it takes a dynamic TLS block from what was memory of the library's, by then
 * unloaded (seen with gcc 12: "DTLS 7 at 0x001200000043"). Overruns and uses after free are found.
 */
__attribute__((visibility("default"))) int __lsan_is_turned_off(void);

int __lsan_is_turned_off(void)
{
	return 1;
}

static const char *path;

static struct {
	void *handle;
	void (*init)(struct maple_tree *mt, unsigned int flags);
	int (*store)(struct maple_tree *mt, unsigned long index, void *entry, gfp_t gfp);
	void (*destroy)(struct maple_tree *mt);
	int (*register_thread)(void);
	int (*retire)(void *object, void (*free)(void *object));
	int (*start_helper)(unsigned int flags);
} library;

static void load(void)
{
	library.handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (!library.handle)
		fail_msg("%s", dlerror());
	*(void **)&library.init = dlsym(library.handle, "mt_init_flags");
	*(void **)&library.store = dlsym(library.handle, "mtree_store");
	*(void **)&library.destroy = dlsym(library.handle, "mtree_destroy");
	*(void **)&library.register_thread = dlsym(library.handle, "mt_thread_register");
	*(void **)&library.retire = dlsym(library.handle, "mt_retire");
	*(void **)&library.start_helper = dlsym(library.handle, "mt_start_helper");
}

static pthread_barrier_t barrier;

static void *use_tree(void *flags)
{
	struct maple_tree mt;

	library.init(&mt, *(unsigned int *)flags);
	for (unsigned long i = 0; i < 1000; i++)
		assert_int_equal(library.store(&mt, 2 * i, xa_mk_value(i), GFP_KERNEL), 0);
	library.destroy(&mt);
	pthread_barrier_wait(&barrier); /* used: closed now */
	pthread_barrier_wait(&barrier);
	return NULL;
}

static void close_while_threads_live(unsigned int flags)
{
	pthread_t threads[4];

	load();
	assert_int_equal(pthread_barrier_init(&barrier, NULL, 5), 0);
	for (int i = 0; i < 4; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, use_tree, &flags), 0);
	pthread_barrier_wait(&barrier);
	assert_int_equal(dlclose(library.handle), 0);
	pthread_barrier_wait(&barrier);
	for (int i = 0; i < 4; i++)
		assert_int_equal(pthread_join(threads[i], NULL), 0);
}

static void threads_end_after_the_library_is_closed(void **state)
{
	(void)state;
	for (int round = 0; round < 3; round++)
		close_while_threads_live(0);
}

static void nodes_are_freed_after_the_library_is_closed(void **state)
{
	(void)state;
	for (int round = 0; round < 3; round++) {
		close_while_threads_live(MT_FLAGS_USE_RCU);
		usleep(50000);
	}
}

static int freed;

static void count_freed(void *object)
{
	(void)object;
	__atomic_add_fetch(&freed, 1, __ATOMIC_RELAXED);
}

/* A registered thread ends, and the helper frees, when the library's user has closed it. */
static void *retire_objects(void *unused)
{
	assert_int_equal(library.register_thread(), 0);
	for (int i = 0; i < 100; i++)
		assert_int_equal(library.retire(NULL, count_freed), 0);
	pthread_barrier_wait(&barrier);
	pthread_barrier_wait(&barrier);
	return unused;
}

static void objects_are_freed_after_the_library_is_closed(void **state)
{
	pthread_t thread;

	(void)state;
	load();
	assert_int_equal(library.start_helper(0), 0);
	assert_int_equal(pthread_barrier_init(&barrier, NULL, 2), 0);
	assert_int_equal(pthread_create(&thread, NULL, retire_objects, NULL), 0);
	pthread_barrier_wait(&barrier);
	assert_int_equal(dlclose(library.handle), 0);
	pthread_barrier_wait(&barrier);
	assert_int_equal(pthread_join(thread, NULL), 0);
	for (int i = 0; i < 10000 && __atomic_load_n(&freed, __ATOMIC_RELAXED) < 100; i++)
		usleep(1000);
	assert_int_equal(__atomic_load_n(&freed, __ATOMIC_RELAXED), 100);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(threads_end_after_the_library_is_closed),
		cmocka_unit_test(nodes_are_freed_after_the_library_is_closed),
		cmocka_unit_test(objects_are_freed_after_the_library_is_closed),
	};

	if (argc != 2)
		return 2;
	path = argv[1];
	return cmocka_run_group_tests_name("unload", tests, NULL, NULL);
}
