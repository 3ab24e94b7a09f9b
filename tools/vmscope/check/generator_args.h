/* SPDX-License-Identifier: MIT */
/* The arguments of random calls. */
#ifndef VMSCOPE_CHECK_GENERATOR_ARGS_H
#define VMSCOPE_CHECK_GENERATOR_ARGS_H

#include "check/generator.h"

#define GENERATOR_PAGE 4096UL

/* Does [start, start + length) overlap an area that the puppet needs? */
bool generator_is_reserved(const struct generator *c, unsigned long start, unsigned long length);

#endif
