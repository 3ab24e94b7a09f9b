/* SPDX-License-Identifier: MIT */
/* What vmscope does with the signals that it gets itself. */
#ifndef VMSCOPE_TRACE_SIGNALS_H
#define VMSCOPE_TRACE_SIGNALS_H

#include <stdbool.h>
#include <sys/types.h>

/*
 * Installs the handlers. Signals that a user sends to vmscope go on to the started program;
 * those that the terminal sends to the whole foreground group have reached it already. With
 * @attached they ask vmscope to let go. A write to a closed pipe becomes an error.
 */
void signals_setup(bool attached);

/* In a child, before its exec: back to what vmscope was started with. Async-signal-safe. */
void signals_restore(void);

/* The process that gets what vmscope gets; 0: none, then a signal asks vmscope to end. */
void signals_forward_to(pid_t pid);

/* Whether vmscope has been asked to let go. */
bool signals_stop_requested(void);

/* The signal that asked, 0 for none. */
int signals_stop_signal(void);

/* Interrupts waitpid() every 100 ms, or not any more. */
void signals_set_tick(bool on);

/* Whether there has been a tick since this was asked last. */
bool signals_ticked(void);

#endif
