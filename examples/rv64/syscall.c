/* SPDX-License-Identifier: MIT */
/*
 * syscall.c - system calls by their numbers. Most are the host's own, with what their arguments point to
 * copied between the guest and here; a string tells how, a letter an argument:
 *   i  a number                       f  a descriptor       d  a descriptor, or AT_FDCWD
 *   s  a string                       p  a path
 *   r  memory that is read, of as many bytes as the next argument says
 *   w  memory that is written; the result tells how much of it
 *   I  a structure that is read, O  one that is written, B  both, or written in part; with its size in
 *      bytes behind
 * On 64 bits these structures are the same for riscv64 and x86-64; where they are not, a function
 * of its own makes the call.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "process.h"

#define COPIED_MOST  (1UL << 20) /* of one read() or write(), which may do less than is asked for */

struct call {
	const char *arguments;       /* NULL: `function` makes it */
	long number;                 /* the host's */
	guest_call *function;
};

#define HOST(name, arguments)	{ arguments, SYS_##name, NULL }
#define OWN(name)		{ NULL, 0, call_##name }

static long none(struct thread *thread, const uint64_t a[6])
{
	(void)thread;
	(void)a;
	return 0;
}

static long call_rt_sigaction(struct thread *thread, const uint64_t a[6])
{
	(void)thread;
	return signal_action(a[0], a[1], a[2], a[3]);
}

static long call_rt_sigprocmask(struct thread *thread, const uint64_t a[6])
{
	return signal_mask(thread, a[0], a[1], a[2], a[3]);
}

static long call_rt_sigsuspend(struct thread *thread, const uint64_t a[6])
{
	return signal_suspend(thread, a[0], a[1]);
}

static long call_rt_sigreturn(struct thread *thread, const uint64_t a[6])
{
	(void)a;
	return signal_return(thread);
}

static long call_rt_sigpending(struct thread *thread, const uint64_t a[6])
{
	return a[1] == 8 ? signal_pending(thread, a[0]) : -EINVAL;
}

static long call_sigaltstack(struct thread *thread, const uint64_t a[6])
{
	return signal_stack(thread, a[0], a[1]);
}

/* By the numbers that architectures share which came to Linux late. What is not here is ENOSYS. */
static const struct call calls[] = {
	[17] = HOST(getcwd, "w"),
	[19] = HOST(eventfd2, "ii"),
	[20] = HOST(epoll_create1, "i"),
	[21] = OWN(epoll_ctl),
	[22] = OWN(epoll_pwait),
	[23] = OWN(dup),
	[24] = OWN(dup3),
	[25] = OWN(fcntl),
	[29] = OWN(ioctl),
	[32] = HOST(flock, "fi"),
	[33] = HOST(mknodat, "dpii"),
	[34] = HOST(mkdirat, "dpi"),
	[35] = HOST(unlinkat, "dpi"),
	[36] = HOST(symlinkat, "sdp"),
	[37] = HOST(linkat, "dpdpi"),
	[43] = HOST(statfs, "pO120"),
	[44] = HOST(fstatfs, "fO120"),
	[45] = HOST(truncate, "pi"),
	[46] = HOST(ftruncate, "fi"),
	[47] = HOST(fallocate, "fiii"),
	[48] = HOST(faccessat, "dpi"),
	[49] = HOST(chdir, "p"),
	[50] = HOST(fchdir, "f"),
	[52] = HOST(fchmod, "fi"),
	[53] = HOST(fchmodat, "dpi"),
	[54] = HOST(fchownat, "dpiii"),
	[55] = HOST(fchown, "fii"),
	[56] = OWN(openat),
	[57] = OWN(close),
	[59] = HOST(pipe2, "O8i"),
	[61] = HOST(getdents64, "fwi"),
	[62] = HOST(lseek, "fii"),
	[63] = HOST(read, "fwi"),
	[64] = HOST(write, "fri"),
	[65] = OWN(readv),
	[66] = OWN(writev),
	[67] = HOST(pread64, "fwii"),
	[68] = HOST(pwrite64, "frii"),
	[69] = OWN(preadv),
	[70] = OWN(pwritev),
	[71] = HOST(sendfile, "ffB8i"),
	[72] = OWN(pselect6),
	[73] = OWN(ppoll),
	[78] = OWN(readlinkat),
	[79] = OWN(newfstatat),
	[80] = OWN(fstat),
	[81] = HOST(sync, ""),
	[82] = HOST(fsync, "f"),
	[83] = HOST(fdatasync, "f"),
	[88] = HOST(utimensat, "dpI32i"),
	[93] = OWN(exit),
	[94] = OWN(exit_group),
	[95] = HOST(waitid, "iiB128iB144"),
	[96] = OWN(set_tid_address),
	[98] = OWN(futex),
	[99] = { NULL, 0, none }, /* set_robust_list */
	[101] = HOST(nanosleep, "I16B16"),
	[102] = HOST(getitimer, "iO32"),
	[103] = HOST(setitimer, "iI32O32"),
	[113] = HOST(clock_gettime, "iO16"),
	[114] = HOST(clock_getres, "iO16"),
	[115] = HOST(clock_nanosleep, "iiI16B16"),
	[119] = HOST(sched_setscheduler, "iiI4"),
	[120] = HOST(sched_getscheduler, "i"),
	[121] = HOST(sched_getparam, "iO4"),
	[123] = OWN(sched_getaffinity),
	[124] = HOST(sched_yield, ""),
	[129] = HOST(kill, "ii"),
	[130] = HOST(tkill, "ii"),
	[131] = HOST(tgkill, "iii"),
	[132] = OWN(sigaltstack),
	[133] = OWN(rt_sigsuspend),
	[134] = OWN(rt_sigaction),
	[135] = OWN(rt_sigprocmask),
	[136] = OWN(rt_sigpending),
	[137] = OWN(rt_sigtimedwait),
	[139] = OWN(rt_sigreturn),
	[140] = HOST(setpriority, "iii"),
	[141] = HOST(getpriority, "ii"),
	[144] = HOST(setgid, "i"),
	[146] = HOST(setuid, "i"),
	[148] = HOST(getresuid, "O4O4O4"),
	[150] = HOST(getresgid, "O4O4O4"),
	[153] = HOST(times, "O32"),
	[154] = HOST(setpgid, "ii"),
	[155] = HOST(getpgid, "i"),
	[156] = HOST(getsid, "i"),
	[157] = HOST(setsid, ""),
	[160] = OWN(uname),
	[165] = HOST(getrusage, "iO144"),
	[166] = HOST(umask, "i"),
	[167] = OWN(prctl),
	[168] = HOST(getcpu, "O4O4i"),
	[169] = HOST(gettimeofday, "O16O8"),
	[172] = HOST(getpid, ""),
	[173] = HOST(getppid, ""),
	[174] = HOST(getuid, ""),
	[175] = HOST(geteuid, ""),
	[176] = HOST(getgid, ""),
	[177] = HOST(getegid, ""),
	[178] = HOST(gettid, ""),
	[179] = HOST(sysinfo, "O112"),
	[198] = HOST(socket, "iii"),
	[199] = HOST(socketpair, "iiiO8"),
	[200] = HOST(bind, "fri"),
	[201] = HOST(listen, "fi"),
	[203] = HOST(connect, "fri"),
	[206] = HOST(sendto, "friiri"),
	[208] = HOST(setsockopt, "fiiri"),
	[210] = HOST(shutdown, "fi"),
	[214] = OWN(brk),
	[215] = OWN(munmap),
	[216] = OWN(mremap),
	[220] = OWN(clone),
	[221] = OWN(execve),
	[222] = OWN(mmap),
	[223] = HOST(fadvise64, "fiii"),
	[226] = OWN(mprotect),
	[227] = OWN(msync),
	[228] = OWN(mlock),
	[229] = OWN(munlock),
	[230] = OWN(mlockall),
	[231] = OWN(munlockall),
	[232] = OWN(mincore),
	[233] = OWN(madvise),
	[259] = { NULL, 0, none }, /* riscv_flush_icache: nothing is kept of code */
	[260] = HOST(wait4, "iB4iB144"),
	[261] = OWN(prlimit64),
	[276] = HOST(renameat2, "dpdpi"),
	[278] = HOST(getrandom, "wii"),
	[279] = HOST(memfd_create, "si"),
	[283] = HOST(membarrier, "iii"),
	[285] = HOST(copy_file_range, "fB8fB8ii"),
	[291] = HOST(statx, "dpiiO256"),
	[434] = HOST(pidfd_open, "ii"),
	[436] = OWN(close_range),
	[439] = HOST(faccessat2, "dpii"),
	[462] = OWN(mseal),
};

#define CALLS (sizeof(calls) / sizeof(calls[0]))

int guest_fd(uint64_t fd)
{
	return (int)fd >= 0 && (int)fd < guest_descriptors() ? (int)fd : -EBADF;
}

long new_fd(long fd)
{
	if (fd < guest_descriptors())
		return fd;
	close((int)fd);
	return -EMFILE;
}

/* ---- arguments ---- */

/* An argument that points to something: a copy of that is passed. */
struct copy {
	char kind;                   /* r w I O B s p; 0: a number */
	uint64_t guest;
	size_t size;
	void *data;
	bool allocated;
	char path[PATH_MAX];         /* and whatever else is small */
};

/* Memory for a copy, small ones without malloc(). */
static int reserve(struct copy *copy, size_t size)
{
	copy->size = size;
	copy->data = copy->path;
	if (size <= sizeof(copy->path))
		return 0;
	copy->data = malloc(size);
	copy->allocated = copy->data;
	return copy->data ? 0 : -ENOMEM;
}

static int take_path(struct copy *copy, bool translate)
{
	char path[PATH_MAX];
	long length = guest_string(path, copy->guest, sizeof(path));

	if (length < 0)
		return (int)length;
	copy->data = copy->path;
	if (translate)
		return path_to_host(copy->path, path);
	memcpy(copy->path, path, (size_t)length + 1);
	return 0;
}

static int take_copy(struct copy *copy, const char *letters, uint64_t next)
{
	size_t size = next < COPIED_MOST ? next : COPIED_MOST;
	int err;

	copy->data = NULL;
	copy->allocated = false;
	copy->size = 0;
	if (strchr("sp", copy->kind))
		return copy->guest ? take_path(copy, copy->kind == 'p') : 0;
	if (strchr("IOB", copy->kind))
		size = strtoul(letters, NULL, 10);
	if (!copy->guest)
		return strchr("rw", copy->kind) && size ? -EFAULT : 0;
	err = reserve(copy, size);
	if (!err && strchr("rIB", copy->kind))
		err = guest_read(copy->data, copy->guest, size);
	return err;
}

static int take_number(char kind, uint64_t *value)
{
	if (kind == 'f' || (kind == 'd' && (int)*value != AT_FDCWD)) {
		if (guest_fd(*value) < 0)
			return -EBADF;
		*value = (uint64_t)(int)*value;
	}
	return 0;
}

/* Copies back what the call has written. */
static int give(const struct copy *copy, long result)
{
	size_t size = copy->size;

	if (!copy->data || !strchr("wOB", copy->kind))
		return 0;
	if (result < 0 && !(copy->kind == 'B' && result == -EINTR)) /* the rest of a time */
		return 0;
	if (copy->kind == 'w' && (size_t)result < size)
		size = (size_t)result;
	return guest_write(copy->guest, copy->data, size);
}

static long make_call(const struct call *call, const uint64_t given[6])
{
	struct copy copies[6];
	uint64_t a[6];
	const char *letters = call->arguments;
	unsigned int count = 0;
	long result = 0;

	memcpy(a, given, sizeof(a));
	while (*letters && result == 0) {
		struct copy *copy = &copies[count];
		char kind = *letters++;

		copy->kind = strchr("ifd", kind) ? 0 : kind;
		copy->guest = a[count];
		copy->allocated = false;
		if (!copy->kind) {
			result = take_number(kind, &a[count]);
		} else {
			result = take_copy(copy, letters, count < 5 ? a[count + 1] : 0);
			a[count] = (uint64_t)(uintptr_t)copy->data;
			if (!result && (kind == 'r' || kind == 'w') && a[count + 1] > copy->size)
				a[count + 1] = copy->size;
		}
		while (*letters >= '0' && *letters <= '9')
			letters++;
		count++;
	}
	if (!result)
		result = host_call(call->number, (long)a[0], (long)a[1], (long)a[2], (long)a[3],
				   (long)a[4], (long)a[5]);
	for (unsigned int i = 0; i < count; i++) {
		if (copies[i].kind && give(&copies[i], result))
			result = -EFAULT;
		if (copies[i].allocated)
			free(copies[i].data);
	}
	return result;
}

long system_call(struct thread *thread)
{
	const uint64_t *a = &thread->cpu.x[REG_A0];
	uint64_t number = thread->cpu.x[REG_A7];
	const struct call *call = number < CALLS ? &calls[number] : NULL;

	if (!call || (!call->arguments && !call->function))
		return -ENOSYS;
	return call->function ? call->function(thread, a) : make_call(call, a);
}
