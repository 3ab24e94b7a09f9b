/* SPDX-License-Identifier: MIT */
/*
 * lookup_select.c - bind the ways down to the variant for this processor, when the program starts.
 *
 * GNU indirect functions: the dynamic linker (or the start-up code of a static program) asks a
 * resolver once and calls what it names ever after. Resolvers run before everything else, so
 * they ask the processor and touch nothing.
 */
#include "path.h"
#include "walk.h"

#define VARIANTS(type, name, params) \
	type name##_base params; \
	type name##_avx2 params; \
	type name##_avx512 params; \
	__attribute__((used)) static type (*select_##name(void)) params \
	{ \
		__builtin_cpu_init(); \
		if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") && \
		    __builtin_cpu_supports("avx512bw")) \
			return name##_avx512; \
		if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("popcnt") && \
		    __builtin_cpu_supports("bmi2")) \
			return name##_avx2; \
		return name##_base; \
	}

VARIANTS(void *, lookup_load, (struct maple_tree *mt, unsigned long index))
VARIANTS(void *, walk_to, (struct ma_state *mas, unsigned long index))
VARIANTS(unsigned int, path_descend, (struct mt_step *step, unsigned int from, struct place at,
				      unsigned long index))

void *mtree_load(struct maple_tree *mt, unsigned long index)
	__attribute__((ifunc("select_lookup_load")));
void *walk_to(struct ma_state *mas, unsigned long index)
	__attribute__((ifunc("select_walk_to")));
unsigned int path_descend(struct mt_step *step, unsigned int from, struct place at,
			  unsigned long index) __attribute__((ifunc("select_path_descend")));
