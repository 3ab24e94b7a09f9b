/* SPDX-License-Identifier: MIT */
/* The options common to all commands that replay a log. */
#ifndef VMSCOPE_CLI_LOG_OPTIONS_H
#define VMSCOPE_CLI_LOG_OPTIONS_H

#include <argp.h>

/* An argp child of the command's parser, which passes it a struct player at ARGP_KEY_INIT. */
extern const struct argp log_options_argp;

#endif
