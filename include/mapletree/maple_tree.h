/* SPDX-License-Identifier: MIT */
/*
 * maple_tree.h - an RCU-safe B-tree of ranges, with the names of the kernel's maple tree.
 *
 * A tree maps every index 0 .. ULONG_MAX to an entry (a pointer) or to NULL. Entries cover
 * ranges, inclusive at both ends. A store makes its range one of its own and cuts what it
 * overlaps; ranges without an entry ("gaps") always join.
 *
 * Entries: any pointer, or xa_mk_value(). Values below 4096 whose two low bits are 10 are
 * reserved; the normal API refuses them with -EINVAL. One of them may be stored: XA_ZERO_ENTRY
 * occupies a range that the normal API shows as empty and the advanced API shows as it is.
 *
 * Locking, in the comments below:
 *   "takes the lock"     the call takes the tree's lock itself (not for MT_FLAGS_LOCK_EXTERN
 *                        trees, whose user holds a lock of its own around every change);
 *   "lock held"          the caller holds mtree_lock(), or the external lock;
 *   "lock or read side"  the caller holds the lock, or, for a tree in RCU mode, is inside a
 *                        read-side section of its flavour (mt_read_lock() by default);
 *   "takes the read side" the call enters and leaves the read-side section itself, if the tree
 *                        is in RCU mode. A tree that is not in RCU mode is not to be changed
 *                        while it is read.
 * Nodes belong to the tree; entries belong to the user: nothing here frees an entry, unless the
 * user lets the tree count references to them (mt_set_entry_ops()).
 * Errors are negative errno values. A failed call leaves the tree exactly as it was.
 */
#ifndef MAPLETREE_MAPLE_TREE_H
#define MAPLETREE_MAPLE_TREE_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

#include <mapletree/maple_tree_mutex.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- allocation context --------------------------------------------------------------- */

/*
 * Bit masks. Only "may wait" matters: with it a call may use the node allocator, without it only
 * what was reserved before.
 */
typedef unsigned int gfp_t;
#define __GFP_HIGH           0x0020u
#define __GFP_ZERO           0x0100u
#define __GFP_NOWARN         0x0200u
#define __GFP_DIRECT_RECLAIM 0x0400u /* may wait */
#define __GFP_KSWAPD_RECLAIM 0x0800u
#define __GFP_IO             0x0040u
#define __GFP_FS             0x0080u
#define __GFP_NOFAIL         0x1000u
#define __GFP_NORETRY        0x2000u
#define __GFP_RETRY_MAYFAIL  0x4000u
#define __GFP_ACCOUNT        0x8000u
#define __GFP_RECLAIM        (__GFP_DIRECT_RECLAIM | __GFP_KSWAPD_RECLAIM)
#define GFP_KERNEL         (__GFP_RECLAIM | __GFP_IO | __GFP_FS)
#define GFP_KERNEL_ACCOUNT (GFP_KERNEL | __GFP_ACCOUNT)
#define GFP_USER           GFP_KERNEL
#define GFP_NOFS           (__GFP_RECLAIM | __GFP_IO)
#define GFP_NOIO           __GFP_RECLAIM
#define GFP_NOWAIT         __GFP_KSWAPD_RECLAIM
#define GFP_ATOMIC         (__GFP_HIGH | __GFP_KSWAPD_RECLAIM)

/* ---- entries: computing only, any context ----------------------------------------------- */

/* xa_mk_value - an integer 0 .. LONG_MAX as an entry. */
static inline void *xa_mk_value(unsigned long v)
{
	return (void *)((v << 1) | 1);
}

/* xa_to_value - the integer in an entry made by xa_mk_value(). */
static inline unsigned long xa_to_value(const void *entry)
{
	return (unsigned long)entry >> 1;
}

/* xa_is_value - whether xa_mk_value() made @entry. */
static inline bool xa_is_value(const void *entry)
{
	return (unsigned long)entry & 1;
}

/* xa_mk_internal - an internal entry: two low bits 10. */
static inline void *xa_mk_internal(unsigned long v)
{
	return (void *)((v << 2) | 2);
}

/* xa_is_internal - whether @entry is an internal one: reserved, a zero entry, an error. */
static inline bool xa_is_internal(const void *entry)
{
	return ((unsigned long)entry & 3) == 2;
}

/* Occupies its range, but lookups and iterations of the normal API return NULL for it. */
#define XA_ZERO_ENTRY xa_mk_internal(257)

/* xa_is_zero - whether @entry is XA_ZERO_ENTRY. */
static inline bool xa_is_zero(const void *entry)
{
	return entry == XA_ZERO_ENTRY;
}

/* xa_is_err - true for an errno value encoded as an internal entry (see MA_ERROR). */
static inline bool xa_is_err(const void *entry)
{
	return xa_is_internal(entry) && (long)entry < 0 && ((long)entry >> 2) >= -4095;
}

/* xa_err - the negative errno of such an entry, 0 for any other. */
static inline int xa_err(const void *entry)
{
	return xa_is_err(entry) ? (int)((long)entry >> 2) : 0;
}

/* ---- the tree ------------------------------------------------------------------------- */

#define MT_FLAGS_ALLOC_RANGE   0x0001u /* track gaps: needed by all searches for free ranges */
#define MT_FLAGS_USE_RCU       0x0002u /* readers run beside a writer */
#define MT_FLAGS_HEIGHT_OFFSET 0x02u
#define MT_FLAGS_HEIGHT_MASK   0x007Cu
#define MT_FLAGS_LOCK_MASK     0x0300u
#define MT_FLAGS_LOCK_IRQ      0x0100u /* the plain lock here */
#define MT_FLAGS_LOCK_BH       0x0200u /* the plain lock here */
#define MT_FLAGS_LOCK_EXTERN   0x0300u /* the user brings the lock */
#define MT_FLAGS_ALLOC_WRAPPED 0x0800u /* a cyclic allocation has wrapped */

#define MAPLE_HEIGHT_MAX 31

/*
 * struct mt_allocator - where a tree's nodes come from.
 * @alloc: @size bytes aligned to @align (a power of two), or NULL. Called by writers.
 * @free:  gives a block back; in RCU mode called from the thread that runs RCU callbacks.
 * @ctx:   handed to both.
 * Must outlive the tree and, in RCU mode, the grace period after its last change.
 */
struct mt_allocator {
	void *(*alloc)(void *ctx, size_t size, size_t align);
	void (*free)(void *ctx, void *block, size_t size);
	void *ctx;
};

struct rcu_head;

/*
 * struct mt_rcu - a flavour of userspace RCU for a tree's readers. Fill it with the functions of
 * a liburcu flavour; MT_RCU_FLAVOUR() does:
 *
 *	#include <urcu/urcu-memb.h>
 *	static const struct mt_rcu memb = MT_RCU_FLAVOUR(memb);
 *
 * @call: call_rcu(); @synchronize: synchronize_rcu(); @read_lock, @read_unlock: used by the calls
 * that take the read side themselves; @read_ongoing: whether the calling thread is inside a
 * read-side section. NULL: not known, and each step of a cursor goes down from the root. Must
 * outlive the tree.
 */
struct mt_rcu {
	void (*call)(struct rcu_head *head, void (*func)(struct rcu_head *head));
	void (*synchronize)(void);
	void (*read_lock)(void);
	void (*read_unlock)(void);
	int (*read_ongoing)(void);
};

/* MT_RCU_FLAVOUR - initialises a struct mt_rcu: bp, memb, mb, qsbr of <urcu/urcu-@flavour.h>. */
#define MT_RCU_FLAVOUR(flavour) \
	{ urcu_##flavour##_call_rcu, urcu_##flavour##_synchronize_rcu, \
	  urcu_##flavour##_read_lock, urcu_##flavour##_read_unlock, \
	  urcu_##flavour##_read_ongoing }

struct mt_retire_batch;

/*
 * struct mt_finger - the path of a tree's last write, so that the next one near it need not walk.
 * @min, @max: bounds of the leaf. min > max: nothing is remembered.
 * @height:    of the tree.
 * @step:      the nodes on the path, from the leaf (0) up, each with the slot taken in its low
 *             byte; only levels below @height are set.
 */
struct mt_finger {
	unsigned long min;
	unsigned long max;
	unsigned int height;
	unsigned long step[MAPLE_HEIGHT_MAX];
};

/*
 * struct maple_tree - a tree; initialise it before use by one of the functions or macros below.
 * @ma_root:    NULL, a lone entry at index 0, or a tagged node; written under the lock with
 *              release, read with acquire.
 * @ma_flags:   MT_FLAGS_*, and a bit of the library's own in snapshots; written under the lock.
 * @ma_alloc:   the node allocator, NULL for the default; set while the tree has no nodes.
 * @ma_rcu:     the flavour of RCU, NULL for liburcu-bp; set while the tree has no nodes.
 * @ma_entry_ops: who counts references to entries, or NULL; set while the tree is empty.
 * @ma_apart:   padding: what readers read, above it, shares no cache line with what writers write,
 *              below.
 * @ma_retired: nodes that wait to be handed to a grace period; lock held.
 * @ma_lock:    covers every change.
 * @ma_writes:  raised before every change; written under the lock. Cursors compare it.
 * @ma_retrying: the number of readers that have retried a changing leaf many times; while it is not
 *               0, writers replace leaves by copies. Changed atomically by these readers. In its
 *               highest bits: whether nodes may belong to other trees, too; whether there is an
 *               ma_entry_ops. Both set under the lock.
 * @ma_finger:  the path of the last write; lock held.
 */
struct maple_tree {
	void *ma_root;
	unsigned int ma_flags;
	const struct mt_allocator *ma_alloc;
	const struct mt_rcu *ma_rcu;
	const struct mt_entry_ops *ma_entry_ops;
	char ma_apart[64 - sizeof(void *)];
	struct mt_retire_batch *ma_retired;
	struct mt_mutex ma_lock;
	unsigned long ma_writes;
	unsigned int ma_retrying;
	struct mt_finger ma_finger;
};

/*
 * MTREE_INIT - initialiser of an empty tree @name with MT_FLAGS_* @flags. Takes no memory.
 * MTREE_INIT_EXT - the same, with a lock of the user's.
 * DEFINE_MTREE - define a tree without flags.
 */
#define MTREE_INIT(name, flags) \
	{ NULL, (flags), NULL, NULL, NULL, { 0 }, NULL, MT_MUTEX_INIT, 0, 0, \
	  { 1, 0, 0, { 0 } } }
/* @lock is only named, never used: it is up to the user to hold it when the tree is changed. */
#define MTREE_INIT_EXT(name, flags, lock) MTREE_INIT(name, (flags) | MT_FLAGS_LOCK_EXTERN)
#define DEFINE_MTREE(name) struct maple_tree name = MTREE_INIT(name, 0)

/* mt_init_flags - make *@mt an empty tree with MT_FLAGS_* @flags. Owns nothing yet. */
MT_PUBLIC void mt_init_flags(struct maple_tree *mt, unsigned int flags);

/* mt_init - mt_init_flags() without flags. */
static inline void mt_init(struct maple_tree *mt)
{
	mt_init_flags(mt, 0);
}

/*
 * mt_set_allocator - take @mt's nodes from @alloc (NULL: the default) from now on. Nodes that the
 * tree has given up before still go to the previous allocator. Lock held. Returns 0, or -EBUSY if
 * the tree has nodes: unless it is empty or has only an entry at 0, whose two low bits are not 10.
 */
MT_PUBLIC int mt_set_allocator(struct maple_tree *mt, const struct mt_allocator *alloc);

/*
 * mt_set_rcu_flavour - let @mt's readers use @flavour (NULL: liburcu-bp). Threads that read must
 * register with the flavour if it requires that; bp does not. Lock held. Returns 0, or -EBUSY if
 * the tree has nodes, as above.
 */
MT_PUBLIC int mt_set_rcu_flavour(struct maple_tree *mt, const struct mt_rcu *flavour);

/* Does nothing: there is no global state to set up. Kept for ported code. */
MT_PUBLIC void maple_tree_init(void);

/* mt_height - levels of nodes: 0 for an empty tree and for a lone plain entry at 0. Any context. */
static inline unsigned int mt_height(const struct maple_tree *mt)
{
	return (__atomic_load_n(&mt->ma_flags, __ATOMIC_RELAXED) & MT_FLAGS_HEIGHT_MASK) >>
	       MT_FLAGS_HEIGHT_OFFSET;
}

/* mt_in_rcu - whether readers may run beside a writer. Any context. */
static inline bool mt_in_rcu(const struct maple_tree *mt)
{
	return __atomic_load_n(&mt->ma_flags, __ATOMIC_RELAXED) & MT_FLAGS_USE_RCU;
}

/* mt_external_lock - whether the user brings the lock. Any context. */
static inline bool mt_external_lock(const struct maple_tree *mt)
{
	return (__atomic_load_n(&mt->ma_flags, __ATOMIC_RELAXED) & MT_FLAGS_LOCK_MASK) ==
	       MT_FLAGS_LOCK_EXTERN;
}

/*
 * mt_set_in_rcu, mt_clear_in_rcu - switch a live tree into or out of RCU mode. Take the lock (the
 * caller holds an external one). Leave RCU mode only when no reader is left; this also forgets
 * readers that ended in the middle of a read, or that were left behind in the parent by a fork.
 * mt_set_in_rcu() returns 0, or -ENOMEM if the thread that frees nodes cannot be started; the mode
 * is unchanged then. In a tree that began in RCU mode the first store that needs that thread fails
 * instead.
 */
MT_PUBLIC int mt_set_in_rcu(struct maple_tree *mt);
MT_PUBLIC void mt_clear_in_rcu(struct maple_tree *mt);

/* Nothing to do here; kept for ported code. MT_FLAGS_LOCK_EXTERN says who locks. */
#define mt_set_external_lock(mt, lock) ((void)(mt), (void)(lock))
#define mt_on_stack(mt) ((void)(mt))

/*
 * mtree_lock, mtree_unlock - the lock of a tree without MT_FLAGS_LOCK_EXTERN. Not recursive; waits
 * for other writers, never for readers; not for signal handlers. mtree_trylock() takes it if it is
 * free, and returns whether it was. See maple_tree_mutex.h. The other spellings are the same
 * lock, for ported code: @flags is an unsigned long variable, @subclass is ignored.
 */
#define mtree_lock(mt)                       mt_mutex_lock(&(mt)->ma_lock)
#define mtree_unlock(mt)                     mt_mutex_unlock(&(mt)->ma_lock)
#define mtree_trylock(mt)                    mt_mutex_trylock(&(mt)->ma_lock)
#define mtree_lock_nested(mt, subclass)      ((void)(subclass), mtree_lock(mt))
#define mtree_lock_irqsave(mt, flags)        ((void)((flags) = 0), mtree_lock(mt))
#define mtree_unlock_irqrestore(mt, flags)   ((void)(flags), mtree_unlock(mt))

/* ---- normal API: takes the lock or the read side itself ------------------------------- */

/*
 * mtree_load - the entry at @index, or NULL (also for a zero entry). Takes the read side;
 * waits for nobody.
 */
MT_PUBLIC void *mtree_load(struct maple_tree *mt, unsigned long index);

/*
 * mtree_load_many - set @entries[i] to what mtree_load(@mt, @keys[i]) returns, for @count indexes
 * in any order, which may repeat. Much faster than single lookups if the tree is larger than the
 * cache: the lookups walk down together, and their cache misses overlap. Takes the read side once
 * for all of them. Not a snapshot: each answer is from its own moment during the call. Waits for
 * nobody; may run wherever mtree_load() may. The arrays are the caller's; @keys and @entries must
 * not overlap.
 */
MT_PUBLIC void mtree_load_many(struct maple_tree *mt, const unsigned long *keys, void **entries,
			       size_t count);

/*
 * mtree_store, mtree_store_range - put @entry over [@first, @last], whatever was there; NULL
 * erases. Take the lock. Return 0; -EINVAL: @first > @last or a reserved entry; -ENOMEM.
 */
MT_PUBLIC int mtree_store(struct maple_tree *mt, unsigned long index, void *entry, gfp_t gfp);
MT_PUBLIC int mtree_store_range(struct maple_tree *mt, unsigned long first, unsigned long last,
				void *entry, gfp_t gfp);

/*
 * mtree_insert, mtree_insert_range - store, but only if all of [@first, @last] is empty. Take
 * the lock. Return 0, -EEXIST (nothing changed), -EINVAL, -ENOMEM.
 */
MT_PUBLIC int mtree_insert(struct maple_tree *mt, unsigned long index, void *entry, gfp_t gfp);
MT_PUBLIC int mtree_insert_range(struct maple_tree *mt, unsigned long first, unsigned long last,
				 void *entry, gfp_t gfp);

/*
 * mtree_erase - remove the whole range that holds @index. Takes the lock. Returns its entry, or
 * NULL if there was none or no memory for the change (the entry is still there then).
 */
MT_PUBLIC void *mtree_erase(struct maple_tree *mt, unsigned long index);

/*
 * mtree_alloc_range, mtree_alloc_rrange - find the lowest (highest) @size free indexes inside
 * [@min, @max], store @entry there and set *@startp to the first. Take the lock. Return 0;
 * -EBUSY: no such gap; -EINVAL: no MT_FLAGS_ALLOC_RANGE, @size 0 or larger than the window,
 * @min > @max, reserved entry; -ENOMEM.
 */
MT_PUBLIC int mtree_alloc_range(struct maple_tree *mt, unsigned long *startp, void *entry,
				unsigned long size, unsigned long min, unsigned long max,
				gfp_t gfp);
MT_PUBLIC int mtree_alloc_rrange(struct maple_tree *mt, unsigned long *startp, void *entry,
				 unsigned long size, unsigned long min, unsigned long max,
				 gfp_t gfp);

/* Which of several places a search takes. */
enum mt_fit { MT_FIT_LOWEST, MT_FIT_HIGHEST };

/*
 * struct mt_area - a search for free indexes.
 * @min, @max: inside these, inclusive.
 * @size:      how many.
 * @align:     the first one is a multiple of this power of two; 0 and 1: anywhere.
 * @fit:       the lowest place or the highest.
 * @start:     answer: the first index; start % align == 0, min <= start, start + size - 1 <= max.
 */
struct mt_area {
	unsigned long min;
	unsigned long max;
	unsigned long size;
	unsigned long align;
	enum mt_fit fit;
	unsigned long start;
};

/*
 * mtree_alloc_area - find a place and store @entry there, in one step. Takes the lock. Returns
 * as mtree_alloc_range(), and -EINVAL for an alignment that is no power of two; area->start is
 * set once a place is found.
 */
MT_PUBLIC int mtree_alloc_area(struct maple_tree *mt, struct mt_area *area, void *entry,
			       gfp_t gfp);

/*
 * mtree_load_range - mtree_load() that also tells where the range, or the gap, that holds @index
 * begins and ends: *@first and *@last, always set. A range of a zero entry shows as one of NULL, by
 * itself. Takes the read side.
 * mtree_gap_around - find the whole free range that holds @index. Returns false if @index is
 * occupied. For any tree, gap-tracking or not. Takes the read side.
 * mtree_fill_gap - store @entry over that whole range in one step. Takes the lock. Returns 0,
 * -EEXIST (occupied), -EINVAL (NULL or a reserved entry), -ENOMEM.
 * These two set *@first and *@last on success.
 */
MT_PUBLIC void *mtree_load_range(struct maple_tree *mt, unsigned long index, unsigned long *first,
				 unsigned long *last);
MT_PUBLIC bool mtree_gap_around(struct maple_tree *mt, unsigned long index, unsigned long *first,
				unsigned long *last);
MT_PUBLIC int mtree_fill_gap(struct maple_tree *mt, unsigned long index, void *entry,
			     unsigned long *first, unsigned long *last, gfp_t gfp);

/*
 * mtree_alloc_cyclic - take the lowest free index of [max(@range_lo, *@next), @range_hi], else
 * of [@range_lo, @range_hi]; *@next becomes that index + 1. Takes the lock. Returns 0, 1 if the
 * search wrapped, -EBUSY, -EINVAL, -ENOMEM.
 */
MT_PUBLIC int mtree_alloc_cyclic(struct maple_tree *mt, unsigned long *startp, void *entry,
				 unsigned long range_lo, unsigned long range_hi,
				 unsigned long *next, gfp_t gfp);

/*
 * mtree_dup, __mt_dup - copy all of @mt into the empty tree @new_tree of the same flags and entry
 * operations, node by node; entries are shared. Allocator and flavour of RCU may be others. The
 * first takes both locks (source first), the second expects both held. O(nodes). Return 0; -EINVAL:
 * @new_tree not empty, @mt itself, or of other flags or operations; -ENOMEM: @new_tree is left empty.
 */
MT_PUBLIC int mtree_dup(struct maple_tree *mt, struct maple_tree *new_tree, gfp_t gfp);
MT_PUBLIC int __mt_dup(struct maple_tree *mt, struct maple_tree *new_tree, gfp_t gfp);

/*
 * mtree_destroy, __mt_destroy - free all nodes (not the entries), leaving an empty tree with its
 * flags. The first takes the lock, the second expects it held. In RCU mode the nodes go after a
 * grace period; call neither inside a read-side section.
 */
MT_PUBLIC void mtree_destroy(struct maple_tree *mt);
MT_PUBLIC void __mt_destroy(struct maple_tree *mt);

/* mtree_empty - whether nothing is stored. Any context. */
static inline bool mtree_empty(const struct maple_tree *mt)
{
	return __atomic_load_n(&mt->ma_root, __ATOMIC_RELAXED) == NULL;
}

/*
 * mt_find - the first entry that reaches into [*@index, @max], zero entries skipped; *@index
 * becomes one past its range (0 after ULONG_MAX). NULL: none, *@index unchanged.
 * mt_find_after - the same, for going on: NULL at once if *@index is 0. Take the read side.
 */
MT_PUBLIC void *mt_find(struct maple_tree *mt, unsigned long *index, unsigned long max);
MT_PUBLIC void *mt_find_after(struct maple_tree *mt, unsigned long *index, unsigned long max);

/*
 * mt_next - the first entry after the range that holds @index, if it begins at or below @max.
 * mt_prev - the last entry before that range, if it ends at or above @min. NULL: none. Take the
 * read side.
 */
MT_PUBLIC void *mt_next(struct maple_tree *mt, unsigned long index, unsigned long max);
MT_PUBLIC void *mt_prev(struct maple_tree *mt, unsigned long index, unsigned long min);

/* ---- advanced API: a cursor ------------------------------------------------------------ */

enum maple_status {
	ma_active,    /* on a range of the leaf @node */
	ma_start,     /* not yet walked */
	ma_root,      /* on the lone entry at 0 */
	ma_none,      /* nothing here (empty tree, or beyond the lone entry) */
	ma_pause,     /* the lock was dropped: walk again, then go on from here */
	ma_overflow,  /* an upward search met its limit */
	ma_underflow, /* a downward search met its limit */
	ma_error      /* failed: node == MA_ERROR(err) */
};

struct maple_enode;
struct mt_node;

/*
 * struct ma_state - a cursor. Owned by one thread; usually on its stack.
 * @index, @last: the range wanted, afterwards the range found. May be set by hand.
 * @tree:    the tree.
 * @node:    the tagged leaf while active, MA_ERROR(err) after an error.
 * @min, @max: bounds of @node: min <= index <= last <= max while active.
 * @watch:   while on a leaf: a word that changes with every change that concerns the cursor. Inside
 *           a read-side section of a tree in RCU mode it is a word of @node, otherwise the tree's
 *           @ma_writes. It is compared before @node is touched.
 * @version: *@watch when the cursor read @node. If it differs, the next step walks down from the
 *           root to where index and last tell.
 * @reserve: linked list of nodes for a store that must not fail; mas_destroy() gives them back.
 * @reserve_count: how many; @reserve_wanted: how many the last failed store would have needed.
 * @status:  where the cursor stands. May be set by hand to ma_start.
 * @offset:  the slot of index in @node; @end: the last slot in use. offset <= end.
 * @gap_written: the last call wrote NULL, and [index, last] may be only a part of the gap.
 * @parent:  for steps from leaf to leaf: a node above leaves, NULL if none is known.
 * @parent_min, @parent_max: its bounds; @parent_end: its last slot in use.
 * @parent_offset: the slot of @node in @parent or, if @parent is already the next (previous) node,
 *                 the slot before (behind) the one to go to; modulo 256.
 * @batch:   identifies the loop that last read @node ahead for the cursor. NULL if the cursor
 *           reached @node on its own, or stored. Only compared.
 */
struct ma_state {
	unsigned long index;
	unsigned long last;
	struct maple_tree *tree;
	struct maple_enode *node;
	unsigned long min;
	unsigned long max;
	const unsigned long *watch;
	unsigned long version;
	struct mt_node *reserve;
	unsigned int reserve_count;
	unsigned int reserve_wanted;
	enum maple_status status;
	unsigned char offset;
	unsigned char end;
	bool gap_written;
	unsigned char parent_offset;
	unsigned char parent_end;
	struct maple_enode *parent;
	unsigned long parent_min;
	unsigned long parent_max;
	const unsigned long *batch;
};

/* MA_ERROR - the @node of a failed cursor: the negative errno @err as an internal entry. */
#define MA_ERROR(err) ((struct maple_enode *)(((unsigned long)(err) << 2) | 2UL))

/*
 * MA_STATE - define a cursor @name of @mt at [@first, @lst], not yet walked. Holds no memory.
 *
 * @parent_min means nothing yet. Were it 0, a cursor at 0 would be mostly zeros, and gcc would clear
 * all of it first, by an instruction that takes ten times as long as the stores.
 */
#define MA_STATE(name, mt, first, lst) \
	struct ma_state name = { (unsigned long)(first), (unsigned long)(lst), (mt), NULL, 0, \
				 ULONG_MAX, NULL, 0, NULL, 0, 0, ma_start, 0, 0, false, 0, 0, \
				 NULL, ULONG_MAX, ULONG_MAX, NULL }

/* mas_lock and so on - the lock of the cursor's tree. */
#define mas_lock(mas)                      mtree_lock((mas)->tree)
#define mas_unlock(mas)                    mtree_unlock((mas)->tree)
#define mas_lock_nested(mas, subclass)     mtree_lock_nested((mas)->tree, subclass)
#define mas_lock_irqsave(mas, flags)       mtree_lock_irqsave((mas)->tree, flags)
#define mas_unlock_irqrestore(mas, flags)  mtree_unlock_irqrestore((mas)->tree, flags)

/*
 * mas_init - make *@mas a new cursor of @mt at @index. Forgets, without freeing, what *@mas had
 * reserved.
 */
static inline void mas_init(struct ma_state *mas, struct maple_tree *mt, unsigned long index)
{
	MA_STATE(fresh, mt, index, index);
	*mas = fresh;
}

/* mas_is_err - whether the last call failed; xa_err(mas->node) is the errno. */
static inline bool mas_is_err(const struct ma_state *mas)
{
	return mas->status == ma_error;
}

/* mas_is_active - whether the cursor stands on a range of a leaf. */
static inline bool mas_is_active(const struct ma_state *mas)
{
	return mas->status == ma_active;
}

/* mas_reset - forget the place; index and last stay. */
static inline void mas_reset(struct ma_state *mas)
{
	mas->status = ma_start;
	mas->node = NULL;
	mas->batch = NULL;
}

/* __mas_set_range - set the range wanted and stay at the node: it must lie in index .. max. */
static inline void __mas_set_range(struct ma_state *mas, unsigned long first, unsigned long last)
{
	mas->index = first;
	mas->last = last;
}

/* mas_set_range - set the range wanted and forget the place. */
static inline void mas_set_range(struct ma_state *mas, unsigned long first, unsigned long last)
{
	mas_reset(mas);
	__mas_set_range(mas, first, last);
}

/* mas_set - mas_set_range() of a single index. */
static inline void mas_set(struct ma_state *mas, unsigned long index)
{
	mas_set_range(mas, index, index);
}

/*
 * mas_pause - call before the lock or the read side is dropped; the next call walks again and
 * goes on behind the range the cursor stood on.
 */
MT_PUBLIC void mas_pause(struct ma_state *mas);

/* mas_destroy - give back what was reserved. Lock held. Always allowed. */
MT_PUBLIC void mas_destroy(struct ma_state *mas);

/*
 * mas_walk - go to index, from the root. Returns the entry there or NULL; index and last become
 * its range, or the gap. Lock or read side.
 */
MT_PUBLIC void *mas_walk(struct ma_state *mas);

/*
 * mas_find - first call: the entry at or after index; later calls: the next one; NULL at the end
 * or if it begins above @max. mas_find_range also stops (with NULL) at gaps. The _rev forms go
 * downwards to @min. Lock or read side.
 */
MT_PUBLIC void *mas_find(struct ma_state *mas, unsigned long max);
MT_PUBLIC void *mas_find_range(struct ma_state *mas, unsigned long max);
MT_PUBLIC void *mas_find_rev(struct ma_state *mas, unsigned long min);
MT_PUBLIC void *mas_find_range_rev(struct ma_state *mas, unsigned long min);

/*
 * mas_next, mas_prev - the next (previous) entry; the _range forms the next range, which may be
 * a gap. Past the limit: NULL with status ma_overflow (ma_underflow), after which a step the
 * other way finds the last entry again, unless that reaches that step's limit. Lock or read side.
 */
MT_PUBLIC void *mas_next(struct ma_state *mas, unsigned long max);
MT_PUBLIC void *mas_next_range(struct ma_state *mas, unsigned long max);
MT_PUBLIC void *mas_prev(struct ma_state *mas, unsigned long min);
MT_PUBLIC void *mas_prev_range(struct ma_state *mas, unsigned long min);

/*
 * mas_store - store @entry over [index, last]; uses the allocator if not enough is reserved.
 * Returns the entry that was at index before; on failure the cursor is in ma_error (-ENOMEM, or
 * -EINVAL for index > last). Afterwards the cursor stands on what it wrote; after a store of NULL
 * on the whole gap, and index and last are its bounds. Lock held.
 */
MT_PUBLIC void *mas_store(struct ma_state *mas, void *entry);

/* mas_store_gfp - the same; returns 0, -ENOMEM or -EINVAL. Lock held. */
MT_PUBLIC int mas_store_gfp(struct ma_state *mas, void *entry, gfp_t gfp);

/*
 * mas_preallocate - reserve what storing @entry over [index, last] needs; in RCU mode at least what
 * copying a leaf takes. If @entry is NULL, index and last become the whole gap. Returns 0, or
 * -ENOMEM or -EINVAL as above (nothing reserved then). Follow it with mas_store_prealloc() or
 * mas_destroy(), and do not change the tree in between. Lock held.
 * mas_store_prealloc - that store; cannot fail. Gives back what was not used.
 */
MT_PUBLIC int mas_preallocate(struct ma_state *mas, void *entry, gfp_t gfp);
MT_PUBLIC void mas_store_prealloc(struct ma_state *mas, void *entry);

/*
 * mas_erase - remove the range that holds index. Returns its entry, or NULL (none there, or no
 * memory: the cursor is in ma_error then); index and last become the range erased. Lock held.
 */
MT_PUBLIC void *mas_erase(struct ma_state *mas);

/*
 * mas_empty_area, mas_empty_area_rev - the lowest (highest) @size free indexes inside
 * [@min, @max]; index .. last become that place. Return 0, -EBUSY, -EINVAL as
 * mtree_alloc_range(). Lock or read side.
 */
MT_PUBLIC int mas_empty_area(struct ma_state *mas, unsigned long min, unsigned long max,
			     unsigned long size);
MT_PUBLIC int mas_empty_area_rev(struct ma_state *mas, unsigned long min, unsigned long max,
				 unsigned long size);

/*
 * mas_find_area - the same with all that struct mt_area can ask for. Returns also -EINVAL for an
 * alignment that is no power of two. Lock or read side.
 */
MT_PUBLIC int mas_find_area(struct ma_state *mas, struct mt_area *area);

/* mas_alloc_cyclic - mtree_alloc_cyclic() through a cursor. Lock held. */
MT_PUBLIC int mas_alloc_cyclic(struct ma_state *mas, unsigned long *startp, void *entry,
			       unsigned long range_lo, unsigned long range_hi,
			       unsigned long *next, gfp_t gfp);

/*
 * mas_expected_entries - bulk mode: reserve for @count ascending, disjoint stores into an empty
 * tree, which then cannot fail; end it with mas_destroy(). Returns 0 or -ENOMEM. Lock held. Linux
 * has it up to 6.17.
 */
MT_PUBLIC int mas_expected_entries(struct ma_state *mas, unsigned long count);

/*
 * mas_reserve - reserve for the next @stores stores through @mas, anywhere in the tree. They cannot
 * fail, even if others change the tree in between, as long as the number of ranges grows by no more
 * than @more in total (a store adds at most 2). A store that overwrites many entries counts as one
 * more store for each 64 of them. What is reserved already counts; end it with mas_destroy().
 * Returns 0, or -ENOMEM with the reserve unchanged. Lock held. Not part of the kernel's interface.
 */
MT_PUBLIC int mas_reserve(struct ma_state *mas, unsigned long stores, unsigned long more);

/*
 * mas_nomem - after a failed store: true if the failure was -ENOMEM and nodes could be reserved
 * meanwhile, so that the store is worth repeating. May drop and retake the tree's lock (not an
 * external one). Lock held.
 * mas_nomem_nofail - the same, trying until there is memory, however long; and the store is to be
 * over [@index, @last], which become the cursor's. For a store that must not fail.
 */
MT_PUBLIC bool mas_nomem(struct ma_state *mas, gfp_t gfp);
MT_PUBLIC bool mas_nomem_nofail(struct ma_state *mas, unsigned long index, unsigned long last);

/* ---- looking inside -------------------------------------------------------------------- */

/* How mt_dump() prints indexes. */
enum mt_dump_format { mt_dump_dec, mt_dump_hex };

/*
 * mt_check - check every invariant of the whole tree. True if all hold; else false, and *@reason
 * (if @reason is not NULL) a text that names the one broken, valid until the thread's next call.
 * Lock held. O(nodes).
 */
MT_PUBLIC bool mt_check(struct maple_tree *mt, const char **reason);

/* mt_validate - mt_check() that dumps the tree and aborts if an invariant is broken. */
MT_PUBLIC void mt_validate(struct maple_tree *mt);

/* mt_dump, mas_dump - print the tree, or the cursor, to standard error. Lock held. */
MT_PUBLIC void mt_dump(const struct maple_tree *mt, enum mt_dump_format format);
MT_PUBLIC void mas_dump(const struct ma_state *mas);

/*
 * mt_cache_shrink - give memory cached by any thread back to the system. Any context except signal
 * handlers.
 */
MT_PUBLIC void mt_cache_shrink(void);

/*
 * mt_retired_bytes - the memory of nodes, of all trees in RCU mode, that have been replaced and
 * wait until no reader can see them any more. Not counted are the up to 28 nodes that each such
 * tree keeps until it hands them over together. Any context.
 */
MT_PUBLIC unsigned long mt_retired_bytes(void);

/*
 * mt_set_retire_limit - make writers wait for readers while more than @bytes are retired in all
 * trees together (0, the default: never). mtree_store() and the other calls that take the lock wait
 * before they take it, if their gfp may wait; other writers call mt_wait_retired(). With a limit,
 * no such call may be made where a reader waits for the caller: while holding a lock for which a
 * thread inside a read-side section may wait, or inside a section of a flavour other than
 * liburcu-bp.
 * mt_wait_retired - wait until no more than the limit is retired. Does not wait inside a read-side
 * section of liburcu-bp, in a thread that runs RCU callbacks, or if memory is so short that nothing
 * can be freed. No lock of a tree held.
 */
MT_PUBLIC void mt_set_retire_limit(unsigned long bytes);
MT_PUBLIC void mt_wait_retired(struct maple_tree *mt);

/*
 * struct mt_level_statistics - the nodes of one level: @nodes of them have @slots slots in total,
 * of which @used are in use. Fill is used / slots.
 */
struct mt_level_statistics {
	unsigned long nodes;
	unsigned long used;
	unsigned long slots;
};

/*
 * struct mt_statistics - what a tree is made of.
 *   bytes == nodes * size of a node; nodes == sum of level[].nodes; leaves == level[0].nodes
 *   entries + gaps == ranges == level[0].used in a tree with nodes
 *   shared <= nodes: those that other trees hold, too (mtree_snapshot()); in RCU mode also those
 *   whose other holders have given them up, until the grace period has passed
 * @level: from the leaves (0) up; 0 .. height - 1 are set.
 */
struct mt_statistics {
	unsigned long nodes;
	unsigned long leaves;
	unsigned long bytes;
	unsigned long entries;
	unsigned long gaps;
	unsigned long shared;
	unsigned int height;
	struct mt_level_statistics level[MAPLE_HEIGHT_MAX];
};

/* mt_get_statistics - count @mt into *@stats. Lock held. O(nodes). */
MT_PUBLIC void mt_get_statistics(struct maple_tree *mt, struct mt_statistics *stats);

#ifdef __cplusplus
}
#endif

#include <mapletree/maple_tree_loop.h>
#include <mapletree/maple_tree_opaque.h>
#include <mapletree/maple_tree_range.h>
#include <mapletree/maple_tree_rcu.h>
#include <mapletree/maple_tree_snapshot.h>

#endif
