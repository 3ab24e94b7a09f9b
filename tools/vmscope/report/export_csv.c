/* SPDX-License-Identifier: MIT */
/* A log as comma-separated values (RFC 4180), one line an event. */
#include <string.h>

#include "log/difference.h"
#include "report/export.h"

static void begin(struct export *export)
{
	fputs("line,seconds,pid,tid,space,event,call,request,result,areas,change,splits,merges,"
	      "not_merged,site,stack\r\n", export->to);
}

/* In quotes where it must be. */
static void put_field(FILE *to, const char *text)
{
	putc(',', to);
	if (!text)
		return;
	if (!text[strcspn(text, ",\"\r\n")]) {
		fputs(text, to);
		return;
	}
	putc('"', to);
	for (; *text; text++) {
		if (*text == '"')
			putc('"', to);
		putc(*text, to);
	}
	putc('"', to);
}

static const char *kind_of(const struct export_event *event)
{
	switch (event->kind) {
	case REPLAY_SPACE_BEGINS:
		return event->space->from ? "fork" : "begin";
	case REPLAY_CALL_PERFORMED:
		return "call";
	case REPLAY_SPACE_ENDS:
		return "end";
	default:
		return "seen";
	}
}

static void put_event(struct export *export, const struct export_event *event)
{
	const struct vmspace_request *req = event->req;
	char request[512] = "", result[32] = "", not_merged[512];

	if (event->step)
		fprintf(export->to, "%lu", event->step->line);
	if (event->step && event->step->time >= 0)
		fprintf(export->to, ",%.6f", event->step->time);
	else
		putc(',', export->to);
	fprintf(export->to, ",%d,%d,%u", (int)event->pid, (int)event->tid, event->space->id);
	if (req) {
		vmspace_request_text(req, request, sizeof(request));
		difference_format_result(req->host.valid ? req->host.result : req->out.result,
					 result, sizeof(result));
	}
	export_not_merged(event, not_merged, sizeof(not_merged));
	put_field(export->to, kind_of(event));
	put_field(export->to, req ? export_name(event) : "");
	put_field(export->to, request);
	put_field(export->to, result);
	fprintf(export->to, ",%lu,%ld,%u,%u", event->areas, event->change,
		export_count(event, VMSPACE_EVENT_SPLIT), export_count(event, VMSPACE_EVENT_MERGE));
	put_field(export->to, not_merged);
	put_field(export->to, req ? event->step->site : "");
	put_field(export->to, req ? event->step->stack : "");
	fputs("\r\n", export->to);
}

const struct export_format export_csv = { .name = "csv", .begin = begin, .event = put_event };
