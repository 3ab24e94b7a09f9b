/* SPDX-License-Identifier: MIT */
/*
 * main.c - rv64: run a Linux program for riscv64 (RV64GC), its memory kept by libvmspace.
 *
 * Usage: rv64 [-L DIRECTORY] [-0 NAME] [-m FILE] [-k] PROGRAM [ARGUMENT...]
 */
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "process.h"
#include "world.h"

struct process process;
_Thread_local struct thread *self;

_Noreturn void die(const char *what)
{
	fprintf(stderr, "rv64: %s\n", what);
	exit(126);
}

uint64_t guest_time(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 10000000 + (uint64_t)now.tv_nsec / 100;
}

static int print_line(void *file, const char *line, size_t length)
{
	return fwrite(line, 1, length, file) == length ? 0 : -EIO;
}

static void write_maps(void)
{
	FILE *file = fopen(process.maps_file, "we");

	if (!file || vmspace_show_lines(memory.space, print_line, file) || fclose(file))
		die("cannot write the file of -m");
}

_Noreturn void process_exit(int status)
{
	if (process.maps_file)
		write_maps();
	syscall(SYS_exit_group, status);
	__builtin_unreachable();
}

void thread_run(struct thread *thread)
{
	struct cpu *cpu = &thread->cpu;

	self = thread;
	cpu->base = vmspace_window_host(memory.window, 0);
	cpu->thread = thread;
	if (sigsetjmp(cpu->escape, 0))
		signal_fault(thread);
	while (!thread->ended) {
		bool restart = false, call;

		running = cpu;
		call = cpu_run(cpu);
		running = NULL;
		if (call) {
			long result = system_call(thread);

			restart = result == CALL_RESTART;
			if (!restart && result != CALL_NO_RESULT)
				cpu->x[REG_A0] = (uint64_t)result;
		}
		if (restart || cpu->attention)
			signal_deliver(thread, restart);
		world_pause();
	}
}

/* The guest's descriptors are below the emulator's. */
static void limit_descriptors(void)
{
	struct rlimit limit;
	rlim_t wanted = (rlim_t)guest_descriptors() + 512;

	if (getrlimit(RLIMIT_NOFILE, &limit) || limit.rlim_cur >= wanted)
		return;
	limit.rlim_cur = wanted;
	if (limit.rlim_max < wanted || setrlimit(RLIMIT_NOFILE, &limit))
		die("the limit of descriptors is too low: ulimit -n 1024");
}

static void usage(void)
{
	fputs("usage: rv64 [-L DIRECTORY] [-0 NAME] [-m FILE] [-k] PROGRAM [ARGUMENT...]\n"
	      "  Runs a Linux program for riscv64.\n"
	      "  -L DIRECTORY  where absolute paths are looked for first: its libraries are there\n"
	      "  -0 NAME       the program's own name, argv[0]\n"
	      "  -m FILE       write its /proc/self/maps there when it ends\n"
	      "  -k            areas follow the rules of the running kernel, which are found out first\n",
	      stderr);
	exit(2);
}

int main(int argc, char **argv)
{
	static struct thread first;
	const char *name = NULL;
	char path[PATH_MAX];
	int option, err;

	while ((option = getopt(argc, argv, "+L:0:m:k")) != -1) {
		switch (option) {
		case 'L': process.sysroot = optarg; break;
		case '0': name = optarg; break;
		case 'm': process.maps_file = optarg; break;
		case 'k': process.as_kernel = true; break;
		default: usage();
		}
	}
	if (optind == argc)
		usage();
	if (process.sysroot && !(process.sysroot = realpath(process.sysroot, NULL)))
		die("there is no directory of that name: see -L");
	limit_descriptors();
	compressed_init();
	memory_create(process.as_kernel);
	err = path_to_host(path, argv[optind]);
	process.program = realpath(path, NULL);
	if (!err && !process.program)
		err = -errno;
	if (name)
		argv[optind] = (char *)(uintptr_t)name;
	if (!err)
		err = program_load(&first.cpu, process.program, argv + optind, environ);
	if (err) {
		fprintf(stderr, "rv64: %s: %s\n", path, err == -ENOEXEC
			? "no program for riscv64" : strerror(-err));
		return err == -ENOENT ? 127 : 126;
	}
	first.first = true;
	world_begin(&first);
	signal_inherit(&first);
	thread_run(&first);
	pthread_exit(NULL); /* the others go on */
}
