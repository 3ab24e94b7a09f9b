/* SPDX-License-Identifier: MIT */
/*
 * The test program for vmscope: makes every call that changes an address space, in every mode.
 *
 * Usage: calls [GROUP...]; by default, all groups. Prints "ok GROUP" for each. Its output and exit
 * status must not depend on whether it is traced.
 */
#include "calls.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

void must(int condition, const char *text, const char *file, int line)
{
	if (condition)
		return;
	fprintf(stderr, "%s:%d: failed: %s\n", file, line, text);
	_exit(99);
}

void touch(void *start, size_t length)
{
	for (size_t at = 0; at < length; at += PAGE)
		((volatile char *)start)[at] = 1;
}

char *island(size_t pages, int prot)
{
	char *all = mmap(NULL, (pages + 2) * PAGE, prot, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	MUST(all != MAP_FAILED);
	MUST(munmap(all, PAGE) == 0);
	MUST(munmap(all + (pages + 1) * PAGE, PAGE) == 0);
	return all + PAGE;
}

static const char *self;

static void exec_group(void)
{
	test_exec(self);
}

static void exec_thread_group(void)
{
	test_exec_in_thread(self);
}

static const struct {
	const char *name;
	void (*run)(void);
} groups[] = {
	{ "map", test_map },
	{ "unmap", test_unmap },
	{ "protect", test_protect },
	{ "remap", test_remap },
	{ "brk", test_brk },
	{ "advise", test_advise },
	{ "lock", test_lock },
	{ "names", test_names },
	{ "shared", test_shared },
	{ "files", test_files },
	{ "growsdown", test_growsdown },
	{ "uffd", test_uffd },
	{ "rings", test_rings },
	{ "odd", test_odd },
	{ "refused", test_refused },
	{ "recursion", test_recursion },
	{ "threads", test_threads },
	{ "thread-recursion", test_thread_recursion },
	{ "fork", test_fork },
	{ "fork-in-threads", test_fork_in_threads },
	{ "vfork", test_vfork },
	{ "exec", exec_group },
	{ "exec-in-thread", exec_thread_group },
	{ "clone-vm", test_clone_vm },
	{ "signals", test_signals },
	{ "stop", test_stop },
	{ "kill-in-call", test_kill_in_call },
};

enum { GROUPS = sizeof(groups) / sizeof(groups[0]) };

static int wanted(const char *name, int argc, char **argv)
{
	if (argc < 2)
		return 1;
	for (int i = 1; i < argc; i++)
		if (strcmp(argv[i], name) == 0)
			return 1;
	return 0;
}

int main(int argc, char **argv)
{
	int run = 0;

	self = argv[0];
	/* For an exec of this program: exit at once, with a status of its own. */
	if (argc == 3 && strcmp(argv[1], "--exit") == 0)
		return atoi(argv[2]);
	if (argc == 3 && strcmp(argv[1], "--signal") == 0) {
		raise(atoi(argv[2]));
		return 98;
	}
	setvbuf(stdout, NULL, _IOLBF, 0);
	for (size_t i = 0; i < GROUPS; i++) {
		if (!wanted(groups[i].name, argc, argv))
			continue;
		groups[i].run();
		printf("ok %s\n", groups[i].name);
		run++;
	}
	if (run == 0) {
		fprintf(stderr, "calls: no such group\n");
		return 2;
	}
	return 0;
}
