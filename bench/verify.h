/* SPDX-License-Identifier: MIT */
/*
 * verify.h - an engine that answers wrongly is not timed.
 */
#ifndef BENCH_VERIFY_H
#define BENCH_VERIFY_H

#include "engine.h"

#include <stdint.h>

/* verify_engine - drive @engine and a plain array of entries with the same random operations;
 * at the first difference end the program with a message that names it. Once per engine. */
void verify_engine(const struct engine *engine, uint64_t seed);

#endif
