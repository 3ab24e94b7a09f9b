/* SPDX-License-Identifier: MIT */
/*
 * shim.h - just enough of a kernel to compile the kernel's maple tree, as it is, for user space.
 *
 * Included before everything else; the kernel's own headers other than <linux/maple_tree.h> are
 * empty files then. Debugging is off. Nodes come from a slab per thread (slab.c) that is as fast
 * as this project's own; retired nodes are handed to a grace period in batches, so that the
 * kernel's tree is not charged for user space's call_rcu().
 */
#ifndef BENCH_KERNEL_SHIM_H
#define BENCH_KERNEL_SHIM_H

#include "slab.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/types.h>

/* Without this the header silently takes the layout of 32-bit machines. */
#define CONFIG_64BIT 1
#define BITS_PER_LONG 64

typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;
typedef unsigned int gfp_t;

#define __rcu
#define __must_check
#define __init
#define __acquires(lock)
#define __releases(lock)
#define __must_hold(lock)
#define __pure              __attribute__((pure))
#define __maybe_unused      __attribute__((unused))
#undef __always_inline
#define __always_inline inline __attribute__((always_inline))
#define noinline        __attribute__((noinline))
#define fallthrough     __attribute__((fallthrough))
#define likely(x)       __builtin_expect(!!(x), 1)
#define unlikely(x)     __builtin_expect(!!(x), 0)

#define READ_ONCE(x)      (*(const volatile __typeof__(x) *)&(x))
#define WRITE_ONCE(x, v)  (*(volatile __typeof__(x) *)&(x) = (v))
#define BIT(n)            (1UL << (n))
#define ARRAY_SIZE(a)     (sizeof(a) / sizeof(*(a)))
#define DIV_ROUND_UP(n, d) (((n) + (d) - 1) / (d))
#define ALIGN(x, a)       (((x) + (a) - 1) & ~((__typeof__(x))(a) - 1))
#define offset_in_page(p) ((unsigned long)(p) & 4095)
#define min(a, b)         ((a) < (b) ? (a) : (b))
#define max(a, b)         ((a) > (b) ? (a) : (b))
#define min_t(type, a, b) min((type)(a), (type)(b))
#define max_t(type, a, b) max((type)(a), (type)(b))
#define swap(a, b) \
	do { \
		__typeof__(a) swap_tmp = (a); \
		(a) = (b); \
		(b) = swap_tmp; \
	} while (0)
#define container_of(p, type, member) ((type *)((char *)(p) - offsetof(type, member)))

/* ---- assertions, messages, tracing: nothing --------------------------------------------- */

#define EXPORT_SYMBOL(name)
#define EXPORT_SYMBOL_GPL(name)
#define BUG_ON(x)             ((void)0)
#define VM_BUG_ON(x)          ((void)0)
#define WARN_ON(x)            ({ bool warn = (x); warn; })
#define WARN_ON_ONCE(x)       WARN_ON(x)
#define pr_err(...)           ((void)0)
#define pr_warn(...)          ((void)0)
#define pr_info(...)          ((void)0)
#define pr_cont(...)          ((void)0)
#define trace_ma_op(...)      ((void)0)
#define trace_ma_read(...)    ((void)0)
#define trace_ma_write(...)   ((void)0)

/* ---- entries ---------------------------------------------------------------------------- */

#define XA_ZERO_ENTRY xa_mk_internal(257)

static inline void *xa_mk_value(unsigned long v)
{
	return (void *)((v << 1) | 1);
}

static inline bool xa_is_value(const void *entry)
{
	return (unsigned long)entry & 1;
}

static inline unsigned long xa_to_value(const void *entry)
{
	return (unsigned long)entry >> 1;
}

static inline void *xa_mk_internal(unsigned long v)
{
	return (void *)((v << 2) | 2);
}

static inline bool xa_is_internal(const void *entry)
{
	return ((unsigned long)entry & 3) == 2;
}

static inline bool xa_is_zero(const void *entry)
{
	return entry == XA_ZERO_ENTRY;
}

static inline bool xa_is_err(const void *entry)
{
	return xa_is_internal(entry) && (long)entry < 0 && ((long)entry >> 2) >= -4095;
}

static inline int xa_err(const void *entry)
{
	return xa_is_err(entry) ? (int)((long)entry >> 2) : 0;
}

static inline bool xa_is_node(const void *entry)
{
	return xa_is_internal(entry) && (unsigned long)entry > 4096;
}

static inline bool xa_is_advanced(const void *entry)
{
	return xa_is_internal(entry) && (unsigned long)entry <= (unsigned long)XA_ZERO_ENTRY;
}

/* ---- memory ----------------------------------------------------------------------------- */

#define __GFP_HIGH           0x0020u
#define __GFP_ZERO           0x0100u
#define __GFP_NOWARN         0x0200u
#define __GFP_DIRECT_RECLAIM 0x0400u
#define __GFP_KSWAPD_RECLAIM 0x0800u
#define __GFP_NOFAIL         0x8000u
#define GFP_KERNEL           (__GFP_DIRECT_RECLAIM | __GFP_KSWAPD_RECLAIM)
#define GFP_NOWAIT           __GFP_KSWAPD_RECLAIM
#define GFP_ATOMIC           (__GFP_HIGH | __GFP_KSWAPD_RECLAIM)
#define SLAB_PANIC           0u
#define SLAB_HWCACHE_ALIGN   0u

static inline bool gfpflags_allow_blocking(gfp_t gfp)
{
	return gfp & __GFP_DIRECT_RECLAIM;
}

struct kmem_cache; /* there is one, for nodes */

struct kmem_cache_args {
	unsigned int align;
	unsigned int sheaf_capacity;
};

/* What follows the name changed in Linux 6.12. */
static inline struct kmem_cache *kmem_cache_create(const char *name, ...)
{
	(void)name;
	return NULL;
}

static inline void *kmem_cache_alloc(struct kmem_cache *cache, gfp_t gfp)
{
	void *node = kernel_slab_alloc();

	(void)cache;
	if (node && gfp & __GFP_ZERO)
		memset(node, 0, NODE_BYTES);
	return node;
}

static inline void kmem_cache_free(struct kmem_cache *cache, void *node)
{
	(void)cache;
	kernel_slab_free(node);
}

static inline void kfree(void *node)
{
	kernel_slab_free(node);
}

static inline int kmem_cache_alloc_bulk(struct kmem_cache *cache, gfp_t gfp, size_t count,
					void **nodes)
{
	for (size_t i = 0; i < count; i++)
		nodes[i] = kmem_cache_alloc(cache, gfp);
	return (int)count;
}

static inline void kmem_cache_free_bulk(struct kmem_cache *cache, size_t count, void **nodes)
{
	for (size_t i = 0; i < count; i++)
		kmem_cache_free(cache, nodes[i]);
}

/* Linux 7.3 sets the nodes that a write may take aside before it. */
static inline struct slab_sheaf *kmem_cache_prefill_sheaf(struct kmem_cache *cache, gfp_t gfp,
							  unsigned int count)
{
	(void)cache, (void)gfp;
	return kernel_sheaf_take(count);
}

static inline int kmem_cache_refill_sheaf(struct kmem_cache *cache, gfp_t gfp,
					  struct slab_sheaf **sheaf, unsigned int count)
{
	(void)cache, (void)gfp;
	return kernel_sheaf_fill(sheaf, count) ? 0 : -ENOMEM;
}

static inline void kmem_cache_return_sheaf(struct kmem_cache *cache, gfp_t gfp,
					   struct slab_sheaf *sheaf)
{
	(void)cache, (void)gfp;
	kernel_sheaf_return(sheaf);
}

static inline void *kmem_cache_alloc_from_sheaf(struct kmem_cache *cache, gfp_t gfp,
						struct slab_sheaf *sheaf)
{
	void *node = sheaf->count ? sheaf->nodes[--sheaf->count] : NULL;

	(void)cache;
	if (node && gfp & __GFP_ZERO)
		memset(node, 0, NODE_BYTES);
	return node;
}

static inline unsigned int kmem_cache_sheaf_size(const struct slab_sheaf *sheaf)
{
	return sheaf->count;
}

/* ---- read-copy-update ------------------------------------------------------------------- */

/* Compiled twice: for trees with readers beside writers, over liburcu, and for those without. */
#if KERNEL_RCU
#define _LGPL_SOURCE
#include <urcu/urcu-bp.h>
#define rcu_read_lock()   urcu_bp_read_lock()
#define rcu_read_unlock() urcu_bp_read_unlock()
#else
#define rcu_read_lock()   ((void)0)
#define rcu_read_unlock() ((void)0)
#endif

/* The kernel's has two pointers; liburcu's is not needed inside nodes. */
struct kernel_rcu_head {
	struct kernel_rcu_head *next;
	void (*func)(struct kernel_rcu_head *head);
};
#define rcu_head kernel_rcu_head

void kernel_call_rcu(struct kernel_rcu_head *head, void (*func)(struct kernel_rcu_head *head));
#undef call_rcu
#define call_rcu(head, func)    kernel_call_rcu(head, func)
#define kfree_rcu(node, member) kernel_call_rcu(&(node)->member, kernel_free_retired)

/* Nodes are aligned to their size. */
static inline void kernel_free_retired(struct kernel_rcu_head *head)
{
	kernel_slab_free((void *)((unsigned long)head & -(unsigned long)NODE_BYTES));
}

/* Not liburcu's: its rcu_assign_pointer() has a fence that x86 does not need. */
#undef rcu_dereference
#undef rcu_assign_pointer
#define rcu_dereference_check(p, c)     ((void)sizeof(c), READ_ONCE(p))
#define rcu_dereference_protected(p, c) ((void)sizeof(c), (p))
#define rcu_dereference(p)              READ_ONCE(p)
#define rcu_dereference_raw(p)          READ_ONCE(p)
#define rcu_access_pointer(p)           READ_ONCE(p)
#define rcu_assign_pointer(p, v)        __atomic_store_n(&(p), (v), __ATOMIC_RELEASE)
#define RCU_INIT_POINTER(p, v)          WRITE_ONCE(p, v)
#define rcu_read_lock_held()            1

#define barrier()   __asm__ volatile("" : : : "memory")
#define smp_rmb()   __atomic_thread_fence(__ATOMIC_ACQUIRE)
#define smp_wmb()   __atomic_thread_fence(__ATOMIC_RELEASE)
#define smp_mb()    __atomic_thread_fence(__ATOMIC_SEQ_CST)
#define smp_load_acquire(p)     __atomic_load_n(p, __ATOMIC_ACQUIRE)
#define smp_store_release(p, v) __atomic_store_n(p, v, __ATOMIC_RELEASE)

/* ---- locks: the trees measured have their lock outside ------------------------------------ */

typedef struct {
	int word;
} spinlock_t;

#define __SPIN_LOCK_UNLOCKED(name)          { 0 }
#define spin_lock_init(lock)                ((void)((lock)->word = 0))
#define spin_lock(lock)                     ((void)(lock))
#define spin_unlock(lock)                   ((void)(lock))
#define spin_lock_nested(lock, subclass)    ((void)(lock), (void)(subclass))
#define spin_lock_irqsave(lock, flags)      ((void)(lock), (void)(flags))
#define spin_unlock_irqrestore(lock, flags) ((void)(lock), (void)(flags))
#define SINGLE_DEPTH_NESTING                1
#define lockdep_is_held(lock)               1
#define lock_is_held(map)                   1
#define might_alloc(gfp)                    ((void)(gfp))

#endif
