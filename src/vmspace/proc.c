/* SPDX-License-Identifier: MIT */
/* proc.c - reads files of /proc/PID, and parses maps and smaps. */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "proc.h"

#define NAME_SIZE (4096 + 16) /* of a path, and " (deleted)" */

/* Reads all of fd into *text. Returns 0 or -errno. */
static int read_all(int fd, char **text)
{
	size_t length = 0, capacity = 0;

	for (;;) {
		ssize_t got;

		if (length + 4097 > capacity) {
			char *larger = realloc(*text, capacity ? capacity * 2 : 32768);

			if (!larger)
				return -ENOMEM;
			*text = larger;
			capacity = capacity ? capacity * 2 : 32768;
		}
		got = read(fd, *text + length, capacity - length - 1);
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return -errno;
		if (got == 0)
			break;
		length += (size_t)got;
	}
	(*text)[length] = '\0';
	return 0;
}

char *proc_read(pid_t pid, const char *name, int *err)
{
	char path[64], *text = NULL;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0) {
		*err = errno == ENOENT ? -ESRCH : -errno;
		return NULL;
	}
	*err = read_all(fd, &text);
	close(fd);
	if (!*err)
		return text;
	free(text);
	return NULL;
}

unsigned long proc_number(const char *text, const char *key, int base, unsigned long otherwise)
{
	size_t length = strlen(key);
	const char *at = text;

	while (*at) {
		if (!strncmp(at, key, length))
			return strtoul(at + length, NULL, base);
		at = strchrnul(at, '\n');
		at += *at == '\n';
	}
	return otherwise;
}

/*
 * Parse the number at *at, and the character `then` after it; *at moves past both. (sscanf() would
 * search for the end of the whole text at each line.)
 */
static bool take_number(const char **at, int base, char then, uint64_t *number)
{
	char *rest;

	if (!isxdigit((unsigned char)**at))
		return false;
	*number = strtoull(*at, &rest, base);
	if (rest == *at || *rest != then)
		return false;
	*at = rest + 1;
	return true;
}

const char *vmspace_parse_line(const char *text, struct vmspace_line *line)
{
	uint64_t start, end, major, minor;
	const char *at = text, *stop;
	char *rest;

	if (!take_number(&at, 16, '-', &start) || !take_number(&at, 16, ' ', &end) ||
	    strcspn(at, " \n") != 4 || at[4] != ' ')
		return NULL;
	memcpy(line->perms, at, 4);
	line->perms[4] = '\0';
	at += 5;
	if (!take_number(&at, 16, ' ', &line->offset) || !take_number(&at, 16, ':', &major) ||
	    !take_number(&at, 16, ' ', &minor) || !isdigit((unsigned char)*at))
		return NULL;
	line->inode = strtoull(at, &rest, 10);
	line->start = (unsigned long)start;
	line->end = (unsigned long)end;
	line->dev_major = (unsigned int)major;
	line->dev_minor = (unsigned int)minor;
	stop = strchrnul(rest, '\n');
	line->name = rest + strspn(rest, " ");
	line->name_length = (size_t)(stop - line->name);
	line->text = text;
	line->length = (size_t)(stop - text) + (*stop == '\n');
	return text + line->length;
}

/* The kernel writes newlines in paths as \012, and everything else as it is. */
static void copy_name(char *to, size_t size, const char *from, size_t length)
{
	const char *end = from + length;
	char *last = to + size - 1;

	while (from < end && to < last) {
		if (end - from >= 4 && !strncmp(from, "\\012", 4)) {
			*to++ = '\n';
			from += 4;
		} else {
			*to++ = *from++;
		}
	}
	*to = '\0';
}

static enum vma_backing_kind kind_of(const struct vmspace_line *line, const char *name)
{
	if (!strncmp(name, "/anon_hugepage", 14))
		return VMA_BACKING_HUGETLB;
	if (name[0] == '/' && line->perms[3] == 's' && line->dev_major == 0) {
		if (!strcmp(name, "/dev/zero (deleted)"))
			return VMA_BACKING_SHMEM;
		if (!strncmp(name, "/SYSV", 5))
			return VMA_BACKING_SYSV;
	}
	if (!strncmp(name, "[anon_shmem:", 12))
		return VMA_BACKING_SHMEM;
	if (line->inode || line->dev_major || line->dev_minor || name[0] == '/')
		return VMA_BACKING_FILE;
	if (name[0] == '\0' || !strncmp(name, "[anon:", 6) || !strcmp(name, "[heap]") ||
	    !strcmp(name, "[stack]"))
		return VMA_BACKING_ANON;
	return VMA_BACKING_SPECIAL;
}

void vmspace_line_backing(const struct vmspace_line *line, struct vma_backing *backing, char *buf,
			  size_t size)
{
	copy_name(buf, size, line->name, line->name_length);
	*backing = (struct vma_backing){
		.kind = kind_of(line, buf), .dev_major = line->dev_major,
		.dev_minor = line->dev_minor, .inode = line->inode,
	};
	if (backing->kind != VMA_BACKING_ANON && buf[0])
		backing->name = buf;
	if (backing->kind == VMA_BACKING_FILE && !strncmp(buf, "/memfd:", 7))
		backing->flags |= VMA_BACKING_TMPFS;
}

static vma_flags_t parse_flags(const char *at, const char *end)
{
	char text[256];

	snprintf(text, sizeof(text), "%.*s", (int)(end - at), at);
	return vma_flags_parse(text, NULL);
}

const char *vmspace_parse_entry(const char *text, struct vmspace_entry *entry)
{
	const char *at = vmspace_parse_line(text, &entry->line);

	entry->flags = 0;
	entry->pkey = 0;
	entry->has_anon = entry->has_flags = false;
	/* Lines of details begin with a capital letter, the next area with a hexadecimal digit. */
	while (at && *at >= 'A' && *at <= 'Z' && strchrnul(at, ':') < strchrnul(at, '\n')) {
		const char *end = strchrnul(at, '\n');

		if (!strncmp(at, "Anonymous:", 10) || !strncmp(at, "Swap:", 5)) {
			entry->has_anon |= strtoul(strchr(at, ':') + 1, NULL, 10) > 0;
		} else if (!strncmp(at, "ProtectionKey:", 14)) {
			entry->pkey = (unsigned int)strtoul(at + 14, NULL, 10);
		} else if (!strncmp(at, "VmFlags:", 8)) {
			entry->flags = parse_flags(at + 8, end);
			entry->has_flags = true;
		}
		at = *end ? end + 1 : end;
	}
	return at;
}

/* Flags from the permissions in maps; others as most areas have them. */
static vma_flags_t flags_of_line(const struct vmspace_line *line)
{
	vma_flags_t flags = VMA_MAYREAD | VMA_MAYWRITE | VMA_MAYEXEC;

	flags |= line->perms[0] == 'r' ? VMA_READ : 0;
	flags |= line->perms[1] == 'w' ? VMA_WRITE : 0;
	flags |= line->perms[2] == 'x' ? VMA_EXEC : 0;
	if (line->perms[3] == 's')
		return flags | VMA_SHARED | VMA_MAYSHARE;
	if (flags & VMA_WRITE)
		flags |= VMA_ACCOUNT;
	if (line->name_length == 7 && !memcmp(line->name, "[stack]", 7))
		flags |= VMA_GROWSDOWN;
	return flags;
}

/* "[anon:NAME]" and "[anon_shmem:NAME]" hold a name given by prctl(). *given is NULL if not. */
static int given_name(const char *name, const char **given)
{
	const char *colon = strchr(name, ':');
	size_t length = strlen(name);

	*given = NULL;
	if (strncmp(name, "[anon", 5) != 0 || !colon || name[length - 1] != ']')
		return 0;
	*given = strndup(colon + 1, (size_t)(name + length - 1 - (colon + 1)));
	return *given ? 0 : -ENOMEM;
}

/* Heap and stack are anonymous; their names alone tell which they are. */
static const char *kept_name(const struct vma_backing *backing, const char *shown, bool is_named)
{
	if (backing->kind == VMA_BACKING_SHMEM && is_named)
		return "/dev/zero (deleted)";
	if (!strcmp(shown, "[heap]") || !strcmp(shown, "[stack]"))
		return shown;
	return backing->name;
}

static int take_entry(struct vmspace_area *area, const struct vmspace_entry *from)
{
	char shown[NAME_SIZE];
	const char *name;

	*area = (struct vmspace_area){
		.start = from->line.start, .end = from->line.end, .offset = from->line.offset,
		.flags = from->has_flags ? from->flags : flags_of_line(&from->line),
		.pkey = from->pkey,
	};
	area->has_anon = from->has_anon && !(area->flags & VMA_MAYSHARE);
	vmspace_line_backing(&from->line, &area->backing, shown, sizeof(shown));
	if (area->flags & VMA_HUGETLB)
		area->backing.kind = VMA_BACKING_HUGETLB;
	if (given_name(shown, &area->anon_name)) {
		area->backing.name = NULL;
		return -ENOMEM;
	}
	name = kept_name(&area->backing, shown, area->anon_name);
	area->backing.name = name ? strdup(name) : NULL;
	return name && !area->backing.name ? -ENOMEM : 0;
}

static unsigned long count_lines(const char *from, const char *to)
{
	unsigned long lines = 1;

	for (; from < to; from++)
		lines += *from == '\n';
	return lines;
}

int vmspace_parse_areas(const char *text, struct vmspace_area **areas, size_t *count,
			unsigned long *line)
{
	struct vmspace_area *taken = NULL;
	size_t have = 0, capacity = 0;
	const char *at = text, *next;
	struct vmspace_entry entry;
	int err = 0;

	*areas = NULL;
	*count = 0;
	while (!err && *at && (next = vmspace_parse_entry(at, &entry))) {
		if (have == capacity) {
			struct vmspace_area *larger;

			capacity = capacity ? capacity * 2 : 64;
			larger = reallocarray(taken, capacity, sizeof(*larger));
			if (!larger) {
				err = -ENOMEM;
				break;
			}
			taken = larger;
		}
		err = take_entry(&taken[have++], &entry);
		at = next;
	}
	if (line)
		*line = count_lines(text, at);
	if (!err && (*at || !have))
		err = -EINVAL;
	if (err) {
		vmspace_free_areas(taken, have);
		return err;
	}
	*areas = taken;
	*count = have;
	return 0;
}

void vmspace_free_areas(struct vmspace_area *areas, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		free((char *)areas[i].backing.name);
		free((char *)areas[i].anon_name);
	}
	free(areas);
}
