/* SPDX-License-Identifier: MIT */
/*
 * window_forks.c - children: of the guest, in windows beside its own; and of the host, which go on as the
 * guest's child while the threads of the parent go on, or look at what must not be theirs.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <mapletree/maple_tree.h>

#include "windows.h"

static unsigned long worker_page(struct random *random)
{
	return random_below(random, WORKERS * SLICE);
}

/* Note what the child has: that never changes, whatever others do. */
static void take_samples(struct crowd *crowd, struct kid *kid)
{
	for (int i = 0; i < SAMPLES; i++) {
		kid->page[i] = worker_page(&crowd->kids);
		if (view_refuses(&kid->view, kid->page[i], VMSPACE_ACCESS_READ)) {
			kid->page[i] = WINDOW_PAGES; /* nothing is there */
			continue;
		}
		kid->value[i] = view_load(&kid->view, kid->page[i]);
		expect(worker_wrote(kid->value[i]), "page %lu of a child: %llx", kid->page[i],
		       (unsigned long long)kid->value[i]);
	}
}

static void check_samples(const struct kid *kid)
{
	for (int i = 0; i < SAMPLES; i++) {
		uint64_t value;

		if (kid->page[i] == WINDOW_PAGES)
			continue;
		value = view_load(&kid->view, kid->page[i]);
		expect(value == kid->value[i], "page %lu of a child: %llx, not %llx", kid->page[i],
		       (unsigned long long)value, (unsigned long long)kid->value[i]);
	}
}

/* Store where it may be stored; that shows here alone. */
static void store_samples(struct crowd *crowd, struct kid *kid)
{
	for (int i = 0; i < SAMPLES; i++) {
		uint64_t value = (uint64_t)0x5f << 56 | random_below(&crowd->kids, 1 << 20);

		if (kid->page[i] == WINDOW_PAGES ||
		    view_refuses(&kid->view, kid->page[i], VMSPACE_ACCESS_WRITE))
			continue;
		view_store(&kid->view, kid->page[i], value);
		for (int k = 0; k < SAMPLES; k++)
			if (kid->page[k] == kid->page[i])
				kid->value[k] = value;
	}
}

static void bear(struct crowd *crowd, struct kid *kid)
{
	expect(!vmspace_window_create(&kid->view.window, crowd->memfd, WINDOW_START, WINDOW_PAGES * PAGE),
	       "no window");
	expect(!vmspace_fork(crowd->view.space, vmspace_window_memory(kid->view.window), &kid->view.space),
	       "no fork");
	take_samples(crowd, kid);
	crowd->count[0][COUNT_FORKS]++;
}

void kids_check(struct crowd *crowd)
{
	for (int i = 0; i < KIDS; i++)
		if (crowd->kid[i].view.space)
			check_samples(&crowd->kid[i]);
}

void kids_end(struct crowd *crowd)
{
	for (int i = 0; i < KIDS; i++)
		if (crowd->kid[i].view.space)
			view_end(&crowd->kid[i].view);
}

void *kids_run(void *arg)
{
	struct crowd *crowd = arg;

	pthread_barrier_wait(&crowd->begin);
	while (!is_set(&crowd->stop)) {
		struct kid *kid = &crowd->kid[random_below(&crowd->kids, KIDS)];
		unsigned int draw = (unsigned int)random_below(&crowd->kids, 100);

		pthread_rwlock_rdlock(&crowd->gate);
		if (!kid->view.space) {
			bear(crowd, kid);
		} else if (draw < 15) {
			check_samples(kid);
			view_end(&kid->view);
		} else if (draw < 40) {
			store_samples(crowd, kid);
		} else {
			check_samples(kid);
		}
		pthread_rwlock_unlock(&crowd->gate);
	}
	return NULL;
}

/* ---- of the host ---------------------------------------------------------------------------- */

static void wait_for(pid_t pid)
{
	int status;

	while (waitpid(pid, &status, 0) < 0)
		expect(errno == EINTR, "a child of the host is lost");
	expect(status == 0, "a child of the host ends with %x", status);
}

/* The child: all that was there is there, and it goes on alone. */
static void live_as_child(struct crowd *crowd)
{
	const char *why = "";

	expect(!vmspace_memfd_after_fork_child(crowd->memfd), "a child has no memory");
	expect(!vmspace_become_child(crowd->view.space), "a space does not become a child's");
	for (int i = 0; i < WORKERS; i++)
		worker_check(&crowd->worker[i]);
	kids_check(crowd);
	for (int step = 0; step < 200; step++)
		worker_step(&crowd->worker[step % WORKERS]);
	if (crowd->with & WITH_FILES)
		files_check(crowd, &crowd->view);
	for (int i = 0; i < WORKERS; i++)
		worker_check(&crowd->worker[i]);
	kids_check(crowd);
	expect(vmspace_check(crowd->view.space, &why), "in a child: %s", why);
	for (int i = 0; i < WORKERS; i++)
		worker_end(&crowd->worker[i]);
	kids_end(crowd);
	view_end(&crowd->view);
	expect(!vmspace_memfd_used(crowd->memfd), "frames are left in a child");
	vmspace_memfd_destroy(crowd->memfd);
}

/* All wait for the fork itself, and go on beside the child. */
static void fork_with_memory(struct crowd *crowd)
{
	pid_t pid;

	pthread_rwlock_wrlock(&crowd->gate);
	expect(!vmspace_memfd_before_fork(crowd->memfd), "no memory for a child of the host");
	mt_before_fork();
	pid = fork();
	if (!pid) {
		mt_after_fork_child();
		live_as_child(crowd);
		_exit(0);
	}
	expect(pid > 0, "fork: %d", errno);
	mt_after_fork_parent();
	vmspace_memfd_after_fork_parent(crowd->memfd);
	pthread_rwlock_unlock(&crowd->gate);
	wait_for(pid);
	crowd->count[1][COUNT_HOST_FORKS]++;
}

/* Nobody waits, and no call is made: nothing of the guest can be reached in the child. */
static void fork_without(struct crowd *crowd)
{
	int pipes[2];
	pid_t pid;

	expect(!pipe2(pipes, O_CLOEXEC), "no pipe");
	pid = fork();
	if (!pid) {
		for (unsigned long n = 0; n < WORKERS * SLICE; n++)
			if (write(pipes[1], vmspace_window_host(crowd->view.window, WINDOW_START + n * PAGE),
				  1) >= 0)
				_exit(2);
		_exit(0);
	}
	expect(pid > 0, "fork: %d", errno);
	close(pipes[0]);
	close(pipes[1]);
	wait_for(pid);
	crowd->count[1][COUNT_BLIND_FORKS]++;
}

void *host_run(void *arg)
{
	struct crowd *crowd = arg;

	pthread_barrier_wait(&crowd->begin);
	while (!is_set(&crowd->forks_stop)) {
		if (random_chance(&crowd->host, 75))
			fork_with_memory(crowd);
		else
			fork_without(crowd);
		usleep((useconds_t)random_below(&crowd->host, 3000));
	}
	return NULL;
}
