/* SPDX-License-Identifier: MIT */
/* The command "vmscope draw". */
#ifndef VMSCOPE_CLI_DRAW_H
#define VMSCOPE_CLI_DRAW_H

/* Runs the command and returns its exit status. */
int draw_main(int argc, char **argv);

#endif
