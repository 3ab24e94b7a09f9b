/* SPDX-License-Identifier: MIT */
/* The command "vmscope report". */
#ifndef VMSCOPE_CLI_REPORT_H
#define VMSCOPE_CLI_REPORT_H

/* Runs the command and returns its exit status. */
int report_main(int argc, char **argv);

#endif
