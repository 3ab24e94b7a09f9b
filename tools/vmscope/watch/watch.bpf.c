// SPDX-License-Identifier: MIT
/* The program in the kernel: tells of system calls that change the address spaces watched. */
#include <stdbool.h>

#include <asm/unistd_64.h>
#include <linux/bpf.h>

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include "watch/event.h"

/* Newer than the headers of Debian 12. */
#ifndef __NR_mseal
#define __NR_mseal 462
#endif

/* What is needed of the kernel's types; their layout is found when the program is loaded. */
#define KERNEL_TYPE __attribute__((preserve_access_index))

struct super_block { __u32 s_dev; } KERNEL_TYPE;
struct inode {
	__u16 i_mode;
	unsigned long i_ino;
	long long i_size;
	struct super_block *i_sb;
} KERNEL_TYPE;
struct qstr { const unsigned char *name; } KERNEL_TYPE;
struct dentry { struct qstr d_name; } KERNEL_TYPE;
struct path { struct dentry *dentry; } KERNEL_TYPE;
struct file {
	unsigned int f_mode;
	struct inode *f_inode;
	struct path f_path;
} KERNEL_TYPE;
struct mm_struct {
	unsigned long mmap_base, task_size, start_code, end_code, start_data, end_data, start_brk, brk,
		      start_stack;
} KERNEL_TYPE;
struct vm_area_struct {
	unsigned long vm_start, vm_end, vm_flags, vm_pgoff;
	void *anon_vma;
	struct file *vm_file;
} KERNEL_TYPE;
typedef struct { int counter; } atomic_t;
struct signal_struct { atomic_t live; } KERNEL_TYPE;
struct thread_info { __u32 status; } KERNEL_TYPE;
struct task_struct {
	struct thread_info thread_info;
	int pid, tgid, exit_code;
	unsigned int flags;
	struct mm_struct *mm;
	struct signal_struct *signal;
	char comm[16];
} KERNEL_TYPE;
struct pt_regs {
	unsigned long di, si, dx, r10, r8, r9, orig_ax, cs, ip, sp, bp, bx, r12, r13, r14, r15;
} KERNEL_TYPE;
struct linux_binprm;
struct bpf_iter_task_vma { __u64 opaque[1]; } __attribute__((aligned(8)));

extern int bpf_iter_task_vma_new(struct bpf_iter_task_vma *it, struct task_struct *task,
				 __u64 addr) __ksym;
extern struct vm_area_struct *bpf_iter_task_vma_next(struct bpf_iter_task_vma *it) __ksym;
extern void bpf_iter_task_vma_destroy(struct bpf_iter_task_vma *it) __ksym;
extern struct task_struct *bpf_task_from_pid(int pid) __ksym;
extern void bpf_task_release(struct task_struct *task) __ksym;

char LICENSE[] SEC("license") = "Dual MIT/GPL";

enum { FOLLOWED = 4096, CALLS = 16384,
       STATUS_32 = 0x2 /* TS_COMPAT */, EXITING = 0x4 /* PF_EXITING */ };
#define LATE_NS 30000000000ULL	/* who attaches may find a call that waits that long */

const volatile struct watch_wanted wanted[WATCH_CALLS];

/* The lock's events have the path of a control group before what they tell: until Linux 6.13. */
const volatile bool lock_has_path;
/* sched_process_exit comes when a task has given up its space: until Linux 6.15. */
const volatile bool exit_is_late;
/* Stacks are told, too. */
const volatile bool with_stacks;

__u64 lost;	/* events for which there was no room */
__u64 foreign;	/* calls through the 32-bit entry, whose numbers mean others */

/*
 * @since: when it was attached to; 0: it was watched from its beginning. Threads may be in calls then
 * whose entry was not seen.
 * @writer: the thread that has its lock for writing; 0: none.
 */
struct space { __u64 turns, since, writer; };
struct call {
	__u64 args[6], space, turn;
	__u32 number, near_count;
	struct watch_area near[WATCH_NEAR];
};

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 32 << 20);
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

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, CALLS);
	__type(key, __u32);
	__type(value, struct call);
} calls SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct call);
} fresh SEC(".maps");

/* The space of each process, as after an exec the one that it had is not to be seen any more. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, FOLLOWED);
	__type(key, __u32);
	__type(value, __u64);
} homes SEC(".maps");

struct request { __u32 pid, add; };

static __always_inline struct space *space_of(__u64 mm)
{
	return mm ? bpf_map_lookup_elem(&spaces, &mm) : NULL;
}

static __always_inline void keep_home(struct task_struct *task, __u64 mm)
{
	__u32 pid = task->tgid;

	if (bpf_map_update_elem(&homes, &pid, &mm, BPF_ANY) != 0)
		__sync_fetch_and_add(&lost, 1);
}

static __always_inline void follow(struct task_struct *task, __u64 mm, const struct space *space,
				   __u64 flags)
{
	if (bpf_map_update_elem(&spaces, &mm, space, flags) != 0 && flags != BPF_NOEXIST)
		__sync_fetch_and_add(&lost, 1);
	keep_home(task, mm);
}

static __always_inline void set_head(struct watch_head *head, __u32 kind, struct task_struct *task,
				     __u64 mm)
{
	head->kind = kind;
	head->pid = task->tgid;
	head->tid = task->pid;
	head->areas = 0;
	head->space = mm;
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

static __always_inline void tell(struct watch_space_event *event)
{
	if (bpf_ringbuf_output(&events, event, sizeof(*event), BPF_RB_NO_WAKEUP) != 0)
		__sync_fetch_and_add(&lost, 1);
}

static __always_inline void tell_turn(struct task_struct *task, __u64 mm, __u64 turn)
{
	struct watch_head *head = reserve(sizeof(*head));

	if (!head)
		return;
	set_head(head, WATCH_TURN, task, mm);
	head->turn = turn;
	bpf_ringbuf_submit(head, BPF_RB_NO_WAKEUP);
}

static __always_inline void describe(struct watch_area *area, struct vm_area_struct *vma)
{
	struct file *file = vma->vm_file;

	area->start = vma->vm_start;
	area->end = vma->vm_end;
	area->flags = vma->vm_flags;
	area->page_offset = vma->vm_pgoff;
	area->anon = vma->anon_vma != NULL;
	area->file = (__u64)file;
	area->inode = area->size = 0;
	area->dev = area->mode = area->open_mode = 0;
	area->name[0] = 0;
	if (!file)
		return;
	area->inode = BPF_CORE_READ(file, f_inode, i_ino);
	area->size = BPF_CORE_READ(file, f_inode, i_size);
	area->mode = BPF_CORE_READ(file, f_inode, i_mode);
	area->dev = BPF_CORE_READ(file, f_inode, i_sb, s_dev);
	area->open_mode = BPF_CORE_READ(file, f_mode);
	bpf_probe_read_kernel_str(area->name, sizeof(area->name),
				  BPF_CORE_READ(file, f_path.dentry, d_name.name));
}

static long near_found(struct task_struct *task, struct vm_area_struct *vma, void *ctx)
{
	describe(ctx, vma);
	return 0;
}

static __always_inline void look_near(struct call *call, struct task_struct *task, __u32 at,
				      __u64 addr)
{
	struct watch_area area = { .end = 0 };

	bpf_find_vma(task, addr, near_found, &area, 0);
	call->near[at & (WATCH_NEAR - 1)] = area;
	if (call->near_count <= at)
		call->near_count = at + 1;
}

enum { MAP_FIXED_BIT = 0x10, MAP_KIND = 0x4002f, MAP_PRIVATE_ANON = 0x22 };

/*
 * What the outcome of a call depends on, beside the areas: which of those around have an anon_vma.
 * Before it takes the lock; and at its exit where the areas were being changed then, so that nobody
 * could look.
 */
static __always_inline void look_around(struct call *call, struct task_struct *task)
{
	const __u64 at = call->args[0];

	if (call->number == __NR_munmap || call->number == __NR_brk || call->number == __NR_shmat || !at ||
	    (call->number == __NR_mmap && !(call->args[3] & MAP_FIXED_BIT)))
		return;
	if (call->near_count < 1 || !call->near[0].end)
		look_near(call, task, 0, at - 1);
	if (call->near_count < 2 || !call->near[1].end)
		look_near(call, task, 1, at);
	if (call->near_count < 3 || !call->near[2].end)
		look_near(call, task, 2, at + call->args[1]);
}

/*
 * Tells of all areas of @task, and then of @event. Kernels differ in whether the areas can be changed
 * meanwhile: if they may have been, they count as not shown.
 */
static __always_inline void tell_areas(struct task_struct *task, struct watch_space_event *event,
				       __u64 mm)
{
	struct bpf_iter_task_vma it;
	struct vm_area_struct *vma;
	struct watch_area_event *area;
	struct space *space = space_of(mm);
	__u64 turns = space ? space->turns : 0;
	bool busy = space && space->writer;
	__u32 count = 0;

	event->shown = bpf_iter_task_vma_new(&it, task, 0) == 0;
	while ((vma = bpf_iter_task_vma_next(&it))) {
		area = reserve(sizeof(*area));
		if (area) {
			set_head(&area->head, WATCH_AREA, task, mm);
			describe(&area->area, vma);
			bpf_ringbuf_submit(area, BPF_RB_NO_WAKEUP);
		}
		count++;
	}
	space = space_of(mm);
	if (space) {
		event->head.after = space->turns;
		if (busy || space->writer || space->turns != turns)
			event->shown = 0;
	}
	event->head.areas = count;
	tell(event);
	bpf_iter_task_vma_destroy(&it);
}

static __always_inline void set_space(struct watch_space_event *event, struct task_struct *task)
{
	struct mm_struct *mm = task->mm;

	if (mm) {
		event->mmap_base = mm->mmap_base;
		event->start_code = mm->start_code;
		event->end_code = mm->end_code;
		event->start_data = mm->start_data;
		event->end_data = mm->end_data;
		event->start_brk = mm->start_brk;
		event->brk = mm->brk;
		event->start_stack = mm->start_stack;
		event->is_32 = mm->task_size <= 1ULL << 32;
	}
	bpf_probe_read_kernel_str(event->command, sizeof(event->command), task->comm);
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
	if (!w->wanted)
		return false;
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
static __always_inline struct call *find_call(struct task_struct *task, __u64 mm)
{
	struct pt_regs *regs = (struct pt_regs *)bpf_task_pt_regs(task);
	long number = regs->orig_ax;
	__u32 zero = 0;
	struct call *call;

	if (number < 0 || number >= WATCH_CALLS || !wanted[number].wanted ||
	    !passes(number, regs->di, regs->si, regs->dx, regs->r10))
		return NULL;
	call = bpf_map_lookup_elem(&fresh, &zero);
	if (!call)
		return NULL;
	call->args[0] = regs->di;
	call->args[1] = regs->si;
	call->args[2] = regs->dx;
	call->args[3] = regs->r10;
	call->args[4] = regs->r8;
	call->args[5] = regs->r9;
	call->number = number;
	call->space = mm;
	call->turn = 0;
	call->near_count = 0;
	return call;
}

static __noinline int end(struct task_struct *task)
{
	__u64 mm = (__u64)task->mm;
	struct watch_space_event event = { .shown = 0 };
	__u32 tid = task->pid, pid = task->tgid;
	struct call *call;

	event.last = BPF_CORE_READ(task, signal, live.counter) == 0;
	if (!space_of(mm) || (event.last && bpf_map_delete_elem(&homes, &pid) != 0))
		return 0;
	call = bpf_map_lookup_elem(&calls, &tid);
	if (call) {
		if (call->turn)
			tell_turn(task, mm, call->turn);
		bpf_map_delete_elem(&calls, &tid);
	}
	set_head(&event.head, WATCH_EXIT, task, mm);
	event.status = task->exit_code;
	set_space(&event, task);
	if (event.last)
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
	struct call *call;
	__u32 tid;

	if (!write && !exit_is_late)
		return 0;
	if (task->mm != mm || !space_of((__u64)mm))
		return 0;
	if (!write) {
		if (task->flags & EXITING)
			end(task);
		return 0;
	}
	if (task->thread_info.status & STATUS_32) {
		__sync_fetch_and_add(&foreign, 1);
		return 0;
	}
	tid = task->pid;
	if (bpf_map_lookup_elem(&calls, &tid)) /* it has had the lock before */
		return 0;
	call = find_call(task, (__u64)mm);
	if (!call)
		return 0;
	look_around(call, task);
	if (bpf_map_update_elem(&calls, &tid, call, BPF_ANY) != 0)
		__sync_fetch_and_add(&lost, 1);
	return 0;
}

SEC("tp_btf/mmap_lock_acquire_returned")
int lock_taken(unsigned long long *ctx)
{
	struct mm_struct *mm = (void *)ctx[0];
	const bool write = first_of_lock(ctx), success = second_of_lock(ctx);
	__u64 name = (__u64)mm;
	struct task_struct *task;
	struct space *space;
	struct call *call;
	__u32 tid;

	if (!success)
		return 0;
	task = bpf_get_current_task_btf();
	if (task->mm != mm)
		return 0;
	space = space_of(name);
	if (!space)
		return 0;
	tid = task->pid;
	if (!write) {
		if (space->writer == tid) /* it goes on as a reader: munmap does */
			space->writer = 0;
		return 0;
	}
	space->writer = tid;
	space->turns++;	/* nobody else holds the lock */
	call = bpf_map_lookup_elem(&calls, &tid);
	if (!call) { /* it wanted the lock before its space was attached to */
		call = find_call(task, name);
		if (call && bpf_map_update_elem(&calls, &tid, call, BPF_ANY) != 0)
			__sync_fetch_and_add(&lost, 1);
		call = bpf_map_lookup_elem(&calls, &tid);
	}
	if (!call || call->space != name) {
		tell_turn(task, name, space->turns);
		return 0;
	}
	if (call->turn)
		tell_turn(task, name, call->turn);
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

	if (!write || task->mm != mm)
		return 0;
	space = space_of((__u64)mm);
	if (space)
		space->writer = 0;
	return 0;
}

/* The call of @task that has not taken the lock; NULL: it may have, before its space was attached to. */
static __always_inline struct call *lockless_call(struct task_struct *task, __u64 mm,
						  const struct space *space, long result)
{
	struct call *call = find_call(task, mm);
	const __u32 number = call ? call->number : 0;

	if (result >= 0 && space->since && bpf_ktime_get_ns() - space->since < LATE_NS &&
	    number != __NR_setrlimit && number != __NR_prlimit64 && number != __NR_personality)
		return NULL;
	return call;
}

/* Tells where the caller of the call at @time was. Memory that is not there now is left out. */
static __always_inline void tell_stack(struct task_struct *task, __u64 mm, __u64 time)
{
	struct pt_regs *regs = (struct pt_regs *)bpf_task_pt_regs(task);
	struct watch_stack_event *event = bpf_ringbuf_reserve(&stacks, sizeof(*event), 0);

	if (!event)
		return;
	set_head(&event->head, WATCH_STACK, task, mm);
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

static __noinline int call_returns(__u64 number, long result)
{
	struct task_struct *task = bpf_get_current_task_btf();
	__u64 mm = (__u64)task->mm;
	struct watch_call_event *event;
	struct space *space;
	struct call *call;
	__u32 tid = task->pid;
	__u64 time;

	space = space_of(mm);
	if (!space)
		return 0;
	if (task->thread_info.status & STATUS_32)
		return 0;
	call = bpf_map_lookup_elem(&calls, &tid);
	if (!call)
		call = lockless_call(task, mm, space, result);
	if (!call || call->number != number || call->space != mm)
		return 0;
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
		look_near(call, task, 3, result);
	time = bpf_ktime_get_ns();
	if (with_stacks)
		tell_stack(task, mm, time);
	/* Most calls look at nothing: their events are short. */
	if (call->near_count) {
		event = reserve(sizeof(*event));
		if (event)
			__builtin_memcpy(event->near, call->near, sizeof(event->near));
	} else {
		event = reserve(WATCH_CALL_SHORT);
	}
	if (event) {
		set_head(&event->head, WATCH_CALL, task, mm);
		event->head.time = time;
		event->head.turn = call->turn;
		event->head.after = space->turns;
		__builtin_memcpy(event->args, call->args, sizeof(event->args));
		event->result = result;
		event->number = number;
		event->near_count = call->near_count;
		bpf_ringbuf_submit(event, BPF_RB_NO_WAKEUP);
	}
	bpf_map_delete_elem(&calls, &tid);
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

SEC("tp_btf/task_newtask")
int BPF_PROG(task_made, struct task_struct *child, unsigned long flags)
{
	struct task_struct *task = bpf_get_current_task_btf();
	__u64 mm = (__u64)task->mm, made = (__u64)child->mm;
	struct watch_space_event event = { .shown = 0 };
	struct space none = { .turns = 0 };
	__u32 tid = task->pid;
	struct call *call;

	if (!space_of(mm))
		return 0;
	call = bpf_map_lookup_elem(&calls, &tid);
	set_head(&event.head, WATCH_TASK, child, made);
	event.from = mm;
	event.parent = task->pid;
	set_space(&event, child);
	if (made == mm) {
		if (child->pid == child->tgid) /* by vfork */
			keep_home(child, made);
		tell(&event);
		return 0;
	}
	follow(child, made, &none, BPF_ANY);
	if (call) {
		event.from_turn = call->turn;
		call->turn = 0;
	}
	tell_areas(child, &event, made);
	return 0;
}

SEC("tp_btf/sched_process_exec")
int BPF_PROG(executed, struct task_struct *task, int former, struct linux_binprm *program)
{
	__u64 mm = (__u64)task->mm;
	struct watch_space_event event = { .shown = 0 };
	struct space none = { .turns = 0 };
	__u32 tid = former, pid = task->tgid;
	__u64 *home = bpf_map_lookup_elem(&homes, &pid);
	struct call *call = bpf_map_lookup_elem(&calls, &tid);

	if (!home)
		return 0;
	event.from = *home;
	if (call)
		event.from_turn = call->turn;
	bpf_map_delete_elem(&calls, &tid);
	set_head(&event.head, WATCH_EXEC, task, mm);
	event.parent = former;
	set_space(&event, task);
	follow(task, mm, &none, BPF_ANY);
	tell_areas(task, &event, mm);
	return 0;
}

SEC("tp_btf/sched_process_exit")
int BPF_PROG(ended, struct task_struct *task)
{
	if (!exit_is_late)
		end(task);
	return 0;
}

/* The address space is gone: its name may be given to another. */
SEC("tp_btf/exit_mmap")
int BPF_PROG(space_gone, struct mm_struct *mm)
{
	__u64 name = (__u64)mm;

	if (bpf_map_lookup_elem(&spaces, &name))
		bpf_map_delete_elem(&spaces, &name);
	return 0;
}

/* Run by vmscope: tells of all areas of a process, and with `add` of all its calls from now on. */
SEC("syscall")
int look(struct request *request)
{
	struct watch_space_event event = { .shown = 0 };
	struct space attached = { .since = bpf_ktime_get_ns() };
	struct task_struct *task = bpf_task_from_pid(request->pid);
	__u64 mm;

	if (!task)
		return 3; /* ESRCH */
	mm = (__u64)task->mm;
	if (mm && request->add)
		follow(task, mm, &attached, BPF_NOEXIST);
	if (space_of(mm)) {
		set_head(&event.head, WATCH_LOOK, task, mm);
		set_space(&event, task);
		tell_areas(task, &event, mm);
	}
	bpf_task_release(task);
	return mm ? 0 : 3;
}
