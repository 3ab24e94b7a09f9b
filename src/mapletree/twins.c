/* SPDX-License-Identifier: MIT */
/*
 * twins.c - functions under the names of the headers' inline functions and macros, for bindings
 * from other languages. tests/api/bindings.py says if one is missing.
 */
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

/* All that the headers define is defined here once more, for others: so nothing is listed twice. */
#pragma GCC visibility push(default)
#pragma GCC diagnostic ignored "-Wmissing-prototypes"
#ifdef __clang__
#pragma GCC diagnostic ignored "-Wkeyword-macro"
#endif
#define static
#define inline
#include <mapletree/maple_tree.h>
#undef static
#undef inline

/* ---- macros: a name in brackets is not replaced ---------------------------------------------- */

void(DEFINE_MTREE)(struct maple_tree *mt)
{
	mt_init_flags(mt, 0);
}

void(MTREE_INIT)(struct maple_tree *mt, unsigned int flags)
{
	mt_init_flags(mt, flags);
}

void(MTREE_INIT_EXT)(struct maple_tree *mt, unsigned int flags, const void *lock)
{
	(void)lock;
	mt_init_flags(mt, flags | MT_FLAGS_LOCK_EXTERN);
}

void(mt_set_external_lock)(struct maple_tree *mt, const void *lock)
{
	mt_set_external_lock(mt, lock);
}

void(mt_on_stack)(struct maple_tree *mt)
{
	mt_on_stack(mt);
}

void(mtree_lock)(struct maple_tree *mt)
{
	mtree_lock(mt);
}

void(mtree_unlock)(struct maple_tree *mt)
{
	mtree_unlock(mt);
}

bool(mtree_trylock)(struct maple_tree *mt)
{
	return mtree_trylock(mt);
}

void(mtree_lock_nested)(struct maple_tree *mt, int subclass)
{
	mtree_lock_nested(mt, subclass);
}

void(mtree_lock_irqsave)(struct maple_tree *mt, unsigned long *flags)
{
	mtree_lock_irqsave(mt, *flags);
}

void(mtree_unlock_irqrestore)(struct maple_tree *mt, unsigned long flags)
{
	mtree_unlock_irqrestore(mt, flags);
}

struct maple_enode *(MA_ERROR)(long err)
{
	return MA_ERROR(err);
}

void(MA_STATE)(struct ma_state *mas, struct maple_tree *mt, unsigned long first,
	       unsigned long last)
{
	mas_init(mas, mt, first);
	mas->last = last;
}

void(mas_lock)(struct ma_state *mas)
{
	mas_lock(mas);
}

void(mas_unlock)(struct ma_state *mas)
{
	mas_unlock(mas);
}

void(mas_lock_nested)(struct ma_state *mas, int subclass)
{
	mas_lock_nested(mas, subclass);
}

void(mas_lock_irqsave)(struct ma_state *mas, unsigned long *flags)
{
	mas_lock_irqsave(mas, *flags);
}

void(mas_unlock_irqrestore)(struct ma_state *mas, unsigned long flags)
{
	mas_unlock_irqrestore(mas, flags);
}
