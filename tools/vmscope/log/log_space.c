/* SPDX-License-Identifier: MIT */
/* The log's records about address spaces: how one begins, what was observed of it, how it ends. */
#include "log/log_space.h"

#include <assert.h>

#include "log/codec.h"
#include "log/hash.h"

void log_space_begins(struct session *session, const struct log_who *who, const struct vmspace *vm,
		      bool attach, struct json_object *detail)
{
	if (!session->log) {
		json_object_put(detail);
		return;
	}
	assert(who->space > 0 && detail);
	json_object_object_add(detail, "attach", json_object_new_boolean(attach));
	json_object_object_add(detail, "config", encode_config(vmspace_config(vm)));
	log_event(session, "space", who, detail);
}

void log_space_forked(struct session *session, const struct log_who *who, unsigned int from,
		      struct answers *answers)
{
	struct json_object *detail;

	if (!session->log)
		return;
	assert(who->space > 0 && from > 0 && from != who->space);
	detail = json_object_new_object();
	json_object_object_add(detail, "from", json_object_new_int((int)from));
	answers_move_to(answers, detail);
	log_event(session, "copy", who, detail);
}

void log_space_observed(struct session *session, const struct log_who *who, struct answers *answers)
{
	struct json_object *detail;

	if (!session->log)
		answers_clear(answers); /* it has been lost meanwhile */
	if (answers_empty(answers))
		return;
	detail = json_object_new_object();
	answers_move_to(answers, detail);
	log_event(session, "seen", who, detail);
}

void log_space_limits(struct session *session, const struct log_who *who, const struct vmspace *vm)
{
	struct json_object *detail;

	if (!session->log)
		return;
	detail = json_object_new_object();
	json_object_object_add(detail, "config", encode_config(vmspace_config(vm)));
	log_event(session, "limits", who, detail);
}

void log_space_ends(struct session *session, const struct log_who *who, const struct vmspace *vm,
		    const char *command, const char *occasion)
{
	struct json_object *detail;
	struct vmspace_stats stats;
	uint64_t hash;

	if (!session->log)
		return;
	if (hash_maps(vm, &hash) != 0) {
		session_fail(session, "out of memory");
		return;
	}
	vmspace_stats(vm, &stats);
	detail = json_object_new_object();
	json_object_object_add(detail, "occasion", json_object_new_string(occasion));
	json_object_object_add(detail, "command", json_object_new_string(command));
	json_object_object_add(detail, "areas", json_object_new_uint64(stats.areas));
	json_object_object_add(detail, "maps", encode_word(hash));
	log_event(session, "end", who, detail);
}
