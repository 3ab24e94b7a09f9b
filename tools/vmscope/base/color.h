/* SPDX-License-Identifier: MIT */
/* Colours in what is written for people. */
#ifndef VMSCOPE_BASE_COLOR_H
#define VMSCOPE_BASE_COLOR_H

#include <stdbool.h>
#include <stdio.h>

enum color { COLOR_NONE, COLOR_REMOVED, COLOR_ADDED, COLOR_WARNING, COLOR_HEADING };

/*
 * "always", "never", or "auto", which holds until this is called: on terminals, unless the
 * environment has NO_COLOR or a TERM that is "dumb". False: @when is none of these.
 */
bool color_when(const char *when);

/* What to write to @to where @color begins, and where it ends: "" if @to gets no colours. */
const char *color_on(FILE *to, enum color color);
const char *color_off(FILE *to);

#endif
