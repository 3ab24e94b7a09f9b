/* SPDX-License-Identifier: MIT */
/*
 * sanitizer.h - SANITIZED, and WITH_ASAN for AddressSanitizer, where the program is built with one:
 * it has an allocator, memory and calls of its own.
 */
#ifndef TESTS_SANITIZER_H
#define TESTS_SANITIZER_H

#if defined(__SANITIZE_ADDRESS__)
#define WITH_ASAN
#define SANITIZED
#elif defined(__SANITIZE_THREAD__)
#define SANITIZED
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define WITH_ASAN
#endif
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || \
	__has_feature(memory_sanitizer)
#define SANITIZED
#endif
#endif

#endif
