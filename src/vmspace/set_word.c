/* SPDX-License-Identifier: MIT */
/* set_word.c - vmspace_set_word(): the words of areas that are there. */
#include <errno.h>

#include "edit.h"
#include "past.h"
#include "sync.h"
#include "words.h"

static long set_part(struct edit_span *span, void *arg)
{
	struct edit_attrs want = edit_attrs_of(span->vma);
	const uint64_t *word = arg;

	if (want.word == *word)
		return 0;
	want.word = *word;
	return edit_change(span, &want);
}

long vmspace_set_word(struct vmspace *space, unsigned long addr, unsigned long length, uint64_t word)
{
	unsigned long bytes = space_ceil(space, length);
	long err = 0;

	if (space_is_snapshot(space))
		return -EROFS;
	if (!space_aligned(space, addr) || (length && !bytes) || addr + bytes < addr)
		return -EINVAL;
	if (!bytes)
		return 0;
	sync_enter(space);
	if (!past_is_private(space))
		err = store_reserve(space, STORE_STEPS, STORE_STEPS);
	if (!err)
		err = edit_each(space, addr, addr + bytes, 0, set_part, &word);
	store_end_call(space);
	past_poll(space);
	sync_leave(space);
	return err;
}
