/* SPDX-License-Identifier: MIT */
/*
 * maple_tree_rcu.h - userspace RCU under names of this library's own: programs that read, retire
 * objects, fork or choose when memory is freed need neither liburcu's headers nor its library. Not
 * part of the kernel's interface. Included by maple_tree.h, where the terms are explained.
 *
 * All of it is about liburcu-bp: trees of the default flavour, and of mt_rcu_polled(). For trees of
 * another flavour call that flavour's own functions.
 *
 * What is retired waits for a grace period: until all have left their read-side sections who were
 * in one. Then somebody has to free it:
 *   - the helper, a thread that the library starts when a tree of the default flavour enters RCU
 *     mode or first stores in it, or when mt_start_helper() asks for it. Never for anything else;
 *   - for trees of the flavour mt_rcu_polled(), and while no helper runs, who calls mt_poll() or
 *     mt_barrier(); and writers of trees of that flavour.
 */
#ifndef MAPLETREE_MAPLE_TREE_RCU_H
#define MAPLETREE_MAPLE_TREE_RCU_H

#include <mapletree/maple_tree.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * mt_read_lock, mt_read_unlock - enter and leave a read-side section of the calling thread. May be
 * nested. Wait for nobody. Any context; in a signal handler only in a thread that has registered or
 * read before. A thread that has done neither gets its place among the readers with its first
 * section; if there is no memory for that, liburcu ends the process (see mt_thread_register()).
 */
MT_PUBLIC void mt_read_lock(void);
MT_PUBLIC void mt_read_unlock(void);

/*
 * mt_thread_register - do now all that the calling thread's first calls would do otherwise: its
 * place among the readers, its cache of free nodes, and, if the helper runs, what a store checks.
 * Lookups, mt_read_lock() and mt_read_unlock() make no system call and take no memory from then on,
 * the first no more than any other. May be called any number of times. Returns 0 or -ENOMEM. Not
 * inside a read-side section.
 * mt_thread_unregister - give the thread's cache back now, before the thread ends. Its place among
 * the readers stays until then. The thread may continue to use trees.
 */
MT_PUBLIC int mt_thread_register(void);
MT_PUBLIC void mt_thread_unregister(void);

/*
 * mt_retire - call @free with @object after a grace period: when no section is left in which a
 * reader can have found @object, which the caller has taken from where readers find it. Waits for
 * nobody and starts no thread; locks may be held, and it may be called inside a section. Not in
 * signal handlers. @free runs in the helper or, if that does not run, in the thread that calls
 * mt_poll() or mt_barrier(): it must not wait for a grace period, nor for a lock under which
 * anybody may wait for one. Returns 0; -ENOMEM: there is no memory to remember @object, which is
 * still the caller's (mt_synchronize(), and free it then).
 */
MT_PUBLIC int mt_retire(void *object, void (*free)(void *object));

/*
 * mt_synchronize - wait for a grace period: for all who are in a section now. Hold no lock for
 * which somebody may wait inside a section. Returns 0; -EDEADLK, without waiting: the caller is in
 * a section; -ENOMEM: the caller cannot be registered.
 */
MT_PUBLIC int mt_synchronize(void);

/*
 * mt_barrier - free what has been retired until now, by anybody, and wait until it is freed: also
 * what the helper frees, and what others have handed to liburcu-bp's call_rcu(). The nodes that a
 * tree keeps until it hands them over together (see mt_retired_bytes()) stay. Hold no lock for
 * which anybody may wait inside a section, or in a function that frees. Returns 0; -EDEADLK, with
 * nothing done: the caller is in a section, or in such a function; -ENOMEM.
 */
MT_PUBLIC int mt_barrier(void);

/*
 * mt_rcu_polled - the flavour for mt_set_rcu_flavour() of trees that need no helper. Readers are
 * those of liburcu-bp, as in trees of the default flavour. What such a tree retires is freed
 *   - by mtree_store() and the other calls that take the tree's lock, before they take it, if their
 *     gfp may wait, the caller is in no section, and so much has been retired that a grace period
 *     pays (about half a mebibyte);
 *   - by mt_wait_retired(), mt_poll() and mt_barrier(). Who writes by mas_*() calls, or has a lock
 *     of his own, calls one of these from time to time, without the lock.
 * So these calls may wait for readers: hold no lock for which somebody may wait inside a section.
 * The flavour lasts as long as the process.
 */
MT_PUBLIC const struct mt_rcu *mt_rcu_polled(void);

/*
 * mt_poll - free what has been retired until now and waits for no helper: by trees of the flavour
 * mt_rcu_polled(), and by all while no helper runs. If there is anything it waits for a grace
 * period; if not it costs two loads. Hold no lock for which somebody may wait inside a section.
 * Returns true if it has freed anything; false also inside a section, in a function that frees, and
 * while another thread is about it.
 */
MT_PUBLIC bool mt_poll(void);

/*
 * MT_HELPER_OWN_FILES - the helper keeps no descriptors: its table of them is its own, and empty.
 * Else it shares that of the thread that starts it; if threads of the process have different tables
 * (CLONE_FILES), a pipe or file that one has closed stays open as long as the helper shares it.
 * Functions that free memory can use no descriptor then. Linux 5.9.
 */
#define MT_HELPER_OWN_FILES 1u

/*
 * mt_start_helper - start the thread that frees what is retired, with all signals blocked, if it
 * does not run yet, and let it do as MT_HELPER_* @flags say from now on. Without this call it
 * starts when a tree of the default flavour first needs it, also with all signals blocked, in
 * whatever thread that is. Returns 0; -EDEADLK, with nothing done: the caller is in a read-side
 * section, or in a function that frees; -ENOMEM: no memory, or no thread could be started; -EINVAL:
 * unknown flags; -ENOSYS: the system cannot do what the flags ask for (the helper runs without it).
 */
MT_PUBLIC int mt_start_helper(unsigned int flags);

/*
 * mt_before_fork, mt_after_fork_parent, mt_after_fork_child - call them around a fork() of a
 * process with trees in RCU mode, so that retired nodes are freed in the child too. They serve
 * liburcu-bp; for another flavour call its own (urcu_memb_call_rcu_before_fork() and so on).
 * Hold mtree_lock() of every tree the child is going to change, or to destroy, across the fork: a
 * thread that holds it elsewhere does not exist in the child. Not inside a read-side section, nor in
 * a function that frees. mt_before_fork() waits until the helper is done with what it is freeing,
 * and so for readers: nobody may wait inside a section for a lock that is held then. The child has a
 * helper if the parent had, and inherits a copy of what waits to be freed in the parent: that helper,
 * or mt_barrier(), frees it, as long as that takes. Where writers retire faster than readers and the
 * helper let go, mt_set_retire_limit() keeps that short.
 */
MT_PUBLIC void mt_before_fork(void);
MT_PUBLIC void mt_after_fork_parent(void);
MT_PUBLIC void mt_after_fork_child(void);

#ifdef __cplusplus
}
#endif

#endif
