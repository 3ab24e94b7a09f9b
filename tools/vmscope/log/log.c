/* SPDX-License-Identifier: MIT */
/* Writing the log of a run: one JSON object a line, as docs/log-format.md describes. */
#include "log/log.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/now.h"
#include "log/codec.h"
#include "log/line_file.h"

struct log {
	struct line_file *file;
	uint64_t begun;			/* CLOCK_MONOTONIC, ns */
	uint64_t at;		/* see log_set_time(); 0: now */
};

static struct json_object *number(unsigned long value)
{
	return json_object_new_uint64(value);
}

static void add(struct json_object *object, const char *key, struct json_object *value)
{
	json_object_object_add_ex(object, key, value, JSON_C_OBJECT_ADD_CONSTANT_KEY);
}

static double seconds_of(const struct log *log)
{
	return (double)(int64_t)((log->at ? log->at : now_ns()) - log->begun) * 1e-9;
}

static struct json_object *record(const struct log *log, const char *type,
				  const struct log_who *who)
{
	struct json_object *object = json_object_new_object();
	double seconds = seconds_of(log);
	char time[32];

	add(object, "type", json_object_new_string(type));
	snprintf(time, sizeof(time), "%.6f", seconds);
	add(object, "time", json_object_new_double_s(seconds, time));
	if (!who)
		return object;
	add(object, "pid", json_object_new_int(who->pid));
	add(object, "tid", json_object_new_int(who->tid));
	if (who->space)
		add(object, "space", json_object_new_int((int)who->space));
	return object;
}

/* Writes @object as a line and drops the reference to it. */
static int put(struct log *log, struct json_object *object)
{
	size_t length;
	const char *text;
	int rc;

	assert(log->file && object);
	text = json_object_to_json_string_length(
		object, JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE, &length);
	rc = text ? line_file_add(log->file, text, length) : -ENOMEM;
	json_object_put(object);
	return rc;
}

/* Closes and frees. Returns 0, or -errno of the first write that failed; *@lines were written. */
static int close_log(struct log *log, unsigned long *lines)
{
	int rc = line_file_flush(log->file), closed;

	*lines = line_file_lines(log->file);
	closed = line_file_close(log->file);
	free(log);
	return rc ? rc : closed;
}

/* The log has failed, or is complete if @rc is 0: ends it. */
static void end_log(struct session *session, int rc, const char *then)
{
	unsigned long lines;
	int closed = close_log(session->log, &lines);

	session->log = NULL;
	rc = rc ? rc : closed;
	if (rc == 0)
		return;
	session->log_lost = true;
	session_say("cannot write the log %s: %s; it ends after line %lu%s",
		    session->options->log_path, strerror(-rc), lines, then);
}

static void put_checked(struct session *session, struct json_object *object)
{
	int rc = put(session->log, object);

	if (rc != 0)
		end_log(session, rc, ", and the run goes on without it");
}

void log_flush(struct session *session)
{
	int rc = session->log ? line_file_flush(session->log->file) : 0;

	if (rc != 0)
		end_log(session, rc, ", and the run goes on without it");
}

int log_open(struct log **out, const char *path, const struct options *options)
{
	struct log *log = calloc(1, sizeof(*log));
	struct json_object *first, *command;
	unsigned long lines;
	int rc = log ? line_file_open(&log->file, path) : -ENOMEM;

	*out = NULL;
	if (rc != 0) {
		free(log);
		return rc;
	}
	log->begun = now_ns();
	first = record(log, "start", NULL);
	add(first, "log", json_object_new_string("vmscope"));
	add(first, "version", json_object_new_int(LOG_VERSION));
	add(first, "revision", json_object_new_int(LOG_REVISION));
	if (options->command) {
		command = json_object_new_array();
		for (char **arg = options->command; *arg; arg++)
			json_object_array_add(command, json_object_new_string(*arg));
		add(first, "command", command);
	} else {
		add(first, "attach", json_object_new_int(options->attach));
	}
	rc = put(log, first);
	/* Flushed at once: a full disk should be known before a program is started. */
	if (rc == 0)
		rc = line_file_flush(log->file);
	if (rc != 0)
		close_log(log, &lines);
	else
		*out = log;
	return rc;
}

void log_set_time(struct session *session, uint64_t ns)
{
	if (session->log)
		session->log->at = ns;
}

void log_close(struct session *session)
{
	if (session->log)
		end_log(session, 0, "");
}

/* Adds the members of @detail, which may be NULL, and drops the reference to it. */
static void add_all(struct json_object *object, struct json_object *detail)
{
	if (!detail)
		return;
	json_object_object_foreach(detail, key, value)
		json_object_object_add(object, key, json_object_get(value));
	json_object_put(detail);
}

void log_gap(struct session *session, unsigned long events)
{
	struct json_object *object;

	if (!session->log)
		return;
	object = record(session->log, "gap", NULL);
	add(object, "events", number(events));
	put_checked(session, object);
}

void log_event(struct session *session, const char *type, const struct log_who *who,
	       struct json_object *detail)
{
	struct json_object *object;

	if (!session->log) {
		json_object_put(detail);
		return;
	}
	object = record(session->log, type, who);
	add_all(object, detail);
	put_checked(session, object);
}

static const char *event_name(enum vmspace_event_kind kind)
{
	static const char *const names[] = {
		[VMSPACE_EVENT_MAP] = "map", [VMSPACE_EVENT_UNMAP] = "unmap",
		[VMSPACE_EVENT_SPLIT] = "split", [VMSPACE_EVENT_MERGE] = "merge",
		[VMSPACE_EVENT_NO_MERGE] = "no-merge", [VMSPACE_EVENT_CHANGE] = "change",
		[VMSPACE_EVENT_MOVE] = "move", [VMSPACE_EVENT_GROW] = "grow",
	};

	return (size_t)kind < sizeof(names) / sizeof(names[0]) ? names[kind] : "other";
}

static struct json_object *events_array(const struct vmspace_outcome *out)
{
	struct json_object *array = json_object_new_array();

	for (unsigned int i = 0; i < out->event_count; i++) {
		const struct vmspace_event *event = &out->events[i];
		struct json_object *object = json_object_new_object();

		add(object, "kind", json_object_new_string(event_name(event->kind)));
		add(object, "start", encode_word(event->start));
		add(object, "end", encode_word(event->end));
		add(object, "at", encode_word(event->at));
		if (event->kind == VMSPACE_EVENT_MERGE || event->kind == VMSPACE_EVENT_NO_MERGE)
			add(object, "verdict",
			    json_object_new_string(vma_verdict_text(event->verdict)));
		json_object_array_add(array, object);
	}
	return array;
}

static void add_call(struct json_object *object, const struct call *call)
{
	struct json_object *args = json_object_new_array();

	for (int i = 0; i < call->kind->nargs; i++)
		json_object_array_add(args, encode_word(call->args[i]));
	add(object, "n", number(call->number));
	add(object, "call", json_object_new_string(call->kind->name));
	add(object, "args", args);
	add(object, "result", encode_result(call->result));
}

struct json_object *log_guesses(unsigned int guesses)
{
	struct json_object *array = json_object_new_array();

	for (int kind = 0; kind < GUESS_KINDS; kind++)
		if (guesses >> kind & 1)
			json_object_array_add(array, json_object_new_string(
						      guess_name((enum guess_kind)kind)));
	return array;
}

struct json_object *log_request(const struct vmspace_request *req, int64_t result)
{
	struct json_object *object = encode_request(req);

	if (req->host.valid && req->host.result != result)
		add(object, "answer", encode_result(req->host.result));
	if (req->host.unmapped)
		add(object, "unmapped", json_object_new_boolean(true));
	return object;
}

void log_call(struct session *session, const struct log_who *who, const struct log_call *what)
{
	const struct vmspace_request *req = what->req;
	struct json_object *object;

	if (!session->log) {
		json_object_put(what->extra);
		return;
	}
	assert(who->space > 0 && what->call->number > 0);
	object = record(session->log, "call", who);
	add_call(object, what->call);
	if (req) {
		char text[512];

		vmspace_request_text(req, text, sizeof(text));
		add(object, "request", json_object_new_string(text));
		if (req->op)
			add(object, "do", log_request(req, what->call->result));
		add(object, "events", events_array(&req->out));
		if (req->out.events_lost)
			add(object, "events_lost", number(req->out.events_lost));
	}
	if (what->guesses)
		add(object, "guesses", log_guesses(what->guesses));
	if (what->change != LOG_UNKNOWN)
		add(object, "changed", json_object_new_boolean(what->change == LOG_CHANGED));
	if (what->injected)
		add(object, "injected", json_object_new_string(what->injected));
	add_all(object, what->extra);
	put_checked(session, object);
}

static struct json_object *lines_array(const char *text)
{
	struct json_object *array = json_object_new_array();

	while (*text) {
		int length = (int)(strchrnul(text, '\n') - text);

		json_object_array_add(array, json_object_new_string_len(text, length));
		text += length + (text[length] == '\n');
	}
	return array;
}

void log_difference(struct session *session, const struct log_who *who, const struct call *call,
		    const char *what, const char *kernel, const char *mirror)
{
	struct json_object *object;

	if (!session->log)
		return;
	object = record(session->log, "difference", who);
	if (call)
		add_call(object, call);
	add(object, "what", json_object_new_string(what));
	if (kernel)
		add(object, "kernel", lines_array(kernel));
	if (mirror)
		add(object, "mirror", lines_array(mirror));
	put_checked(session, object);
}

struct json_object *log_summary_object(const struct totals *t, int status)
{
	struct json_object *object = json_object_new_object();
	struct json_object *kinds = json_object_new_object();
	struct json_object *tree = json_object_new_object();
	const struct { const char *key; unsigned long value; } numbers[] = {
		{ "processes", t->processes }, { "threads", t->threads }, { "execs", t->execs },
		{ "forks", t->forks }, { "calls", t->calls }, { "checks", t->checks },
		{ "whole_checks", t->whole_checks }, { "flag_checks", t->flag_checks },
		{ "differences", t->differences },
		{ "stack_growths", t->stack_growths }, { "renames", t->renames },
		{ "copies", t->copies }, { "overlaps", t->overlaps }, { "lost", t->lost },
		{ "unfollowed", t->unfollowed }, { "areas", t->areas },
		{ "areas_peak", t->areas_peak }, { "merges", t->merges }, { "splits", t->splits },
		{ "questions", t->questions }, { "rereads", t->rereads },
		{ "events_lost", t->events_lost }, { "stacks_lost", t->stacks_lost },
	};

	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		add(object, numbers[i].key, number(numbers[i].value));
	for (int kind = 0; kind < GUESS_KINDS; kind++)
		add(object, guess_name((enum guess_kind)kind), number(t->guesses[kind]));
	for (size_t i = 0; i < CALL_KINDS; i++)
		if (t->by_kind[i])
			add(kinds, call_kinds[i].name, number(t->by_kind[i]));
	add(object, "calls_by_kind", kinds);
	add(tree, "nodes", number(t->tree_nodes));
	add(tree, "bytes", number(t->tree_bytes));
	add(tree, "height", number(t->tree_height));
	add(object, "tree", tree);
	add(object, "exit_status", json_object_new_int(status));
	return object;
}
