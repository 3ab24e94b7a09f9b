/* SPDX-License-Identifier: MIT */
/*
 * dup.h - what a copy and a snapshot of a whole tree ask for.
 */
#ifndef MT_DUP_H
#define MT_DUP_H

#include "node.h"

/* dup_allowed - whether @new_tree is empty and has the flags of @mt. Both locks held. */
bool dup_allowed(const struct maple_tree *mt, const struct maple_tree *new_tree);

#endif
