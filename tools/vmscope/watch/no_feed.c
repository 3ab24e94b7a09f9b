/* SPDX-License-Identifier: MIT */
/* What stands for the program in the kernel where vmscope was built without it. */
#include <errno.h>

#include "base/session.h"
#include "watch/feed.h"

int feed_open(struct feed **out, void (*heard)(void *ctx, const struct watch_head *event),
	      void *ctx, bool stacks)
{
	(void)heard;
	(void)ctx;
	(void)stacks;
	*out = NULL;
	session_say("this vmscope was built without 'watch': " WATCH_MISSING);
	return -ENOSYS;
}

void feed_close(struct feed *feed)
{
	(void)feed;
}

bool feed_poll(struct feed *feed, int milliseconds)
{
	(void)feed;
	(void)milliseconds;
	return true;
}

int feed_look(struct feed *feed, pid_t pid, bool add)
{
	(void)feed;
	(void)pid;
	(void)add;
	return -ENOSYS;
}

unsigned long feed_lost(const struct feed *feed)
{
	(void)feed;
	return 0;
}

struct watch_stack_event *feed_stack(struct feed *feed, const struct watch_head *call)
{
	(void)feed;
	(void)call;
	return NULL;
}

void feed_forgo_stacks(struct feed *feed)
{
	(void)feed;
}

void feed_pause(struct feed *feed, bool pause)
{
	(void)feed;
	(void)pause;
}

const char *feed_why_all(const struct feed *feed)
{
	(void)feed;
	return NULL;
}

unsigned long feed_foreign(const struct feed *feed)
{
	(void)feed;
	return 0;
}
