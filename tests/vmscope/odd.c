/* SPDX-License-Identifier: MIT */
/* odd.c - a library for opens.c, whose one function maps 0x2000 bytes. */
#include <stddef.h>
#include <sys/mman.h>

__attribute__((visibility("default"))) void *odd(void);

void *odd(void)
{
	return mmap(NULL, 0x2000, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}
