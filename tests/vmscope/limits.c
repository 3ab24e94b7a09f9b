/* SPDX-License-Identifier: MIT */
/*
 * limits.c [lock|legacy|child] - changes limits and the personality between mappings, each for a
 * moment: with a limit one is refused, and with READ_IMPLIES_EXEC what may be read may be executed.
 * `lock`: then it locks more than a limit allows, which who is privileged may. `legacy`: it only sets
 * the personality by which a program is laid out from below, and executes itself. `child`: a child of
 * it maps, and the limit is set from here. Ends at once.
 */
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SIZE = 1 << 20, LIMIT = 64 << 10 };

static int maps(void)
{
	return mmap(NULL, SIZE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) != MAP_FAILED;
}

static void lock(void)
{
	const struct rlimit limit = { SIZE / 2, SIZE / 2 };
	void *at = mmap(NULL, SIZE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (setrlimit(RLIMIT_MEMLOCK, &limit) == 0 && at != MAP_FAILED && mlock(at, SIZE) != 0)
		perror("mlock");
}

static int maps_as_child(struct rlimit limit)
{
	int go[2], done[2], status, made = 0;
	struct rlimit former;
	pid_t pid;
	char byte = 0;

	if (pipe(go) != 0 || pipe(done) != 0 || getrlimit(RLIMIT_AS, &former) != 0)
		return -1;
	pid = fork();
	if (pid == 0) {
		for (int i = 0; i < 3; i++) {
			made += read(go[0], &byte, 1) == 1 && maps();
			if (write(done[1], &byte, 1) != 1)
				break;
		}
		_exit(made);
	}
	for (int i = 0; i < 3; i++)
		if (syscall(SYS_prlimit64, pid, RLIMIT_AS, i == 1 ? &limit : &former, NULL) != 0 ||
		    write(go[1], &byte, 1) != 1 || read(done[0], &byte, 1) != 1)
			return -1;
	return waitpid(pid, &status, 0) == pid ? WEXITSTATUS(status) : -1;
}

int main(int argc, char **argv)
{
	struct rlimit former, limit;
	int made = 0;

	if (getrlimit(RLIMIT_AS, &former) != 0)
		return 1;
	limit = (struct rlimit){ LIMIT, former.rlim_max };
	if (argc > 1 && strcmp(argv[1], "child") == 0)
		return maps_as_child(limit) != 2;
	if (argc > 1 && strcmp(argv[1], "legacy") == 0) {
		personality(ADDR_COMPAT_LAYOUT);
		return !maps() || execl(argv[0], argv[0], (char *)NULL);
	}
	made += maps();
	/* The kernel's limits of before are written over what it was given. */
	if (syscall(SYS_prlimit64, 0, RLIMIT_AS, &limit, &limit) != 0)
		return 1;
	made += maps();
	if (syscall(SYS_setrlimit, RLIMIT_AS, &former) != 0)
		return 1;
	made += maps();
	personality(READ_IMPLIES_EXEC);
	made += maps();
	personality(0);
	made += maps();
	if (argc > 1)
		lock();
	return made != 4;
}
