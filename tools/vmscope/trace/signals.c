/* SPDX-License-Identifier: MIT */
/* Handling of the signals that vmscope itself receives. */
#include "trace/signals.h"

#include <signal.h>
#include <stddef.h>
#include <sys/time.h>

static volatile sig_atomic_t asked;	/* the signal that asked vmscope to stop */
static volatile sig_atomic_t ticked;
static volatile pid_t target;
static bool forward;
static bool ticking, slowly;

enum { SLOW_MS = 1000, FAST_MS = 100 };

/* By what is set above. */
static void set_timer(void)
{
	struct itimerval timer;
	sig_atomic_t seen;
	long ms;

	do {
		seen = asked;
		ms = seen || ticking ? FAST_MS : slowly ? SLOW_MS : 0;
		timer.it_interval = (struct timeval){ ms / 1000, ms % 1000 * 1000 };
		timer.it_value = timer.it_interval;
		setitimer(ITIMER_REAL, &timer, NULL);
	} while (asked != seen); /* ask() has been called meanwhile */
}

/* The signal may arrive just before waitpid(); ticks make sure that the event loop notices. */
static void ask(int signal)
{
	asked = signal;
	set_timer();
}

static void handle(int signal, siginfo_t *info, void *context)
{
	(void)context;
	if (!forward || target == 0)
		ask(signal);
	else if (info->si_code <= 0)
		kill(target, signal);
}

static void wake(int signal)
{
	(void)signal;
	ticked = 1;
}

static const int handled[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGALRM, SIGPIPE, SIGXFSZ };
enum { HANDLED = sizeof(handled) / sizeof(handled[0]) };
static struct sigaction saved[HANDLED];

static void install(int signal, const struct sigaction *old)
{
	struct sigaction action = { .sa_flags = 0 };

	sigemptyset(&action.sa_mask);
	if (signal == SIGPIPE || signal == SIGXFSZ) { /* a failed write is told by its error */
		action.sa_handler = SIG_IGN;
	} else if (signal == SIGALRM) {
		action.sa_handler = wake;
	} else {
		if (old->sa_handler == SIG_IGN)
			return;
		action.sa_flags = SA_SIGINFO;
		action.sa_sigaction = handle;
	}
	sigaction(signal, &action, NULL);
}

void signals_setup(bool attached)
{
	forward = !attached;
	for (size_t i = 0; i < HANDLED; i++) {
		sigaction(handled[i], NULL, &saved[i]);
		install(handled[i], &saved[i]);
	}
}

void signals_restore(void)
{
	for (size_t i = 0; i < HANDLED; i++)
		sigaction(handled[i], &saved[i], NULL);
}

void signals_forward_to(pid_t pid)
{
	target = pid;
}

bool signals_stop_requested(void)
{
	return asked != 0;
}

int signals_stop_signal(void)
{
	return asked;
}

void signals_set_tick(bool on)
{
	if (on == ticking)
		return;
	ticking = on;
	set_timer();
}

void signals_tick_slowly(void)
{
	slowly = true;
	set_timer();
}

bool signals_ticked(void)
{
	bool has = ticked;

	ticked = 0;
	return has;
}
