/* SPDX-License-Identifier: MIT */
/*
 * maple_tree_opaque.h - trees and cursors of which the user need not know how large they are: for
 * bindings from other languages, and for programs that are to run with later versions of the
 * library, in which these structs may have more members. Not part of the kernel's interface.
 * Included by maple_tree.h, where the terms are explained.
 *
 * The library also has a function under the name of every inline function and of every macro of
 * these headers that acts on a tree, an entry or a cursor, for who cannot compile them:
 * mtree_lock() and xa_mk_value() for instance. What these take and return is what the macros do,
 * but for pointers in the place of names: MTREE_INIT(mt, flags), MTREE_INIT_EXT(mt, flags, lock),
 * DEFINE_MTREE(mt) and MA_STATE(mas, mt, first, last) initialise what they point to; the _irqsave
 * forms take a pointer to the flags. Loops are macros only: call mas_find() and mt_find() in their
 * place.
 */
#ifndef MAPLETREE_MAPLE_TREE_OPAQUE_H
#define MAPLETREE_MAPLE_TREE_OPAQUE_H

#include <mapletree/maple_tree.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * mt_new - a new empty tree with MT_FLAGS_* @flags, or NULL if there is no memory.
 * mt_free - mtree_destroy() it and give its memory back. Nobody uses it any more, readers in their
 * sections neither. In RCU mode the nodes go after a grace period; not inside a read-side section.
 * @mt may be NULL.
 */
MT_PUBLIC struct maple_tree *mt_new(unsigned int flags);
MT_PUBLIC void mt_free(struct maple_tree *mt);

/*
 * mas_new - a new cursor of @mt at [@first, @last], not yet walked, or NULL if there is no memory.
 * mas_free - mas_destroy() it and give its memory back. Lock held if nodes are reserved. @mas may
 * be NULL.
 */
MT_PUBLIC struct ma_state *mas_new(struct maple_tree *mt, unsigned long first,
				   unsigned long last);
MT_PUBLIC void mas_free(struct ma_state *mas);

/*
 * mas_get_range - index and last of the cursor.
 * mas_get_status - its status.
 * mas_get_error - the negative errno of a failed one, else 0. Any context.
 */
MT_PUBLIC void mas_get_range(const struct ma_state *mas, unsigned long *first,
			     unsigned long *last);
MT_PUBLIC enum maple_status mas_get_status(const struct ma_state *mas);
MT_PUBLIC int mas_get_error(const struct ma_state *mas);

#ifdef __cplusplus
}
#endif

#endif
