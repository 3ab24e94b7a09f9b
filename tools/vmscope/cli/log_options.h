/* SPDX-License-Identifier: MIT */
/* The options of every command that plays a log: which one, from what areas, up to which line. */
#ifndef VMSCOPE_CLI_LOG_OPTIONS_H
#define VMSCOPE_CLI_LOG_OPTIONS_H

#include <argp.h>

/* As a child of a command's parser, which gives it a struct player as input at ARGP_KEY_INIT. */
extern const struct argp log_options_argp;

#endif
