/* SPDX-License-Identifier: MIT */
/*
 * gap_node.h - which slots of one node have room for a given number of consecutive indexes.
 *
 *   gaps_with_room(node, size)                 of an inner node: the slots whose gap is >= @size
 *   gaps_below(node, index)                    of an inner node: the slots that end below @index
 *   leaf_with_room(leaf, min, max, size, clip) of a leaf that overlaps [@min, @max]: the free slots
 *                                              with @size indexes in that window, and maybe some
 *                                              that have them elsewhere
 *
 * Each returns a word with bit i for slot i. No branch depends on the data.
 *
 * The width of slot i of a leaf is pivot[i] - pivot[i-1]. Once all pivots are clamped to [min - 1,
 * max], this is the width inside [min, max]. Slots of width zero, slots outside, and slots past the
 * end, which begin and end at ULONG_MAX, then have width 0 and need no special case. Nor does min =
 * 0, because the arithmetic wraps around.
 *
 * Beside a writer a vector load sees each word whole, but different words at different times.
 * Callers read again what they rely on, under one version of the leaf (see node.h).
 */
#ifndef MT_GAP_NODE_H
#define MT_GAP_NODE_H

#include "search.h"

static_assert(WIDE_SLOTS <= 32 && GAPS_SLOTS < 32, "a set of slots fits an int");

/*
 * What leaf_with_room() has to clip. A search for the highest slot only needs slots above @max
 * clipped; it soon notices that only slots below @min are left.
 */
enum clip { CLIP_HIGH, CLIP_BOTH };

#if defined(SEARCH_VECTORS) && defined(__AVX512F__)

static inline unsigned int gaps_with_room(const struct mt_node *node, unsigned long size)
{
	/* words 16 to 31 of the node; 4 to 13 of these are its gaps */
	__m512i wanted = _mm512_set1_epi64((long long)size);
	__mmask8 low = _mm512_cmpge_epu64_mask(_mm512_load_si512(node->bytes + 128), wanted);
	__mmask8 high = _mm512_cmpge_epu64_mask(_mm512_load_si512(node->bytes + 192), wanted);

	return (unsigned int)_mm512_kunpackb(high, low) >> 4 & ((1u << GAPS_SLOTS) - 1);
}

static inline unsigned int gaps_below(const struct mt_node *node, unsigned long index)
{
	__m512i wanted = _mm512_set1_epi64((long long)index);
	unsigned int low = _mm512_cmplt_epu64_mask(_mm512_load_si512(&node->pivot[0]), wanted);

	return low | (unsigned int)(node->pivot[8] < index) << 8;
}

static inline unsigned int leaf_with_room(const struct mt_node *leaf, unsigned long min,
					  unsigned long max, unsigned long size,
					  enum clip clip)
{
	__m512i wanted = _mm512_set1_epi64((long long)size);
	__m512i zero = _mm512_setzero_si512();
	__m512i before = _mm512_set1_epi64((long long)(min - 1));
	__m512i least = _mm512_set1_epi64((long long)(min - (min > 0)));
	__m512i most = _mm512_set1_epi64((long long)max);
	__m512i low = _mm512_min_epu64(_mm512_load_si512(leaf->bytes), most);
	/* the last slot ends at max; the word in its pivot's place is the meta word */
	__m512i meta = _mm512_set_epi64(-1, 0, 0, 0, 0, 0, 0, 0);
	__m512i high = _mm512_min_epu64(
		_mm512_or_si512(_mm512_load_si512(leaf->bytes + 64), meta), most);
	__mmask8 free_low = _mm512_cmpeq_epi64_mask(_mm512_load_si512(leaf->bytes + 128), zero);
	__mmask8 free_high = _mm512_cmpeq_epi64_mask(_mm512_load_si512(leaf->bytes + 192), zero);

	if (clip == CLIP_BOTH) {
		low = _mm512_max_epu64(low, least);
		high = _mm512_max_epu64(high, least);
	}
	before = _mm512_sub_epi64(low, _mm512_alignr_epi64(low, before, 7));
	high = _mm512_sub_epi64(high, _mm512_alignr_epi64(high, low, 7));
	free_low = _mm512_mask_cmpge_epu64_mask(free_low, before, wanted);
	free_high = _mm512_mask_cmpge_epu64_mask(free_high, high, wanted);
	return _mm512_kunpackb(free_high, free_low);
}

#elif defined(SEARCH_VECTORS)

/* AVX2 compares signed: the words are shifted by 2^63, which cancels out in a difference. */
static inline __m256i shifted_4(const unsigned char *words)
{
	return _mm256_xor_si256(_mm256_load_si256((const __m256i *)words),
				_mm256_set1_epi64x(LLONG_MIN));
}

static inline unsigned int above_4(__m256i lanes, __m256i limit)
{
	return (unsigned int)_mm256_movemask_pd(
		_mm256_castsi256_pd(_mm256_cmpgt_epi64(lanes, limit)));
}

static inline unsigned int gaps_with_room(const struct mt_node *node, unsigned long size)
{
	const unsigned char *gaps = (const unsigned char *)node->gaps.gap;
	__m256i limit = shifted(size - 1);

	return above_4(shifted_4(gaps), limit) | above_4(shifted_4(gaps + 32), limit) << 4 |
	       (above_4(shifted_4(gaps + 64), limit) & 3) << 8;
}

static inline unsigned int gaps_below(const struct mt_node *node, unsigned long index)
{
	__m256i wanted = shifted(index);

	return below_4(node->bytes, wanted) | below_4(node->bytes + 32, wanted) << 4 |
	       (unsigned int)(node->pivot[8] < index) << 8;
}

static inline unsigned int leaf_with_room(const struct mt_node *leaf, unsigned long min,
					  unsigned long max, unsigned long size,
					  enum clip clip)
{
	__m256i sign = _mm256_set1_epi64x(LLONG_MIN);
	__m256i limit = shifted(size - 1);
	__m256i least = shifted(min - (min > 0));
	__m256i most = shifted(max);
	__m256i before = shifted(min - 1); /* its lane 0 stands before the lanes at hand */
	unsigned int slots = 0;
	unsigned int i;

#pragma GCC unroll 4
	for (i = 0; i < 4; i++) {
		const __m256i *entries = (const __m256i *)(leaf->bytes + 128 + 32 * i);
		__m256i free = _mm256_cmpeq_epi64(_mm256_load_si256(entries),
						  _mm256_setzero_si256());
		__m256i last = shifted_4(leaf->bytes + 32 * i);
		__m256i width, rotated;

		last = _mm256_blendv_epi8(last, most, _mm256_cmpgt_epi64(last, most));
		if (i == 3) /* the last slot ends at max; the word there is the meta word */
			last = _mm256_blend_epi32(last, most, 0xc0);
		if (clip == CLIP_BOTH)
			last = _mm256_blendv_epi8(last, least, _mm256_cmpgt_epi64(least, last));
		rotated = _mm256_permute4x64_epi64(last, 0x93);
		width = _mm256_sub_epi64(last, _mm256_blend_epi32(rotated, before, 3));
		width = _mm256_and_si256(width, free);
		slots |= above_4(_mm256_xor_si256(width, sign), limit) << 4 * i;
		before = rotated;
	}
	return slots;
}

#else

static inline unsigned int gaps_with_room(struct mt_node *node, unsigned long size)
{
	unsigned int narrow = 0;
	unsigned int i;

#pragma GCC unroll 16
	for (i = GAPS_SLOTS; i-- > 0;)
		narrow += narrow + (gap_load(node, i) < size); /* compare, add with carry */
	return ~narrow & ((1u << GAPS_SLOTS) - 1);
}

static inline unsigned int gaps_below(const struct mt_node *node, unsigned long index)
{
	return (1u << count_gaps(node, index)) - 1;
}

static inline unsigned int leaf_with_room(struct mt_node *leaf, unsigned long min,
					  unsigned long max, unsigned long size,
					  enum clip clip)
{
	unsigned long least = min - (min > 0), last = max;
	unsigned int free = 0, narrow = 0;
	unsigned int i;

#pragma GCC unroll 16
	for (i = WIDE_SLOTS; i-- > 0;) {
		unsigned long below = i ? pivot_load(leaf, i - 1) : min - 1;

		if (i)
			below = below < max ? below : max;
		if (i && clip == CLIP_BOTH)
			below = below > least ? below : least;
		narrow += narrow + (last - below < size);
		free += free + !slot_load(leaf, KIND_LEAF, i);
		last = below;
	}
	return free & ~narrow;
}

#endif

#endif
