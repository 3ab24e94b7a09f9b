/* SPDX-License-Identifier: MIT */
/* The command "vmscope check": the running kernel as oracle for libvmspace. */
#ifndef VMSCOPE_ORACLE_H
#define VMSCOPE_ORACLE_H

/* Returns the exit status. */
int oracle_main(int argc, char **argv);

#endif
