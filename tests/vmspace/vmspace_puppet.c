/* SPDX-License-Identifier: MIT */
/*
 * vmspace_puppet.c - a process that makes the system calls and touches the pages that a test tells
 * it, and nothing else: its address space is what the test makes it.
 */
#include <errno.h>
#include <linux/capability.h>
#include <setjmp.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "puppet_wire.h"

static sigjmp_buf fault_return;
static volatile long fault_error;
static char signal_stack[65536];

static void on_fault(int sig, siginfo_t *info, void *context)
{
	(void)context;
	if (sig == SIGBUS)
		fault_error = -EIO;
	else
		fault_error = info->si_code == SEGV_MAPERR ? -EFAULT : -EACCES;
	siglongjmp(fault_return, 1);
}

static void catch_faults(void)
{
	stack_t stack = { .ss_sp = signal_stack, .ss_size = sizeof(signal_stack) };
	struct sigaction action = { .sa_sigaction = on_fault,
				    .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER };

	sigaltstack(&stack, NULL);
	sigaction(SIGSEGV, &action, NULL);
	sigaction(SIGBUS, &action, NULL);
}

static long touch(unsigned long addr, int is_write)
{
	volatile char *byte = (volatile char *)addr;

	if (sigsetjmp(fault_return, 0))
		return fault_error;
	if (is_write)
		*byte = 1;
	else
		(void)*byte;
	return 0;
}

static long drop_privileges(void)
{
	struct __user_cap_header_struct header = { _LINUX_CAPABILITY_VERSION_3, 0 };
	struct __user_cap_data_struct none[2] = { { 0, 0, 0 }, { 0, 0, 0 } };

	return syscall(SYS_capset, &header, none);
}

static long raw(long number, const unsigned long *a)
{
	long result;
#ifdef __x86_64__
	register unsigned long r10 __asm__("r10") = a[3];
	register unsigned long r8 __asm__("r8") = a[4];
	register unsigned long r9 __asm__("r9") = a[5];

	__asm__ volatile("syscall"
			 : "=a"(result)
			 : "a"(number), "D"(a[0]), "S"(a[1]), "d"(a[2]), "r"(r10), "r"(r8), "r"(r9)
			 : "rcx", "r11", "memory");
#else
	result = syscall(number, a[0], a[1], a[2], a[3], a[4], a[5]);
	if (result == -1)
		result = -errno;
#endif
	return result;
}

/* Answers one command after the other on its channel. Never returns; uses no heap. */
__attribute__((noreturn)) static void obey(int channel)
{
	struct command command;
	long result;

	for (;;) {
		if (read(FD_THERE + channel, &command, sizeof(command)) != sizeof(command))
			_exit(0);
		switch (command.verb) {
		case VERB_CALL:
			result = raw(command.number, command.args);
			break;
		case VERB_READ:
		case VERB_WRITE:
			result = touch(command.args[0], command.verb == VERB_WRITE);
			break;
		case VERB_DROP:
			result = drop_privileges();
			break;
		case VERB_FORK: {
			unsigned long args[6] = { SIGCHLD, 0, 0, 0, 0, 0 };

			result = raw(SYS_clone, args);
			if (!result)
				channel = (int)command.args[0];
			break;
		}
		case VERB_END:
		default:
			_exit(0);
		}
		if (write(FD_THERE + channel, &result, sizeof(result)) != sizeof(result))
			_exit(0);
	}
}

int main(void)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	signal(SIGCHLD, SIG_IGN);
	memset(signal_stack, 1, sizeof(signal_stack));
	catch_faults();
	obey(0);
}
