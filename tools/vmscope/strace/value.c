/* SPDX-License-Identifier: MIT */
/* Values in the output of strace(1): numbers, names of constants, results. */
#include <ctype.h>
#include <fcntl.h>
#include <linux/prctl.h>
#include <linux/sched.h>
#include <linux/userfaultfd.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/shm.h>

#include "strace/line.h"

#define AS(name, value) { name, sizeof(name) - 1, value }
#define NAME(name) AS(#name, (uint64_t)(unsigned int)(name))

static const struct {
	const char *name;
	size_t length;
	uint64_t value;
} names[] = {
	AS("NULL", 0), AS("MAP_FILE", 0), AS("MAP_HUGE_SHIFT", 26),
	NAME(PROT_NONE), NAME(PROT_READ), NAME(PROT_WRITE), NAME(PROT_EXEC), NAME(PROT_GROWSDOWN),
	NAME(PROT_GROWSUP), AS("PROT_SEM", 8),
	AS("PKEY_DISABLE_ACCESS", 1), AS("PKEY_DISABLE_WRITE", 2),
	NAME(MAP_SHARED), NAME(MAP_PRIVATE), NAME(MAP_SHARED_VALIDATE), NAME(MAP_FIXED),
	NAME(MAP_ANONYMOUS), NAME(MAP_ANON), AS("MAP_32BIT", 0x40), NAME(MAP_GROWSDOWN),
	NAME(MAP_DENYWRITE), NAME(MAP_EXECUTABLE), NAME(MAP_LOCKED), NAME(MAP_NORESERVE),
	NAME(MAP_POPULATE), NAME(MAP_NONBLOCK), NAME(MAP_STACK), NAME(MAP_HUGETLB), NAME(MAP_SYNC),
	NAME(MAP_FIXED_NOREPLACE), AS("MAP_UNINITIALIZED", 0x4000000), AS("MAP_DROPPABLE", 8),
	NAME(MREMAP_MAYMOVE), NAME(MREMAP_FIXED), NAME(MREMAP_DONTUNMAP),
	NAME(MADV_NORMAL), NAME(MADV_RANDOM), NAME(MADV_SEQUENTIAL), NAME(MADV_WILLNEED),
	NAME(MADV_DONTNEED), NAME(MADV_FREE), NAME(MADV_REMOVE), NAME(MADV_DONTFORK),
	NAME(MADV_DOFORK), NAME(MADV_MERGEABLE), NAME(MADV_UNMERGEABLE), NAME(MADV_HUGEPAGE),
	NAME(MADV_NOHUGEPAGE), NAME(MADV_DONTDUMP), NAME(MADV_DODUMP), NAME(MADV_WIPEONFORK),
	NAME(MADV_KEEPONFORK), NAME(MADV_COLD), NAME(MADV_PAGEOUT), NAME(MADV_POPULATE_READ),
	NAME(MADV_POPULATE_WRITE), AS("MADV_DONTNEED_LOCKED", 24), AS("MADV_COLLAPSE", 25),
	AS("MADV_GUARD_INSTALL", 102), AS("MADV_GUARD_REMOVE", 103), NAME(MADV_HWPOISON),
	NAME(MCL_CURRENT), NAME(MCL_FUTURE), NAME(MCL_ONFAULT), NAME(MLOCK_ONFAULT),
	NAME(SHM_RDONLY), NAME(SHM_RND), NAME(SHM_REMAP), NAME(SHM_EXEC), NAME(IPC_PRIVATE),
	NAME(IPC_CREAT), NAME(IPC_EXCL),
	NAME(CLONE_VM), NAME(CLONE_VFORK), NAME(CLONE_THREAD), NAME(CLONE_FILES),
	NAME(PR_SET_VMA), NAME(PR_SET_VMA_ANON_NAME),
	NAME(F_DUPFD), NAME(F_DUPFD_CLOEXEC), NAME(O_CLOEXEC), NAME(O_NONBLOCK),
	NAME(UFFDIO_API), NAME(UFFDIO_REGISTER), NAME(UFFDIO_UNREGISTER),
	NAME(UFFDIO_REGISTER_MODE_MISSING), NAME(UFFDIO_REGISTER_MODE_WP),
	NAME(UFFDIO_REGISTER_MODE_MINOR), NAME(UFFD_FEATURE_EVENT_FORK),
	NAME(UFFD_FEATURE_EVENT_REMAP), AS("UFFD_FEATURE_WP_ASYNC", 1 << 15),
};

enum { NAMES = sizeof(names) / sizeof(names[0]) };

static unsigned int digit_of(char c)
{
	if (c >= '0' && c <= '9')
		return (unsigned int)(c - '0');
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? (unsigned int)(c - 'a') + 10 : 16;
}

/* The digits of @text from @at on, all of them. */
static bool parse_digits(struct strace_text text, size_t at, unsigned int base, uint64_t *value)
{
	*value = 0;
	for (size_t i = at; i < text.length; i++) {
		unsigned int digit = digit_of(text.at[i]);

		if (digit >= base || __builtin_mul_overflow(*value, base, value) ||
		    __builtin_add_overflow(*value, digit, value))
			return false;
	}
	return text.length > at;
}

/* Parses all of @text as a C integer, perhaps with a sign. */
static bool parse_number(struct strace_text text, uint64_t *value)
{
	const bool minus = text.length && text.at[0] == '-';
	size_t at = minus;
	bool good;

	if (text.length < at + 2 || text.at[at] != '0')
		good = parse_digits(text, at, 10, value);
	else if ((text.at[at + 1] | 0x20) == 'x')
		good = parse_digits(text, at + 2, 16, value);
	else
		good = parse_digits(text, at + 1, 8, value);
	if (minus)
		*value = -*value;
	return good;
}

/* Parses a number, or the name of a constant. */
static bool parse_term(struct strace_text text, uint64_t *value)
{
	if (parse_number(text, value))
		return true;
	for (size_t i = 0; i < NAMES; i++)
		if (text.length == names[i].length &&
		    memcmp(text.at, names[i].name, text.length) == 0) {
			*value = names[i].value;
			return true;
		}
	return false;
}

const char *strace_name(const char *prefix, uint64_t value)
{
	for (size_t i = 0; i < NAMES; i++)
		if (names[i].value == value && strncmp(names[i].name, prefix, strlen(prefix)) == 0)
			return names[i].name;
	return NULL;
}

/* Parses a shift, as in "21<<MAP_HUGE_SHIFT", or a number or name alone. */
static bool parse_shifted(struct strace_text text, uint64_t *value)
{
	const char *shift = memmem(text.at, text.length, "<<", 2);
	struct strace_text left = text, right;
	uint64_t by;

	if (!shift)
		return parse_term(text, value);
	left.length = (size_t)(shift - text.at);
	right = (struct strace_text){ shift + 2, text.length - left.length - 2 };
	if (!parse_term(left, value) || !parse_term(right, &by) || by > 63)
		return false;
	*value <<= by;
	return true;
}

static struct strace_text strip(struct strace_text text)
{
	while (text.length && text.at[0] == ' ') {
		text.at++;
		text.length--;
	}
	while (text.length && text.at[text.length - 1] == ' ')
		text.length--;
	return text;
}

/* Strips the comment that -X verbose adds, and the path that -y adds. */
static struct strace_text plain(struct strace_text text)
{
	const char *comment = memmem(text.at, text.length, "/*", 2);
	size_t digits = 0;

	if (comment)
		text.length = (size_t)(comment - text.at);
	text = strip(text);
	while (digits < text.length && isdigit((unsigned char)text.at[digits]))
		digits++;
	if (digits > 0 && digits + 1 < text.length && text.at[digits] == '<' &&
	    text.at[digits + 1] != '<')
		text.length = digits;
	return text;
}

bool strace_value(struct strace_text text, uint64_t *value, bool *unknown)
{
	if (parse_number(text, value))
		return true;
	text = plain(text);
	*value = 0;
	if (text.length == 0)
		return false;
	while (text.length > 0) {
		const char *bar = memchr(text.at, '|', text.length);
		struct strace_text term = text;
		uint64_t bits = 0;

		if (bar)
			term.length = (size_t)(bar - text.at);
		if (parse_shifted(strip(term), &bits))
			*value |= bits;
		else if (unknown)
			*unknown = true;
		else
			return false;
		text.at += term.length + (bar != NULL);
		text.length -= term.length + (bar != NULL);
	}
	return true;
}

static int find_error(struct strace_text text)
{
	for (int error = 1; error < 134; error++) {
		const char *name = strerrorname_np(error);

		if (name && strace_is(text, name))
			return error;
	}
	return 0;
}

bool strace_result(struct strace_text text, int64_t *result)
{
	struct strace_text word = text;
	uint64_t value;
	int error;

	word.length = 0;
	while (word.length < text.length && text.at[word.length] != ' ' &&
	       text.at[word.length] != '<')
		word.length++;
	if (!parse_number(word, &value))
		return false;
	*result = (int64_t)value;
	if (*result != -1)
		return true;
	text.at += word.length;
	text.length -= word.length;
	text = strip(text);
	word = text;
	word.length = 0;
	while (word.length < text.length && text.at[word.length] != ' ')
		word.length++;
	error = find_error(word);
	if (error)
		*result = -error;
	return true;
}
