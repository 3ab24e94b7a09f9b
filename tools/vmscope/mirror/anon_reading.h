/* SPDX-License-Identifier: MIT */
/*
 * Whether an area has anonymous pages, where the kernel has no PAGEMAP_SCAN (before Linux 6.7).
 *
 * /proc/PID/pagemap shows the zero page like an anonymous page that several processes share; then
 * smaps tells which it is, but only of the whole area. It also does for ranges too large to be read
 * page by page; there the huge zero page is only looked for in the first 16 GiB.
 */
#ifndef VMSCOPE_MIRROR_ANON_READING_H
#define VMSCOPE_MIRROR_ANON_READING_H

#include "mirror/kernel.h"

/* See kernel_has_anon(). */
bool anon_by_reading(struct kernel_view *view, unsigned long start, unsigned long end);

#endif
