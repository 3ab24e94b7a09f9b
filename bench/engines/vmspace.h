/* SPDX-License-Identifier: MIT */
/*
 * vmspace.h - libvmspace as an engine, for the programs that ask about address spaces.
 */
#ifndef BENCH_VMSPACE_H
#define BENCH_VMSPACE_H

#include "../engine.h"

extern const struct engine engine_vmspace;
/* With memory behind it: it keeps a page table, and locks for itself. */
extern const struct engine engine_vmspace_pages;

/* vmspace_engine_writable - whether the engine made this range a writable area: each second one. */
bool vmspace_engine_writable(const struct range *range);

#endif
