/* SPDX-License-Identifier: MIT */
/*
 * verify_process.c - takes the address space of a running process over, compares the two, and
 * follows a call that the process makes.
 *
 * Without arguments it watches a child of its own; with a process number it compares that one
 * (which it stops for a moment) and says what differs.
 */
#include <mapletree/vmspace_proc.h>

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define PLACE 0x10000000000UL
#define LENGTH 0x5000UL

static void say(const char *when, const struct vmspace *space, pid_t pid, bool details)
{
	struct vmspace_difference difference;
	int result = vmspace_verify(space, pid, VMSPACE_VERIFY_ALL, &difference);

	if (result < 0)
		printf("%s: %s\n", when, strerror(-result));
	else if (result == 0)
		printf("%s: equal in maps, flags and counters\n", when);
	else
		printf("%s: different %s\n", when, details ? difference.text
		       : difference.what == VMSPACE_VERIFY_MAPS ? "maps" : "flags or counters");
}

static struct vmspace *load(pid_t pid)
{
	struct vmspace *space;
	int err = vmspace_load(&space, pid);

	if (err) {
		fprintf(stderr, "process %d: %s\n", (int)pid, strerror(-err));
		exit(1);
	}
	return space;
}

static int any_process(pid_t pid)
{
	struct vmspace *space;
	struct vmspace_stats stats;

	if (kill(pid, SIGSTOP)) {
		perror("kill");
		return 1;
	}
	space = load(pid);
	say("now", space, pid, true);
	kill(pid, SIGCONT);
	vmspace_stats(space, &stats);
	printf("%lu areas, %lu pages, %lu of them committed\n", stats.areas, stats.total_vm,
	       stats.committed_vm);
	vmspace_destroy(space);
	return 0;
}

static void child(void)
{
	raise(SIGSTOP);
	if (mmap((void *)PLACE, LENGTH, PROT_READ | PROT_WRITE,
		 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == MAP_FAILED)
		_exit(1);
	raise(SIGSTOP);
	_exit(0);
}

static void wait_until_stopped(pid_t pid)
{
	int status;

	if (waitpid(pid, &status, WUNTRACED) != pid || !WIFSTOPPED(status)) {
		fprintf(stderr, "the child did not stop\n");
		exit(1);
	}
}

int main(int argc, char **argv)
{
	struct vmspace_request call = { .op = VMSPACE_MMAP };
	struct vmspace *space;
	pid_t pid;

	if (argc > 1)
		return any_process((pid_t)atoi(argv[1]));
	pid = fork();
	if (pid == 0)
		child();
	wait_until_stopped(pid);
	space = load(pid);
	say("loaded", space, pid, false);

	kill(pid, SIGCONT);
	wait_until_stopped(pid);
	say("after its mmap", space, pid, false);

	call.mmap = (struct vmspace_mmap){
		.addr = PLACE, .length = LENGTH, .prot = PROT_READ | PROT_WRITE,
		.flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED,
	};
	printf("the same call here: %#lx\n", (unsigned long)vmspace_call(space, &call));
	say("after ours", space, pid, false);

	vmspace_destroy(space);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	return 0;
}
