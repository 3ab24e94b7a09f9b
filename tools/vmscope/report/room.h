/* SPDX-License-Identifier: MIT */
/* How near a process is to vm.max_map_count, and when it will be there. */
#ifndef VMSCOPE_REPORT_ROOM_H
#define VMSCOPE_REPORT_ROOM_H

#include <stdbool.h>
#include <stddef.h>

#include "report/blame.h"

/*
 * What Linux refuses at which number of areas (libvmspace has the same rules, compared with the
 * kernel in tests/vmspace/oracle_limits.c): a call that makes an area looks whether there are more
 * than the limit before it does, so that there may be one more; a cut does not make it that many,
 * and the middle of an area takes two; and a move keeps room for the cuts that it may need. An end
 * that becomes one with its neighbour takes none, nor does munmap() of one. The error is ENOMEM, of
 * madvise() EAGAIN.
 */
struct room_refusal {
	long from;			/* beyond the limit */
	const char *what;
};

enum { ROOM_REFUSALS = 5 };
extern const struct room_refusal room_refusals[ROOM_REFUSALS];

/* Whether that is refused with so many areas; @refusal is one of the above. */
bool room_is_refused(const struct room_refusal *refusal, unsigned long areas, unsigned long limit);

/* How many more areas fit. */
unsigned long room_left(unsigned long areas, unsigned long limit);

/* How fast areas were gained in the second half of the log. */
struct room_growth {
	double seconds;			/* how long that was; > 0 */
	long gained;			/* areas; < 0: lost */
	double rate;			/* areas a second */
	double left;			/* seconds until no area fits, at that rate; < 0: never, or now */
};

/* False: it has ended, or the log does not tell times. */
bool room_growth(const struct blame_space *space, struct room_growth *growth);

#endif
