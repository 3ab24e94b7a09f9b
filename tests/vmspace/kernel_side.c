/* SPDX-License-Identifier: MIT */
/* kernel_side.c - reads /proc/PID, takes areas over from it, compares it with a space. */
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "kernel_side.h"

__attribute__((noreturn)) static void die(const char *what)
{
	perror(what);
	exit(2);
}

bool kernel_is_modelled(void)
{
	struct utsname name;
	int major = 0, minor = 0;

	if (uname(&name) || sscanf(name.release, "%d.%d", &major, &minor) != 2)
		die("uname");
	if (major > 6 || (major == 6 && minor >= 17))
		return true;
	fprintf(stderr, "skipped: Linux %s merges and moves areas by other rules than those of "
			"6.17 and later, which libvmspace follows\n", name.release);
	return false;
}

char *kernel_text(pid_t pid, const char *file)
{
	char path[64], *text = NULL;
	size_t size = 0, length = 0;
	ssize_t got;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, file);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		die(path);
	do {
		if (size - length < 65536) {
			size += 262144;
			text = realloc(text, size);
			if (!text)
				die("memory");
		}
		got = read(fd, text + length, size - length - 1);
		if (got < 0)
			die(path);
		length += (size_t)got;
	} while (got > 0);
	close(fd);
	text[length] = '\0';
	return text;
}

/* PAGEMAP_SCAN, newer than the distribution's headers. */
struct scan_arg {
	uint64_t size, flags, start, end, walk_end, vec, vec_len, max_pages;
	uint64_t inverted, mask, anyof, return_mask;
};
struct scan_region {
	uint64_t start, end, categories;
};
#define PAGEMAP_SCAN_CALL _IOWR('f', 16, struct scan_arg)
#define IS_FILE (1 << 2)
#define IS_PRESENT (1 << 3)
#define IS_SWAPPED (1 << 4)
#define IS_ZERO (1 << 5)

bool kernel_has_anon(pid_t pid, unsigned long start, unsigned long end)
{
	struct scan_region region;
	struct scan_arg arg = {
		.size = sizeof(arg), .start = start, .end = end, .vec = (uintptr_t)&region,
		.vec_len = 1, .max_pages = 1, .inverted = IS_FILE | IS_ZERO,
		.mask = IS_FILE | IS_ZERO, .anyof = IS_PRESENT | IS_SWAPPED,
		.return_mask = IS_FILE,
	};
	char path[64];
	int fd, found;

	snprintf(path, sizeof(path), "/proc/%d/pagemap", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		die(path);
	found = ioctl(fd, PAGEMAP_SCAN_CALL, &arg);
	if (found < 0)
		die("PAGEMAP_SCAN");
	close(fd);
	return found > 0;
}

struct line {
	unsigned long start, end, offset, inode;
	unsigned int major, minor;
	char prot[5];
	char name[1024];
};

/* sscanf() measures the whole rest of its text: give it one line only. */
static bool parse_line(const char *all, struct line *line)
{
	static char text[1024];
	size_t length = strcspn(all, "\n");
	int at = 0;

	if (length >= sizeof(text))
		length = sizeof(text) - 1;
	memcpy(text, all, length);
	text[length] = '\0';
	if (sscanf(text, "%lx-%lx %4s %lx %x:%x %lu%n", &line->start, &line->end, line->prot,
		   &line->offset, &line->major, &line->minor, &line->inode, &at) < 7)
		return false;
	at += (int)strspn(text + at, " ");
	snprintf(line->name, sizeof(line->name), "%s", text + at);
	return true;
}

/* The value of "VmFlags:", up to the end of the line. */
static vma_flags_t parse_flags(const char *at, unsigned int *unknown)
{
	char flags[256];

	snprintf(flags, sizeof(flags), "%.*s", (int)strcspn(at, "\n"), at);
	return vma_flags_parse(flags, unknown);
}

static char *next_line(char *text)
{
	char *end = strchr(text, '\n');

	return end ? end + 1 : text + strlen(text);
}

unsigned long kernel_area_start(pid_t pid, unsigned long end)
{
	char *text = kernel_text(pid, "maps"), *at;
	unsigned long start = end;
	struct line line;

	for (at = text; *at; at = next_line(at))
		if (parse_line(at, &line) && line.end == end)
			start = line.start;
	free(text);
	return start;
}

bool kernel_identity(pid_t pid, unsigned long addr, struct vma_backing *backing)
{
	char *text = kernel_text(pid, "maps"), *at;
	static struct line line;
	bool found = false;

	for (at = text; *at && !found; at = next_line(at))
		found = parse_line(at, &line) && line.start <= addr && addr < line.end;
	free(text);
	if (!found)
		return false;
	backing->dev_major = line.major;
	backing->dev_minor = line.minor;
	backing->inode = line.inode;
	backing->name = line.name;
	return true;
}

void kernel_backing_of(int fd, struct vma_backing *backing)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	struct statfs fs;
	struct stat status;
	void *at = mmap(NULL, page, PROT_READ, MAP_PRIVATE, fd, 0);

	memset(backing, 0, sizeof(*backing));
	if (at == MAP_FAILED || !kernel_identity(getpid(), (unsigned long)at, backing))
		die("mapping a file");
	munmap(at, page);
	backing->kind = VMA_BACKING_FILE;
	backing->name = strdup(backing->name);
	if (!fstatfs(fd, &fs) && (fs.f_type == 0xef53 || fs.f_type == 0x58465342 ||
				  (unsigned long)fs.f_type == 0x9123683e))
		backing->flags |= VMA_BACKING_ALIGN_HUGE;
	if (!fstat(fd, &status) && (status.st_mode & 0111))
		backing->flags |= VMA_BACKING_EXECUTABLE;
	if ((fcntl(fd, F_GETFL) & O_ACCMODE) == O_RDONLY)
		backing->flags |= VMA_BACKING_NO_WRITE;
}

static void to_area(pid_t pid, const struct line *line, struct vmspace_area *area)
{
	memset(area, 0, sizeof(*area));
	area->start = line->start;
	area->end = line->end;
	area->offset = line->offset;
	area->backing.dev_major = line->major;
	area->backing.dev_minor = line->minor;
	area->backing.inode = line->inode;
	if (line->name[0])
		area->backing.name = strdup(line->name);
	if (line->inode)
		area->backing.kind = VMA_BACKING_FILE;
	else if (line->name[0] == '[' && strcmp(line->name, "[heap]") != 0 &&
		 strcmp(line->name, "[stack]") != 0)
		area->backing.kind = VMA_BACKING_SPECIAL;
	if (line->start < 1UL << 63)
		area->has_anon = kernel_has_anon(pid, line->start, line->end);
}

/* Fields 26 .. 28 and 45 .. 47 of stat: the command's name may hold blanks. */
static void read_image(pid_t pid, struct vmspace_image *image)
{
	char *text = kernel_text(pid, "stat"), *at = strrchr(text, ')');
	unsigned long field[64] = { 0 };
	int n = 3;

	at = at + 4;
	while (n < 60 && *at) {
		at += strspn(at, " ");
		field[++n] = strtoul(at, &at, 10);
	}
	free(text);
	memset(image, 0, sizeof(*image));
	image->start_code = field[26];
	image->end_code = field[27];
	image->start_stack = field[28];
	image->start_data = field[45];
	image->end_data = field[46];
	image->start_brk = field[47];
}

void kernel_import(pid_t pid, struct vmspace *space)
{
	char *text = kernel_text(pid, "smaps"), *at;
	struct vmspace_area *areas = calloc(1024, sizeof(*areas));
	struct vmspace_image image;
	size_t count = 0;
	struct line line;
	unsigned int unknown;
	int err;

	for (at = text; *at; at = next_line(at)) {
		if (!strncmp(at, "VmFlags:", 8)) {
			areas[count - 1].flags = parse_flags(at + 8, &unknown);
		} else if (strspn(at, "0123456789abcdef") >= 8 && parse_line(at, &line)) {
			to_area(pid, &line, &areas[count++]);
		}
	}
	free(text);
	read_image(pid, &image);
	err = vmspace_exec(space, areas, count, &image);
	if (err) {
		fprintf(stderr, "vmspace_exec: %s\n", strerror(-err));
		exit(2);
	}
	for (size_t i = 0; i < count; i++)
		free((char *)areas[i].backing.name);
	free(areas);
}

static bool text_equal(const char *theirs, const char *ours, FILE *to)
{
	if (!strcmp(theirs, ours))
		return true;
	fprintf(to, "maps differ; kernel (<) and mirror (>):\n");
	while (*theirs || *ours) {
		size_t a = strcspn(theirs, "\n"), b = strcspn(ours, "\n");
		unsigned long x = *theirs ? strtoul(theirs, NULL, 16) : ~0UL;
		unsigned long y = *ours ? strtoul(ours, NULL, 16) : ~0UL;

		if (a == b && !memcmp(theirs, ours, a)) {
			theirs += a + (theirs[a] != 0);
			ours += b + (ours[b] != 0);
			continue;
		}
		if (x <= y) {
			fprintf(to, "  < %.*s\n", (int)a, theirs);
			theirs += a + (theirs[a] != 0);
		}
		if (y <= x) {
			fprintf(to, "  > %.*s\n", (int)b, ours);
			ours += b + (ours[b] != 0);
		}
	}
	return false;
}

static bool flags_equal(pid_t pid, const struct vmspace *space, FILE *to)
{
	char *text = kernel_text(pid, "smaps"), *at;
	bool equal = true;
	struct line line = { 0 };

	for (at = text; *at; at = next_line(at)) {
		struct vma_info info;
		vma_flags_t theirs;
		unsigned int unknown;
		char ours[256];

		if (strspn(at, "0123456789abcdef") >= 8) {
			parse_line(at, &line);
			continue;
		}
		if (strncmp(at, "VmFlags:", 8) || !vmspace_lookup(space, line.start, &info))
			continue;
		theirs = parse_flags(at + 8, &unknown);
		if (unknown || ((theirs ^ info.flags) & ~VMA_SOFTDIRTY)) {
			vma_flags_text(info.flags, ours, sizeof(ours));
			fprintf(to, "VmFlags of %lx-%lx: kernel%.*s, mirror %s\n", line.start,
				line.end, (int)strcspn(at + 8, "\n"), at + 8, ours);
			equal = false;
		}
	}
	free(text);
	return equal;
}

static bool counter_equal(const char *status, const char *name, unsigned long pages, FILE *to)
{
	unsigned long page = (unsigned long)sysconf(_SC_PAGESIZE), kib = 0;
	const char *at = strstr(status, name);

	if (at)
		kib = strtoul(at + strlen(name), NULL, 10);
	if (kib * 1024 == pages * page)
		return true;
	fprintf(to, "%s kernel %lu pages, mirror %lu\n", name, kib * 1024 / page, pages);
	return false;
}

static bool counters_equal(pid_t pid, const struct vmspace *space, FILE *to)
{
	char *status = kernel_text(pid, "status");
	struct vmspace_stats stats;
	bool equal;

	vmspace_stats(space, &stats);
	equal = counter_equal(status, "VmSize:", stats.total_vm, to);
	equal &= counter_equal(status, "VmLck:", stats.locked_vm, to);
	equal &= counter_equal(status, "VmData:", stats.data_vm, to);
	equal &= counter_equal(status, "VmStk:", stats.stack_vm, to);
	equal &= counter_equal(status, "VmExe:", stats.text_vm, to);
	equal &= counter_equal(status, "VmLib:", stats.lib_vm, to);
	equal &= counter_equal(status, "VmPin:", stats.pinned_vm, to);
	free(status);
	return equal;
}

bool kernel_equal(pid_t pid, const struct vmspace *space, FILE *to)
{
	char *theirs = kernel_text(pid, "maps");
	size_t size = vmspace_show(space, NULL, 0) + 1;
	char *ours = malloc(size);
	const char *reason = "";
	bool equal;

	vmspace_show(space, ours, size);
	equal = text_equal(theirs, ours, to);
	free(theirs);
	free(ours);
	equal &= flags_equal(pid, space, to);
	equal &= counters_equal(pid, space, to);
	if (!vmspace_check(space, &reason)) {
		fprintf(to, "vmspace_check: %s\n", reason);
		equal = false;
	}
	return equal;
}
