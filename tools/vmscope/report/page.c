/* SPDX-License-Identifier: MIT */
/* The page of "vmscope report": what a log tells, in one file that a browser opens. */
#include "report/page.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "report/page_data.h"

void page_init(struct page *page)
{
	*page = (struct page){ .failed = false };
	history_init(&page->history);
}

void page_clear(struct page *page)
{
	history_clear(&page->history);
	blame_table_clear(&page->calls);
	blame_table_clear(&page->threads);
}

static bool count(struct page *page, const struct replay_space *from, const struct step *step,
		  const struct vmspace_request *req)
{
	const struct history_space *space = from->user;
	const unsigned long before = space ? space->at_end : 0;
	const unsigned long after = vmspace_count_areas(from->vm);
	char what[200];

	page->call_count++;
	blame_describe_at_site(step, req, what, sizeof(what));
	if (!blame_count(&page->calls, what, req, before, after))
		return false;
	blame_describe_thread(step->tid, from->pid, what, sizeof(what));
	return blame_count(&page->threads, what, req, before, after);
}

void page_notify(void *ctx, enum replay_event event, struct replay_space *space,
		 const struct step *step, const struct vmspace_request *req, const char *why)
{
	struct page *page = ctx;

	if (event == REPLAY_CALL_PERFORMED && !count(page, space, step, req))
		page->failed = true;
	history_notify(&page->history, event, space, step, req, why);
}

/* ---- the file ------------------------------------------------------------------------------- */

static int put_mark(FILE *to, const char *mark, size_t length, struct page *page,
		    const struct page_view *view)
{
	if (length == 5 && memcmp(mark, "TITLE", length) == 0)
		page_put_html(to, view->title);
	else if (length == 7 && memcmp(mark, "SUMMARY", length) == 0)
		page_summary_write(to, page, view);
	else
		return page_data_write(to, page, view);
	return 0;
}

static size_t mark_length(const char *at)
{
	static const char *const marks[] = { "@TITLE@", "@SUMMARY@", "@DATA@" };

	for (size_t i = 0; i < sizeof(marks) / sizeof(marks[0]); i++)
		if (strncmp(at, marks[i], strlen(marks[i])) == 0)
			return strlen(marks[i]) - 2;
	return 0;
}

static int put_page(FILE *to, struct page *page, const struct page_view *view)
{
	const char *from = page_text, *at = page_text;
	size_t length;
	int rc = 0;

	while (rc == 0 && (at = strchr(at, '@')) != NULL) {
		length = mark_length(at);
		if (!length) {
			at++;
			continue;
		}
		fwrite(from, 1, (size_t)(at - from), to);
		rc = put_mark(to, at + 1, length, page, view);
		from = at = at + length + 2;
	}
	fputs(from, to);
	return rc;
}

/* The page in memory. Returns 0 or -ENOMEM; the caller frees *@text. */
static int make(struct page *page, const struct page_view *view, char **text, size_t *size)
{
	FILE *to;
	int rc;

	*text = NULL;
	to = open_memstream(text, size);
	if (!to)
		return -ENOMEM;
	rc = put_page(to, page, view);
	if (fclose(to) != 0 && rc == 0)
		rc = -ENOMEM;
	return rc;
}

int page_write(FILE *to, struct page *page, const struct page_view *view)
{
	char *text = NULL;
	size_t size = 0;
	int rc;

	while ((rc = make(page, view, &text, &size)) == 0 && size > view->limit) {
		free(text);
		text = NULL;
		if (!history_thin(&page->history, page->history.area_count / 4 * 3)) {
			rc = page->history.failed ? -ENOMEM : -EFBIG;
			break;
		}
	}
	if (rc == 0)
		fwrite(text, 1, size, to);
	free(text);
	return rc;
}
