/* SPDX-License-Identifier: MIT */
/*
 * profiler.c - choosing an RCU flavour: a sampling profiler asks in its signal handler which
 * mapping holds a program counter, while mappings come and go. Threads that read register with
 * the memb flavour, which saves each lookup the question whether they have.
 */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/time.h>
#include <urcu/urcu-memb.h>

#include <mapletree/maple_tree.h>

#define SAMPLES 400

/* Instructions first .. last come from @file; @hits: by the handler only. */
static struct mapping {
	const char *file;
	unsigned long first, last;
	volatile unsigned long hits;
} mappings[] = {
	{ "program", 0x400000, 0x4fffff, 0 },
	{ "libc.so", 0x7000000, 0x71fffff, 0 },
	{ "libm.so", 0x7400000, 0x740ffff, 0 },
};

static const struct mt_rcu memb = MT_RCU_FLAVOUR(memb);
static struct maple_tree code = MTREE_INIT(code, MT_FLAGS_USE_RCU);
static volatile unsigned long taken, unknown;

/* A lookup takes no lock and does not wait: it may interrupt a writer of the same tree. */
static void sample(int signal)
{
	/* Stands for the one in the handler's ucontext_t, so that the output is always the same. */
	static const unsigned long counters[] = { 0x400123, 0x71fffff, 0x400fff, 0x9999 };
	struct mapping *mapping;

	(void)signal;
	if (taken == SAMPLES)
		return;
	mapping = mtree_load(&code, counters[taken % 4]);
	if (mapping)
		mapping->hits++;
	else
		unknown++;
	taken++;
}

/* Something that stores and erases like a loader of plugins. */
static int load_and_unload(unsigned long round)
{
	unsigned long first = 0x8000000 + round % 64 * 0x1000;

	if (mtree_store_range(&code, first, first + 0xfff, &mappings[2], GFP_KERNEL))
		return -1;
	return round % 3 ? 0 : mtree_store_range(&code, 0x8000000, 0x803ffff, NULL, GFP_KERNEL);
}

int main(void)
{
	const struct itimerval every = { { 0, 500 }, { 0, 500 } }, never = { { 0, 0 }, { 0, 0 } };
	struct sigaction action;
	sigset_t alarm;
	int error;

	/* The thread that frees nodes is not to be sampled: it inherits the blocked signal. */
	sigemptyset(&alarm);
	sigaddset(&alarm, SIGALRM);
	pthread_sigmask(SIG_BLOCK, &alarm, NULL);
	urcu_memb_get_default_call_rcu_data();
	pthread_sigmask(SIG_UNBLOCK, &alarm, NULL);

	urcu_memb_register_thread();
	mtree_lock(&code);
	error = mt_set_rcu_flavour(&code, &memb);
	mtree_unlock(&code);
	for (int i = 0; !error && i < 3; i++)
		error = mtree_insert_range(&code, mappings[i].first, mappings[i].last,
					   &mappings[i], GFP_KERNEL);
	if (error)
		return 1;

	memset(&action, 0, sizeof(action));
	action.sa_handler = sample;
	sigaction(SIGALRM, &action, NULL);
	setitimer(ITIMER_REAL, &every, NULL);
	for (unsigned long round = 0; taken < SAMPLES; round++)
		if (load_and_unload(round))
			return 1;
	setitimer(ITIMER_REAL, &never, NULL);
	for (int i = 0; i < 3; i++)
		printf("%4lu %s\n", mappings[i].hits, mappings[i].file);
	printf("%4lu unknown\n", unknown);

	mtree_destroy(&code);
	urcu_memb_barrier();
	urcu_memb_unregister_thread();
	return 0;
}
