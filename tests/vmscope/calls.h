/* SPDX-License-Identifier: MIT */
/* The test program for vmscope: makes every call that changes an address space, in every mode. */
#ifndef TESTS_VMSCOPE_CALLS_H
#define TESTS_VMSCOPE_CALLS_H

#include <stddef.h>

#define PAGE 4096UL

/* Exits with a message unless @condition holds: a system call did not do what it should. */
#define MUST(condition) must((condition), #condition, __FILE__, __LINE__)

void must(int condition, const char *text, const char *file, int line);

/* Touches (writes) one byte in every page of [start, start + length). */
void touch(void *start, size_t length);

/* Maps @pages pages of private anonymous memory with @prot, between two unmapped pages. */
char *island(size_t pages, int prot);

/* calls_areas.c: one thread, one process. */
void test_map(void);
void test_unmap(void);
void test_protect(void);
void test_remap(void);
void test_brk(void);
void test_advise(void);
void test_lock(void);
void test_names(void);
void test_shared(void);
void test_files(void);
void test_growsdown(void);
void test_uffd(void);
void test_rings(void);
void test_odd(void);
void test_refused(void);

/* calls_tasks.c: threads, processes, stacks and signals. */
void test_recursion(void);
void test_threads(void);
void test_thread_recursion(void);
void test_fork(void);
void test_fork_in_threads(void);
void test_vfork(void);
void test_exec(const char *self);
void test_exec_in_thread(const char *self);
void test_clone_vm(void);
void test_signals(void);
void test_stop(void);
void test_kill_in_call(void);

#endif
