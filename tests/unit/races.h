/* SPDX-License-Identifier: MIT */
/*
 * races.h - put in front of every source: announces each atomic load and store before it is made.
 */
#ifndef UNIT_RACES_H
#define UNIT_RACES_H

void race_load(void);
void race_store(void);

#define __atomic_load_n(...)  (race_load(), __atomic_load_n(__VA_ARGS__))
#define __atomic_store_n(...) (race_store(), __atomic_store_n(__VA_ARGS__))

#endif
