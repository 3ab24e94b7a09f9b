/* SPDX-License-Identifier: MIT */
/*
 * yield.h - put in front of every source: every atomic load and store may let another thread run
 * first. So the windows between the library's steps, at which readers and writers meet, are long
 * now and then.
 */
#ifndef TORTURE_YIELD_H
#define TORTURE_YIELD_H

/* Counts down to the next yield of this thread. */
extern _Thread_local int yield_countdown;

/* yield_now - let others run, and choose when to do so again. */
void yield_now(void);

static inline void yield_maybe(void)
{
	if (--yield_countdown <= 0)
		yield_now();
}

#define __atomic_load_n(...) (yield_maybe(), __atomic_load_n(__VA_ARGS__))
#define __atomic_store_n(...) (yield_maybe(), __atomic_store_n(__VA_ARGS__))

#endif
