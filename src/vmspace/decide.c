/* SPDX-License-Identifier: MIT */
/* decide.c - merges as Linux decides them, and as the user's words let them be. */
#include "decide.h"
#include "inherited.h"
#include "merge.h"
#include "outcome.h"
#include "words.h"

static void report(struct vmspace *space, const struct refusal *refusal)
{
	if (refusal->verdict != VMA_MERGED && refusal->verdict != VMA_MERGE_NONE)
		outcome_merge_event(space, refusal->verdict, refusal->start, refusal->end,
				    refusal->at, refusal->differ);
}

void decide_report(struct vmspace *space, const struct merge *merge)
{
	report(space, &merge->to_left);
	report(space, &merge->to_right);
}

/* Without words. */
static enum vma_verdict linux_beside(struct vmspace *space, const struct vma *changed,
				     const struct vma *beside, bool comes, vma_flags_t *differ)
{
	const struct vmspace_config *c = &space->config;
	bool below = beside->end == changed->start;
	enum vma_verdict verdict;
	struct vma room[2];

	changed = shown_as(space, changed, &room[0]);
	beside = shown_as(space, beside, &room[1]);
	verdict = merge_verdict(below ? beside : changed, below ? changed : beside, c->page_size,
				differ);

	if (verdict == VMA_MERGED && backing_has_close(changed->backing) &&
	    !rule_decides(space, RULE_SEGMENTS_MERGE))
		return VMA_SPECIAL;
	if (!changed->anon_id || beside->anon_id)
		return verdict;
	if (verdict == VMA_MERGED && !rule_decides(space, RULE_ANON_VMA_TAKEN))
		return VMA_ANON_VMA_NOT_TAKEN;
	if (verdict == VMA_ANON_VMA_SHARED && comes &&
	    rule_decides(space, RULE_MOVE_JOINS_INHERITED))
		return VMA_MERGED;
	return verdict;
}

void decide_beside(struct vmspace *space, struct refusal *refusal, const struct vma *changed,
		   const struct vma *beside, bool comes)
{
	bool below = beside->end == changed->start;

	refusal->verdict = linux_beside(space, changed, beside, comes, &refusal->differ);
	if (refusal->verdict == VMA_MERGED)
		refusal->verdict = words_verdict(space, below ? beside : changed,
						 below ? changed : beside, &refusal->word);
}

/* Can what the lower two of three areas become, with their word, be merged with the third? */
static enum vma_verdict words_across(const struct vmspace *space, const struct merge *merge,
				     const struct vma *middle, const struct vma *left,
				     const struct vma *right, uint64_t *word)
{
	struct vma low;

	if (!space->words)
		return VMA_MERGED; /* the words are equal */
	shown_fill(space, &low, left);
	low.end = middle->end;
	low.word = merge->to_left.word;
	return words_verdict(space, &low, right, word);
}

/* Can two of three adjacent areas, which both merge with the one between them, be merged? */
static enum vma_verdict verdict_across(const struct vmspace *space, struct merge *merge,
				       const struct vma *middle, const struct vma *left,
				       const struct vma *right)
{
	struct vma room[2];
	enum vma_verdict verdict = merge_anon_verdict(shown_as(space, left, &room[0]),
						      shown_as(space, right, &room[1]));
	uint64_t word = merge->to_right.word;

	if (verdict == VMA_MERGED && backing_has_close(right->backing))
		return VMA_SPECIAL;
	if (verdict != VMA_MERGED)
		return verdict;
	verdict = words_across(space, merge, middle, left, right, &word);
	if (verdict == VMA_MERGED)
		merge->to_right.word = word;
	return verdict;
}

void decide(struct vmspace *space, struct merge *merge, const struct vma *middle, struct vma *left,
	    struct vma *right, const struct hole *hole)
{
	struct refusal *to_left = &merge->to_left, *to_right = &merge->to_right;
	enum vma_verdict across = VMA_MERGED;

	if (left) {
		to_left->start = left->start;
		to_left->at = middle->start;
		to_left->end = middle->end;
		decide_beside(space, to_left, middle, left, hole);
	}
	if (right) {
		to_right->start = middle->start;
		to_right->at = right->start;
		to_right->end = right->end;
		decide_beside(space, to_right, middle, right, hole);
	}
	if (to_left->verdict == VMA_MERGED && to_right->verdict == VMA_MERGED)
		across = verdict_across(space, merge, middle, left, right);
	if (across != VMA_MERGED && hole && hole->by_mmap &&
	    rule_decides(space, RULE_MMAP_UPPER_FIRST))
		to_left->verdict = across;
	else if (across != VMA_MERGED)
		to_right->verdict = across;
	if (to_left->verdict == VMA_MERGED)
		merge->left = left;
	if (to_right->verdict == VMA_MERGED)
		merge->right = right;
}
