/* SPDX-License-Identifier: MIT */
/* The seccomp filter that stops a started program at the calls in base/call.h and at no others. */
#ifndef VMSCOPE_TRACE_FILTER_H
#define VMSCOPE_TRACE_FILTER_H

#include <stdbool.h>
#include <stdint.h>

/* The ret_data of our stops in PTRACE_GET_SYSCALL_INFO; other values are from other filters. */
enum { FILTER_MARK = 0x564d, FILTER_MARK_FOREIGN = 0x5632 };

/*
 * Installs the filter in the calling process, irrevocably; children inherit it. Stops are marked
 * FILTER_MARK, or FILTER_MARK_FOREIGN for memory calls through the 32-bit or x32 entry. Sets
 * no_new_privs if the process lacks CAP_SYS_ADMIN. Returns 0 or -errno. Does not allocate memory,
 * so it may be called after fork().
 */
int filter_install(void);


/* The AUDIT_ARCH_* of programs that vmscope can follow. */
uint32_t filter_native_arch(void);

#endif
