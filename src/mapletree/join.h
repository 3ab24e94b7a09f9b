/* SPDX-License-Identifier: MIT */
/* join.h - erasures of a stretch, for both forms of the call. */
#ifndef MT_JOIN_H
#define MT_JOIN_H

#include "range_list.h"

/*
 * join_erase - store NULL over [mas->index, mas->last] and list the pieces that held entries in
 * @list, which must be initialised and which the caller frees. 0, -EINVAL or -ENOMEM, as
 * mas_erase_range(). Lock held.
 */
int join_erase(struct ma_state *mas, struct mt_range_list *list, gfp_t gfp);

/* join_tell - call @erased for each of them. */
void join_tell(struct mt_range_list *list, mt_erased_fn *erased, void *ctx);

#endif
