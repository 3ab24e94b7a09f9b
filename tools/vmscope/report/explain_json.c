/* SPDX-License-Identifier: MIT */
/* The report of "vmscope explain --json"; docs/explain.schema.json says what is in it. */
#include "report/explain_json.h"

#include <errno.h>
#include <json-c/json.h>
#include <string.h>

#include "report/room.h"

enum { EXPLAIN_JSON_VERSION = 1 };

struct writer {
	bool failed;			/* memory has run out: something is missing */
};

/* Adds @value to @object; either is NULL where memory has run out. */
static void put(struct writer *writer, struct json_object *object, const char *key,
		struct json_object *value)
{
	if (!value || !object || json_object_object_add(object, key, value) != 0) {
		json_object_put(value);
		writer->failed = true;
	}
}

static void put_null(struct writer *writer, struct json_object *object, const char *key)
{
	writer->failed |= !object || json_object_object_add(object, key, NULL) != 0;
}

static void put_count(struct writer *writer, struct json_object *object, const char *key,
		      unsigned long count)
{
	put(writer, object, key, json_object_new_int64((int64_t)count));
}

static void put_bool(struct writer *writer, struct json_object *object, const char *key, bool is)
{
	put(writer, object, key, json_object_new_boolean(is));
}

/* @text as far as it is ASCII: names of files are bytes, and JSON is UTF-8. */
static void put_text(struct writer *writer, struct json_object *object, const char *key,
		     const char *text)
{
	char plain[256];
	size_t length = 0;

	for (; text[length] && length + 1 < sizeof(plain); length++)
		plain[length] = (char)((unsigned char)text[length] < 128 ? text[length] : '?');
	put(writer, object, key, json_object_new_string_len(plain, (int)length));
}

static void put_word(struct writer *writer, struct json_object *object, const char *key,
		     unsigned long word)
{
	char text[24];

	snprintf(text, sizeof(text), "0x%lx", word);
	put(writer, object, key, json_object_new_string(text));
}

/* In seconds; null if < 0: not known. */
static void put_seconds(struct writer *writer, struct json_object *object, const char *key,
			double seconds)
{
	char text[40];

	snprintf(text, sizeof(text), "%.6f", seconds);
	if (seconds >= 0)
		put(writer, object, key, json_object_new_double_s(seconds, text));
	else
		put_null(writer, object, key);
}

static struct json_object *append(struct writer *writer, struct json_object *array)
{
	struct json_object *object = json_object_new_object();

	if (!array || !object || json_object_array_add(array, object) != 0) {
		json_object_put(object);
		writer->failed = true;
		return NULL;
	}
	return object;
}

static struct json_object *put_array(struct writer *writer, struct json_object *object,
				     const char *key)
{
	struct json_object *array = json_object_new_array();

	put(writer, object, key, array);
	return writer->failed ? NULL : array;
}

static struct json_object *put_object(struct writer *writer, struct json_object *object,
				      const char *key)
{
	struct json_object *added = json_object_new_object();

	put(writer, object, key, added);
	return writer->failed ? NULL : added;
}

/* ---- parts ---------------------------------------------------------------------------------- */

static void put_limit(struct writer *writer, struct json_object *report, unsigned long areas,
		      unsigned long max_map_count, bool assumed)
{
	struct json_object *limit = put_object(writer, report, "limit"), *refused, *one;

	put_count(writer, limit, "max_map_count", max_map_count);
	put_bool(writer, limit, "assumed", assumed);
	put_count(writer, limit, "room", room_left(areas, max_map_count));
	refused = put_array(writer, limit, "refused");
	for (int i = 0; i < ROOM_REFUSALS; i++) {
		one = append(writer, refused);
		put_text(writer, one, "what", room_refusals[i].what);
		put(writer, one, "from",
		    json_object_new_int64((int64_t)max_map_count + room_refusals[i].from));
		put_bool(writer, one, "now",
			 room_is_refused(&room_refusals[i], areas, max_map_count));
	}
}

static void put_growth(struct writer *writer, struct json_object *report,
		       const struct blame_space *space)
{
	struct room_growth found;
	struct json_object *growth;

	if (!room_growth(space, &found)) {
		put_null(writer, report, "growth");
		return;
	}
	growth = put_object(writer, report, "growth");
	put_seconds(writer, growth, "seconds", found.seconds);
	put(writer, growth, "gained", json_object_new_int64(found.gained));
	put(writer, growth, "per_second", json_object_new_double(found.rate));
	put_seconds(writer, growth, "limit_in", found.left);
}

static void put_course(struct writer *writer, struct json_object *report,
		       const struct course *course)
{
	struct json_object *array = put_array(writer, report, "course"), *point;

	for (unsigned int i = 0; i < course->count; i++) {
		point = append(writer, array);
		put_seconds(writer, point, "time", course->points[i].time);
		put_count(writer, point, "areas", course->points[i].areas);
		put_count(writer, point, "most", course->points[i].most);
	}
}

static void put_refused(struct writer *writer, struct json_object *object,
			const struct blame_row *row)
{
	struct json_object *refused = put_object(writer, object, "not_merged");

	for (int verdict = 0; verdict < VMA_VERDICT_COUNT; verdict++)
		if (row->refused[verdict] && verdict != VMA_NOT_ADJACENT &&
		    verdict != VMA_MERGE_NONE)
			put_count(writer, refused, vma_verdict_text((enum vma_verdict)verdict),
				  row->refused[verdict]);
}

static void put_table(struct writer *writer, struct json_object *report, const char *key,
		      struct blame_table *table, unsigned long rows)
{
	struct json_object *array = put_array(writer, report, key), *object;

	blame_sort(table);
	for (size_t i = 0; i < table->count && i < rows; i++) {
		const struct blame_row *row = &table->rows[i];

		object = append(writer, array);
		put_text(writer, object, "what", row->what);
		put_count(writer, object, "calls", row->calls);
		put_count(writer, object, "made", row->made);
		put_count(writer, object, "gone", row->gone);
		put_count(writer, object, "splits", row->splits);
		put_count(writer, object, "merges", row->merges);
		put_refused(writer, object, row);
	}
}

static void put_owners(struct writer *writer, struct json_object *report,
		       const struct blame_space *space, unsigned long rows)
{
	struct json_object *array = put_array(writer, report, "owners"), *object;

	for (size_t i = 0; i < space->owner_count && i < rows; i++) {
		object = append(writer, array);
		put_text(writer, object, "what", space->owners[i].what);
		put_count(writer, object, "areas", space->owners[i].areas);
		put_count(writer, object, "bytes", space->owners[i].bytes);
	}
}

static void put_group(struct writer *writer, struct json_object *object,
		      const struct neighbours_group *group)
{
	char flags[256] = "";

	if (group->differ)
		vma_flags_text(group->differ, flags, sizeof(flags));
	flags[strcspn(flags, "\n")] = '\0';
	for (size_t end = strlen(flags); end > 0 && flags[end - 1] == ' ';)
		flags[--end] = '\0';
	put_text(writer, object, "left", group->left);
	put_text(writer, object, "right", group->right);
	put_count(writer, object, "borders", group->borders);
	put_text(writer, object, "why", vma_verdict_text(group->verdict));
	put_text(writer, object, "flags", flags);
	put_bool(writer, object, "one_file", group->one_file);
	put_word(writer, object, "example", group->example);
	put_text(writer, object, "advice", neighbours_advice(group));
}

static void put_neighbours(struct writer *writer, struct json_object *report,
			   const struct neighbours *found, unsigned long rows)
{
	struct json_object *array = put_array(writer, report, "neighbours"), *object;

	for (size_t i = 0; i < found->count && i < rows; i++)
		put_group(writer, append(writer, array), &found->groups[i]);
	array = put_array(writer, report, "runs");
	for (size_t i = 0; i < found->run_count && i < rows; i++) {
		const struct neighbours_run *run = &found->runs[i];

		object = append(writer, array);
		put_word(writer, object, "start", run->start);
		put_word(writer, object, "end", run->end);
		put_count(writer, object, "areas", run->areas);
		put_text(writer, object, "first", run->first);
		put_text(writer, object, "second", run->second);
	}
}

/* ---- the report ----------------------------------------------------------------------------- */

static struct json_object *begin(struct writer *writer, const char *of, const char *command,
				 pid_t pid, unsigned long areas)
{
	struct json_object *report = json_object_new_object();

	put_text(writer, report, "type", "vmscope explain");
	put_count(writer, report, "version", EXPLAIN_JSON_VERSION);
	put_text(writer, report, "of", of);
	put_count(writer, report, "pid", (unsigned long)pid);
	put_text(writer, report, "command", command);
	put_count(writer, report, "areas", areas);
	return report;
}

static int finish(FILE *to, struct writer *writer, struct json_object *report)
{
	const char *text = NULL;

	if (!writer->failed)
		text = json_object_to_json_string_ext(report, JSON_C_TO_STRING_PRETTY |
						      JSON_C_TO_STRING_SPACED |
						      JSON_C_TO_STRING_NOSLASHESCAPE);
	if (text)
		fprintf(to, "%s\n", text);
	json_object_put(report);
	return text ? 0 : -ENOMEM;
}

int explain_json_space(FILE *to, struct blame_space *space, unsigned long spaces,
		       const struct explain_view *view)
{
	struct writer writer = { false };
	struct json_object *report = begin(&writer, "log", space->command, space->pid,
					   space->areas);

	put_count(&writer, report, "areas_peak", space->peak);
	put_seconds(&writer, report, "peak_time", space->peak_time);
	put_count(&writer, report, "calls", space->calls);
	put_count(&writer, report, "space", space->id);
	put_count(&writer, report, "spaces", spaces);
	put_bool(&writer, report, "ended", space->ended);
	put_bool(&writer, report, "incomplete", space->incomplete);
	put_bool(&writer, report, "differs", space->differs);
	put_count(&writer, report, "partial", view->read);
	put_count(&writer, report, "events_lost", view->gaps.events);
	put_limit(&writer, report, space->areas, space->limit, view->limit_assumed);
	put_growth(&writer, report, space);
	put_course(&writer, report, &space->course);
	put_table(&writer, report, "by_call", &space->calls_by_kind, view->rows);
	put_table(&writer, report, "by_thread", &space->threads, view->rows);
	put_owners(&writer, report, space, view->rows);
	put_neighbours(&writer, report, &space->neighbours, view->rows);
	return finish(to, &writer, report);
}

int explain_json_process(FILE *to, const char *command, pid_t pid, unsigned long limit,
			 const struct blame_space *blame, const struct explain_view *view)
{
	struct writer writer = { false };
	struct json_object *report = begin(&writer, "process", command, pid, blame->areas);

	put_limit(&writer, report, blame->areas, limit, false);
	put_owners(&writer, report, blame, view->rows);
	put_neighbours(&writer, report, &blame->neighbours, view->rows);
	return finish(to, &writer, report);
}
