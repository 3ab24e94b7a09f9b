/* SPDX-License-Identifier: MIT */
/*
 * samples.c - a profile that was recorded elsewhere: the text of maps as it was when recording
 * began, records of perf of what has been mapped since, and between them program counters.
 */
#include <linux/perf_event.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include <mapletree/vmspace_import.h>
#include <mapletree/vmspace_rules.h>

static const char maps[] =
	"400000-420000 r-xp 00000000 fe:01 100                                    /usr/bin/server\n"
	"420000-424000 rw-p 00020000 fe:01 100                                    /usr/bin/server\n"
	"7f0000000000-7f0000180000 r-xp 00028000 fe:01 200                        /lib/libc.so.6\n"
	"7f0000200000-7f0000300000 rw-p 00000000 00:00 0 \n";

/* What perf writes when a plugin is loaded into the anonymous memory. */
static const struct mapped {
	struct perf_event_header header;
	uint32_t pid, tid;
	uint64_t addr, length, offset;
	uint32_t major, minor;
	uint64_t inode, generation;
	uint32_t prot, flags;
	char name[16];
} loaded = {
	.header = { PERF_RECORD_MMAP2, PERF_RECORD_MISC_USER, sizeof(struct mapped) },
	.pid = 1, .tid = 1, .addr = 0x7f0000240000, .length = 0x20000, .offset = 0x1000,
	.major = 0xfe, .minor = 1, .inode = 300, .prot = PROT_READ | PROT_EXEC,
	.flags = MAP_PRIVATE, .name = "/lib/plugin.so",
};

/* Where a counter points to: the file, and the place in it. */
static void tell(const struct vmspace *space, unsigned long counter)
{
	struct vma_info info;

	if (!vmspace_lookup(space, counter, &info))
		printf("%12lx  nothing is mapped there\n", counter);
	else if (!info.backing.name)
		printf("%12lx  no file\n", counter);
	else
		printf("%12lx  %s+%#lx\n", counter, info.backing.name,
		       (unsigned long)info.offset + (counter - info.start));
}

int main(void)
{
	const unsigned long counters[] = { 0x401234, 0x7f0000001000, 0x7f0000240010, 0x500000 };
	struct vmspace_mistake mistake;
	struct vmspace_config config;
	struct vmspace_area area;
	struct vmspace *space;
	int pid;

	if (vmspace_config_preset(&config, "x86_64", "6.12"))
		return 1;
	if (vmspace_load_text(&space, &config, maps, &mistake)) {
		printf("line %lu: %s\n", mistake.line, mistake.text);
		return 1;
	}
	for (size_t i = 0; i < 4; i++)
		tell(space, counters[i]);
	if (vmspace_parse_mmap2(&loaded, sizeof(loaded), &area, &pid, &mistake) ||
	    vmspace_put_areas(space, &area, 1, NULL))
		return 1;
	printf("process %d has loaded %s\n", pid, area.backing.name);
	tell(space, 0x7f0000240010);
	tell(space, 0x7f0000260010);
	if (vmspace_put_text(space, "7f0000400000-7f00003ff000 r-xp 0 fe:01 7 /lib/x.so\n", &mistake))
		printf("line %lu: %s\n", mistake.line, mistake.text);
	vmspace_destroy(space);
	return 0;
}
