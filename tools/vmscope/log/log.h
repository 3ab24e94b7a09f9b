/* SPDX-License-Identifier: MIT */
/* Writing the log of a run: one JSON object a line, as docs/log-format.md describes. */
#ifndef VMSCOPE_LOG_LOG_H
#define VMSCOPE_LOG_LOG_H

#include <json-c/json.h>
#include <mapletree/vmspace.h>
#include <sys/types.h>

#include "base/call.h"
#include "base/session.h"
#include "log/answers.h"

/* Readers check the version; a new revision only adds keys and records. */
enum { LOG_VERSION = 1, LOG_REVISION = 5 };

struct log;

/* The thread and the address space that a record is about. */
struct log_who {
	pid_t pid, tid;
	unsigned int space;	/* 0: none */
};

/*
 * Opens @path ("-": standard output) and writes the first record. Returns 0 or -errno. If the
 * session has no log, the functions below do nothing. If a write fails, they say so, the log ends
 * with the last whole line that could be written, and the session has none from then on: see
 * session->log_lost. Nothing else comes to harm by it.
 */
int log_open(struct log **log, const char *path, const struct options *options);

/* What is logged from now on happened at @ns of CLOCK_MONOTONIC; 0: when it is logged. */
void log_set_time(struct session *session, uint64_t ns);

/* Writes what is in memory, for those who read it meanwhile. */
void log_flush(struct session *session);

/* Writes what is left of it, and closes it. */
void log_close(struct session *session);

/*
 * An event of a process or thread: "exec", "fork", "thread", "exit" ... Consumes @detail, which may
 * be NULL.
 */
void log_event(struct session *session, const char *type, const struct log_who *who,
	       struct json_object *detail);

/* So many events were lost: what is logged from now on does not follow from what was before. */
void log_gap(struct session *session, unsigned long events);

/* Whether a call has changed the kernel's maps. */
enum log_change { LOG_UNKNOWN, LOG_SAME, LOG_CHANGED };

/* A mirrored call and its effects. */
struct log_call {
	const struct call *call;
	const struct vmspace_request *req;	/* NULL if it is not modelled */
	unsigned int guesses;			/* that were kept: bits 1u << enum guess_kind */
	enum log_change change;
	const char *injected;			/* what --inject did to it, or NULL */
	struct json_object *extra;		/* more keys, consumed; or NULL */
};

void log_call(struct session *session, const struct log_who *who, const struct log_call *what);

/*
 * @req for a replay: its arguments, and the kernel's result if that is not @result. The caller owns
 * the object.
 */
struct json_object *log_request(const struct vmspace_request *req, int64_t result);

/* The names of the guesses in a set of bits 1u << enum guess_kind. The caller owns the array. */
struct json_object *log_guesses(unsigned int guesses);

/* A difference. @kernel and @mirror are the maps of both sides, or NULL. */
void log_difference(struct session *session, const struct log_who *who, const struct call *call,
		    const char *what, const char *kernel, const char *mirror);

/* The totals. The caller owns the object. */
struct json_object *log_summary_object(const struct totals *totals, int status);

#endif
