/* SPDX-License-Identifier: MIT */
/* A log in the formats of other programs, written as it is read. */
#ifndef VMSCOPE_REPORT_EXPORT_H
#define VMSCOPE_REPORT_EXPORT_H

#include <stdio.h>

#include "replay/replay_state.h"

enum export_weight {
	EXPORT_AREAS,			/* areas that a call has added */
	EXPORT_CALLS
};

/* One thing that happened to an address space. */
struct export_event {
	enum replay_event kind;
	const struct replay_space *space;
	const struct step *step;	/* NULL: the log has ended */
	const struct vmspace_request *req;	/* REPLAY_CALL_PERFORMED */
	uint64_t ns;			/* since the log began; without times: 1000 times the line */
	pid_t pid, tid;
	unsigned long areas;		/* now */
	long change;			/* how many more that is than before */
};

struct export;

/* A format. Members may be NULL. */
struct export_format {
	const char *name;
	void (*begin)(struct export *export);
	void (*event)(struct export *export, const struct export_event *event);
	void (*finish)(struct export *export);
};

struct export {
	const struct export_format *format;
	FILE *to;
	enum export_weight weight;	/* folded */
	uint64_t ns;			/* of the last event */
	bool untimed;			/* an event had no time */
	bool any;			/* events were written; for the format */
	struct maple_tree named;	/* of the format: threads and processes that were named */
	struct maple_tree rows;		/* folded: hash -> first struct folded_row with it */
	unsigned long row_count, others;	/* others: calls that had no row any more */
	bool failed;			/* memory has run out */
};

/* The format of this name; NULL: there is none. */
const struct export_format *export_find(const char *name);

void export_begin(struct export *export, const struct export_format *format, FILE *to);

/* A listener for replay_state_new(); its ctx is a struct export. */
void export_notify(void *ctx, enum replay_event event, struct replay_space *space,
		   const struct step *step, const struct vmspace_request *req, const char *why);

/* Writes what comes last, and frees what @export points to. */
void export_finish(struct export *export);

/* ---- for the formats ------------------------------------------------------------------------ */

extern const struct export_format export_chrome, export_csv, export_folded, export_perfetto;

/* A detail of an event: a text, or a number if @text is NULL. */
struct export_detail {
	const char *key;
	const char *text;
	int64_t number;
};

enum { EXPORT_DETAILS = 10 };

/* The details of an event, with the texts that they point to. */
struct export_details {
	struct export_detail list[EXPORT_DETAILS];
	unsigned int count;
	char request[512], result[32], not_merged[512];
};

void export_details(const struct export_event *event, struct export_details *details);

/* "mmap"; "fork" for an address space that begins as a copy, "areas" for what was seen later. */
const char *export_name(const struct export_event *event);

/* How many events of a kind the call has. */
unsigned int export_count(const struct export_event *event, enum vmspace_event_kind kind);

/* Why areas were not merged, as "different file, different flags"; "" if there is nothing. */
void export_not_merged(const struct export_event *event, char *buf, size_t size);

/*
 * Whether @id, a thread or process, was not given that name yet; remembers it. Names are told by
 * their hash.
 */
bool export_is_new(struct export *export, unsigned long id, const char *name);

#endif
