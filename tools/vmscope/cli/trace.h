/* SPDX-License-Identifier: MIT */
/* The command "vmscope trace". */
#ifndef VMSCOPE_CLI_TRACE_H
#define VMSCOPE_CLI_TRACE_H

/*
 * Runs the command; argv[0] is its name. Returns the exit status, or dies by the signal that killed
 * the traced program.
 */
int trace_main(int argc, char **argv);

#endif
