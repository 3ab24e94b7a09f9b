/* SPDX-License-Identifier: MIT */
/* What the program in the kernel knows of the spaces watched, and how it tells of events. */
#ifndef VMSCOPE_WATCH_TELL_BPF_H
#define VMSCOPE_WATCH_TELL_BPF_H

#include <stdbool.h>

#include <linux/bpf.h>

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#include "watch/event.h"
#include "watch/kernel.bpf.h"

enum { FOLLOWED = 4096, UFFDS = 4096,
       STATUS_32 = 0x2 /* TS_COMPAT */, EXITING = 0x4 /* PF_EXITING */,
       GROUP_EXIT = 0x4 /* SIGNAL_GROUP_EXIT */, NOT_THERE = 2 /* ENOENT */ };
#define LATE_NS 30000000000ULL	/* who attaches may find a call that waits that long */

const volatile struct watch_wanted wanted[WATCH_CALLS];

/* The lock's events have the path of a control group before what they tell: until Linux 6.13. */
const volatile bool lock_has_path;
/* sched_process_exit comes when a task has given up its space: until Linux 6.15. */
const volatile bool exit_is_late;
/* Programs can go through the areas of a process: since Linux 6.7. */
const volatile bool goes_through;
/* Stacks are told, too. */
const volatile bool with_stacks;

__u64 lost;	/* events for which there was no room */
bool paused;	/* calls are not told of, and count as lost: vmscope hears what was told first */
__u64 foreign;	/* calls through the 32-bit entry, whose numbers mean others */
__u64 names;	/* that were given to spaces */

/*
 * @name: as events have it. The kernel's `mm` is another space's as soon as it is free, when events of this
 * one may still have to come: after an exec it is given up long before that is told.
 * @since: when it was attached to; 0: it was watched from its beginning. Threads may be in calls then
 * whose entry was not seen.
 * @writer: the thread that has its lock for writing; 0: none.
 * @count: how many areas it had when it ended, of which @told have been told.
 * @uffds: how many have areas of it registered. @is_32: its program is not followed.
 */
struct space {
	__u64 name, turns, since, writer;
	__u32 count, told, uffds, is_32;
};

/*
 * @space: 0: none. @turn: the one in which it has the lock, or has had it last; 0: none so far.
 * @child: the name of the space that a fork has begun to copy; 0: none.
 * @context: the userfaultfd that an ioctl is made on. @looked: a bit for each of `near` that could
 * be looked at; what was not there has end 0.
 */
struct call {
	__u64 args[6], space, turn, child, context;
	__u32 number;
	__u8 near_count, looked, has_memory, ends_told;
	struct watch_area near[WATCH_NEAR];
	struct watch_memory memory;
};

enum { EVENTS_ROOM = 32 << 20, EVENTS_KEPT = 4 << 20 /* of this, not for areas that are shown */ };
struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, EVENTS_ROOM);
} events SEC(".maps");

/* So that they take no room from events, whose loss is worse. As large as needed: feed.c says. */
struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4096);
} stacks SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, FOLLOWED);
	__type(key, __u64);
	__type(value, struct space);
} spaces SEC(".maps");

/*
 * The call that each thread is in: kept with the thread, as a table would have it looked for and
 * copied.
 */
struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct call);
} calls SEC(".maps");

/* The name of each process's space, as after an exec the one that it had is not to be seen any more. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, FOLLOWED);
	__type(key, __u32);
	__type(value, __u64);
} homes SEC(".maps");

/* The userfaultfds that have areas of a space registered, by the kernel's context. */
struct uffd { __u64 space, inode; };
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, UFFDS);
	__type(key, __u64);
	__type(value, struct uffd);
} uffds SEC(".maps");

/* What descriptor @fd of @task is; NULL: it has none. */
static __always_inline struct file *file_behind(struct task_struct *task, __u32 fd)
{
	struct fdtable *table = BPF_CORE_READ(task, files, fdt);
	struct file **open = BPF_CORE_READ(table, fd), *file = NULL;

	if (fd >= BPF_CORE_READ(table, max_fds) ||
	    bpf_probe_read_kernel(&file, sizeof(file), open + fd) != 0)
		return NULL;
	return file;
}

static __always_inline struct space *space_of(__u64 mm)
{
	return mm ? bpf_map_lookup_elem(&spaces, &mm) : NULL;
}

/* NULL: @task is in none that is told of. */
static __always_inline struct call *call_of(struct task_struct *task)
{
	struct call *call = bpf_task_storage_get(&calls, task, NULL, 0);

	return call && call->space ? call : NULL;
}

static __always_inline void end_call(struct call *call)
{
	call->space = 0;
}

/*
 * False: it is not there. The kernel may refuse for other reasons (its lock takes too long). (An
 * int: older kernels leave the upper half undefined.)
 */
static __always_inline bool forget(void *map, const void *key)
{
	const int rc = (int)bpf_map_delete_elem(map, key);

	if (rc != 0 && rc != -NOT_THERE)
		__sync_fetch_and_add(&lost, 1);
	return rc != -NOT_THERE;
}

static __always_inline __u64 new_name(void)
{
	return __sync_fetch_and_add(&names, 1) + 1;
}

static __always_inline void keep_home(struct task_struct *task, __u64 name)
{
	__u32 pid = task->tgid;

	if (bpf_map_update_elem(&homes, &pid, &name, BPF_ANY) != 0)
		__sync_fetch_and_add(&lost, 1);
}

static __always_inline void follow(struct task_struct *task, __u64 mm, const struct space *space)
{
	if (bpf_map_update_elem(&spaces, &mm, space, BPF_ANY) != 0)
		__sync_fetch_and_add(&lost, 1);
	keep_home(task, space->name);
}

static __always_inline void set_head(struct watch_head *head, __u32 kind, struct task_struct *task,
				     __u64 name)
{
	head->kind = kind;
	head->pid = task->tgid;
	head->tid = task->pid;
	head->areas = 0;
	head->space = name;
	head->turn = head->after = 0;
	head->time = bpf_ktime_get_ns();
}

static __always_inline void *reserve(__u64 size)
{
	void *event = bpf_ringbuf_reserve(&events, size, 0);

	if (!event)
		__sync_fetch_and_add(&lost, 1);
	return event;
}

/* Tells of an event of @fixed bytes, and @more, which are at most WATCH_PATH. */
static __always_inline void output(void *event, __u64 fixed, __u64 more)
{
	asm volatile("" : "+r"(more)); /* the kernel wants to see the limit checked, and it is here */
	if (more > WATCH_PATH ||
	    bpf_ringbuf_output(&events, event, fixed + more, BPF_RB_NO_WAKEUP) != 0)
		__sync_fetch_and_add(&lost, 1);
}

static __always_inline void tell(struct watch_space_event *event)
{
	output(event, sizeof(*event), 0);
}

/* To be asked for each call that would be told of: it is counted here. (vmscope changes it.) */
static __always_inline bool is_paused(void)
{
	const bool is = *(volatile bool *)&paused;

	if (is)
		__sync_fetch_and_add(&lost, 1);
	return is;
}

static __always_inline void tell_turn(struct task_struct *task, __u64 name, __u64 turn)
{
	struct watch_head *head = is_paused() ? NULL : reserve(sizeof(*head));

	if (!head)
		return;
	set_head(head, WATCH_TURN, task, name);
	head->turn = turn;
	bpf_ringbuf_submit(head, BPF_RB_NO_WAKEUP);
}

#endif
