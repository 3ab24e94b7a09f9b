/* SPDX-License-Identifier: MIT */
/*
 * limits.c [lock] - changes limits and the personality between mappings, each for a moment: with a
 * limit one is refused, and with READ_IMPLIES_EXEC what may be read may be executed. `lock`: then it
 * locks more than a limit allows, which who is privileged may. Ends at once.
 */
#include <stdio.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/resource.h>
#include <sys/syscall.h>
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

int main(int argc, char **argv)
{
	struct rlimit former, limit;
	int made = 0;

	(void)argv;
	if (getrlimit(RLIMIT_AS, &former) != 0)
		return 1;
	limit = (struct rlimit){ LIMIT, former.rlim_max };
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
