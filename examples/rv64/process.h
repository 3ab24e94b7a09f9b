/* SPDX-License-Identifier: MIT */
/* process.h - the guest's process: its threads, signals, programs and system calls. */
#ifndef RV64_PROCESS_H
#define RV64_PROCESS_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

#include "cpu.h"

#define GUEST_SIGNALS 64

/* A system call that was not made, or is to be made again, because of a signal. */
#define CALL_RESTART (-512L)
/* The registers are as they shall be: there is no result to be written. */
#define CALL_NO_RESULT (-4096L)

/* Registers by their names in the calling convention. */
enum { REG_RA = 1, REG_STACK = 2, REG_TP = 4, REG_A0 = 10, REG_A1 = 11, REG_A2 = 12, REG_A7 = 17 };

/* struct sigaction of the kernel's, on riscv64 */
struct guest_action {
	uint64_t handler, flags, mask;
};

struct guest_stack {
	uint64_t sp;
	int32_t flags;
	uint32_t unused;
	uint64_t size;
};

/*
 * A thread of the guest's, which is one of the host's. Signals that have arrived and were not delivered
 * yet are in `pending`, with their siginfo; until they are, the host blocks them for this thread.
 */
struct thread {
	struct cpu cpu;
	uint64_t mask;               /* blocked: bit signo - 1 */
	bool suspended;              /* `mask` is that of a call; afterwards it is `mask_before` */
	uint64_t mask_before;
	volatile uint64_t pending;
	siginfo_t arrived[GUEST_SIGNALS + 1];
	struct guest_stack stack;    /* sigaltstack() */
	struct thread *next;         /* world.c */
	bool first;                  /* not allocated */
	bool ended;                  /* by exit(), not the last one of the process */
	uint64_t clear_tid;          /* to be cleared, and its waiters woken, when the thread ends */
};

struct process {
	const char *sysroot;         /* where absolute paths are looked for first; NULL: nowhere */
	char *program;               /* the path of the program, in the host */
	bool as_kernel;              /* the option -k */
	const char *maps_file;       /* where the maps are written at the end; NULL */
	uint64_t sigreturn;          /* the guest's address of the kernel's code */
};

extern struct process process;
extern _Thread_local struct thread *self;

/* How many there are before the NULL. */
size_t count_strings(char **strings);

/* Ends the emulator with a message. */
_Noreturn void die(const char *what);

/* Load a program for riscv64 and set the hart to its beginning. 0 or -errno; late errors are fatal. */
int program_load(struct cpu *cpu, const char *path, char **argv, char **envp);
/* Whether there is such a program: 0; 1: it is one of the host's; or -errno. */
int program_check(const char *path);

/* Run a thread until the process ends, or (not the first one) the thread. */
void thread_run(struct thread *thread);
/* The process ends. */
_Noreturn void process_exit(int status);
/* A thread that is no longer in the list. */
void thread_free(struct thread *thread);

/* The first thread's mask, and the signals that are ignored, are those with which this program began. */
void signal_inherit(struct thread *thread);
/* In the host's handlers: a signal for this thread. */
void signal_arrived(int signo, siginfo_t *info, void *context);
/* The instruction that cpu->signo and so on are about gets its signal, or the process ends by it. */
void signal_fault(struct thread *thread);
/* Deliver what is pending. `restart`: a call was interrupted at cpu->pc - 4. */
void signal_deliver(struct thread *thread, bool restart);
/* rt_sigaction() and its like, with arguments of the guest's. */
long signal_action(uint64_t signo, uint64_t new, uint64_t old, uint64_t size);
long signal_mask(struct thread *thread, uint64_t how, uint64_t new, uint64_t old, uint64_t size);
long signal_suspend(struct thread *thread, uint64_t mask, uint64_t size);
long signal_stack(struct thread *thread, uint64_t new, uint64_t old);
long signal_return(struct thread *thread);
long signal_pending(struct thread *thread, uint64_t to);
/* All of the host's signals are blocked for this thread, which handles none, until signal_host_mask(). */
void signal_block_all(void);
/* The host's mask follows the thread's. */
void signal_host_mask(const struct thread *thread);
/* What the host blocks for a mask of the guest's. */
uint64_t signal_to_host(uint64_t mask);

/*
 * A system call of the host's: its result, or -errno; CALL_RESTART if a signal came before it began, or
 * interrupted it so that it shall be made again.
 */
long host_call(long number, long a, long b, long c, long d, long e, long f);

/* A system call of the guest's: arguments as in the registers. Results as those of system_call(). */
typedef long guest_call(struct thread *thread, const uint64_t a[6]);

/* The calls that need more than their arguments copied; by files. */
guest_call call_openat, call_readlinkat, call_newfstatat, call_fstat, call_close, call_close_range;
guest_call call_readv, call_writev, call_preadv, call_pwritev, call_ioctl, call_fcntl, call_dup, call_dup3;
guest_call call_ppoll, call_pselect6, call_epoll_ctl, call_epoll_pwait;
guest_call call_brk, call_mmap, call_munmap, call_mprotect, call_mremap, call_madvise, call_msync;
guest_call call_mlock, call_munlock, call_mlockall, call_munlockall, call_mincore, call_mseal;
guest_call call_exit, call_exit_group, call_clone, call_execve, call_futex, call_set_tid_address;
guest_call call_uname, call_prlimit64, call_sched_getaffinity, call_prctl, call_rt_sigtimedwait;

/* A descriptor that the guest may use: itself; or -EBADF. */
int guest_fd(uint64_t fd);
/* A descriptor that the host gave to the guest: itself; or -EMFILE, and it is closed. */
long new_fd(long fd);

/* The system call that the registers describe. Its result, CALL_RESTART or CALL_NO_RESULT. */
long system_call(struct thread *thread);

/* Where a path of the guest's is in the host; `to` has PATH_MAX bytes. 0 or -ENAMETOOLONG. */
int path_to_host(char *to, const char *path);

#endif
