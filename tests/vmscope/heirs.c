/* SPDX-License-Identifier: MIT */
/*
 * What a fork handed down before anybody attached: areas whose anon_vma is inherited do not merge
 * with ones that have none, and nothing shows whose it is.
 *
 * Usage: heirs HOW
 *   child    vmscope attaches to the child of a process that had touched some areas, and not others
 *   orphan   the same, and the parent is gone
 *   parent   vmscope attaches to a process that then forks; pages were given back before
 * Prints the number of the process to attach to, and goes on when it has read a line.
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

/* Slots 0 and 1 keep a page, 2 and 3 have given theirs back, 4 and 5 never had one. */
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

/* Each slot gets a neighbour without pages: it merges with an anon_vma that is not inherited. */
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
