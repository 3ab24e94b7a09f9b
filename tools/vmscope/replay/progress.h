/* SPDX-License-Identifier: MIT */
/* Reading takes a while: how far it is, on a terminal, and whether the user has had enough. */
#ifndef VMSCOPE_REPLAY_PROGRESS_H
#define VMSCOPE_REPLAY_PROGRESS_H

#include <stdbool.h>

#include "base/lines.h"

/*
 * Reading begins. With @shown, progress_step() tells how far it is, if standard error is a
 * terminal. With @interruptible, the first SIGINT is only noted; a second one ends the process.
 */
void progress_begin(bool shown, bool interruptible);

/* To be called often. @path: what is read. */
void progress_step(const char *path, const struct lines *lines);

/* Removes what is shown: something else is going to be written. */
void progress_clear(void);

/* Whether there was a SIGINT since progress_begin(). */
bool progress_interrupted(void);

/* Reading has ended. SIGINT does what it did before. */
void progress_end(void);

#endif
