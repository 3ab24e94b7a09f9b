/* SPDX-License-Identifier: MIT */
/* The arguments of random calls, one function each; generator.c has the table. */
#ifndef VMSCOPE_CHECK_CALLS_H
#define VMSCOPE_CHECK_CALLS_H

#include "check/generator.h"

typedef void call_fn(struct generator *c, const struct pair *p, struct vmspace_request *r);

call_fn call_mmap, call_mmap_shared, call_mmap_file, call_munmap, call_mprotect, call_mremap,
	call_brk, call_shm, call_remap_pages;
call_fn call_madvise, call_name, call_mlock, call_mlockall, call_fault, call_mseal, call_pkey,
	call_msync, call_mincore, call_policy, call_process_madvise, call_uffd;

#endif
