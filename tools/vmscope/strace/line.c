/* SPDX-License-Identifier: MIT */
/* Parsing a line of the output of strace(1). */
#include "strace/line.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* The largest PID on Linux; a larger number is a time. */
enum { PID_MAX = 1 << 22 };

static bool starts(struct strace_text text, const char *word)
{
	return text.length >= strlen(word) && memcmp(text.at, word, strlen(word)) == 0;
}

static struct strace_text skip(struct strace_text text, size_t count)
{
	return (struct strace_text){ text.at + count, text.length - count };
}

/* Sets of characters; bits. SPLIT: what matters to where arguments end. */
enum { BLANK = 1, DIGIT = 2, CLOCK = 4, ADDRESS = 8, SPACE = 16, SPLIT = 32 };

#define DIGITS(sets) \
	['0'] = (sets), ['1'] = (sets), ['2'] = (sets), ['3'] = (sets), ['4'] = (sets), \
	['5'] = (sets), ['6'] = (sets), ['7'] = (sets), ['8'] = (sets), ['9'] = (sets)

static const unsigned char sets[256] = {
	[' '] = BLANK | SPACE, ['\t'] = BLANK | SPACE, ['\n'] = SPACE, ['\v'] = SPACE,
	['\f'] = SPACE, ['\r'] = SPACE,
	[':'] = CLOCK, ['.'] = CLOCK, ['?'] = ADDRESS,
	['a'] = ADDRESS, ['b'] = ADDRESS, ['c'] = ADDRESS, ['d'] = ADDRESS, ['e'] = ADDRESS,
	['f'] = ADDRESS, DIGITS(DIGIT | CLOCK | ADDRESS),
	[','] = SPLIT, ['"'] = SPLIT, ['<'] = SPLIT, ['('] = SPLIT, [')'] = SPLIT, ['['] = SPLIT,
	[']'] = SPLIT, ['{'] = SPLIT, ['}'] = SPLIT,
};

static bool is_in(char c, unsigned int set)
{
	return sets[(unsigned char)c] & set;
}

static struct strace_text trim(struct strace_text text)
{
	while (text.length && is_in(text.at[0], SPACE))
		text = skip(text, 1);
	while (text.length && is_in(text.at[text.length - 1], SPACE))
		text.length--;
	return text;
}

static size_t span(struct strace_text text, unsigned int set)
{
	size_t count = 0;

	while (count < text.length && is_in(text.at[count], set))
		count++;
	return count;
}

/* The offset of the first @word in @text; text.length if there is none. */
static size_t find(struct strace_text text, const char *word)
{
	const char *found = memmem(text.at, text.length, word, strlen(word));

	return found ? (size_t)(found - text.at) : text.length;
}

/* Digits, perhaps with a point among them: what strtod() would read, but for the last bit. */
static double number(struct strace_text text, size_t length)
{
	double value = 0, unit = 1;
	bool fraction = false;

	for (size_t i = 0; i < length && i < text.length; i++) {
		char c = text.at[i];

		if (c == '.' && !fraction) {
			fraction = true;
			continue;
		}
		if (c < '0' || c > '9')
			break;
		value = value * 10 + (c - '0');
		unit *= fraction ? 10 : 1;
	}
	return value / unit;
}

/* "<name>" after a PID, by -Y. */
static struct strace_text skip_comm(struct strace_text text)
{
	size_t end = starts(text, "<") ? find(text, ">") : text.length;

	return end < text.length ? skip(text, end + 1) : text;
}

/* "[pid  123] " or "123  " */
static struct strace_text parse_tid(struct strace_text text, struct strace_line *line)
{
	bool bracket = starts(text, "[pid");
	struct strace_text rest = bracket ? trim(skip(text, 4)) : text;
	size_t digits = span(rest, DIGIT);
	double tid = number(rest, digits);

	if (digits == 0 || digits > 10 || tid < 1 || tid > PID_MAX)
		return text;
	rest = skip_comm(skip(rest, digits));
	if (bracket && !starts(rest, "]"))
		return text;
	if (bracket)
		rest = skip(rest, 1);
	else if (span(rest, BLANK) == 0)
		return text;
	line->tid = (pid_t)tid;
	return trim(rest);
}

/* "12:34:56.789", "1700000000.123456" or "0.000123", perhaps followed by "(+     0.000123)" */
static struct strace_text parse_time(struct strace_text text, struct strace_line *line)
{
	size_t length = span(text, CLOCK);
	struct strace_text first = { text.at, length };

	if (length == 0 || length == text.length || text.at[length] != ' ')
		return text;
	if (length >= 8 && first.at[2] == ':' && first.at[5] == ':') {
		line->clock = STRACE_OF_DAY;
		line->time = number(first, 2) * 3600 + number(skip(first, 3), 2) * 60 +
			     number(skip(first, 6), length - 6);
	} else {
		line->time = number(first, length);
		/* -r: since the previous line; -ttt: since 1970. */
		line->clock = line->time > PID_MAX ? STRACE_ABSOLUTE : STRACE_RELATIVE;
	}
	text = trim(skip(text, length));
	if (starts(text, "(+") && find(text, ")") < text.length)
		text = trim(skip(text, find(text, ")") + 1));
	return text;
}

/* "[00007f1234567890] " by -i, "[   9] " by -n */
static struct strace_text skip_brackets(struct strace_text text, struct strace_line *line)
{
	while (starts(text, "[")) {
		struct strace_text inside = trim(skip(text, 1));
		size_t digits = span(inside, ADDRESS);

		if (digits == 0 || digits >= inside.length || inside.at[digits] != ']')
			break;
		if (digits >= 8 && inside.at[0] != '?')
			line->ip = (struct strace_text){ inside.at, digits };
		text = trim(skip(inside, digits + 1));
	}
	return text;
}

static void malformed(struct strace_line *line, const char *why)
{
	line->kind = STRACE_MALFORMED;
	line->why = why;
}

/* "name(", of "name(args...". */
static bool parse_name(struct strace_text *text, struct strace_line *line)
{
	size_t length = 0;

	while (length < text->length &&
	       (isalnum((unsigned char)text->at[length]) || text->at[length] == '_' ||
		text->at[length] == '?'))
		length++;
	if (length == 0 || length == text->length || text->at[length] != '(')
		return false;
	line->name = (struct strace_text){ text->at, length };
	*text = skip(*text, length + 1);
	return true;
}

/* Splits "args) = result" at the last ")  = ". */
static bool split_result(struct strace_text text, struct strace_line *line)
{
	for (size_t at = text.length; at-- > 0;) {
		struct strace_text rest = skip(text, at);
		size_t blanks;

		if (text.at[at] != ')')
			continue;
		rest = skip(rest, 1);
		blanks = span(rest, BLANK);
		if (blanks == 0 || blanks == rest.length || rest.at[blanks] != '=')
			continue;
		line->args = (struct strace_text){ text.at, at };
		line->result = trim(skip(rest, blanks + 1));
		return line->result.length > 0;
	}
	return false;
}

static bool ends(struct strace_text *text, const char *word)
{
	size_t length = strlen(word);

	if (text->length < length || memcmp(text->at + text->length - length, word, length) != 0)
		return false;
	text->length -= length;
	return true;
}

const char *strace_find_message(struct strace_text text)
{
	static const char message[] = "strace: Process ";
	const size_t before = strlen("strace"), length = strlen(message);
	const char *at = text.at, *end = text.at + text.length;

	/* There is hardly ever a colon, if it is not in a time. */
	while ((at = memchr(at, ':', (size_t)(end - at))) != NULL) {
		const char *start = at - before;

		if ((size_t)(at - text.at) >= before && (size_t)(end - start) >= length &&
		    memcmp(start, message, length) == 0)
			return start;
		at++;
	}
	return NULL;
}

/* Cuts off a message that begins inside a line. */
static bool cut_message(struct strace_text *text)
{
	const char *message = strace_find_message(*text);

	if (!message || message == text->at)
		return false;
	text->length = (size_t)(message - text->at);
	return true;
}

static bool is_message(struct strace_text text)
{
	return starts(text, "---") || starts(text, "strace: ") || starts(text, "[ Process ") ||
	       starts(text, "<detached") || starts(text, "strace -") || starts(text, "!!!");
}

void strace_parse_body(struct strace_text body, struct strace_line *line)
{
	struct strace_text text = trim(body);

	line->body = text;
	line->kind = STRACE_CALL;
	if (text.length == 0 || is_message(text)) {
		line->kind = STRACE_NOTHING;
	} else if (starts(text, "+++")) {
		line->kind = STRACE_EXIT;
	} else if (starts(text, "% time") || starts(text, "------ ")) {
		line->kind = STRACE_SUMMARY;
	} else if (starts(text, "<... ")) {
		size_t end = find(text, " resumed>");

		line->kind = STRACE_RESUMED;
		if (end == text.length) {
			malformed(line, "'<...' without 'resumed>'");
			return;
		}
		line->name = (struct strace_text){ text.at + 5, end > 5 ? end - 5 : 0 };
		line->args = skip(text, end + strlen(" resumed>"));
	} else if (!parse_name(&text, line)) {
		malformed(line, "this is no system call");
	} else if (cut_message(&text)) {
		line->kind = STRACE_PARTIAL;
		line->args = text;
		line->body.length = (size_t)(text.at + text.length - line->body.at);
	} else if (ends(&text, "<unfinished ...>")) {
		line->kind = STRACE_UNFINISHED;
		line->args = text;
		line->body.length -= strlen("<unfinished ...>");
	} else if (ends(&text, "<detached ...>")) {
		line->kind = STRACE_NOTHING;
	} else if (!split_result(text, line)) {
		malformed(line, "the call has no result");
	}
}

void strace_parse_line(const char *text, size_t length, struct strace_line *line)
{
	struct strace_text rest = { text, length };

	*line = (struct strace_line){ .kind = STRACE_NOTHING };
	if (memchr(text, '\0', length)) {
		malformed(line, "it has a zero byte");
		return;
	}
	if (starts(rest, " > ")) {
		line->kind = STRACE_FRAME;
		line->body = trim(skip(rest, 3));
		return;
	}
	/* If a message cut the line in two, the rest may begin with a comma or a blank. */
	rest = parse_tid(trim(rest), line);
	rest = parse_time(rest, line);
	rest = skip_brackets(rest, line);
	strace_parse_body(rest, line);
}

/* The end of the path that begins at @at; a path may contain any character. */
static size_t after_path(struct strace_text args, size_t at)
{
	if (at + 1 < args.length && args.at[at + 1] == '<')
		return at + 1; /* the operator << */
	for (size_t i = at; i < args.length; i++)
		if (args.at[i] == '>' && (i + 1 == args.length || args.at[i + 1] == ','))
			return i;
	return at;
}

size_t strace_split(struct strace_text args, struct strace_text *out, size_t max)
{
	size_t count = 0, begin = 0;
	int depth = 0;
	bool quoted = false;

	args = trim(args);
	if (args.length == 0)
		return 0;
	for (size_t i = 0; i <= args.length; i++) {
		char c = i < args.length ? args.at[i] : ',';

		if (quoted && i < args.length) {
			i += c == '\\';
			quoted = c != '"';
			continue;
		}
		if (!is_in(c, SPLIT))
			continue;
		quoted = c == '"';
		if (c == '<' && i > 0 && isdigit((unsigned char)args.at[i - 1]))
			i = after_path(args, i);
		else if (c == '(' || c == '[' || c == '{')
			depth++;
		else if ((c == ')' || c == ']' || c == '}') && depth > 0)
			depth--;
		if (c != ',' || (depth > 0 && i < args.length))
			continue;
		if (count < max)
			out[count] = trim((struct strace_text){ args.at + begin, i - begin });
		count++;
		begin = i + 1;
	}
	return count < max ? count : max;
}

/*
 * The offset of the brace that closes one opened before @text; text.length if there is none. For
 * "{...} => {...}" that is the end of the input.
 */
static size_t closing_brace(struct strace_text text)
{
	size_t at = 0, open = 1;

	for (; at < text.length; at++) {
		open += text.at[at] == '{';
		open -= text.at[at] == '}';
		if (open == 0)
			break;
	}
	return at;
}

bool strace_member(struct strace_text text, const char *name, struct strace_text *member)
{
	struct strace_text members[16];
	size_t count, length = strlen(name);

	if (!starts(text, "{"))
		return false;
	text = skip(text, 1);
	text.length = closing_brace(text);
	count = strace_split(text, members, 16);
	for (size_t i = 0; i < count; i++)
		if (members[i].length > length && members[i].at[length] == '=' &&
		    memcmp(members[i].at, name, length) == 0) {
			*member = skip(members[i], length + 1);
			return true;
		}
	return false;
}

static int unescape(const char *at, const char *end, char *out)
{
	static const char letters[] = "abfnrtv", values[] = "\a\b\f\n\r\t\v";
	const char *letter;
	int value = 0, digits = 0;

	if (at < end && *at >= 'a' && (letter = strchr(letters, *at))) {
		*out = values[letter - letters];
		return 1;
	}
	if (at + 2 < end && *at == 'x' && isxdigit((unsigned char)at[1]) &&
	    isxdigit((unsigned char)at[2])) {
		const char hex[] = { at[1], at[2], '\0' };

		*out = (char)strtol(hex, NULL, 16);
		return 3;
	}
	while (digits < 3 && at + digits < end && at[digits] >= '0' && at[digits] <= '7')
		value = value * 8 + at[digits++] - '0';
	*out = digits ? (char)value : at < end ? *at : '\\';
	return digits ? digits : 1;
}

bool strace_string(struct strace_text text, char *buf, size_t size)
{
	const char *at = text.at + 1, *end = text.at + text.length;
	size_t used = 0;

	if (!starts(text, "\"") || size == 0)
		return false;
	while (at < end && *at != '"') {
		char c = *at++;

		if (c == '\\')
			at += unescape(at, end, &c);
		if (used + 1 < size)
			buf[used++] = c;
	}
	buf[used] = '\0';
	return at < end;
}

bool strace_path(struct strace_text text, char *buf, size_t size)
{
	size_t at = find(text, "<");
	size_t length = text.length;

	if (at == text.length || text.at[length - 1] != '>')
		return false;
	text = skip(text, at + 1);
	text.length--;
	/* -yy adds the type of a device: </dev/zero<char 1:5>> */
	if (text.length && text.at[text.length - 1] == '>') {
		while (text.length && text.at[text.length - 1] != '<')
			text.length--;
		text.length -= text.length > 0;
	}
	length = text.length < size ? text.length : size - 1;
	memcpy(buf, text.at, length);
	buf[length] = '\0';
	return length > 0;
}
