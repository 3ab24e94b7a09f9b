/* SPDX-License-Identifier: MIT */
/*
 * small_guest.h - guests whose pages are smaller than the host's: their calls, and what the host reaches.
 * After <cmocka.h>.
 */
#ifndef SMALL_GUEST_H
#define SMALL_GUEST_H

#include <mapletree/vmspace.h>
#include <mapletree/vmspace_memfd.h>

#define START 0x10000000UL
#define UNITS 64UL /* the host's pages in a window */
#define RW (PROT_READ | PROT_WRITE)
#define READ VMSPACE_ACCESS_READ
#define WRITE VMSPACE_ACCESS_WRITE

struct guest {
	struct vmspace *space;
	struct vmspace_window *window;
};

enum direct { NOT, READABLE, WRITABLE };

extern struct vmspace_memfd *memfd;
extern struct guest parent, child;
extern size_t page, host_page;
extern unsigned long n; /* guest pages in one of the host */
extern int pipes[2];

/* Before a test: pages of 1 KiB, or of the host's own size beside pretended ones of four times that. */
int begin_small(void **state);
int begin_pretended(void **state);

/* After it: both guests are checked and end. */
int end_guests(void **state);

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin_small, end_guests)
#define BOTH(name)                                                \
	{ #name, name, begin_small, end_guests, NULL },           \
	{ #name "_pretended", name, begin_pretended, end_guests, NULL }

struct vmspace_window *new_window(void);
void begin_space(void); /* the parent's, in its window */
void fork_guest(void);  /* the child, from the parent */
void end_guest(struct guest *guest);

/* The address of a guest page, by its number in the window. */
unsigned long at(unsigned long number);

/* The parent's calls; a file that is mapped is inode 9. */
void map(unsigned long first, unsigned long pages, int prot, int flags);
void map_anon(unsigned long first, unsigned long pages, int prot);
void unmap(unsigned long first, unsigned long pages);
void protect(unsigned long first, unsigned long pages, int prot);

/* A page, or the number in it, by vmspace_access(). */
enum vmspace_fault_result touch(struct guest *guest, unsigned long number, unsigned int access);
void put(struct guest *guest, unsigned long number, unsigned int value);
unsigned int get(struct guest *guest, unsigned long number);

/* Where the host sees that number; and whether it may read or write it, whatever the window says. */
unsigned int *host(struct guest *guest, unsigned long number);
bool reaches(struct guest *guest, unsigned long number);
bool writes(struct guest *guest, unsigned long number);

/* How the host's page `unit` is mapped, and that the window says so. */
void check_unit(struct guest *guest, unsigned long unit, enum direct direct);

#endif
