/* SPDX-License-Identifier: MIT */
/* A log in the formats of other programs, written as it is read. */
#include "report/export.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "log/difference.h"
#include "log/hash.h"

static const struct export_format *const formats[] = {
	&export_perfetto, &export_chrome, &export_csv, &export_folded
};

const struct export_format *export_find(const char *name)
{
	for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++)
		if (strcmp(formats[i]->name, name) == 0)
			return formats[i];
	return NULL;
}

void export_begin(struct export *export, const struct export_format *format, FILE *to)
{
	export->format = format;
	export->to = to;
	mt_init(&export->named);
	mt_init(&export->rows);
	if (format->begin)
		format->begin(export);
}

void export_finish(struct export *export)
{
	if (export->format->finish)
		export->format->finish(export);
	mtree_destroy(&export->named);
	mtree_destroy(&export->rows);
}

/* The number of areas that a space had last is where the listener may keep a pointer. */
static long note_areas(struct replay_space *space, unsigned long areas)
{
	const unsigned long before = (unsigned long)(uintptr_t)space->user;

	space->user = (void *)(uintptr_t)areas;
	return (long)areas - (long)before;
}

static uint64_t nanoseconds(struct export *export, const struct step *step)
{
	if (!step)
		return export->ns;
	if (step->time >= 0 && isfinite(step->time) && step->time < 1e10) {
		export->ns = (uint64_t)llround(step->time * 1e9);
		return export->ns;
	}
	export->untimed = true;
	return export->ns = (uint64_t)step->line * 1000;
}

/* As it ends; else it is there after the log, or after vmscope has let it go. */
static bool is_gone(enum replay_event kind, const struct step *step)
{
	return kind == REPLAY_SPACE_ENDS && step && step->occasion &&
	       strcmp(step->occasion, "detach") != 0;
}

void export_notify(void *ctx, enum replay_event kind, struct replay_space *space,
		   const struct step *step, const struct vmspace_request *req, const char *why)
{
	struct export *export = ctx;
	struct export_event event = {
		.kind = kind, .space = space, .step = step, .req = req, .pid = space->pid,
	};

	(void)why;
	if (kind == REPLAY_DIFFERS || !export->format->event)
		return;
	event.ns = nanoseconds(export, step);
	event.tid = step && step->tid ? step->tid : space->pid;
	event.areas = is_gone(kind, step) ? 0 : vmspace_count_areas(space->vm);
	event.change = note_areas(space, event.areas);
	/* What was looked at and had not changed is no event. */
	if (kind == REPLAY_AREAS_OBSERVED && event.change == 0)
		return;
	export->format->event(export, &event);
}

const char *export_name(const struct export_event *event)
{
	switch (event->kind) {
	case REPLAY_SPACE_BEGINS:
		return event->space->from ? "fork" : "begin";
	case REPLAY_CALL_PERFORMED:
		return event->step->call ? event->step->call : vmspace_op_name(event->req->op);
	case REPLAY_SPACE_ENDS:
		return event->step && event->step->occasion ? event->step->occasion : "end of the log";
	default:
		return "areas";
	}
}

unsigned int export_count(const struct export_event *event, enum vmspace_event_kind kind)
{
	unsigned int count = 0;

	for (unsigned int i = 0; event->req && i < event->req->out.event_count; i++)
		count += event->req->out.events[i].kind == kind;
	return count;
}

void export_not_merged(const struct export_event *event, char *buf, size_t size)
{
	bool seen[VMA_VERDICT_COUNT] = { false };
	size_t length = 0;

	buf[0] = '\0';
	for (unsigned int i = 0; event->req && i < event->req->out.event_count; i++) {
		const struct vmspace_event *one = &event->req->out.events[i];

		if (one->kind != VMSPACE_EVENT_NO_MERGE || one->verdict >= VMA_VERDICT_COUNT ||
		    one->verdict == VMA_NOT_ADJACENT || one->verdict == VMA_MERGE_NONE ||
		    seen[one->verdict] || length + 2 > size)
			continue;
		seen[one->verdict] = true;
		length += (size_t)snprintf(buf + length, size - length, "%s%s",
					   length ? ", " : "", vma_verdict_text(one->verdict));
	}
}

static void add_text(struct export_details *details, const char *key, const char *text)
{
	if (text && text[0])
		details->list[details->count++] =
			(struct export_detail){ .key = key, .text = text };
}

static void add_number(struct export_details *details, const char *key, int64_t number)
{
	details->list[details->count++] = (struct export_detail){ .key = key, .number = number };
}

void export_details(const struct export_event *event, struct export_details *details)
{
	details->count = 0;
	if (event->step)
		add_number(details, "line", (int64_t)event->step->line);
	add_number(details, "areas", (int64_t)event->areas);
	add_number(details, "change", event->change);
	if (event->kind == REPLAY_SPACE_BEGINS && event->space->from)
		add_number(details, "copy of space", event->space->from);
	if (event->kind != REPLAY_CALL_PERFORMED)
		return;
	vmspace_request_text(event->req, details->request, sizeof(details->request));
	difference_format_result(event->req->host.valid ? event->req->host.result :
				 event->req->out.result, details->result, sizeof(details->result));
	export_not_merged(event, details->not_merged, sizeof(details->not_merged));
	add_text(details, "request", details->request);
	add_text(details, "result", details->result);
	add_text(details, "why", event->req->out.why);
	add_text(details, "not merged", details->not_merged);
	add_text(details, event->step->stack ? "stack" : "site",
		 event->step->stack ? event->step->stack : event->step->site);
}

bool export_is_new(struct export *export, unsigned long id, const char *name)
{
	/* Never 0, and such that it can be an entry. */
	const unsigned long hash = (hash_bytes(HASH_INIT, name, strlen(name)) >> 2) | 1;
	void *entry = xa_mk_value(hash);

	if (mtree_load(&export->named, id) == entry)
		return false;
	if (mtree_store(&export->named, id, entry, GFP_KERNEL))
		export->failed = true;
	return true;
}
