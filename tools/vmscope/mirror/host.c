/* SPDX-License-Identifier: MIT */
/* The host of a mirror's address space: answers from /proc, recorded for the log. */
#include "mirror/host.h"

#include <assert.h>
#include <unistd.h>

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

/* Where the next part of [start, end) that the call has not replaced begins and ends. */
static bool next_kept(const struct replaced *replaced, unsigned long *start, unsigned long *end)
{
	for (unsigned int i = 0; i < replaced->count;) {
		if (replaced->ranges[i].start <= *start && *start < replaced->ranges[i].end) {
			*start = replaced->ranges[i].end;
			i = 0; /* the other one may begin there */
		} else {
			i++;
		}
	}
	for (unsigned int i = 0; i < replaced->count; i++)
		if (replaced->ranges[i].start > *start && replaced->ranges[i].start < *end)
			*end = replaced->ranges[i].start;
	return *start < *end;
}

/* Has the kernel anonymous pages in [start, end), in parts that the call has not replaced? */
static bool kept_has_anon(struct host *host, unsigned long start, unsigned long end)
{
	unsigned long to = end;

	for (; next_kept(&host->replaced, &start, &to); start = to, to = end)
		if (kernel_has_anon(&host->view, start, to))
			return true;
	return false;
}

static bool overlaps(const struct replaced *replaced, unsigned long start, unsigned long end)
{
	for (unsigned int i = 0; i < replaced->count; i++)
		if (start < replaced->ranges[i].end && replaced->ranges[i].start < end)
			return true;
	return false;
}

/* Had [start, end) anonymous pages right before the call? Where it changed pages, at its entry. */
static bool had_anon(struct host *host, unsigned long start, unsigned long end)
{
	if (kept_has_anon(host, start, end))
		return true;
	if (!overlaps(&host->replaced, start, end))
		return false;
	for (unsigned int i = 0; i < host->before->count; i++)
		if (host->before->ranges[i].start == start && host->before->ranges[i].end == end)
			return false;
	return true;
}

static bool has_anon(void *ctx, unsigned long start, unsigned long end)
{
	struct host *host = ctx;
	bool has;

	if (host->before)
		has = had_anon(host, start, end);
	else /* a child has not run since the fork: it shows the pages as they were then */
		has = kernel_has_anon(host->child_view ? host->child_view : &host->view, start,
				      end);

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

static void add_replaced(struct replaced *replaced, unsigned long start, unsigned long length)
{
	const unsigned long mask = (unsigned long)sysconf(_SC_PAGESIZE) - 1;
	unsigned long end = (start + length + mask) & ~mask;

	start &= ~mask;
	if (start >= end)
		return;
	replaced->ranges[replaced->count].start = start;
	replaced->ranges[replaced->count++].end = end;
}

void host_look_back(struct host *host, const struct vmspace_request *req,
		    const struct untouched *untouched)
{
	const struct vmspace_mremap *m = &req->mremap;
	bool failed = req->host.result < 0 && req->host.result >= -4095;

	host->before = untouched;
	host->replaced.count = 0;
	switch (req->op) {
	case VMSPACE_MMAP:
		if (!failed)
			add_replaced(&host->replaced, (unsigned long)req->host.result,
				     req->mmap.length);
		break;
	case VMSPACE_MREMAP: /* one that fails may have moved some of several areas */
		add_replaced(&host->replaced, m->addr, m->old_length);
		add_replaced(&host->replaced,
			     failed ? m->new_addr : (unsigned long)req->host.result, m->new_length);
		break;
	default: /* what else changes pages, merges nothing, or merges before */
		break;
	}
}

void host_look_now(struct host *host)
{
	host->before = NULL;
	host->replaced.count = 0;
}

bool host_was_touched(struct host *host)
{
	assert(host->before);
	for (unsigned int i = 0; i < host->before->count; i++)
		if (kept_has_anon(host, host->before->ranges[i].start, host->before->ranges[i].end))
			return true;
	return false;
}
