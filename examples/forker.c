/* SPDX-License-Identifier: MIT */
/*
 * forker.c - fork: a server forks a child that goes on changing its copy of the sessions, while a
 * thread of the parent changes the original.
 */
#include <stdatomic.h>
#include <stdio.h>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>
#include <urcu/urcu-bp.h>

#include <mapletree/maple_tree.h>

#define SESSIONS 500
#define CHILDREN 5

static struct maple_tree sessions = MTREE_INIT(sessions, MT_FLAGS_USE_RCU);
static atomic_bool stop;

/* Logs clients in and out, in numbers from SESSIONS on. */
static void *serve(void *unused)
{
	unsigned long number = 0;

	while (!atomic_load(&stop)) {
		mtree_store(&sessions, SESSIONS + number % 100, xa_mk_value(number), GFP_KERNEL);
		mtree_erase(&sessions, SESSIONS + (number + 50) % 100);
		number++;
	}
	return unused;
}

/* In the child: end every other session; the tree must be whole and the nodes go back. */
static int child(void)
{
	unsigned long index = 0, left = 0;
	bool sound;
	void *entry;

	for (unsigned long number = 0; number < SESSIONS; number += 2)
		if (mtree_erase(&sessions, number) != xa_mk_value(number))
			return 1;
	mt_for_each(&sessions, entry, index, SESSIONS - 1)
		left++;
	mtree_lock(&sessions);
	sound = mt_check(&sessions, NULL);
	mtree_unlock(&sessions);
	mtree_destroy(&sessions);
	urcu_bp_barrier();
	return left == SESSIONS / 2 && sound ? 0 : 1;
}

/* The lock is held across fork(), so that the serving thread is between two changes. */
static pid_t fork_with_sessions(void)
{
	pid_t pid;

	mtree_lock(&sessions);
	mt_before_fork();
	pid = fork();
	if (pid == 0)
		mt_after_fork_child();
	else
		mt_after_fork_parent();
	mtree_unlock(&sessions);
	return pid;
}

int main(void)
{
	pthread_t server;
	int good = 0, status;

	for (unsigned long number = 0; number < SESSIONS; number++)
		if (mtree_insert(&sessions, number, xa_mk_value(number), GFP_KERNEL))
			return 1;
	if (pthread_create(&server, NULL, serve, NULL))
		return 1;
	for (int i = 0; i < CHILDREN; i++) {
		pid_t pid = fork_with_sessions();

		if (pid < 0)
			return 1;
		if (pid == 0)
			_exit(child());
		if (waitpid(pid, &status, 0) == pid && status == 0)
			good++;
	}
	atomic_store(&stop, true);
	pthread_join(server, NULL);
	printf("children that found and changed their copy: %d of %d\n", good, CHILDREN);
	printf("session 42 in the parent: %lu\n", xa_to_value(mtree_load(&sessions, 42)));
	mtree_destroy(&sessions);
	urcu_bp_barrier();
	return 0;
}
