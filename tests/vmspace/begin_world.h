/* SPDX-License-Identifier: MIT */
/* begin_world.h - spaces for tests of calls that begin and end, and requests. After <cmocka.h>. */
#ifndef BEGIN_WORLD_H
#define BEGIN_WORLD_H

#include <mapletree/vmspace_begin.h>

#define PAGE 4096UL
#define BASE 0x10000000UL
#define RW (PROT_READ | PROT_WRITE)

/* A space without areas or limits, for one thread or several. */
struct vmspace *new_space_with(bool threads, const struct vmspace_memory *memory);
struct vmspace *new_space(bool threads);
/* They show the same areas, and `a` is valid. */
void check_same(const struct vmspace *a, const struct vmspace *b);

/* Private memory, at addr if that is not 0. */
struct vmspace_request map_at(unsigned long addr, unsigned long pages, int prot);
struct vmspace_request unmap_at(unsigned long addr, unsigned long pages);
struct vmspace_request protect_at(unsigned long addr, unsigned long pages, int prot);
/* A call that succeeds. */
void call(struct vmspace *space, struct vmspace_request req);

#endif
