/* SPDX-License-Identifier: MIT */
/* The option --color. */
#ifndef VMSCOPE_CLI_COLOR_OPTION_H
#define VMSCOPE_CLI_COLOR_OPTION_H

#include <argp.h>

/* An argp child of a command's parser; it takes no input. */
extern const struct argp color_option_argp;

#endif
