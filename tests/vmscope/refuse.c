/* SPDX-License-Identifier: MIT */
/*
 * refuse CALL COMMAND [ARG...] - runs a command with a seccomp filter by which CALL fails with
 * EPERM, as in a container. Exits with status 77 if no filter can be set.
 */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

static const struct {
	const char *name;
	unsigned int number;
} calls[] = {
	{ "kcmp", SYS_kcmp },
	{ "pidfd_getfd", SYS_pidfd_getfd },
	{ "process_vm_readv", SYS_process_vm_readv },
	{ "ptrace", SYS_ptrace },
	{ "seccomp", SYS_seccomp },
	{ "userfaultfd", SYS_userfaultfd },
};

#define CALLS (sizeof(calls) / sizeof(calls[0]))

static int refuse(unsigned int number)
{
	struct sock_filter steps[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	const struct sock_fprog program = { sizeof(steps) / sizeof(steps[0]), steps };

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
		return -1;
	return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

int main(int argc, char **argv)
{
	size_t call = 0;

	while (argc > 2 && call < CALLS && strcmp(argv[1], calls[call].name) != 0)
		call++;
	if (argc < 3 || call == CALLS) {
		fprintf(stderr, "usage: refuse CALL COMMAND [ARG...]\n");
		return 2;
	}
	if (refuse(calls[call].number) != 0) {
		perror("refuse: seccomp");
		return 77;
	}
	execvp(argv[2], argv + 2);
	perror(argv[2]);
	return 1;
}
