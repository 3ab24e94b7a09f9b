/* SPDX-License-Identifier: MIT */
/*
 * memfd_descriptor.c - a memfd's descriptor, told and moved while guests run: threads that map pages use
 * the number in read-side sections, and the old one is closed when they have left.
 */
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>
#include <mapletree/maple_tree_rcu.h>

#include "memfd_direct.h"

/* Held from the choice of a number until the old one is closed, so that no other memfd takes that. */
static pthread_mutex_t moving = PTHREAD_MUTEX_INITIALIZER;

void memfd_descriptor_after_fork(void)
{
	pthread_mutex_init(&moving, NULL);
}

int vmspace_memfd_descriptor(const struct vmspace_memfd *memfd)
{
	return __atomic_load_n(&memfd->fd, __ATOMIC_RELAXED);
}

/* Let it have the number `to`, too. Returns the old one, or -errno. */
static int use_number(struct vmspace_memfd *memfd, int to)
{
	int old = memfd->fd, got;

	if (memfd_direct_has(memfd, to))
		return -EBUSY;
	do
		got = dup3(old, to, O_CLOEXEC);
	while (got < 0 && errno == EINTR);
	if (got < 0)
		return -errno;
	__atomic_store_n(&memfd->fd, to, __ATOMIC_RELEASE);
	return old;
}

static int move(struct vmspace_memfd *memfd, int to)
{
	int old;

	if (to == memfd->fd)
		return 0;
	if (memfd_any_has(to))
		return -EBUSY;
	pthread_mutex_lock(&memfd->lock);
	old = use_number(memfd, to);
	pthread_mutex_unlock(&memfd->lock);
	if (old < 0)
		return old;
	(void)mt_synchronize();
	close(old);
	return 0;
}

int vmspace_memfd_move_descriptor(struct vmspace_memfd *memfd, int to)
{
	/* If we can wait once we can wait again, when there is no way back. */
	int err = mt_synchronize();

	if (err)
		return err;
	pthread_mutex_lock(&moving);
	err = move(memfd, to);
	pthread_mutex_unlock(&moving);
	return err;
}
