/* SPDX-License-Identifier: MIT */
/*
 * variants.h - functions compiled for several instruction sets, one of which is chosen at startup.
 *
 * These are GNU indirect functions: the dynamic linker (or the start-up code of a static program)
 * calls a resolver once and from then on calls the function that it returned. Resolvers run before
 * everything else, so they query the processor and touch nothing else.
 *
 * A file with such functions is compiled with MT_ISA set to the instruction set, and calls them
 * VARIANT(name): name_base, name_avx2, name_avx512. Without MT_ISA they have their own names.
 * Another file uses VARIANTS() once for each, and declares the name itself as an ifunc of
 * select_<name>.
 */
#ifndef MT_VARIANTS_H
#define MT_VARIANTS_H

#include <stdbool.h>

#ifdef MT_ISA
#define PASTE_(name, isa) name##_##isa
#define PASTE(name, isa)  PASTE_(name, isa)
#define VARIANT(name)     PASTE(name, MT_ISA)
#else
#define VARIANT(name) name
#endif

#if defined(__x86_64__)
/* Whether this processor supports what the variants are compiled for (see meson.build). */
static inline bool runs_avx2(void)
{
	__builtin_cpu_init();
	return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("popcnt") &&
	       __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2");
}

static inline bool runs_avx512(void)
{
	return runs_avx2() && __builtin_cpu_supports("avx512f") &&
	       __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512bw") &&
	       __builtin_cpu_supports("avx512dq");
}
#endif

enum isa { ISA_BASE, ISA_AVX2, ISA_AVX512 };

/*
 * isa_chosen - the instruction set that all functions are bound to: the last one that this
 * processor has. In a build for tests no later one than the environment's MAPLETREE_ISA.
 */
enum isa isa_chosen(void);

#define VARIANTS(type, name, params) \
	type name##_base params; \
	type name##_avx2 params; \
	type name##_avx512 params; \
	__attribute__((used)) static type (*select_##name(void)) params \
	{ \
		switch (isa_chosen()) { \
		case ISA_AVX512: \
			return name##_avx512; \
		case ISA_AVX2: \
			return name##_avx2; \
		default: \
			return name##_base; \
		} \
	}

#endif
