/* SPDX-License-Identifier: MIT */
/* The command "vmscope replay". */
#ifndef VMSCOPE_CLI_REPLAY_H
#define VMSCOPE_CLI_REPLAY_H

/* Runs the command and returns its exit status. */
int replay_main(int argc, char **argv);

#endif
