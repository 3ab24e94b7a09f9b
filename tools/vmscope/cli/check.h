/* SPDX-License-Identifier: MIT */
/* The command "vmscope check": the running kernel as oracle for libvmspace. */
#ifndef VMSCOPE_CLI_CHECK_H
#define VMSCOPE_CLI_CHECK_H

/* Runs the command and returns its exit status. */
int check_main(int argc, char **argv);

#endif
