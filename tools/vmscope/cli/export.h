/* SPDX-License-Identifier: MIT */
/* The command "vmscope export". */
#ifndef VMSCOPE_CLI_EXPORT_H
#define VMSCOPE_CLI_EXPORT_H

/* Runs the command and returns its exit status. */
int export_main(int argc, char **argv);

#endif
