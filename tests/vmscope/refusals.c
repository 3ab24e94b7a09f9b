/* SPDX-License-Identifier: MIT */
/*
 * refusals.c - maps areas up to the limit of the kernel, and tries at each number of areas near it
 * what is refused: in a child, which has as many. Writes "AREAS WHAT RESULT" for each, RESULT "ok"
 * or an error's name.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define PAGE 4096L
enum {
	SOME = 8, /* pages of the area that is tried */
	BELOW = 7 /* the limit: where trying begins */
};

/* Where the kernel itself maps nothing, as it goes downwards from the stack. */
#define FREE ((char *)0x200000000)

static char *area;
static char text[1 << 20];

static long first_page(void)
{
	/* Not as its neighbour, which it would become one with. */
	return mprotect(area, PAGE, PROT_READ);
}

static long middle_page(void)
{
	return mprotect(area + PAGE, PAGE, PROT_NONE);
}

static long lock_middle(void)
{
	return mlock(area + PAGE, PAGE);
}

static long advise_middle(void)
{
	return madvise(area + PAGE, PAGE, MADV_DONTFORK);
}

static long advise_first(void)
{
	return madvise(area, PAGE, MADV_DONTFORK);
}

static long unmap_middle(void)
{
	return munmap(area + PAGE, PAGE);
}

static long unmap_last(void)
{
	return munmap(area + (SOME - 1) * PAGE, PAGE);
}

/* MAP_FAILED is -1. */
static long map_new(void)
{
	return (long)mmap(FREE, PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE,
			  -1, 0);
}

static long move(void)
{
	return (long)mremap(area, SOME * PAGE, (SOME + 1) * PAGE, MREMAP_MAYMOVE);
}

static long move_there(void)
{
	return (long)mremap(area, SOME * PAGE, SOME * PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, FREE);
}

static long copy(void)
{
	return (long)mremap(area, SOME * PAGE, SOME * PAGE, MREMAP_MAYMOVE | MREMAP_DONTUNMAP);
}

static long map_over_middle(void)
{
	return (long)mmap(area + PAGE, PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED,
			  -1, 0);
}

static const struct {
	const char *name;
	long (*try)(void);
} tries[] = {
	{ "mprotect-middle", middle_page }, { "mprotect-end", first_page },
	{ "mlock-middle", lock_middle },
	{ "madvise-middle", advise_middle }, { "madvise-end", advise_first },
	{ "munmap-middle", unmap_middle }, { "munmap-end", unmap_last }, { "mmap", map_new },
	{ "mremap-moves", move }, { "mremap-there", move_there }, { "mremap-copies", copy },
	{ "mmap-middle", map_over_middle },
};

/* [vsyscall], which is no area, not among them. */
static long count_areas(void)
{
	int fd = open("/proc/self/maps", O_RDONLY);
	long lines = 0;
	ssize_t got;
	bool gate = false;

	while (fd >= 0 && (got = read(fd, text, sizeof(text) - 1)) > 0) {
		text[got] = '\0';
		gate |= strstr(text, "[vsyscall]") != NULL;
		for (ssize_t i = 0; i < got; i++)
			lines += text[i] == '\n';
	}
	close(fd);
	return lines - gate;
}

static bool map_one(void)
{
	static bool readable;

	readable = !readable;
	return mmap(NULL, PAGE, readable ? PROT_READ : PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS,
		    -1, 0) != MAP_FAILED;
}

static void try_all(long areas)
{
	for (size_t i = 0; i < sizeof(tries) / sizeof(tries[0]); i++) {
		pid_t pid = fork();
		char line[96];

		if (pid == 0) {
			long result = tries[i].try();
			int length = snprintf(line, sizeof(line), "%ld %s %s\n", areas, tries[i].name,
					      result != -1 ? "ok" : strerrorname_np(errno));

			_exit(write(STDOUT_FILENO, line, (size_t)length) == length ? 0 : 1);
		}
		if (pid < 0 || waitpid(pid, NULL, 0) != pid)
			_exit(2);
	}
}

int main(void)
{
	char *apart = mmap(NULL, 3 * SOME * PAGE, PROT_NONE,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	char limit_text[32] = "";
	int fd = open("/proc/sys/vm/max_map_count", O_RDONLY);
	long limit, areas;

	if (apart == MAP_FAILED || fd < 0 || read(fd, limit_text, sizeof(limit_text) - 1) <= 0)
		return 2;
	close(fd);
	limit = strtol(limit_text, NULL, 10);
	area = apart + SOME * PAGE; /* so that it has neighbours */
	if (mprotect(area, SOME * PAGE, PROT_READ | PROT_WRITE) != 0)
		return 2;
	for (areas = count_areas(); areas < limit - BELOW; areas = count_areas())
		for (long i = areas; i < limit - BELOW; i++)
			if (!map_one())
				return 2;
	for (; areas <= limit + 1; areas = count_areas()) {
		try_all(areas);
		if (!map_one())
			break;
	}
	return 0;
}
