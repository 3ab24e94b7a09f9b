/* SPDX-License-Identifier: MIT */
/*
 * vmspace_window.h - guest memory in a memfd, mapped into the process.
 *
 * An implementation of `struct vmspace_memory` for emulators and the like that run guests in their
 * own process: frames are pages of a memfd, and every translation is a mapping of its frame, so
 * that a thread accesses guest memory by a load or store at vmspace_window_host(window, address).
 * Pages without a translation are inaccessible: SIGSEGV, whose handler makes the page fault and
 * returns. Neighbouring pages get neighbouring frames, so that the host joins their mappings. Where it
 * has guards (MADV_GUARD_INSTALL, Linux 6.15 for memfds), pages are mapped in blocks and made
 * accessible one by one; without them each missing page between others costs two of the mappings
 * that vm.max_map_count limits, and a window that reaches the limit drops all translations.
 *
 * One struct vmspace_memfd holds the frames of a space and its relatives by fork (or of several spaces
 * that share memory); each space has one struct vmspace_window. The guest's pages are as large as the
 * host's, or smaller (vmspace_memfd_create_pages()). Guest code is mapped executable only in a view of its
 * own, for programs that ask for one (vmspace_window_create_code()): in the window, executing it means
 * reading it. Several threads may call any function at once, except create and destroy.
 */
#ifndef MAPLETREE_VMSPACE_WINDOW_H
#define MAPLETREE_VMSPACE_WINDOW_H

#include <mapletree/vmspace_guest.h>

#ifdef __cplusplus
extern "C" {
#endif

struct vmspace_memfd;
struct vmspace_window;

struct vmspace_memfd_config {
	/*
	 * The most bytes of frames: at least one page, and fewer than 2^32 - 1. As much of the process's
	 * address space is reserved.
	 */
	size_t limit;
	void *ctx;
	/*
	 * Fill `page`, which is full of zeros, with page `index` of the file. Returns 0; -ENOMEM;
	 * any other negative errno: there is no such page, SIGBUS. Called once for each page that
	 * is kept, with an area's lock held; sometimes again by another thread, whose result is not
	 * used. NULL: files have no pages. Not called for shared anonymous and System V memory,
	 * which begins with zeros. See vmspace_files.h for what is written.
	 */
	int (*read_page)(void *ctx, const struct vma_backing *file, uint64_t index, void *page);
};

/*
 * Returns 0 and *out, ended by vmspace_memfd_destroy() after all its windows; or -EINVAL (limit is
 * less than a page, or 2^32 - 1 pages or more: 16 TiB, with pages of 4 KiB), -ENOMEM, or what
 * memfd_create() refused with. `config` is copied. All descriptors that the library has are close-on-exec,
 * and 512 or higher where the process's limit allows it.
 */
VMSPACE_PUBLIC int vmspace_memfd_create(struct vmspace_memfd **out,
					const struct vmspace_memfd_config *config);
VMSPACE_PUBLIC void vmspace_memfd_destroy(struct vmspace_memfd *memfd);

/*
 * vmspace_memfd_descriptor - the number of the memfd's descriptor, for programs whose guests have
 * descriptors of the same table. It is the library's: not to be closed, and what the file contains not to
 * be changed by it. Any context, at any time.
 *
 * vmspace_memfd_move_descriptor - let it be number `to`, close-on-exec, as dup3() does: what is open
 * there is closed; and close the old number, which is free when the call returns. Guests may run and
 * touch pages meanwhile, in other threads; but no other thread may open descriptors that could get the
 * number `to`. In a child of fork() it is moved for the child alone. Waits for a grace period, as
 * mt_synchronize() in <mapletree/maple_tree_rcu.h>: hold no lock for which somebody may wait inside
 * mt_read_lock(). Returns 0, also where it is there already; or, with nothing changed,
 * -EBADF: `to` is negative, or not below the process's limit (RLIMIT_NOFILE); -EBUSY: the descriptor of
 * another memfd is there, or that of a file of this one (vmspace_memfd_use_files()), or another thread is
 * opening one; -EDEADLK: the caller is inside mt_read_lock(); -ENOMEM.
 */
VMSPACE_PUBLIC int vmspace_memfd_descriptor(const struct vmspace_memfd *memfd);
VMSPACE_PUBLIC int vmspace_memfd_move_descriptor(struct vmspace_memfd *memfd, int to);

/*
 * The same, for guests with pages of `page_size` bytes, which may be smaller than the host's: a power
 * of two, from 1024 to the host's page size, and vmspace_config.page_size of the spaces.
 * `host_page_size` is 0, or a multiple of the host's page size, a power of two and at most 64 guest pages,
 * that counts as the host's page size: so a program can be tried where pages are small.
 *
 * The host can map but whole pages of its own. It maps one while all guest pages in it are present, may be
 * read, and lie beside each other in the memfd, or file; to be written while all of them may be. The rest
 * of the window is inaccessible, though its pages are present. There vmspace_access(), and the calls that
 * copy, serve: for them each guest page has its own protection. So a handler of SIGSEGV does not return
 * where vmspace_touch() succeeds but vmspace_window_is_direct() says no; it makes the access itself.
 *
 * So that there is as little of that as possible, a fault makes all of the host's page present that is
 * of the same area and can be (unless a userfaultfd is registered there): memory is used as by a host's
 * program, and vmspace_hooks.fault hears of the page alone that was touched. So does each touch, and each
 * call that copies, of a page that is present while the host's page is not mapped for such an access, as a
 * neighbour was discarded, lost a mark or was protected for a while. Where that did not help it is done
 * again after a guest page of the host's page has changed, or a call has changed an area of the space.
 *
 * Returns as vmspace_memfd_create(); -EINVAL also for sizes that are none of these.
 */
VMSPACE_PUBLIC int vmspace_memfd_create_pages(struct vmspace_memfd **out,
					      const struct vmspace_memfd_config *config,
					      size_t page_size, size_t host_page_size);

/*
 * Let pages of files be the files' own, so that guest memory and file are one: what a guest writes
 * to a shared mapping is what read() reads, at once, in this process and in others, and what is
 * written to the file shows in all mappings, but for private pages that a guest has written. To be
 * called before a window is created.
 *
 * `descriptor` is asked once for each file that is mapped, with an area's lock held; it must not
 * call back into a space. It returns a descriptor of a regular file, open for reading, and for
 * writing if a guest may map it shared and writable; this is duplicated, and may be closed at any
 * time. Or -1: pages of this file are made by read_page. `ctx` is that of the configuration.
 *
 * Pages beyond the end of the file fault with VMSPACE_FAULT_BUS, and a duplicate that cannot be had makes
 * it VMSPACE_FAULT_NOMEM. Where a file is cut while its pages are mapped, an access gets SIGBUS from the
 * host, which is the guest's own (BUS_ADRERR), as in Linux; but vmspace_touch() still finds the page
 * present, and unlike in Linux private pages that a guest has written stay. Writing what was changed to
 * the disk (msync) is fsync() of the descriptor.
 */
VMSPACE_PUBLIC void vmspace_memfd_use_files(
	struct vmspace_memfd *memfd,
	int (*descriptor)(void *ctx, const struct vma_backing *file));

/*
 * Pages of files and of shared memory are kept when they are unmapped, as the next mapping must
 * find what was written, until this call says that the object no longer exists (it was closed and
 * removed, or its last area was unmapped, if it is anonymous). Pages that are still mapped are
 * freed when they are unmapped. An object is identified: shared anonymous memory by its file_id;
 * otherwise by device and inode; without inode, by name; without name, by file_id.
 */
VMSPACE_PUBLIC void vmspace_memfd_forget(struct vmspace_memfd *memfd,
					 const struct vma_backing *backing);

/*
 * A frame's memory, valid as long as the frame: to read a guest's page without its window. A page of
 * a file whose descriptor is used is the file's own, and read-only if the descriptor is; NULL: it
 * could not be mapped. May map memory, and waits for others who do.
 */
VMSPACE_PUBLIC void *vmspace_memfd_frame(const struct vmspace_memfd *memfd, uint64_t frame);
/*
 * Bytes in frames that are in use; pages that are files' own are no frames, and no part of the limit.
 * The memfd may have memory for as many more, and at most for 512 frames more: of those freed last.
 */
VMSPACE_PUBLIC size_t vmspace_memfd_used(const struct vmspace_memfd *memfd);

/*
 * fork() of the host, by an emulator that runs a guest's child in a process of its own.
 *
 * Without these calls the child has no guest memory: all windows are inaccessible there, and every
 * fault that needs a page ends with VMSPACE_FAULT_NOMEM; so nothing that the child does shows in the
 * parent. (fork() runs the handlers of pthread_atfork(3) that see to it; _Fork() and clone() do not.)
 * If another thread was in a call on a space, nothing more may be called on that space in the child.
 *
 * With them the child has a copy of all frames, made before the fork:
 *
 *	err = vmspace_memfd_before_fork(memfd);
 *	pid = fork();
 *	if (pid != 0)
 *		vmspace_memfd_after_fork_parent(memfd);
 *	else
 *		err = vmspace_memfd_after_fork_child(memfd);
 *
 * From the first call to the last, no other thread may use the memfd or a space on it, nor may guests
 * run that write to its windows; what the child writes then shows in none of the parent's, and the
 * reverse. Pages of files whose descriptors are used are not copied, but shared, as files are; shared
 * anonymous and System V memory is copied, too, and so no longer shared. The child's spaces and
 * windows are those of the parent, at the same addresses; their pages are translated anew when they
 * are touched; the memfd's descriptor has the parent's number. mt_before_fork() and its like are needed,
 * too.
 *
 * The areas are the parent's as well, until vmspace_become_child() makes them those of a child.
 *
 * before: 0; or -ENOMEM, or what memfd_create() or write() refused with: nothing has changed, and
 * none of the others may be called. Time: that of copying vmspace_memfd_used() bytes.
 * after, in the child: 0, or -ENOMEM: it is there as without these calls.
 */
VMSPACE_PUBLIC int vmspace_memfd_before_fork(struct vmspace_memfd *memfd);
VMSPACE_PUBLIC void vmspace_memfd_after_fork_parent(struct vmspace_memfd *memfd);
VMSPACE_PUBLIC int vmspace_memfd_after_fork_child(struct vmspace_memfd *memfd);

/*
 * In a child of the host's fork(): let the child's copy of the parent's space be the space of the guest's
 * child, as vmspace_fork() in the parent would make it, but with the same handle, window and
 * addresses. What Linux's fork does is done: areas with MADV_DONTFORK, and pages of those with
 * MADV_WIPEONFORK, go; locks, what mlockall() said of the future and pins of drivers are not inherited;
 * nor registrations with a userfaultfd without its fork events; anon_vmas are the child's, which decides
 * what merges from then on; of pages that faults can bring back (those of files and of shared memory)
 * none is present. The counters follow. What was watched as code still is. Configuration, hooks and the
 * library's statistics stay; hooks about words are told a DROP of areas that go, and of nothing else.
 * config.commit_pool, which may lie in memory that parent and child share, is charged with what the child
 * commits, and not relieved of what the parent does.
 *
 * For every space, not only those with a window: also for a program that mirrors itself. To be called
 * after vmspace_memfd_after_fork_child(), and mt_after_fork_child(), by the one thread there is; it needs
 * exclusive use of the space, as vmspace_exec(). O(areas, and their pages that go). Returns 0; or, with nothing
 * changed, -EROFS: a snapshot; -ENOMEM: no memory, or fork is refused, as more would be committed than
 * there may be (overcommit). The parent's space is not concerned in any case.
 */
VMSPACE_PUBLIC int vmspace_become_child(struct vmspace *space);

/*
 * Reserve `size` bytes of the process's address space, for guest addresses [start, start + size); all are
 * multiples of the page size, the host's and the guest's. Guest pages elsewhere are not mapped: their
 * faults succeed, but nothing changes in the window. Returns 0 and *out; -EINVAL: `size` is 0, they are no
 * such multiples, or the range goes beyond the last address of a word (to end with that is not to wrap), or
 * is all addresses but less than a page; or -ENOMEM.
 */
VMSPACE_PUBLIC int vmspace_window_create(struct vmspace_window **out, struct vmspace_memfd *memfd,
					 unsigned long start, size_t size);
/* The space that uses it must have been destroyed. */
VMSPACE_PUBLIC void vmspace_window_destroy(struct vmspace_window *window);
/*
 * For vmspace_config.memory or vmspace_fork.child_memory; valid as long as the window. One space may use
 * it, until vmspace_destroy(): others, and children on another memfd than the parent's, are refused.
 */
VMSPACE_PUBLIC const struct vmspace_memory *vmspace_window_memory(
	const struct vmspace_window *window);

/*
 * Where guest address `addr` is in the host, NULL if not in the window; and the reverse: is `host`
 * in the window (*addr is set then)? Both may be called in a signal handler.
 */
VMSPACE_PUBLIC void *vmspace_window_host(const struct vmspace_window *window, unsigned long addr);
VMSPACE_PUBLIC bool vmspace_window_guest(const struct vmspace_window *window, const void *host,
					 unsigned long *addr);

/*
 * Can the guest's page at `addr` be accessed so (VMSPACE_ACCESS_*) through the window, to be executed
 * through the view of code if there is one (vmspace_window_create_code()), at this moment? As any
 * translation may be dropped at any time, the answer may be old when it comes. In a window of pages that
 * are as large as the host's it is yes after vmspace_touch() succeeded. False outside of the window.
 * Waits for nothing; may be called in a signal handler.
 */
VMSPACE_PUBLIC bool vmspace_window_is_direct(const struct vmspace_window *window, unsigned long addr,
					     unsigned int access);

/*
 * A second view of the window, as large, in which guest code can be executed: where the guest may
 * execute a page that is present, it is mapped there to be read and executed, and never to be written;
 * what is not mapped so is inaccessible. A program generates code through the window, where the guest
 * may write it, and jumps to it in the view; both show the same memory, also when it is changed.
 *
 * To be called once, before a space uses the window; the view ends with it. A jump to a page without a
 * translation gets SIGSEGV, whose handler calls vmspace_touch() with VMSPACE_ACCESS_EXEC. As all
 * translations may be dropped at any time, and are when the area loses PROT_EXEC, is unmapped or its
 * page replaced: threads that execute code there have to expect it at each instruction. On processors
 * that do not see to it, __builtin___clear_cache() of the place in the view comes after writing code.
 *
 * Returns 0; -EINVAL: there is one; -ENOMEM; or what mmap() refused to map executable with (-EACCES,
 * -EPERM: a security module does). Takes as many mappings again.
 */
VMSPACE_PUBLIC int vmspace_window_create_code(struct vmspace_window *window);
/*
 * Where guest address `addr` is in the view; NULL: not in the window, or there is no view. May be called
 * in a signal handler.
 */
VMSPACE_PUBLIC void *vmspace_window_code(const struct vmspace_window *window, unsigned long addr);
/* The reverse: is `host` in the view? *addr is set then. May be called in a signal handler. */
VMSPACE_PUBLIC bool vmspace_window_code_guest(const struct vmspace_window *window, const void *host,
					      unsigned long *addr);

/*
 * Copy between the program's memory and a guest's, as a kernel does in a guest's system calls. The
 * memory of `space` is a window's. Pages are faulted in as by the guest's own accesses (stacks grow,
 * private pages are copied before they are written), whether or not the window contains them; an
 * address that the guest may not access so causes no signal, it ends the copy. May be called by any
 * thread at any time, as vmspace_access(). What guests write meanwhile may be copied in part.
 *
 * vmspace_copy_from and _to return the number of bytes copied: less than `size` if the next one
 * cannot be accessed (EFAULT, for the guest), 0 also if the space's memory is no window's. In the
 * last page of a file that is mapped, what is behind its end is read as zeros; what is copied there is
 * lost, as it is when Linux drops the page.
 *
 * vmspace_strncpy_from copies a string with its NUL, and returns its length without that; `size` if
 * there is no NUL in so many bytes, which were copied then; -EFAULT if one before it cannot be read.
 */
VMSPACE_PUBLIC size_t vmspace_copy_from(struct vmspace *space, void *to, unsigned long from,
					size_t size);
VMSPACE_PUBLIC size_t vmspace_copy_to(struct vmspace *space, unsigned long to, const void *from,
				      size_t size);
VMSPACE_PUBLIC long vmspace_strncpy_from(struct vmspace *space, char *to, unsigned long from,
					 size_t size);

#ifdef __cplusplus
}
#endif
#endif /* MAPLETREE_VMSPACE_WINDOW_H */
