/* SPDX-License-Identifier: MIT */
/* The userfaultfds of a puppet: created by it, held and served by this process. */
#include "check/puppet_uffd.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "check/page.h"

/* Newer than the headers of Debian 12. */
#ifndef UFFD_FEATURE_WP_ASYNC
#define UFFD_FEATURE_WP_ASYNC (1 << 15)
#endif

#define OPEN_FLAGS (O_CLOEXEC | O_NONBLOCK) /* poll() requires O_NONBLOCK */

/* What each right is good for. */
static const struct {
	unsigned int flags; /* of userfaultfd(2) */
	uint64_t features; /* as far as the kernel has them */
} allowed[] = {
	[PUPPET_UFFD_USER] = { OPEN_FLAGS | UFFD_USER_MODE_ONLY,
			       UFFD_FEATURE_EVENT_REMAP | UFFD_FEATURE_EVENT_REMOVE |
				       UFFD_FEATURE_EVENT_UNMAP | UFFD_FEATURE_WP_ASYNC },
	[PUPPET_UFFD_ALL] = { OPEN_FLAGS,
			      UFFD_FEATURE_EVENT_FORK | UFFD_FEATURE_EVENT_REMAP |
				      UFFD_FEATURE_EVENT_REMOVE | UFFD_FEATURE_EVENT_UNMAP |
				      UFFD_FEATURE_WP_ASYNC },
};

static unsigned long events;

static int set_up(int fd, uint64_t features)
{
	struct uffdio_api api = { .api = UFFD_API, .features = features };

	return ioctl(fd, UFFDIO_API, &api) == 0 ? 0 : -errno;
}

/* Those that the kernel has; it tells them if it is asked for none. */
static uint64_t features_of(enum puppet_uffd_right right)
{
	struct uffdio_api api = { .api = UFFD_API };
	int fd = (int)syscall(SYS_userfaultfd, allowed[right].flags);

	if (fd < 0)
		return 0;
	if (ioctl(fd, UFFDIO_API, &api) != 0)
		api.features = 0;
	close(fd);
	return allowed[right].features & api.features;
}

static int try_right(enum puppet_uffd_right right)
{
	int fd = (int)syscall(SYS_userfaultfd, allowed[right].flags), rc;

	if (fd < 0)
		return -errno;
	rc = set_up(fd, features_of(right));
	close(fd);
	return rc;
}

enum puppet_uffd_right puppet_uffd_right(int *error)
{
	static enum puppet_uffd_right right;
	static bool known;
	static int refused;

	if (!known) {
		known = true;
		right = PUPPET_UFFD_ALL;
		refused = try_right(right);
		if (refused)
			right = try_right(PUPPET_UFFD_USER) ? PUPPET_UFFD_NONE : PUPPET_UFFD_USER;
	}
	if (error)
		*error = refused;
	return right;
}

uint64_t puppet_uffd_features(void)
{
	static uint64_t features;
	static bool known;

	if (!known)
		features = features_of(puppet_uffd_right(NULL));
	known = true;
	return features;
}

const struct puppet_uffd *puppet_uffd_find(const struct puppet *puppet, unsigned int context)
{
	for (unsigned int i = 0; i < puppet->uffd_count; i++)
		if (puppet->uffds[i].context == context)
			return &puppet->uffds[i];
	return NULL;
}

/*
 * Moves a descriptor from the puppet to this process. The puppet closes it: children would inherit
 * it.
 */
static int fetch(const struct puppet *puppet, long there)
{
	int pidfd = (int)syscall(SYS_pidfd_open, puppet->pid, 0);
	int fd = pidfd < 0 ? -1 : (int)syscall(SYS_pidfd_getfd, pidfd, (int)there, 0);
	int rc = fd < 0 ? -errno : fd;

	if (pidfd >= 0)
		close(pidfd);
	puppet_call(puppet, SYS_close, (unsigned long[6]){ (unsigned long)there });
	return rc;
}

int puppet_uffd(struct puppet *puppet, unsigned int context, uint64_t features)
{
	const struct puppet_uffd *known = puppet_uffd_find(puppet, context);
	int fd, rc;
	long there;

	if (known)
		return known->fd;
	if (puppet->uffd_count == PUPPET_UFFDS)
		return -EMFILE;
	there = puppet_call(puppet, SYS_userfaultfd,
			    (unsigned long[6]){ allowed[puppet_uffd_right(NULL)].flags });
	if (there < 0)
		return there == PUPPET_GONE ? -ECHILD : (int)there;
	fd = fetch(puppet, there);
	if (fd < 0)
		return fd;
	rc = set_up(fd, features);
	if (rc != 0) {
		close(fd);
		return rc;
	}
	puppet->uffds[puppet->uffd_count++] = (struct puppet_uffd){ context, fd, features };
	return fd;
}

int puppet_uffd_end(struct puppet *puppet, unsigned int context)
{
	const struct puppet_uffd *known = puppet_uffd_find(puppet, context);

	if (!known)
		return -EBADF;
	close(known->fd);
	puppet->uffds[known - puppet->uffds] = puppet->uffds[--puppet->uffd_count];
	return 0;
}

void puppet_uffd_end_all(struct puppet *puppet)
{
	while (puppet->uffd_count > 0)
		close(puppet->uffds[--puppet->uffd_count].fd);
}

unsigned int puppet_uffd_poll(const struct puppet *puppet, struct pollfd polled[PUPPET_UFFDS])
{
	for (unsigned int i = 0; i < puppet->uffd_count; i++)
		polled[i] = (struct pollfd){ .fd = puppet->uffds[i].fd, .events = POLLIN };
	return puppet->uffd_count;
}

/* Resolves a fault: provides the page that the puppet is waiting for. */
static bool give_page(int fd, const struct uffd_msg *msg)
{
	static const char zeros[PAGE_BYTES_MAX];
	const struct uffdio_range page = { msg->arg.pagefault.address & ~(PAGE - 1),
					   PAGE };
	struct uffdio_copy copy = { .dst = page.start, .src = (uintptr_t)zeros, .len = PAGE };
	struct uffdio_continue there = { .range = page };

	if (msg->arg.pagefault.flags & UFFD_PAGEFAULT_FLAG_MINOR)
		return ioctl(fd, UFFDIO_CONTINUE, &there) == 0;
	return ioctl(fd, UFFDIO_COPY, &copy) == 0;
}

static void inherit(const struct puppet_uffd *from, int fd, struct puppet *heir)
{
	if (heir && heir->uffd_count < PUPPET_UFFDS)
		heir->uffds[heir->uffd_count++] =
			(struct puppet_uffd){ from->context, fd, from->features };
	else
		close(fd);
}

bool puppet_uffd_serve(const struct puppet *puppet, const struct pollfd *polled,
		       struct puppet *heir)
{
	struct uffd_msg msg;

	for (unsigned int i = 0; i < puppet->uffd_count; i++) {
		const struct puppet_uffd *from = &puppet->uffds[i];

		if (!polled[i].revents || read(from->fd, &msg, sizeof(msg)) != sizeof(msg))
			continue;
		if (msg.event == UFFD_EVENT_PAGEFAULT) {
			if (!give_page(from->fd, &msg))
				return false;
			continue;
		}
		events++;
		if (msg.event == UFFD_EVENT_FORK)
			inherit(from, (int)msg.arg.fork.ufd, heir);
	}
	return true;
}

unsigned long puppet_uffd_events(void)
{
	return events;
}
