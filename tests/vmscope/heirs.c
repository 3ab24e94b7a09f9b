/* SPDX-License-Identifier: MIT */
/*
 * anon_vmas that were inherited by fork before vmscope attached: areas with an inherited one do not
 * merge with areas that have none, and the kernel does not show which ones are inherited.
 *
 * Usage: heirs HOW
 *   child    vmscope attaches to the child of a process that has touched some of its areas
 *   orphan   the same, but the parent is gone
 *   parent   vmscope attaches to a process that has freed some pages and then forks
 * Prints the PID to attach to, and continues when it has read a line.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define PAGE 4096L
#define RW (PROT_READ | PROT_WRITE)
#define ANON (MAP_PRIVATE | MAP_ANONYMOUS)
#define SLOTS 6

static char *room;

static char *slot(int n)
{
	return room + 8 * n * PAGE;
}

static void map(char *at, long pages)
{
	if (mmap(at, (size_t)(pages * PAGE), RW, ANON | MAP_FIXED, -1, 0) != at)
		exit(1);
}

/* Slots 0 and 1 keep a page, 2 and 3 have freed theirs, 4 and 5 have never had one. */
static void prepare(void)
{
	room = mmap(NULL, 8 * SLOTS * PAGE, PROT_NONE, ANON, -1, 0);
	for (int n = 0; n < SLOTS; n++) {
		map(slot(n), 2);
		if (n < 4)
			slot(n)[0] = 1;
		if (n == 2 || n == 3)
			madvise(slot(n), PAGE, MADV_DONTNEED);
	}
}

/* Maps a neighbour without pages next to each slot: it merges unless the anon_vma is inherited. */
static void meet(void)
{
	slot(3)[PAGE] = 1;
	slot(5)[PAGE] = 1;
	for (int n = 0; n < SLOTS; n++)
		map(slot(n) + 2 * PAGE, 1);
	for (int n = 0; n < SLOTS; n++)
		mprotect(slot(n) + PAGE, PAGE, PROT_READ);
	for (int n = 0; n < SLOTS; n++)
		mprotect(slot(n) + PAGE, PAGE, RW);
}

static void wait_for_word(void)
{
	printf("%d\n", (int)getpid());
	fflush(stdout);
	getchar();
}

static int meet_in_child(void)
{
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		meet();
		_exit(0);
	}
	return waitpid(pid, &status, 0) == pid && status == 0 ? 0 : 1;
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "parent";

	prepare();
	if (strcmp(how, "parent") != 0 && fork() != 0) {
		if (strcmp(how, "child") == 0)
			wait(NULL);
		return 0;
	}
	if (strcmp(how, "orphan") == 0)
		while (getppid() != 1)
			usleep(1000);
	slot(4)[0] = 1;
	wait_for_word();
	if (meet_in_child() != 0)
		return 1;
	meet();
	return 0;
}
