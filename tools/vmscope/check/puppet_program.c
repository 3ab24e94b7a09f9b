/* SPDX-License-Identifier: MIT */
/*
 * The program of a puppet: it makes the system calls and touches the pages that it is told to, and
 * nothing else, so that its address space is entirely under puppet.c's control. It does without a C
 * library, which would have a heap and a dozen areas. Its stack lies in its own memory: the area
 * that Linux gave it for one may be cut, moved and unmapped, as may the vdso.
 */
#include <errno.h>
#include <linux/capability.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <ucontext.h>

#include "check/puppet_wire.h"

enum { STACK_BYTES = 16384, SIGNAL_STACK_BYTES = 65536, SA_RESTORER_FLAG = 0x04000000 };

__attribute__((used)) _Alignas(16) char own_stack[STACK_BYTES];
static char signal_stack[SIGNAL_STACK_BYTES];
static char scratch[SCRATCH_BYTES];

/* The kernel's struct sigaction; libc's differs. */
struct kernel_sigaction {
	void (*handler)(int sig, siginfo_t *info, void *context);
	unsigned long flags;
	void (*restorer)(void);
	unsigned long mask;
};

/* Touches one byte. Returns 0, or what on_fault() returns instead. */
long touch_read(unsigned long addr);
long touch_write(unsigned long addr);
void touch_failed(void);
void return_from_signal(void);
void serve(void);

#if defined(__x86_64__)
__asm__(".globl _start, touch_read, touch_write, touch_failed, return_from_signal\n"
	"_start: xorl %ebp, %ebp\n leaq own_stack + 16384(%rip), %rsp\n call serve\n hlt\n"
	"touch_read: movb (%rdi), %al\n xorl %eax, %eax\n"
	"touch_failed: ret\n"
	"touch_write: movb $1, (%rdi)\n xorl %eax, %eax\n ret\n"
	"return_from_signal: movl $15, %eax\n syscall\n");

static long raw(long number, const unsigned long *a)
{
	register unsigned long r10 __asm__("r10") = a[3];
	register unsigned long r8 __asm__("r8") = a[4];
	register unsigned long r9 __asm__("r9") = a[5];
	long result;

	__asm__ volatile("syscall"
			 : "=a"(result)
			 : "a"(number), "D"(a[0]), "S"(a[1]), "d"(a[2]), "r"(r10), "r"(r8), "r"(r9)
			 : "rcx", "r11", "memory");
	return result;
}

static void fail_touch(ucontext_t *context, long error)
{
	context->uc_mcontext.gregs[REG_RIP] = (greg_t)touch_failed;
	context->uc_mcontext.gregs[REG_RAX] = error;
}
#elif defined(__aarch64__)
__asm__(".globl _start, touch_read, touch_write, touch_failed, return_from_signal\n"
	"_start: mov x29, 0\n adrp x0, own_stack + 16384\n"
	"add x0, x0, :lo12:own_stack + 16384\n mov sp, x0\n bl serve\n brk 0\n"
	"touch_read: ldrb w1, [x0]\n mov x0, 0\n"
	"touch_failed: ret\n"
	"touch_write: mov w1, 1\n strb w1, [x0]\n mov x0, 0\n ret\n"
	"return_from_signal: mov x8, 139\n svc 0\n");

static long raw(long number, const unsigned long *a)
{
	register long x8 __asm__("x8") = number;
	register unsigned long x0 __asm__("x0") = a[0];
	register unsigned long x1 __asm__("x1") = a[1];
	register unsigned long x2 __asm__("x2") = a[2];
	register unsigned long x3 __asm__("x3") = a[3];
	register unsigned long x4 __asm__("x4") = a[4];
	register unsigned long x5 __asm__("x5") = a[5];

	__asm__ volatile("svc 0"
			 : "+r"(x0)
			 : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5)
			 : "memory");
	return (long)x0;
}

static void fail_touch(ucontext_t *context, long error)
{
	context->uc_mcontext.pc = (unsigned long)touch_failed;
	context->uc_mcontext.regs[0] = (unsigned long)error;
}
#else
#error "vmscope knows x86-64 and arm64"
#endif

#define CALL(number, ...) raw(number, (unsigned long[6]){ __VA_ARGS__ })

__attribute__((noreturn)) static void leave(void)
{
	for (;;)
		CALL(SYS_exit_group, 0);
}

static void on_fault(int sig, siginfo_t *info, void *context)
{
	long error = -EIO;

	/* An address that the processor does not have comes with SI_KERNEL. */
	if (sig == SIGSEGV)
		error = info->si_code == SEGV_MAPERR || info->si_code == SI_KERNEL ? -EFAULT :
										     -EACCES;
	fail_touch(context, error);
}

static void catch_faults(void)
{
	const stack_t stack = { .ss_sp = signal_stack, .ss_size = sizeof(signal_stack) };
	const struct kernel_sigaction action = {
		.handler = on_fault,
		.flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER | SA_RESTORER_FLAG,
		.restorer = return_from_signal,
	};
	/* Ignoring SIGCHLD: children leave no zombies. */
	const struct kernel_sigaction ignore = { .handler = (void (*)(int, siginfo_t *, void *))1 };

	CALL(SYS_sigaltstack, (unsigned long)&stack, 0);
	CALL(SYS_rt_sigaction, SIGSEGV, (unsigned long)&action, 0, sizeof(action.mask));
	CALL(SYS_rt_sigaction, SIGBUS, (unsigned long)&action, 0, sizeof(action.mask));
	CALL(SYS_rt_sigaction, SIGCHLD, (unsigned long)&ignore, 0, sizeof(ignore.mask));
}

static long drop_privileges(void)
{
	struct __user_cap_header_struct header = { _LINUX_CAPABILITY_VERSION_3, 0 };
	struct __user_cap_data_struct none[2] = { { 0, 0, 0 }, { 0, 0, 0 } };

	return CALL(SYS_capset, (unsigned long)&header, (unsigned long)none);
}

static long suspend_privileges(unsigned long off)
{
	struct __user_cap_header_struct header = { _LINUX_CAPABILITY_VERSION_3, 0 };
	struct __user_cap_data_struct sets[2];

	CALL(SYS_capget, (unsigned long)&header, (unsigned long)sets);
	sets[0].effective = sets[0].permitted & ~(unsigned int)off;
	sets[1].effective = sets[1].permitted & ~(unsigned int)(off >> 32);
	return CALL(SYS_capset, (unsigned long)&header, (unsigned long)sets);
}

static long execute(const struct command *command, unsigned long *channel)
{
	long result;

	switch (command->verb) {
	case VERB_CALL:
		return raw(command->number, command->args);
	case VERB_READ:
		return touch_read(command->args[0]);
	case VERB_WRITE:
		return touch_write(command->args[0]);
	case VERB_DROP:
		return drop_privileges();
	case VERB_SUSPEND:
		return suspend_privileges(command->args[0]);
	case VERB_SCRATCH:
		return command->args[0] ? (long)serve : (long)scratch;
	case VERB_FORK:
		result = CALL(SYS_clone, SIGCHLD);
		if (result == 0)
			*channel = FD_THERE + command->args[0];
		return result;
	}
	leave();
}

/* Executes commands from its channel, one after the other. */
__attribute__((used, noreturn)) void serve(void)
{
	unsigned long channel = FD_THERE;
	struct command command;
	long result;

	CALL(SYS_prctl, PR_SET_PDEATHSIG, SIGKILL);
	for (unsigned long i = 0; i < STACK_BYTES; i += 4096)
		*(volatile char *)&own_stack[i] += 0;
	for (unsigned long i = 0; i < SIGNAL_STACK_BYTES; i += 4096)
		*(volatile char *)&signal_stack[i] = 1;
	for (unsigned long i = 0; i < SCRATCH_BYTES; i += 4096)
		*(volatile char *)&scratch[i] = 1;
	catch_faults();
	for (;;) {
		if (CALL(SYS_read, channel, (unsigned long)&command, sizeof(command)) !=
		    sizeof(command))
			leave();
		result = execute(&command, &channel);
		if (CALL(SYS_write, channel, (unsigned long)&result, sizeof(result)) !=
		    sizeof(result))
			leave();
	}
}
