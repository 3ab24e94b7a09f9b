/* SPDX-License-Identifier: MIT */
/*
 * pages_world.h - what tests of the page table put under it: frames that each hold one number, a
 * file, and guests that reach frames only through the translations they were given.
 *
 * A frame freed twice, used when free, or left over shows; so does a translation that outlives its
 * page. Allocations of frames and of the C library fail when told to.
 */
#ifndef PAGES_WORLD_H
#define PAGES_WORLD_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "pages.h"

#define PAGE 4096UL
#define TASK_SIZE ((1UL << (sizeof(long) == 8 ? 47 : 31)) - PAGE)

/* Allocations until one fails in this thread; 0: none does. */
extern _Thread_local long world_countdown;
/* A file has so many pages; page n of it has world_file_value(n) at first. */
#define FILE_PAGES 4096
uint64_t world_file_value(uint64_t page);

/* Empty memory; ends with everything given back. */
void world_begin(void);
void world_end(void);
/* The number in a frame: to read, and to write. */
uint64_t world_value(uint64_t frame);
void world_set(uint64_t frame, uint64_t value);
unsigned long world_frames(void);      /* from alloc(), not freed */
unsigned long world_file_uses(void);   /* file_page() less file_release() */

/*
 * A space's side of the user: its page table and its translations, which only pages below
 * `windows` have (others are not remembered).
 */
#define WINDOW_PAGES 1280UL
#define WINDOWS 4
#define GUEST_PAGES (WINDOWS * WINDOW_PAGES)

struct guest {
	struct vmspace_memory memory;
	struct pages *pages;
	struct translation {
		uint64_t frame;
		unsigned int access;
	} tlb[GUEST_PAGES];
	unsigned long maps, unmaps; /* calls */
	bool map_fails;
};

/*
 * Addresses of the windows: each spans a border of tables, of one level more than the one before.
 */
unsigned long guest_window(unsigned int window);
/* The number of a page in tlb[]; GUEST_PAGES: none. */
unsigned long guest_page(unsigned long addr);
void guest_begin(struct guest *guest);
void guest_end(struct guest *guest);
/*
 * A load or store at addr in vma, as a guest makes it: through the translation if there is one that
 * allows it, else after a fault. *page is filled if there was a fault that succeeded.
 */
enum vmspace_fault_result guest_read(struct guest *guest, const struct vma *vma,
				     unsigned long addr, uint64_t *value);
enum vmspace_fault_result guest_write(struct guest *guest, const struct vma *vma,
				      unsigned long addr, uint64_t value);
/* Every translation is of the page that is there, and allows no more; the page table is sound. */
void guest_check(struct guest *guest, const struct vma *vmas, size_t count);

/* Areas: private anonymous; of the file, private or shared. */
struct vma world_anon(unsigned long start, unsigned long pages);
struct vma world_file(unsigned long start, unsigned long pages, uint64_t pgoff, bool shared);
struct vma world_shmem(unsigned long start, unsigned long pages);

#endif
