/* SPDX-License-Identifier: MIT */
/* The protocol between vmscope and a puppet: commands, and descriptors of the channels. */
#ifndef VMSCOPE_CHECK_PUPPET_WIRE_H
#define VMSCOPE_CHECK_PUPPET_WIRE_H

#define FD_FILES 100
#define FD_HERE 200   /* vmscope's end of channel i */
#define FD_THERE 300  /* the puppet's end */

/* Size of the puppet's memory for data of calls; equal to PUPPET_SCRATCH_BYTES. */
#define SCRATCH_BYTES 65536UL

enum verb { VERB_CALL, VERB_READ, VERB_WRITE, VERB_FORK, VERB_DROP, VERB_SUSPEND, VERB_SCRATCH };

struct command {
	enum verb verb;
	long number;
	unsigned long args[6];
};

#endif
