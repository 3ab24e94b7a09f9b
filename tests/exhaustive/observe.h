/* SPDX-License-Identifier: MIT */
/*
 * observe.h - put in front of every source: announces each atomic store before it is made.
 */
#ifndef EXHAUSTIVE_OBSERVE_H
#define EXHAUSTIVE_OBSERVE_H

void watch_store(void);

#define __atomic_store_n(...) (watch_store(), __atomic_store_n(__VA_ARGS__))

#endif
