/* SPDX-License-Identifier: MIT */
/* load.c - creates a space from a live process, and compares the two. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/shm.h>
#include <unistd.h>

#include "config.h"
#include "proc.h"
#include "rules.h"
#include "space.h"

#define READ_IMPLIES_EXEC_BIT 0x0400000UL /* personality(2) */

/* A limit out of the text of /proc/PID/limits; *hard (may be NULL) gets the hard one. */
static unsigned long read_limit(const char *text, const char *name, unsigned long *hard)
{
	const char *line = text ? strstr(text, name) : NULL;
	unsigned long limits[2] = { VMSPACE_NO_LIMIT, VMSPACE_NO_LIMIT };
	char words[2][32];

	if (line && sscanf(line + strlen(name), "%31s %31s", words[0], words[1]) == 2)
		for (int i = 0; i < 2; i++)
			if (strcmp(words[i], "unlimited") != 0)
				limits[i] = strtoul(words[i], NULL, 10);
	if (hard)
		*hard = limits[1];
	return limits[0];
}

/* prlimit() takes a privilege for processes of another user; reading this does not. */
static void read_limits(struct vmspace_config *config, const char *text)
{
	config->rlimit_as = read_limit(text, "Max address space", NULL);
	config->rlimit_data = read_limit(text, "Max data size", &config->rlimit_data_max);
	config->rlimit_stack = read_limit(text, "Max stack size", NULL);
	config->rlimit_memlock = read_limit(text, "Max locked memory", NULL);
}

/* 0 or -ENOMEM. What may not be read counts as not there. */
static int read_config(struct vmspace_config *config, pid_t pid)
{
	enum { STATUS, PERSONALITY, LIMITS, FILES };
	static const char *const names[FILES] = { "status", "personality", "limits" };
	unsigned long caps = 0, persona;
	char *texts[FILES], number[16];
	int err = 0, rc = 0;

	for (int i = 0; i < FILES; i++) {
		texts[i] = proc_read(pid, names[i], &err);
		if (!texts[i] && err == -ENOMEM)
			rc = -ENOMEM;
	}
	if (texts[STATUS])
		caps = proc_number(texts[STATUS], "CapEff:", 16, 0);
	snprintf(number, sizeof(number), "%d", (int)pid);
	config_set_privileges(config, config_has_own_users(number) ? 0 : caps);
	read_limits(config, texts[LIMITS]);
	persona = texts[PERSONALITY] ? strtoul(texts[PERSONALITY], NULL, 16) : 0;
	config->read_implies_exec = persona & READ_IMPLIES_EXEC_BIT;
	if (texts[PERSONALITY])
		config->mmap_bottom_up = config_is_bottom_up(persona, config->rlimit_stack);
	for (int i = 0; i < FILES; i++)
		free(texts[i]);
	return rc;
}

void vmspace_config_read(struct vmspace_config *config, pid_t pid)
{
	(void)read_config(config, pid);
}

/* The fields of /proc/PID/stat by their numbers in proc_pid_stat(5). */
enum { STAT_PPID = 4, STAT_START_CODE = 26, STAT_END_CODE, STAT_START_STACK,
       STAT_START_DATA = 45, STAT_END_DATA, STAT_START_BRK, STAT_FIELDS = 53 };

/* Field 2, the name, may contain anything. */
static int read_stat(pid_t pid, unsigned long fields[STAT_FIELDS])
{
	int err;
	char *text = proc_read(pid, "stat", &err);
	char *at = text ? strrchr(text, ')') : NULL;

	memset(fields, 0, STAT_FIELDS * sizeof(fields[0]));
	if (!at) {
		free(text);
		return text ? -EINVAL : err;
	}
	at += 2; /* past the name, to field 3, the state */
	for (int i = 4; i < STAT_FIELDS && (at = strchr(at, ' ')); i++)
		fields[i] = strtoul(at, &at, 10);
	free(text);
	return 0;
}

/*
 * Was the process forked, without an exec since? Stacks begin at random addresses: then its
 * parent's begins at the same. 0 or -ENOMEM; a parent that may not be examined counts as different.
 */
static int is_fork_copy(const unsigned long fields[STAT_FIELDS], bool *copy)
{
	unsigned long parent[STAT_FIELDS];
	int err;

	*copy = false;
	if (fields[STAT_PPID] <= 1 || !fields[STAT_START_STACK])
		return 0;
	err = read_stat((pid_t)fields[STAT_PPID], parent);
	*copy = !err && parent[STAT_START_STACK] == fields[STAT_START_STACK];
	return err == -ENOMEM ? err : 0;
}

/* The end of the last area named [heap], as calls and forks divide it; 0: there is none. */
static unsigned long heap_end(const struct vmspace_area *areas, size_t count)
{
	unsigned long end = 0;

	for (size_t i = 0; i < count; i++)
		if (areas[i].backing.name && !strcmp(areas[i].backing.name, "[heap]"))
			end = areas[i].end;
	return end;
}

/* Are System V segments of the process known by the same numbers here? */
static bool shares_ipc(pid_t pid)
{
	char path[64], ours[64], theirs[64];
	ssize_t mine, its;

	snprintf(path, sizeof(path), "/proc/%d/ns/ipc", (int)pid);
	mine = readlink("/proc/self/ns/ipc", ours, sizeof(ours));
	its = readlink(path, theirs, sizeof(theirs));
	return mine > 0 && mine == its && !memcmp(ours, theirs, (size_t)mine);
}

/* maps does not show how large attached segments are. */
static void read_segments(pid_t pid, struct vmspace_area *areas, size_t count)
{
	struct shmid_ds segment;

	for (size_t i = 0; i < count; i++) {
		struct vma_backing *backing = &areas[i].backing;

		if (backing->kind == VMA_BACKING_SYSV && shares_ipc(pid) &&
		    !shmctl((int)backing->inode, IPC_STAT, &segment))
			backing->size = segment.shm_segsz;
	}
}

static int read_areas(pid_t pid, const char *file, struct vmspace_area **areas, size_t *count)
{
	int err;
	char *text = proc_read(pid, file, &err);

	if (!text)
		return err;
	/* The file is empty for kernel threads and zombies. */
	err = *text ? vmspace_parse_areas(text, areas, count, NULL) : -ESRCH;
	free(text);
	if (!err)
		read_segments(pid, *areas, *count);
	return err;
}

/*
 * Mark what mmap has probably made: all private anonymous memory but the stack, the heap and what
 * begins right behind the program's data.
 */
static void mark_by_mmap(struct vmspace_area *areas, size_t count,
			 const struct vmspace_image *image)
{
	unsigned long page = (unsigned long)sysconf(_SC_PAGESIZE);
	unsigned long bss = (image->end_data + page - 1) & -page;

	for (size_t i = 0; i < count; i++) {
		struct vmspace_area *area = &areas[i];
		bool heap = area->start < image->brk && area->end > image->start_brk;
		bool stack = area->start <= image->start_stack && area->end > image->start_stack;

		if (area->backing.kind == VMA_BACKING_ANON && !(area->flags & VMA_SHARED) &&
		    !heap && !stack && area->start != bss)
			area->flags |= VMA_BY_MMAP;
	}
}

/* vmspace_read_process() of that file, smaps or maps. */
static int read_process(pid_t pid, const char *file, bool attach, struct vmspace_area **areas,
			size_t *count, struct vmspace_image *image)
{
	unsigned long fields[STAT_FIELDS], end;
	bool copy = false;
	int err = read_stat(pid, fields);

	*areas = NULL;
	*count = 0;
	if (!err && attach)
		err = is_fork_copy(fields, &copy);
	if (!err)
		err = read_areas(pid, file, areas, count);
	if (err)
		return err;
	for (size_t i = 0; i < *count; i++)
		(*areas)[i].fork_child = copy;
	end = heap_end(*areas, *count);
	*image = (struct vmspace_image){
		.start_code = fields[STAT_START_CODE], .end_code = fields[STAT_END_CODE],
		.start_data = fields[STAT_START_DATA], .end_data = fields[STAT_END_DATA],
		.start_brk = fields[STAT_START_BRK], .brk = end ? end : fields[STAT_START_BRK],
		.start_stack = fields[STAT_START_STACK], .pkeys_unknown = attach,
	};
	if (attach && config_mmap_apart())
		mark_by_mmap(*areas, *count, image);
	return 0;
}

int vmspace_read_process(pid_t pid, bool attach, struct vmspace_area **areas, size_t *count,
			 struct vmspace_image *image)
{
	return read_process(pid, "smaps", attach, areas, count, image);
}

int vmspace_load(struct vmspace **out, pid_t pid)
{
	return vmspace_load_how(out, pid, 0);
}

int vmspace_load_how(struct vmspace **out, pid_t pid, unsigned int how)
{
	const char *file = how & VMSPACE_LOAD_MAPS ? "maps" : "smaps";
	struct vmspace_config config;
	struct vmspace_area *areas;
	struct vmspace_image image;
	size_t count;
	int err;

	*out = NULL;
	if (how & ~VMSPACE_LOAD_MAPS)
		return -EINVAL;
	err = read_process(pid, file, true, &areas, &count, &image);
	if (err)
		return err;
	vmspace_config_init(&config);
	err = read_config(&config, pid);
	if (!err)
		err = vmspace_create(out, &config);
	if (!err)
		err = vmspace_exec(*out, areas, count, &image);
	vmspace_free_areas(areas, count);
	if (err) {
		vmspace_destroy(*out);
		*out = NULL;
	}
	return err;
}

/* ---- comparing ---- */

#define SAY(d, ...) ((void)snprintf((d)->text, sizeof((d)->text), __VA_ARGS__))

/* Compare our next line with the kernel's at *at. */
struct lines {
	const char *at;              /* in the kernel's text */
	struct vmspace_difference *difference;
};

static void line_differs(struct lines *lines, const char *ours, size_t length)
{
	int theirs = (int)strcspn(lines->at, "\n");
	unsigned long a = theirs ? strtoul(lines->at, NULL, 16) : ~0UL;
	unsigned long b = length ? strtoul(ours, NULL, 16) : ~0UL;

	lines->difference->what = VMSPACE_VERIFY_MAPS;
	lines->difference->addr = a < b ? a : b;
	SAY(lines->difference, "maps: the process has \"%.*s\", the space \"%.*s\"",
	    theirs > 280 ? 280 : theirs, lines->at,
	    length > 280 ? 280 : (int)length - (length > 0), ours);
}

static int compare_line(void *ctx, const char *line, size_t length)
{
	struct lines *lines = ctx;

	if (!strncmp(lines->at, line, length)) {
		lines->at += length;
		return 0;
	}
	line_differs(lines, line, length);
	return 1;
}

static int verify_maps(const struct vmspace *space, pid_t pid, struct vmspace_difference *d)
{
	int err;
	char *text = proc_read(pid, "maps", &err);
	struct lines lines = { .at = text, .difference = d };

	if (!text)
		return err;
	err = vmspace_show_lines(space, compare_line, &lines);
	if (!err && *lines.at) {
		line_differs(&lines, "", 0);
		err = 1;
	}
	free(text);
	return err;
}

static bool flags_equal(const struct vmspace *space, const struct vmspace_entry *entry,
			struct vmspace_difference *d)
{
	vma_flags_t hidden = VMA_SOFTDIRTY | VMA_BY_MMAP;
	struct vma_info info;
	char ours[256], theirs[256];

	if (!rule_applies(vmspace_config(space), RULE_LOCKONFAULT_SHOWN))
		hidden |= VMA_LOCKONFAULT;
	/* Missing areas are found by maps; vsyscall lies outside of the address space. */
	if (!vmspace_lookup(space, entry->line.start, &info))
		return true;
	if (!((info.flags ^ entry->flags) & ~hidden) && info.pkey == entry->pkey)
		return true;
	d->what = VMSPACE_VERIFY_FLAGS;
	d->addr = entry->line.start;
	if (info.pkey != entry->pkey) {
		SAY(d, "ProtectionKey of %lx-%lx: the process has %u, the space %u",
		    entry->line.start, entry->line.end, entry->pkey, info.pkey);
		return false;
	}
	vma_flags_text(info.flags, ours, sizeof(ours));
	vma_flags_text(entry->flags, theirs, sizeof(theirs));
	SAY(d, "VmFlags of %lx-%lx: the process has \"%s\", the space \"%s\"", entry->line.start,
	    entry->line.end, theirs, ours);
	return false;
}

static int verify_flags(const struct vmspace *space, pid_t pid, struct vmspace_difference *d)
{
	int err;
	char *text = proc_read(pid, "smaps", &err);
	const char *at = text;
	struct vmspace_entry entry;

	if (!text)
		return err;
	while (!err && (at = vmspace_parse_entry(at, &entry)))
		err = !flags_equal(space, &entry, d);
	free(text);
	return err;
}

static int verify_counters(const struct vmspace *space, pid_t pid, struct vmspace_difference *d)
{
	struct vmspace_stats s;
	int err;
	char *text = proc_read(pid, "status", &err);

	if (!text)
		return err;
	vmspace_stats(space, &s);
	const struct { const char *key; unsigned long pages; } counters[] = {
		{ "VmSize:", s.total_vm }, { "VmLck:", s.locked_vm }, { "VmPin:", s.pinned_vm },
		{ "VmData:", s.data_vm }, { "VmStk:", s.stack_vm }, { "VmExe:", s.text_vm },
		{ "VmLib:", s.lib_vm },
	};

	for (size_t i = 0; i < sizeof(counters) / sizeof(counters[0]) && !err; i++) {
		unsigned long ours = counters[i].pages << (space->page_shift - 10);
		unsigned long theirs = proc_number(text, counters[i].key, 10, ours);

		if (theirs == ours)
			continue;
		d->what = VMSPACE_VERIFY_COUNTERS;
		SAY(d, "%s the process has %lu kB, the space %lu kB", counters[i].key, theirs,
		    ours);
		err = 1;
	}
	free(text);
	return err;
}

int vmspace_verify(const struct vmspace *space, pid_t pid, unsigned int what,
		   struct vmspace_difference *difference)
{
	struct vmspace_difference unused, *d = difference ? difference : &unused;
	int result = 0;

	*d = (struct vmspace_difference){ .what = 0 };
	if (what & VMSPACE_VERIFY_MAPS)
		result = verify_maps(space, pid, d);
	if (!result && (what & VMSPACE_VERIFY_FLAGS))
		result = verify_flags(space, pid, d);
	if (!result && (what & VMSPACE_VERIFY_COUNTERS))
		result = verify_counters(space, pid, d);
	return result;
}
