/* SPDX-License-Identifier: MIT */
/* The machine that a log of strace(1) is assumed to be from; strace records nothing about it. */
#ifndef VMSCOPE_STRACE_DEFAULT_CONFIG_H
#define VMSCOPE_STRACE_DEFAULT_CONFIG_H

#include <mapletree/vmspace.h>

/* Linux on x86-64 with the usual settings and without limits. */
void strace_default_config(struct vmspace_config *config);

#endif
