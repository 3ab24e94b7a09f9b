/* SPDX-License-Identifier: MIT */
/* Areas as the kernel tells of them, in libvmspace's terms. */
#include "watch/areas.h"

#include <fcntl.h>
#include <mapletree/maple_tree.h>
#include <mapletree/vmspace_proc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "mirror/backing.h"

/* What is known of a file, by its device and inode: names and properties take system calls. */
struct known_file {
	struct known_file *next;
	__u32 dev;
	__u64 inode;
	unsigned int flags;		/* VMA_BACKING_* of its file system */
	enum vma_backing_kind kind;
	unsigned long huge_size;
	char *name;
	bool unseen;			/* it is the last part of the path alone */
};

/* Where files were seen. */
struct directory {
	struct directory *next;
	char path[];
};

static struct known_file *known[256];
static struct directory *directories;
static struct maple_tree open_files = MTREE_INIT(open_files, 0);	/* the kernel's -> our number */
static unsigned long last_open_file;

enum { DEV_SHIFT = 20, REGULAR = 0100000, FILE_TYPE = 0170000, MAY_READ = 1, MAY_WRITE = 2 };

vma_flags_t areas_flags(__u64 vm_flags)
{
	/* vm_flags has the same bits 0 to 8; the others that matter here: */
	static const struct { unsigned int bit; vma_flags_t flag; } table[] = {
		{ 10, VMA_PFNMAP }, { 13, VMA_LOCKED }, { 14, VMA_IO }, { 15, VMA_SEQ_READ },
		{ 16, VMA_RAND_READ }, { 17, VMA_DONTCOPY }, { 18, VMA_DONTEXPAND },
		{ 19, VMA_LOCKONFAULT }, { 20, VMA_ACCOUNT }, { 21, VMA_NORESERVE },
		{ 22, VMA_HUGETLB }, { 23, VMA_SYNC }, { 25, VMA_WIPEONFORK },
		{ 26, VMA_DONTDUMP }, { 28, VMA_MIXEDMAP }, { 29, VMA_HUGEPAGE },
		{ 30, VMA_NOHUGEPAGE }, { 31, VMA_MERGEABLE },
	};
	vma_flags_t flags = vm_flags & 0x1ff;

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
		if (vm_flags >> table[i].bit & 1)
			flags |= table[i].flag;
	return flags;
}

static struct known_file *find_known(__u32 dev, __u64 inode)
{
	struct known_file *file = known[inode % 256];

	while (file && (file->dev != dev || file->inode != inode))
		file = file->next;
	return file;
}

/* Asks the file system, by a descriptor of our own, what its files are like when mapped. */
static void look_at_file(struct known_file *file)
{
	struct backing_file *seen = file->name[0] == '/' ? malloc(sizeof(*seen)) : NULL;
	int fd = seen ? open(file->name, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY) : -1;

	if (fd >= 0 && backing_of_fd(seen, getpid(), fd) && seen->backing.inode == file->inode) {
		file->flags = seen->backing.flags & ~(VMA_BACKING_NO_WRITE | VMA_BACKING_NO_READ);
		file->kind = seen->backing.kind;
		file->huge_size = seen->backing.huge_size;
	}
	if (fd >= 0)
		close(fd);
	free(seen);
}

/*
 * Looks for the area's file, of which only the last part of the path is known, where programs are and where
 * files were seen: the inode tells whether it is the one. NULL: it is elsewhere. Freed by the caller.
 */
static char *find_path(const struct watch_area *area)
{
	const unsigned int major = area->dev >> DEV_SHIFT, minor = area->dev & ((1u << DEV_SHIFT) - 1);
	const struct directory *directory = directories;
	char *path = NULL;

	for (; directory; directory = directory->next) {
		if (asprintf(&path, "%s/%s", directory->path, area->name) < 0)
			return NULL;
		if (backing_path_is(path, major, minor, area->inode))
			return path;
		free(path);
	}
	return NULL;
}

static void add_directory(const char *path, size_t length)
{
	struct directory *directory = directories;

	while (directory && (strncmp(directory->path, path, length) != 0 || directory->path[length]))
		directory = directory->next;
	if (directory || length == 0 || path[0] != '/')
		return;
	directory = calloc(1, sizeof(*directory) + length + 1);
	if (!directory)
		return;
	memcpy(directory->path, path, length);
	directory->next = directories;
	directories = directory;
}

/* Where programs are looked for. */
static void add_path_directories(void)
{
	const char *path = getenv("PATH"), *end;

	for (; path && *path; path = *end ? end + 1 : end) {
		end = strchrnul(path, ':');
		add_directory(path, (size_t)(end - path));
	}
}

void areas_note_program(const char *path)
{
	char *real = realpath(path, NULL), *slash = real ? strrchr(real, '/') : NULL;

	if (slash)
		add_directory(real, (size_t)(slash - real));
	free(real);
}

static struct known_file *learn(const struct watch_area *area, const char *name)
{
	const struct vma_backing on = { .dev_major = area->dev >> DEV_SHIFT,
					.dev_minor = area->dev & ((1u << DEV_SHIFT) - 1) };
	const bool is_regular = (area->mode & FILE_TYPE) == REGULAR;
	struct known_file *file = calloc(1, sizeof(*file));
	const char *slash;

	if (!file)
		return NULL;
	file->dev = area->dev;
	file->inode = area->inode;
	file->kind = VMA_BACKING_FILE;
	if (!directories)
		add_path_directories();
	/* Of a process that has ended, paths are not known. */
	file->name = name[0] != '/' && is_regular ? find_path(area) : NULL;
	if (!file->name)
		file->name = strdup(name);
	if (!file->name) {
		free(file);
		return NULL;
	}
	if (is_regular) {
		file->flags = backing_system_flags(area->system, &on);
		slash = strrchr(file->name, '/');
		add_directory(file->name, slash ? (size_t)(slash - file->name) : 0);
	}
	look_at_file(file);
	file->next = known[area->inode % 256];
	known[area->inode % 256] = file;
	return file;
}

static const char *const special_names[] = { "[vdso]", "[vvar]", "[vvar_vclock]", "[uprobes]" };

static const char *special_name(const struct vmspace_line *line)
{
	for (size_t i = 0; i < sizeof(special_names) / sizeof(special_names[0]); i++)
		if (line->name_length == strlen(special_names[i]) &&
		    memcmp(line->name, special_names[i], line->name_length) == 0)
			return special_names[i];
	return NULL;
}

/* The lines of a copy of maps, which is later than the areas, if there is one. */
struct lines {
	const char *next;
	struct vmspace_line line;	/* where we are */
};

/* The line of the area, which is not before the one that was asked for last. */
static bool find_line(struct lines *lines, const struct watch_area *area)
{
	while (lines->line.end <= area->start) {
		if (lines->next)
			lines->next = vmspace_parse_line(lines->next, &lines->line);
		if (!lines->next)
			return false;
	}
	return lines->line.start <= area->start;
}

static struct known_file *file_of(const struct watch_area *area, struct lines *lines)
{
	struct known_file *file = find_known(area->dev, area->inode);
	struct backing_file *seen;

	if (file && !file->unseen)
		return file;
	seen = malloc(sizeof(*seen));
	if (seen && find_line(lines, area) && lines->line.inode == area->inode) {
		backing_of_line(seen, &lines->line);
		file = learn(area, seen->name);
	} else if (!file) {
		file = learn(area, area->name);
		if (file)
			file->unseen = file->name[0] != '/';
	}
	free(seen);
	return file;
}

static uint64_t number_of(const struct watch_area *area)
{
	void *number = mtree_load(&open_files, area->file);

	if (!number) {
		number = xa_mk_value(++last_open_file);
		mtree_store(&open_files, area->file, number, GFP_KERNEL);
	}
	return xa_to_value(number);
}

static void describe_file(const struct watch_area *area, struct lines *lines,
			  struct vma_backing *backing)
{
	const struct known_file *file = file_of(area, lines);

	backing->kind = VMA_BACKING_FILE;
	backing->dev_major = area->dev >> DEV_SHIFT;
	backing->dev_minor = area->dev & ((1u << DEV_SHIFT) - 1);
	backing->inode = area->inode;
	backing->name = area->name;
	if (file) {
		backing->kind = file->kind;
		backing->flags = file->flags;
		backing->huge_size = file->huge_size;
		backing->name = file->name;
	}
	if (!(area->open_mode & MAY_WRITE))
		backing->flags |= VMA_BACKING_NO_WRITE;
	if (!(area->open_mode & MAY_READ))
		backing->flags |= VMA_BACKING_NO_READ;
	if (strcmp(backing->name, "/dev/zero (deleted)") == 0 ||
	    strcmp(backing->name, "dev/zero") == 0) {
		backing->kind = VMA_BACKING_SHMEM;
		backing->name = "/dev/zero (deleted)";
		backing->flags = 0;
		return;
	}
	if (strncmp(backing->name, "/SYSV", 5) == 0 || strncmp(backing->name, "SYSV", 4) == 0)
		backing->kind = VMA_BACKING_SYSV;
	if ((area->mode & FILE_TYPE) == REGULAR)
		backing->file_id = number_of(area);
}

static void describe(const struct watch_area *area, struct lines *lines, struct vma_backing *backing)
{
	const char *name = NULL;

	memset(backing, 0, sizeof(*backing));
	if (area->file) {
		describe_file(area, lines, backing);
		return;
	}
	if (find_line(lines, area))
		name = special_name(&lines->line);
	else if (!(area->flags & VMA_MAYWRITE) || areas_flags(area->flags) & VMA_PFNMAP)
		name = area->flags & VMA_EXEC ? "[vdso]" : "[vvar]";
	if (name) {
		backing->kind = VMA_BACKING_SPECIAL;
		backing->name = name;
	}
}

void areas_backing(const struct watch_area *area, pid_t tid, struct vma_backing *backing)
{
	const struct known_file *file = area->file ? find_known(area->dev, area->inode) : NULL;
	char *text = file && !file->unseen ? NULL : kernel_read_file(tid, "maps");
	struct lines lines = { .next = text };

	describe(area, &lines, backing);
	free(text);
}

struct vmspace_area *areas_convert(const struct watch_area *areas, size_t count, pid_t tid)
{
	struct vmspace_area *out = calloc(count + 1, sizeof(*out));
	char *text = kernel_read_file(tid, "maps");
	struct lines lines = { .next = text };

	for (size_t i = 0; out && i < count; i++) {
		out[i].start = areas[i].start;
		out[i].end = areas[i].end;
		out[i].flags = areas_flags(areas[i].flags);
		out[i].has_anon = areas[i].anon && !(out[i].flags & VMA_MAYSHARE);
		describe(&areas[i], &lines, &out[i].backing);
		if (areas[i].file)
			out[i].offset = areas[i].page_offset * (uint64_t)sysconf(_SC_PAGESIZE);
	}
	free(text);
	return out;
}

void areas_forget(void)
{
	for (size_t i = 0; i < 256; i++)
		while (known[i]) {
			struct known_file *file = known[i];

			known[i] = file->next;
			free(file->name);
			free(file);
		}
	while (directories) {
		struct directory *directory = directories;

		directories = directory->next;
		free(directory);
	}
	mtree_destroy(&open_files);
}
