/* SPDX-License-Identifier: MIT */
/*
 * bpf_refused.c - preloaded into vmscope, makes bpf(2) refuse programs, as a verifier does: with
 * EACCES, and a log of why. BPF_REFUSED: "fexit", those that listen to functions where these
 * return; or "all".
 */
#include <dlfcn.h>
#include <errno.h>
#include <linux/bpf.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static const char verifier_log[] =
	"func#0 @0\n0: R1=ctx() R10=fp0\n0: (85) call bpf_new#999\ninvalid func unknown#999\n"
	"processed 1 insns (limit 1000000) max_states_per_insn 0 total_states 0 peak_states 0 mark_read 0\n";

static bool is_refused(long number, const union bpf_attr *attr, int command)
{
	const char *which = getenv("BPF_REFUSED");

	/* libbpf tries, first of all, what the kernel can do with small programs of other kinds. */
	return which && number == SYS_bpf && command == BPF_PROG_LOAD &&
	       attr->prog_type == BPF_PROG_TYPE_TRACING &&
	       (strcmp(which, "all") == 0 || attr->expected_attach_type == BPF_TRACE_FEXIT);
}

__attribute__((visibility("default"))) long syscall(long number, ...)
{
	static long (*next)(long number, ...);
	union bpf_attr *attr;
	long args[6];
	va_list list;

	if (!next)
		*(void **)&next = dlsym(RTLD_NEXT, "syscall");
	va_start(list, number);
	for (int i = 0; i < 6; i++)
		args[i] = va_arg(list, long);
	va_end(list);
	attr = (void *)args[1];
	if (!is_refused(number, attr, (int)args[0]))
		return next(number, args[0], args[1], args[2], args[3], args[4], args[5]);
	if (attr->log_level && attr->log_size >= sizeof(verifier_log))
		memcpy((void *)attr->log_buf, verifier_log, sizeof(verifier_log));
	errno = EACCES;
	return -1;
}
