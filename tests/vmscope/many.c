/* SPDX-License-Identifier: MIT */
/*
 * many COUNT [rename FILE | vdso] - maps COUNT areas of a page that cannot be merged. After half of
 * them something happens that no call on the address space shows: FILE, which is mapped, is renamed
 * to FILE.new; or the kernel maps [vdso] again, by a call that vmscope does not stop at (exits with
 * 77 if it cannot be had).
 */
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define PAGE 4096L

static bool map_some(long count)
{
	for (long i = 0; i < count; i++)
		if (mmap(NULL, PAGE, i % 2 ? PROT_NONE : PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1,
			 0) == MAP_FAILED)
			return false;
	return true;
}

static bool map_file(const char *path)
{
	int fd = open(path, O_RDONLY);

	return fd >= 0 && mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE, fd, 0) != MAP_FAILED;
}

static bool rename_file(const char *path)
{
	char new[4096];

	snprintf(new, sizeof(new), "%s.new", path);
	return rename(path, new) == 0;
}

/* With [vvar], which the kernel maps beside it. */
static bool unmap_vdso(void)
{
	FILE *maps = fopen("/proc/self/maps", "r");
	unsigned long start, end, first = 0, last = 0;
	char line[4096];

	while (maps && fgets(line, sizeof(line), maps))
		if ((strstr(line, "[vvar") || strstr(line, "[vdso]")) &&
		    sscanf(line, "%lx-%lx", &start, &end) == 2) {
			first = first ? first : start;
			last = end;
		}
	if (maps)
		fclose(maps);
	return last && munmap((void *)first, last - first) == 0;
}

static bool map_vdso(void)
{
#ifdef SYS_arch_prctl
	const int map_vdso_64 = 0x2003;

	return syscall(SYS_arch_prctl, map_vdso_64, 0x100000000UL) > 0;
#else
	return false;
#endif
}

int main(int argc, char **argv)
{
	long count = argc > 1 ? strtol(argv[1], NULL, 10) : 0;
	const char *what = argc > 2 ? argv[2] : "";
	bool renames = argc > 3 && strcmp(what, "rename") == 0, vdso = strcmp(what, "vdso") == 0;

	if (renames && !map_file(argv[3]))
		return 1;
	if (vdso && !unmap_vdso())
		return 77;
	if (!map_some(count - count / 2))
		return 1;
	if (renames && !rename_file(argv[3]))
		return 1;
	if (vdso && !map_vdso())
		return 77;
	return map_some(count / 2) ? 0 : 1;
}
