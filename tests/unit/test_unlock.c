/* SPDX-License-Identifier: MIT */
/*
 * test_unlock.c - who gives a lock back does not touch it afterwards: somebody else may have taken
 * it meanwhile, and freed the memory that it is in. The lock's own source, with each atomic
 * operation followed by a look: as soon as the lock is free, its page is gone.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

static void look(unsigned int word);

#define WITH_LOOK(word, call) \
	__extension__({ \
		__typeof__(call) looked = (call); \
		look(*(word)); \
		looked; \
	})
#define __atomic_compare_exchange_n(p, ...) \
	WITH_LOOK(p, __atomic_compare_exchange_n(p, __VA_ARGS__))
#define __atomic_exchange_n(p, ...) WITH_LOOK(p, __atomic_exchange_n(p, __VA_ARGS__))
#define __atomic_fetch_sub(p, ...)  WITH_LOOK(p, __atomic_fetch_sub(p, __VA_ARGS__))
#define __atomic_fetch_and(p, ...)  WITH_LOOK(p, __atomic_fetch_and(p, __VA_ARGS__))

#include "../../src/mapletree/mutex.c"

static struct mt_mutex *mutex;
static bool gone;

static void look(unsigned int word)
{
	if (!mutex || word & MT_MUTEX_LOCKED)
		return;
	gone = true;
	if (mprotect(mutex, sizeof(*mutex), PROT_NONE))
		_exit(2);
}

/* In a child, which dies if it touches the lock's page. */
static int status_of_unlock(unsigned int word)
{
	pid_t pid = fork();
	int status;

	assert_true(pid >= 0);
	if (!pid) {
		struct mt_mutex *page = mmap(NULL, (size_t)sysconf(_SC_PAGESIZE),
					     PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
					     -1, 0);

		if (page == MAP_FAILED)
			_exit(2);
		page->word = word;
		mutex = page;
		mt_mutex_unlock(page);
		_exit(gone ? 0 : 3);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return status;
}

static void nothing_is_touched_after_the_release(void **state)
{
	(void)state;
	assert_int_equal(status_of_unlock(MT_MUTEX_LOCKED), 0);
	assert_int_equal(status_of_unlock(MT_MUTEX_LOCKED | MT_MUTEX_WAITERS), 0);
	assert_int_equal(status_of_unlock(MT_MUTEX_LOCKED | MT_MUTEX_WAITERS | MT_MUTEX_HANDOFF), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_is_touched_after_the_release),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
