/* SPDX-License-Identifier: MIT */
/* expect.c - see expect.h */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "expect.h"

void expect_failed(const char *file, int line, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	fprintf(stderr, "%s:%d: ", file, line);
	vfprintf(stderr, format, args);
	fputc('\n', stderr);
	va_end(args);
	abort();
}
