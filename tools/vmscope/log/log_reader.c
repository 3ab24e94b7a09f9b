/* SPDX-License-Identifier: MIT */
/* Reading the log of "vmscope trace" (docs/log-format.md) as steps. */
#include "log/log_reader.h"

#include <assert.h>
#include <json-c/json.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "log/codec.h"
#include "log/log.h"

struct log_reader {
	struct json_tokener *tokener;
	struct json_object *record;		/* the last line; steps point into it */
	/* Memory that the last step points to. */
	struct vmspace_area *areas;
	struct step_answer *answers, *again;
	struct step_stack *stacks;
	unsigned int *uffd_ends;
	struct step_rename *renames;
	struct anon_choice *choices;
	struct vmspace_request requests[2];	/* step->request and step->before */
	const struct vmspace_range *ranges[2];	/* of these */
	char why[200];
	/* Of the whole log. */
	bool begun, refused;
	bool of_check, ended;		/* its records "check", "summary" were there */
	int64_t revision;
	unsigned long unknown;		/* records of types that are not known */
	struct log_gaps gaps;
};

struct log_reader *log_reader_new(void)
{
	struct log_reader *from = calloc(1, sizeof(*from));

	if (from)
		from->tokener = json_tokener_new();
	if (from && !from->tokener) {
		free(from);
		return NULL;
	}
	return from;
}

static void forget_step(struct log_reader *from)
{
	json_object_put(from->record);
	free(from->areas);
	free(from->answers);
	free(from->again);
	free(from->stacks);
	free(from->uffd_ends);
	free(from->renames);
	free(from->choices);
	free((struct vmspace_range *)from->ranges[0]);
	free((struct vmspace_range *)from->ranges[1]);
	from->record = NULL;
	from->areas = NULL;
	from->answers = from->again = NULL;
	from->stacks = NULL;
	from->uffd_ends = NULL;
	from->renames = NULL;
	from->choices = NULL;
	from->ranges[0] = from->ranges[1] = NULL;
}

void log_reader_free(struct log_reader *from)
{
	if (!from)
		return;
	forget_step(from);
	json_tokener_free(from->tokener);
	free(from);
}

/* Sets the reason; to be used as "return wrong(...)". */
static bool __attribute__((format(printf, 2, 3)))
wrong(struct log_reader *from, const char *format, ...)
{
	va_list list;

	va_start(list, format);
	vsnprintf(from->why, sizeof(from->why), format, list);
	va_end(list);
	return false;
}

static bool wrong_key(struct log_reader *from, const char *key)
{
	return wrong(from, "\"%s\" is missing, or is not what it has to be", key);
}

static struct json_object *get(struct json_object *object, const char *key)
{
	struct json_object *value = NULL;

	json_object_object_get_ex(object, key, &value);
	return value;
}

/* The string at @key; NULL if there is none. */
static const char *get_text(struct json_object *object, const char *key)
{
	struct json_object *value = get(object, key);

	return json_object_is_type(value, json_type_string) ? json_object_get_string(value) : NULL;
}

static bool get_count(struct json_object *object, const char *key, int64_t least, int64_t *count)
{
	struct json_object *value = get(object, key);

	if (!json_object_is_type(value, json_type_int))
		return false;
	*count = json_object_get_int64(value);
	return *count >= least && *count <= INT_MAX;
}

/*
 * Allocates *@items for the array at @key. A missing array has no items. False: it is something
 * else, or memory has run out.
 */
static bool open_array(struct log_reader *from, struct json_object *object, const char *key,
		       size_t size, void *items, struct json_object **array, size_t *count)
{
	void **out = items;

	*array = get(object, key);
	*count = 0;
	if (!*array)
		return true;
	if (!json_object_is_type(*array, json_type_array))
		return wrong_key(from, key);
	*count = json_object_array_length(*array);
	*out = calloc(*count + 1, size);
	return *out || wrong(from, "out of memory");
}

static bool read_words(struct json_object *item, unsigned long *first, unsigned long *second)
{
	uint64_t a, b;

	if (!json_object_is_type(item, json_type_array) || json_object_array_length(item) < 2 ||
	    !decode_word(json_object_array_get_idx(item, 0), &a) ||
	    !decode_word(json_object_array_get_idx(item, 1), &b))
		return false;
	*first = a;
	*second = b;
	return true;
}

static bool read_answers(struct log_reader *from, const char *key, struct step_answer **answers,
			 const struct step_answer **out, size_t *count)
{
	struct json_object *array;

	if (!open_array(from, from->record, key, sizeof(**answers), answers, &array, count))
		return false;
	for (size_t i = 0; i < *count; i++) {
		struct json_object *item = json_object_array_get_idx(array, i);

		if (!read_words(item, &(*answers)[i].start, &(*answers)[i].end))
			return wrong_key(from, key);
		(*answers)[i].has_anon =
			json_object_get_boolean(json_object_array_get_idx(item, 2));
	}
	*out = *answers;
	return true;
}

static bool read_stacks(struct log_reader *from, struct step *step)
{
	struct json_object *array;

	if (!open_array(from, from->record, "stacks", sizeof(*from->stacks), &from->stacks, &array,
			&step->stack_count))
		return false;
	for (size_t i = 0; i < step->stack_count; i++)
		if (!read_words(json_object_array_get_idx(array, i), &from->stacks[i].end,
				&from->stacks[i].start))
			return wrong_key(from, "stacks");
	step->stacks = from->stacks;
	return true;
}

static bool read_renames(struct log_reader *from, struct step *step)
{
	struct json_object *array;
	const char *key;

	if (!open_array(from, from->record, "renames", sizeof(*from->renames), &from->renames,
			&array, &step->rename_count))
		return false;
	for (size_t i = 0; i < step->rename_count; i++) {
		struct json_object *item = json_object_array_get_idx(array, i);
		uint64_t addr;

		if (!json_object_is_type(item, json_type_object) ||
		    !decode_word(get(item, "addr"), &addr) ||
		    !decode_backing(get(item, "backing"), &from->renames[i].backing, &key))
			return wrong_key(from, "renames");
		from->renames[i].addr = addr;
	}
	step->renames = from->renames;
	return true;
}

static bool read_uffd_ends(struct log_reader *from, struct step *step)
{
	struct json_object *array;

	if (!open_array(from, from->record, "uffd_ends", sizeof(*from->uffd_ends),
			&from->uffd_ends, &array, &step->uffd_end_count))
		return false;
	for (size_t i = 0; i < step->uffd_end_count; i++) {
		int64_t context = json_object_get_int64(json_object_array_get_idx(array, i));

		if (context < 1 || context > VMSPACE_UFFD_CONTEXT_MAX)
			return wrong_key(from, "uffd_ends");
		from->uffd_ends[i] = (unsigned int)context;
	}
	step->uffd_ends = from->uffd_ends;
	return true;
}

static bool read_choices(struct log_reader *from, struct step *step)
{
	struct json_object *array;

	if (!open_array(from, from->record, "turned", sizeof(*from->choices), &from->choices,
			&array, &step->choice_count))
		return false;
	for (size_t i = 0; i < step->choice_count; i++) {
		if (!anon_choice_decode(json_object_array_get_idx(array, i), &from->choices[i]))
			return wrong_key(from, "turned");
	}
	step->choices = from->choices;
	return true;
}

/* The kernel's answers, in the record of a call or a fork or in one of their own. */
static bool read_all_answers(struct log_reader *from, struct step *step)
{
	return read_answers(from, "asked", &from->answers, &step->answers, &step->answer_count) &&
	       read_answers(from, "asked_again", &from->again, &step->answers_again,
			    &step->again_count) &&
	       read_stacks(from, step) && read_renames(from, step) &&
	       read_uffd_ends(from, step) && read_choices(from, step);
}

static bool read_request(struct log_reader *from, struct json_object *object,
			 struct vmspace_request *req)
{
	const char *key = "do";

	*req = (struct vmspace_request){ .op = 0 };
	if (!json_object_is_type(object, json_type_object) ||
	    !decode_request(object, req, &key))
		return wrong(from, "the request has a \"%s\" that cannot be understood", key);
	if (req->op == VMSPACE_PROCESS_MADVISE) {
		assert(!from->ranges[1]);
		from->ranges[from->ranges[0] != NULL] = req->process_madvise.ranges;
	}
	return true;
}

static bool read_call(struct log_reader *from, struct step *step)
{
	struct json_object *action = get(from->record, "do"), *before = get(from->record, "before");
	struct json_object *result = get(from->record, "result"), *answer = get(action, "answer");
	struct vmspace_request *request = &from->requests[0];
	int64_t value;

	step->kind = STEP_CALL;
	step->call = get_text(from->record, "call");
	step->site = get_text(from->record, "site");
	step->stack = get_text(from->record, "stack");
	step->falsified = get(from->record, "injected") != NULL;
	step->unsure = json_object_get_boolean(get(from->record, "unsure"));
	if (!step->call)
		return wrong_key(from, "call");
	step->touches = get(from->record, "touch") != NULL;
	if (!step->touches && !action)
		return true;
	step->request = request;
	if (step->touches)
		return read_request(from, get(from->record, "touch"), request) &&
		       read_all_answers(from, step);
	step->before = before ? &from->requests[1] : NULL;
	if (!read_request(from, action, request) ||
	    (before && !read_request(from, before, &from->requests[1])) ||
	    !read_all_answers(from, step))
		return false;
	if (!decode_result(answer ? answer : result, &value))
		return wrong_key(from, answer ? "answer" : "result");
	request->host.valid = true;
	request->host.result = value;
	request->host.unmapped = json_object_get_boolean(get(action, "unmapped"));
	return true;
}

/* A call whose thread was killed inside: it counts only if it was found to have been performed. */
static bool read_lost(struct log_reader *from, struct step *step)
{
	struct json_object *action = get(from->record, "do");

	if (!action)
		return true;
	step->kind = STEP_CALL;
	step->call = "a call that did not return";
	step->request = &from->requests[0];
	return read_request(from, action, &from->requests[0]) && read_all_answers(from, step);
}

static bool read_config(struct log_reader *from, struct step *step)
{
	const char *key;

	if (!decode_config(get(from->record, "config"), &step->config, &key))
		return wrong_key(from, key);
	return true;
}

static bool read_space(struct log_reader *from, struct step *step)
{
	struct json_object *array;
	const char *key;

	step->kind = STEP_SPACE;
	if (!read_config(from, step))
		return false;
	if (!decode_image(get(from->record, "image"), &step->image, &key))
		return wrong_key(from, key);
	if (!open_array(from, from->record, "areas", sizeof(*from->areas), &from->areas, &array,
			&step->area_count))
		return false;
	for (size_t i = 0; i < step->area_count; i++)
		if (!decode_area(json_object_array_get_idx(array, i), &from->areas[i], &key))
			return wrong(from, "area %zu has a \"%s\" that cannot be understood", i + 1,
				     key);
	step->areas = from->areas;
	return true;
}

static bool read_end(struct log_reader *from, struct step *step)
{
	int64_t areas = 0;

	step->kind = STEP_END;
	step->occasion = get_text(from->record, "occasion");
	step->command = get_text(from->record, "command");
	if (!step->occasion)
		return wrong_key(from, "occasion");
	step->has_hash = get_count(from->record, "areas", 0, &areas) &&
			 decode_word(get(from->record, "maps"), &step->hash);
	step->areas_at_end = (unsigned long)areas;
	return true;
}

static bool read_copy(struct log_reader *from, struct step *step)
{
	int64_t source;

	step->kind = STEP_COPY;
	if (!get_count(from->record, "from", 1, &source))
		return wrong_key(from, "from");
	step->from = (unsigned int)source;
	return read_all_answers(from, step);
}

/* Another version may say something else by the same words. */
static bool read_start(struct log_reader *from)
{
	int64_t version;

	if (!get_count(from->record, "version", 0, &version)) {
		from->refused = true;
		return wrong(from, "its first record does not tell the version of the log");
	}
	if (version != LOG_VERSION) {
		from->refused = true;
		return wrong(from, "it is a log of version %d, and this vmscope reads version %d: "
			     "use the vmscope that wrote it, or a later one", (int)version,
			     LOG_VERSION);
	}
	if (!get_count(from->record, "revision", 1, &from->revision)) {
		from->refused = true;
		return wrong(from, "it is of a version of vmscope that did not write what a replay "
			     "needs (its first record has no revision): trace the program again");
	}
	from->of_check = from->ended = false;
	return true;
}

static bool read_gap(struct log_reader *from, const struct step *step)
{
	int64_t events;

	if (!get_count(from->record, "events", 1, &events))
		return wrong_key(from, "events");
	if (!from->gaps.events)
		from->gaps.since = step->time;
	from->gaps.events += (unsigned long)events;
	return true;
}

/* A later one may say more; it is the last, and says how the whole run was. */
static void read_summary(struct log_reader *from)
{
	int64_t unfollowed = 0;

	get_count(from->record, "unfollowed", 0, &unfollowed);
	from->gaps.unfollowed = (unsigned long)unfollowed;
	from->ended = true;
}

/* Records that change no address space. */
static bool read_other(struct log_reader *from, const char *type, struct step *step)
{
	static const char *const types[] = { "check", "attach", "exec", "thread", "fork", "vfork",
					     "difference", "exit" };

	if (strcmp(type, "fork") == 0 || strcmp(type, "vfork") == 0)
		step->kind = STEP_PROCESS;

	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
		if (strcmp(type, types[i]) == 0) {
			from->of_check |= i == 0;
			return true;
		}
	if (from->revision <= LOG_REVISION)
		return wrong(from, "there is no record of the type \"%.40s\"", type);
	from->unknown++;
	return true;
}

static bool read_record(struct log_reader *from, const char *type, struct step *step)
{
	int64_t pid = 0, tid = 0, space = 0;

	if (strcmp(type, "start") == 0 || !from->begun) {
		from->begun = true;
		return read_start(from);
	}
	get_count(from->record, "pid", 1, &pid);
	get_count(from->record, "tid", 1, &tid);
	get_count(from->record, "space", 1, &space);
	step->pid = (pid_t)pid;
	step->tid = (pid_t)tid;
	step->space = (unsigned int)space;
	if (strcmp(type, "gap") == 0)
		return read_gap(from, step);
	if (strcmp(type, "summary") == 0) {
		read_summary(from);
		return true;
	}
	if (strcmp(type, "space") && strcmp(type, "copy") && strcmp(type, "call") &&
	    strcmp(type, "lost") && strcmp(type, "seen") && strcmp(type, "limits") &&
	    strcmp(type, "end"))
		return read_other(from, type, step);
	if (space == 0)
		return wrong_key(from, "space");
	if (strcmp(type, "space") == 0)
		return read_space(from, step);
	if (strcmp(type, "copy") == 0)
		return read_copy(from, step);
	if (strcmp(type, "call") == 0)
		return read_call(from, step);
	if (strcmp(type, "lost") == 0)
		return read_lost(from, step);
	if (strcmp(type, "end") == 0)
		return read_end(from, step);
	if (strcmp(type, "seen") == 0) {
		step->kind = STEP_SEEN;
		return read_all_answers(from, step);
	}
	step->kind = STEP_LIMITS;
	return read_config(from, step);
}

unsigned long log_reader_unknown(const struct log_reader *from)
{
	return from->unknown;
}

bool log_reader_has_begun(const struct log_reader *from)
{
	return from->begun;
}

bool log_reader_is_cut(const struct log_reader *from)
{
	return from->begun && !from->ended && !from->of_check;
}

const struct log_gaps *log_reader_gaps(const struct log_reader *from)
{
	return &from->gaps;
}

/* Makes the line from->record. */
static bool parse(struct log_reader *from, const char *line, size_t length)
{
	size_t end;

	json_tokener_reset(from->tokener);
	/* Includes the NUL, so that the tokener knows that a number at the end is complete. */
	if (length < INT_MAX)
		from->record = json_tokener_parse_ex(from->tokener, line, (int)length + 1);
	if (!json_object_is_type(from->record, json_type_object))
		return wrong(from, "this is not a JSON object");
	end = json_tokener_get_parse_end(from->tokener);
	if (end + strspn(line + end, " \t\r") < length)
		return wrong(from, "something follows the JSON object");
	return true;
}

static bool read_line(struct log_reader *from, const char *line, size_t length, struct step *step)
{
	struct json_object *time;
	const char *type;

	if (!parse(from, line, length))
		return false;
	type = get_text(from->record, "type");
	if (!type)
		return wrong_key(from, "type");
	time = get(from->record, "time");
	if (json_object_is_type(time, json_type_double) || json_object_is_type(time, json_type_int))
		step->time = json_object_get_double(time);
	return read_record(from, type, step);
}

enum log_reader_result log_reader_line(struct log_reader *from, const char *line, size_t length,
				       struct step *step, const char **why)
{
	forget_step(from);
	*step = (struct step){ .kind = STEP_OTHER, .time = -1, .origin = -1 };
	*why = from->why;
	if (!from->refused && read_line(from, line, length, step))
		return LOG_READER_STEP;
	step->kind = STEP_OTHER;
	return from->refused ? LOG_READER_REFUSED : LOG_READER_MALFORMED;
}
