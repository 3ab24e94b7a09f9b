/* SPDX-License-Identifier: MIT */
/* Handling of the signals that vmscope itself receives. */
#ifndef VMSCOPE_TRACE_SIGNALS_H
#define VMSCOPE_TRACE_SIGNALS_H

#include <stdbool.h>
#include <sys/types.h>

/*
 * Installs the handlers. Signals that a user sends to vmscope are forwarded to the started program;
 * those that the terminal sends have reached it already, being in the foreground process group.
 * With @attached, signals ask vmscope to detach. SIGPIPE is ignored.
 */
void signals_setup(bool attached);

/*
 * In a child, before exec: restores the handlers that vmscope was started with. Async-signal-safe.
 */
void signals_restore(void);

/* Forward signals to @pid; 0: to nobody, then a signal asks vmscope to stop. */
void signals_forward_to(pid_t pid);

/* Whether a signal has asked vmscope to stop. */
bool signals_stop_requested(void);

/* That signal; 0: none. */
int signals_stop_signal(void);

/* Starts or stops interrupting waitpid() every 100 ms. */
void signals_set_tick(bool on);

/* From now on it is interrupted each second also when it is not every 100 ms. */
void signals_tick_slowly(void);

/* Whether there was a tick since the last call of this function. */
bool signals_ticked(void);

#endif
