/* SPDX-License-Identifier: MIT */
/*
 * retry.c - the slow path of a reader whose try to read a leaf has failed. Not inlined, since no
 * hot path comes here.
 */
#include "retry.h"

unsigned int retry(struct maple_tree *mt, unsigned int failed)
{
	if (++failed == RETRY_QUICK)
		__atomic_fetch_add(&mt->ma_retrying, 1, __ATOMIC_SEQ_CST);
	return failed;
}
