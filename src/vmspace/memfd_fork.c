/* SPDX-License-Identifier: MIT */
/*
 * memfd_fork.c - what becomes of guest memory in a child of the host's fork().
 *
 * A memfd is shared: what a child wrote to its windows, the parent's guests would read. So a child
 * gets a copy, if the program asks for it around its fork(); otherwise it gets nothing.
 */
#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>
#include <fcntl.h>

#include "memfd_direct.h"
#include "window.h"

/* All memfds of the process; the lock is held by whoever forks, so that the child finds a list. */
static pthread_mutex_t all_lock = PTHREAD_MUTEX_INITIALIZER;
static struct vmspace_memfd *all;

static void close_windows(struct vmspace_memfd *memfd)
{
	for (struct vmspace_window *window = memfd->windows; window; window = window_next(window))
		window_close(window);
}

/*
 * The child must reach no frame. Its memfd has the parent's pages: it is not closed, as frames are
 * still freed when spaces are destroyed; see memfd_give().
 */
static void lose(struct vmspace_memfd *memfd)
{
	memfd->lost = true;
	mprotect(memfd->view, (size_t)memfd->limit << memfd->page_shift, PROT_NONE);
	close_windows(memfd);
}

static void before(void)
{
	pthread_mutex_lock(&all_lock);
}

static void after_in_parent(void)
{
	pthread_mutex_unlock(&all_lock);
}

static void after_in_child(void)
{
	for (struct vmspace_memfd *memfd = all; memfd; memfd = memfd->next) {
		if (memfd->copy >= 0)
			continue; /* vmspace_memfd_after_fork_child() comes */
		/* A thread of the parent's may have held it. */
		pthread_mutex_init(&memfd->lock, NULL);
		lose(memfd);
	}
	pthread_mutex_unlock(&all_lock);
	memfd_descriptor_after_fork();
}

static int registered;

static void register_handlers(void)
{
	registered = pthread_atfork(before, after_in_parent, after_in_child) ? -ENOMEM : 0;
}

int memfd_fork_enlist(struct vmspace_memfd *memfd)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, register_handlers);
	if (registered)
		return registered;
	memfd->copy = -1;
	pthread_mutex_lock(&all_lock);
	memfd->next = all;
	all = memfd;
	pthread_mutex_unlock(&all_lock);
	return 0;
}

void memfd_fork_delist(struct vmspace_memfd *memfd)
{
	struct vmspace_memfd **at = &all;

	pthread_mutex_lock(&all_lock);
	while (*at != memfd)
		at = &(*at)->next;
	*at = memfd->next;
	pthread_mutex_unlock(&all_lock);
}

bool memfd_any_has(int fd)
{
	const struct vmspace_memfd *memfd;

	pthread_mutex_lock(&all_lock);
	memfd = all;
	while (memfd && memfd->fd != fd)
		memfd = memfd->next;
	pthread_mutex_unlock(&all_lock);
	return memfd;
}

/* Copy [from, to) of the memfd. 0 or -errno. */
static int copy_part(const struct vmspace_memfd *memfd, int copy, off_t from, off_t to)
{
	while (from < to) {
		ssize_t done = pwrite(copy, memfd->view + from, (size_t)(to - from), from);

		if (done < 0 && errno == EINTR)
			continue;
		if (done <= 0)
			return done ? -errno : -ENOSPC;
		from += done;
	}
	return 0;
}

static int copy_frames(const struct vmspace_memfd *memfd, int copy)
{
	uint32_t frame = 1, pages;
	int err = 0;

	while (!err && (pages = memfd_next_used(memfd, &frame))) {
		off_t from = memfd_offset(memfd, frame), size = (off_t)pages << memfd->page_shift;

		err = copy_part(memfd, copy, from, from + size);
		frame += pages;
	}
	return err;
}

int vmspace_memfd_before_fork(struct vmspace_memfd *memfd)
{
	int copy, err;

	pthread_mutex_lock(&memfd->lock);
	copy = memfd->lost ? -ENOMEM : memfd_open();
	err = copy < 0 ? copy : copy_frames(memfd, copy);
	if (err) {
		if (copy >= 0)
			close(copy);
		pthread_mutex_unlock(&memfd->lock);
		return err;
	}
	memfd->copy = copy;
	return 0;
}

void vmspace_memfd_after_fork_parent(struct vmspace_memfd *memfd)
{
	close(memfd->copy);
	memfd->copy = -1;
	pthread_mutex_unlock(&memfd->lock);
}

static void take_over(struct vmspace_memfd *memfd, int copy)
{
	if (dup3(copy, memfd->fd, O_CLOEXEC) == memfd->fd) {
		close(copy);
		return;
	}
	close(memfd->fd);
	memfd->fd = copy;
}

int vmspace_memfd_after_fork_child(struct vmspace_memfd *memfd)
{
	size_t size = (size_t)memfd->limit << memfd->page_shift;
	int err = 0;

	if (mmap(memfd->view, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE | MAP_FIXED,
		 memfd->copy, 0) == MAP_FAILED) {
		err = -ENOMEM;
		close(memfd->copy);
		lose(memfd);
	} else {
		/* Where the parent's was, as the program may have wanted it there. */
		take_over(memfd, memfd->copy);
		memfd_forget_idle(memfd);
		close_windows(memfd);
	}
	memfd->copy = -1;
	pthread_mutex_unlock(&memfd->lock);
	return err;
}
