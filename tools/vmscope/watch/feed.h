/* SPDX-License-Identifier: MIT */
/* The program in the kernel: loaded, started, asked, and listened to. */
#ifndef VMSCOPE_WATCH_FEED_H
#define VMSCOPE_WATCH_FEED_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "watch/event.h"

struct feed;

/*
 * Loads the program and starts it; @heard is called for each event, from feed_poll(). With @stacks,
 * feed_stack() tells where calls were made. Returns 0; -EAGAIN: a signal has ended it; or -errno,
 * after a message to the user: it is refused, or the kernel lacks what it takes.
 */
int feed_open(struct feed **out, void (*heard)(void *ctx, const struct watch_head *event),
	      void *ctx, bool stacks);
void feed_close(struct feed *feed);

/*
 * Waits up to @milliseconds for events, and hears them; returns after some more milliseconds also if
 * they come faster than they are heard. False: there are more.
 */
bool feed_poll(struct feed *feed, int milliseconds);

/*
 * Where the thread was in the call that @call tells of; the caller frees it. NULL: it was lost, or
 * there is no memory for it.
 */
struct watch_stack_event *feed_stack(struct feed *feed, const struct watch_head *call);

/* From now on all stacks count as lost: what is left of the events is heard without them. */
void feed_forgo_stacks(struct feed *feed);

/*
 * Makes the kernel tell the areas of process @pid (WATCH_LOOK); with @add, it is followed from now
 * on. Returns 0 or -errno, -ESRCH if there is none.
 */
int feed_look(struct feed *feed, pid_t pid, bool add);

/*
 * @pause: calls are not told of, and count as lost, but all else is. So what has been told can be
 * heard, and areas be shown, where calls come faster than they are heard.
 */
void feed_pause(struct feed *feed, bool pause);

/*
 * Why the exits of all calls are listened to, and not the functions of those that are told of: a
 * few words. NULL: they are not.
 */
const char *feed_why_all(const struct feed *feed);

/* How many calls came through the 32-bit entry; they are not told of. */
unsigned long feed_foreign(const struct feed *feed);

/* How many events were lost so far: there was no room for them, or the kernel did not run a program. */
unsigned long feed_lost(const struct feed *feed);

#endif
