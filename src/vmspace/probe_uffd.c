/* SPDX-License-Identifier: MIT */
/* probe_uffd.c - probes of userfaultfd. */
#include "probe.h"

#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef UFFD_FEATURE_WP_ASYNC
#define UFFD_FEATURE_WP_ASYNC (1 << 15)
#endif
#ifndef UFFD_USER_MODE_ONLY
#define UFFD_USER_MODE_ONLY 1
#endif

/* A userfaultfd, or -1: this process may have none, or not with such features. */
static int new_uffd_with(uint64_t features)
{
	struct uffdio_api api = { .api = UFFD_API, .features = features };
	int fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK | UFFD_USER_MODE_ONLY);

	if (fd < 0) /* Linux 5.10 does not know the flag */
		fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK);
	return fd < 0 || ioctl(fd, UFFDIO_API, &api) ? -1 : fd;
}

static int new_uffd(void)
{
	return new_uffd_with(0);
}

static bool uffd_register_with(int fd, const char *start, const char *end, uint64_t mode)
{
	struct uffdio_register asked = {
		.range = { (unsigned long)start, (unsigned long)end - (unsigned long)start },
		.mode = mode,
	};

	return !ioctl(fd, UFFDIO_REGISTER, &asked);
}

static bool uffd_register(int fd, const char *start, const char *end)
{
	return uffd_register_with(fd, start, end, UFFDIO_REGISTER_MODE_MISSING);
}

enum probe_answer probe_uffd_low(const struct place *p)
{
	const struct place low = { (char *)65536, p->page };
	int fd = new_uffd();

	if (fd < 0 || mmap(at(&low, 0), p->page, RW, ANON | MAP_FIXED_NOREPLACE, -1, 0) !=
			      at(&low, 0) ||
	    !uffd_register(fd, at(&low, 0), at(&low, 1)))
		return PROBE_UNKNOWN;
	return takes(uffd_register(fd, NULL, at(&low, 1)), EINVAL);
}

enum probe_answer probe_uffd_own_only(const struct place *p)
{
	struct uffdio_range range = { (unsigned long)at(p, 0), p->page };
	int one = new_uffd(), two = new_uffd();

	if (one < 0 || two < 0 || !map(p, 0, 1, RW, ANON) ||
	    !uffd_register(one, at(p, 0), at(p, 1)))
		return PROBE_UNKNOWN;
	return refuses(!ioctl(two, UFFDIO_UNREGISTER, &range), EINVAL);
}

enum probe_answer probe_uffd_no_droppable(const struct place *p)
{
	int fd = new_uffd();

	if (fd < 0 || !map(p, 0, 1, RW, MAP_ANONYMOUS | MAP_DROPPABLE))
		return PROBE_UNKNOWN;
	return refuses(uffd_register(fd, at(p, 0), at(p, 1)), EINVAL);
}

enum probe_answer probe_uffd_moves_alone(const struct place *p)
{
	int fd = new_uffd();

	if (fd < 0 || !map(p, 0, 1, RW, ANON) || !map(p, 8, 1, RW, ANON) ||
	    !uffd_register(fd, at(p, 0), at(p, 9)) || !move(p, 0, 1, 1, 9, 0))
		return PROBE_UNKNOWN;
	return count_is(p, 2);
}

enum probe_answer probe_uffd_merges_up(const struct place *p)
{
	int fd = new_uffd();

	if (fd < 0 || !map(p, 0, 3, RW, ANON) || !uffd_register(fd, at(p, 2), at(p, 3)) ||
	    !uffd_register(fd, at(p, 1), at(p, 2)))
		return PROBE_UNKNOWN;
	return count_is(p, 2);
}

/* Where addresses above the stack exist: with five levels of page tables, and the like. */
enum probe_answer probe_uffd_nothing_above(const struct place *p)
{
	char *high = (char *)(1UL << 48);
	int fd = new_uffd();

	if (fd < 0 || mmap(high, p->page, RW, ANON | MAP_FIXED_NOREPLACE, -1, 0) != high ||
	    munmap(high, p->page) || uffd_register(fd, high, high + p->page))
		return PROBE_UNKNOWN;
	return said(ENOMEM, EINVAL);
}

static enum probe_answer registers_shared_memory(const struct place *p, uint64_t mode)
{
	int fd = new_uffd();

	if (fd < 0 || !map(p, 0, 1, RW, MAP_SHARED | MAP_ANONYMOUS))
		return PROBE_UNKNOWN;
	return takes(uffd_register_with(fd, at(p, 0), at(p, 1), mode), EINVAL);
}

enum probe_answer probe_uffd_minor(const struct place *p)
{
	return registers_shared_memory(p, UFFDIO_REGISTER_MODE_MINOR);
}

enum probe_answer probe_uffd_wp_files(const struct place *p)
{
	return registers_shared_memory(p, UFFDIO_REGISTER_MODE_WP);
}

enum probe_answer probe_uffd_keeps_wp(const struct place *p)
{
	int fd = new_uffd();

	if (fd < 0 || !map(p, 0, 1, RW, ANON) ||
	    !uffd_register_with(fd, at(p, 0), at(p, 1),
				UFFDIO_REGISTER_MODE_MISSING | UFFDIO_REGISTER_MODE_WP))
		return PROBE_UNKNOWN;
	return refuses(uffd_register(fd, at(p, 0), at(p, 1)), EBUSY);
}

enum probe_answer probe_uffd_takes_special(const struct place *p)
{
	int fd = new_uffd_with(UFFD_FEATURE_WP_ASYNC);
	unsigned long size;
	char *vdso = find_vdso(p, &size);

	if (!vdso || fd < 0)
		return PROBE_UNKNOWN;
	return takes(uffd_register_with(fd, vdso, vdso + size, UFFDIO_REGISTER_MODE_WP), EINVAL);
}
