/* SPDX-License-Identifier: MIT */
/*
 * vmspace_begin.h - begin, host call, end: for programs that track their own mappings.
 *
 * A program that makes mmap(), munmap() ... itself and keeps a space equal to what the kernel has,
 * with several threads, must follow the calls in the order in which the kernel makes them. So it
 * puts each of them between two calls:
 *
 *	struct vmspace_ticket ticket;
 *	long result;
 *
 *	vmspace_begin(space, &req, &ticket);   // waits for calls whose ranges touch this one's
 *	result = the system call, as req says now: its value, or -errno
 *	vmspace_end(space, &ticket, result);   // the space follows
 *
 * Between the two the call holds ranges: those that it is about, with the whole of each area in or
 * beside them, as calls merge neighbours. Calls whose ranges do not touch are under way at once,
 * and end in any order; where they touch, the one that began later waits for the end of the other.
 * No call waits for ever: who has waited longest goes first.
 *
 * Where the range is not known before:
 *   mmap() without an address that is fixed: begin chooses the place, as vmspace_place() does, and
 *     writes it into the request: mmap.addr, with MAP_FIXED_NOREPLACE in mmap.flags (Linux 4.17).
 *     The call is to be made so. If something is there that the space does not know of, the kernel
 *     refuses it with EEXIST, and nothing has changed.
 *   mremap() that may move without MREMAP_FIXED and grows or has MREMAP_DONTUNMAP, shmat() without
 *     an address, shmdt(), mlockall(), munlockall(), process_madvise(), pkey_alloc(), pkey_free()
 *     and the end of a userfaultfd are exclusive: they hold everything, and the kernel chooses. So
 *     does an mmap() for which libvmspace finds no place.
 *
 * Mappings that others make (a library's, before the space was loaded) are areas as all others:
 * vmspace_load() takes them over. What is mapped behind the space's back later is not in it.
 */
#ifndef MAPLETREE_VMSPACE_BEGIN_H
#define MAPLETREE_VMSPACE_BEGIN_H

#include <mapletree/vmspace.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A call that has begun. The caller's memory; its contents are private. */
struct vmspace_ticket {
	struct vmspace_begun *begun; /* NULL: none */
	unsigned long reserved[3];
};

/*
 * Begin the call that `req` describes: wait until no other call holds ranges that touch its own,
 * hold them, choose the place of an mmap(), gather (as vmspace_gather()), and allocate all that
 * vmspace_end() may need. `req` stays the caller's, must not move, and is not to be changed until
 * the end, but for req->host.unmapped. The space must be one for several threads
 * (vmspace_config.threads, or with memory), and all calls that the host makes in it must be begun.
 *
 * Returns 0; or, with nothing held and *req unchanged: -ENOMEM; -EROFS: the space is a snapshot;
 * -EINVAL: it is for one thread, or the op is unknown, VMSPACE_FAULT (nothing is held for these) or
 * VMSPACE_FORK.
 *
 * A thread that has begun a call must not begin another before the end, nor wait for one that does.
 * fork() while a call is under way leaves its ranges held in the child's copy of the space.
 *
 * In a signal handler: for one that was raised by the call itself, as SIGSYS is by syscall user
 * dispatch or seccomp, and has not interrupted a call of libvmspace or libmapletree. begin and end
 * call malloc() and free() and take locks: where the interrupted thread may be inside malloc()
 * (whose own calls of mmap() and brk() raise the signal, too), the program must have another
 * allocator for what the handler allocates; docs/guides/tracking.md shows one. What the handler
 * itself calls must not be dispatched again. The thread must be registered (mt_thread_register())
 * before, as that maps memory and blocks signals. Of more than 8 MiB of nodes libmapletree maps the
 * rest itself, which no space is told of.
 */
VMSPACE_PUBLIC int vmspace_begin(struct vmspace *space, struct vmspace_request *req,
				 struct vmspace_ticket *ticket);

/*
 * The host's call was made and returned `result`, a value or -errno, as the raw system call: follow
 * it, as vmspace_complete() with req->host does, and let go what was held. Fills req->out.
 * Does not run out of memory, except in a space with memory where the call populates pages or moves
 * them: then out.out_of_memory is set, and nothing has changed. Asks the host nothing.
 * Returns out.result: what libvmspace predicts, which is `result` unless out.differs.
 */
VMSPACE_PUBLIC long vmspace_end(struct vmspace *space, struct vmspace_ticket *ticket, long result);

/* The host's call was not made: let go what was held. Nothing has changed. */
VMSPACE_PUBLIC void vmspace_cancel(struct vmspace *space, struct vmspace_ticket *ticket);

#ifdef __cplusplus
}
#endif
#endif /* MAPLETREE_VMSPACE_BEGIN_H */
