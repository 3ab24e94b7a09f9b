/* SPDX-License-Identifier: MIT */
/* kernel_side.h - what the kernel says about a process: maps, smaps, status, pagemap. */
#ifndef TESTS_VMSPACE_KERNEL_SIDE_H
#define TESTS_VMSPACE_KERNEL_SIDE_H

#include <stdbool.h>
#include <stdio.h>
#include <sys/types.h>

#include <mapletree/vmspace.h>

/*
 * Is the running kernel one whose rules libvmspace models (Linux 6.17 and later)? If not, says so;
 * the test then ends with TEST_SKIPPED.
 */
#define TEST_SKIPPED 77
bool kernel_is_modelled(void);
/* The whole text of a file of /proc/PID; the caller frees it. */
char *kernel_text(pid_t pid, const char *file);
/* Take over the areas of a process into a space. */
void kernel_import(pid_t pid, struct vmspace *space);
/* Any private written page in the range? */
bool kernel_has_anon(pid_t pid, unsigned long start, unsigned long end);
/* Start of the area that ends at `end`, or `end`. */
unsigned long kernel_area_start(pid_t pid, unsigned long end);
/* How the kernel shows what fd refers to; name is malloc()ed. */
void kernel_backing_of(int fd, struct vma_backing *backing);
/* Device and inode of the area at addr of a process. */
bool kernel_identity(pid_t pid, unsigned long addr, struct vma_backing *backing);

/*
 * Is everything equal: maps, VmFlags, counters? If not, prints what differs to `to`.
 */
bool kernel_equal(pid_t pid, const struct vmspace *space, FILE *to);

#endif
