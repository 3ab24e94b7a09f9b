/* SPDX-License-Identifier: MIT */
/*
 * A log in the trace-event format of Chrome, as JSON: an event for each call, in its thread, and a
 * counter of the areas of each process.
 */
#include <inttypes.h>

#include "report/export.h"

/* In quotes. What is not ASCII becomes a question mark: names of files are bytes, not UTF-8. */
static void put_string(FILE *to, const char *text)
{
	putc('"', to);
	for (; *text; text++) {
		unsigned char c = (unsigned char)*text;

		if (c == '"' || c == '\\')
			fprintf(to, "\\%c", c);
		else if (c < 32)
			fprintf(to, "\\u%04x", c);
		else
			putc(c < 127 ? c : '?', to);
	}
	putc('"', to);
}

static void begin_event(struct export *export, const char *phase, const struct export_event *event)
{
	fprintf(export->to, "%s{\"ph\":\"%s\",\"pid\":%d", export->any ? ",\n" : "", phase,
		(int)event->pid);
	export->any = true;
}

static void put_time(struct export *export, const struct export_event *event)
{
	fprintf(export->to, ",\"ts\":%" PRIu64 ".%03u", event->ns / 1000,
		(unsigned int)(event->ns % 1000));
}

static void name_process(struct export *export, const struct export_event *event)
{
	const char *name = event->space->command;

	if (!name[0] || !export_is_new(export, (unsigned long)event->pid, name))
		return;
	begin_event(export, "M", event);
	fputs(",\"name\":\"process_name\",\"args\":{\"name\":", export->to);
	put_string(export->to, name);
	fputs("}}", export->to);
}

static void put_counter(struct export *export, const struct export_event *event)
{
	begin_event(export, "C", event);
	put_time(export, event);
	fprintf(export->to, ",\"name\":\"areas\",\"args\":{\"areas\":%lu}}", event->areas);
}

static void put_details(struct export *export, const struct export_event *event)
{
	struct export_details details;

	export_details(event, &details);
	for (unsigned int i = 0; i < details.count; i++) {
		const struct export_detail *one = &details.list[i];

		fputs(i ? "," : ",\"args\":{", export->to);
		put_string(export->to, one->key);
		putc(':', export->to);
		if (one->text)
			put_string(export->to, one->text);
		else
			fprintf(export->to, "%" PRId64, one->number);
	}
	fputs("}}", export->to);
}

static void put_event(struct export *export, const struct export_event *event)
{
	name_process(export, event);
	if (event->change)
		put_counter(export, event);
	begin_event(export, "i", event);
	put_time(export, event);
	fprintf(export->to, ",\"tid\":%d,\"s\":\"t\",\"cat\":\"memory\",\"name\":",
		(int)event->tid);
	put_string(export->to, export_name(event));
	put_details(export, event);
}

static void begin(struct export *export)
{
	fputs("{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n", export->to);
}

static void finish(struct export *export)
{
	fputs("\n]}\n", export->to);
}

const struct export_format export_chrome = {
	.name = "chrome", .begin = begin, .event = put_event, .finish = finish
};
