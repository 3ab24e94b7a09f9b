// SPDX-License-Identifier: MIT
/* The program in the kernel: tells of system calls that change the address spaces watched. */
#include <stdbool.h>

#include <asm/unistd_64.h>
#include <linux/bpf.h>

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include "watch/limits.bpf.h"
#include "watch/memory.bpf.h"
#include "watch/show.bpf.h"
#include "watch/uffd.bpf.h"

/* Newer than the headers of Debian 12. */
#ifndef __NR_mseal
#define __NR_mseal 462
#endif

char LICENSE[] SEC("license") = "Dual MIT/GPL";

enum { BUSY = 16 /* EBUSY: the areas are being changed */ };

static long near_found(struct task_struct *task, struct vm_area_struct *vma, void *ctx)
{
	describe(ctx, vma);
	return 0;
}

static __always_inline void look_near(struct call *call, struct task_struct *task, __u32 at,
				      __u64 addr)
{
	struct watch_area area = { .end = 0 };

	if (bpf_find_vma(task, addr, near_found, &area, 0) != -BUSY)
		call->looked |= 1 << at;
	call->near[at & (WATCH_NEAR - 1)] = area;
	if (call->near_count <= at)
		call->near_count = at + 1;
}

enum { MAP_FIXED_BIT = 0x10, MAP_KIND = 0x4002f, MAP_PRIVATE_ANON = 0x22, MAP_ANON = 0x20,
       FILE_TYPE = 0170000, REGULAR = 0100000 };

/*
 * What the call has mapped at @start. Where areas are being changed, nobody may look at them; a
 * regular file's is then known by the descriptor, which the thread has had for the call.
 */
static __noinline int look_at_made(struct call *call, __u64 start)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct watch_area *made = &call->near[WATCH_MADE];

	look_near(call, task, WATCH_MADE, start);
	if (call->looked & 1 << WATCH_MADE || call->number != __NR_mmap || call->args[3] & MAP_ANON)
		return 0;
	made->file = (__u64)file_behind(task, call->args[4]);
	if (made->file)
		describe_file(made);
	if ((made->mode & FILE_TYPE) != REGULAR) { /* others may map what they like */
		made->file = 0;
		return 0;
	}
	made->start = start;
	made->end = start + ((call->args[1] + 4095) & -4096UL);
	made->page_offset = call->args[5] >> 12;
	return 0;
}

/* The addresses that @call is about, if it tells any. */
static __always_inline bool is_about(const struct call *call, __u64 *at, __u64 *length)
{
	const __u64 *told = (const __u64 *)call->memory.bytes;

	*at = call->args[0];
	*length = call->args[1];
	switch (call->number) {
	case __NR_munmap:
	case __NR_brk:
	case __NR_shmat:
		return false;
	case __NR_mmap:
		return *at && call->args[3] & MAP_FIXED_BIT;
	case __NR_prctl:
		*at = call->args[2];
		*length = call->args[3];
		return *at && (__u32)call->args[0] == SET_VMA;
	case __NR_ioctl:
	case __NR_process_madvise:
		*at = told[0];
		*length = told[1];
		return *at && call->memory.size;
	default:
		return *at;
	}
}

/*
 * What the outcome of a call depends on, beside the areas: which of those around have an anon_vma.
 * Before it takes the lock; and at its exit where the areas were being changed then, so that nobody
 * could look. (Only there: the call may have made one of several.)
 */
static __always_inline void look_around(struct call *call, struct task_struct *task)
{
	__u64 at, length;

	if (!is_about(call, &at, &length))
		return;
	if (!(call->looked & 1 << 0))
		look_near(call, task, 0, at - 1);
	if (!(call->looked & 1 << 1))
		look_near(call, task, 1, at);
	if (!(call->looked & 1 << 2))
		look_near(call, task, 2, at + ((length + 4095) & -4096UL));
}

/* Whether a call of this number is told of: call_passes() of base/call.c. */
static __always_inline bool passes(__u32 number, __u32 arg0, __u32 arg1, __u32 arg2, __u32 arg3)
{
	const volatile struct watch_wanted *w;
	bool listed = false;
	__u32 value;

	if (number >= WATCH_CALLS)
		return false;
	w = &wanted[number];
	if (!w->wanted || !w->test) /* most are told of whatever their arguments */
		return w->wanted;
	value = w->arg == 0 ? arg0 : w->arg == 1 ? arg1 : w->arg == 2 ? arg2 : arg3;
	for (int i = 0; i < WATCH_VALUES; i++)
		if (i < w->count && w->values[i] == value)
			listed = true;
	switch (w->test) {
	case 1:
		return listed;
	case 2:
		return !listed;
	case 3:
		return (value & w->values[0]) == 0;
	default:
		return true;
	}
}

/*
 * The call that @task is in, from its registers, which say so until it returns (where a page fault or
 * an interrupt came in, they have an error or a vector in the place of a call's number, none of which
 * is that of a call that is told of). NULL: none that is told of.
 */
static __always_inline struct call *find_call(struct task_struct *task, const struct space *space)
{
	struct pt_regs *regs = (struct pt_regs *)bpf_task_pt_regs(task);
	long number = regs->orig_ax;
	struct call *call;

	if (number < 0 || number >= WATCH_CALLS || !wanted[number].wanted ||
	    !passes(number, regs->di, regs->si, regs->dx, regs->r10))
		return NULL;
	call = bpf_task_storage_get(&calls, task, NULL, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (!call) {
		__sync_fetch_and_add(&lost, 1);
		return NULL;
	}
	call->args[0] = regs->di;
	call->args[1] = regs->si;
	call->args[2] = regs->dx;
	call->args[3] = regs->r10;
	call->args[4] = regs->r8;
	call->args[5] = regs->r9;
	call->number = number;
	call->space = space->name;
	call->turn = call->child = 0;
	call->near_count = call->looked = call->ends_told = 0;
	for (int i = 0; i < WATCH_NEAR; i++) /* none of the call before */
		call->near[i].end = 0;
	copy_memory(call);
	return call;
}

/* Whether @call is the one that @task is in, as far as its registers say. */
static __always_inline bool is_in(struct task_struct *task, const struct call *call)
{
	struct pt_regs *regs = (struct pt_regs *)bpf_task_pt_regs(task);

	return regs->orig_ax == call->number && regs->di == call->args[0] &&
	       regs->si == call->args[1] && regs->dx == call->args[2] && regs->r10 == call->args[3];
}

/*
 * As waitpid() will have it. The task's own code may not be there yet; that of all threads is from the
 * moment when the first of them ends all, or the last ends.
 */
static __always_inline int status_of(struct task_struct *task)
{
	if (BPF_CORE_READ(task, signal, flags) & GROUP_EXIT)
		return BPF_CORE_READ(task, signal, group_exit_code);
	return task->exit_code;
}

static __noinline int end(struct task_struct *task)
{
	__u64 mm = (__u64)task->mm;
	struct space *space = space_of(mm);
	struct watch_space_event event = { .shown = 0 };
	__u32 pid = task->tgid;
	struct call *call;

	event.last = BPF_CORE_READ(task, signal, live.counter) == 0;
	if (!space || (event.last && !forget(&homes, &pid)))
		return 0;
	call = call_of(task);
	if (call) {
		if (call->turn)
			tell_turn(task, space->name, call->turn);
		end_call(call);
	}
	set_head(&event.head, WATCH_EXIT, task, space->name);
	event.status = status_of(task);
	set_space(&event, task);
	if (event.last && !goes_through)
		event.last = WATCH_LAST_SHOWN_LATER;
	if (event.last == WATCH_LAST)
		tell_areas(task, &event, mm);
	else
		tell(&event);
	return 0;
}

/* The arguments of the lock's events. */
static __always_inline bool first_of_lock(unsigned long long *ctx)
{
	unsigned long long value;

	if (lock_has_path)
		asm volatile("%0 = *(u64 *)(%1 + 16)" : "=r"(value) : "r"(ctx));
	else
		asm volatile("%0 = *(u64 *)(%1 + 8)" : "=r"(value) : "r"(ctx));
	return value & 1;
}

static __always_inline bool second_of_lock(unsigned long long *ctx)
{
	unsigned long long value;

	if (lock_has_path)
		asm volatile("%0 = *(u64 *)(%1 + 24)" : "=r"(value) : "r"(ctx));
	else
		asm volatile("%0 = *(u64 *)(%1 + 16)" : "=r"(value) : "r"(ctx));
	return value & 1;
}

/*
 * A call begins to matter when it asks for the lock of its address space: so its entry, which costs
 * every call of every process where somebody listens to it, need not be known.
 */
SEC("tp_btf/mmap_lock_start_locking")
int lock_wanted(unsigned long long *ctx)
{
	struct mm_struct *mm = (void *)ctx[0];
	const bool write = first_of_lock(ctx);
	struct task_struct *task = bpf_get_current_task_btf();
	struct call *call, *former;
	struct space *space;

	if (!write && !exit_is_late)
		return 0;
	space = task->mm == mm ? space_of((__u64)mm) : NULL;
	if (!space)
		return 0;
	if (!write) {
		if (task->flags & EXITING)
			end(task);
		return 0;
	}
	if (task->thread_info.status & STATUS_32) {
		if (!space->is_32)
			__sync_fetch_and_add(&foreign, 1);
		return 0;
	}
	former = call_of(task);
	if (former && is_in(task, former)) /* it has had the lock before */
		return 0;
	if (former) { /* nobody has seen it return: call_returns() was missed */
		if (former->turn)
			tell_turn(task, former->space, former->turn);
		end_call(former);
	}
	call = find_call(task, space);
	if (call)
		look_around(call, task);
	return 0;
}

SEC("tp_btf/mmap_lock_acquire_returned")
int lock_taken(unsigned long long *ctx)
{
	struct mm_struct *mm = (void *)ctx[0];
	const bool write = first_of_lock(ctx), success = second_of_lock(ctx);
	struct task_struct *task;
	struct space *space;
	struct call *call;
	__u32 tid;

	if (!success)
		return 0;
	task = bpf_get_current_task_btf();
	space = space_of((__u64)mm);
	if (!space)
		return 0;
	tid = task->pid;
	if (task->mm != mm) { /* another process's: it may have closed a userfaultfd */
		if (write && tell_uffd_end(task, space))
			space->writer = tid;
		return 0;
	}
	if (!write) {
		if (space->writer == tid) /* it goes on as a reader: munmap does */
			space->writer = 0;
		return 0;
	}
	space->writer = tid;
	call = call_of(task);
	if (!call) /* it wanted the lock before its space was attached to */
		call = find_call(task, space);
	if (!call || call->space != space->name) {
		if (!tell_uffd_end(task, space))
			tell_turn(task, space->name, ++space->turns);
		return 0;
	}
	space->turns++; /* nobody else holds the lock */
	if (call->turn)
		tell_turn(task, space->name, call->turn);
	call->turn = space->turns;
	return 0;
}

SEC("tp_btf/mmap_lock_released")
int lock_dropped(unsigned long long *ctx)
{
	struct mm_struct *mm = (void *)ctx[0];
	const bool write = first_of_lock(ctx);
	struct task_struct *task = bpf_get_current_task_btf();
	struct space *space;

	if (!write)
		return 0;
	space = space_of((__u64)mm);
	if (space && space->writer == (__u32)task->pid)
		space->writer = 0;
	return 0;
}

/* The call of @task that has not taken the lock; NULL: it may have, before its space was attached to. */
static __always_inline struct call *lockless_call(struct task_struct *task, const struct space *space,
						  long result)
{
	struct call *call = find_call(task, space);
	const __u32 number = call ? call->number : 0;

	if (result >= 0 && space->since && bpf_ktime_get_ns() - space->since < LATE_NS &&
	    !is_of_limits(number)) {
		if (call)
			end_call(call);
		return NULL;
	}
	return call;
}

/* Tells where the caller of the call at @time was. Memory that is not there now is left out. */
static __always_inline void tell_stack(struct task_struct *task, __u64 name, __u64 time)
{
	struct pt_regs *regs = (struct pt_regs *)bpf_task_pt_regs(task);
	struct watch_stack_event *event = bpf_ringbuf_reserve(&stacks, sizeof(*event), 0);

	if (!event)
		return;
	set_head(&event->head, WATCH_STACK, task, name);
	event->head.time = time;
	event->ip = regs->ip;
	event->sp = regs->sp;
	event->bp = regs->bp;
	event->bx = regs->bx;
	event->r12 = regs->r12;
	event->r13 = regs->r13;
	event->r14 = regs->r14;
	event->r15 = regs->r15;
	event->size = event->unused = 0;
	for (int at = 0; at < WATCH_STACK_BYTES; at += WATCH_STACK_PIECE) {
		if (bpf_probe_read_user(event->bytes + at, WATCH_STACK_PIECE,
					(void *)(event->sp + at)) != 0)
			break;
		event->size = at + WATCH_STACK_PIECE;
	}
	bpf_ringbuf_submit(event, BPF_RB_NO_WAKEUP);
}

/* The fork has failed for whose child areas were told. */
static __always_inline void tell_unborn(struct task_struct *task, __u64 name)
{
	struct watch_space_event event = { .shown = 0 };

	set_head(&event.head, WATCH_GONE, task, name);
	tell(&event);
}

static __always_inline void set_call(struct watch_call_event *event, struct task_struct *task,
				     const struct space *space, const struct call *call, long result,
				     __u64 time)
{
	set_head(&event->head, WATCH_CALL, task, space->name);
	event->head.time = time;
	event->head.turn = call->turn;
	event->head.after = space->turns;
	__builtin_memcpy(event->args, call->args, sizeof(event->args));
	event->result = result;
	event->number = call->number;
	event->near_count = call->near_count;
	event->has_memory = call->has_memory;
	event->ends_told = call->ends_told;
}

/* Most calls look at nothing: their events are short. */
static __always_inline void tell_call(struct task_struct *task, const struct space *space,
				      const struct call *call, long result, __u64 time)
{
	const bool with_path = call->near_count > WATCH_MADE && call->near[WATCH_MADE].file &&
			       !call->has_memory;
	struct watch_call_event *event;
	struct scratch *scratch;

	if (is_paused())
		return;
	scratch = with_path ? take_scratch() : NULL;
	if (scratch) {
		event = &scratch->call;
		set_call(event, task, space, call, result, time);
		__builtin_memcpy(event->near, call->near, sizeof(event->near));
		tell_path(scratch, true);
		output(event, WATCH_CALL_NEAR, scratch->size);
		give_scratch(scratch);
		return;
	}
	if (call->has_memory) {
		event = reserve(WATCH_CALL_MEMORY);
		if (event) {
			__builtin_memcpy(event->near, call->near, sizeof(event->near));
			__builtin_memcpy(&event->memory, &call->memory, sizeof(event->memory));
		}
	} else if (call->near_count) {
		event = reserve(WATCH_CALL_NEAR);
		if (event)
			__builtin_memcpy(event->near, call->near, sizeof(event->near));
	} else {
		event = reserve(WATCH_CALL_SHORT);
	}
	if (event) {
		set_call(event, task, space, call, result, time);
		bpf_ringbuf_submit(event, BPF_RB_NO_WAKEUP);
	}
}

static __noinline int call_returns(__u64 number, long result)
{
	struct task_struct *task = bpf_get_current_task_btf();
	__u64 mm = (__u64)task->mm;
	struct space *space;
	struct call *call;
	__u64 time;

	space = space_of(mm);
	if (!space)
		return 0;
	if (task->thread_info.status & STATUS_32)
		return 0;
	call = call_of(task);
	if (!call)
		call = lockless_call(task, space, result);
	if (!call || call->number != number || call->space != space->name)
		return 0;
	if (is_of_limits(number)) {
		if (result >= 0)
			limits_set(task, call);
		end_call(call);
		return 0;
	}
	if (call->has_memory && !call->memory.size)
		copy_memory(call);
	if (result > 0 && ((number == __NR_mmap && !(call->args[3] & MAP_FIXED_BIT)) ||
			   number == __NR_brk)) {
		__u64 end = number == __NR_brk ? result : result + ((call->args[1] + 4095) & -4096UL);

		look_near(call, task, 0, result - 1);
		look_near(call, task, 2, end);
	} else {
		look_around(call, task);
	}
	/* What was mapped has to be told but for private anonymous memory. */
	if (result > 0 && (number == __NR_mremap || number == __NR_shmat ||
			   (number == __NR_mmap && (call->args[3] & MAP_KIND) != MAP_PRIVATE_ANON)))
		look_at_made(call, result);
	if (number == __NR_ioctl && result == 0 && !call->memory.other)
		call->ends_told = keep_uffd(space, call->context, call->memory.inode);
	time = bpf_ktime_get_ns();
	if (with_stacks)
		tell_stack(task, space->name, time);
	tell_call(task, space, call, result, time);
	if (call->child)
		tell_unborn(task, call->child);
	end_call(call);
	return 0;
}

/* Where the functions of calls cannot be listened to: all calls, of all processes. */
SEC("tp_btf/sys_exit")
int BPF_PROG(call_exit, struct pt_regs *regs, long result)
{
	__u64 number = regs->orig_ax;

	if (number >= WATCH_CALLS || !wanted[number & (WATCH_CALLS - 1)].wanted)
		return 0;
	return call_returns(number, result);
}

/*
 * The functions of the calls of call_kinds, but for exec, which tells itself of what it has done. A
 * kernel need not have all of them: feed.c leaves out those that it has not.
 */
#define FUNCTION(call) \
	SEC("fexit/__x64_sys_" #call) \
	int BPF_PROG(exit_##call, struct pt_regs *regs, long result) \
	{ \
		return call_returns(__NR_##call, result); \
	}

FUNCTION(mmap)
FUNCTION(munmap)
FUNCTION(mprotect)
FUNCTION(pkey_mprotect)
FUNCTION(pkey_alloc)
FUNCTION(pkey_free)
FUNCTION(mremap)
FUNCTION(brk)
FUNCTION(madvise)
FUNCTION(process_madvise)
FUNCTION(mlock)
FUNCTION(mlock2)
FUNCTION(munlock)
FUNCTION(mlockall)
FUNCTION(munlockall)
FUNCTION(prctl)
FUNCTION(shmat)
FUNCTION(shmdt)
FUNCTION(remap_file_pages)
FUNCTION(mseal)
FUNCTION(mbind)
FUNCTION(set_mempolicy_home_node)
FUNCTION(io_setup)
FUNCTION(io_destroy)
FUNCTION(ioctl)
FUNCTION(personality)
FUNCTION(setrlimit)
FUNCTION(prlimit64)
FUNCTION(fork)
FUNCTION(clone)
FUNCTION(clone3)

static __always_inline int tell_task(struct task_struct *child)
{
	struct task_struct *task = bpf_get_current_task_btf();
	__u64 mm = (__u64)task->mm, made = (__u64)child->mm;
	struct watch_space_event event = { .shown = 0 };
	struct space copy = { .turns = 0 }, *space = space_of(mm);
	struct call *call;

	if (!space)
		return 0;
	call = call_of(task);
	set_head(&event.head, WATCH_TASK, child, space->name);
	event.from = space->name;
	event.parent = task->pid;
	set_space(&event, child);
	if (made == mm) {
		if (child->pid == child->tgid) /* by vfork */
			keep_home(child, space->name);
		tell(&event);
		return 0;
	}
	copy.name = call && call->child ? call->child : new_name();
	event.head.space = copy.name;
	tell_limits(child, WATCH_LIMITS, copy.name, 0);
	copy.is_32 = space->is_32;
	follow(child, made, &copy);
	if (call) {
		event.from_turn = call->turn;
		call->turn = call->child = 0;
	}
	tell_areas(child, &event, made);
	return 0;
}

SEC("tp_btf/task_newtask")
int BPF_PROG(task_made, struct task_struct *child, unsigned long flags)
{
	return tell_task(child);
}

static __always_inline int tell_exec(struct task_struct *task, int former)
{
	__u64 mm = (__u64)task->mm;
	struct watch_space_event event = { .shown = 0 };
	struct space begun = { .turns = 0 };
	__u32 pid = task->tgid;
	__u64 *home = bpf_map_lookup_elem(&homes, &pid);
	struct call *call = call_of(task);

	if (!home)
		return 0;
	event.from = *home;
	if (call) {
		event.from_turn = call->turn;
		end_call(call);
	}
	set_space(&event, task);
	begun.name = new_name();
	begun.is_32 = event.is_32;
	set_head(&event.head, WATCH_EXEC, task, begun.name);
	event.parent = former;
	tell_limits(task, WATCH_LIMITS, begun.name, 0);
	follow(task, mm, &begun);
	if (goes_through) {
		tell_areas(task, &event, mm);
	} else {
		tell_first_areas(task, &event);
		tell_shown(&event, mm, false, 0);
	}
	return 0;
}

SEC("tp_btf/sched_process_exec")
int BPF_PROG(executed, struct task_struct *task, int former, struct linux_binprm *program)
{
	return tell_exec(task, former);
}

SEC("tp_btf/sched_process_exit")
int BPF_PROG(ended, struct task_struct *task)
{
	if (!exit_is_late)
		end(task);
	return 0;
}

/*
 * Where a thread may be interrupted in a program of a tracepoint, too, the kernel leaves that out
 * for others on that processor meanwhile. These go through all areas, which takes long; so each has
 * a second one, which is run after it, and does what the first was left out for.
 */
SEC("tp_btf/task_newtask")
int BPF_PROG(task_made_too, struct task_struct *child, unsigned long flags)
{
	__u64 made = (__u64)child->mm;
	__u32 pid = child->tgid;

	if (made != (__u64)bpf_get_current_task_btf()->mm)
		return space_of(made) ? 0 : tell_task(child);
	return child->pid != pid || bpf_map_lookup_elem(&homes, &pid) ? 0 : tell_task(child);
}

SEC("tp_btf/sched_process_exec")
int BPF_PROG(executed_too, struct task_struct *task, int former, struct linux_binprm *program)
{
	return space_of((__u64)task->mm) ? 0 : tell_exec(task, former);
}

SEC("tp_btf/sched_process_exit")
int BPF_PROG(ended_too, struct task_struct *task)
{
	return end(task);
}

SEC("tp_btf/exit_mmap")
int BPF_PROG(space_gone_too, struct mm_struct *mm)
{
	return tell_gone(mm);
}
