/* SPDX-License-Identifier: MIT */
/* Starting a program under trace, attaching to one, and letting go. */
#ifndef VMSCOPE_TRACE_TRACEE_H
#define VMSCOPE_TRACE_TRACEE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/*
 * Starts @command, found as execvp() finds it, stopped before its first call under the
 * filter of filter.h. Returns its pid, or -errno. *status_fd: read end of a pipe on which an int
 * arrives if it cannot be executed (its errno), and end of file if it has been.
 */
pid_t tracee_start(char **command, int *status_fd);

/* The errno with which the exec failed, 0 if it has not; closes @status_fd. */
int tracee_exec_error(int status_fd);

/*
 * Attaches to every thread of @pid and stops them. Calls @stopped for each, with the
 * wait status of its stop; then for each with 0: a thread that nothing interrupts stops later, in
 * the wait loop.
 * Returns the number of threads, or -errno.
 */
int tracee_attach(pid_t pid, void (*stopped)(void *ctx, pid_t tid, int status), void *ctx);

/* Resumes @tid by ptrace request @how with @signal. False if it is no longer there. */
bool tracee_resume(pid_t tid, int how, int signal);

#endif
