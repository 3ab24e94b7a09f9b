/* SPDX-License-Identifier: MIT */
/*
 * grace.h - grace periods that end when the test asks for it.
 *
 * The linker sends the library's urcu_bp_call_rcu() here (--wrap): callbacks wait in a list, so
 * that a test can look at what readers of the past still hold, then let them run.
 */
#ifndef EXHAUSTIVE_GRACE_H
#define EXHAUSTIVE_GRACE_H

/* grace_pass - run all callbacks that wait. */
void grace_pass(void);

#endif
