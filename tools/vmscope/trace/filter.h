/* SPDX-License-Identifier: MIT */
/* The seccomp filter that stops a started program at the calls of call.h, and at no other. */
#ifndef VMSCOPE_TRACE_FILTER_H
#define VMSCOPE_TRACE_FILTER_H

#include <stdbool.h>
#include <stdint.h>

/* What our stops carry in PTRACE_GET_SYSCALL_INFO's ret_data; another value is a stranger's. */
enum { FILTER_MARK = 0x564d, FILTER_MARK_FOREIGN = 0x5632 };

/*
 * Installs the filter in the calling process for good; its children inherit it. Stops are
 * marked FILTER_MARK, or FILTER_MARK_FOREIGN for a memory call made through a foreign entry
 * (32-bit or x32). Sets no_new_privs where the process lacks CAP_SYS_ADMIN.
 * Returns 0 or -errno. Uses no allocator: may be called after fork() in any process.
 */
int filter_install(void);


/* The AUDIT_ARCH_* of the programs that vmscope follows. */
uint32_t filter_native_arch(void);

#endif
