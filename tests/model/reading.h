/* SPDX-License-Identifier: MIT */
/*
 * reading.h - what a cursor must answer to each read, on the oracle's ranges.
 */
#ifndef MODEL_READING_H
#define MODEL_READING_H

#include "oracle.h"

enum read_kind {
	read_walk,
	read_find,
	read_find_range,
	read_find_rev,
	read_find_range_rev,
	read_next,
	read_next_range,
	read_prev,
	read_prev_range,
	read_kinds
};

/* Where a cursor stands: the members of struct ma_state that users see. */
struct oracle_cursor {
	unsigned long index;
	unsigned long last;
	enum maple_status status;
};

/*
 * The answer to one read. Index, last and status are promised only if known. @usable: the cursor
 * may be read again without being set, so everything is known then.
 */
struct reading {
	void *entry;
	unsigned long index;
	unsigned long last;
	enum maple_status status;
	bool place_known;
	bool status_known;
	bool usable;
};

/*
 * oracle_read - the answer of @kind with @limit from where @cursor stands. False if nothing is
 * promised for it: do not make that call.
 */
bool oracle_read(const struct oracle *oracle, const struct oracle_cursor *cursor,
		 enum read_kind kind, unsigned long limit, struct reading *reading);

const char *read_name(enum read_kind kind);

#endif
