/* SPDX-License-Identifier: MIT */
/* expect.h - end the program with a message unless all is as expected. */
#ifndef TORTURE_EXPECT_H
#define TORTURE_EXPECT_H

/* expect - @what holds, or else the message, as for printf(), follows where it did not. */
#define expect(what, ...) \
	do { \
		if (__builtin_expect(!(what), 0)) \
			expect_failed(__FILE__, __LINE__, __VA_ARGS__); \
	} while (0)
__attribute__((format(printf, 3, 4), noreturn))
void expect_failed(const char *file, int line, const char *format, ...);

#endif
