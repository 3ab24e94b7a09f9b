/* SPDX-License-Identifier: MIT */
/* What one run of "vmscope trace" knows: its options, where it writes, and what it has counted. */
#include "session.h"

#include <stdarg.h>
#include <stdio.h>

/* One write for the whole line, so that it does not mix with the program's own. */
static void __attribute__((format(printf, 1, 0))) say(const char *format, va_list list)
{
	char line[1024];

	vsnprintf(line, sizeof(line), format, list);

	fprintf(stderr, "vmscope: %s\n", line);
}

void session_say(const char *format, ...)
{
	va_list list;

	va_start(list, format);
	say(format, list);
	va_end(list);
}

void session_fail(struct session *session, const char *format, ...)
{
	va_list list;

	if (session->failed)
		return; /* the first reason is the one that matters */
	session->failed = true;
	va_start(list, format);
	say(format, list);
	va_end(list);
}
