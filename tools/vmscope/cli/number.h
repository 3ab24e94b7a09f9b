/* SPDX-License-Identifier: MIT */
/* Parsing numeric command-line options. */
#ifndef VMSCOPE_CLI_NUMBER_H
#define VMSCOPE_CLI_NUMBER_H

#include <argp.h>

/*
 * The decimal number in @text, from @least to @most. Anything else is an error: exits with a
 * message about option @name.
 */
unsigned long number_option(struct argp_state *state, const char *name, const char *text,
			    unsigned long least, unsigned long most);

#endif
