/* SPDX-License-Identifier: MIT */
/*
 * The seccomp filter that stops a started program at the calls in base/call.h and at no others.
 *
 * It is plain BPF instead of libseccomp's, for two reasons: it names calls that are newer than the
 * library in Debian 12 (mseal), and it is generated from the table that the rest of vmscope uses.
 * The kernel caches which calls a filter always allows, so the length of the program matters only
 * for calls that stop anyway.
 */
#include "trace/filter.h"

#include <assert.h>
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/call.h"

#if defined(__x86_64__)
#define NATIVE_ARCH AUDIT_ARCH_X86_64
#define FOREIGN_ARCH AUDIT_ARCH_I386
/* mmap, munmap, ipc, mprotect, brk, mlock ..., mremap, mmap2, madvise, remap_file_pages ... */
static const uint16_t foreign_calls[] = { 45, 90, 91, 117, 125, 150, 151, 152, 153, 163, 192, 219,
					  257, 376, 380, 397, 398, 462 };
#define FIRST_X32_CALL 0x40000000u
#elif defined(__aarch64__)
#define NATIVE_ARCH AUDIT_ARCH_AARCH64
#define FOREIGN_ARCH AUDIT_ARCH_ARM
static const uint16_t foreign_calls[] = { 45, 90, 91, 125, 150, 151, 152, 153, 163, 192, 220, 253,
					  305, 306, 390, 394, 462 };
#else
#error "vmscope knows x86-64 and arm64"
#endif

enum { PROGRAM_MAX = 512 };

struct program {
	struct sock_filter code[PROGRAM_MAX];
	unsigned short length;
};

static void emit(struct program *p, uint16_t code, uint8_t jt, uint8_t jf, uint32_t k)
{
	assert(p->length < PROGRAM_MAX);
	p->code[p->length++] = (struct sock_filter){ code, jt, jf, k };
}

static void emit_load(struct program *p, size_t offset)
{
	emit(p, BPF_LD | BPF_W | BPF_ABS, 0, 0, (uint32_t)offset);
}

static void emit_return(struct program *p, uint32_t action)
{
	emit(p, BPF_RET | BPF_K, 0, 0, action);
}

/* The offset of the low 32 bits of argument @n: both architectures are little-endian. */
static size_t arg_offset(int n)
{
	return offsetof(struct seccomp_data, args) + 8 * (size_t)n;
}

/* Expects the system call number in the accumulator, and leaves it there for the next rule. */
static void emit_rule(struct program *p, const struct call_kind *kind)
{
	const uint32_t stop = SECCOMP_RET_TRACE | FILTER_MARK;
	uint8_t values = (uint8_t)kind->nvalues;

	if (kind->test == TEST_NONE) {
		emit(p, BPF_JMP | BPF_JEQ | BPF_K, 0, 1, (uint32_t)kind->nr);
		emit_return(p, stop);
		return;
	}
	/* For another call, jump over the load, the comparisons and the two returns. */
	emit(p, BPF_JMP | BPF_JEQ | BPF_K, 0, (uint8_t)(values + 3), (uint32_t)kind->nr);
	emit_load(p, arg_offset(kind->test_arg));
	for (uint8_t i = 0; i < values; i++) {
		uint16_t test = kind->test == TEST_BITS_CLEAR ? BPF_JSET : BPF_JEQ;

		/* A match jumps to the second return. */
		emit(p, BPF_JMP | test | BPF_K, (uint8_t)(values - i), 0, kind->values[i]);
	}
	emit_return(p, kind->test == TEST_ONE_OF ? SECCOMP_RET_ALLOW : stop);
	emit_return(p, kind->test == TEST_ONE_OF ? stop : SECCOMP_RET_ALLOW);
}

static void emit_foreign(struct program *p)
{
	const uint8_t count = sizeof(foreign_calls) / sizeof(foreign_calls[0]);

	emit(p, BPF_JMP | BPF_JEQ | BPF_K, 0, (uint8_t)(count + 3), FOREIGN_ARCH);
	emit_load(p, offsetof(struct seccomp_data, nr));
	for (uint8_t i = 0; i < count; i++)
		emit(p, BPF_JMP | BPF_JEQ | BPF_K, (uint8_t)(count - i), 0, foreign_calls[i]);
	emit_return(p, SECCOMP_RET_ALLOW);
	emit_return(p, SECCOMP_RET_TRACE | FILTER_MARK_FOREIGN);
}

static void build(struct program *p)
{
	emit_load(p, offsetof(struct seccomp_data, arch));
	emit_foreign(p);
	emit(p, BPF_JMP | BPF_JEQ | BPF_K, 1, 0, NATIVE_ARCH);
	emit_return(p, SECCOMP_RET_ALLOW);
	emit_load(p, offsetof(struct seccomp_data, nr));
#ifdef FIRST_X32_CALL
	emit(p, BPF_JMP | BPF_JGE | BPF_K, 0, 1, FIRST_X32_CALL);
	emit_return(p, SECCOMP_RET_TRACE | FILTER_MARK_FOREIGN);
#endif
	for (size_t i = 0; i < CALL_KINDS; i++)
		if (call_kinds[i].nr >= 0)
			emit_rule(p, &call_kinds[i]);
	emit_return(p, SECCOMP_RET_ALLOW);
}

int filter_install(void)
{
	struct program p = { .length = 0 };
	struct sock_fprog prog = { .filter = p.code };

	build(&p);
	prog.len = p.length;
	if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &prog) == 0)
		return 0;
	if (errno != EACCES)
		return -errno;
	/* Without CAP_SYS_ADMIN the kernel requires no_new_privs. */
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
		return -errno;
	return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &prog) == 0 ? 0 : -errno;
}

uint32_t filter_native_arch(void)
{
	return NATIVE_ARCH;
}
