/* SPDX-License-Identifier: MIT */
/* config_layout.c - where the addresses of a process end, found out by mapping pages there. */
#include <errno.h>
#include <limits.h>
#include <sys/auxv.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "config.h"
#include "mman_names.h"

#define LONG_BITS ((unsigned int)(CHAR_BIT * sizeof(long)))

/*
 * Not by mmap(): ThreadSanitizer asks for address 0 in place of one that it does not know. On
 * s390x, where there is no such sanitizer, the system call takes its arguments in another way.
 */
static long map_page(unsigned long addr, unsigned long page)
{
	const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE;

#ifdef __s390x__
	return (long)mmap((void *)addr, page, PROT_NONE, flags, -1, 0);
#elif defined(SYS_mmap2)
	return syscall(SYS_mmap2, addr, page, PROT_NONE, flags, -1, 0L);
#else
	return syscall(SYS_mmap, addr, page, PROT_NONE, flags, -1, 0L);
#endif
}

/* Is the page one of the process's? With all addresses used up by RLIMIT_AS, none seems to be. */
static bool is_inside(unsigned long addr, unsigned long page)
{
	long at = map_page(addr, page);

	if (at == -1)
		return errno == EEXIST;
	syscall(SYS_munmap, at, page);
	return (unsigned long)at == addr;
}

/* The number of address bits below which the main thread's stack begins. */
static unsigned int stack_bits(void)
{
	unsigned long top = getauxval(AT_EXECFN); /* a string above the stack */

	return top ? LONG_BITS - (unsigned int)__builtin_clzl(top) : 0;
}

/* 1 << bits, less what is left out below. With all bits of a long: the last address, rounded. */
static unsigned long end_of(unsigned int bits, unsigned long left_out, unsigned long page)
{
	if (bits >= LONG_BITS)
		return -(left_out ? left_out : page);
	return (1UL << bits) - left_out;
}

static void set(struct vmspace_config *config, unsigned int bits, unsigned int window_bits,
		unsigned long left_out)
{
	unsigned long page = config->page_size;
	unsigned int part = 3;

#ifdef __aarch64__
	part = 4;
#endif
	config->task_size = end_of(bits, left_out, page);
	config->map_window = end_of(window_bits, left_out, page);
	config->mmap_base_legacy = (config->map_window / part + page - 1) & ~(page - 1);
}

/*
 * User space ends at a power of two, or on x86 a page below. The stack is right below the end of
 * what is used unless asked for (map_window); with five-level page tables, or 52 bits on arm64,
 * there is more above (up to task_size).
 */
void config_probe_layout(struct vmspace_config *config)
{
	unsigned long page = config->page_size;
	unsigned int least = stack_bits();

	for (unsigned int bits = LONG_BITS; least && bits >= least; bits--) {
		unsigned long end = bits < LONG_BITS ? 1UL << bits : 0;

		if (is_inside(end - page, page)) {
			set(config, bits, least, 0);
			return;
		}
		if (is_inside(end - 2 * page, page)) {
			set(config, bits, least, page);
			return;
		}
	}
	/* Nothing can be mapped: that of most processes. */
#ifdef __x86_64__
	set(config, 47, 47, page);
#else
	set(config, least ? least : LONG_BITS - 16, least ? least : LONG_BITS - 16, 0);
#endif
}
