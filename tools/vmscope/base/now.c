/* SPDX-License-Identifier: MIT */
/* The time by CLOCK_MONOTONIC. */
#include "base/now.h"

#include <time.h>

uint64_t now_ns(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

long now_ms(void)
{
	return (long)(now_ns() / 1000000);
}

double now_seconds(void)
{
	return (double)now_ns() * 1e-9;
}
