/* SPDX-License-Identifier: MIT */
/* The kernel's types and functions, as far as the program in the kernel uses them. */
#ifndef VMSCOPE_WATCH_KERNEL_BPF_H
#define VMSCOPE_WATCH_KERNEL_BPF_H

#include <linux/types.h>

/* What is needed of the kernel's types; their layout is found when the program is loaded. */
#define KERNEL_TYPE __attribute__((preserve_access_index))

struct super_block { __u32 s_dev; unsigned long s_magic; } KERNEL_TYPE;
struct inode {
	__u16 i_mode;
	unsigned long i_ino;
	long long i_size;
	struct super_block *i_sb;
} KERNEL_TYPE;
struct qstr { const unsigned char *name; } KERNEL_TYPE;
struct hlist_bl_node { void *pprev; } KERNEL_TYPE;
struct dentry_operations { void *d_dname; } KERNEL_TYPE;
struct dentry {
	struct qstr d_name;
	struct hlist_bl_node d_hash;	/* by which it is found: pprev NULL if deleted */
	struct dentry *d_parent;
	struct inode *d_inode;
	const struct dentry_operations *d_op;
} KERNEL_TYPE;
struct vfsmount { struct dentry *mnt_root; } KERNEL_TYPE;
struct mount {
	struct mount *mnt_parent;
	struct dentry *mnt_mountpoint;
	struct vfsmount mnt;
} KERNEL_TYPE;
struct path { struct vfsmount *mnt; struct dentry *dentry; } KERNEL_TYPE;
struct file {
	unsigned int f_mode;
	struct inode *f_inode;
	struct path f_path;
	void *private_data;
} KERNEL_TYPE;
struct backing_file { struct path user_path; } KERNEL_TYPE; /* of overlayfs, since Linux 6.8 */
struct fs_struct { struct path root; } KERNEL_TYPE;
struct fdtable { unsigned int max_fds; struct file **fd; } KERNEL_TYPE;
struct files_struct { struct fdtable *fdt; } KERNEL_TYPE;
typedef struct { int counter; } atomic_t;
struct mm_context { void *vdso; } KERNEL_TYPE;
struct mm_struct {
	unsigned long mmap_base, task_size, start_code, end_code, start_data, end_data, start_brk, brk,
		      start_stack;
	int map_count;
	atomic_t mm_users;
	struct mm_context context;
} KERNEL_TYPE;
struct vm_area_struct {
	unsigned long vm_start, vm_end, vm_flags, vm_pgoff;
	void *anon_vma;
	const void *vm_ops;
	struct file *vm_file;
	void *vm_private_data;
	struct mm_struct *vm_mm;
} KERNEL_TYPE;
struct vm_special_mapping { const char *name; } KERNEL_TYPE; /* of areas of the kernel's own */
struct userfaultfd_ctx {
	unsigned int features;
	_Bool released;
	struct mm_struct *mm;
} KERNEL_TYPE;
struct rlimit { unsigned long rlim_cur, rlim_max; } KERNEL_TYPE;
struct signal_struct {
	struct rlimit rlim[16];
	atomic_t live;
	unsigned int flags;
	int group_exit_code;
} KERNEL_TYPE;
struct user_namespace { int level; } KERNEL_TYPE;
typedef struct { __u64 val; } kernel_cap_t;	/* two halves until Linux 6.2 */
struct cred {
	kernel_cap_t cap_effective;
	struct user_namespace *user_ns;
} KERNEL_TYPE;
struct pid { unsigned int level; } KERNEL_TYPE;
struct thread_info { __u32 status; } KERNEL_TYPE;
struct task_struct {
	struct thread_info thread_info;
	int pid, tgid, exit_code;
	unsigned int flags, personality;
	struct mm_struct *mm;
	struct signal_struct *signal;
	const struct cred *cred;
	struct pid *thread_pid;
	struct files_struct *files;
	struct fs_struct *fs;
	char comm[16];
} KERNEL_TYPE;
struct pt_regs {
	unsigned long di, si, dx, r10, r8, r9, orig_ax, cs, ip, sp, bp, bx, r12, r13, r14, r15;
} KERNEL_TYPE;
struct linux_binprm;
struct bpf_iter_task_vma { __u64 opaque[1]; } __attribute__((aligned(8)));
struct bpf_iter_meta { __u64 seq, session_id, seq_num; };
struct bpf_iter__task_vma {
	struct bpf_iter_meta *meta;
	struct task_struct *task;
	struct vm_area_struct *vma;
};

/* Since Linux 6.7; the last two since 6.2. */
extern int bpf_iter_task_vma_new(struct bpf_iter_task_vma *it, struct task_struct *task,
				 __u64 addr) __ksym __weak;
extern struct vm_area_struct *bpf_iter_task_vma_next(struct bpf_iter_task_vma *it) __ksym __weak;
extern void bpf_iter_task_vma_destroy(struct bpf_iter_task_vma *it) __ksym __weak;
extern struct task_struct *bpf_task_from_pid(int pid) __ksym __weak;
extern void bpf_task_release(struct task_struct *task) __ksym __weak;
extern void *bpf_rdonly_cast(const void *object, __u32 type) __ksym __weak;

#endif
