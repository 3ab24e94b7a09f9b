/* SPDX-License-Identifier: MIT */
/* poison.h - tells AddressSanitizer, where there is one, that a block that is kept is not in use. */
#ifndef TESTS_POISON_H
#define TESTS_POISON_H

#include "sanitizer.h"

#ifdef WITH_ASAN
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(address, size) ((void)(address), (void)(size))
#define ASAN_UNPOISON_MEMORY_REGION(address, size) ((void)(address), (void)(size))
#endif

#endif
