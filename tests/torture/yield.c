/* SPDX-License-Identifier: MIT */
/*
 * yield.c - random yields.
 */
#include <sched.h>
#include <stdint.h>
#include <unistd.h>

_Thread_local int yield_countdown;

static _Thread_local uint32_t state;

void yield_now(void)
{
	if (!state)
		state = (uint32_t)(uintptr_t)&state | 1;
	state ^= state << 13; /* xorshift (Marsaglia 2003) */
	state ^= state >> 17;
	state ^= state << 5;
	yield_countdown = 1 + (int)(state % 2000);
	if (state >> 8 & 63)
		sched_yield();
	else
		usleep(state >> 20 & 255);
}
