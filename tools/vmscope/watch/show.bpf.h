/* SPDX-License-Identifier: MIT */
/* The areas of a space, told one by one by the program in the kernel. */
#ifndef VMSCOPE_WATCH_SHOW_BPF_H
#define VMSCOPE_WATCH_SHOW_BPF_H

#include <stdbool.h>

#include <linux/bpf.h>

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include "watch/area.bpf.h"
#include "watch/limits.bpf.h"
#include "watch/uffd.bpf.h"

/* The look under way where a program cannot go through the areas: vmscope has one at a time. */
struct watch_space_event looked_at;
bool look_adds;		/* who is looked at is followed from now on */
bool look_over;		/* it has been told of */

struct request { __u32 pid, add; };

static __always_inline __u32 map_count(struct task_struct *task)
{
	return BPF_CORE_READ(task, mm, map_count);
}

enum { RUN = 64 };	/* areas without a hole between them: of a program that begins they are fewer */

struct look_for {
	__u64 name, start, end;	/* the area that was told last */
	__u32 upwards, count;
};

static long found(struct task_struct *task, struct vm_area_struct *vma, struct look_for *look)
{
	tell_area(task, look->name, vma);
	look->start = vma->vm_start;
	look->end = vma->vm_end;
	look->count++;
	return 0;
}

/* Tells of the area right beside the last one; 1: there is a hole. */
static long look_beside(__u32 unused, struct look_for *look)
{
	const __u64 at = look->upwards ? look->end : look->start - 1;

	return bpf_find_vma(bpf_get_current_task_btf(), at, found, look, 0) != 0;
}

/*
 * Tells of the area of this task at @at, of those that follow it without a hole, and of those before it.
 * (Not static: it is checked once, not for each of its calls.)
 */
__noinline __u32 tell_run(__u64 at, __u64 name)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct look_for look = { .name = name, .upwards = 1 };
	__u64 first;

	if (bpf_find_vma(task, at, found, &look, 0) != 0)
		return 0;
	first = look.start;
	bpf_loop(RUN, look_beside, &look, 0);
	look.start = first;
	look.upwards = 0;
	bpf_loop(RUN, look_beside, &look, 0);
	return look.count;
}

/*
 * Where a program cannot go through the areas, one that has just been executed has few, all beside
 * places that are known. vmscope leaves out what comes twice, and finds out from their count whether
 * these are all.
 */
static __always_inline void tell_first_areas(struct task_struct *task, struct watch_space_event *event)
{
	struct pt_regs *regs = (struct pt_regs *)bpf_task_pt_regs(task);
	const __u64 name = event->head.space;
	__u32 count = tell_run(event->start_code, name);

	count += tell_run(event->start_brk, name);
	count += tell_run(event->start_stack, name);
	count += tell_run(regs->ip, name);
	count += tell_run((__u64)BPF_CORE_READ(task, mm, context.vdso), name);
	event->count = map_count(task);
	event->head.areas = count;
	event->shown = 1;
}

/* Tells of @event, of whose areas @busy and @turns say how things stood before they were told. */
static __always_inline void tell_shown(struct watch_space_event *event, __u64 mm, bool busy, __u64 turns)
{
	struct space *space = space_of(mm);

	if (space)
		event->head.after = space->turns;
	if (busy || !space || space->writer || space->turns != turns)
		event->shown = 0;
	tell(event);
}

/*
 * Tells of all areas of @task, and then of @event. Kernels differ in whether the areas can be changed
 * meanwhile: if they may have been, they count as not shown. (Pointers are not read out of what the
 * verifier trusts: for each that is, it goes through the names of all of the kernel's types.)
 */
static __always_inline void tell_areas(struct task_struct *task, struct watch_space_event *event,
				       __u64 mm)
{
	struct bpf_iter_task_vma it;
	struct vm_area_struct *vma;
	struct space *space = space_of(mm);
	__u64 turns = space ? space->turns : 0;
	bool busy = space && space->writer;
	__u32 count = 0;

	if (!goes_through) { /* they will be shown later; a fork's have been told, but not what they became */
		event->head.areas = map_count(task);
		tell(event);
		return;
	}
	event->shown = bpf_iter_task_vma_new(&it, task, 0) == 0;
	event->count = map_count(task);
	while ((vma = bpf_iter_task_vma_next(&it))) {
		tell_area(task, event->head.space,
			  bpf_rdonly_cast(vma, bpf_core_type_id_kernel(struct vm_area_struct)));
		count++;
	}
	if ((__u64)BPF_CORE_READ(task, mm) != mm) /* it has executed another program meanwhile */
		event->shown = 0;
	event->head.areas = count;
	tell_shown(event, mm, busy, turns);
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

/*
 * An area is copied by a fork, where no program can go through the child's: so which of the parent's have an
 * anon_vma then is known.
 */
SEC("fentry/anon_vma_fork")
int BPF_PROG(area_copied, struct vm_area_struct *copy, struct vm_area_struct *area)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct call *call = space_of((__u64)area->vm_mm) ? call_of(task) : NULL;

	if (!call)
		return 0;
	if (!call->child)
		call->child = new_name();
	tell_area(task, call->child, area);
	return 0;
}

/*
 * An area of a space that nobody uses any more is taken down, where no program can go through the areas
 * before: so these are the last that it had.
 */
SEC("fentry/unlink_anon_vmas")
int BPF_PROG(area_gone, struct vm_area_struct *vma)
{
	struct mm_struct *mm = vma->vm_mm;
	struct space *space;

	if (mm->mm_users.counter != 0)
		return 0;
	space = space_of((__u64)mm);
	if (!space)
		return 0;
	if (space->told++ == 0)
		space->count = mm->map_count;
	tell_area(bpf_get_current_task_btf(), space->name, vma);
	return 0;
}

/* The address space is gone: its `mm` may be given to another. */
static __always_inline int tell_gone(struct mm_struct *mm)
{
	struct watch_space_event event = { .shown = !goes_through };
	__u64 key = (__u64)mm;
	struct space *space = space_of(key);

	if (!space)
		return 0;
	set_head(&event.head, WATCH_GONE, bpf_get_current_task_btf(), space->name);
	event.head.areas = space->told;
	event.head.after = space->turns;
	event.count = space->count;
	tell(&event);
	forget_uffds(space);
	forget(&spaces, &key);
	return 0;
}

SEC("tp_btf/exit_mmap")
int BPF_PROG(space_gone, struct mm_struct *mm)
{
	return tell_gone(mm);
}

/* A process that runs already is followed from now on. */
static __always_inline void attach(struct task_struct *task, __u64 mm)
{
	struct space attached = { .since = bpf_ktime_get_ns() };

	if (space_of(mm))
		return;
	attached.name = new_name();
	follow(task, mm, &attached);
}

/* Of this task, which is vmscope. */
static __always_inline void note_root(void)
{
	struct task_struct *task = bpf_get_current_task_btf();

	root_dentry = (__u64)BPF_CORE_READ(task, fs, root.dentry);
	root_mount = (__u64)BPF_CORE_READ(task, fs, root.mnt);
}

/* Run by vmscope: tells of all areas of a process, and with `add` of all its calls from now on. */
SEC("syscall")
int look(struct request *request)
{
	struct watch_space_event event = { .shown = 0 };
	struct task_struct *task = bpf_task_from_pid(request->pid);
	struct space *space;
	__u64 mm;

	note_root();
	if (!task)
		return 3; /* ESRCH */
	mm = (__u64)task->mm;
	if (mm && request->add)
		attach(task, mm);
	space = space_of(mm);
	if (space) {
		set_head(&event.head, WATCH_LOOK, task, space->name);
		set_space(&event, task);
		tell_limits(task, WATCH_LIMITS, space->name, 0);
		tell_areas(task, &event, mm);
	}
	bpf_task_release(task);
	return mm ? 0 : 3;
}

/* The first area of a look that look_on() goes on with; vmscope has emptied looked_at before. */
static __always_inline void begin_look(struct task_struct *task, __u64 mm)
{
	struct space *space;

	note_root();
	if (look_adds)
		attach(task, mm);
	space = space_of(mm);
	set_head(&looked_at.head, WATCH_LOOK, task, space ? space->name : 0);
	if (!space)
		return;
	set_space(&looked_at, task);
	tell_limits(task, WATCH_LIMITS, space->name, 0);
	looked_at.count = map_count(task);
	looked_at.head.after = space->turns;
	looked_at.shown = 1;
}

static __always_inline void end_look(void)
{
	if (looked_at.head.space && !look_over)
		tell(&looked_at);
	look_over = true;
}

/*
 * The same where no program can go through the areas: run for each of them while vmscope reads the
 * iterator. That holds the lock for reading at each area, but may let others have it in between: what it
 * has shown is whole if all of it was seen in the same turn, and as many as there were. If they change,
 * the reading ends (by 1).
 */
SEC("iter/task_vma")
int look_on(struct bpf_iter__task_vma *ctx)
{
	struct task_struct *task = ctx->task;
	struct vm_area_struct *vma = ctx->vma;
	struct space *space;
	__u64 mm;

	if (!task || !vma) { /* that was the last */
		end_look();
		return 0;
	}
	mm = (__u64)vma->vm_mm;
	if (!looked_at.head.kind && (__u64)task->mm == mm)
		begin_look(task, mm);
	space = space_of(mm);
	if (!space || space->name != looked_at.head.space)
		return 0;
	if (space->writer || space->turns != looked_at.head.after) {
		looked_at.shown = 0;
		end_look();
		return 1;
	}
	tell_area(task, space->name, vma);
	looked_at.head.areas++;
	return 0;
}

#endif
