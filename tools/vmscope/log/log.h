/* SPDX-License-Identifier: MIT */
/* The log of a run: one JSON object a line, as docs/log-format.md describes. */
#ifndef VMSCOPE_LOG_LOG_H
#define VMSCOPE_LOG_LOG_H

#include <json-c/json.h>
#include <mapletree/vmspace.h>
#include <sys/types.h>

#include "base/call.h"
#include "base/session.h"
#include "log/answers.h"

/* A reader knows a log by its version; a revision only adds to it. */
enum { LOG_VERSION = 1, LOG_REVISION = 2 };

struct log;

/* Who a record is about. */
struct log_who {
	pid_t pid, tid;
	unsigned int space;	/* 0: none */
};

/*
 * Opens @path ("-": standard output) and writes the first record. Returns 0 or -errno.
 * All writers below take a NULL log and do nothing, and fail the session when a write fails.
 */
int log_open(struct log **log, const char *path, const struct options *options);

/* Writes out what is buffered and closes. Returns 0 or -errno of any write that failed. */
int log_close(struct log *log);

/* A process or thread event: "exec", "fork", "thread", "exit", "takeover" ... @detail may be NULL. */
void log_event(struct session *session, const char *type, const struct log_who *who,
	       struct json_object *detail);

/* Whether the kernel's maps are others than before a call. */
enum log_change { LOG_UNKNOWN, LOG_SAME, LOG_CHANGED };

/* A mirrored call with what it did. */
struct log_call {
	const struct call *call;
	const struct vmspace_request *req;	/* NULL if it is not modelled */
	unsigned int guesses;			/* alternatives kept: a set of 1u << enum guess_kind */
	enum log_change change;
	const char *injected;			/* NULL, or what was done to it on purpose */
	struct json_object *extra;		/* further keys, taken; or NULL */
};

void log_call(struct session *session, const struct log_who *who, const struct log_call *what);

/*
 * What a replay has to be told of @req, applied or not: its arguments, and what the kernel answered
 * if that is not @result. An object of the caller's.
 */
struct json_object *log_request(const struct vmspace_request *req, int64_t result);

/* The names of a set of 1u << enum guess_kind, an array of the caller's. */
struct json_object *log_guesses(unsigned int guesses);

/* A difference; @kernel and @mirror are both sides' maps, or NULL. */
void log_difference(struct session *session, const struct log_who *who, const struct call *call,
		    const char *what, const char *kernel, const char *mirror);

/* The totals as an object of the caller's. NULL: out of memory. */
struct json_object *log_summary_object(const struct totals *totals, int status);

#endif
