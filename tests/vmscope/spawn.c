/* SPDX-License-Identifier: MIT */
/* spawn.c - executes true in a vforked child, and waits for it. */
#include <spawn.h>
#include <stddef.h>
#include <sys/wait.h>

int main(void)
{
	char name[] = "true", *arguments[] = { name, NULL }, *none[] = { NULL };
	pid_t pid;

	return posix_spawn(&pid, "/bin/true", NULL, NULL, arguments, none) != 0 ||
	       waitpid(pid, NULL, 0) != pid;
}
