/* SPDX-License-Identifier: MIT */
/* What a call's arguments point to, copied at the call. */
#ifndef VMSCOPE_WATCH_MEMORY_BPF_H
#define VMSCOPE_WATCH_MEMORY_BPF_H

#include <asm/unistd_64.h>
#include <linux/bpf.h>
#include <linux/ioctl.h>
#include <linux/userfaultfd.h>

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#include "watch/tell.bpf.h"
#include "watch/uffd.bpf.h"

enum { SET_VMA = 0x53564d41 /* PR_SET_VMA */, NAME_BYTES = 81 /* one more than a name may have */ };

/*
 * Copies what an argument points to, of those calls of which request_build() of mirror/request.c
 * reads it: the thread goes on as soon as the call has returned. The kernel reads it before it
 * takes the lock, so at the lock it is there.
 */
static __noinline int copy_memory(struct call *call)
{
	struct watch_memory *memory = &call->memory;
	__u64 bits = call->args[4] ? call->args[4] - 1 : 0;
	__u64 size = 0; /* of 64 bits: the limits of narrower values Linux 6.1 does not keep */
	long got;

	call->has_memory = 1;
	memory->addr = call->args[1];
	memory->size = 0;
	memory->other = 0;
	switch (call->number) {
	case __NR_prctl:
		if ((__u32)call->args[0] != SET_VMA) { /* its arguments point to nothing */
			call->has_memory = 0;
			return 0;
		}
		memory->addr = call->args[4];
		got = bpf_probe_read_user_str(memory->bytes, NAME_BYTES, (void *)memory->addr);
		if (got > 0)
			memory->size = got;
		return 0;
	case __NR_ioctl: /* struct uffdio_range, or the first half of uffdio_register */
		look_at_uffd(call);
		memory->addr = call->args[2];
		size = (__u32)call->args[1] == (__u32)UFFDIO_UNREGISTER ? 16 : 24;
		break;
	case __NR_process_madvise: /* struct iovec */
		size = 16;
		break;
	case __NR_mbind:
		memory->addr = call->args[3];
		size = bits < 8 * WATCH_MEMORY ? (bits + 63) / 64 * 8 : WATCH_MEMORY;
		break;
	default:
		call->has_memory = 0;
	}
	asm volatile("" : "+r"(size)); /* the kernel wants to see the limit checked, and it is here */
	if (size > WATCH_MEMORY)
		return 0;
	if (bpf_probe_read_user(memory->bytes, size, (void *)memory->addr) == 0)
		memory->size = size;
	return 0;
}

#endif
