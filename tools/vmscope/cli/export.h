/* SPDX-License-Identifier: MIT */
/* The command "vmscope export". */
#ifndef VMSCOPE_CLI_EXPORT_H
#define VMSCOPE_CLI_EXPORT_H

/* Returns the exit status. */
int export_main(int argc, char **argv);

#endif
