/* SPDX-License-Identifier: MIT */
/* The command "vmscope at". */
#ifndef VMSCOPE_CLI_AT_H
#define VMSCOPE_CLI_AT_H

/* Runs the command and returns its exit status. */
int at_main(int argc, char **argv);

#endif
