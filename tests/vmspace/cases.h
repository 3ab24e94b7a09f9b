/* SPDX-License-Identifier: MIT */
/* cases.h - calls made for real and in libvmspace, for tests of one rule each. */
#ifndef CASES_H
#define CASES_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "check/pair.h"
#include "mirror/backing.h"
#include "../../src/vmspace/mman_names.h"

#define PAGE 4096UL
#define BASE 0x10000000000UL
#define RW (PROT_READ | PROT_WRITE)
#define AT(page) (BASE + (page) * PAGE)
#define ANON (MAP_PRIVATE | MAP_ANONYMOUS)
#define FIXED (ANON | MAP_FIXED)
#define MREMAP_STAYS 4 /* MREMAP_DONTUNMAP */
#define DROPPABLE 8 /* MAP_DROPPABLE */

/* The pair that a case runs on, from case_start() to case_end(); the request made last. */
extern struct pair pair;
extern struct vmspace_request req;

#define CASE(name) cmocka_unit_test_setup_teardown(name, case_start, case_end)
#define MIRRORED(name) { #name " (mirror)", name, case_start_mirror, case_end, NULL }

/*
 * Is the running kernel one that libvmspace follows? If not, says so; the test then is to be
 * skipped.
 */
#define TEST_SKIPPED 77
bool case_possible(void);

/* Ends the test that runs, which cannot be made here; says why. */
void case_skip(const char *why);

/* Does the running kernel follow this rule of docs/kernels.md? */
bool has_rule(const char *name);

/* What a program exits with of whose @tests so many @failed: TEST_SKIPPED if all were skipped. */
int case_status(int failed, size_t tests);

/*
 * Before the first case: every puppet gets this file, too, whose descriptor is taken over; for
 * vmspace_mmap.backing. False: @fd is none.
 */
bool case_add_file(struct backing_file *file, int fd);

int case_start(void **state);
int case_start_mirror(void **state); /* libvmspace knows only what a tracer would */
int case_end(void **state);

/* Makes req in both; they must agree. Returns the result. */
long both(struct pair *p);

/* An empty request, in req. */
struct vmspace_request *new_req(enum vmspace_op op);

/* Calls, with lengths in pages; each returns the result. */
long map(unsigned long addr, unsigned long pages, int prot, int flags);
long map_file(enum puppet_file file, unsigned long addr, unsigned long pages, int prot, int flags,
	      unsigned long page_offset);
long unmap(unsigned long addr, unsigned long pages);
long protect(unsigned long addr, unsigned long pages, int prot);
long remap(unsigned long addr, unsigned long pages, unsigned long new_pages, int flags,
	   unsigned long to);
long advise(unsigned long addr, unsigned long pages, int advice);
long touch_in(struct pair *p, unsigned long addr);
long touch(unsigned long addr);
long set_brk(unsigned long to);

/* The counters of the pair's space. */
struct vmspace_stats now(void);

/* Soft and hard limit (VMSPACE_NO_LIMIT: as it is), bytes, of the puppet and of the space. */
void set_limits(int which, unsigned long soft, unsigned long hard);
void set_limit(int which, unsigned long pages);

/* Both lose all capabilities. */
void drop_privileges(void);

/* How many neighbours the last call judged so. */
unsigned int count_verdict(enum vma_verdict verdict);

/* How many areas reach into [from, to); into the pages that cases use. */
unsigned long areas_from(const struct pair *p, unsigned long from, unsigned long to);
unsigned long areas(void);

#endif
