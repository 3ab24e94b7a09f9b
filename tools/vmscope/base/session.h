/* SPDX-License-Identifier: MIT */
/* One run of "vmscope trace": its options, its output files, its totals. */
#ifndef VMSCOPE_BASE_SESSION_H
#define VMSCOPE_BASE_SESSION_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/call.h"
#include "base/options.h"

struct log;
struct maps_file;

/* What an outside tracer cannot know about a call: see mirror/guess.h. */
enum guess_kind {
	GUESS_RACED,
	GUESS_LOST_PERFORMED,
	GUESS_ANON_JOINED,
	GUESS_ANON_PARTED,
	GUESS_ANON_EMPTIED,
	GUESS_ANON_INHERITED,
	GUESS_ANON_MOVED,
	GUESS_KINDS
};

/* The key of a kind in the summary and in the log. */
const char *guess_name(enum guess_kind kind);

struct totals {
	unsigned long processes, threads;	/* a first thread counts as a thread */
	unsigned long execs, forks;
	unsigned long calls;			/* mirrored; the sum of by_kind */
	unsigned long by_kind[CALL_KINDS];
	unsigned long checks;			/* comparisons with the kernel's areas */
	unsigned long whole_checks;		/* of these, of all areas: see mirror/verify.h */
	unsigned long flag_checks;		/* of these, also of smaps and status */
	unsigned long differences;		/* reported */
	unsigned long stack_growths;		/* stack areas that page faults have extended */
	unsigned long renames;			/* mapped files that were renamed or removed */
	unsigned long guesses[GUESS_KINDS];	/* calls explained by a guess */
	unsigned long copies;			/* of address spaces, made to try guesses */
	unsigned long overlaps;			/* calls that ran in parallel with a blocked one */
	unsigned long lost;			/* calls whose thread was killed inside */
	unsigned long unfollowed;		/* processes not mirrored to their end */
	unsigned long areas, areas_peak;	/* at exit, of all processes; maximum of one */
	unsigned long tree_nodes, tree_bytes;	/* of the largest mirror at an exit or exec */
	unsigned int tree_height;
	unsigned long merges, splits, questions;
	unsigned long rereads;			/* watch: areas read again, as not all was known */
	unsigned long events_lost;		/* watch: for which there was no room */
	unsigned long stacks_lost;		/* watch: calls whose stack is not known */
};

struct session {
	const struct options *options;
	struct totals totals;
	struct log *log;	/* NULL: none, or none any more */
	bool log_lost;		/* it could not be written to its end; the user has been told why */
	struct maps_file *maps_file;	/* NULL: none */
	bool failed;		/* vmscope cannot go on; the user has been told why */
};

/* Prints one line, "vmscope: ...", to standard error, even with --quiet: for problems. */
void session_say(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* The same, and marks the session as failed. */
void session_fail(struct session *session, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

#endif
