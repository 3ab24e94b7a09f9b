/* SPDX-License-Identifier: MIT */
/*
 * vmspace_import.c [SEED] - spaces made of what somebody else has read: texts, core files,
 * minidumps, records of perf; good ones and bad ones.
 */
#include <elf.h>
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <mapletree/vmspace_import.h>
#include <mapletree/vmspace_proc.h>

#define PAGE 4096UL
#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))

static uint64_t seed;

static unsigned int draw(unsigned int below)
{
	seed = seed * 6364136223846793005u + 1442695040888963407u;
	return (unsigned int)(seed >> 33) % below;
}

static struct vmspace_config plain(void)
{
	struct vmspace_config config;

	vmspace_config_init(&config);
	config.page_size = PAGE;
	config.rlimit_as = config.rlimit_data = VMSPACE_NO_LIMIT;
	return config;
}

static int append(void *text, const char *line, size_t length)
{
	strncat(text, line, length);
	return 0;
}

/* What maps of the space would be. */
static const char *shown(const struct vmspace *space)
{
	static char text[8192];

	text[0] = '\0';
	assert_int_equal(vmspace_show_lines(space, append, text), 0);
	return text;
}

static char *read_file(const char *path, size_t *size)
{
	int fd = open(path, O_RDONLY);
	char *bytes = NULL;
	ssize_t got = 1;

	assert_true(fd >= 0);
	for (*size = 0; got > 0; *size += (size_t)got) {
		bytes = realloc(bytes, *size + (1 << 20) + 1);
		assert_non_null(bytes);
		got = read(fd, bytes + *size, 1 << 20);
		assert_true(got >= 0);
	}
	close(fd);
	bytes[*size] = '\0';
	return bytes;
}

static pid_t start_child(void)
{
	pid_t pid = fork();
	int status;

	if (!pid) {
		raise(SIGSTOP);
		abort();
	}
	assert_int_equal(waitpid(pid, &status, WUNTRACED), pid);
	return pid;
}

static void end_child(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

/* ---- texts ------------------------------------------------------------------------------- */

static void maps_alone_are_enough_for_maps(void **state)
{
	struct vmspace_config config = plain();
	struct vmspace_difference d;
	struct vmspace_mistake mistake;
	struct vmspace *space;
	pid_t pid = start_child();
	char path[64], *text;
	size_t size;

	(void)state;
	assert_int_equal(vmspace_load_how(&space, pid, VMSPACE_LOAD_MAPS), 0);
	if (vmspace_verify(space, pid, VMSPACE_VERIFY_MAPS | VMSPACE_VERIFY_COUNTERS, &d))
		fail_msg("%s", d.text);
	assert_true(vmspace_check(space, NULL));
	vmspace_destroy(space);
	assert_int_equal(vmspace_load_how(&space, pid, 2 | VMSPACE_LOAD_MAPS), -EINVAL);
	assert_null(space);

	snprintf(path, sizeof(path), "/proc/%d/maps", (int)pid);
	text = read_file(path, &size);
	assert_int_equal(vmspace_load_text(&space, &config, text, &mistake), 0);
	if (vmspace_verify(space, pid, VMSPACE_VERIFY_MAPS, &d))
		fail_msg("%s", d.text);
	vmspace_destroy(space);
	free(text);
	end_child(pid);
}

/* The break was taken to be the end of the first area named [heap], so that others were no heap. */
static void a_heap_is_of_several_areas(void **state)
{
	struct vmspace_config config = plain();
	struct vmspace_difference d;
	struct vmspace_mistake mistake;
	struct vmspace *space;
	pid_t pid = fork();
	char path[64], *text;
	int status;
	size_t size;

	(void)state;
	if (!pid) {
		char *heap = sbrk(32 << 12);

		if (heap == (void *)-1 || mprotect((char *)(((uintptr_t)heap + (8 << 12)) & -4096UL), 4096,
						   PROT_READ))
			abort();
		raise(SIGSTOP);
		abort();
	}
	assert_int_equal(waitpid(pid, &status, WUNTRACED), pid);
	assert_true(WIFSTOPPED(status));
	assert_int_equal(vmspace_load_how(&space, pid, VMSPACE_LOAD_MAPS), 0);
	if (vmspace_verify(space, pid, VMSPACE_VERIFY_MAPS, &d))
		fail_msg("%s", d.text);
	vmspace_destroy(space);
	snprintf(path, sizeof(path), "/proc/%d/maps", (int)pid);
	text = read_file(path, &size);
	assert_int_equal(vmspace_load_text(&space, &config, text, &mistake), 0);
	if (vmspace_verify(space, pid, VMSPACE_VERIFY_MAPS, &d))
		fail_msg("%s", d.text);
	vmspace_destroy(space);
	free(text);
	end_child(pid);
}

static const char three[] =
	"00400000-00402000 r-xp 00001000 fe:01 1234                               /bin/prog\n"
	"00800000-00810000 rw-p 00000000 00:00 0                                  [heap]\n"
	"7f0000000000-7f0000010000 rw-p 00000000 00:00 0 \n";

static void bad_lines_are_named(void **state)
{
	static const struct {
		const char *line;
		const char *why;
	} bad[] = {
		{ "7f0000020000-7f0000021000 rw-p 00000000 00:00\n", "not a line of maps" },
		{ "here it ends", "not a line of maps or smaps: \"here it ends\"" },
		{ "7f0000021000-7f0000020000 rw-p 00000000 00:00 0\n", "ends before it begins" },
		{ "7f000000f000-7f0000020000 rw-p 00000000 00:00 0\n", "the one above it ends" },
		{ "7f0000020000-7f0000020800 rw-p 00000000 00:00 0\n", "not whole pages" },
		{ "7fff00000000-1ff0000000000000 rw-p 0 00:00 0\n", "end of user space" },
		/* Found from outside: all of these passed. */
		{ "7f0000020000-7f0000021000 rwzq 0 00:00 0\n", "the permissions are not" },
		{ "7f0000020000-7f0000021000 wr-p 0 00:00 0\n", "the permissions are not" },
		{ "7f0000020000-7f0000021000 rw-x 0 00:00 0\n", "the permissions do not end with" },
		{ "0x7f0000020000-0x7f0000021000 rw-p 0 00:00 0\n", "the start begins with 0x" },
		{ "7f0000020000-0X7f0000021000 rw-p 0 00:00 0\n", "the end begins with 0x" },
		{ "7f0000020000-7f0000021000 rw-p 0x1000 00:00 0\n", "the offset begins with 0x" },
		{ "17f0000020000000-7f0000021000 rw-p 0 00:00 0\n", "ends before it begins" },
		{ "7f0000020000-10000000000000000 rw-p 0 00:00 0\n", "the end is too large" },
		{ "7f0000020000-7f0000021000 rw-p 10000000000000fff 00:00 0\n",
		  "the offset is too large" },
		{ "7f0000020000-7f0000021000 rw-p 0 100000001:00 0\n", "the device is too large" },
		{ "7f0000020000-7f0000021000 rw-p 0 00:100000000 0\n", "the device is too large" },
		{ "7f0000020000-7f0000021000 rw-p 0 00:00 18446744073709551616\n",
		  "the inode is too large" },
		{ "7f0000020000-7f0000021000 rw-p 0 00:00 0x10\n", "the inode begins with 0x" },
		{ "7f0000020000-7f0000021000 rw-p 0 00:00 12ab /x\n", "not a line of maps" },
		{ "ABC000-ABD000 rw-p 0 00:00 0\n", "the one above it ends" }, /* was no line */
		/* Found from outside: it passed for the page of old programs' calls. */
		{ "ffff00000000-ffff00001000 rw-p 00000000 00:00 0\n", "end of user space" },
	};
	struct vmspace_config config = plain();
	struct vmspace_mistake mistake;
	struct vmspace *space, *old;
	char text[512], before[2048];

	(void)state;
	assert_int_equal(vmspace_load_text(&old, &config, three, NULL), 0);
	strcpy(before, shown(old));
	assert_string_equal(before, three);
	for (size_t i = 0; i < LENGTH(bad); i++) {
		strcat(strcpy(text, three), bad[i].line);
		assert_int_equal(vmspace_load_text(&space, &config, text, &mistake), -EINVAL);
		assert_null(space);
		assert_int_equal(mistake.line, 4);
		assert_int_equal(mistake.offset, strlen(three));
		if (!strstr(mistake.text, bad[i].why))
			fail_msg("%s: %s", bad[i].line, mistake.text);
		/* A line is bad where another space is brought up to date by it, too. */
		assert_int_equal(vmspace_put_text(old, text, &mistake), -EINVAL);
		assert_int_equal(mistake.line, 4);
		assert_string_equal(shown(old), before);
		assert_int_equal(vmspace_put_text(old, text, NULL), -EINVAL);
	}
	assert_int_equal(vmspace_load_text(&space, &config, "", &mistake), -EINVAL);
	assert_string_equal(mistake.text, "the text is empty");
	config.max_map_count = 0;
	assert_int_equal(vmspace_load_text(&space, &config, three, &mistake), -EINVAL);
	assert_null(space);
	vmspace_destroy(old);
}

/* Found from outside: it was -EINVAL, "nothing changed", with the lines before it in place. */
static void what_lies_over_a_part_of_the_vdso_is_busy(void **state)
{
	static const char first[] =
		"00400000-00401000 r--p 00000000 fe:01 42                                 /x\n"
		"7ffff7fc4000-7ffff7fc6000 r-xp 00000000 00:00 0                          [vdso]\n";
	static const char moved[] =
		"00400000-00401000 rw-p 00000000 fe:01 42                                 /new\n"
		"7ffff7fc5000-7ffff7fc7000 r-xp 00000000 00:00 0                          [vdso]\n";
	struct vmspace_config config = plain();
	struct vmspace_mistake mistake;
	struct vmspace *space;

	(void)state;
	assert_int_equal(vmspace_load_text(&space, &config, first, NULL), 0);
	assert_int_equal(vmspace_put_text(space, moved, &mistake), -EBUSY);
	assert_int_equal(mistake.line, 2);
	assert_non_null(strstr(shown(space), "/new"));
	assert_int_equal(vmspace_put_text(space, first, NULL), 0);
	assert_string_equal(shown(space), first);
	vmspace_destroy(space);
}

static void a_space_is_brought_up_to_date(void **state)
{
	/* A library over the anonymous memory, more heap, and something new. */
	static const char later[] =
		"00800000-00820000 rw-p 00000000 00:00 0                                  [heap]\n"
		"7e0000000000-7e0000001000 rw-s 00000000 00:01 77                         "
		"/dev/zero (deleted)\n"
		"7f0000004000-7f0000008000 r-xp 00002000 fe:01 99                         /lib/l.so\n";
	static const char all[] =
		"00400000-00402000 r-xp 00001000 fe:01 1234                               /bin/prog\n"
		"00800000-00820000 rw-p 00000000 00:00 0                                  [heap]\n"
		"7e0000000000-7e0000001000 rw-s 00000000 00:01 77                         "
		"/dev/zero (deleted)\n"
		"7f0000000000-7f0000004000 rw-p 00000000 00:00 0 \n"
		"7f0000004000-7f0000008000 r-xp 00002000 fe:01 99                         /lib/l.so\n"
		"7f0000008000-7f0000010000 rw-p 00000000 00:00 0 \n";
	struct vmspace_config config = plain();
	struct vmspace_request req = { .op = VMSPACE_BRK };
	struct vmspace_mistake mistake;
	struct vmspace *space;

	(void)state;
	assert_int_equal(vmspace_load_text(&space, &config, three, NULL), 0);
	assert_int_equal(vmspace_put_text(space, later, &mistake), 0);
	assert_string_equal(shown(space), all);
	assert_true(vmspace_check(space, NULL));
	assert_int_equal(vmspace_put_text(space, later, NULL), 0);
	assert_string_equal(shown(space), all);
	assert_int_equal(vmspace_call(space, &req), 0x820000);
	/* There is no room for more areas than the kernel allows. */
	config = *vmspace_config(space);
	config.max_map_count = 6;
	assert_int_equal(vmspace_configure(space, &config), 0);
	assert_int_equal(vmspace_put_text(space,
					  "7f0000001000-7f0000002000 r--p 00000000 00:00 0\n",
					  &mistake), -ENOMEM);
	assert_int_equal(mistake.line, 1);
	assert_string_equal(shown(space), all);
	vmspace_destroy(space);
}

/* ---- core files -------------------------------------------------------------------------- */

/* A core of three areas and a note of one file, as Linux would write it. */
struct small_core {
	Elf64_Ehdr header;
	Elf64_Shdr section;
	Elf64_Phdr segments[4];
	Elf64_Nhdr file_note;
	char file_owner[8];
	uint64_t count, page_size, file[3];
	char name[12];
	Elf64_Nhdr values_note;
	char values_owner[8];
	Elf64_auxv_t values[3];
} __attribute__((packed));

static struct small_core make_core(void)
{
	struct small_core core = {
		.header = { .e_type = ET_CORE, .e_phoff = offsetof(struct small_core, segments),
			    .e_phentsize = sizeof(Elf64_Phdr), .e_phnum = 4 },
		.file_note = { 5, 5 * 8 + 12, NT_FILE }, .file_owner = "CORE",
		.count = 1, .page_size = PAGE, .file = { 0x400000, 0x402000, 1 },
		.name = "/bin/program",
		.values_note = { 5, sizeof(core.values), NT_AUXV }, .values_owner = "CORE",
	};

	memcpy(core.header.e_ident, ELFMAG, SELFMAG);
	core.header.e_ident[EI_CLASS] = ELFCLASS64;
	core.header.e_ident[EI_DATA] = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? ELFDATA2LSB
										 : ELFDATA2MSB;
	core.name[11] = '\0';
	core.segments[0] = (Elf64_Phdr){
		.p_type = PT_NOTE, .p_offset = offsetof(struct small_core, file_note),
		.p_filesz = sizeof(core) - offsetof(struct small_core, file_note),
	};
	core.segments[1] = (Elf64_Phdr){ .p_type = PT_LOAD, .p_flags = PF_R | PF_X,
					 .p_vaddr = 0x400000, .p_memsz = 0x2000 };
	core.segments[2] = (Elf64_Phdr){ .p_type = PT_LOAD, .p_flags = PF_R | PF_W,
					 .p_vaddr = 0x7ff000000000, .p_memsz = 0x21000 };
	core.segments[3] = (Elf64_Phdr){ .p_type = PT_LOAD, .p_flags = PF_R | PF_X,
					 .p_vaddr = 0x7ff000100000, .p_memsz = 0x2000 };
	core.values[0].a_type = AT_RANDOM;
	core.values[0].a_un.a_val = 0x7ff000020123;
	core.values[1].a_type = AT_SYSINFO_EHDR;
	core.values[1].a_un.a_val = 0x7ff000100000;
	return core;
}

static void a_core_tells_areas(void **state)
{
	struct small_core core = make_core();
	struct vmspace_image image = { 0 };
	struct vmspace_config config = plain();
	struct vmspace_area *areas;
	struct vmspace *space;
	unsigned long page_size;
	size_t count;

	(void)state;
	for (int many = 0; many < 2; many++) {
		if (many) { /* as a core of 65,535 areas and more is written */
			core.header.e_phnum = PN_XNUM;
			core.header.e_shoff = offsetof(struct small_core, section);
			core.section.sh_info = 4;
		}
		assert_int_equal(vmspace_parse_core(&core, sizeof(core), &areas, &count, &page_size,
						    NULL), 0);
		assert_int_equal(count, 3);
		assert_int_equal(page_size, PAGE);
		assert_int_equal(vmspace_create(&space, &config), 0);
		assert_int_equal(vmspace_exec(space, areas, count, &image), 0);
		assert_string_equal(shown(space),
			"00400000-00402000 r-xp 00001000 00:00 0                                  "
			"/bin/progra\n"
			"7ff000000000-7ff000021000 rw-p 00000000 00:00 0                          "
			"[stack]\n"
			"7ff000100000-7ff000102000 r-xp 00000000 00:00 0                          "
			"[vdso]\n");
		vmspace_destroy(space);
		vmspace_free_areas(areas, count);
	}
}

static void bad_cores_are_refused(void **state)
{
	static const struct {
		size_t offset;
		unsigned char byte;
		const char *why;
	} bad[] = {
		{ 0, 0, "not an ELF file" },
		{ EI_CLASS, ELFCLASS32, "not a file of 64 bits" },
		{ EI_DATA, 7, "byte order" },
		{ offsetof(Elf64_Ehdr, e_type), ET_EXEC, "of type 2, not a core" },
		{ offsetof(Elf64_Ehdr, e_phnum), 200, "200 program headers" },
		{ offsetof(Elf64_Ehdr, e_phoff) + 7, 1, "program headers" },
		{ offsetof(struct small_core, segments[0].p_filesz) + 6, 1, "notes are not" },
		{ offsetof(struct small_core, segments[1].p_memsz) + 6, 1, "begins before" },
		{ offsetof(struct small_core, file_note.n_descsz) + 2, 1, "is cut" },
		{ offsetof(struct small_core, count) + 6, 1, "the note of files is cut" },
		{ offsetof(struct small_core, page_size), 1, "the note of files is cut" },
		{ offsetof(struct small_core, file[0]) + 1, 0x10, "no segment begins" },
		{ offsetof(struct small_core, name[11]), 'm', "the name of file 1 is cut" },
	};
	struct small_core core = make_core();
	struct vmspace_mistake mistake;
	struct vmspace_area *areas;
	size_t count;

	(void)state;
	core.segments[3].p_memsz = (uint64_t)0 - PAGE;
	assert_int_equal(vmspace_parse_core(&core, sizeof(core), &areas, &count, NULL, &mistake),
			 -EINVAL);
	assert_int_equal(mistake.offset, offsetof(struct small_core, segments[3]));
	assert_non_null(strstr(mistake.text, " bytes at 0x7ff000100000"));
	for (size_t i = 0; i < LENGTH(bad); i++) {
		core = make_core();

		((unsigned char *)&core)[bad[i].offset] = bad[i].byte;
		if (vmspace_parse_core(&core, sizeof(core), &areas, &count, NULL, &mistake) !=
		    -EINVAL || !strstr(mistake.text, bad[i].why))
			fail_msg("case %zu: %s", i, mistake.text);
		assert_null(areas);
	}
}

/* Whatever is in a file: no access beyond its end, which the sanitizers watch. */
static void random_cores_are_read_or_refused(void **state)
{
	const struct small_core whole = make_core();
	unsigned long read = 0, refused = 0;

	(void)state;
	print_message("seed %llu\n", (unsigned long long)seed);
	for (int i = 0; i < 20000; i++) {
		size_t size = draw(4) ? sizeof(whole) : draw(sizeof(whole) + 1), count;
		unsigned char *bytes = malloc(size + 1);
		struct vmspace_area *areas;

		assert_non_null(bytes);
		memcpy(bytes, &whole, size);
		for (unsigned int n = draw(4); n && size; n--)
			bytes[draw((unsigned int)size)] = (unsigned char)draw(256);
		bytes = realloc(bytes, size ? size : 1);
		if (vmspace_parse_core(bytes, size, &areas, &count, NULL, NULL)) {
			assert_null(areas);
			refused++;
		} else {
			vmspace_free_areas(areas, count);
			read++;
		}
		free(bytes);
	}
	assert_true(read > 100 && refused > 100);
}

/* Each line of maps is an area of the core, with the same permissions and file. */
static void compare_with_maps(const struct vmspace_area *areas, size_t count, const char *maps)
{
	struct vma_backing backing;
	struct vmspace_line line;
	char name[4200];
	size_t i = 0, files = 0;

	for (; (maps = vmspace_parse_line(maps, &line)); i++) {
		if (line.start > 1UL << 62) /* [vsyscall] */
			break;
		assert_true(i < count);
		vmspace_line_backing(&line, &backing, name, sizeof(name));
		if (areas[i].start != line.start || areas[i].end != line.end)
			fail_msg("%lx-%lx for %.*s", areas[i].start, areas[i].end,
				 (int)line.length, line.text);
		assert_int_equal(!!(areas[i].flags & VMA_WRITE), line.perms[1] == 'w');
		assert_int_equal(!!(areas[i].flags & VMA_EXEC), line.perms[2] == 'x');
		if (!strcmp(name, "[vdso]") || !strcmp(name, "[stack]"))
			assert_string_equal(areas[i].backing.name, name);
		if (name[0] != '/')
			continue;
		files++;
		assert_string_equal(areas[i].backing.name, name);
		assert_int_equal(areas[i].offset, line.offset);
	}
	assert_true(i == count || i + 1 == count);
	assert_true(files > 3);
}

/* One that the kernel writes, if it writes it where it is to be found. */
static void a_real_core_is_what_maps_said(void **state)
{
	char directory[] = "/tmp/vmspace_import.XXXXXX", pattern[128] = "", path[64];
	struct rlimit limit = { RLIM_INFINITY, RLIM_INFINITY }, before;
	struct vmspace_area *areas;
	struct vmspace_mistake mistake;
	char *maps, *core;
	size_t size, count;
	FILE *file = fopen("/proc/sys/kernel/core_pattern", "r");
	pid_t pid;
	int status;

	(void)state;
	if (file && !fgets(pattern, sizeof(pattern), file))
		pattern[0] = '\0';
	if (file)
		fclose(file);
	getrlimit(RLIMIT_CORE, &before);
	if (strcmp(pattern, "core\n") != 0 || setrlimit(RLIMIT_CORE, &limit) || getenv("EMULATED"))
		skip();
	assert_non_null(mkdtemp(directory));
	assert_int_equal(chdir(directory), 0);
	assert_true(mmap(NULL, 3 * PAGE, PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0) !=
		    MAP_FAILED);
	pid = start_child();
	snprintf(path, sizeof(path), "/proc/%d/maps", (int)pid);
	maps = read_file(path, &size);
	kill(pid, SIGCONT);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	setrlimit(RLIMIT_CORE, &before);
	snprintf(path, sizeof(path), "core.%d", (int)pid);
	if (access(path, F_OK))
		strcpy(path, "core");
	if (!WCOREDUMP(status) || access(path, F_OK)) {
		rmdir(directory);
		skip();
	}
	core = read_file(path, &size);
	unlink(path);
	rmdir(directory);
	if (vmspace_parse_core(core, size, &areas, &count, NULL, &mistake))
		fail_msg("%zu: %s", mistake.offset, mistake.text);
	compare_with_maps(areas, count, maps);
	vmspace_free_areas(areas, count);
	free(core);
	free(maps);
}

/* ---- minidumps --------------------------------------------------------------------------- */

/* As Breakpad writes it: a header, a directory of two streams, the command line, maps. */
struct small_dump {
	uint32_t header[8];
	uint32_t directory[2][3];
	char command[8];
	char maps[sizeof(three) - 1];
};

static struct small_dump make_dump(void)
{
	struct small_dump dump = {
		.header = { htole32(0x504d444d), htole32(0xa793), htole32(2),
			    htole32(offsetof(struct small_dump, directory)) },
		.directory = { { htole32(0x47670006), htole32(sizeof(dump.command)),
				 htole32(offsetof(struct small_dump, command)) },
			       { htole32(0x47670009), htole32(sizeof(dump.maps)),
				 htole32(offsetof(struct small_dump, maps)) } },
		.command = "prog",
	};

	memcpy(dump.maps, three, sizeof(dump.maps));
	return dump;
}

static void a_minidump_tells_areas(void **state)
{
	const struct small_dump dump = make_dump();
	struct vmspace_config config = plain();
	struct vmspace_image image = { 0 };
	struct vmspace_area *areas;
	struct vmspace *space;
	size_t count;

	(void)state;
	assert_int_equal(vmspace_parse_minidump(&dump, sizeof(dump), &areas, &count, NULL), 0);
	assert_int_equal(vmspace_create(&space, &config), 0);
	assert_int_equal(vmspace_exec(space, areas, count, &image), 0);
	assert_string_equal(shown(space), three);
	vmspace_free_areas(areas, count);
	vmspace_destroy(space);
}

static void bad_minidumps_are_refused(void **state)
{
	static const struct {
		size_t offset;
		unsigned char byte;
		const char *why;
	} bad[] = {
		{ 0, 'm', "not a minidump" },
		{ offsetof(struct small_dump, header[2]), 1, "none of the 1 streams" },
		{ offsetof(struct small_dump, header[3]) + 3, 0xff, "the directory ends" },
		{ offsetof(struct small_dump, directory[1][0]), 8, "none of the 2 streams" },
		{ offsetof(struct small_dump, directory[1][1]) + 3, 0xff, "maps is cut" },
		{ offsetof(struct small_dump, directory[1][2]) + 3, 0xff, "maps is cut" },
		{ offsetof(struct small_dump, directory[1][1]), 0, "text is empty" },
		{ offsetof(struct small_dump, maps[8]), ' ', "not a line" },
	};
	struct vmspace_mistake mistake;
	struct vmspace_area *areas;
	struct small_dump dump;
	size_t count;

	(void)state;
	for (size_t i = 0; i < LENGTH(bad); i++) {
		dump = make_dump();
		((unsigned char *)&dump)[bad[i].offset] = bad[i].byte;
		if (vmspace_parse_minidump(&dump, sizeof(dump), &areas, &count, &mistake) !=
		    -EINVAL || !strstr(mistake.text, bad[i].why))
			fail_msg("case %zu: %s", i, mistake.text);
		assert_null(areas);
	}
	assert_int_equal(mistake.line, 1);
	assert_int_equal(mistake.offset, offsetof(struct small_dump, maps));
	dump = make_dump();
	for (size_t size = 0; size < sizeof(dump); size++) {
		char *part = malloc(size ? size : 1);

		assert_non_null(part);
		memcpy(part, &dump, size);
		assert_int_equal(vmspace_parse_minidump(part, size, &areas, &count, NULL), -EINVAL);
		free(part);
	}
}

/* ---- records of perf --------------------------------------------------------------------- */

struct record {
	struct perf_event_header header;
	uint32_t pid, tid;
	uint64_t addr, length, offset;
	uint32_t major, minor;
	uint64_t inode, generation;
	uint32_t prot, flags;
	char name[16];
};

static struct record make_record(const char *name)
{
	struct record record = {
		.header = { PERF_RECORD_MMAP2, 0, sizeof(record) }, .pid = 7, .tid = 8,
		.addr = 0x7f0000004000, .length = 0x4000, .offset = 0x2000, .major = 0xfe,
		.minor = 1, .inode = 99, .prot = PROT_READ | PROT_EXEC, .flags = MAP_PRIVATE,
	};

	strncpy(record.name, name, sizeof(record.name) - 1);
	return record;
}

static void records_are_areas(void **state)
{
	struct record record = make_record("/lib/l.so");
	struct vmspace_config config = plain();
	struct vmspace_area area;
	struct vmspace *space;
	int pid;

	(void)state;
	assert_int_equal(vmspace_load_text(&space, &config, three, NULL), 0);
	assert_int_equal(vmspace_parse_mmap2(&record, sizeof(record), &area, &pid, NULL), 0);
	assert_int_equal(pid, 7);
	assert_int_equal(vmspace_put_areas(space, &area, 1, NULL), 0);
	record = make_record("//anon");
	record.major = record.minor = 0;
	record.inode = 0;
	record.addr = 0x7e0000000000;
	record.prot = PROT_READ | PROT_WRITE;
	assert_int_equal(vmspace_parse_mmap2(&record, sizeof(record), &area, &pid, NULL), 0);
	assert_int_equal(vmspace_put_areas(space, &area, 1, NULL), 0);
	assert_string_equal(shown(space),
		"00400000-00402000 r-xp 00001000 fe:01 1234                               /bin/prog\n"
		"00800000-00810000 rw-p 00000000 00:00 0                                  [heap]\n"
		"7e0000000000-7e0000004000 rw-p 00000000 00:00 0 \n"
		"7f0000000000-7f0000004000 rw-p 00000000 00:00 0 \n"
		"7f0000004000-7f0000008000 r-xp 00002000 fe:01 99                         /lib/l.so\n"
		"7f0000008000-7f0000010000 rw-p 00000000 00:00 0 \n");
	vmspace_destroy(space);
}

static void bad_records_are_refused(void **state)
{
	struct record record = make_record("/lib/l.so");
	struct vmspace_mistake mistake;
	struct vmspace_area area;
	int pid;

	(void)state;
	for (size_t size = 0; size < sizeof(record); size++)
		assert_int_equal(vmspace_parse_mmap2(&record, size, &area, &pid, &mistake), -EINVAL);
	memset(record.name, 'x', sizeof(record.name));
	assert_int_equal(vmspace_parse_mmap2(&record, sizeof(record), &area, &pid, &mistake),
			 -EINVAL);
	assert_string_equal(mistake.text, "a name without an end");
	record = make_record("/lib/l.so");
	record.length = (uint64_t)0 - record.addr + 1;
	assert_int_equal(vmspace_parse_mmap2(&record, sizeof(record), &area, &pid, &mistake),
			 -EINVAL);
	record.header.type = PERF_RECORD_SAMPLE;
	assert_int_equal(vmspace_parse_mmap2(&record, sizeof(record), &area, &pid, &mistake),
			 -EINVAL);
	assert_string_equal(mistake.text, "a record of type 9, not 10 (MMAP2)");
}

/* What the kernel itself says of a mapping is what maps says. */
static void records_of_the_kernel_are_what_maps_says(void **state)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE, .size = sizeof(attr), .config = PERF_COUNT_SW_DUMMY,
		.mmap = 1, .mmap2 = 1, .mmap_data = 1, .exclude_kernel = 1,
	};
	struct vmspace_area area = { 0 };
	struct perf_event_mmap_page *ring;
	int fd, self = -1, pid;
	size_t size;
	char *text, *at, line[32];

	(void)state;
	fd = (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
	ring = fd < 0 ? MAP_FAILED
		      : mmap(NULL, 9 * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (ring == MAP_FAILED || (self = open("/proc/self/exe", O_RDONLY)) < 0) {
		close(fd);
		skip();
	}
	at = mmap(NULL, 2 * PAGE, PROT_READ | PROT_EXEC, MAP_PRIVATE, self, PAGE);
	assert_true(at != MAP_FAILED);
	for (uint64_t tail = 0; tail < ring->data_head && area.start != (unsigned long)at;) {
		const char *record = (char *)ring + PAGE + tail;

		assert_int_equal(vmspace_parse_mmap2(record, ring->data_head - tail, &area, &pid,
						     NULL), 0);
		assert_int_equal(pid, getpid());
		tail += ((const struct perf_event_header *)record)->size;
	}
	assert_int_equal(area.start, (unsigned long)at);
	text = read_file("/proc/self/maps", &size);
	snprintf(line, sizeof(line), "%lx-%lx r-xp", area.start, area.end);
	at = strstr(text, line);
	assert_non_null(at);
	*strchr(at, '\n') = '\0';
	assert_int_equal(area.offset, PAGE);
	assert_non_null(strstr(at, area.backing.name));
	assert_int_equal(area.backing.kind, VMA_BACKING_FILE);
	assert_true(area.flags & VMA_EXEC && !(area.flags & (VMA_WRITE | VMA_SHARED)));
	free(text);
	munmap((void *)area.start, 2 * PAGE);
	munmap(ring, 9 * PAGE);
	close(self);
	close(fd);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(maps_alone_are_enough_for_maps),
		cmocka_unit_test(a_heap_is_of_several_areas),
		cmocka_unit_test(bad_lines_are_named),
		cmocka_unit_test(what_lies_over_a_part_of_the_vdso_is_busy),
		cmocka_unit_test(a_space_is_brought_up_to_date),
		cmocka_unit_test(a_core_tells_areas),
		cmocka_unit_test(bad_cores_are_refused),
		cmocka_unit_test(random_cores_are_read_or_refused),
		cmocka_unit_test(a_real_core_is_what_maps_said),
		cmocka_unit_test(a_minidump_tells_areas),
		cmocka_unit_test(bad_minidumps_are_refused),
		cmocka_unit_test(records_are_areas),
		cmocka_unit_test(bad_records_are_refused),
		cmocka_unit_test(records_of_the_kernel_are_what_maps_says),
	};

	seed = argc > 1 ? strtoull(argv[1], NULL, 0) : (uint64_t)time(NULL);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
