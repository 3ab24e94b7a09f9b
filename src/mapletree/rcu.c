/* SPDX-License-Identifier: MIT */
/*
 * rcu.c - the writer's side of userspace RCU, and what has to happen around a fork.
 *
 * liburcu terminates the process if it finds no memory to register a thread, or cannot start the
 * thread that runs callbacks. Both can happen inside calls that cannot fail. So rcu_prepare() makes
 * them happen earlier, where a store can still be refused, and immediately after it has obtained
 * and returned as much as liburcu is going to ask for: address space for the registry, memory of
 * the C library, a thread with its stack. A window remains: in the few microseconds between,
 * another process or thread may take exactly that, once in the life of a process or thread.
 */
#include "rcu.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "slab.h"

/*
 * liburcu-bp keeps 128 bytes per thread in chunks, each twice as large as the previous one. This is
 * enough for the next chunk up to 16,000 threads.
 */
#define REGISTRY_BYTES (1u << 20)

/* Larger than what liburcu, or pthread_setspecific(), asks the C library for. */
#define HEAP_BYTES 4096

/* State of the thread that runs liburcu's callbacks. */
enum worker {
	WORKER_NONE,
	WORKER_LOST, /* by a fork: the child has not been able to start it again */
	WORKER_RUNS,
};

static enum worker worker; /* written under the mutex starting, with release */
static unsigned int worker_flags; /* MT_HELPER_* asked for; under starting */
static pthread_mutex_t starting = PTHREAD_MUTEX_INITIALIZER;

_Thread_local bool rcu_in_callback __attribute__((tls_model("initial-exec")));

static _Thread_local bool registered __attribute__((tls_model("initial-exec")));

/* If true, so is registered, and worker is WORKER_RUNS. */
_Thread_local bool rcu_prepared __attribute__((tls_model("initial-exec")));

/*
 * liburcu's queue of callbacks is whole only while nobody is adding to it: a child of fork() would
 * wait for ever for the rest of what another thread had begun. So threads that add are counted; a fork
 * waits for them, and sends those that come while `forking` to wait for the mutex `starting`.
 */
static unsigned long adding;
static bool forking;

/* This thread is the one that forks; so it may add. */
static _Thread_local bool is_forking __attribute__((tls_model("initial-exec")));

/* Callbacks that could not be deferred, linked through next.next. */
static struct rcu_head *waiting;

bool rcu_memory_available(void)
{
	void *map = mmap(NULL, REGISTRY_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			 -1, 0);
	void *heap = malloc(HEAP_BYTES);

	__asm__("" : "+r"(heap)); /* or the compiler would leave out both calls */
	free(heap);
	if (map != MAP_FAILED)
		munmap(map, REGISTRY_BYTES);
	return heap && map != MAP_FAILED;
}

/*
 * Registers the calling thread with liburcu, which allocates only for a thread that it does not
 * know yet.
 */
static bool register_thread(void)
{
	if (registered)
		return true;
	if (!rcu_memory_available())
		return false;
	urcu_bp_register_thread();
	registered = true;
	return true;
}

/*
 * A thread that shows that one can be started, and leaves its stack and its place in the registry
 * to the next.
 */
static void *trial_thread(void *unused)
{
	(void)unused;
	return register_thread() ? &worker : NULL;
}

/* What the thread is told to do with its descriptors, and what came of it. Under starting. */
static struct {
	struct rcu_head rcu;
	int error;
	sem_t done;
} files;

#ifndef CLOSE_RANGE_UNSHARE
#define CLOSE_RANGE_UNSHARE (1u << 1)
#endif

/* Runs in liburcu's thread: a table of descriptors of its own, without any. */
static void leave_files(struct rcu_head *head)
{
#ifdef SYS_close_range
	files.error = syscall(SYS_close_range, 0u, UINT_MAX, CLOSE_RANGE_UNSHARE) ? -errno : 0;
#else
	files.error = -ENOSYS;
#endif
	(void)head;
	sem_post(&files.done);
}

/* Makes the thread do what worker_flags say. Returns 0 or a negative errno. */
static int apply_flags(void)
{
	if (!(worker_flags & MT_HELPER_OWN_FILES))
		return 0;
	sem_init(&files.done, 0, 0);
	urcu_bp_call_rcu(&files.rcu, leave_files);
	while (sem_wait(&files.done))
		;
	return files.error;
}

/*
 * Starts liburcu's thread. The caller has blocked all signals, so new threads block them too: the
 * process's signals must not be handled there.
 */
static bool start_worker(void)
{
	pthread_t thread;
	void *done;

	assert(worker != WORKER_RUNS);
	if (pthread_create(&thread, NULL, trial_thread, NULL))
		return false;
	pthread_join(thread, &done);
	if (!done || !rcu_memory_available())
		return false;
	if (worker == WORKER_LOST)
		urcu_bp_call_rcu_after_fork_child();
	else
		urcu_bp_get_default_call_rcu_data();
	__atomic_store_n(&worker, WORKER_RUNS, __ATOMIC_RELEASE);
	return true;
}

static bool worker_runs(void)
{
	return __atomic_load_n(&worker, __ATOMIC_ACQUIRE) == WORKER_RUNS;
}

/* Returns 0, -ENOMEM if there is no thread, or what apply_flags() says. */
static int start_with(unsigned int flags)
{
	sigset_t all, before;
	int error = 0;
	bool runs;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	pthread_mutex_lock(&starting);
	runs = worker_runs();
	if (!runs && !start_worker()) {
		error = -ENOMEM;
	} else if (!runs || flags & ~worker_flags) {
		/* A thread that is new, after a fork, too, is as those before it. */
		worker_flags |= flags;
		error = apply_flags();
	}
	pthread_mutex_unlock(&starting);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return error;
}

static bool have_worker(void)
{
	return worker_runs() || !start_with(0);
}

int mt_start_helper(unsigned int flags)
{
	int error = rcu_may_wait();

	if (flags & ~MT_HELPER_OWN_FILES)
		return -EINVAL;
	if (!error)
		error = start_with(flags);
	rcu_retry(); /* what was retired before */
	return error;
}

bool rcu_prepare_thread(void)
{
	rcu_prepared = register_thread() && have_worker();
	return rcu_prepared;
}

int rcu_may_wait(void)
{
	if (rcu_in_callback)
		return -EDEADLK;
	if (!register_thread()) /* before liburcu does, which would end the process */
		return -ENOMEM;
	return urcu_bp_read_ongoing() ? -EDEADLK : 0;
}

void rcu_push(struct rcu_head **list, struct rcu_head *head, void (*func)(struct rcu_head *head))
{
	struct rcu_head *next = __atomic_load_n(list, __ATOMIC_RELAXED);

	head->func = func;
	do
		head->next.next = (struct cds_wfcq_node *)(void *)next;
	while (!__atomic_compare_exchange_n(list, &next, head, true, __ATOMIC_SEQ_CST,
					    __ATOMIC_RELAXED));
}

struct rcu_head *rcu_take_waiting(void)
{
	if (rcu_nothing_waits())
		return NULL;
	return __atomic_exchange_n(&waiting, NULL, __ATOMIC_ACQUIRE);
}

bool rcu_nothing_waits(void)
{
	return !__atomic_load_n(&waiting, __ATOMIC_RELAXED);
}

/* urcu_bp_call_rcu(), but not while another thread forks. The mutex `starting` is not held. */
static void add_callback(struct rcu_head *head, void (*func)(struct rcu_head *head))
{
	__atomic_fetch_add(&adding, 1, __ATOMIC_SEQ_CST);
	while (UNLIKELY(__atomic_load_n(&forking, __ATOMIC_SEQ_CST)) && !is_forking) {
		__atomic_fetch_sub(&adding, 1, __ATOMIC_RELEASE);
		pthread_mutex_lock(&starting);
		pthread_mutex_unlock(&starting);
		__atomic_fetch_add(&adding, 1, __ATOMIC_SEQ_CST);
	}
	urcu_bp_call_rcu(head, func);
	__atomic_fetch_sub(&adding, 1, __ATOMIC_RELEASE);
}

bool rcu_retry(void)
{
	struct rcu_head *head, *next;

	if (rcu_nothing_waits())
		return true;
	/* Where no tree has asked for a helper, what waits is no reason to start one. */
	if (__atomic_load_n(&worker, __ATOMIC_ACQUIRE) == WORKER_NONE || !rcu_prepare(NULL))
		return false;
	for (head = rcu_take_waiting(); head; head = next) {
		next = rcu_next(head);
		add_callback(head, head->func);
	}
	return true;
}

void rcu_defer(const struct mt_rcu *flavour, struct rcu_head *head,
	       void (*func)(struct rcu_head *head))
{
	assert(head && func);
	if (flavour)
		flavour->call(head, func);
	else if (rcu_prepare(NULL) && rcu_retry())
		add_callback(head, func);
	else
		rcu_push(&waiting, head, func);
}

void rcu_retire(struct rcu_head *head, void (*func)(struct rcu_head *head))
{
	if (worker_runs() && rcu_prepare(NULL))
		add_callback(head, func);
	else
		rcu_push(&waiting, head, func);
}

void rcu_wait(const struct mt_rcu *flavour)
{
	if (flavour)
		flavour->synchronize();
	else
		urcu_bp_synchronize_rcu();
}

int mt_thread_register(void)
{
	return slab_attach() && register_thread() ? 0 : -ENOMEM;
}

void mt_thread_unregister(void)
{
	slab_detach();
}

/*
 * As liburcu requires, the thread that runs callbacks is stopped first and restarted last. It adds to
 * the queue itself until then.
 */
void rcu_before_fork(void)
{
	const struct timespec moment = { 0, 100000 };

	pthread_mutex_lock(&starting);
	urcu_bp_call_rcu_before_fork();
	__atomic_store_n(&forking, true, __ATOMIC_SEQ_CST);
	while (__atomic_load_n(&adding, __ATOMIC_SEQ_CST))
		nanosleep(&moment, NULL);
	is_forking = true;
	urcu_bp_before_fork();
}

static void end_fork(void)
{
	is_forking = false;
	__atomic_store_n(&forking, false, __ATOMIC_SEQ_CST);
	pthread_mutex_unlock(&starting);
}

void rcu_after_fork_parent(void)
{
	urcu_bp_after_fork_parent();
	urcu_bp_call_rcu_after_fork_parent();
	end_fork();
}

/* If the thread cannot be started in the child now, the first store that needs it is refused. */
void rcu_after_fork_child(void)
{
	urcu_bp_after_fork_child();
	if (worker == WORKER_NONE)
		urcu_bp_call_rcu_after_fork_child(); /* the user's own callbacks, if any */
	else
		worker = WORKER_LOST;
	__atomic_store_n(&adding, 0, __ATOMIC_RELAXED); /* who had just come is not here */
	end_fork();
	rcu_prepared = worker == WORKER_LOST && have_worker() && registered;
}
