/* SPDX-License-Identifier: MIT */
/* The limits, privileges and the personality of a process, told as the kernel has them. */
#ifndef VMSCOPE_WATCH_LIMITS_BPF_H
#define VMSCOPE_WATCH_LIMITS_BPF_H

#include <stdbool.h>

#include <asm/resource.h>
#include <asm/unistd_64.h>
#include <linux/bpf.h>

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#include "watch/tell.bpf.h"

static __always_inline void set_limits(struct watch_limits *limits, struct task_struct *task)
{
	const struct signal_struct *signal = BPF_CORE_READ(task, signal);
	const struct cred *cred = BPF_CORE_READ(task, cred);

	bpf_core_read(&limits->as, sizeof(limits->as), &signal->rlim[RLIMIT_AS]);
	bpf_core_read(&limits->data, sizeof(limits->data), &signal->rlim[RLIMIT_DATA]);
	bpf_core_read(&limits->stack, sizeof(limits->stack), &signal->rlim[RLIMIT_STACK]);
	bpf_core_read(&limits->memlock, sizeof(limits->memlock), &signal->rlim[RLIMIT_MEMLOCK]);
	limits->capabilities = 0;
	if (BPF_CORE_READ(cred, user_ns, level) == 0)
		bpf_core_read(&limits->capabilities, sizeof(limits->capabilities),
			      &cred->cap_effective);
	limits->personality = task->personality;
	limits->told = 1;
}

static __noinline int tell_limits(struct task_struct *task, __u32 kind, __u64 name, __u64 after)
{
	struct watch_limits_event *event = reserve(sizeof(*event));

	if (!event)
		return 0;
	set_head(&event->head, kind, task, name);
	event->head.after = after;
	set_limits(&event->limits, task);
	bpf_ringbuf_submit(event, BPF_RB_NO_WAKEUP);
	return 0;
}

static __always_inline void tell_limits_set(struct task_struct *task)
{
	const struct space *space = space_of((__u64)BPF_CORE_READ(task, mm));

	if (space)
		tell_limits(task, WATCH_LIMITS_SET, space->name, space->turns);
}

static __always_inline bool is_of_limits(__u64 number)
{
	return number == __NR_setrlimit || number == __NR_prlimit64 || number == __NR_personality;
}

/*
 * @task has made such a call. What prlimit64() names is another process's number in the first PID
 * namespace only if its caller is there.
 */
static __always_inline void limits_set(struct task_struct *task, const struct call *call)
{
	struct task_struct *other;
	const __u32 pid = call->args[0];

	tell_limits_set(task);
	if (!goes_through || call->number != __NR_prlimit64 || !pid || pid == (__u32)task->tgid ||
	    BPF_CORE_READ(task, thread_pid, level) != 0)
		return;
	other = bpf_task_from_pid(pid);
	if (!other)
		return;
	tell_limits_set(other);
	bpf_task_release(other);
}

#endif
