/* SPDX-License-Identifier: MIT */
/* advice.h - madvise()'s advice that the C library's headers may not know yet. After <sys/mman.h>. */
#ifndef TESTS_VMSPACE_ADVICE_H
#define TESTS_VMSPACE_ADVICE_H

#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ 22
#define MADV_POPULATE_WRITE 23
#endif
#ifndef MADV_DONTNEED_LOCKED
#define MADV_DONTNEED_LOCKED 24
#endif
#ifndef MADV_GUARD_INSTALL
#define MADV_GUARD_INSTALL 102
#define MADV_GUARD_REMOVE 103
#endif

#endif
