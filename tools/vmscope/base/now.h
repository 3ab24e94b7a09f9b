/* SPDX-License-Identifier: MIT */
/* The time by CLOCK_MONOTONIC. */
#ifndef VMSCOPE_BASE_NOW_H
#define VMSCOPE_BASE_NOW_H

#include <stdint.h>

uint64_t now_ns(void);
long now_ms(void);
double now_seconds(void);

#endif
