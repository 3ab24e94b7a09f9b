/* SPDX-License-Identifier: MIT */
/* One run of "vmscope trace": its options, its output files, its totals. */
#include "base/session.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>

const char *guess_name(enum guess_kind kind)
{
	static const char *const names[GUESS_KINDS] = {
		[GUESS_RACED] = "raced",
		[GUESS_LOST_PERFORMED] = "lost_performed",
		[GUESS_ANON_JOINED] = "anon_joined",
		[GUESS_ANON_PARTED] = "anon_parted",
		[GUESS_ANON_EMPTIED] = "anon_emptied",
		[GUESS_ANON_INHERITED] = "anon_inherited",
		[GUESS_ANON_MOVED] = "anon_moved",
	};

	assert((unsigned int)kind < GUESS_KINDS);
	return names[kind];
}

/* Writes the whole line at once, so that it does not mix with the program's output. */
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
		return; /* only the first failure matters */
	session->failed = true;
	va_start(list, format);
	say(format, list);
	va_end(list);
}
