/* SPDX-License-Identifier: MIT */
/* One line of the output of strace(1), taken apart. */
#ifndef VMSCOPE_STRACE_LINE_H
#define VMSCOPE_STRACE_LINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum strace_kind {
	STRACE_NOTHING,		/* a signal, a message, an empty line */
	STRACE_CALL,		/* name(args) = result */
	STRACE_UNFINISHED,	/* name(args <unfinished ...> */
	STRACE_RESUMED,		/* <... name resumed> args) = result */
	STRACE_EXIT,		/* +++ exited with, killed by, superseded by +++ */
	STRACE_FRAME,		/* " > file(function+0x10) [0x7f...]", by -k */
	STRACE_SUMMARY,		/* the table of -c begins: there are no more calls */
	STRACE_PARTIAL,		/* a message cut the line in two: the rest is on the next */
	STRACE_MALFORMED,
};

enum strace_clock {
	STRACE_NO_TIME,
	STRACE_OF_DAY,		/* -t, -tt: seconds since midnight */
	STRACE_ABSOLUTE,	/* -ttt */
	STRACE_RELATIVE,	/* -r: since the call before */
};

/* Texts are not NUL-terminated: they point into the line. */
struct strace_text {
	const char *at;
	size_t length;
};

struct strace_line {
	enum strace_kind kind;
	pid_t tid;			/* 0: the line does not tell */
	enum strace_clock clock;
	double time;
	struct strace_text ip;		/* of -i; length 0: none */
	struct strace_text name;	/* of the call */
	struct strace_text args;	/* up to the closing parenthesis, or as far as they go */
	struct strace_text result;	/* what follows the equals sign */
	struct strace_text body;	/* the line without what precedes the call */
	const char *why;		/* STRACE_MALFORMED: static */
};

/* Takes apart @length bytes at @text, without a newline. */
void strace_parse_line(const char *text, size_t length, struct strace_line *line);

/* Takes apart "name(args) = result" alone, as STRACE_CALL, STRACE_UNFINISHED or another kind. */
void strace_parse_body(struct strace_text body, struct strace_line *line);

enum { STRACE_ARGS = 8 };

/* Splits arguments at their commas. Returns how many there are; those beyond @max are left out. */
size_t strace_split(struct strace_text args, struct strace_text *out, size_t max);

/*
 * The value of an argument: a number, names of constants, several of both with "|". Names that are not
 * known are left out and set *@unknown, if it is not NULL; otherwise false, as for anything else.
 */
bool strace_value(struct strace_text text, uint64_t *value, bool *unknown);

/* The name of the constant that begins with @prefix and has @value; NULL: none that is known. */
const char *strace_name(const char *prefix, uint64_t value);

/* The member "@name=" of "{a=1, b=2}". False: it has none. */
bool strace_member(struct strace_text text, const char *name, struct strace_text *member);

/* A quoted string, its escapes undone, cut to @size. False: it is none. */
bool strace_string(struct strace_text text, char *buf, size_t size);

/* The path that -y adds to a descriptor: 3</usr/lib/libc.so.6>. False: there is none. */
bool strace_path(struct strace_text text, char *buf, size_t size);

/* A call's result: a value or a negative errno. False: the call has none ("?"). */
bool strace_result(struct strace_text text, int64_t *result);

bool strace_is(struct strace_text text, const char *word);

#endif
