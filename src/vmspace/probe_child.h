/* SPDX-License-Identifier: MIT */
/* probe_child.h - a child process to try things in. */
#ifndef VMSPACE_PROBE_CHILD_H
#define VMSPACE_PROBE_CHILD_H

/*
 * Run `work` in a child process with a copy of the address space, and wait for its end. The child
 * is a copy of the calling thread alone, so `work` may use neither malloc() nor stdio; what it
 * leaves in `shared`, which must be a shared mapping, is there even if it was killed. It may use
 * all that the hard limits allow, ends with the caller, and is killed after some seconds.
 *
 * Nothing is run where a child would be noticed: the first one after unshare(CLONE_NEWPID) is the
 * init of the new namespace, in which no process can be created when it has ended.
 */
void probe_child_run(void (*work)(volatile unsigned char *shared), volatile unsigned char *shared);

/* In the child: end it. What was done cannot be undone, so nothing else can be tried. */
_Noreturn void probe_child_end(void);

#endif
