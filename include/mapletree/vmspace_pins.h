/* SPDX-License-Identifier: MIT */
/*
 * vmspace_pins.h - guest memory for system calls of the host, without a copy.
 *
 * A pointer into a window must not be handed to a system call: the page's translation may be dropped at any
 * time, or lose the right to be written, and the call fails with EFAULT for no reason that the guest knows.
 * Pinned pages are reached elsewhere, where they stay as they are until they are unpinned: what other
 * threads do to the guest's addresses meanwhile takes effect for the guest, at once and without waiting,
 * and not for the system call.
 */
#ifndef MAPLETREE_VMSPACE_PINS_H
#define MAPLETREE_VMSPACE_PINS_H

#include <sys/uio.h>

#include <mapletree/vmspace_memfd.h>

#ifdef __cplusplus
extern "C" {
#endif

struct vmspace_pinned;

/*
 * Pin the pages of [addr, addr + size) of `space`, whose memory is a window's, and set parts[0 .. n - 1]
 * to where they are: for readv(), sendmsg() and their like. n, at least 1 and at most `most`, is returned;
 * neighbouring pages are mostly one part. The parts together may be shorter than `size`, if the next byte
 * cannot be accessed, `most` parts do not reach, or memory runs out. *out is ended by vmspace_unpin_pages().
 *
 * access: VMSPACE_ACCESS_READ, of what the system call only reads; VMSPACE_ACCESS_WRITE, of what it
 * writes, and then perhaps reads. Pages are faulted in, and marked, as by a guest's own access.
 *
 * What a pin guarantees, against every thread, until it is ended:
 * - The parts can be accessed, without a signal, and are nobody else's memory. (Of a file whose descriptor
 *   is used, a page that is cut off meanwhile gives EFAULT in a system call, and SIGBUS else.)
 * - munmap, MADV_DONTNEED and their like take the page from the guest, and leave it to the pin: what is
 *   written to a private page goes nowhere then. mprotect does not end a right that was there when it was
 *   pinned.
 * - To write: while the guest has the page, it and the pin are the same memory, whatever is called, and in
 *   whatever order; at a fork the child gets a copy of it, as it is then. vmspace_collect() goes on to find
 *   it dirty. vmspace_watch_code() does not watch it, and returns VMSPACE_FAULT_PINNED.
 * - To read: the pin sees what the page holds. When a private page that cannot be written without a fault
 *   (it is shared since a fork, for instance) is written by the guest, that gets a copy, and the pin goes
 *   on to see what was there; unless the page is pinned to be written as well.
 * Shared memory and files are the same memory for all, also while they are pinned, and whether or not the
 * guest that they were pinned for still maps them: what is written shows to who maps them then, and is
 * written back to the file (vmspace_files.h).
 *
 * Any thread, at any time, as vmspace_touch() for each page. It holds no lock when it returns, so nothing
 * waits for a pin. Returns -EFAULT: the first byte cannot be accessed; -ENOMEM; -EINVAL: `size` or `most` is
 * 0, `access` is something else, the memory is no window's, or the space is a snapshot.
 */
VMSPACE_PUBLIC int vmspace_pin_pages(struct vmspace *space, unsigned long addr, size_t size,
				     unsigned int access, struct iovec *parts, unsigned int most,
				     struct vmspace_pinned **out);

/*
 * End it; NULL is ignored. Any thread, at any time, also after the space was destroyed, but not after its
 * window was. Waits for no call on a space. In a child of the host's fork() that has a copy of the memory, the
 * pins of its parent are there, too, of the copy, and are ended by the child.
 */
VMSPACE_PUBLIC void vmspace_unpin_pages(struct vmspace_pinned *pinned);

#ifdef __cplusplus
}
#endif
#endif /* MAPLETREE_VMSPACE_PINS_H */
