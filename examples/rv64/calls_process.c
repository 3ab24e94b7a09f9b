/* SPDX-License-Identifier: MIT */
/* calls_process.c - system calls about processes and threads, and some about the system. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "process.h"
#include "world.h"

/* ---- the end ---- */

long call_exit_group(struct thread *thread, const uint64_t a[6])
{
	(void)thread;
	process_exit((int)a[0]);
}

/* Tells who waits for the end of the thread (pthread_join()). */
static void clear_tid(struct thread *thread)
{
	static const uint32_t zero;
	uint64_t at = thread->clear_tid;

	if (at && !guest_write(at, &zero, sizeof(zero)))
		syscall(SYS_futex, vmspace_window_host(memory.window, at), FUTEX_WAKE, 1, NULL, NULL, 0);
}

long call_exit(struct thread *thread, const uint64_t a[6])
{
	clear_tid(thread);
	if (world_leave(thread))
		process_exit((int)a[0]);
	thread->ended = true;
	return CALL_NO_RESULT;
}

void thread_free(struct thread *thread)
{
	if (!thread->first)
		free(thread);
}

long call_set_tid_address(struct thread *thread, const uint64_t a[6])
{
	thread->clear_tid = a[0];
	return syscall(SYS_gettid);
}

/* ---- clone ---- */

/* All of the host's signals are blocked while it forks, so that the child handles none as its parent. */
static long fork_guest(struct thread *thread, uint64_t stack, uint64_t parent_tid, uint64_t child_tid,
		       uint64_t flags, uint64_t tls)
{
	struct cpu *cpu = &thread->cpu;
	int tid;
	pid_t pid;

	signal_block_all();
	world_stop(thread);
	pid = memory_fork();
	if (pid)
		world_go_on();
	if (pid == 0) {
		world_in_child(thread);
		thread->pending = 0;
		cpu->base = vmspace_window_host(memory.window, 0);
		process.maps_file = NULL;
		if (stack)
			cpu->x[REG_STACK] = stack;
		if (flags & CLONE_SETTLS)
			cpu->x[REG_TP] = tls;
		tid = (int)getpid();
		if (flags & CLONE_CHILD_SETTID)
			guest_write(child_tid, &tid, sizeof(tid));
		if (flags & CLONE_CHILD_CLEARTID)
			thread->clear_tid = child_tid;
	}
	signal_host_mask(thread);
	if (pid > 0 && (flags & CLONE_PARENT_SETTID)) {
		tid = (int)pid;
		guest_write(parent_tid, &tid, sizeof(tid));
	}
	return pid;
}

/* What a new thread is told by its parent, and what it answers. */
struct start {
	struct thread *thread;
	pthread_mutex_t lock;
	pthread_cond_t answered;
	pid_t tid;                   /* 0: not yet */
	uint64_t parent_tid, child_tid; /* where the guest wants it, before the thread begins; or 0 */
};

/* What came for a thread that has ended is for another one. */
static void end_signals(struct thread *thread)
{
	signal_block_all();
	self = NULL;
	for (int signo = 1; signo <= GUEST_SIGNALS; signo++)
		if (thread->pending >> (signo - 1) & 1)
			kill(getpid(), signo);
}

static void *run_thread(void *start_of)
{
	struct start *start = start_of;
	struct thread *thread = start->thread;
	pid_t tid = (pid_t)syscall(SYS_gettid);

	if (start->parent_tid)
		guest_write(start->parent_tid, &tid, sizeof(tid));
	if (start->child_tid)
		guest_write(start->child_tid, &tid, sizeof(tid));
	pthread_mutex_lock(&start->lock);
	start->tid = tid;
	pthread_cond_signal(&start->answered);
	pthread_mutex_unlock(&start->lock); /* `start` is the parent's again */
	self = thread;
	fcsr_restore(&thread->cpu);
	signal_host_mask(thread);
	thread_run(thread);
	end_signals(thread);
	thread_free(thread);
	return NULL;
}

/* A thread that begins as a copy of its parent's hart. */
static struct thread *new_thread(const struct thread *parent, const uint64_t a[6], uint64_t flags)
{
	struct thread *thread = calloc(1, sizeof(*thread));

	if (!thread)
		return NULL;
	memcpy(thread->cpu.x, parent->cpu.x, sizeof(thread->cpu.x));
	memcpy(thread->cpu.f, parent->cpu.f, sizeof(thread->cpu.f));
	thread->cpu.pc = parent->cpu.pc;
	thread->cpu.rounding = parent->cpu.rounding;
	thread->cpu.x[REG_A0] = 0;
	if (a[1])
		thread->cpu.x[REG_STACK] = a[1];
	if (flags & CLONE_SETTLS)
		thread->cpu.x[REG_TP] = a[3];
	if (flags & CLONE_CHILD_CLEARTID)
		thread->clear_tid = a[4];
	thread->mask = parent->mask;
	thread->stack.flags = SS_DISABLE;
	return thread;
}

#define HOST_STACK (1UL << 20)

static int start_host_thread(struct start *start)
{
	pthread_attr_t attributes;
	pthread_t host;
	int err;

	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, HOST_STACK);
	pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
	signal_block_all(); /* which the thread inherits */
	err = pthread_create(&host, &attributes, run_thread, start);
	pthread_attr_destroy(&attributes);
	return err;
}

static long new_guest_thread(struct thread *parent, const uint64_t a[6], uint64_t flags)
{
	struct start start = {
		.thread = new_thread(parent, a, flags),
		.lock = PTHREAD_MUTEX_INITIALIZER, .answered = PTHREAD_COND_INITIALIZER,
		.parent_tid = flags & CLONE_PARENT_SETTID ? a[2] : 0,
		.child_tid = flags & CLONE_CHILD_SETTID ? a[4] : 0,
	};

	if (!start.thread)
		return -ENOMEM;
	world_add(start.thread);
	pthread_mutex_lock(&start.lock);
	if (start_host_thread(&start)) {
		signal_host_mask(parent);
		world_leave(start.thread);
		thread_free(start.thread);
		return -EAGAIN;
	}
	signal_host_mask(parent);
	while (!start.tid)
		pthread_cond_wait(&start.answered, &start.lock);
	pthread_mutex_unlock(&start.lock);
	return start.tid;
}

/*
 * A child that shares its parent's memory until it executes a program (vfork(), posix_spawn()) gets a
 * copy: it tells of a failure by its status then.
 */
long call_clone(struct thread *thread, const uint64_t a[6])
{
	static const uint64_t shared = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD;
	uint64_t flags = a[0] & ~(uint64_t)CSIGNAL;

	if ((flags & shared) == shared)
		return new_guest_thread(thread, a, flags);
	if ((flags & CLONE_THREAD) || ((flags & CLONE_VM) && !(flags & CLONE_VFORK)))
		return -EINVAL;
	return fork_guest(thread, a[1], a[2], a[4], flags, a[3]);
}

/* ---- execve ---- */

#define STRINGS_MOST  65536
#define STRING_LARGEST (128UL << 10)

static void free_strings(char **strings)
{
	for (size_t i = 0; strings && strings[i]; i++)
		free(strings[i]);
	free(strings);
}

static char *take_string(uint64_t from)
{
	char *buffer = malloc(STRING_LARGEST), *string = NULL;

	if (buffer && guest_string(buffer, from, STRING_LARGEST) >= 0)
		string = strdup(buffer);
	free(buffer);
	return string;
}

/* A vector of strings; `at` may be 0: an empty one. NULL: EFAULT, or no memory. */
static char **take_strings(uint64_t at)
{
	char **strings = calloc(STRINGS_MOST + 1, sizeof(char *));
	uint64_t from;

	for (size_t i = 0; strings && at && i < STRINGS_MOST; i++) {
		if (guest_read(&from, at + i * sizeof(from), sizeof(from)))
			break;
		if (!from)
			return strings;
		strings[i] = take_string(from);
		if (!strings[i])
			break;
	}
	if (strings && !at)
		return strings;
	free_strings(strings);
	return NULL;
}

/* The interpreter that a script names, and its argument, if it has one; false: it is no script. */
static bool script(const char *path, char line[256], char **interpreter, char **argument)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t length = fd < 0 ? 0 : read(fd, line, 255);
	char *end;

	if (fd >= 0)
		close(fd);
	line[length > 0 ? length : 0] = 0;
	if (line[0] != '#' || line[1] != '!')
		return false;
	line[strcspn(line, "\n")] = 0;
	*interpreter = line + 2 + strspn(line + 2, " \t");
	end = *interpreter + strcspn(*interpreter, " \t");
	*argument = NULL;
	if (*end) {
		*end++ = 0;
		end += strspn(end, " \t");
		*argument = *end ? end : NULL;
	}
	return **interpreter != 0;
}

/* The emulator executes itself, for the program at `path`. Returns -errno, or not. */
static long execute_self(const char *path, char **argv, char **envp)
{
	char **own = calloc(count_strings(argv) + 10, sizeof(char *));
	size_t used = 0;

	if (!own)
		return -ENOMEM;
	own[used++] = (char *)(uintptr_t)"rv64";
	if (process.sysroot) {
		own[used++] = (char *)(uintptr_t)"-L";
		own[used++] = (char *)(uintptr_t)process.sysroot;
	}
	if (process.maps_file) {
		own[used++] = (char *)(uintptr_t)"-m";
		own[used++] = (char *)(uintptr_t)process.maps_file;
	}
	if (process.as_kernel)
		own[used++] = (char *)(uintptr_t)"-k";
	own[used++] = (char *)(uintptr_t)"-0";
	own[used++] = argv[0] ? argv[0] : (char *)(uintptr_t)"";
	own[used++] = (char *)(uintptr_t)"--";
	own[used++] = (char *)(uintptr_t)path;
	for (size_t i = 1; argv[0] && argv[i]; i++)
		own[used++] = argv[i];
	execve("/proc/self/exe", own, envp);
	free(own);
	return -errno;
}

static long execute(const char *guest, char **argv, char **envp, int depth)
{
	char path[PATH_MAX], line[256], *interpreter, *argument, **longer;
	int kind = path_to_host(path, guest);
	size_t used = 0;
	long result;

	if (!kind)
		kind = program_check(path);
	if (kind < 0)
		return kind;
	if (kind == 0)
		return execute_self(path, argv, envp);
	if (!script(path, line, &interpreter, &argument)) {
		execve(path, argv, envp); /* one of the host's */
		return -errno;
	}
	if (depth > 3)
		return -ELOOP;
	longer = calloc(count_strings(argv) + 4, sizeof(char *));
	if (!longer)
		return -ENOMEM;
	longer[used++] = interpreter;
	if (argument)
		longer[used++] = argument;
	longer[used++] = (char *)(uintptr_t)guest;
	for (size_t i = 1; argv[0] && argv[i]; i++)
		longer[used++] = argv[i];
	result = execute(interpreter, longer, envp, depth + 1);
	free(longer);
	return result;
}

long call_execve(struct thread *thread, const uint64_t a[6])
{
	char path[PATH_MAX], **argv, **envp;
	long result = guest_string(path, a[0], sizeof(path));

	(void)thread;
	if (result < 0)
		return result;
	argv = take_strings(a[1]);
	envp = take_strings(a[2]);
	result = argv && envp ? execute(path, argv, envp, 0) : -EFAULT;
	free_strings(argv);
	free_strings(envp);
	return result;
}

/* ---- futexes: their words are in the window ---- */

/* Where the word is in the host, its page made present; NULL: the guest cannot read it. */
static void *futex_word(uint64_t addr)
{
	if (addr % sizeof(uint32_t) || addr >= GUEST_TOP ||
	    vmspace_touch(memory.space, addr, VMSPACE_ACCESS_READ, NULL) != VMSPACE_FAULT_OK)
		return NULL;
	return vmspace_window_host(memory.window, addr);
}

/* Those that Linux has besides (priority inheritance, pairs of operations) are not here. */
long call_futex(struct thread *thread, const uint64_t a[6])
{
	int command = (int)a[1] & FUTEX_CMD_MASK;
	bool waits = command == FUTEX_WAIT || command == FUTEX_WAIT_BITSET;
	bool moves = command == FUTEX_REQUEUE || command == FUTEX_CMP_REQUEUE;
	void *word = futex_word(a[0]), *other = moves ? futex_word(a[4]) : NULL;
	struct timespec time;
	long fourth = (long)a[3];

	(void)thread;
	if (!waits && !moves && command != FUTEX_WAKE && command != FUTEX_WAKE_BITSET)
		return -ENOSYS;
	if (!word || (moves && !other))
		return a[0] % sizeof(uint32_t) ? -EINVAL : -EFAULT;
	if (waits && a[3] && guest_read(&time, a[3], sizeof(time)))
		return -EFAULT;
	if (waits && a[3])
		fourth = (long)&time;
	return host_call(SYS_futex, (long)word, (long)a[1], (long)a[2], fourth, (long)other, (long)a[5]);
}

/* ---- the system ---- */

long call_uname(struct thread *thread, const uint64_t a[6])
{
	struct utsname name;

	(void)thread;
	if (uname(&name))
		return -errno;
	strcpy(name.machine, "riscv64");
	return guest_write(a[0], &name, sizeof(name));
}

/* What is about addresses and descriptors is the guest's, not the emulator's. */
long call_prlimit64(struct thread *thread, const uint64_t a[6])
{
	bool other = a[0] && (pid_t)a[0] != getpid();
	struct vmspace_config config;
	struct rlimit new, old;
	int which = (int)a[1];

	(void)thread;
	if (a[2] && guest_read(&new, a[2], sizeof(new)))
		return -EFAULT;
	if (prlimit((pid_t)a[0], (__rlimit_resource_t)which, NULL, &old))
		return -errno;
	config = *vmspace_config(memory.space);
	if (!other && which == RLIMIT_NOFILE && old.rlim_cur > (rlim_t)guest_descriptors())
		old.rlim_cur = old.rlim_max = (rlim_t)guest_descriptors();
	if (!other && (which == RLIMIT_AS || which == RLIMIT_DATA || which == RLIMIT_STACK)) {
		unsigned long *limit = which == RLIMIT_AS ? &config.rlimit_as
				       : which == RLIMIT_DATA ? &config.rlimit_data
							      : &config.rlimit_stack;

		old.rlim_cur = *limit;
		old.rlim_max = RLIM_INFINITY;
		if (a[2]) {
			*limit = new.rlim_cur;
			vmspace_configure(memory.space, &config);
		}
	} else if (a[2] && which != RLIMIT_NOFILE && prlimit((pid_t)a[0], (__rlimit_resource_t)which, &new, NULL)) {
		return -errno;
	}
	return a[3] ? guest_write(a[3], &old, sizeof(old)) : 0;
}

long call_sched_getaffinity(struct thread *thread, const uint64_t a[6])
{
	unsigned long set[16];
	size_t size = a[1] < sizeof(set) ? a[1] : sizeof(set);
	long result = host_call(SYS_sched_getaffinity, (long)a[0], (long)size, (long)set, 0, 0, 0);

	(void)thread;
	return result > 0 && guest_write(a[2], set, (size_t)result) ? -EFAULT : result;
}

long call_prctl(struct thread *thread, const uint64_t a[6])
{
	char name[128];

	(void)thread;
	switch (a[0]) {
	case PR_SET_NAME:
		if (guest_read(name, a[1], 16))
			return -EFAULT;
		return host_call(SYS_prctl, PR_SET_NAME, (long)name, 0, 0, 0, 0);
	case PR_GET_NAME:
		if (host_call(SYS_prctl, PR_GET_NAME, (long)name, 0, 0, 0, 0))
			return -EINVAL;
		return guest_write(a[1], name, 16);
	case PR_SET_VMA:
		if (a[1] != PR_SET_VMA_ANON_NAME)
			return -EINVAL;
		if (a[4] && guest_string(name, a[4], 80) < 0)
			return -EINVAL;
		return vmspace_set_anon_name(memory.space, a[2], a[3], a[4] ? name : NULL);
	case PR_SET_PDEATHSIG:
	case PR_SET_DUMPABLE:
	case PR_GET_DUMPABLE:
	case PR_SET_NO_NEW_PRIVS:
	case PR_GET_NO_NEW_PRIVS:
		return host_call(SYS_prctl, (long)a[0], (long)a[1], (long)a[2], (long)a[3], (long)a[4], 0);
	default:
		return -EINVAL;
	}
}

long call_rt_sigtimedwait(struct thread *thread, const uint64_t a[6])
{
	struct timespec time;
	siginfo_t info;
	uint64_t set;
	long result;

	(void)thread;
	if (a[3] != 8)
		return -EINVAL;
	if (guest_read(&set, a[0], sizeof(set)) || (a[2] && guest_read(&time, a[2], sizeof(time))))
		return -EFAULT;
	result = host_call(SYS_rt_sigtimedwait, (long)&set, (long)&info, a[2] ? (long)&time : 0, 8, 0, 0);
	if (result > 0 && a[1] && guest_write(a[1], &info, sizeof(info)))
		return -EFAULT;
	return result;
}
