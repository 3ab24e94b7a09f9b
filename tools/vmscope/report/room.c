/* SPDX-License-Identifier: MIT */
/* How near a process is to vm.max_map_count, and when it will be there. */
#include "report/room.h"

const struct room_refusal room_refusals[ROOM_REFUSALS] = {
	{ -5, "mremap() to a given address or with MREMAP_DONTUNMAP" },
	{ -3, "any mremap() that moves" },
	{ -1, "calls on the middle of an area (mprotect, mlock, madvise ...)" },
	{ 0, "those on one end of it, and munmap() or mmap(MAP_FIXED) in its middle" },
	{ 1, "mmap() and brk()" },
};

bool room_is_refused(const struct room_refusal *refusal, unsigned long areas, unsigned long limit)
{
	return (long)areas >= (long)limit + refusal->from;
}

unsigned long room_left(unsigned long areas, unsigned long limit)
{
	return areas > limit ? 0 : limit + 1 - areas;
}

bool room_growth(const struct blame_space *space, struct room_growth *growth)
{
	const unsigned long left = room_left(space->areas, space->limit);

	if (space->ended || !course_growth(&space->course, &growth->seconds, &growth->gained))
		return false;
	growth->rate = (double)growth->gained / growth->seconds;
	growth->left = growth->gained > 0 && left > 0 ? (double)left / growth->rate : -1;
	return true;
}
