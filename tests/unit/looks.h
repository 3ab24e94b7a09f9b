/* SPDX-License-Identifier: MIT */
/*
 * looks.h - put in front of every source: announces each atomic load, with its word and order, and
 * each atomic store and exchange before it is made.
 */
#ifndef UNIT_LOOKS_H
#define UNIT_LOOKS_H

void look_load(const volatile void *word, int order);
void look_store(void);
void look_exchange(void);

#define __atomic_load_n(word, order) (look_load(word, order), __atomic_load_n(word, order))
#define __atomic_store_n(...)        (look_store(), __atomic_store_n(__VA_ARGS__))
#define __atomic_compare_exchange_n(...) (look_exchange(), __atomic_compare_exchange_n(__VA_ARGS__))

#endif
