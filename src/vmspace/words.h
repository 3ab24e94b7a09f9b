/* SPDX-License-Identifier: MIT */
/*
 * words.h - the user's words of areas: whether they let two areas become one, and what the user's
 * hooks are told of steps that areas take.
 *
 * The hooks are called before a step, when it is certain: copies of areas have been made, and the
 * store into the tree is a guaranteed one (words_secure()). The words that they answer with get into
 * areas together with all else that the step changes, so readers without a lock never find others.
 */
#ifndef VMSPACE_WORDS_H
#define VMSPACE_WORDS_H

#include <mapletree/vmspace_words.h>

#include "store.h"

/* Are the hooks told of steps? */
static inline bool words_told(const struct vmspace *space)
{
	return __builtin_expect(space->words != NULL, 0) && space->words->change;
}

/* The word of the area that the request makes. Who does not use words need not set it. */
static inline uint64_t words_of(const struct vmspace *space, const struct vmspace_request *req)
{
	return space->words ? req->word : 0;
}

enum vma_verdict words_ask(const struct vmspace *space, const struct vma *low,
			   const struct vma *high, uint64_t *word);

/*
 * Linux would merge `low` and `high`. VMA_MERGED: so it is, and *word is the word of both together;
 * or VMA_KEPT_APART.
 */
static inline enum vma_verdict words_verdict(const struct vmspace *space, const struct vma *low,
					     const struct vma *high, uint64_t *word)
{
	if (__builtin_expect(space->words != NULL, 0))
		return words_ask(space, low, high, word);
	*word = low->word;
	return low->word == high->word ? VMA_MERGED : VMA_KEPT_APART;
}

/* Make the call's next `stores` stores certain, if hooks are told of them. 0 or -ENOMEM. */
static inline int words_secure(struct vmspace *space, unsigned long stores)
{
	if (!words_told(space) || space->reserve.guaranteed >= stores)
		return 0;
	return store_reserve(space, stores, 0);
}

/* What a step changes; each tells the hooks. Without hooks: the words as they would be. */
void words_split(const struct vmspace *space, unsigned long start, unsigned long at,
		 unsigned long end, uint64_t word, uint64_t *low, uint64_t *high);
/* `named`: by words_verdict(). Returns the word of both. */
uint64_t words_merge(const struct vmspace *space, unsigned long start, unsigned long at,
		     unsigned long end, uint64_t low, uint64_t high, uint64_t named);
/* The area `at`, with the word `old`, gets the word `word`. Returns the one it has to get. */
uint64_t words_set(const struct vmspace *space, unsigned long start, unsigned long end, uint64_t old,
		   uint64_t word);
void words_drop(const struct vmspace *space, unsigned long start, unsigned long end, uint64_t word);
/* *proto is about to be inserted, a copy of the area at `at`; all that takes is reserved. */
void words_move(const struct vmspace *space, struct vma *proto, unsigned long at);

/* All areas go. */
void words_drop_all(const struct vmspace *space);
/* The child, which has no areas yet, gets the hooks; a clone only can_merge(). 0 or -ENOMEM. */
int words_inherit(struct vmspace *child, const struct vmspace *parent, bool clone);
/* The child has all its areas. */
void words_fork(const struct vmspace *parent, struct vmspace *child);

#endif
