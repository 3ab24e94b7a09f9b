/* SPDX-License-Identifier: MIT */
/*
 * quarantine.h - a node allocator that keeps freed nodes, poisoned, for as long as it can.
 *
 * A freed node is filled with a pattern and waits in a queue; it leaves the queue, to the C
 * library, only when newer ones push it out, and then the pattern must be intact. A reader that
 * follows what it finds in a freed node ends at an address that does not exist; AddressSanitizer
 * reports the read itself.
 */
#ifndef TORTURE_QUARANTINE_H
#define TORTURE_QUARANTINE_H

#include <mapletree/maple_tree.h>

extern const struct mt_allocator quarantine;

/* quarantine_live - nodes handed out and not given back. */
unsigned long quarantine_live(void);

/* quarantine_drain - check and free all that waits. Returns how many have been freed so far. */
unsigned long quarantine_drain(void);

#endif
