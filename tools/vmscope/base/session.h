/* SPDX-License-Identifier: MIT */
/* What one run of "vmscope trace" knows: its options, where it writes, and what it has counted. */
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
	GUESS_KINDS
};

/* The key of a kind in the summary and in the log. */
const char *guess_name(enum guess_kind kind);

struct totals {
	unsigned long processes, threads;	/* seen; a process's first thread counts as one */
	unsigned long execs, forks;
	unsigned long calls;			/* mirrored; == sum of by_kind */
	unsigned long by_kind[CALL_KINDS];
	unsigned long checks;			/* comparisons of all areas with the kernel's maps */
	unsigned long flag_checks;		/* of these, also of flags and counters (smaps, status) */
	unsigned long differences;		/* reported */
	unsigned long stack_growths;		/* areas that page faults extended downwards */
	unsigned long renames;			/* mapped files that changed their path */
	unsigned long guesses[GUESS_KINDS];	/* calls for which another alternative was kept */
	unsigned long overlaps;			/* calls that were let in beside a blocked one */
	unsigned long lost;			/* calls cut off by the end of their thread */
	unsigned long unfollowed;		/* processes that could not be mirrored */
	unsigned long areas, areas_peak;	/* at the ends of processes together; most in one */
	unsigned long tree_nodes, tree_bytes;	/* of the mirror with most areas, at the end or exec */
	unsigned int tree_height;
	unsigned long merges, splits, questions;
};

struct session {
	const struct options *options;
	struct totals totals;
	struct log *log;	/* NULL: none */
	struct maps_file *maps_file;	/* NULL: none */
	bool failed;		/* vmscope cannot go on; the message is printed */
};

/* Prints "vmscope: ..." to standard error, one line, also with --quiet: for what is amiss. */
void session_say(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* The same, and marks the session as failed. */
void session_fail(struct session *session, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

#endif
