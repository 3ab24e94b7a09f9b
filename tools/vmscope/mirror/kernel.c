/* SPDX-License-Identifier: MIT */
/* What the kernel shows of one address space: /proc/PID/maps, pagemap, status. */
#include "mirror/kernel.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/uio.h>
#include <unistd.h>

/* PAGEMAP_SCAN (Documentation/admin-guide/mm/pagemap.rst), since Linux 6.7. */
struct scan_arg {
	uint64_t size, flags, start, end, walk_end, vec, vec_len, max_pages;
	uint64_t category_inverted, category_mask, category_anyof_mask, return_mask;
};
struct scan_region {
	uint64_t start, end, categories;
};
#define SCAN_IOCTL _IOWR('f', 16, struct scan_arg)
enum { SCAN_FILE = 1 << 2, SCAN_PRESENT = 1 << 3, SCAN_SWAPPED = 1 << 4, SCAN_ZERO = 1 << 5,
       SCAN_HUGE = 1 << 6, SCAN_GUARD = 1 << 8 /* since Linux 6.16 */ };

#define HUGE_LEAST (2UL << 20) /* the smallest PMD-sized huge page */

static int open_file(pid_t tid, const char *name)
{
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/%s", (int)tid, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	return fd >= 0 ? fd : -errno;
}

static bool can_scan(int pagemap_fd)
{
	struct scan_arg nothing = { .size = sizeof(nothing) };

	return ioctl(pagemap_fd, SCAN_IOCTL, &nothing) >= 0 || errno != ENOTTY;
}

int kernel_open(struct kernel_view *view, pid_t tid)
{
	int fd = open_file(tid, "maps");

	if (fd < 0)
		return fd;
	view->maps_fd = fd;
	/* If the kernel has no pagemap, areas look untouched. */
	fd = open_file(tid, "pagemap");
	view->pagemap_fd = fd < 0 ? -1 : fd;
	view->no_scan = fd >= 0 && !can_scan(fd);
	if (view->no_scan) {
		fd = open_file(tid, "smaps");
		view->smaps_fd = fd < 0 ? -1 : fd;
	}
	return 0;
}

void kernel_close(struct kernel_view *view)
{
	if (view->maps_fd >= 0)
		close(view->maps_fd);
	if (view->pagemap_fd >= 0)
		close(view->pagemap_fd);
	if (view->smaps_fd >= 0)
		close(view->smaps_fd);
	free(view->text);
	free(view->line);
	*view = (struct kernel_view)KERNEL_VIEW_INIT;
}

ssize_t kernel_read_all(int fd, char **text, size_t *capacity)
{
	size_t length = 0;

	for (;;) {
		ssize_t got;

		if (length + 4097 > *capacity) {
			size_t wanted = *capacity ? *capacity * 2 : 32768;
			char *larger = realloc(*text, wanted);

			if (!larger)
				return -ENOMEM;
			*text = larger;
			*capacity = wanted;
		}
		got = pread(fd, *text + length, *capacity - length - 1, (off_t)length);
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return -errno;
		if (got == 0)
			break;
		length += (size_t)got;
	}
	(*text)[length] = '\0';
	return (ssize_t)length;
}

int kernel_read_maps(struct kernel_view *view)
{
	ssize_t length = kernel_read_all(view->maps_fd, &view->text, &view->capacity);

	view->text_current = length > 0;
	view->length = length > 0 ? (size_t)length : 0;
	return length > 0 ? 0 : length == 0 ? -ESRCH : (int)length;
}

/*
 * Finds the first page in [start, end) that has all categories of @with, none of @without and,
 * unless 0, one of @any. Returns 1 with its address in *@at, 0 if there is none, -1 with errno.
 */
static int scan(const struct kernel_view *view, unsigned long start, unsigned long end,
		uint64_t with, uint64_t without, uint64_t any, unsigned long *at)
{
	struct scan_region region = { .start = 0 };
	struct scan_arg arg = {
		.size = sizeof(arg),
		.start = start,
		.end = end,
		.vec = (uintptr_t)&region,
		.vec_len = 1,
		.max_pages = 1,
		.category_inverted = without,
		.category_mask = with | without,
		.category_anyof_mask = any,
		.return_mask = SCAN_PRESENT,
	};
	int found = ioctl(view->pagemap_fd, SCAN_IOCTL, &arg);

	*at = region.start;
	return found > 0 ? 1 : found;
}

bool kernel_first_guard(const struct kernel_view *view, unsigned long start, unsigned long end,
			unsigned long *at)
{
	return view->pagemap_fd >= 0 && scan(view, start, end, SCAN_GUARD, 0, 0, at) == 1;
}

/* Mapping the huge zero page sets up an anon_vma; mapping the small one does not. */
static bool has_huge_zero(const struct kernel_view *view, unsigned long start, unsigned long end)
{
	unsigned long at;

	return end - start >= HUGE_LEAST &&
	       scan(view, start, end, SCAN_ZERO | SCAN_HUGE, 0, 0, &at) == 1;
}

bool kernel_has_anon(struct kernel_view *view, unsigned long start, unsigned long end)
{
	const uint64_t without = SCAN_FILE | SCAN_ZERO | (view->no_guards ? 0 : SCAN_GUARD);
	unsigned long at;
	int found;

	assert(start < end);
	if (view->pagemap_fd < 0)
		return false;
	if (view->no_scan)
		return anon_by_reading(view, start, end);
	found = scan(view, start, end, 0, without, SCAN_PRESENT | SCAN_SWAPPED, &at);
	if (found >= 0)
		return found > 0 || has_huge_zero(view, start, end);
	/* Before Linux 6.16 the category does not exist, and guard pages look swapped. */
	if (errno != EINVAL || view->no_guards)
		return false;
	view->no_guards = true;
	return kernel_has_anon(view, start, end);
}

bool kernel_is_gate(const struct vmspace_line *line)
{
	static const char name[] = "[vsyscall]";

	return line->name_length == strlen(name) && memcmp(line->name, name, strlen(name)) == 0;
}

/* Binary search over the lines. */
bool kernel_find_line(const struct kernel_view *view, unsigned long addr, struct vmspace_line *line)
{
	const char *low = view->text, *high = view->text + view->length;

	while (low < high) {
		const char *at = low + (high - low) / 2;
		unsigned long start, end;
		char *rest;

		while (at > low && at[-1] != '\n')
			at--;
		start = strtoul(at, &rest, 16);
		end = *rest == '-' ? strtoul(rest + 1, NULL, 16) : 0;
		if (addr >= start && addr < end)
			return vmspace_parse_line(at, line) != NULL;
		if (addr < start)
			high = at;
		else
			low = strchrnul(at, '\n') + 1;
	}
	return false;
}

char *kernel_read_file(pid_t tid, const char *name)
{
	char *text = NULL;
	size_t capacity = 0;
	int fd = open_file(tid, name);
	ssize_t length;

	if (fd < 0) {
		errno = -fd;
		return NULL;
	}
	length = kernel_read_all(fd, &text, &capacity);
	close(fd);
	if (length >= 0)
		return text;
	free(text);
	errno = (int)-length;
	return NULL;
}

vma_flags_t kernel_driver_flags(pid_t tid, unsigned long addr)
{
	const vma_flags_t by_drivers = VMA_IO | VMA_PFNMAP | VMA_MIXEDMAP | VMA_DONTEXPAND |
				       VMA_DONTDUMP | VMA_DONTCOPY | VMA_ARCH_1;
	char *text = kernel_read_file(tid, "smaps");
	const char *at = text;
	struct vmspace_entry entry;
	vma_flags_t flags = 0;

	while (at && (at = vmspace_parse_entry(at, &entry)))
		if (addr >= entry.line.start && addr < entry.line.end)
			flags = entry.flags;
	free(text);
	return flags & by_drivers;
}

void kernel_read_command(pid_t pid, char *buf, size_t size)
{
	char *comm = kernel_read_file(pid, "comm");

	snprintf(buf, size, "%.*s", comm ? (int)strcspn(comm, "\n") : 1, comm ? comm : "?");
	free(comm);
}

unsigned long kernel_status_number(const char *status, const char *key, int base,
				   unsigned long otherwise)
{
	size_t length = strlen(key);

	for (const char *at = status; *at; at = strchrnul(at, '\n') + 1) {
		if (strncmp(at, key, length) == 0)
			return strtoul(at + length, NULL, base);
		if (*strchrnul(at, '\n') == '\0')
			break;
	}
	return otherwise;
}

unsigned long kernel_file_number(pid_t tid, const char *name, const char *key, int base,
				 unsigned long otherwise)
{
	char *text = kernel_read_file(tid, name);
	unsigned long number = text ? kernel_status_number(text, key, base, otherwise) : otherwise;

	free(text);
	return number;
}

unsigned long kernel_setting(const char *name)
{
	unsigned long value = 0;
	char path[64];
	FILE *file;

	snprintf(path, sizeof(path), "/proc/sys/%s", name);
	file = fopen(path, "re");
	if (file && fscanf(file, "%lu", &value) != 1)
		value = 0;
	if (file)
		fclose(file);
	return value;
}

const char *kernel_reason(int error)
{
	return error == EMFILE ? "Too many open files (ulimit -Hn allows vmscope no more)" :
				 strerror(error);
}

bool kernel_is_asleep(pid_t tid)
{
	char *text = kernel_read_file(tid, "stat");
	const char *name_end = text ? strrchr(text, ')') : NULL;
	bool asleep = name_end && (strncmp(name_end, ") S", 3) == 0 ||
				   strncmp(name_end, ") D", 3) == 0);

	free(text);
	return asleep;
}

size_t kernel_read_memory(pid_t tid, unsigned long addr, void *buf, size_t size)
{
	struct iovec here = { buf, size };
	struct iovec there = { (void *)addr, size };
	ssize_t got = process_vm_readv(tid, &here, 1, &there, 1, 0);

	return got > 0 ? (size_t)got : 0;
}
