/* SPDX-License-Identifier: MIT */
/*
 * world.h - the guest's threads: all of them can be stopped, for a fork.
 *
 * A thread is inside, where it runs guest code or reaches guest memory, or outside, where it waits in a
 * system call of the host's. Who stops the world waits until no other is inside; those that come back
 * wait until it goes on.
 */
#ifndef RV64_WORLD_H
#define RV64_WORLD_H

#include <stdbool.h>

struct thread;

/* The first thread; and one more, both inside. world_leave() is the end of a thread. */
void world_begin(struct thread *first);
void world_add(struct thread *thread);
/* Returns whether the thread was the last one; if not, it is outside for good. */
bool world_leave(struct thread *thread);

/* Around a system call that may wait. Cost next to nothing while there is one thread. */
void world_outside(void);
void world_inside(void);
/* Between two instructions: if the world is being stopped, wait until it goes on. */
void world_pause(void);

/* No other thread is inside from then on. For a fork: in the child there is no other thread. */
void world_stop(struct thread *thread);
void world_go_on(void);
void world_in_child(struct thread *thread);

#endif
