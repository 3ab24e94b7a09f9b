/* SPDX-License-Identifier: MIT */
/* show.c - describes areas: the text of /proc/PID/maps, VmFlags, struct vma_info. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <urcu/urcu-bp.h>

#include "find.h"
#include "info.h"
#include "rules.h"
#include "show.h"
#include "sync.h"

#define NAME_COLUMN 73
#define GATE_START 0xffffffffff600000ULL

/* Output that is counted even if it does not fit, as with snprintf. */
struct text {
	char *buf;
	size_t size, length;
};

static void put(struct text *t, const char *from, size_t length)
{
	if (t->length < t->size) {
		size_t room = t->size - t->length;

		memcpy(t->buf + t->length, from, length < room ? length : room);
	}
	t->length += length;
}

static void put_string(struct text *t, const char *string)
{
	put(t, string, strlen(string));
}

static void finish(struct text *t)
{
	if (t->size)
		t->buf[t->length < t->size ? t->length : t->size - 1] = '\0';
}

/*
 * Digits by hand: printf() takes longer than all else that a line of maps needs. Both return the
 * end.
 */
static char *put_hex(char *to, unsigned long long value, unsigned int least_digits)
{
	unsigned int digits = value ? (unsigned int)(67 - __builtin_clzll(value)) / 4 : 0;
	char *end = to + (digits > least_digits ? digits : least_digits);

	for (char *at = end; at > to; value >>= 4)
		*--at = "0123456789abcdef"[value & 15];
	return end;
}

static char *put_decimal(char *to, unsigned long long value)
{
	char digits[20], *first = digits + sizeof(digits);

	do
		*--first = (char)('0' + value % 10);
	while (value /= 10);
	return mempcpy(to, first, (size_t)(digits + sizeof(digits) - first));
}

/* A newline in a path is shown as \012. */
static void put_path(struct text *t, const char *path)
{
	for (size_t length; *path; path += length) {
		length = strcspn(path, "\n");
		put(t, path, length);
		if (path[length]) {
			put_string(t, "\\012");
			length++;
		}
	}
}

static void pad_to_name(struct text *t, size_t line_start)
{
	do
		put(t, " ", 1);
	while (t->length - line_start < NAME_COLUMN);
}

static bool is_heap(const struct vmspace *space, const struct vma *vma)
{
	if (!rule_applies(&space->config, RULE_HEAP_NAME_INSIDE))
		return vma->start <= space->image.brk && vma->end >= space->image.start_brk;
	return vma->start < space->image.brk && vma->end > space->image.start_brk;
}

static bool is_stack(const struct vmspace *space, const struct vma *vma)
{
	return vma->start <= space->image.start_stack && vma->end >= space->image.start_stack;
}

static void put_name(struct text *t, size_t line, const struct vmspace *space,
		     const struct vma *vma)
{
	const char *open = NULL, *name = NULL;

	if (vma->backing) {
		if (vma->name)
			open = "[anon_shmem:";
		else
			name = vma->backing->is.name;
	} else if (is_heap(space, vma)) {
		name = "[heap]";
	} else if (is_stack(space, vma)) {
		name = "[stack]";
	} else if (vma->name) {
		open = "[anon:";
	}
	if (!open && !name)
		return;
	pad_to_name(t, line);
	if (open) {
		put_string(t, open);
		put_string(t, vma->name->text);
		put_string(t, "]");
	} else {
		put_path(t, name);
	}
}

/* Longer than all that comes before the name: five numbers of up to 16 digits, one of 20. */
enum { FIELDS_MAX = 5 * 16 + 20 + 16 };

static void put_area(struct text *t, const struct vmspace *space, const struct vma *vma)
{
	const struct vma_backing *is = vma->backing ? &vma->backing->is : NULL;
	char fields[FIELDS_MAX], *to = fields;
	size_t line = t->length;

	to = put_hex(to, vma->start, 8);
	*to++ = '-';
	to = put_hex(to, vma->end, 8);
	*to++ = ' ';
	*to++ = vma->flags & VMA_READ ? 'r' : '-';
	*to++ = vma->flags & VMA_WRITE ? 'w' : '-';
	*to++ = vma->flags & VMA_EXEC ? 'x' : '-';
	*to++ = vma->flags & VMA_MAYSHARE ? 's' : 'p';
	*to++ = ' ';
	to = put_hex(to, info_offset(space, vma), 8);
	*to++ = ' ';
	to = put_hex(to, is ? is->dev_major : 0, 2);
	*to++ = ':';
	to = put_hex(to, is ? is->dev_minor : 0, 2);
	*to++ = ' ';
	to = put_decimal(to, is ? is->inode : 0);
	*to++ = ' ';
	put(t, fields, (size_t)(to - fields));
	put_name(t, line, space, vma);
	put_string(t, "\n");
}

static void put_gate(struct text *t, const struct vmspace *space)
{
	size_t line = t->length;

	put_string(t, "ffffffffff600000-ffffffffff601000 ");
	put_string(t, space->image.vsyscall_read ? "r-xp" : "--xp");
	put_string(t, " 00000000 00:00 0 ");
	pad_to_name(t, line);
	put_string(t, "[vsyscall]\n");
}

size_t vmspace_show(const struct vmspace *space, char *buf, size_t size)
{
	struct text t = { buf, size, 0 };
	MA_STATE(mas, (struct maple_tree *)&space->tree, 0, 0);
	const struct vma *vma;

	sync_enter(space);
	mas_for_each(&mas, vma, ULONG_MAX)
		put_area(&t, space, vma);
	if (space->image.vsyscall)
		put_gate(&t, space);
	sync_leave(space);
	finish(&t);
	return t.length;
}

/* Format one line into *buf, which grows as needed. Returns its length; 0: no memory. */
static size_t one_line(const struct vmspace *space, const struct vma *vma, char **buf, size_t *size)
{
	for (;;) {
		struct text t = { *buf, *size, 0 };
		char *bigger;

		if (vma)
			put_area(&t, space, vma);
		else
			put_gate(&t, space);
		finish(&t);
		if (t.length < *size)
			return t.length;
		bigger = realloc(*buf, t.length + 1);
		if (!bigger)
			return 0;
		*buf = bigger;
		*size = t.length + 1;
	}
}

int vmspace_show_lines(const struct vmspace *space,
		       int (*emit)(void *ctx, const char *line, size_t length), void *ctx)
{
	MA_STATE(mas, (struct maple_tree *)&space->tree, 0, 0);
	const struct vma *vma;
	char *buf = NULL;
	size_t size = 0, length;
	int result = 0;

	sync_enter(space);
	mas_for_each(&mas, vma, ULONG_MAX) {
		length = one_line(space, vma, &buf, &size);
		result = length ? emit(ctx, buf, length) : -ENOMEM;
		if (result)
			break;
	}
	if (!result && space->image.vsyscall) {
		length = one_line(space, NULL, &buf, &size);
		result = length ? emit(ctx, buf, length) : -ENOMEM;
	}
	sync_leave(space);
	free(buf);
	return result;
}

size_t vmspace_show_area(const struct vmspace *space, unsigned long addr, char *buf, size_t size)
{
	struct text t = { buf, size, 0 };
	const struct vma *vma;

	sync_enter(space);
	vma = find_at(space, addr);
	if (vma)
		put_area(&t, space, vma);
	else if (space->image.vsyscall && addr >= GATE_START)
		put_gate(&t, space);
	sync_leave(space);
	finish(&t);
	return t.length;
}

/* In the order in which the kernel prints them. */
static const struct {
	char text[3];
	vma_flags_t flag;
} letters[] = {
	{ "rd", VMA_READ }, { "wr", VMA_WRITE }, { "ex", VMA_EXEC }, { "sh", VMA_SHARED },
	{ "mr", VMA_MAYREAD }, { "mw", VMA_MAYWRITE }, { "me", VMA_MAYEXEC },
	{ "ms", VMA_MAYSHARE }, { "gd", VMA_GROWSDOWN }, { "pf", VMA_PFNMAP },
	{ "lo", VMA_LOCKED }, { "io", VMA_IO }, { "sr", VMA_SEQ_READ }, { "rr", VMA_RAND_READ },
	{ "dc", VMA_DONTCOPY }, { "de", VMA_DONTEXPAND }, { "lf", VMA_LOCKONFAULT },
	{ "ac", VMA_ACCOUNT }, { "nr", VMA_NORESERVE }, { "ht", VMA_HUGETLB }, { "sf", VMA_SYNC },
	{ "ar", VMA_ARCH_1 }, { "bt", VMA_BTI }, { "wf", VMA_WIPEONFORK }, { "dd", VMA_DONTDUMP },
	{ "sd", VMA_SOFTDIRTY }, { "mm", VMA_MIXEDMAP }, { "hg", VMA_HUGEPAGE },
	{ "nh", VMA_NOHUGEPAGE }, { "mg", VMA_MERGEABLE }, { "um", VMA_UFFD_MISSING },
	{ "uw", VMA_UFFD_WP }, { "ui", VMA_UFFD_MINOR }, { "ss", VMA_SHADOW_STACK },
	{ "dp", VMA_DROPPABLE }, { "sl", VMA_SEALED }, { "gu", VMA_MAYBE_GUARD },
	{ "bm", VMA_BY_MMAP },
};

#define LETTERS (sizeof(letters) / sizeof(letters[0]))

size_t vma_flags_text(vma_flags_t flags, char *buf, size_t size)
{
	struct text t = { buf, size, 0 };

	for (size_t i = 0; i < LETTERS; i++) {
		if (flags & letters[i].flag) {
			put(&t, letters[i].text, 2);
			put(&t, " ", 1);
		}
	}
	finish(&t);
	return t.length;
}

static vma_flags_t flag_of(const char *pair)
{
	for (size_t i = 0; i < LETTERS; i++)
		if (!memcmp(pair, letters[i].text, 2))
			return letters[i].flag;
	return 0;
}

vma_flags_t vma_flags_parse(const char *text, unsigned int *unknown)
{
	vma_flags_t flags = 0;

	if (unknown)
		*unknown = 0;
	while (*(text += strspn(text, " \t\n"))) {
		size_t length = strcspn(text, " \t\n");
		vma_flags_t flag = length == 2 ? flag_of(text) : 0;

		flags |= flag;
		if (!flag && unknown)
			(*unknown)++;
		text += length;
	}
	return flags;
}

void show_info(const struct vmspace *space, const struct vma *vma, struct vma_info *info)
{
	info_fill(space, vma, info);
}

typedef struct vma *(*find_fn)(const struct vmspace *space, unsigned long addr);

/*
 * Beside calls and faults of any thread, and of the one that this interrupts: an area in the tree
 * does not change (change.h), so whatever is found was there as it is told. Within the section
 * neither the area nor its names are freed.
 */
static __attribute__((noinline)) bool look_shared(const struct vmspace *space, find_fn find,
						  unsigned long addr, struct vma_info *info)
{
	const struct vma *vma;

	urcu_bp_read_lock();
	vma = find(space, addr);
	if (vma)
		show_info(space, vma, info);
	urcu_bp_read_unlock();
	return vma;
}

static inline bool look(const struct vmspace *space, find_fn find, unsigned long addr,
		 struct vma_info *info)
{
	const struct vma *vma;

	if (__builtin_expect(space->sync != NULL, 0))
		return look_shared(space, find, addr, info);
	vma = find(space, addr);
	if (vma)
		show_info(space, vma, info);
	return vma;
}

bool vmspace_lookup(const struct vmspace *space, unsigned long addr, struct vma_info *info)
{
	return look(space, find_at, addr, info);
}

bool vmspace_next(const struct vmspace *space, unsigned long addr, struct vma_info *info)
{
	return look(space, find_first, addr, info);
}

bool vmspace_prev(const struct vmspace *space, unsigned long addr, struct vma_info *info)
{
	return look(space, find_before, addr, info);
}
