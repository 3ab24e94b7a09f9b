/* SPDX-License-Identifier: MIT */
/* Entry point of vmscope: dispatches to its commands. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/options.h"
#include "cli/at.h"
#include "cli/check.h"
#include "cli/draw.h"
#include "cli/explain.h"
#include "cli/replay.h"
#include "cli/trace.h"

static const struct {
	const char *name;
	int (*run)(int argc, char **argv);
	const char *help;
} commands[] = {
	{ "trace", trace_main,
	  "follow a program's address space and compare every step with the kernel" },
	{ "replay", replay_main,
	  "play a log of trace or of strace, compare its results, print the final maps" },
	{ "at", at_main, "tell what was mapped at a line or a time of a log, and where" },
	{ "explain", explain_main, "tell who is eating a process's mappings, and why" },
	{ "check", check_main,
	  "make random calls for real and in libvmspace, and compare after each" },
	{ "draw", draw_main, "draw the address spaces of a log against time, as SVG" },
};

enum { COMMANDS = sizeof(commands) / sizeof(commands[0]) };

static void usage(FILE *to)
{
	fputs("Usage: vmscope COMMAND [OPTION...]\n\nCommands:\n", to);
	for (size_t i = 0; i < COMMANDS; i++)
		fprintf(to, "  %-8s %s\n", commands[i].name, commands[i].help);
	fputs("\n'vmscope COMMAND --help' tells the options of a command.\n", to);
}

int main(int argc, char **argv)
{
	char name[64];

	if (argc < 2) {
		usage(stderr);
		return STATUS_FAILED;
	}
	if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0) {
		usage(stdout);
		return 0;
	}
	if (strcmp(argv[1], "--version") == 0 || strcmp(argv[1], "-V") == 0) {
		puts("vmscope " VMSCOPE_VERSION);
		return 0;
	}
	for (size_t i = 0; i < COMMANDS; i++) {
		if (strcmp(argv[1], commands[i].name) != 0)
			continue;
		/* argp's messages begin with this name. */
		snprintf(name, sizeof(name), "vmscope %s", commands[i].name);
		argv[1] = name;
		return commands[i].run(argc - 1, argv + 1);
	}
	fprintf(stderr, "vmscope: there is no command '%s'; see 'vmscope --help'\n", argv[1]);
	return STATUS_FAILED;
}
