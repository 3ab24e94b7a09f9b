/* SPDX-License-Identifier: MIT */
/*
 * migrate.c - marks of pages: a running guest's memory is copied elsewhere, first all of it, then what
 * it has written meanwhile, until little is left; then the guest stops, and the rest follows.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <mapletree/vmspace_pages.h>
#include <mapletree/vmspace_window.h>

#define HEAP  0x100000UL
#define PAGES 256UL

static size_t page;

/* Where the guest goes: a copy of each page of its heap. */
struct target {
	struct vmspace *from;
	unsigned char *heap;
	unsigned long runs[PAGES][2]; /* to be copied: found with locks held, copied without */
	unsigned int count;
};

static void note(void *ctx, unsigned long start, unsigned long end, unsigned int marks)
{
	struct target *target = ctx;

	(void)marks;
	target->runs[target->count][0] = start;
	target->runs[target->count++][1] = end;
}

/* Copy what has the mark. Returns the number of pages. */
static long transfer(struct target *target, unsigned int mark)
{
	long pages;

	target->count = 0;
	pages = vmspace_collect(target->from, HEAP, HEAP + PAGES * page, mark | VMSPACE_MARK_DIRTY,
				VMSPACE_COLLECT_CLEAR, note, target);
	for (unsigned int i = 0; i < target->count; i++) {
		unsigned long start = target->runs[i][0], size = target->runs[i][1] - start;

		if (vmspace_copy_from(target->from, target->heap + (start - HEAP), start, size) !=
		    size)
			return -1;
	}
	return pages;
}

/* The guest: writes every `step`th page from the first on. */
static int run_guest(struct vmspace *space, unsigned long step, unsigned char value)
{
	for (unsigned long n = 0; n < PAGES; n += step)
		if (vmspace_copy_to(space, HEAP + n * page + value, &value, 1) != 1)
			return -1;
	return 0;
}

static int migrate(struct vmspace *space, struct target *target)
{
	unsigned char *now = malloc(PAGES * page);
	int same;

	if (!now || run_guest(space, 2, 1))
		return 1;
	printf("all pages that there are: %ld\n", transfer(target, VMSPACE_MARK_PRESENT));
	if (run_guest(space, 8, 2))
		return 1;
	printf("written meanwhile: %ld\n", transfer(target, 0));
	if (run_guest(space, 64, 3))
		return 1;
	printf("written meanwhile: %ld\n", transfer(target, 0));
	printf("after that: %ld\n", transfer(target, 0));
	if (vmspace_copy_from(space, now, HEAP, PAGES * page) != PAGES * page)
		return 1;
	same = !memcmp(now, target->heap, PAGES * page);
	printf("the copy is %s\n", same ? "the guest's memory" : "another");
	free(now);
	return !same;
}

int main(void)
{
	struct vmspace_memfd_config memory = { .limit = (size_t)16 << 20 };
	struct target target = { 0 };
	struct vmspace_config config;
	struct vmspace_memfd *memfd;
	struct vmspace_window *window;
	int failed;

	page = (size_t)sysconf(_SC_PAGESIZE);
	target.heap = calloc(PAGES, page);
	if (!target.heap || vmspace_memfd_create(&memfd, &memory) ||
	    vmspace_window_create(&window, memfd, HEAP, PAGES * page))
		return 1;
	vmspace_config_init(&config);
	config.memory = vmspace_window_memory(window);
	if (vmspace_create(&target.from, &config) ||
	    vmspace_mmap(target.from, HEAP, PAGES * page, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, NULL, 0) != (long)HEAP)
		return 1;
	failed = migrate(target.from, &target);
	vmspace_destroy(target.from);
	vmspace_window_destroy(window);
	vmspace_memfd_destroy(memfd);
	free(target.heap);
	return failed;
}
