/* SPDX-License-Identifier: MIT */
/* Parsing a line of the output of strace(1). */
#ifndef VMSCOPE_STRACE_LINE_H
#define VMSCOPE_STRACE_LINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/types.h>

enum strace_kind {
	STRACE_NOTHING,		/* a signal, a message or an empty line */
	STRACE_CALL,		/* name(args) = result */
	STRACE_UNFINISHED,	/* name(args <unfinished ...> */
	STRACE_RESUMED,		/* <... name resumed> args) = result */
	STRACE_EXIT,		/* +++ exited with, killed by, superseded by +++ */
	STRACE_FRAME,		/* " > file(function+0x10) [0x7f...]", by -k */
	STRACE_SUMMARY,		/* the table of -c begins; no calls follow */
	STRACE_PARTIAL,		/* a message cut the line in two; the rest follows */
	STRACE_MALFORMED,
};

enum strace_clock {
	STRACE_NO_TIME,
	STRACE_OF_DAY,		/* -t, -tt: seconds since midnight */
	STRACE_ABSOLUTE,	/* -ttt */
	STRACE_RELATIVE,	/* -r: since the previous call */
};

/* A part of the line: not NUL-terminated. */
struct strace_text {
	const char *at;
	size_t length;
};

struct strace_line {
	enum strace_kind kind;
	pid_t tid;			/* 0: the line has none */
	enum strace_clock clock;
	double time;
	struct strace_text ip;		/* from -i; length 0: none */
	struct strace_text name;	/* of the call */
	struct strace_text args;	/* as far as the line has them */
	struct strace_text result;	/* after the equals sign */
	struct strace_text body;	/* the line from the call on */
	const char *why;		/* STRACE_MALFORMED: static */
};

/* Parses @length bytes at @text, a line without its newline. */
void strace_parse_line(const char *text, size_t length, struct strace_line *line);

/* Parses "name(args) = result" alone, as STRACE_CALL, STRACE_UNFINISHED or another kind. */
void strace_parse_body(struct strace_text body, struct strace_line *line);

/* Where a message, "strace: Process 123 attached", begins in @text. NULL: there is none. */
const char *strace_find_message(struct strace_text text);

enum { STRACE_ARGS = 8 };

/* Splits arguments at the commas. Returns how many there are, and stores at most @max. */
size_t strace_split(struct strace_text args, struct strace_text *out, size_t max);

/*
 * The value of an argument: numbers and names of constants, combined with "|". Unknown names are
 * skipped and set *@unknown; if @unknown is NULL, they are an error, as anything else is.
 */
bool strace_value(struct strace_text text, uint64_t *value, bool *unknown);

/* The name of the constant with @prefix and @value; NULL: unknown. */
const char *strace_name(const char *prefix, uint64_t value);

/* Finds the member "@name=" of "{a=1, b=2}". False: there is none. */
bool strace_member(struct strace_text text, const char *name, struct strace_text *member);

/* Unquotes a string into @buf, truncating it to @size bytes. False: it is not a quoted string. */
bool strace_string(struct strace_text text, char *buf, size_t size);

/* The path that -y adds to a descriptor, as in 3</usr/lib/libc.so.6>. False: there is none. */
bool strace_path(struct strace_text text, char *buf, size_t size);

/* The result of a call: a value, or a negative errno. False: it has none ("?"). */
bool strace_result(struct strace_text text, int64_t *result);

/* Inlined, so that the length of a constant is one. */
static inline bool strace_is(struct strace_text text, const char *word)
{
	return text.length == strlen(word) && memcmp(text.at, word, text.length) == 0;
}

#endif
