/* SPDX-License-Identifier: MIT */
/* Areas as the kernel tells of them, in libvmspace's terms. */
#include "watch/areas.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <mapletree/maple_tree.h>
#include <mapletree/vmspace_proc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "log/names.h"
#include "mirror/backing.h"

enum { BUCKETS = 256 };

/* What is known of a file, by its device and inode: it takes system calls. */
struct known_file {
	struct known_file *next;
	__u32 dev;
	__u64 inode;
	unsigned int flags;		/* VMA_BACKING_* of its file system */
	enum vma_backing_kind kind;
	unsigned long huge_size;
};

static struct known_file *known[BUCKETS];
static struct names names = { .tree = MTREE_INIT(names.tree, 0) };	/* of files, also former */
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
	struct known_file *file = known[inode % BUCKETS];

	while (file && (file->dev != dev || file->inode != inode))
		file = file->next;
	return file;
}

/* Asks the file system, by a descriptor of our own, what its files are like when mapped. */
static void look_at_file(struct known_file *file, const char *name)
{
	struct backing_file *seen = name[0] == '/' ? malloc(sizeof(*seen)) : NULL;
	int fd = seen ? open(name, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY) : -1;

	if (fd >= 0 && backing_of_fd(seen, getpid(), fd) && seen->backing.inode == file->inode) {
		file->flags = seen->backing.flags & ~(VMA_BACKING_NO_WRITE | VMA_BACKING_NO_READ);
		file->kind = seen->backing.kind;
		file->huge_size = seen->backing.huge_size;
	}
	if (fd >= 0)
		close(fd);
	free(seen);
}

static struct known_file *learn(const struct watch_area *area, const char *name)
{
	const struct vma_backing on = { .dev_major = area->dev >> DEV_SHIFT,
					.dev_minor = area->dev & ((1u << DEV_SHIFT) - 1) };
	struct known_file *file = calloc(1, sizeof(*file));

	if (!file)
		return NULL;
	file->dev = area->dev;
	file->inode = area->inode;
	file->kind = VMA_BACKING_FILE;
	/* It may be gone by now, or be in another namespace. */
	if ((area->mode & FILE_TYPE) == REGULAR)
		file->flags = backing_system_flags(area->system, &on);
	look_at_file(file, name);
	file->next = known[area->inode % BUCKETS];
	known[area->inode % BUCKETS] = file;
	return file;
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

/* ---- names ---------------------------------------------------------------------------------- */

/* @text, for as long as areas are known; "" if there is no memory for it. */
static const char *keep_name(const char *text)
{
	const struct name *name = names_get(&names, text);

	return name ? name->text : "";
}

/* The parts of a path, from the last to the first, as a path. False: they are not whole. */
static bool join_parts(const char *parts, size_t size, char *path)
{
	size_t at = size;

	if (size == 0 || parts[size - 1] != '\0')
		return false;
	while (at > 0) {
		size_t begins = at - 1;

		while (begins > 0 && parts[begins - 1] != '\0')
			begins--;
		*path++ = '/';
		memcpy(path, parts + begins, at - 1 - begins);
		path += at - 1 - begins;
		at = begins;
	}
	*path = '\0';
	return true;
}

/*
 * The name in maps of a file that is in no directory; false: such files are named in another way.
 */
static bool name_alone(const struct watch_area *area, const char *part, char *name, size_t size)
{
	switch (area->system) {
	case ANON_INODE_FS_MAGIC:
		snprintf(name, size, "anon_inode:%s", part);
		return true;
	case SOCKFS_MAGIC:
		snprintf(name, size, "socket:[%llu]", area->inode);
		return true;
	case DMA_BUF_MAGIC:
		return false;
	default:
		snprintf(name, size, "/%s (deleted)", part);
		return true;
	}
}

struct watch_area areas_named(const struct watch_area *area, const char *path)
{
	struct watch_area named = *area;
	char text[WATCH_PATH + sizeof(" (deleted)")];

	named.name = 0;
	if (area->path_size == 0 || area->path_size > WATCH_PATH ||
	    path[area->path_size - 1] != '\0')
		return named;
	if (area->path_kind == WATCH_PATH_KERNEL) {
		snprintf(text, sizeof(text), "%s", path);
	} else if (area->path_kind == WATCH_PATH_NONE) {
		if (!name_alone(area, path, text, sizeof(text)))
			return named;
	} else if (!join_parts(path, area->path_size, text)) {
		return named;
	}
	if (area->path_kind == WATCH_PATH_DELETED)
		strcat(text, " (deleted)");
	named.name = (uintptr_t)keep_name(text);
	return named;
}

/* Where the kernel has not told it: as maps has it. */
static const char *name_in(struct lines *lines, const struct watch_area *area)
{
	struct backing_file *seen = NULL;
	const char *name = "";

	if (find_line(lines, area) && lines->line.inode == area->inode)
		seen = malloc(sizeof(*seen));
	if (seen) {
		backing_of_line(seen, &lines->line);
		name = keep_name(seen->name);
	}
	free(seen);
	return name;
}

const char *areas_name(const struct watch_area *area)
{
	return (const char *)(uintptr_t)area->name;
}

/* ---- what areas map ------------------------------------------------------------------------- */

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
	const char *name = area->name ? areas_name(area) : name_in(lines, area);
	const struct known_file *file = find_known(area->dev, area->inode);

	if (!file)
		file = learn(area, name);
	backing->kind = VMA_BACKING_FILE;
	backing->dev_major = area->dev >> DEV_SHIFT;
	backing->dev_minor = area->dev & ((1u << DEV_SHIFT) - 1);
	backing->inode = area->inode;
	backing->name = name;
	if (file) {
		backing->kind = file->kind;
		backing->flags = file->flags;
		backing->huge_size = file->huge_size;
	}
	if (!(area->open_mode & MAY_WRITE))
		backing->flags |= VMA_BACKING_NO_WRITE;
	if (!(area->open_mode & MAY_READ))
		backing->flags |= VMA_BACKING_NO_READ;
	if (strcmp(backing->name, "/dev/zero (deleted)") == 0) {
		backing->kind = VMA_BACKING_SHMEM;
		backing->flags = 0;
		return;
	}
	if (strncmp(backing->name, "/SYSV", 5) == 0)
		backing->kind = VMA_BACKING_SYSV;
	if ((area->mode & FILE_TYPE) == REGULAR)
		backing->file_id = number_of(area);
}

static void describe(const struct watch_area *area, struct lines *lines,
		     struct vma_backing *backing)
{
	memset(backing, 0, sizeof(*backing));
	if (area->file) {
		describe_file(area, lines, backing);
	} else if (area->name) {
		backing->kind = VMA_BACKING_SPECIAL;
		backing->name = areas_name(area);
	}
}

static bool needs_maps(const struct watch_area *area)
{
	return area->file && !area->name;
}

void areas_backing(const struct watch_area *area, pid_t tid, struct vma_backing *backing)
{
	char *text = needs_maps(area) ? kernel_read_file(tid, "maps") : NULL;
	struct lines lines = { .next = text };

	describe(area, &lines, backing);
	free(text);
}

struct vmspace_area *areas_convert(const struct watch_area *areas, size_t count, pid_t tid)
{
	struct vmspace_area *out = calloc(count + 1, sizeof(*out));
	struct lines lines = { .next = NULL };
	char *text = NULL;

	for (size_t i = 0; i < count && !text; i++)
		if (needs_maps(&areas[i]))
			text = kernel_read_file(tid, "maps");
	lines.next = text;
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

void areas_find_gate(struct vmspace_image *image)
{
	char *text = kernel_read_file(getpid(), "maps");
	struct vmspace_line line;

	for (const char *at = text; at && (at = vmspace_parse_line(at, &line));) {
		if (!kernel_is_gate(&line))
			continue;
		image->vsyscall = true;
		image->vsyscall_read = line.perms[0] == 'r';
	}
	free(text);
}

void areas_forget(void)
{
	for (size_t i = 0; i < BUCKETS; i++)
		while (known[i]) {
			struct known_file *file = known[i];

			known[i] = file->next;
			free(file);
		}
	names_clear(&names);
	mtree_destroy(&open_files);
}
