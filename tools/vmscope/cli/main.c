/* SPDX-License-Identifier: MIT */
/* Entry point of vmscope: dispatches to its commands. */
#include <stdio.h>
#include <string.h>

#include "base/options.h"
#include "base/output.h"
#include "cli/at.h"
#include "cli/check.h"
#include "cli/draw.h"
#include "cli/explain.h"
#include "cli/export.h"
#include "cli/replay.h"
#include "cli/report.h"
#include "cli/top.h"
#include "cli/trace.h"
#include "cli/watch.h"

static const struct {
	const char *name;
	int (*run)(int argc, char **argv);
	const char *help;
} commands[] = {
	{ "trace", trace_main,
	  "follow a program's address space and compare every step with the kernel" },
	{ "watch", watch_main,
	  "follow address spaces without stopping anybody, by a program in the kernel (eBPF)" },
	{ "replay", replay_main,
	  "play a log of trace or of strace, compare its results, print the final maps" },
	{ "at", at_main, "tell what was mapped at a line or a time of a log, and where" },
	{ "explain", explain_main, "tell who is eating a process's mappings, and why" },
	{ "top", top_main, "watch how many areas processes have, and how fast they gain more" },
	{ "check", check_main,
	  "make random calls for real and in libvmspace, and compare after each" },
	{ "report", report_main,
	  "write a log as a page for a browser: address spaces over time, to zoom and search" },
	{ "export", export_main,
	  "write a log for other programs: Perfetto, Chrome, tables, flame graphs" },
	{ "draw", draw_main, "draw the address spaces of a log against time, as SVG" },
};

enum { COMMANDS = sizeof(commands) / sizeof(commands[0]) };

/* Runs command number @i: argp's messages begin with the name that it gets. */
static int run(size_t i, int argc, char **argv)
{
	char name[64];

	snprintf(name, sizeof(name), "vmscope %s", commands[i].name);
	argv[0] = name;
	return commands[i].run(argc, argv);
}

/* The number of a command; COMMANDS: there is none of this name. */
static size_t find(const char *name)
{
	size_t i = 0;

	while (i < COMMANDS && strcmp(commands[i].name, name) != 0)
		i++;
	if (i == COMMANDS)
		fprintf(stderr, "vmscope: there is no command '%s'; see 'vmscope --help'\n", name);
	return i;
}

static void usage(FILE *to)
{
	fputs("Usage: vmscope COMMAND [OPTION...]\n\nCommands:\n", to);
	for (size_t i = 0; i < COMMANDS; i++)
		fprintf(to, "  %-8s %s\n", commands[i].name, commands[i].help);
	fprintf(to, "  %-8s %s\n", "help", "tell the options of a command: help COMMAND");
}

static int help(const char *name)
{
	char option[] = "--help", *argv[] = { NULL, option, NULL };
	size_t command = name ? find(name) : COMMANDS;

	if (!name)
		usage(stdout);
	else if (command < COMMANDS)
		return run(command, 2, argv);
	return name ? STATUS_FAILED : 0;
}

int main(int argc, char **argv)
{
	size_t command;

	if (argc < 2) {
		usage(stderr);
		return STATUS_FAILED;
	}
	output_check_at_exit();
	if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)
		return help(NULL);
	if (strcmp(argv[1], "help") == 0)
		return help(argv[2]);
	if (strcmp(argv[1], "--version") == 0 || strcmp(argv[1], "-V") == 0) {
		puts("vmscope " VMSCOPE_VERSION);
		return 0;
	}
	command = find(argv[1]);
	return command < COMMANDS ? run(command, argc - 1, argv + 1) : STATUS_FAILED;
}
