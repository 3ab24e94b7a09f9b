/* SPDX-License-Identifier: MIT */
/* Scripts of "vmscope check" as logs, for replay, explain, draw and "check --replay". */
#include "check/script_log.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/session.h"
#include "log/codec.h"
#include "log/hash.h"
#include "log/log.h"
#include "log/log_space.h"
#include "replay/reader.h"

/* ---- writing -------------------------------------------------------------------------------- */

static void add(struct json_object *object, const char *key, struct json_object *value)
{
	json_object_object_add(object, key, value);
}

static struct log_who who_of(const struct family *family, unsigned int who)
{
	const struct pair *pair = family->members[who];

	return (struct log_who){ .pid = pair->puppet.pid, .tid = pair->puppet.pid,
				 .space = who + 1 };
}

/* Writes what only "vmscope check --replay" needs to know. */
static void write_mode(struct session *session, const struct pair_mode *mode)
{
	struct json_object *detail = json_object_new_object();

	add(detail, "way", json_object_new_string(pair_way_name(mode->way)));
	add(detail, "bottom_up", json_object_new_boolean(mode->bottom_up));
	add(detail, "read_implies_exec", json_object_new_boolean(mode->read_implies_exec));
	add(detail, "aslr", json_object_new_boolean(mode->aslr));
	log_event(session, "check", NULL, detail);
}

static void write_call(struct session *session, const struct family *family, unsigned int who,
		       unsigned long number)
{
	const struct pair *pair = family->members[who];
	const struct log_who log_who = who_of(family, who);
	struct vmspace_request req = pair->last;
	struct json_object *detail = json_object_new_object();
	char text[512];

	vmspace_request_text(&req, text, sizeof(text));
	add(detail, "n", json_object_new_uint64(number));
	add(detail, "call", json_object_new_string(vmspace_op_name(req.op)));
	add(detail, "args", json_object_new_array());
	add(detail, "result", encode_result(pair->kernel_result));
	add(detail, "request", json_object_new_string(text));
	/* A mirror does not get faults: it asks the kernel what they have done. */
	if (req.op != VMSPACE_FAULT || pair->mode.way != PAIR_ASKED) {
		/*
		 * A difference that only pages explain: a replay has no pages, so it gets
		 * libvmspace's result.
		 */
		req.host.valid = true;
		req.host.result = pair->excused ? req.out.result : pair->kernel_result;
		add(detail, "do", log_request(&req, pair->kernel_result));
	} else {
		add(detail, "touch", encode_request(&req));
	}
	answers_move_to(family->answers, detail);
	log_event(session, "call", &log_who, detail);
}

/* Writes the hash of the kernel's areas, with which a replay compares libvmspace's. */
static void write_end(struct session *session, const struct family *family, unsigned int who)
{
	struct pair *pair = family->members[who];
	const struct log_who log_who = who_of(family, who);
	struct json_object *detail = json_object_new_object();
	unsigned long areas = 0;

	pair->view.text_current = false;
	if (kernel_read_maps(&pair->view) == 0)
		for (const char *at = pair->view.text; *at; at = strchrnul(at, '\n') + 1)
			areas++;
	/* The vsyscall page is shown last, and is not an area. */
	if (areas && memmem(pair->view.text, pair->view.length, "[vsyscall]\n", 11))
		areas--;
	add(detail, "occasion", json_object_new_string("exit"));
	add(detail, "command", json_object_new_string("puppet"));
	add(detail, "areas", json_object_new_uint64(areas));
	add(detail, "maps", encode_word(hash_bytes(HASH_INIT, pair->view.text, pair->view.length)));
	log_event(session, "end", &log_who, detail);
}

static void write_ends(struct session *session, const struct family *family)
{
	for (unsigned int i = 0; i < family->created; i++)
		if (family->members[i])
			write_end(session, family, i);
}

static void write_step(struct session *session, const struct family *family,
		       const struct script_step *step, unsigned long number)
{
	struct log_who child, who;

	switch (step->verb) {
	case SCRIPT_CALL:
		write_call(session, family, step->who, number);
		break;
	case SCRIPT_FORK:
		child = who_of(family, step->child);
		log_space_forked(session, &child, step->who + 1, family->answers);
		break;
	case SCRIPT_SET:
		who = who_of(family, step->who);
		log_space_limits(session, &who, family->members[step->who]->space);
		break;
	case SCRIPT_EXIT:
		break;
	}
}

static enum family_result play_and_write(struct session *session, struct family *family,
					 struct script *script)
{
	enum family_result result = FAMILY_EQUAL;

	for (size_t i = 0; i < script->count && result == FAMILY_EQUAL; i++) {
		struct script_step *step = &script->steps[i];

		if (step->verb == SCRIPT_EXIT && step->who < FAMILY_MAX &&
		    family->members[step->who] && family->alive > 1)
			write_end(session, family, step->who);
		result = family_perform(family, step);
		if (result == FAMILY_EQUAL || result == FAMILY_DIFFERS)
			write_step(session, family, step, i + 1);
		if (result == FAMILY_SKIPPED)
			result = FAMILY_EQUAL;
	}
	return result;
}

enum family_result script_log_write(struct script *script, const char *path, char **argv)
{
	const struct options options = { .command = argv, .log_path = path };
	struct session session = { .options = &options };
	struct json_object *record = json_object_new_object();
	enum family_result result = FAMILY_GONE;
	struct answers answers = { .asked = NULL };
	struct family family;
	struct log_who who;
	int rc = log_open(&session.log, path, &options);

	if (rc != 0) {
		session_say("cannot write the log %s: %s", path, strerror(-rc));
		json_object_put(record);
		return FAMILY_GONE;
	}
	write_mode(&session, &script->mode);
	if (family_start(&family, &script->mode, record) == 0) {
		generator_init(&family.generator, 1, mix_nth(0), family.members[0]);
		family.answers = &answers;
		who = who_of(&family, 0);
		log_space_begins(&session, &who, family.members[0]->space, false, record);
		result = play_and_write(&session, &family, script);
		if (result != FAMILY_GONE)
			write_ends(&session, &family);
	}
	family_end(&family);
	answers_clear(&answers);
	log_close(&session);
	return !session.log_lost && !session.failed ? result : FAMILY_GONE;
}

/* ---- reading -------------------------------------------------------------------------------- */

static bool is_set(struct json_object *object, const char *key)
{
	struct json_object *value;

	return json_object_object_get_ex(object, key, &value) && json_object_get_boolean(value);
}

/* Logs of older builds have "mirror" instead. */
static enum pair_way read_way(struct json_object *object)
{
	struct json_object *value;
	int way = is_set(object, "mirror") ? PAIR_ASKED : PAIR_PURE;

	if (json_object_object_get_ex(object, "way", &value))
		for (way = PAIR_WAYS - 1; way > 0; way--)
			if (!strcmp(json_object_get_string(value), pair_way_name((enum pair_way)way)))
				break;
	return (enum pair_way)way;
}

/* Reads the record "check", which is the second line. */
static bool read_mode(FILE *file, struct pair_mode *mode)
{
	char *line = NULL;
	size_t capacity = 0;
	bool found = false;
	int error;

	for (int i = 0; i < 2 && !found && getline(&line, &capacity, file) > 0; i++) {
		struct json_object *object = json_tokener_parse(line), *type;

		found = json_object_object_get_ex(object, "type", &type) &&
			strcmp(json_object_get_string(type), "check") == 0;
		mode->way = found ? read_way(object) : PAIR_PURE;
		mode->bottom_up = found && is_set(object, "bottom_up");
		mode->read_implies_exec = found && is_set(object, "read_implies_exec");
		mode->aslr = found && is_set(object, "aslr");
		json_object_put(object);
	}
	error = ferror(file) ? errno : 0;
	free(line);
	rewind(file);
	errno = error;
	return found;
}

/* Copies *@name into the script's memory. False: out of memory. */
static bool own_name(struct script *script, const char **name)
{
	if (*name)
		*name = script_keep(script, *name, strlen(*name) + 1);
	else
		return true;
	return *name != NULL;
}

/*
 * Copies what the request points to into the script's memory. Files become those of the present
 * puppets.
 */
static bool own_strings(struct script *script, struct vmspace_request *req)
{
	struct vmspace_process_madvise *advise = &req->process_madvise;

	switch (req->op) {
	case VMSPACE_MMAP:
		if (req->mmap.backing.file_id == 0 || req->mmap.backing.file_id > PUPPET_FILE_COUNT)
			return own_name(script, &req->mmap.backing.name);
		req->mmap.backing =
			*pair_backing((enum puppet_file)(req->mmap.backing.file_id - 1));
		return true;
	case VMSPACE_SHMAT:
		return own_name(script, &req->shmat.backing.name);
	case VMSPACE_SET_ANON_NAME:
		return own_name(script, &req->set_anon_name.name);
	case VMSPACE_PROCESS_MADVISE:
		if (!advise->count)
			return true;
		advise->ranges = script_keep(script, advise->ranges,
					     advise->count * sizeof(*advise->ranges));
		return advise->ranges != NULL;
	default:
		return true;
	}
}

static bool append_step(struct script *script, const struct step *from)
{
	struct script_step step = { .who = from->space - 1 };

	switch (from->kind) {
	case STEP_CALL:
		if (!from->request)
			return true;
		step.req = *from->request;
		step.req.host.valid = false;
		return own_strings(script, &step.req) && script_add(script, &step);
	case STEP_COPY:
		step.verb = SCRIPT_FORK;
		step.who = from->from - 1;
		step.child = from->space - 1;
		return script_add(script, &step);
	case STEP_LIMITS:
		step.verb = SCRIPT_SET;
		step.settings = settings_of(&from->config);
		return script_add(script, &step);
	case STEP_END:
		/* The end of the last process ends the log, too; playing the script skips it. */
		step.verb = SCRIPT_EXIT;
		return script_add(script, &step);
	default:
		return true;
	}
}

static bool read_steps(struct script *script, struct reader *reader, const char *path)
{
	const struct step *step;

	for (;;) {
		switch (reader_next(reader, &step)) {
		case READER_END:
			return true;
		case READER_STEP:
			if (append_step(script, step))
				break;
			session_say("out of memory");
			return false;
		case READER_MALFORMED:
		case READER_FAILED:
			session_say("%s:%lu: %s", path, reader_line(reader), reader_why(reader));
			return false;
		}
	}
}

bool script_log_read(struct script *script, const char *path)
{
	FILE *file = fopen(path, "re");
	struct reader *reader;
	bool good = false;

	*script = (struct script){ .steps = NULL };
	if (!file) {
		session_say("cannot read %s: %s", path, strerror(errno));
		return false;
	}
	if (!read_mode(file, &script->mode)) {
		if (errno)
			session_say("cannot read %s: %s", path, strerror(errno));
		else
			session_say("%s is not a log of 'vmscope check'", path);
		fclose(file);
		return false;
	}
	reader = reader_open(file);
	if (reader)
		good = read_steps(script, reader, path);
	reader_close(reader);
	fclose(file);
	return good;
}
