/* SPDX-License-Identifier: MIT */
/*
 * batch.c - read a whole leaf for a loop that is going to visit it, with a cursor or without.
 * Compiled for each instruction set, as descend.c is.
 *
 * Every word of the leaf is read once, between two loads of its version. So all words belong to one
 * state of the leaf: the one before or the one after the single word that may have been stored
 * meanwhile. Slots that cover nothing are left out, since a search never reaches them either.
 */
#include "finger.h"
#include "loop.h"
#include "rcu.h"
#include "search.h"
#include "variants.h"
#include "walk.h"

#ifdef MT_ISA
unsigned long VARIANT(batch_find)(unsigned long *batch, unsigned long left, unsigned long prev_last,
				  struct ma_state *mas, unsigned long max);
unsigned long VARIANT(batch_find_rev)(unsigned long *batch, unsigned long left,
				      unsigned long prev_index, struct ma_state *mas,
				      unsigned long min);
unsigned long VARIANT(loop_find)(unsigned long *batch, unsigned long left, struct maple_tree *mt,
				 unsigned long index, unsigned long max);
#else
#define loop_find      mt_loop_find
#define batch_find     mas_batch_find
#define batch_find_rev mas_batch_find_rev
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

enum direction { UP, DOWN };

/* The slot that a loop visits next. */
static ALWAYS_INLINE unsigned long next_slot(unsigned long left, enum direction direction)
{
	return direction == UP ? (unsigned long)__builtin_ctzl(left) : MAS_BATCH_HIGHEST(left);
}

/* Whether what a loop visits next lies outside of what it visits. */
static ALWAYS_INLINE bool is_beyond(const unsigned long *batch, unsigned long left,
				    unsigned long limit, enum direction direction)
{
	const unsigned long *last = &batch[MAS_BATCH_LAST + next_slot(left, direction)];

	return direction == UP ? *(last - 1) >= limit : *last < limit;
}

/*
 * Reads the next leaf into the batch. Returns 0, without moving the cursor, if the cursor cannot
 * simply step to that leaf, or if nothing is left below (above) the limit.
 */
static ALWAYS_INLINE unsigned long read_next_leaf(unsigned long *batch, struct ma_state *mas,
						  unsigned long limit, enum direction direction)
{
	bool up = direction == UP;
	struct neighbour next;
	struct mt_node *leaf;
	unsigned long version, left;

	if (UNLIKELY(up ? mas->max >= limit : mas->min <= limit) ||
	    UNLIKELY(!(up ? walk_find_next_leaf(mas, &next) : walk_find_prev_leaf(mas, &next))))
		return 0;
	WORK(BATCH_READ);
	leaf = node_of(next.enode, KIND_LEAF);
	version = leaf_version(leaf);
	if (UNLIKELY(version & META_UNSETTLED) && (version & META_WRITING || watches_leaf(mas)))
		return 0;
	left = read_leaf(batch, leaf, next.min, next.max);
	if (UNLIKELY(!left) || UNLIKELY(!leaf_unchanged(leaf, version)))
		return 0;
	if (UNLIKELY(up ? next.max > limit : next.min < limit) &&
	    is_beyond(batch, left, limit, direction))
		return 0;
	walk_enter(mas, &next, version);
	mas->batch = batch;
	if (up && UNLIKELY(walk_up_is_due(mas)))
		walk_ahead_up(mas, NULL);
	if (!up && UNLIKELY(walk_down_is_due(mas)))
		walk_ahead_down(mas, NULL);
	return left;
}

/*
 * Reads the cursor's leaf and returns the cursor's slot and those after it in the direction, if the
 * leaf is still as the cursor knows it.
 */
static ALWAYS_INLINE unsigned long read_this_leaf(unsigned long *batch, struct ma_state *mas,
						  enum direction direction)
{
	unsigned long left = 0;

	WORK(BATCH_READ);
	if (watch_holds(mas))
		left = read_leaf(batch, node_of(mas->node, KIND_LEAF), mas->min, mas->max);
	return left && watch_held(mas) && (left >> mas->offset & 1) &&
			       batch[MAS_BATCH_LAST + mas->offset - 1] == mas->index - 1 &&
			       batch[MAS_BATCH_LAST + mas->offset] == mas->last
		       ? left & (direction == UP ? ~0ul << mas->offset : (2ul << mas->offset) - 1)
		       : 0;
}

/*
 * After a body has stored or moved the cursor it will probably do so again: the number of steps
 * that are then made one by one.
 */
#define STEPS_ONE_BY_ONE 8

/*
 * Makes one step by mas_find() or mas_find_rev(). Then, unless the body @disturbs the batch, reads
 * the rest of the leaf.
 */
static ALWAYS_INLINE unsigned long find(unsigned long *batch, bool disturbs, struct ma_state *mas,
					unsigned long limit, enum direction direction)
{
	void *entry = direction == UP ? mas_find(mas, limit) : mas_find_rev(mas, limit);
	unsigned long left = 0;

	mas->batch = NULL;
	if (!entry)
		return 0;
	if (disturbs)
		batch[MAS_BATCH_REST] = STEPS_ONE_BY_ONE;
	else if (batch[MAS_BATCH_REST])
		batch[MAS_BATCH_REST]--;
	else if (mas->status == ma_active)
		left = read_this_leaf(batch, mas, direction);
	if (left) {
		mas->batch = batch;
		return left;
	}
	batch[MAS_BATCH_LAST + mas->offset - 1] = mas->index - 1;
	batch[MAS_BATCH_LAST + mas->offset] = mas->last;
	batch[MAS_BATCH_ENTRY + mas->offset] = (unsigned long)entry;
	return 1ul << mas->offset;
}

static __attribute__((noinline)) unsigned long find_up(unsigned long *batch, bool disturbs,
						       struct ma_state *mas, unsigned long max)
{
	return find(batch, disturbs, mas, max, UP);
}

static __attribute__((noinline)) unsigned long find_down(unsigned long *batch, bool disturbs,
							 struct ma_state *mas, unsigned long min)
{
	return find(batch, disturbs, mas, min, DOWN);
}

unsigned long VARIANT(batch_find)(unsigned long *batch, unsigned long left, unsigned long prev_last,
				  struct ma_state *mas, unsigned long max)
{
	bool disturbed = left;

	if (LIKELY(!left) && LIKELY(mas->batch == batch) && LIKELY(mas->status == ma_active) &&
	    LIKELY(mas->last == prev_last)) {
		left = read_next_leaf(batch, mas, max, UP);
		if (LIKELY(left))
			return left;
	}
	return find_up(batch, disturbed, mas, max);
}

unsigned long VARIANT(batch_find_rev)(unsigned long *batch, unsigned long left,
				      unsigned long prev_index, struct ma_state *mas,
				      unsigned long min)
{
	bool disturbed = left;

	if (LIKELY(!left) && LIKELY(mas->batch == batch) && LIKELY(mas->status == ma_active) &&
	    LIKELY(mas->index == prev_index)) {
		left = read_next_leaf(batch, mas, min, DOWN);
		if (LIKELY(left))
			return left;
	}
	return find_down(batch, disturbed, mas, min);
}

/* ---- mt_for_each ------------------------------------------------------------------------- */

/* Whether a leaf that was read has a zero entry, which is rare. */
static inline bool has_zeros(const unsigned long *batch)
{
	unsigned long zeros = 0;
	unsigned int i;

	for (i = 0; i < WIDE_SLOTS; i++)
		zeros |= batch[MAS_BATCH_ENTRY + i] == (unsigned long)XA_ZERO_ENTRY;
	return zeros;
}

/*
 * Reads the leaf behind the one of the batch into it, through the node above that was remembered.
 * Returns 0 if there may have been a change since that was read; and of an empty leaf.
 */
static ALWAYS_INLINE unsigned long read_leaf_behind(unsigned long *batch, struct maple_tree *mt)
{
	unsigned long step = batch[MT_LOOP_STEP], stamp = batch[MT_LOOP_STAMP], left = 0, max;
	enum node_kind kind = tree_flags(mt) & MT_FLAGS_ALLOC_RANGE ? KIND_GAPS : KIND_INNER;
	struct read_section section = read_enter(mt);
	struct mt_node *parent = step_node(step);
	unsigned int offset = step_offset(step), end;

	if (LIKELY(__atomic_load_n(&mt->ma_writes, __ATOMIC_ACQUIRE) == stamp)) {
		WORK(BATCH_READ);
		end = node_end(parent, kind);
		if (offset + LEAVES_AHEAD <= end)
			node_prefetch(slot_child(parent, kind, offset + LEAVES_AHEAD));
		max = slot_last(parent, kind, offset, batch[MT_LOOP_PARENT_MAX]);
		left = read_leaf(batch, node_of(slot_child(parent, kind, offset), KIND_LEAF),
				 batch[MAS_BATCH_LAST + WIDE_SLOTS - 1] + 1, max);
		batch[MT_LOOP_STEP] = offset < end ? step + 1 : 0;
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
		if (UNLIKELY(__atomic_load_n(&mt->ma_writes, __ATOMIC_RELAXED) != stamp))
			left = 0;
	}
	read_leave(section);
	return left;
}

unsigned long VARIANT(loop_find)(unsigned long *batch, unsigned long left, struct maple_tree *mt,
				 unsigned long index, unsigned long max)
{
	if (UNLIKELY(left) || UNLIKELY(batch[MT_LOOP_BEGUN] != 1) || !batch[MT_LOOP_STEP] ||
	    UNLIKELY(batch[MT_LOOP_TREE] != (unsigned long)mt) ||
	    UNLIKELY(batch[MT_LOOP_NEXT] != index) || UNLIKELY(index > max))
		return loop_find_anew(batch, left, mt, index, max);
	left = read_leaf_behind(batch, mt);
	if (left && UNLIKELY(has_zeros(batch)))
		left = loop_without_zeros(batch, left);
	if (UNLIKELY(!left))
		return loop_find_anew(batch, 0, mt, index, max);
	batch[MT_LOOP_NEXT] = loop_last(batch, left) + 1;
	return is_beyond(batch, left, max, UP) ? 0 : left;
}
