/* SPDX-License-Identifier: MIT */
/*
 * signals.c - signals of the guest.
 *
 * A signal with a handler of the guest's has a handler of the host's, which only notes it and blocks it
 * for the thread; the guest's runs when the hart is between two instructions. All others are as the
 * guest wants them in the host. SIGSEGV and SIGBUS are always handled, as they are how guest memory is
 * reached, and with the signals of other instructions that fail they are never blocked in the host.
 */
#include <assert.h>
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include "process.h"
#include "world.h"

#define BIT(signo)   ((uint64_t)1 << ((signo) - 1))
#define SYNCHRONOUS  (BIT(SIGSEGV) | BIT(SIGBUS) | BIT(SIGILL) | BIT(SIGFPE) | BIT(SIGTRAP))
#define UNBLOCKABLE  (BIT(SIGKILL) | BIT(SIGSTOP))
#define GUEST_DFL    0
#define GUEST_IGN    1
#define SET_SIZE     8

/* Of the first thread's C library: it uses these itself. */
#define FIRST_OF_LIBRARY 32
#define LAST_OF_LIBRARY	 33

static struct guest_action actions[GUEST_SIGNALS + 1];

/* struct ucontext of riscv64 */
struct guest_context {
	uint64_t flags, link;
	struct guest_stack stack;
	uint64_t mask;
	uint8_t unused[128];         /* for larger masks; and to where 16 divides */
	uint64_t pc, x[31];          /* x1 to x31 */
	uint64_t f[32];
	uint32_t fcsr;
	uint8_t rest[528 - 260];     /* of registers of 128 bits */
};

struct frame {
	siginfo_t info;
	struct guest_context context;
};

static_assert(offsetof(struct guest_context, pc) == 176, "where the kernel has them");
static_assert(sizeof(struct frame) == 128 + 960, "a frame of riscv64");

/* ---- masks ---- */

uint64_t signal_to_host(uint64_t mask)
{
	return mask & ~SYNCHRONOUS;
}

static void set_host_mask(uint64_t mask)
{
	syscall(SYS_rt_sigprocmask, SIG_SETMASK, &mask, NULL, SET_SIZE);
}

void signal_block_all(void)
{
	sigset_t all;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, NULL); /* but those of the C library */
}

void signal_host_mask(const struct thread *thread)
{
	set_host_mask(signal_to_host(thread->mask | thread->pending));
}

/* ---- arrival ---- */

/* Of the code below: from where a call has not been made yet to behind the instruction that makes it. */
extern const char rv64_call_begin[], rv64_call_end[], rv64_call_restart[];
long rv64_call(volatile int *attention, long number, const long arguments[6]);

__asm__(".text\n"
	".globl rv64_call, rv64_call_begin, rv64_call_end, rv64_call_restart\n"
	".type rv64_call, @function\n"
	"rv64_call:\n"
	"	mov %rsi, %rax\n"
	"	mov %rdx, %r11\n"
	"	mov %rdi, %rcx\n"
	"	mov (%r11), %rdi\n"
	"	mov 8(%r11), %rsi\n"
	"	mov 16(%r11), %rdx\n"
	"	mov 24(%r11), %r10\n"
	"	mov 32(%r11), %r8\n"
	"	mov 40(%r11), %r9\n"
	"rv64_call_begin:\n"
	"	cmpl $0, (%rcx)\n"
	"	jne rv64_call_restart\n"
	"	syscall\n"
	"rv64_call_end:\n"
	"	ret\n"
	"rv64_call_restart:\n"
	"	mov $-512, %rax\n"
	"	ret\n"
	".size rv64_call, .-rv64_call\n");

/*
 * Between the check of `attention` and the call, or where the kernel would make the call again, a
 * handler finds the thread in [begin, end), and lets it go on behind the call.
 */
long host_call(long number, long a, long b, long c, long d, long e, long f)
{
	const long arguments[6] = { a, b, c, d, e, f };
	long result;

	world_outside();
	result = rv64_call(&self->cpu.attention, number, arguments);
	world_inside();
	return result;
}

void signal_arrived(int signo, siginfo_t *info, void *context)
{
	ucontext_t *state = context;
	uintptr_t at = (uintptr_t)state->uc_mcontext.gregs[REG_RIP];
	struct thread *thread = self;

	if (!thread)
		return;
	thread->arrived[signo] = *info;
	thread->pending |= BIT(signo);
	thread->cpu.attention = 1;
	if (!(SYNCHRONOUS & BIT(signo)))
		sigaddset(&state->uc_sigmask, signo);
	if (at >= (uintptr_t)rv64_call_begin && at < (uintptr_t)rv64_call_end)
		state->uc_mcontext.gregs[REG_RIP] = (greg_t)(uintptr_t)rv64_call_restart;
}

/* ---- delivery ---- */

/* The process ends by the signal, as the host's parent sees it. */
_Noreturn static void end_by(int signo)
{
	fflush(NULL);
	signal(signo, SIG_DFL);
	set_host_mask(0);
	kill(getpid(), signo);
	for (;;)
		pause();
}

static bool is_ignored_by_default(int signo)
{
	return signo == SIGCHLD || signo == SIGURG || signo == SIGWINCH || signo == SIGCONT;
}

static uint64_t frame_address(struct thread *thread, const struct guest_action *action)
{
	uint64_t sp = thread->cpu.x[REG_STACK];
	const struct guest_stack *stack = &thread->stack;

	if ((action->flags & SA_ONSTACK) && !(stack->flags & SS_DISABLE) && stack->size &&
	    sp - stack->sp >= stack->size)
		sp = stack->sp + stack->size;
	return (sp - sizeof(struct frame)) & ~(uint64_t)15;
}

static void fill_frame(struct frame *frame, struct thread *thread, const siginfo_t *info)
{
	struct cpu *cpu = &thread->cpu;
	uint64_t fcsr = 0;

	memset(frame, 0, sizeof(*frame));
	frame->info = *info;
	frame->context.stack = thread->stack;
	frame->context.mask = thread->suspended ? thread->mask_before : thread->mask;
	frame->context.pc = cpu->pc;
	memcpy(frame->context.x, &cpu->x[1], sizeof(frame->context.x));
	memcpy(frame->context.f, cpu->f, sizeof(frame->context.f));
	csr_read(cpu, 3, &fcsr);
	frame->context.fcsr = (uint32_t)fcsr;
}

/* The hart goes on in the handler. */
static void enter_handler(struct thread *thread, int signo, const siginfo_t *info)
{
	struct guest_action action = actions[signo];
	struct cpu *cpu = &thread->cpu;
	uint64_t at = frame_address(thread, &action);
	struct frame frame;

	fill_frame(&frame, thread, info);
	if (guest_write(at, &frame, sizeof(frame)))
		end_by(SIGSEGV);
	if (action.flags & SA_RESETHAND)
		signal_action((uint64_t)signo, 0, 0, SET_SIZE);
	thread->mask |= action.mask | (action.flags & SA_NODEFER ? 0 : BIT(signo));
	thread->mask &= ~UNBLOCKABLE;
	thread->suspended = false;
	cpu->x[REG_STACK] = at;
	cpu->x[REG_RA] = process.sigreturn;
	cpu->x[REG_A0] = (uint64_t)signo;
	cpu->x[REG_A1] = at;
	cpu->x[REG_A2] = at + offsetof(struct frame, context);
	cpu->pc = action.handler;
	cpu->reserved = false;
}

void signal_fault(struct thread *thread)
{
	struct cpu *cpu = &thread->cpu;
	siginfo_t info = { .si_signo = cpu->signo, .si_code = cpu->code };
	uint64_t handler;

	info.si_addr = (void *)(uintptr_t)cpu->fault_addr;
	if (cpu->signo == SIGKILL) {
		fputs("rv64: out of memory\n", stderr);
		end_by(SIGKILL);
	}
	handler = actions[cpu->signo].handler;
	if (handler == GUEST_DFL || handler == GUEST_IGN || (thread->mask & BIT(cpu->signo)))
		end_by(cpu->signo);
	enter_handler(thread, cpu->signo, &info);
	signal_host_mask(thread);
}

/* One that is pending and not blocked; 0: none. It is no longer pending then. */
static int take(struct thread *thread, siginfo_t *info)
{
	uint64_t ready = thread->pending & ~thread->mask;
	int signo = ready ? __builtin_ctzll(ready) + 1 : 0;

	if (!signo)
		return 0;
	*info = thread->arrived[signo];
	__atomic_and_fetch(&thread->pending, ~BIT(signo), __ATOMIC_SEQ_CST);
	return signo;
}

void signal_deliver(struct thread *thread, bool restart)
{
	struct cpu *cpu = &thread->cpu;
	siginfo_t info;
	int signo;

	cpu->attention = 0;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	while ((signo = take(thread, &info))) {
		uint64_t handler = actions[signo].handler;

		if (handler == GUEST_IGN || (handler == GUEST_DFL && is_ignored_by_default(signo)))
			continue;
		if (handler == GUEST_DFL)
			end_by(signo);
		if (restart && !(actions[signo].flags & SA_RESTART))
			cpu->x[REG_A0] = (uint64_t)-EINTR;
		else if (restart)
			cpu->pc -= 4;
		restart = false;
		enter_handler(thread, signo, &info);
	}
	if (restart)
		cpu->pc -= 4; /* it was nothing that the guest sees */
	if (thread->suspended) {
		thread->mask = thread->mask_before;
		thread->suspended = false;
	}
	signal_host_mask(thread);
}

void signal_inherit(struct thread *thread)
{
	struct sigaction action;

	syscall(SYS_rt_sigprocmask, SIG_BLOCK, NULL, &thread->mask, SET_SIZE);
	for (int signo = 1; signo <= GUEST_SIGNALS; signo++)
		if (!sigaction(signo, NULL, &action) && action.sa_handler == SIG_IGN)
			actions[signo].handler = GUEST_IGN;
	thread->stack.flags = SS_DISABLE;
	signal_host_mask(thread);
}

/* ---- calls ---- */

static void host_action(int signo)
{
	const struct guest_action *action = &actions[signo];
	struct sigaction host = { .sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK };

	if (signo == SIGSEGV || signo == SIGBUS)
		return;
	if (signo >= FIRST_OF_LIBRARY && signo <= LAST_OF_LIBRARY)
		return;
	host.sa_flags |= (int)(action->flags & (SA_NOCLDSTOP | SA_NOCLDWAIT));
	sigfillset(&host.sa_mask);
	for (int synchronous = 1; synchronous <= GUEST_SIGNALS; synchronous++)
		if (SYNCHRONOUS & BIT(synchronous))
			sigdelset(&host.sa_mask, synchronous);
	if (action->handler == GUEST_DFL)
		host.sa_handler = SIG_DFL;
	else if (action->handler == GUEST_IGN)
		host.sa_handler = SIG_IGN;
	else
		host.sa_sigaction = signal_arrived;
	sigaction(signo, &host, NULL);
}

long signal_action(uint64_t signo, uint64_t new, uint64_t old, uint64_t size)
{
	struct guest_action action = { 0 }, before;

	if (size != SET_SIZE || signo < 1 || signo > GUEST_SIGNALS)
		return -EINVAL;
	before = actions[signo];
	if (new && guest_read(&action, new, sizeof(action)))
		return -EFAULT;
	if ((new || !old) && (signo == SIGKILL || signo == SIGSTOP))
		return -EINVAL;
	if (old && guest_write(old, &before, sizeof(before)))
		return -EFAULT;
	if (new || !old) {
		actions[signo] = action;
		host_action((int)signo);
	}
	return 0;
}

long signal_mask(struct thread *thread, uint64_t how, uint64_t new, uint64_t old, uint64_t size)
{
	uint64_t mask = thread->mask, set;

	if (size != SET_SIZE)
		return -EINVAL;
	if (new) {
		if (guest_read(&set, new, sizeof(set)))
			return -EFAULT;
		switch (how) {
		case SIG_BLOCK: mask |= set; break;
		case SIG_UNBLOCK: mask &= ~set; break;
		case SIG_SETMASK: mask = set; break;
		default: return -EINVAL;
		}
	}
	if (old && guest_write(old, &thread->mask, sizeof(thread->mask)))
		return -EFAULT;
	thread->mask = mask & ~UNBLOCKABLE;
	signal_host_mask(thread);
	thread->cpu.attention |= (thread->pending & ~thread->mask) != 0;
	return 0;
}

long signal_suspend(struct thread *thread, uint64_t mask, uint64_t size)
{
	uint64_t set;
	long result;

	if (size != SET_SIZE)
		return -EINVAL;
	if (guest_read(&set, mask, sizeof(set)))
		return -EFAULT;
	thread->mask_before = thread->mask;
	thread->mask = set & ~UNBLOCKABLE;
	thread->suspended = true;
	set = signal_to_host(thread->mask | (thread->pending & thread->mask));
	if (thread->pending & ~thread->mask)
		result = -EINTR;
	else
		result = host_call(SYS_rt_sigsuspend, (long)&set, SET_SIZE, 0, 0, 0, 0);
	thread->cpu.attention = 1;
	return result == CALL_RESTART && (thread->pending & ~thread->mask) ? -EINTR : result;
}

long signal_pending(struct thread *thread, uint64_t to)
{
	uint64_t set = 0;

	syscall(SYS_rt_sigpending, &set, SET_SIZE);
	set = (set | thread->pending) & thread->mask;
	return guest_write(to, &set, sizeof(set));
}

long signal_stack(struct thread *thread, uint64_t new, uint64_t old)
{
	struct guest_stack stack, now = thread->stack;
	uint64_t sp = thread->cpu.x[REG_STACK];
	bool on_it = !(now.flags & SS_DISABLE) && sp - now.sp < now.size;

	if (new && guest_read(&stack, new, sizeof(stack)))
		return -EFAULT;
	if (new && on_it)
		return -EPERM;
	if (new && (stack.flags & ~SS_DISABLE))
		return -EINVAL;
	if (new && !(stack.flags & SS_DISABLE) && stack.size < 2048)
		return -ENOMEM;
	if (!now.size)
		now.flags = SS_DISABLE;
	if (on_it)
		now.flags |= SS_ONSTACK;
	if (old && guest_write(old, &now, sizeof(now)))
		return -EFAULT;
	if (new)
		thread->stack = stack;
	return 0;
}

long signal_return(struct thread *thread)
{
	struct cpu *cpu = &thread->cpu;
	struct frame frame;

	if (guest_read(&frame, cpu->x[REG_STACK], sizeof(frame)))
		end_by(SIGSEGV);
	cpu->pc = frame.context.pc;
	memcpy(&cpu->x[1], frame.context.x, sizeof(frame.context.x));
	memcpy(cpu->f, frame.context.f, sizeof(frame.context.f));
	csr_write(cpu, 3, frame.context.fcsr);
	thread->mask = frame.context.mask & ~UNBLOCKABLE;
	signal_host_mask(thread);
	cpu->attention |= (thread->pending & ~thread->mask) != 0;
	return CALL_NO_RESULT;
}
