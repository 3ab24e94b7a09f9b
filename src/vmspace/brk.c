/* SPDX-License-Identifier: MIT */
/* brk.c - the program break: an anonymous area that grows and shrinks at its end. */
#include <errno.h>

#include "accounting.h"
#include "commit.h"
#include "edit.h"
#include "find.h"
#include "ops.h"
#include "outcome.h"
#include "words.h"

static bool data_limit_allows(const struct vmspace *space, unsigned long brk)
{
	const struct vmspace_image *i = &space->image;
	unsigned long limit = space->config.rlimit_data;

	return limit == VMSPACE_NO_LIMIT ||
	       brk - i->start_brk + (i->end_data - i->start_data) <= limit;
}

static long grow(struct vmspace *space, unsigned long from, unsigned long to, uint64_t word)
{
	struct vma proto = { .start = from, .end = to, .may_have_anon = true, .word = word };
	unsigned long guard = space->config.page_size;
	struct hole hole;
	bool may_merge;
	long err;

	proto.pgoff = space_pages(space, from);
	proto.flags = VMA_READ | VMA_WRITE | VMA_MAYREAD | VMA_MAYWRITE | VMA_MAYEXEC |
		      VMA_ACCOUNT | space->default_flags;
	if (space->config.read_implies_exec)
		proto.flags |= VMA_EXEC;
	if (to > space->config.task_size)
		return -ENOMEM;
	if (!find_hole(space, from, to, &hole) ||
	    (hole.next && find_guarded_start(space, hole.next) < to + guard))
		return outcome_fail(space, -ENOMEM, "another area is in the way");
	if (!account_may_lock(space, proto.flags, space_pages(space, to - from))) {
		err = outcome_limit(space, -EAGAIN, "RLIMIT_MEMLOCK reached");
		if (err)
			return err;
	}
	if (!account_may_expand(space, proto.flags, space_pages(space, to - from))) {
		err = outcome_limit(space, -ENOMEM, "RLIMIT_AS or RLIMIT_DATA reached");
		if (err)
			return err;
	}
	if (space->areas > space->config.max_map_count)
		return outcome_fail(space, -ENOMEM, "more areas than max_map_count");
	err = commit_check(space, space_pages(space, to - from));
	if (err)
		return err;
	if ((proto.flags & VMA_LOCK_FLAGS) == VMA_LOCKED)
		err = lock_reserve(space, &proto, proto.flags, from, to, 0, true);
	if (err < 0)
		return err;
	/* But for old versions Linux looks no further down than start_brk: the bss is never grown. */
	may_merge = hole.left && (hole.left->end > space->image.start_brk ||
				  rule_decides(space, RULE_BRK_GROWS_BSS));
	err = edit_insert(space, &proto, may_merge ? &hole : NULL, NULL);
	if (!err && (proto.flags & VMA_LOCK_FLAGS) == VMA_LOCKED)
		lock_populate(space, from, to);
	return err;
}

long brk_call(struct vmspace *space, struct vmspace_request *req)
{
	struct vmspace_image *image = &space->image;
	unsigned long wanted = req->brk.brk, from, to, before = space->total_vm;

	/* After an attach the exact break is not known; the first answer tells. */
	if (req->host.valid && req->host.result > 0 && wanted < image->start_brk &&
	    (unsigned long)req->host.result >= image->start_brk &&
	    space_ceil(space, (unsigned long)req->host.result) == space_ceil(space, image->brk))
		image->brk = (unsigned long)req->host.result;
	if (wanted < image->start_brk || !data_limit_allows(space, wanted))
		return (long)image->brk;
	from = space_ceil(space, image->brk);
	to = space_ceil(space, wanted);
	/* What is going to be refused is: a cut may stay. */
	if (req->host.valid && (unsigned long)req->host.result != wanted &&
	    (to >= from || !unmap_check(space, to, from))) {
		outcome_fail(space, 0, "refused by the host");
		return (long)image->brk;
	}
	if (to < wanted)
		return (long)image->brk;
	if (to < from) {
		/* Where there is nothing to unmap, the break stays, but for old versions. */
		if (unmap_range(space, to, from - to) ||
		    (space->total_vm == before && !rule_decides(space, RULE_BRK_OVER_HOLES)))
			return (long)image->brk;
	} else if (to > from && grow(space, from, to, words_of(space, req))) {
		return (long)image->brk;
	}
	image->brk = wanted;
	return (long)wanted;
}
