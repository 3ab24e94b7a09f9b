/* SPDX-License-Identifier: MIT */
/* The command "vmscope explain". */
#ifndef VMSCOPE_CLI_EXPLAIN_H
#define VMSCOPE_CLI_EXPLAIN_H

/* Runs the command and returns its exit status. */
int explain_main(int argc, char **argv);

#endif
