/* SPDX-License-Identifier: MIT */
/*
 * batch.c - read a whole leaf for a loop that is going to visit it. Compiled for each instruction
 * set, as descend.c is.
 *
 * Every word of the leaf is read once, between two loads of its version. So all words belong to one
 * state of the leaf: the one before or the one after the single word that may have been stored
 * meanwhile. Slots that cover nothing are left out, since a search never reaches them either.
 */
#include "search.h"
#include "variants.h"
#include "walk.h"

#ifdef MT_ISA
unsigned long VARIANT(batch_find)(unsigned long *batch, unsigned long left, unsigned long prev_last,
				  struct ma_state *mas, unsigned long max);
#else
#define batch_find mas_batch_find
#endif

static_assert(WIDE_SLOTS <= MAS_BATCH_SLOTS, "a batch takes a whole leaf");

/*
 * read_leaf - read a leaf that covers [@min, @max] into @batch. Returns a bit for each slot to be
 * visited.
 */
#if defined(SEARCH_VECTORS) && defined(__AVX512F__)

/* Reads half a leaf. Returns a bit for each of its slots to be visited. */
static inline __mmask8 read_half(unsigned long *batch, unsigned int at, __m512i last,
				 __m512i before, __m512i slot)
{
	__m512i below = _mm512_alignr_epi64(last, before, 7);

	_mm512_store_si512(&batch[MAS_BATCH_LAST + at], last);
	_mm512_store_si512(&batch[MAS_BATCH_ENTRY + at], slot);
	return _mm512_mask_cmpneq_epu64_mask(_mm512_test_epi64_mask(slot, slot), below, last);
}

static inline unsigned long read_leaf(unsigned long *batch, struct mt_node *leaf, unsigned long min,
				      unsigned long max)
{
	__m512i before = _mm512_set1_epi64((long long)(min - 1));
	__m512i end = _mm512_set1_epi64((long long)max);
	__m512i low = _mm512_min_epu64(_mm512_load_si512(&leaf->pivot[0]), end);
	__m512i high = _mm512_mask_min_epu64(end, 0x7f, _mm512_load_si512(leaf->bytes + 64), end);
	__mmask8 left, left_high;

	left = read_half(batch, 0, low, before, _mm512_load_si512(&leaf->wide.slot[0]));
	left_high = read_half(batch, 8, high, low, _mm512_load_si512(&leaf->wide.slot[8]));
	batch[MAS_BATCH_LAST - 1] = min - 1;
	return _mm512_kunpackb(left_high, left);
}

#elif defined(SEARCH_VECTORS)

/*
 * Reads four slots. Returns a bit for each to be visited. *@before holds the pivot before the first
 * one, in its last lane, and receives the four pivots.
 */
static inline unsigned long read_4(unsigned long *batch, const struct mt_node *leaf,
				   unsigned int at, __m256i end, __m256i *before)
{
	__m256i sign = _mm256_set1_epi64x(LLONG_MIN);
	__m256i pivot = _mm256_load_si256((const __m256i *)&leaf->bytes[8 * at]);
	__m256i slot = _mm256_load_si256((const __m256i *)&leaf->wide.slot[at]);
	__m256i above = _mm256_cmpgt_epi64(_mm256_xor_si256(pivot, sign),
					   _mm256_xor_si256(end, sign));
	__m256i last, below, out;

	if (at == WIDE_SLOTS - 4) /* the last slot has no pivot */
		above = _mm256_or_si256(above, _mm256_set_epi64x(-1, 0, 0, 0));
	last = _mm256_blendv_epi8(pivot, end, above);
	below = _mm256_permute4x64_epi64(_mm256_blend_epi32(last, *before, 0xc0), 0x93);
	out = _mm256_or_si256(_mm256_cmpeq_epi64(slot, _mm256_setzero_si256()),
			      _mm256_cmpeq_epi64(below, last));
	_mm256_store_si256((__m256i *)&batch[MAS_BATCH_LAST + at], last);
	_mm256_store_si256((__m256i *)&batch[MAS_BATCH_ENTRY + at], slot);
	*before = last;
	return (~(unsigned int)_mm256_movemask_pd(_mm256_castsi256_pd(out)) & 0xf) << at;
}

static inline unsigned long read_leaf(unsigned long *batch, struct mt_node *leaf, unsigned long min,
				      unsigned long max)
{
	__m256i before = _mm256_set1_epi64x((long long)(min - 1));
	__m256i end = _mm256_set1_epi64x((long long)max);
	unsigned long left;

	left = read_4(batch, leaf, 0, end, &before);
	left |= read_4(batch, leaf, 4, end, &before);
	left |= read_4(batch, leaf, 8, end, &before);
	left |= read_4(batch, leaf, 12, end, &before);
	batch[MAS_BATCH_LAST - 1] = min - 1;
	return left;
}

#else

static inline unsigned long read_leaf(unsigned long *batch, struct mt_node *leaf, unsigned long min,
				      unsigned long max)
{
	unsigned long left = 0;
	unsigned int i;

	batch[MAS_BATCH_LAST - 1] = min - 1;
	for (i = 0; i < WIDE_SLOTS; i++) {
		unsigned long last = slot_last(leaf, KIND_LEAF, i, max);
		void *entry = slot_load(leaf, KIND_LEAF, i);

		left |= (unsigned long)((entry != NULL) & (last != batch[MAS_BATCH_LAST + i - 1]))
			<< i;
		batch[MAS_BATCH_LAST + i] = last;
		batch[MAS_BATCH_ENTRY + i] = (unsigned long)entry;
	}
	return left;
}

#endif

/* The slot that a loop visits next. */
static inline unsigned int next_slot(unsigned long left)
{
	return (unsigned int)__builtin_ctzl(left);
}

/*
 * Reads the next leaf into the batch. Returns 0, without moving the cursor, if the cursor cannot
 * simply step to that leaf, or if nothing is left below the limit.
 */
static inline unsigned long read_next_leaf(unsigned long *batch, struct ma_state *mas,
					   unsigned long max)
{
	struct neighbour next;
	struct mt_node *leaf;
	unsigned long version, left;

	if (UNLIKELY(mas->max >= max) || UNLIKELY(!walk_find_next_leaf(mas, &next)))
		return 0;
	WORK(BATCH_READ);
	leaf = node_of(next.enode, KIND_LEAF);
	version = leaf_version(leaf);
	if (UNLIKELY(version & META_UNSETTLED) && (version & META_WRITING || watches_leaf(mas)))
		return 0;
	left = read_leaf(batch, leaf, next.min, next.max);
	if (UNLIKELY(!left) || UNLIKELY(!leaf_unchanged(leaf, version)))
		return 0;
	if (UNLIKELY(next.max > max) && batch[MAS_BATCH_LAST + next_slot(left) - 1] >= max)
		return 0;
	walk_enter(mas, &next, version);
	mas->batch = batch;
	if (UNLIKELY(walk_up_is_due(mas)))
		walk_ahead_up(mas, NULL);
	return left;
}

/*
 * Reads the cursor's leaf and returns the slots after the cursor, if the leaf is still as the
 * cursor knows it.
 */
static unsigned long read_this_leaf(unsigned long *batch, struct ma_state *mas)
{
	unsigned long left = 0;

	WORK(BATCH_READ);
	if (watch_holds(mas))
		left = read_leaf(batch, node_of(mas->node, KIND_LEAF), mas->min, mas->max);
	return left && watch_held(mas) && (left >> mas->offset & 1) &&
			       batch[MAS_BATCH_LAST + mas->offset - 1] == mas->index - 1 &&
			       batch[MAS_BATCH_LAST + mas->offset] == mas->last
		       ? left & ~0ul << mas->offset
		       : 0;
}

/*
 * After a body has stored or moved the cursor it will probably do so again: the number of steps
 * that are then made one by one.
 */
#define STEPS_ONE_BY_ONE 8

/*
 * Makes one step by mas_find(). Then, unless the body @disturbs the batch, reads the rest of the
 * leaf.
 */
static __attribute__((noinline)) unsigned long find(unsigned long *batch, bool disturbs,
						    struct ma_state *mas, unsigned long max)
{
	void *entry = mas_find(mas, max);
	unsigned long left = 0;

	mas->batch = NULL;
	if (!entry)
		return 0;
	if (disturbs)
		batch[MAS_BATCH_REST] = STEPS_ONE_BY_ONE;
	else if (batch[MAS_BATCH_REST])
		batch[MAS_BATCH_REST]--;
	else if (mas->status == ma_active)
		left = read_this_leaf(batch, mas);
	if (left) {
		mas->batch = batch;
		return left;
	}
	batch[MAS_BATCH_LAST + mas->offset - 1] = mas->index - 1;
	batch[MAS_BATCH_LAST + mas->offset] = mas->last;
	batch[MAS_BATCH_ENTRY + mas->offset] = (unsigned long)entry;
	return 1ul << mas->offset;
}

unsigned long VARIANT(batch_find)(unsigned long *batch, unsigned long left, unsigned long prev_last,
				  struct ma_state *mas, unsigned long max)
{
	bool disturbed = left;

	if (LIKELY(!left) && LIKELY(mas->batch == batch) && LIKELY(mas->status == ma_active) &&
	    LIKELY(mas->last == prev_last)) {
		left = read_next_leaf(batch, mas, max);
		if (LIKELY(left))
			return left;
	}
	return find(batch, disturbed, mas, max);
}
