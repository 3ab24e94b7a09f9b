/* SPDX-License-Identifier: MIT */
/* The command "vmscope top". */
#ifndef VMSCOPE_CLI_TOP_H
#define VMSCOPE_CLI_TOP_H

/* Runs the command and returns its exit status. */
int top_main(int argc, char **argv);

#endif
