/* SPDX-License-Identifier: MIT */
/* Userfaultfds: which one an ioctl is made on, and when it ends. */
#ifndef VMSCOPE_WATCH_UFFD_BPF_H
#define VMSCOPE_WATCH_UFFD_BPF_H

#include <stdbool.h>

#include <linux/bpf.h>

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#include "watch/tell.bpf.h"

/* Whether @file is a userfaultfd. */
static __always_inline bool is_uffd(struct file *file)
{
	static const char wanted_name[] = "[userfaultfd]";
	char name[sizeof(wanted_name) + 1] = "";
	bool is = true;

	bpf_probe_read_kernel_str(name, sizeof(name),
				  BPF_CORE_READ(file, f_path.dentry, d_name.name));
	for (unsigned int i = 0; i < sizeof(wanted_name); i++)
		is &= name[i] == wanted_name[i];
	return is;
}

/* Which userfaultfd an ioctl is made on: its descriptor may be closed soon. */
static __noinline int look_at_uffd(struct call *call)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct file *file = file_behind(task, call->args[0]);
	struct watch_memory *memory = &call->memory;
	struct userfaultfd_ctx *context;
	const struct space *other;
	__u64 mm;

	call->context = memory->inode = memory->features = 0;
	if (!file || !is_uffd(file))
		return 0;
	context = BPF_CORE_READ(file, private_data);
	memory->features = BPF_CORE_READ(context, features);
	memory->inode = BPF_CORE_READ(file, f_inode, i_ino);
	call->context = (__u64)context;
	mm = (__u64)BPF_CORE_READ(context, mm);
	if (mm != (__u64)BPF_CORE_READ(task, mm)) {
		other = space_of(mm);
		memory->other = other ? other->name : WATCH_UNKNOWN;
	}
	return 0;
}

/* Areas of @space are registered with a userfaultfd. Whether its end will be told. */
static __always_inline bool keep_uffd(struct space *space, __u64 context, __u64 inode)
{
	const struct uffd kept = { .space = space->name, .inode = inode };
	const struct uffd *former;

	if (!context || !bpf_core_field_exists(struct userfaultfd_ctx, released))
		return false;
	former = bpf_map_lookup_elem(&uffds, &context);
	if (former && former->space == kept.space)
		return true;
	if (bpf_map_update_elem(&uffds, &context, &kept, BPF_ANY) != 0)
		return false;
	space->uffds++;
	return true;
}

/* Finds one of @end's space that has been released. */
static long is_released(void *map, const __u64 *key, const struct uffd *uffd, struct uffd *end)
{
	struct userfaultfd_ctx *context = (void *)*key;

	if (uffd->space != end->space || !BPF_CORE_READ(context, released))
		return 0;
	end->inode = uffd->inode;
	bpf_map_delete_elem(map, key);
	return 1;
}

/*
 * When the last descriptor of a userfaultfd is closed, the kernel marks it as released, and takes
 * the lock of the space to end its registrations. If there is such a one when @task has got the
 * lock for what is no call, that is its end, in the next turn; else this returns false. (So no
 * function of the kernel's need be listened to. A turn that is no call's, of another thread in the
 * moment between, would be taken for the end.)
 */
static __noinline int tell_uffd_end(struct task_struct *task, struct space *space)
{
	struct uffd end = { .inode = 0 };
	struct watch_uffd_event *event;

	if (!space || !space->uffds)
		return 0;
	end.space = space->name;
	bpf_for_each_map_elem(&uffds, is_released, &end, 0);
	if (!end.inode)
		return 0;
	space->uffds--;
	space->turns++;
	event = reserve(sizeof(*event));
	if (!event)
		return 1;
	set_head(&event->head, WATCH_UFFD_END, task, space->name);
	event->head.turn = space->turns;
	event->inode = end.inode;
	bpf_ringbuf_submit(event, BPF_RB_NO_WAKEUP);
	return 1;
}

static long is_of_space(void *map, const __u64 *key, const struct uffd *uffd, const __u64 *space)
{
	if (uffd->space == *space)
		bpf_map_delete_elem(map, key);
	return 0;
}

/* The space is gone. */
static __noinline int forget_uffds(struct space *space)
{
	__u64 name;

	if (!space || !space->uffds)
		return 0;
	name = space->name;
	bpf_for_each_map_elem(&uffds, is_of_space, &name, 0);
	return 0;
}

#endif
