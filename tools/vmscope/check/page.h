/* SPDX-License-Identifier: MIT */
/* The pages of this machine. */
#ifndef VMSCOPE_CHECK_PAGE_H
#define VMSCOPE_CHECK_PAGE_H

#include <unistd.h>

#define PAGE page_bytes()
#define HUGE_PAGE (PAGE * (PAGE / sizeof(void *)))
enum { PAGE_BYTES_MAX = 65536 }; /* of any machine */

static inline unsigned long page_bytes(void)
{
	static unsigned long bytes;

	if (!bytes)
		bytes = (unsigned long)sysconf(_SC_PAGESIZE);
	return bytes;
}

#endif
