/* SPDX-License-Identifier: MIT */
/* What vmscope and a puppet say to each other, and over which descriptors. */
#ifndef VMSCOPE_CHECK_PUPPET_WIRE_H
#define VMSCOPE_CHECK_PUPPET_WIRE_H

#define FD_FILES 100
#define FD_HERE 200   /* vmscope's end of channel i */
#define FD_THERE 300  /* the puppet's end */

/* Memory of the puppet for what calls are pointed to. */
#define SCRATCH_BYTES 65536UL /* == PUPPET_SCRATCH_BYTES */

enum verb { VERB_CALL, VERB_READ, VERB_WRITE, VERB_FORK, VERB_DROP, VERB_SCRATCH };

struct command {
	/* Memory of the puppet for what calls are pointed to. */
#define SCRATCH_BYTES 65536UL

enum verb verb;
	long number;
	unsigned long args[6];
};

#endif
