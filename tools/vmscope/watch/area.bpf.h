/* SPDX-License-Identifier: MIT */
/* How the program in the kernel tells of areas, with the paths that their files have then. */
#ifndef VMSCOPE_WATCH_AREA_BPF_H
#define VMSCOPE_WATCH_AREA_BPF_H

#include <stdbool.h>

#include <linux/bpf.h>

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#include "watch/tell.bpf.h"

enum { PATH_STEPS = 256, OVERLAYFS = 0x794c7630, FUSE = 0x65735546 };

/* vmscope's own root: paths are told as /proc/PID/maps has them for it. */
__u64 root_mount, root_dentry;

/*
 * Where an event with a path is made, as it is too large for the stack. @busy: by another program,
 * which this one has interrupted: the path is not told then.
 */
struct scratch {
	__u32 busy, size;	/* bytes of the path so far */
	union {
		struct watch_area_event area;
		struct watch_call_event call;
	};
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct scratch);
} scratches SEC(".maps");

static __always_inline struct scratch *take_scratch(void)
{
	__u32 zero = 0;
	struct scratch *scratch = bpf_map_lookup_elem(&scratches, &zero);

	return scratch && __sync_lock_test_and_set(&scratch->busy, 1) == 0 ? scratch : NULL;
}

static __always_inline void give_scratch(struct scratch *scratch)
{
	__sync_lock_test_and_set(&scratch->busy, 0);
}

struct walk {
	struct scratch *scratch;
	char *path;		/* in it */
	__u64 at, mount;	/* a struct dentry, in a struct mount */
};

/*
 * Adds the name of @walk->at, and goes on to the directory that it is in; 1: that was the last one.
 */
static long tell_part(__u32 unused, struct walk *walk)
{
	struct dentry *at = (void *)walk->at;
	struct mount *mount = (void *)walk->mount;
	struct dentry *parent = BPF_CORE_READ(at, d_parent);
	const __u32 size = walk->scratch->size;
	long got;

	if (walk->at == root_dentry && (__u64)&mount->mnt == root_mount)
		return 1;
	if (at == parent || at == BPF_CORE_READ(mount, mnt.mnt_root)) {
		walk->at = (__u64)BPF_CORE_READ(mount, mnt_mountpoint);
		walk->mount = (__u64)BPF_CORE_READ(mount, mnt_parent);
		return walk->mount == (__u64)mount;
	}
	if (size >= WATCH_PATH)
		return 1;
	got = bpf_probe_read_kernel_str(walk->path + size, WATCH_PART,
					BPF_CORE_READ(at, d_name.name));
	walk->scratch->size = got > 0 ? size + got : WATCH_PATH;
	walk->at = (__u64)parent;
	return 0;
}

/*
 * As users see it: since Linux 6.8 the file below one on overlayfs, or by which FUSE serves one,
 * knows that one's path. Which bit of f_mode says that it is such a file differs between versions:
 * behind others lies no entry of a directory on these file systems.
 */
static __always_inline const struct path *path_of(struct file *file)
{
	const struct path *user;
	__u64 system;

	if (!bpf_core_type_exists(struct backing_file))
		return &file->f_path;
	user = &((struct backing_file *)file)->user_path;
	system = BPF_CORE_READ(user, dentry, d_inode, i_sb, s_magic);
	return system == OVERLAYFS || system == FUSE ? user : &file->f_path;
}

/*
 * Writes the path of the file of the scratch's area, or of what its call has mapped, behind the
 * event. (Not static: it is checked once, not for each of its calls.)
 */
__noinline int tell_path(struct scratch *scratch, bool of_call)
{
	struct watch_area *area;
	const struct path *from;
	struct dentry *dentry;
	struct walk walk = { .at = 0 };
	long got;

	if (!scratch)
		return 0;
	area = of_call ? &scratch->call.near[WATCH_MADE] : &scratch->area.area;
	from = path_of((struct file *)area->file);
	dentry = BPF_CORE_READ(from, dentry);
	walk.scratch = scratch;
	walk.path = of_call ? scratch->call.path : scratch->area.path;
	walk.at = (__u64)dentry;
	walk.mount = (__u64)BPF_CORE_READ(from, mnt) - bpf_core_field_offset(struct mount, mnt);
	scratch->size = 0;
	if (BPF_CORE_READ(dentry, d_op) && BPF_CORE_READ(dentry, d_op, d_dname)) {
		got = bpf_probe_read_kernel_str(walk.path, WATCH_PART,
						BPF_CORE_READ(dentry, d_name.name));
		scratch->size = got > 0 ? got : 0;
		area->path_kind = WATCH_PATH_NONE;
	} else {
		bpf_loop(PATH_STEPS, tell_part, &walk, 0);
		area->path_kind = BPF_CORE_READ(dentry, d_hash.pprev) ? WATCH_PATH_LINKED :
									WATCH_PATH_DELETED;
	}
	if (scratch->size > WATCH_PATH)
		scratch->size = 0;
	area->path_size = scratch->size;
	return 0;
}

/*
 * The name of an area that is the kernel's own: the only ones without a file that have operations.
 */
static __always_inline void tell_special(struct scratch *scratch, struct watch_area *area,
					 struct vm_area_struct *vma)
{
	struct vm_special_mapping *mapping = vma->vm_private_data;
	long got = bpf_probe_read_kernel_str(scratch->area.path, WATCH_PART,
					     BPF_CORE_READ(mapping, name));

	scratch->size = got > 0 && scratch->area.path[0] == '[' ? got : 0;
	area->path_kind = WATCH_PATH_KERNEL;
	area->path_size = scratch->size;
}

/* What the file of @area is, but for its path. (Not static: as tell_path().) */
__noinline int describe_file(struct watch_area *area)
{
	struct file *file;
	struct inode *inode;

	if (!area)
		return 0;
	file = (struct file *)area->file;
	inode = BPF_CORE_READ(path_of(file), dentry, d_inode);
	area->inode = BPF_CORE_READ(inode, i_ino);
	area->size = BPF_CORE_READ(inode, i_size);
	area->mode = BPF_CORE_READ(inode, i_mode);
	area->dev = BPF_CORE_READ(inode, i_sb, s_dev);
	area->system = BPF_CORE_READ(inode, i_sb, s_magic);
	area->open_mode = BPF_CORE_READ(file, f_mode);
	return 0;
}

/* All but the path. */
static __always_inline void describe(struct watch_area *area, struct vm_area_struct *vma)
{
	struct file *file = vma->vm_file;

	area->start = vma->vm_start;
	area->end = vma->vm_end;
	area->flags = vma->vm_flags;
	area->page_offset = vma->vm_pgoff;
	area->anon = vma->anon_vma != NULL;
	area->file = (__u64)file;
	area->inode = area->size = area->system = area->name = 0;
	area->dev = area->mode = area->open_mode = area->path_kind = area->path_size = 0;
	if (file)
		describe_file(area);
}

/*
 * Where there is little room, the end of a process is worth more than its areas: these are not all
 * then, which their count tells.
 */
static __always_inline bool has_room(void)
{
	return bpf_ringbuf_query(&events, BPF_RB_AVAIL_DATA) < EVENTS_ROOM - EVENTS_KEPT;
}

static __always_inline void tell_area(struct task_struct *task, __u64 name,
				      struct vm_area_struct *vma)
{
	struct scratch *scratch;
	struct watch_area_event *event;

	if (!has_room())
		return;
	scratch = vma->vm_file || vma->vm_ops ? take_scratch() : NULL;
	if (!scratch) {
		event = reserve(WATCH_AREA_SHORT);
		if (!event)
			return;
		set_head(&event->head, WATCH_AREA, task, name);
		describe(&event->area, vma);
		bpf_ringbuf_submit(event, BPF_RB_NO_WAKEUP);
		return;
	}
	event = &scratch->area;
	set_head(&event->head, WATCH_AREA, task, name);
	describe(&event->area, vma);
	if (vma->vm_file)
		tell_path(scratch, false);
	else
		tell_special(scratch, &event->area, vma);
	output(event, WATCH_AREA_SHORT, scratch->size);
	give_scratch(scratch);
}

#endif
