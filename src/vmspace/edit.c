/* SPDX-License-Identifier: MIT */
/* edit.c - splits, merges, inserts and removes areas; keeps tree, areas and counters consistent. */
#include <assert.h>
#include <errno.h>

#include "accounting.h"
#include "change.h"
#include "decide.h"
#include "edit.h"
#include "inherited.h"
#include "merge.h"
#include "outcome.h"
#include "store.h"
#include "sync.h"
#include "words.h"

/*
 * For assertions after each change, O(log areas): vma is valid, the tree holds it over all of its
 * range, and it may be changed (or nothing must be locked).
 */
static __attribute__((unused)) bool area_valid(struct vmspace *space, const struct vma *vma)
{
	MA_STATE(mas, &space->tree, vma->start, vma->start);

	return vma_is_valid(vma, space->config.page_size) &&
	       vma->end <= space->config.task_size &&
	       vma->end - vma->start <= space->largest_area && mas_walk(&mas) == vma &&
	       mas.index == vma->start && mas.last == vma->end - 1 &&
	       sync_write_locked(space, vma);
}

bool edit_valid(struct vmspace *space, const struct vma *vma)
{
	return (!vma || area_valid(space, vma)) && account_valid(space);
}

static uint64_t pages_between(const struct vmspace *space, unsigned long from, unsigned long to)
{
	return space_pages(space, to - from);
}

bool edit_may_be_split(struct vmspace *space, const struct vma *vma, unsigned long at)
{
	assert(vma->start < at && at < vma->end);
	return vma_may_be_cut(vma, at, space->config.pmd_size) ||
	       (vma_is_kernels(vma) && !rule_decides(space, RULE_SPECIAL_WHOLE));
}

int edit_check_split(struct vmspace *space, const struct vma *vma, unsigned long at)
{
	if (edit_may_be_split(space, vma, at))
		return 0;
	return (int)outcome_fail(space, -EINVAL, "the area cannot be cut there");
}

int edit_check_cuts(struct vmspace *space, const struct vma *vma, unsigned long start,
		    unsigned long end)
{
	int err = start > vma->start ? edit_check_split(space, vma, start) : 0;

	return !err && end < vma->end ? edit_check_split(space, vma, end) : err;
}

int edit_split_unchecked(struct vmspace *space, struct vma *vma, unsigned long at)
{
	int err = edit_check_split(space, vma, at);
	struct vma *upper, *lower;
	uint64_t word;

	if (err)
		return err;
	upper = shown_new(space, vma);
	if (!upper)
		return (int)outcome_no_memory(space);
	lower = change_begin(space, vma);
	upper->start = at;
	upper->pgoff += pages_between(space, vma->start, at);
	err = lower ? words_secure(space, 1) : -ENOMEM;
	if (!err) {
		words_split(space, vma->start, at, vma->end, vma->word, &word, &upper->word);
		err = store_area(space, at, vma->end, upper);
	}
	if (err) {
		if (lower)
			change_cancel(space, vma, lower);
		vma_free(&space->vmas, upper);
		return -ENOMEM;
	}
	outcome_event(space, VMSPACE_EVENT_SPLIT, vma->start, vma->end, at);
	lower->end = at;
	lower->word = word;
	account_area(space, upper, 1);
	change_end(space, vma, lower);
	assert(area_valid(space, lower) && edit_valid(space, upper));
	return 0;
}

int edit_split(struct vmspace *space, struct vma *vma, unsigned long at)
{
	if (space->areas >= space->config.max_map_count)
		return (int)outcome_fail(space, -ENOMEM,
					 "max_map_count areas: no room for a split");
	return edit_split_unchecked(space, vma, at);
}

void edit_span_init(struct edit_span *span, struct vmspace *space, unsigned long start,
		    unsigned long end)
{
	assert(start < end);
	span->space = space;
	span->vma = NULL;
	span->from = span->to = start;
	span->hole = false;
	span->end = end;
	span->changes = ~(vma_flags_t)0;
	span->alone = false;
	span->by_uffd = false;
	mas_init(&span->mas, &space->tree, start);
}

/*
 * The first area of the span. Most spans have no other, so the cursor is not needed: if there is an
 * area at the very beginning, it stays behind that, and walks if more is asked for.
 */
static struct vma *first_of(struct edit_span *span)
{
	struct vma *vma = find_held(span->space, span->to);

	if (!vma)
		return find_from(&span->mas, span->end - 1);
	span->space->recent = vma;
	if (vma->end < span->end)
		mas_set(&span->mas, vma->end);
	return vma;
}

static struct vma *next_of(struct edit_span *span)
{
	return span->mas.status == ma_start ? find_from(&span->mas, span->end - 1)
					    : mas_find(&span->mas, span->end - 1);
}

bool edit_next(struct edit_span *span)
{
	unsigned long behind = span->to;
	struct vma *vma = NULL;

	if (span->to < span->end)
		vma = span->vma ? next_of(span) : first_of(span);
	span->vma = vma;
	if (!vma) {
		span->hole = behind < span->end;
		return false;
	}
	span->from = vma->start > behind ? vma->start : behind;
	span->to = vma->end < span->end ? vma->end : span->end;
	span->hole = span->from > behind;
	return true;
}

struct edit_attrs edit_attrs_of(const struct vma *vma)
{
	return (struct edit_attrs){ .flags = vma->flags, .name = vma->name, .policy = vma->policy,
				   .word = vma->word, .tags = vma->tags };
}

/* `keep` absorbs `gone`: take over its anon_vma and sticky flags. */
static void absorb(const struct vmspace *space, struct vma *keep, const struct vma *gone)
{
	uint64_t anon_id = shown_anon_id(space, gone);

	keep->flags |= gone->flags & VMA_STICKY_FLAGS;
	keep->may_have_anon |= gone->may_have_anon;
	if (keep->anon_id || !anon_id)
		return;
	keep->anon_id = anon_id;
	keep->anon_shared = shown_anon_shared(space, gone);
}

void edit_free_area(struct vmspace *space, struct vma *vma)
{
	assert(sync_write_locked(space, vma));
	account_area(space, vma, -1);
	past_retire(space, vma);
}

/*
 * Extend *keep to [start, end), with the word, and let it absorb `middle` and `right` (NULL: none).
 * *keep is then the area that covers it.
 */
static int extend(struct vmspace *space, struct vma **keep, unsigned long start, unsigned long end,
		  const struct vma *middle, const struct vma *right, uint64_t word)
{
	struct vma *vma = *keep, *changed = change_begin(space, vma);
	bool copied = changed != vma;

	assert(start <= vma->start && vma->end <= end);
	if (!changed)
		return -ENOMEM;
	/* A copy is complete when it gets into the tree. The area itself changes if it got there. */
	if (!copied && store_area(space, start, end, vma))
		return -ENOMEM;
	changed->pgoff -= pages_between(space, start, vma->start);
	changed->start = start;
	changed->end = end;
	changed->word = word;
	if (middle)
		absorb(space, changed, middle);
	if (right)
		absorb(space, changed, right);
	if (!copied)
		return 0;
	if (store_area(space, start, end, changed)) {
		change_drop(space, changed);
		return -ENOMEM;
	}
	change_stored(space, vma);
	*keep = changed;
	return 0;
}

/* What is left of `old` when [middle->start, middle->end), an end of it or all, went elsewhere. */
static void cut_off(struct vmspace *space, struct vma *old, struct vma *rest,
		    const struct vma *middle)
{
	if (!rest) {
		edit_free_area(space, old);
		return;
	}
	if (old->start == middle->start) {
		rest->pgoff += pages_between(space, old->start, middle->end);
		rest->start = middle->end;
	} else {
		rest->end = middle->start;
	}
	change_end(space, old, rest);
}

/*
 * The word of what do_merge() makes, as the hooks say who are told of its steps: what is not merged
 * is split off `old`, and keeps the word *rest; the other part gets the word of `middle`; it is merged
 * with the left, and with the right.
 */
static uint64_t merged_word(const struct vmspace *space, const struct merge *merge,
			    const struct vma *middle, const struct vma *old, uint64_t *rest)
{
	const struct vma *left = merge->left, *right = merge->right;
	unsigned long from = middle->start, to = middle->end;
	uint64_t word = old ? old->word : middle->word;

	if (old && old->start < from)
		words_split(space, old->start, from, old->end, old->word, rest, &word);
	else if (old && to < old->end)
		words_split(space, old->start, to, old->end, old->word, &word, rest);
	if (old && middle->word != old->word)
		word = words_set(space, from, to, word, middle->word);
	if (left && !merge->grows)
		word = words_merge(space, left->start, from, to, left->word, word,
				   merge->to_left.word);
	if (left)
		from = left->start;
	if (right)
		word = words_merge(space, from, to, right->end, word, right->word,
				   merge->to_right.word);
	return word;
}

/*
 * Merge [middle->start, middle->end) as `merge` says. That is free, or an end (or all) of the area
 * `old`. *kept: the area that it is part of then.
 */
static int do_merge(struct vmspace *space, const struct merge *merge, const struct vma *middle,
		    struct vma *old, struct vma **kept)
{
	struct vma *keep = merge->left ? merge->left : merge->right, *rest = NULL;
	struct vma *right = merge->left ? merge->right : NULL;
	unsigned long start = merge->left ? merge->left->start : middle->start;
	unsigned long end = merge->right ? merge->right->end : middle->end;
	uint64_t word, rest_word = old ? old->word : 0;

	if (change_secure(space, 2) || words_secure(space, 1))
		return -ENOMEM;
	sync_write_lock(space, keep);
	if (right)
		sync_write_lock(space, right);
	if (old)
		sync_write_lock(space, old);
	if (old && (old->start != middle->start || old->end != middle->end))
		rest = change_begin(space, old);
	word = merged_word(space, merge, middle, old, &rest_word);
	if (extend(space, &keep, start, end, middle, right, word)) {
		if (rest)
			change_cancel(space, old, rest);
		return -ENOMEM;
	}
	decide_report(space, merge);
	if (merge->left)
		outcome_merge_event(space, VMA_MERGED, start, end, middle->start, 0);
	if (merge->right)
		outcome_merge_event(space, VMA_MERGED, start, end, middle->end, 0);
	if (right)
		edit_free_area(space, right);
	if (rest)
		rest->word = rest_word;
	if (old)
		cut_off(space, old, rest, middle);
	*kept = keep;
	assert(area_valid(space, keep));
	return 0;
}

/* `vma` becomes what `want` says; nobody else looks at it. */
static void take_attrs(struct vma *vma, const struct edit_attrs *want)
{
	struct anon_name *old = vma->name;
	struct policy *old_policy = vma->policy;

	vma->flags = want->flags;
	vma->tags = want->tags;
	/* Rarely do these change, and with them counts of references. */
	if (old != want->name) {
		vma->name = anon_name_get(want->name);
		anon_name_put(old);
	}
	if (old_policy != want->policy) {
		vma->policy = policy_get(want->policy);
		policy_put(old_policy);
	}
	if (vma_takes_anon(vma->flags))
		vma->may_have_anon = true;
}

/* `old`: its word before the call. If it gets another, hooks are told that. */
static int set_attrs(struct vmspace *space, struct vma *vma, const struct edit_attrs *want,
		     uint64_t old)
{
	struct vma *changed = change_begin(space, vma);
	vma_flags_t flags = vma->flags;

	if (!changed)
		return -ENOMEM;
	if (want->word != old)
		changed->word = words_set(space, vma->start, vma->end, vma->word, want->word);
	take_attrs(changed, want);
	change_end(space, vma, changed);
	account_area_flags(space, changed, flags);
	return 0;
}

/* The areas adjacent to the span's present one, or NULL. */
static struct vma *left_of(const struct edit_span *span)
{
	unsigned long start = span->vma->start;

	return start ? find_held(span->space, start - 1) : NULL;
}

static struct vma *right_of(const struct edit_span *span)
{
	return find_held(span->space, span->vma->end);
}

int edit_replace_middle(struct vmspace *space, struct vma *vma, unsigned long start,
			unsigned long end, struct vma *what)
{
	struct vma *upper = shown_new(space, vma), *lower;
	uint64_t low, middle;
	int err;

	assert(vma->start < start && start < end && end < vma->end);
	if (!upper)
		return (int)outcome_no_memory(space);
	lower = change_begin(space, vma);
	upper->start = end;
	upper->pgoff += pages_between(space, vma->start, end);
	err = lower ? words_secure(space, 1) : -ENOMEM;
	if (!err) {
		words_split(space, vma->start, start, vma->end, vma->word, &low, &middle);
		words_split(space, start, end, vma->end, middle, &middle, &upper->word);
		if (what)
			what->word = middle;
		else
			words_drop(space, start, end, middle);
		err = store_area(space, start, end, what);
	}
	if (err) {
		if (lower)
			change_cancel(space, vma, lower);
		vma_free(&space->vmas, upper);
		return -ENOMEM;
	}
	err = store_area(space, end, vma->end, upper);
	assert(!err); /* it replaces the rest of vma, which has exactly this range */
	(void)err;
	outcome_event(space, VMSPACE_EVENT_SPLIT, vma->start, vma->end, start);
	outcome_event(space, VMSPACE_EVENT_SPLIT, start, vma->end, end);
	lower->end = start;
	lower->word = low;
	account_area(space, upper, 1);
	change_end(space, vma, lower);
	assert(area_valid(space, lower) && area_valid(space, upper));
	return 0;
}

/* Both splits with two stores, of which only the first can fail. */
static int split_both_ends(const struct edit_span *span, struct vma **vma)
{
	struct vma *middle = shown_new(span->space, *vma);

	if (!middle)
		return (int)outcome_no_memory(span->space);
	middle->start = span->from;
	middle->end = span->to;
	middle->pgoff += pages_between(span->space, (*vma)->start, span->from);
	if (edit_replace_middle(span->space, *vma, span->from, span->to, middle)) {
		vma_free(&span->space->vmas, middle);
		return -ENOMEM;
	}
	account_area(span->space, middle, 1);
	*vma = middle;
	return 0;
}

/*
 * Split the area so that the span's part is an area of its own, *vma. If only the first of two
 * splits is possible (max_map_count, huge pages), that one is made, as in Linux.
 */
static int isolate(const struct edit_span *span, struct vma **vma)
{
	struct vmspace *space = span->space;
	bool low = span->from > (*vma)->start, high = span->to < (*vma)->end;
	int err;

	if (low && high && space->areas + 1 < space->config.max_map_count &&
	    !edit_check_cuts(space, *vma, span->from, span->to))
		return split_both_ends(span, vma);
	if (low) {
		err = edit_split(space, *vma, span->from);
		if (err)
			return err;
		*vma = find_at(space, span->from);
	}
	err = high ? edit_split(space, *vma, span->to) : 0;
	if (!err && high)
		*vma = find_at(space, span->from);
	return err;
}

/* The area that the span's present part, if it reaches so far, may be merged with above it. */
static struct vma *merge_right_of(const struct edit_span *span)
{
	struct vma *right = span->to == span->vma->end ? right_of(span) : NULL;

	if (right && span->by_uffd && span->from > span->vma->start &&
	    !rule_decides(span->space, RULE_UFFD_MERGES_UP))
		return NULL;
	return right;
}

static int change_alone(struct edit_span *span, const struct edit_attrs *want)
{
	struct vma *vma = span->vma;
	uint64_t word = vma->word;
	int err = change_secure(span->space, 4);

	if (!err)
		err = isolate(span, &vma);
	if (!err)
		err = set_attrs(span->space, vma, want, word);
	if (err)
		return err;
	outcome_event(span->space, VMSPACE_EVENT_CHANGE, span->from, span->to, 0);
	return 0;
}

void edit_count(struct vmspace *space, unsigned long start, unsigned long end,
		vma_flags_t changes, unsigned long *stores, unsigned long *areas)
{
	unsigned long from = start ? start - 1 : 0;
	MA_STATE(mas, &space->tree, from, from);
	const struct vma *left = mas_find(&mas, end), *right;

	/*
	 * A split at either end, and a merge wherever two areas may become one. Where areas are
	 * copied to be changed, a copy of each, which takes no node.
	 */
	*stores += 2;
	*areas += 2;
	for (; left && (right = mas_find(&mas, end)); left = right) {
		*stores += merge_conceivable(left, right, space->config.page_size, changes);
		*areas += !past_is_private(space);
	}
}

/* Out of line: most calls change one area. */
static __attribute__((noinline)) int reserve_span(const struct edit_span *span)
{
	struct vmspace *space = span->space;
	unsigned long stores = 0, areas = 0;

	edit_count(space, span->from, span->end, span->changes, &stores, &areas);
	return store_reserve_call(space, stores, areas);
}

/* The span's present part, as it is going to be: an area that is in no tree. */
static void fill_changed(const struct edit_span *span, const struct edit_attrs *want,
			 struct vma *changed)
{
	const struct vma *vma = span->vma;

	shown_fill(span->space, changed, vma);
	changed->start = span->from;
	changed->end = span->to;
	changed->pgoff += pages_between(span->space, vma->start, span->from);
	changed->flags = want->flags;
	changed->name = want->name;
	changed->policy = want->policy;
	changed->word = want->word;
	changed->tags = want->tags;
	if (vma_takes_anon(changed->flags))
		changed->may_have_anon = true;
}

/* With which areas beside it the part is merged. *changed is filled if there are any at all. */
static void decide_change(const struct edit_span *span, const struct edit_attrs *want,
			  struct merge *merge, struct vma *changed)
{
	struct vma *left = span->from == span->vma->start ? left_of(span) : NULL;
	struct vma *right = merge_right_of(span);

	if (!left && !right)
		return;
	fill_changed(span, want, changed);
	decide(span->space, merge, changed, left, right, NULL);
}

int edit_change(struct edit_span *span, const struct edit_attrs *want)
{
	struct vmspace *space = span->space;
	struct vma *vma = span->vma, middle;
	bool first = span->from == vma->start, last = span->to == vma->end;
	unsigned long pages = pages_between(space, span->from, span->to);
	vma_flags_t old_flags = vma->flags, kept = want->flags;
	struct merge merge;
	int err;

	assert(vma->start <= span->from && span->from < span->to && span->to <= vma->end);
	assert(!((old_flags ^ want->flags) & ~span->changes));
	decide_init(&merge);
	if (span->to < span->end && !space->reserve.covers_call && reserve_span(span))
		return -ENOMEM;
	if (vma->tags.pkey != want->tags.pkey)
		kept &= ~VMA_ACCESS_FLAGS; /* the new key may deny all of it */
	if (!span->alone && (!(first && last) || !backing_has_close(vma->backing)))
		decide_change(span, want, &merge, &middle);
	if (merge.left || merge.right)
		err = do_merge(space, &merge, &middle, vma, &vma);
	else
		err = change_alone(span, want);
	if (!err && !merge.left && !merge.right)
		decide_report(space, &merge);
	/* Unless the area was changed as a whole, the cursor is stale. */
	if (merge.left || merge.right || !first || !last)
		mas_set(&span->mas, span->to);
	if (err)
		return err;
	account_change(space, old_flags, want->flags, pages);
	if (space->pages && old_flags & ~kept & VMA_ACCESS_FLAGS)
		pages_protect(space->pages, span->from, span->to, old_flags, kept);
	assert(edit_valid(space, find_at(space, span->from)));
	return 0;
}

int edit_insert(struct vmspace *space, const struct vma *proto, const struct hole *hole,
		struct vma **out)
{
	struct merge merge;
	struct vma *vma;

	assert(vma_is_valid(proto, space->config.page_size));
	assert(!find_at(space, proto->start) && !find_at(space, proto->end - 1));
	decide_init(&merge);
	if (hole) {
		assert(hole->start == proto->start && hole->end == proto->end);
		vma = hole->next && hole->next->start == proto->end ? hole->next : NULL;
		decide(space, &merge, proto, hole->left, vma, hole);
	}
	if (merge.left || merge.right) {
		if (do_merge(space, &merge, proto, NULL, &vma))
			return -ENOMEM;
	} else {
		vma = shown_new(space, proto);
		if (!vma)
			return (int)outcome_no_memory(space);
		if (store_area(space, vma->start, vma->end, vma)) {
			vma_free(&space->vmas, vma);
			return -ENOMEM;
		}
		decide_report(space, &merge);
		account_area(space, vma, 1);
	}
	account_pages(space, proto->flags, pages_between(space, proto->start, proto->end), 1);
	outcome_event(space, VMSPACE_EVENT_MAP, proto->start, proto->end, 0);
	assert(edit_valid(space, vma));
	if (out)
		*out = vma;
	return 0;
}

int edit_grow_up(struct vmspace *space, struct vma *vma, unsigned long end, bool merge_right)
{
	struct vma middle, *right = merge_right ? find_at(space, end) : NULL;
	struct merge merge;
	struct refusal *to_right = &merge.to_right;
	unsigned long old_end = vma->end;
	vma_flags_t flags = vma->flags;
	int err;

	assert(end > old_end && !find_at(space, old_end));
	decide_init(&merge);
	shown_fill(space, &middle, vma);
	middle.start = old_end;
	middle.end = end;
	middle.pgoff += pages_between(space, vma->start, old_end);
	merge.left = vma;
	merge.grows = true;
	if (right) {
		/* Linux does not check whether the growing area's own anon_vma was inherited. */
		middle.anon_id = shown_anon_id(space, vma);
		middle.anon_shared = false;
		*to_right = (struct refusal){ .start = old_end, .at = end, .end = right->end };
		decide_beside(space, to_right, &middle, right, false);
		if (to_right->verdict == VMA_MERGED && backing_has_close(right->backing))
			to_right->verdict = VMA_SPECIAL;
		if (to_right->verdict == VMA_MERGED)
			merge.right = right;
	}
	if (merge.right) {
		err = do_merge(space, &merge, &middle, NULL, &vma);
	} else {
		err = extend(space, &vma, vma->start, end, NULL, NULL, vma->word);
		if (!err) {
			decide_report(space, &merge);
			outcome_event(space, VMSPACE_EVENT_GROW, vma->start, end, old_end);
		}
	}
	if (err)
		return err;
	account_pages(space, flags, pages_between(space, old_end, end), 1);
	assert(edit_valid(space, vma));
	return 0;
}

int edit_grow_down(struct vmspace *space, struct vma *vma, unsigned long start)
{
	unsigned long old = vma->start;
	int err;

	assert(start < old && !find_at(space, start) && !find_at(space, old - 1));
	err = extend(space, &vma, start, vma->end, NULL, NULL, vma->word);
	if (err)
		return err;
	account_pages(space, vma->flags, pages_between(space, start, old), 1);
	outcome_event(space, VMSPACE_EVENT_GROW, start, vma->end, old);
	assert(edit_valid(space, vma));
	return 0;
}

long edit_each(struct vmspace *space, unsigned long start, unsigned long end,
	       vma_flags_t changes, long (*part)(struct edit_span *span, void *arg), void *arg)
{
	struct edit_span span;
	bool hole = false;
	long err;

	edit_span_init(&span, space, start, end);
	span.changes = changes;
	while (edit_next(&span)) {
		hole |= span.hole;
		err = part(&span, arg);
		if (err)
			return err;
	}
	return hole || span.hole ? -ENOMEM : 0;
}
