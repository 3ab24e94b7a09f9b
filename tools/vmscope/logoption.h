/* SPDX-License-Identifier: MIT */
/* The options of every command that plays a log: which one, from what areas, up to which line. */
#ifndef VMSCOPE_LOGOPTION_H
#define VMSCOPE_LOGOPTION_H

#include <argp.h>

/* As a child of a command's parser, which gives it a struct player as input at ARGP_KEY_INIT. */
extern const struct argp logoption_argp;

#endif
