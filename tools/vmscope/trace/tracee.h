/* SPDX-License-Identifier: MIT */
/* Starting a program under ptrace, attaching to one, and resuming threads. */
#ifndef VMSCOPE_TRACE_TRACEE_H
#define VMSCOPE_TRACE_TRACEE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/*
 * Starts @command under the seccomp filter; execvp() finds it. Returns its pid, or -errno.
 * *@status_fd becomes the read end of a pipe: an int arrives there, the errno, if the exec fails,
 * or the negative errno if the filter could not be set; and end of file if the exec succeeds.
 */
pid_t tracee_start(char **command, int *status_fd);

/* What arrives at @status_fd; 0 if the exec has succeeded. Closes it. */
int tracee_exec_error(int status_fd);

/*
 * Attaches to all threads of @pid and stops them. Calls @stopped for each that stops, with its wait
 * status, then for every thread once more with 0: threads that do not stop in time stop later, in
 * the event loop. Returns the number of threads, or -errno.
 */
int tracee_attach(pid_t pid, void (*stopped)(void *ctx, pid_t tid, int status), void *ctx);

/* Resumes @tid by ptrace request @how with @signal. False: it is gone. */
bool tracee_resume(pid_t tid, int how, int signal);

#endif
