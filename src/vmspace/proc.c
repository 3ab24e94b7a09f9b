/* SPDX-License-Identifier: MIT */
/* proc.c - reads files of /proc/PID, and parses maps and smaps. */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
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

/* What is read of a line: `wrong` is filled with the first thing that is none of maps. */
struct parse {
	const char *at;
	struct proc_wrong *wrong;
};

static bool refuse(struct parse *parse, const char *field, const char *why)
{
	*parse->wrong = (struct proc_wrong){ .field = field, .why = why };
	return false;
}

/*
 * The number at parse->at, at most `most`, and the character `then` after it, which parse->at moves
 * past. It is digits alone, as the kernel writes it: strtoull() would take a sign, spaces and 0x,
 * and give the largest number for what is larger.
 */
static bool take_number(struct parse *parse, const char *field, unsigned int base, char then,
			uint64_t most, uint64_t *number)
{
	const char *at = parse->at;
	uint64_t value = 0;

	for (; isxdigit((unsigned char)*at) && (base == 16 || isdigit((unsigned char)*at)); at++) {
		unsigned int digit = isdigit((unsigned char)*at) ? (unsigned int)(*at - '0') :
							 ((unsigned int)*at | 32) - 'a' + 10;

		if (value > (most - digit) / base)
			return refuse(parse, field, "is too large");
		value = value * base + digit;
	}
	if (at == parse->at + 1 && *parse->at == '0' && (*at | 32) == 'x')
		return refuse(parse, field, "begins with 0x");
	/* A name that is none ends the line behind the inode. */
	if (at == parse->at || (*at != then && (then || (*at != ' ' && *at != '\n'))))
		return refuse(parse, NULL, NULL);
	*number = value;
	parse->at = at + (then != '\0');
	return true;
}

static bool take_permissions(struct parse *parse, char *perms)
{
	static const char set[] = "rwx";
	const char *at = parse->at;

	if (strcspn(at, " \n") != 4 || at[4] != ' ')
		return refuse(parse, NULL, NULL);
	for (int i = 0; i < 3; i++)
		if (at[i] != set[i] && at[i] != '-')
			return refuse(parse, "permissions", "are not as in rwxp or ---s");
	if (at[3] != 'p' && at[3] != 's')
		return refuse(parse, "permissions", "do not end with p or s");
	memcpy(perms, at, 4);
	perms[4] = '\0';
	parse->at = at + 5;
	return true;
}

const char *proc_parse_line(const char *text, struct vmspace_line *line, struct proc_wrong *wrong)
{
	struct parse parse = { .at = text, .wrong = wrong };
	uint64_t start, end, major, minor;
	const char *stop;

	if (!take_number(&parse, "start", 16, '-', ULONG_MAX, &start) ||
	    !take_number(&parse, "end", 16, ' ', ULONG_MAX, &end) ||
	    !take_permissions(&parse, line->perms) ||
	    !take_number(&parse, "offset", 16, ' ', UINT64_MAX, &line->offset) ||
	    !take_number(&parse, "device", 16, ':', UINT_MAX, &major) ||
	    !take_number(&parse, "device", 16, ' ', UINT_MAX, &minor) ||
	    !take_number(&parse, "inode", 10, '\0', UINT64_MAX, &line->inode))
		return NULL;
	line->start = (unsigned long)start;
	line->end = (unsigned long)end;
	line->dev_major = (unsigned int)major;
	line->dev_minor = (unsigned int)minor;
	stop = strchrnul(parse.at, '\n');
	line->name = parse.at + strspn(parse.at, " ");
	line->name_length = (size_t)(stop - line->name);
	line->text = text;
	line->length = (size_t)(stop - text) + (*stop == '\n');
	return text + line->length;
}

const char *vmspace_parse_line(const char *text, struct vmspace_line *line)
{
	struct proc_wrong unused;

	return proc_parse_line(text, line, &unused);
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

/* "Rss: 4 kB" and the like. An area begins with a number, of which capital letters may be digits. */
static bool is_detail(const char *at)
{
	const char *end = at;

	while (isalnum((unsigned char)*end) || *end == '_')
		end++;
	return *at >= 'A' && *at <= 'Z' && *end == ':';
}

const char *vmspace_parse_entry(const char *text, struct vmspace_entry *entry)
{
	const char *at = vmspace_parse_line(text, &entry->line);

	entry->flags = 0;
	entry->pkey = 0;
	entry->has_anon = entry->has_flags = false;
	while (at && is_detail(at)) {
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
