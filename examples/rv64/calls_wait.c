/* SPDX-License-Identifier: MIT */
/* calls_wait.c - system calls that wait for descriptors. */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/syscall.h>
#include <time.h>

#include "process.h"

/* A time that is read and, as it tells what is left, written; and a mask. Where each is, or 0: none. */
struct waiting {
	uint64_t time_at, mask_at;
	struct timespec time;
	uint64_t mask;
	bool has_mask;
};

static int take_waiting(struct waiting *waiting, uint64_t time, uint64_t mask)
{
	waiting->time_at = time;
	waiting->has_mask = mask != 0;
	if (time && guest_read(&waiting->time, time, sizeof(waiting->time)))
		return -EFAULT;
	if (mask && guest_read(&waiting->mask, mask, sizeof(waiting->mask)))
		return -EFAULT;
	return 0;
}

/* While it waits the guest's mask is another one; signal_deliver() sets it back. */
static const uint64_t *begin_waiting(struct thread *thread, struct waiting *waiting)
{
	if (!waiting->has_mask)
		return NULL;
	thread->mask_before = thread->mask;
	thread->mask = waiting->mask;
	thread->suspended = true;
	thread->cpu.attention |= (thread->pending & ~thread->mask) != 0;
	waiting->mask = signal_to_host(waiting->mask);
	return &waiting->mask;
}

static long end_waiting(struct thread *thread, struct waiting *waiting, long result)
{
	if (thread->suspended)
		thread->cpu.attention = 1;
	if (waiting->time_at && guest_write(waiting->time_at, &waiting->time, sizeof(waiting->time)))
		return -EFAULT;
	return result == CALL_RESTART && (thread->pending & ~thread->mask) ? -EINTR : result;
}

long call_ppoll(struct thread *thread, const uint64_t a[6])
{
	size_t size = a[1] * sizeof(struct pollfd);
	struct waiting waiting;
	struct pollfd *fds;
	long result;

	if (a[1] > (uint64_t)guest_descriptors())
		return -EINVAL;
	if (take_waiting(&waiting, a[2], a[3]))
		return -EFAULT;
	fds = malloc(size + 1);
	if (!fds)
		return -ENOMEM;
	result = guest_read(fds, a[0], size);
	if (!result) {
		const uint64_t *mask = begin_waiting(thread, &waiting);

		result = host_call(SYS_ppoll, (long)fds, (long)a[1], a[2] ? (long)&waiting.time : 0,
				   (long)mask, 8, 0);
		result = end_waiting(thread, &waiting, result);
	}
	if (result >= 0 && guest_write(a[0], fds, size))
		result = -EFAULT;
	free(fds);
	return result;
}

long call_pselect6(struct thread *thread, const uint64_t a[6])
{
	uint64_t with_mask[2] = { 0, 0 };
	size_t size = (a[0] + 63) / 64 * 8;
	struct waiting waiting;
	fd_set sets[3];
	long result = 0;

	if (a[0] > FD_SETSIZE)
		return -EINVAL;
	if (a[5] && guest_read(with_mask, a[5], sizeof(with_mask)))
		return -EFAULT;
	if (take_waiting(&waiting, a[4], with_mask[0]))
		return -EFAULT;
	for (int i = 0; i < 3 && !result; i++)
		result = a[1 + i] ? guest_read(&sets[i], a[1 + i], size) : 0;
	if (result)
		return result;
	with_mask[0] = (uint64_t)(uintptr_t)begin_waiting(thread, &waiting);
	with_mask[1] = 8;
	result = host_call(SYS_pselect6, (long)a[0], a[1] ? (long)&sets[0] : 0, a[2] ? (long)&sets[1] : 0,
			   a[3] ? (long)&sets[2] : 0, a[4] ? (long)&waiting.time : 0, (long)with_mask);
	result = end_waiting(thread, &waiting, result);
	for (int i = 0; i < 3 && result >= 0; i++)
		if (a[1 + i] && guest_write(a[1 + i], &sets[i], size))
			result = -EFAULT;
	return result;
}

/* ---- epoll: its structure has a hole that x86-64 has not ---- */

struct guest_event {
	uint32_t events, unused;
	uint64_t data;
};

long call_epoll_ctl(struct thread *thread, const uint64_t a[6])
{
	struct guest_event event = { 0 };
	struct epoll_event host;

	(void)thread;
	if (guest_fd(a[0]) < 0 || guest_fd(a[2]) < 0)
		return -EBADF;
	if (a[3] && guest_read(&event, a[3], sizeof(event)))
		return -EFAULT;
	host = (struct epoll_event){ .events = event.events, .data.u64 = event.data };
	return host_call(SYS_epoll_ctl, (long)a[0], (long)a[1], (long)a[2], a[3] ? (long)&host : 0, 0, 0);
}

#define EVENTS_MOST 256

long call_epoll_pwait(struct thread *thread, const uint64_t a[6])
{
	struct epoll_event events[EVENTS_MOST];
	int most = (int)a[2] < EVENTS_MOST ? (int)a[2] : EVENTS_MOST;
	struct waiting waiting;
	const uint64_t *mask;
	long count;

	if (guest_fd(a[0]) < 0)
		return -EBADF;
	if (take_waiting(&waiting, 0, a[4]))
		return -EFAULT;
	mask = begin_waiting(thread, &waiting);
	count = host_call(SYS_epoll_pwait, (long)a[0], (long)events, most, (int)a[3], (long)mask, 8);
	count = end_waiting(thread, &waiting, count);
	for (long i = 0; i < count; i++) {
		struct guest_event event = { .events = events[i].events, .data = events[i].data.u64 };

		if (guest_write(a[1] + (uint64_t)i * sizeof(event), &event, sizeof(event)))
			return -EFAULT;
	}
	return count;
}
