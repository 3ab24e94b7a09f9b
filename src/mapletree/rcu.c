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
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>

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
static pthread_mutex_t starting = PTHREAD_MUTEX_INITIALIZER;

static _Thread_local bool registered __attribute__((tls_model("initial-exec")));

/* If true, so is registered, and worker is WORKER_RUNS. */
_Thread_local bool rcu_prepared __attribute__((tls_model("initial-exec")));

/* Callbacks that could not be deferred, linked through next.next. */
static struct rcu_head *waiting;

/* Whether the memory that liburcu needs to register a thread is available now. */
static bool memory_available(void)
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
	if (!memory_available())
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
	if (!done || !memory_available())
		return false;
	if (worker == WORKER_LOST)
		urcu_bp_call_rcu_after_fork_child();
	else
		urcu_bp_get_default_call_rcu_data();
	__atomic_store_n(&worker, WORKER_RUNS, __ATOMIC_RELEASE);
	return true;
}

static bool have_worker(void)
{
	sigset_t all, before;
	bool runs;

	if (__atomic_load_n(&worker, __ATOMIC_ACQUIRE) == WORKER_RUNS)
		return true;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	pthread_mutex_lock(&starting);
	runs = worker == WORKER_RUNS || start_worker();
	pthread_mutex_unlock(&starting);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return runs;
}

bool rcu_prepare_thread(void)
{
	rcu_prepared = register_thread() && have_worker();
	return rcu_prepared;
}

static void queue_for_retry(struct rcu_head *head, void (*func)(struct rcu_head *head))
{
	struct rcu_head *next = __atomic_load_n(&waiting, __ATOMIC_RELAXED);

	head->func = func;
	do
		head->next.next = (struct cds_wfcq_node *)(void *)next;
	while (!__atomic_compare_exchange_n(&waiting, &next, head, true, __ATOMIC_RELEASE,
					    __ATOMIC_RELAXED));
}

bool rcu_retry(void)
{
	struct rcu_head *head, *next;

	if (!__atomic_load_n(&waiting, __ATOMIC_RELAXED))
		return true;
	if (!rcu_prepare(NULL))
		return false;
	for (head = __atomic_exchange_n(&waiting, NULL, __ATOMIC_ACQUIRE); head; head = next) {
		next = (struct rcu_head *)(void *)head->next.next;
		urcu_bp_call_rcu(head, head->func);
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
		urcu_bp_call_rcu(head, func);
	else
		queue_for_retry(head, func);
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

/* As liburcu requires, the thread that runs callbacks is stopped first and restarted last. */
void mt_before_fork(void)
{
	pthread_mutex_lock(&starting);
	urcu_bp_call_rcu_before_fork();
	urcu_bp_before_fork();
}

void mt_after_fork_parent(void)
{
	urcu_bp_after_fork_parent();
	urcu_bp_call_rcu_after_fork_parent();
	pthread_mutex_unlock(&starting);
}

/* If the thread cannot be started in the child now, the first store that needs it is refused. */
void mt_after_fork_child(void)
{
	urcu_bp_after_fork_child();
	if (worker == WORKER_NONE)
		urcu_bp_call_rcu_after_fork_child(); /* the user's own callbacks, if any */
	else
		worker = WORKER_LOST;
	pthread_mutex_unlock(&starting);
	rcu_prepared = worker == WORKER_LOST && have_worker() && registered;
}
