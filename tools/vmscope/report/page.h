/* SPDX-License-Identifier: MIT */
/* The page of "vmscope report": what a log tells, in one file that a browser opens. */
#ifndef VMSCOPE_REPORT_PAGE_H
#define VMSCOPE_REPORT_PAGE_H

#include <stdio.h>

#include "report/blame.h"
#include "report/history.h"

/* What the page is made of: two listeners in one. */
struct page {
	struct history history;
	struct blame_table calls, threads;	/* of all processes */
	unsigned long call_count;
	bool failed;				/* memory has run out */
};

void page_init(struct page *page);
void page_clear(struct page *page);

/* A listener for replay_state_new(); its ctx is a struct page. */
void page_notify(void *ctx, enum replay_event event, struct replay_space *space,
		 const struct step *step, const struct vmspace_request *req, const char *why);

struct page_view {
	const char *title;		/* the name of the log */
	const char *remark;		/* on how it was read; "" if there is nothing to say */
	size_t limit;			/* bytes */
};

/*
 * Writes the page, in @view->limit bytes at most: the history is thinned until it fits. Returns
 * 0; -ENOMEM; -EFBIG: it does not fit, and nothing was written. Whether it could be written is the
 * caller's to ask of @to.
 */
int page_write(FILE *to, struct page *page, const struct page_view *view);

/* The page without what is of the log: made from page.html, page.css and page_*.js. */
extern const char page_text[];

#endif
