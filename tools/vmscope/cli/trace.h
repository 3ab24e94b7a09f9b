/* SPDX-License-Identifier: MIT */
/* The command "vmscope trace". */
#ifndef VMSCOPE_CLI_TRACE_H
#define VMSCOPE_CLI_TRACE_H

/* Runs it with its own arguments, argv[0] being its name. Returns the exit status, or does not return:
 * it ends by the signal by which the traced program ended. */
int trace_main(int argc, char **argv);

#endif
