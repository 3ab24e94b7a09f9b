/* SPDX-License-Identifier: MIT */
/*
 * oracle_dump.c - what a core dump holds of each area, by every filter: a puppet dumps core, and
 * what libvmspace foretells is compared with the program headers of the file.
 */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cases.h"

static char place[64];

/* Dumps end where this process stands, under the name "core", if nobody has changed that. */
static bool dumps_are_files(void)
{
	char pattern[64] = "";
	FILE *file = fopen("/proc/sys/kernel/core_pattern", "re");
	bool plain = file && fgets(pattern, sizeof(pattern), file) && !strcmp(pattern, "core\n");

	if (file)
		fclose(file);
	return plain;
}

static void make_areas(void)
{
	int shared = MAP_SHARED | MAP_FIXED;

	map(AT(0), 2, RW, FIXED);
	touch(AT(0));
	map(AT(10), 2, RW, FIXED);
	map(AT(20), 2, RW, FIXED);
	touch(AT(20));
	advise(AT(20), 2, MADV_DONTDUMP);
	map(AT(30), 2, RW, shared | MAP_ANONYMOUS);
	map_file(PUPPET_FILE_RW, AT(40), 2, RW, MAP_PRIVATE | MAP_FIXED, 1);
	map_file(PUPPET_FILE_RW, AT(50), 2, RW, MAP_PRIVATE | MAP_FIXED, 1);
	touch(AT(50));
	map_file(PUPPET_FILE_RW, AT(60), 2, RW, shared, 0);
	map_file(PUPPET_MEMFD, AT(70), 2, RW, shared, 0);
	map_file(PUPPET_MEMFD, AT(80), 2, PROT_READ, MAP_PRIVATE | MAP_FIXED, 0);
	map_file(PUPPET_MEMFD, AT(90), 2, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_FIXED, 0);
	map_file(PUPPET_MEMFD, AT(100), 2, PROT_EXEC, MAP_PRIVATE | MAP_FIXED, 0);
	map(AT(110), 2, RW, FIXED);
	touch(AT(110));
	protect(AT(110), 2, PROT_NONE);
	map_file(PUPPET_FILE_RW, AT(130), 2, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_FIXED, 0);
	map_file(PUPPET_FILE_RDONLY, AT(120), 2, PROT_READ, shared, 0);
}

static void dump_core(unsigned int filter)
{
	struct rlimit limit;
	char path[64];
	FILE *file;

	assert_int_equal(prlimit(pair.puppet.pid, RLIMIT_CORE, NULL, &limit), 0);
	limit.rlim_cur = limit.rlim_max;
	assert_int_equal(prlimit(pair.puppet.pid, RLIMIT_CORE, &limit, NULL), 0);
	snprintf(path, sizeof(path), "/proc/%d/coredump_filter", (int)pair.puppet.pid);
	file = fopen(path, "we");
	assert_non_null(file);
	fprintf(file, "%#x", filter);
	assert_int_equal(fclose(file), 0);
}

/* Does the puppet's memory at addr begin with ELF's magic number? */
static bool is_elf(unsigned long addr)
{
	char path[64], magic[SELFMAG] = "";
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/mem", (int)pair.puppet.pid);
	fd = open(path, O_RDONLY);
	assert_true(fd >= 0);
	if (pread(fd, magic, SELFMAG, (off_t)addr) != SELFMAG)
		magic[0] = '\0';
	close(fd);
	return !memcmp(magic, ELFMAG, SELFMAG);
}

static unsigned long bytes_of(const struct vmspace_dump_area *area)
{
	switch (area->part) {
	case VMSPACE_DUMP_ALL: return area->end - area->start;
	case VMSPACE_DUMP_HEADER: return PAGE;
	case VMSPACE_DUMP_HEADER_IF_ELF: return is_elf(area->start) ? PAGE : 0;
	case VMSPACE_DUMP_NONE: default: return 0;
	}
}

/* Each area's addresses and bytes, as the core has them. Returns how many differ. */
static unsigned int compare(FILE *core, const struct vmspace_dump_area *areas,
			    const unsigned long *bytes, size_t count, unsigned int filter)
{
	unsigned int differ = 0;
	Elf64_Ehdr head;
	size_t at = 0;

	assert_int_equal(fread(&head, sizeof(head), 1, core), 1);
	assert_int_equal(fseek(core, (long)head.e_phoff, SEEK_SET), 0);
	for (unsigned int i = 0; i < head.e_phnum; i++) {
		Elf64_Phdr segment;

		assert_int_equal(fread(&segment, sizeof(segment), 1, core), 1);
		if (segment.p_type != PT_LOAD || segment.p_vaddr >= 1UL << 63)
			continue;
		assert_true(at < count);
		if (segment.p_vaddr != areas[at].start || segment.p_filesz != bytes[at] ||
		    segment.p_memsz != areas[at].end - areas[at].start) {
			fprintf(stderr, "filter %#x: kernel %lx, %#lx of %#lx bytes; "
				"mirror %lx-%lx, %#lx bytes\n", filter, segment.p_vaddr,
				segment.p_filesz, segment.p_memsz, areas[at].start,
				areas[at].end, bytes[at]);
			differ++;
		}
		at++;
	}
	assert_int_equal(at, count);
	return differ;
}

static void dump_by(unsigned int filter)
{
	struct vmspace_dump_area areas[64];
	unsigned long bytes[64];
	size_t count;
	FILE *core;
	int status;

	make_areas();
	count = vmspace_dump_snapshot(pair.space, filter, areas, 64);
	assert_true(count <= 64);
	for (size_t i = 0; i < count; i++)
		bytes[i] = bytes_of(&areas[i]);
	dump_core(filter);
	kill(pair.puppet.pid, SIGABRT);
	assert_int_equal(waitpid(pair.puppet.pid, &status, 0), pair.puppet.pid);
	pair.puppet.pid = 0; /* it has ended by itself */
	if (!WCOREDUMP(status))
		case_skip("no core is dumped here");
	core = fopen("core", "re");
	if (!core)
		case_skip("the core that is dumped is no file named core here");
	assert_int_equal(compare(core, areas, bytes, count, filter), 0);
	fclose(core);
	unlink("core");
}

#define BY(filter, name) static void name(void **state) { (void)state; dump_by(filter); }
BY(0x00, nothing_but_the_vdso)
BY(0x01, private_anonymous)
BY(0x02, shared_anonymous)
BY(0x04, private_files)
BY(0x08, shared_files)
BY(0x10, elf_headers)
BY(VMSPACE_FILTER_DEFAULT, as_by_default)
BY(0x1ff, everything)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(nothing_but_the_vdso), CASE(private_anonymous), CASE(shared_anonymous),
		CASE(private_files), CASE(shared_files), CASE(elf_headers), CASE(as_by_default),
		CASE(everything),
	};
	int failed;

	if (!case_possible())
		return TEST_SKIPPED;
	if (!dumps_are_files()) {
		printf("SKIP: dumps do not become files named core here (kernel.core_pattern)\n");
		return TEST_SKIPPED;
	}
	snprintf(place, sizeof(place), "%.40s/vmspace-dump-XXXXXX",
		 getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp");
	if (!mkdtemp(place) || chdir(place)) {
		perror(place);
		return 1;
	}
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	unlink("core");
	rmdir(place);
	return case_status(failed, sizeof(tests) / sizeof(tests[0]));
}
