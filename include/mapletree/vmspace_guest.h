/* SPDX-License-Identifier: MIT */
/*
 * vmspace_guest.h - all that an emulator needs of an address space: a function for each system call.
 *
 * A guest's program is begun by vmspace_config_preset(), vmspace_create() and vmspace_exec()
 * (vmspace_create.h), its page faults are vmspace_touch() (vmspace_memory.h, both of which this includes),
 * and its system calls are the functions below, under the names that Linux has for them. What goes with it:
 * <mapletree/vmspace_window.h>, guest memory that is mapped into the emulator; <mapletree/vmspace_reading.h>,
 * what is at an address, and the text of /proc/PID/maps; vmspace_pages.h, vmspace_code.h, vmspace_pins.h,
 * vmspace_files.h.
 *
 * Arguments are those of the system call, unchecked, and constants those of <sys/mman.h>; addresses and
 * lengths are bytes. A function does what the system call does to the areas and their pages, and returns what
 * that returns: a value, or a negative errno. -ENOMEM, where Linux would not return it: libvmspace or the
 * space's memory has none, and nothing has changed; vmspace_brk() returns the break as it was then. A snapshot
 * answers -EROFS.
 *
 * Threads and cost: in a space with memory (or config.threads) any thread may call any of them at any time.
 * Each waits for other calls on the space, for page faults in progress in the areas that it changes, and
 * perhaps for threads inside mt_read_lock(); none may be called from a signal handler that may have
 * interrupted a call. O(log areas) for each area that is split, merged, inserted or removed, and what its
 * pages take; vmspace_call(3) tells more. Nobody has to free anything, but the child of vmspace_fork().
 *
 * Each is vmspace_call() of <mapletree/vmspace.h> with the request of that name, which also tells why a call
 * failed, and what it did. userfaultfd, process_madvise, remap_file_pages, the flags that a device's driver
 * adds, and hooks for children are there alone.
 */
#ifndef MAPLETREE_VMSPACE_GUEST_H
#define MAPLETREE_VMSPACE_GUEST_H

#include <mapletree/vmspace_create.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * The address. `file` describes what is mapped, and is copied; with MAP_ANONYMOUS it may be NULL. Without,
 * NULL says that the guest's descriptor is not open: EBADF.
 */
VMSPACE_PUBLIC long vmspace_mmap(struct vmspace *space, unsigned long addr, unsigned long length, int prot,
				 int flags, const struct vma_backing *file, uint64_t offset);
/* 0 */
VMSPACE_PUBLIC long vmspace_munmap(struct vmspace *space, unsigned long addr, unsigned long length);
VMSPACE_PUBLIC long vmspace_mprotect(struct vmspace *space, unsigned long addr, unsigned long length,
				     int prot);
VMSPACE_PUBLIC long vmspace_pkey_mprotect(struct vmspace *space, unsigned long addr, unsigned long length,
					  int prot, int pkey);
/* The new address. `new_addr` matters with MREMAP_FIXED and MREMAP_DONTUNMAP. */
VMSPACE_PUBLIC long vmspace_mremap(struct vmspace *space, unsigned long addr, unsigned long old_length,
				   unsigned long new_length, int flags, unsigned long new_addr);
/* The break afterwards, as the raw system call: the old one if `brk` was refused, or is 0. */
VMSPACE_PUBLIC long vmspace_brk(struct vmspace *space, unsigned long brk);
/*
 * 0. MADV_FREE discards at once, where Linux does so when memory is short. MADV_REMOVE makes zeros of the
 * part of the file, or of the shared memory, that is mapped there, for all who map it: in a window. A file
 * whose descriptor is used gets the hole itself, and its errors are returned (EOPNOTSUPP, EPERM ...); of one
 * whose bytes the program provides see vmspace_files.h. With a memory that is no window's the pages go from
 * the space, and the rest is that memory's.
 */
VMSPACE_PUBLIC long vmspace_madvise(struct vmspace *space, unsigned long addr, unsigned long length,
				    int advice);
VMSPACE_PUBLIC long vmspace_mlock(struct vmspace *space, unsigned long addr, unsigned long length);
/* flags: MLOCK_ONFAULT */
VMSPACE_PUBLIC long vmspace_mlock2(struct vmspace *space, unsigned long addr, unsigned long length,
				   int flags);
VMSPACE_PUBLIC long vmspace_munlock(struct vmspace *space, unsigned long addr, unsigned long length);
/* flags: MCL_* */
VMSPACE_PUBLIC long vmspace_mlockall(struct vmspace *space, int flags);
VMSPACE_PUBLIC long vmspace_munlockall(struct vmspace *space);
/* Checks, and writes nothing: of a window's files see vmspace_write_back(), or fsync() of the descriptor. */
VMSPACE_PUBLIC long vmspace_msync(struct vmspace *space, unsigned long addr, unsigned long length,
				  int flags);
/*
 * 0. A byte of `vec` (NULL: the vector cannot be written, EFAULT) for each page up to the first hole; its
 * lowest bit: is the page present in this space? (Of a file, Linux tells whether it is cached.)
 */
VMSPACE_PUBLIC long vmspace_mincore(struct vmspace *space, unsigned long addr, unsigned long length,
				    unsigned char *vec);
/* 0 */
VMSPACE_PUBLIC long vmspace_mseal(struct vmspace *space, unsigned long addr, unsigned long length,
				  unsigned long flags);
/* 0: prctl(PR_SET_VMA, PR_SET_VMA_ANON_NAME). `name` is copied; NULL: without a name from now on. */
VMSPACE_PUBLIC long vmspace_set_anon_name(struct vmspace *space, unsigned long addr, unsigned long length,
					  const char *name);
/*
 * The address. flags: SHM_RDONLY, SHM_RND, SHM_REMAP, SHM_EXEC. `size`: the segment's bytes; `segment`: its
 * device, inode and name, as vmspace_call(3) tells; NULL: the guest's number is no segment's, EINVAL.
 */
VMSPACE_PUBLIC long vmspace_shmat(struct vmspace *space, unsigned long addr, int flags, unsigned long size,
				  const struct vma_backing *segment);
/* 0 */
VMSPACE_PUBLIC long vmspace_shmdt(struct vmspace *space, unsigned long addr);
/* 0. mode: MPOL_* and its flags; bit n of `nodes`: node n; flags: MPOL_MF_*. */
VMSPACE_PUBLIC long vmspace_mbind(struct vmspace *space, unsigned long addr, unsigned long length, int mode,
				  uint64_t nodes, unsigned int flags);
/* 0 */
VMSPACE_PUBLIC long vmspace_set_mempolicy_home_node(struct vmspace *space, unsigned long addr,
						    unsigned long length, unsigned long node,
						    unsigned long flags);
/* The key. `flags` must be 0; rights: PKEY_DISABLE_*, of the calling thread, and only checked. */
VMSPACE_PUBLIC long vmspace_pkey_alloc(struct vmspace *space, unsigned long flags, unsigned long rights);
/* 0 */
VMSPACE_PUBLIC long vmspace_pkey_free(struct vmspace *space, int pkey);

/*
 * fork: *child becomes a space of its own, the caller's until vmspace_destroy(); NULL on error. Its memory is
 * `child_memory`: that of a new window on the parent's memfd (vmspace_window_memory()); NULL: the parent's,
 * where that has no map(). Returns 0, or what Linux's fork() does to say that memory is committed or short
 * (-ENOMEM); -EINVAL, -EBUSY: `child_memory` is not such a one, or a space uses it.
 */
VMSPACE_PUBLIC long vmspace_fork(struct vmspace *space, const struct vmspace_memory *child_memory,
				 struct vmspace **child);

#ifdef __cplusplus
}
#endif
#endif /* MAPLETREE_VMSPACE_GUEST_H */
