/* SPDX-License-Identifier: MIT */
/*
 * many COUNT [rename FILE | vdso | fill | split | wait | threads | files FILE | touch | leave | merge]
 * - maps COUNT areas of a page that cannot be merged. After half of them something happens that no
 * call on the address space shows: FILE, which is mapped, is renamed to FILE.new; or the kernel maps
 * [vdso] again, by a call that vmscope does not stop at (exits with 77 if it cannot be had). fill:
 * writes a line, waits for one, maps until the kernel refuses, writes how many, and waits for another
 * line.
 *
 * touch, leave: maps them in four threads, one to three pages each; they touch every other one as
 * soon as they have it, beside the others' calls, or touch none.
 *
 * The others wait for a line of input first, if there is an input. split: makes as many by
 * mprotect(), in the middle of one. threads: maps half of them in another thread, beside this one.
 * files: of FILE. merge: makes them before it waits; then makes another grow, COUNT / 2 times,
 * writes a line, and waits for one.
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define PAGE 4096L

/* Of two neighbours one can be read. */
static bool map_some(long count)
{
	static bool readable;

	for (long i = 0; i < count; i++) {
		readable = !readable;
		if (mmap(NULL, PAGE, readable ? PROT_READ : PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS,
			 -1, 0) == MAP_FAILED)
			return false;
	}
	return true;
}

static bool map_file_often(const char *path, long count)
{
	int fd = open(path, O_RDONLY);

	for (long i = 0; i < count; i++)
		if (fd < 0 || mmap(NULL, PAGE, i % 2 ? PROT_READ : PROT_READ | PROT_WRITE,
				   MAP_PRIVATE, fd, 0) == MAP_FAILED)
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

/* Reads byte by byte, and writes without a buffer: nothing else may be mapped now. */
static bool wait_for_line(void)
{
	char byte;

	while (read(STDIN_FILENO, &byte, 1) == 1)
		if (byte == '\n')
			return true;
	return false;
}

static bool fill(void)
{
	char text[32];
	long fitted = 0;

	if (write(STDOUT_FILENO, "ready\n", 6) != 6 || !wait_for_line())
		return false;
	while (map_some(1))
		fitted++;
	snprintf(text, sizeof(text), "%ld\n", fitted);
	return write(STDOUT_FILENO, text, strlen(text)) > 0 && wait_for_line();
}

/* Every other page of an area. */
static bool split_some(long count)
{
	char *pages = mmap(NULL, (count + 1) * PAGE, PROT_NONE,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (pages == MAP_FAILED)
		return false;
	for (long i = 1; i < count; i += 2)
		if (mprotect(pages + i * PAGE, PAGE, PROT_READ) != 0)
			return false;
	return true;
}

/* Each page is touched before the next one joins it. */
static bool merge_some(long count)
{
	char *pages = mmap(NULL, (count + 1) * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (pages == MAP_FAILED || !split_some(count))
		return false;
	for (long i = 0; i < count / 2; i++) {
		if (mprotect(pages + i * PAGE, PAGE, PROT_READ | PROT_WRITE) != 0)
			return false;
		pages[i * PAGE] = 1;
		if (i == 0)
			wait_for_line();
	}
	return write(STDOUT_FILENO, "done\n", 5) == 5 && wait_for_line();
}

/* In a place of its own, so that the threads' areas do not touch. */
static void *map_apart(void *count)
{
	const long pages = *(const long *)count;
	char *at = mmap(NULL, (pages + 1) * PAGE, PROT_NONE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (at == MAP_FAILED)
		return NULL;
	for (long i = 0; i < pages; i++)
		if (mmap(at + i * PAGE, PAGE, i % 2 ? PROT_READ : PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == MAP_FAILED)
			return NULL;
	return at;
}

/* What one of four threads maps. */
struct share {
	long count;
	bool touches, done;
};

/* Wherever the kernel places them: next to areas of the other threads. */
static void *map_share(void *data)
{
	struct share *share = data;

	for (long i = 0; i < share->count; i++) {
		const bool writable = i % 2 == 0;
		char *page = mmap(NULL, PAGE * (1 + i % 3),
				  writable ? PROT_READ | PROT_WRITE : PROT_READ,
				  MAP_PRIVATE | MAP_ANONYMOUS | (i & 2 ? MAP_NORESERVE : 0), -1, 0);

		if (page == MAP_FAILED)
			return NULL;
		if (writable && share->touches)
			*page = 1;
	}
	share->done = true;
	return NULL;
}

static bool map_in_four_threads(long count, bool touches)
{
	struct share shares[4];
	pthread_t threads[4];
	bool done = true;

	for (int i = 0; i < 4; i++) {
		shares[i] = (struct share){ .count = count / 4, .touches = touches };
		if (pthread_create(&threads[i], NULL, map_share, &shares[i]) != 0)
			exit(1);
	}
	for (int i = 0; i < 4; i++)
		done = pthread_join(threads[i], NULL) == 0 && shares[i].done && done;
	return done;
}

static bool map_in_two_threads(long count)
{
	long half = count / 2;
	pthread_t thread;
	void *theirs;
	bool ours;

	if (pthread_create(&thread, NULL, map_apart, &half) != 0)
		return false;
	ours = map_apart(&half) != NULL;
	return pthread_join(thread, &theirs) == 0 && ours && theirs;
}

int main(int argc, char **argv)
{
	long count = argc > 1 ? strtol(argv[1], NULL, 10) : 0;
	const char *what = argc > 2 ? argv[2] : "";
	bool renames = argc > 3 && strcmp(what, "rename") == 0, vdso = strcmp(what, "vdso") == 0;

	if (strcmp(what, "merge") == 0)
		return merge_some(count) ? 0 : 1;
	if (strcmp(what, "split") == 0 || strcmp(what, "wait") == 0 ||
	    strcmp(what, "threads") == 0 || strcmp(what, "files") == 0)
		wait_for_line();
	if (strcmp(what, "split") == 0)
		return split_some(count) ? 0 : 1;
	if (strcmp(what, "threads") == 0)
		return map_in_two_threads(count) ? 0 : 1;
	if (strcmp(what, "touch") == 0 || strcmp(what, "leave") == 0)
		return map_in_four_threads(count, strcmp(what, "touch") == 0) ? 0 : 1;
	if (argc > 3 && strcmp(what, "files") == 0)
		return map_file_often(argv[3], count) ? 0 : 1;
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
	if (!map_some(count / 2))
		return 1;
	return strcmp(what, "fill") != 0 || fill() ? 0 : 1;
}
