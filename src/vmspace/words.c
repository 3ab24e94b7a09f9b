/* SPDX-License-Identifier: MIT */
/* words.c - the user's words of areas, and the user's hooks about them. */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "info.h"
#include "outcome.h"
#include "sync.h"
#include "words.h"

enum vma_verdict words_ask(const struct vmspace *space, const struct vma *low,
			   const struct vma *high, uint64_t *word)
{
	const struct vmspace_word_hooks *hooks = space->words;
	struct vma_info lower, upper;

	*word = low->word;
	if (!hooks->can_merge)
		return low->word == high->word ? VMA_MERGED : VMA_KEPT_APART;
	info_fill(space, low, &lower);
	info_fill(space, high, &upper);
	return hooks->can_merge(hooks->ctx, space, &lower, &upper, word) ? VMA_MERGED
									   : VMA_KEPT_APART;
}

static void tell(const struct vmspace *space, struct vmspace_word_change *change)
{
	space->words->change(space->words->ctx, space, change);
}

void words_split(const struct vmspace *space, unsigned long start, unsigned long at,
		 unsigned long end, uint64_t word, uint64_t *low, uint64_t *high)
{
	struct vmspace_word_change change = {
		.kind = VMSPACE_WORD_SPLIT, .start = start, .at = at, .end = end,
		.low = word, .high = word, .word = word,
	};

	if (words_told(space))
		tell(space, &change);
	*low = change.low;
	*high = change.high;
}

uint64_t words_merge(const struct vmspace *space, unsigned long start, unsigned long at,
		     unsigned long end, uint64_t low, uint64_t high, uint64_t named)
{
	struct vmspace_word_change change = {
		.kind = VMSPACE_WORD_MERGE, .start = start, .at = at, .end = end,
		.low = low, .high = high, .word = named,
	};

	if (!words_told(space))
		return named;
	/* A hook may have changed it since the areas were compared. */
	if (!space->words->can_merge)
		change.word = low;
	tell(space, &change);
	return change.word;
}

uint64_t words_set(const struct vmspace *space, unsigned long start, unsigned long end, uint64_t old,
		   uint64_t word)
{
	struct vmspace_word_change change = {
		.kind = VMSPACE_WORD_SET, .start = start, .end = end, .low = old, .word = word,
	};

	if (words_told(space))
		tell(space, &change);
	return change.word;
}

void words_drop(const struct vmspace *space, unsigned long start, unsigned long end, uint64_t word)
{
	struct vmspace_word_change change = {
		.kind = VMSPACE_WORD_DROP, .start = start, .end = end, .word = word,
	};

	if (words_told(space))
		tell(space, &change);
}

void words_move(const struct vmspace *space, struct vma *proto, unsigned long at)
{
	struct vmspace_word_change change = {
		.kind = VMSPACE_WORD_MOVE, .start = proto->start, .at = at, .end = proto->end,
		.low = proto->word, .word = proto->word,
	};

	if (!words_told(space))
		return;
	assert(space->reserve.guaranteed);
	tell(space, &change);
	proto->word = change.word;
}

void words_drop_all(const struct vmspace *space)
{
	MA_STATE(mas, (struct maple_tree *)&space->tree, 0, 0);
	const struct vma *vma;

	if (!words_told(space))
		return;
	mas_for_each(&mas, vma, ULONG_MAX)
		words_drop(space, vma->start, vma->end, vma->word);
}

static struct vmspace_word_hooks *copy_of(const struct vmspace_word_hooks *hooks)
{
	struct vmspace_word_hooks *copy = calloc(1, sizeof(*copy));

	if (copy)
		memcpy(copy, hooks, hooks->size);
	return copy;
}

int words_inherit(struct vmspace *child, const struct vmspace *parent, bool clone)
{
	if (!parent->words)
		return 0;
	child->words = copy_of(parent->words);
	if (child->words && clone)
		child->words->change = NULL;
	return child->words ? 0 : -ENOMEM;
}

void words_fork(const struct vmspace *parent, struct vmspace *child)
{
	MA_STATE(mas, &child->tree, 0, 0);
	struct vma *vma;

	if (!words_told(parent))
		return;
	/* Nobody else knows of the child. */
	mas_for_each(&mas, vma, ULONG_MAX) {
		struct vmspace_word_change change = {
			.kind = VMSPACE_WORD_FORK, .start = vma->start, .end = vma->end,
			.low = vma->word, .word = vma->word, .child = child,
		};

		tell(parent, &change);
		vma->word = change.word;
	}
}

int vmspace_set_word_hooks(struct vmspace *space, const struct vmspace_word_hooks *hooks)
{
	struct vmspace_word_hooks *copy = NULL;

	if (space_is_snapshot(space))
		return -EROFS;
	if (hooks && (!hooks->size || hooks->size > sizeof(*hooks)))
		return -EINVAL;
	if (hooks) {
		copy = copy_of(hooks);
		if (!copy)
			return -ENOMEM;
	}
	sync_enter(space);
	free(space->words);
	space->words = copy;
	sync_leave(space);
	return 0;
}
