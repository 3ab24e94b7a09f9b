/* SPDX-License-Identifier: MIT */
/* Reading takes a while: how far it is, on a terminal, and whether the user has had enough. */
#include "replay/progress.h"

#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include "base/now.h"

enum { MB = 1000000, PAUSE_MS = 500 };

static volatile sig_atomic_t interrupted;
static struct sigaction saved;
static bool shows, catches, on_screen;
static long begun, told;	/* when progress_begin() was, and the last line */

static void note(int signal)
{
	(void)signal;
	interrupted = 1;
}

void progress_begin(bool shown, bool interruptible)
{
	/* Without SA_RESTART: reading from a pipe that nobody writes to ends, too. */
	struct sigaction action = { .sa_handler = note, .sa_flags = (int)SA_RESETHAND };

	interrupted = 0;
	shows = shown && isatty(STDERR_FILENO);
	catches = interruptible && sigaction(SIGINT, NULL, &saved) == 0 &&
		  saved.sa_handler != SIG_IGN;
	sigemptyset(&action.sa_mask);
	if (catches)
		sigaction(SIGINT, &action, NULL);
	told = begun = now_ms();
}

void progress_step(const char *path, const struct lines *lines)
{
	const double read = (double)lines_position(lines) / MB;
	const double size = (double)lines_size(lines) / MB;
	double seconds;
	long now;

	if (!shows)
		return;
	now = now_ms();
	if (now - told < PAUSE_MS)
		return;
	told = now;
	seconds = (double)(now - begun) / 1000;
	fprintf(stderr, "\r\033[Kvmscope: %s: ", path);
	if (size > 0)
		fprintf(stderr, "%.0f%% of %.0f MB", 100 * (read < size ? read / size : 1), size);
	else
		fprintf(stderr, "%.0f MB", read);
	fprintf(stderr, ", %lu lines, %.0f MB/s", lines_number(lines), read / seconds);
	fflush(stderr);
	on_screen = true;
}

void progress_clear(void)
{
	if (on_screen)
		fputs("\r\033[K", stderr);
	on_screen = false;
}

bool progress_interrupted(void)
{
	return interrupted != 0;
}

void progress_end(void)
{
	progress_clear();
	if (catches)
		sigaction(SIGINT, &saved, NULL);
	catches = false;
}
