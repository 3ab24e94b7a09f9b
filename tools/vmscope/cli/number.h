/* SPDX-License-Identifier: MIT */
/* Numbers among the options of a command. */
#ifndef VMSCOPE_CLI_NUMBER_H
#define VMSCOPE_CLI_NUMBER_H

#include <argp.h>

/*
 * The number in `text`, decimal, from `least` to `most`; anything else ends the program with a message
 * about the option `name`.
 */
unsigned long number_option(struct argp_state *state, const char *name, const char *text,
			    unsigned long least, unsigned long most);

#endif
