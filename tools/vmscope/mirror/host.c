/* SPDX-License-Identifier: MIT */
/* The host of a mirror's address space: answers from /proc, recorded for the log. */
#include "mirror/host.h"

#include <assert.h>

void host_init(struct host *host)
{
	*host = (struct host){ .view = KERNEL_VIEW_INIT };
}

int host_open(struct host *host, pid_t tid)
{
	return kernel_open(&host->view, tid);
}

void host_close(struct host *host)
{
	kernel_close(&host->view);
}

static void add_untouched(struct untouched *untouched, unsigned long start, unsigned long end)
{
	if (untouched->count == UNTOUCHED_MAX)
		return;
	untouched->ranges[untouched->count].start = start;
	untouched->ranges[untouched->count++].end = end;
}

static bool has_anon(void *ctx, unsigned long start, unsigned long end)
{
	struct host *host = ctx;
	/* The child has not run since the fork: it shows the pages as they were then. */
	bool has = kernel_has_anon(host->child_view ? host->child_view : &host->view, start, end);

	answers_add_anon(host->answers, start, end, has);
	if (!has && host->untouched)
		add_untouched(host->untouched, start, end);
	return has;
}

static unsigned long stack_start(void *ctx, unsigned long start, unsigned long end)
{
	struct host *host = ctx;
	unsigned long now = kernel_stack_start(&host->view, start, end);

	if (now < start)
		answers_add_stack(host->answers, end, now);
	return now;
}

struct vmspace_host host_callbacks(struct host *host)
{
	return (struct vmspace_host){
		.ctx = host,
		.has_anon = has_anon,
		.stack_start = stack_start,
	};
}

void host_gather(struct host *host, struct vmspace *space, struct vmspace_request *req,
		 struct untouched *untouched)
{
	assert(!host->untouched && !host->child_view);
	host->untouched = untouched;
	vmspace_gather(space, req);
	host->untouched = NULL;
}

bool host_was_touched(struct host *host, const struct untouched *untouched)
{
	for (unsigned int i = 0; i < untouched->count; i++)
		if (kernel_has_anon(&host->view, untouched->ranges[i].start,
				    untouched->ranges[i].end))
			return true;
	return false;
}
