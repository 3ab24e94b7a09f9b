/* SPDX-License-Identifier: MIT */
/* puppet_wire.h - what the test and the puppet say to each other, over which descriptors. */
#ifndef TESTS_VMSPACE_PUPPET_WIRE_H
#define TESTS_VMSPACE_PUPPET_WIRE_H

#define FD_FILES 100
#define FD_HERE 200   /* the test's end of channel i */
#define FD_THERE 300  /* the puppet's end */

enum verb { VERB_CALL, VERB_READ, VERB_WRITE, VERB_FORK, VERB_DROP, VERB_END };

struct command {
	enum verb verb;
	long number;
	unsigned long args[6];
};

#endif
