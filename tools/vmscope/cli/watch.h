/* SPDX-License-Identifier: MIT */
/* The command "vmscope watch". */
#ifndef VMSCOPE_CLI_WATCH_H
#define VMSCOPE_CLI_WATCH_H

int watch_main(int argc, char **argv);

#endif
