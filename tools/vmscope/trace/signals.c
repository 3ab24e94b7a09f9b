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
static bool ticking;

static void start_ticking(long usec)
{
	struct itimerval timer = { { 0, usec }, { 0, usec } };

	setitimer(ITIMER_REAL, &timer, NULL);
}

/* The signal may arrive just before waitpid(); ticks make sure that the event loop notices. */
static void ask(int signal)
{
	asked = signal;
	start_ticking(100000);
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
	start_ticking(on ? 100000 : 0);
	if (!on && asked) /* ask() needs the ticks, too, and may have been called just now */
		start_ticking(100000);
}

bool signals_ticked(void)
{
	bool has = ticked;

	ticked = 0;
	return has;
}
