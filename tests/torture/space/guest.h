/* SPDX-License-Identifier: MIT */
/*
 * guest.h - a space as its threads see it: frames that hold one number each, and translations.
 *
 * Threads reach frames through translations, as through a TLB, and fault where there is none. So
 * a frame that is given back too early, or a translation that outlives its page, shows: a frame
 * that is not in use says so.
 */
#ifndef TORTURE_GUEST_H
#define TORTURE_GUEST_H

#include <mapletree/vmspace.h>

#include "expect.h"

#define PAGE 4096UL
#define BASE 0x100000000UL /* crosses page tables of two levels on its way */
#define GUEST_PAGES 8192UL

/* What the translation of a page is; `busy` covers the rest. */
struct translation {
	unsigned int busy;
	unsigned int access;
	uint64_t frame;
};

struct guest {
	struct vmspace_memory memory;
	struct vmspace *space;
	struct translation tlb[GUEST_PAGES];
};

/* One frame of so many, drawn at random, cannot be had; 0: all can. Frames in use. */
extern unsigned int frames_fail_one_of;
unsigned long frames_in_use(void);

/* New guests have translations. Otherwise each access is a fault, most of them of present pages. */
extern bool guests_translate;

/* A guest with an empty space; one for a child that is about to be forked from another. */
struct guest *guest_new(void);
struct guest *guest_for_child(void);
/* Ends the space, if there is one, and checks that nothing of it is left. */
void guest_end(struct guest *guest);

/* Load or store the number of page `n`, through its translation or after a fault. */
enum vmspace_fault_result guest_load(struct guest *guest, unsigned long n, uint64_t *value);
enum vmspace_fault_result guest_store(struct guest *guest, unsigned long n, uint64_t value);
/* Forget the translation of page n, as a TLB may at any time. */
void guest_forget(struct guest *guest, unsigned long n);
/* What the translation of page n allows. */
unsigned int guest_access(struct guest *guest, unsigned long n);

#endif
