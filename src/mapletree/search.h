/* SPDX-License-Identifier: MIT */
/*
 * search.h - find the slot of a node that covers an index.
 *
 * The offset is the number of pivots below the index. Pivots past the end are ULONG_MAX, so all
 * of them can be counted: no branch depends on the data, and the count never passes the end as
 * long as the index lies inside the node. The vector forms compare all pivots at once; what stands
 * behind the last pivot is loaded too and masked away.
 *
 * Each pivot is read by one load of its own width or, in a vector, by one lane, which the
 * processors concerned do not tear; readers may run beside a writer (see node.h).
 */
#ifndef MT_SEARCH_H
#define MT_SEARCH_H

#include "node.h"
#include "retry.h"

#if defined(__SANITIZE_THREAD__)
#define SEARCH_SANITIZED 1 /* ThreadSanitizer would take a vector load for a race */
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define SEARCH_SANITIZED 1
#endif
#endif

#if defined(__AVX2__) && ULONG_MAX > 0xffffffff && !defined(MT_TEST_SLOTS) && \
	!defined(SEARCH_SANITIZED)
#include <immintrin.h>
#define SEARCH_VECTORS 1
#elif defined(__aarch64__) && defined(__ARM_NEON) && ULONG_MAX > 0xffffffff && \
	!defined(MT_TEST_SLOTS) && !defined(SEARCH_SANITIZED)
#include <arm_neon.h>
#define SEARCH_PAIRS 1 /* every processor of this architecture has them */
#endif

/*
 * node_prefetch_slots - prefetch those lines of a node that will be needed after its pivots, which
 * are searched next. @enode may be tagged: a tag does not leave the line.
 */
static inline void node_prefetch_slots(const struct maple_enode *enode)
{
	__builtin_prefetch((const char *)enode + NODE_BYTES / 2);
	__builtin_prefetch((const char *)enode + NODE_BYTES / 4 * 3);
}

/* node_prefetch - prefetch all of a node that is searched later. */
static inline void node_prefetch(const struct maple_enode *enode)
{
	__builtin_prefetch((const char *)enode);
	__builtin_prefetch((const char *)enode + NODE_BYTES / 4);
	node_prefetch_slots(enode);
}

#if defined(SEARCH_VECTORS) && defined(__AVX512F__)

static inline unsigned int count_wide(const struct mt_node *node, unsigned long index)
{
	__m512i wanted = _mm512_set1_epi64((long long)index);
	unsigned int low = _mm512_cmplt_epu64_mask(_mm512_load_si512(&node->pivot[0]), wanted);
	unsigned int high = _mm512_mask_cmplt_epu64_mask(
		0x7f, _mm512_load_si512(node->bytes + 64), wanted);

	return (unsigned int)(__builtin_popcountl(low) + __builtin_popcountl(high));
}

static inline unsigned int count_gaps(const struct mt_node *node, unsigned long index)
{
	__m512i wanted = _mm512_set1_epi64((long long)index);
	unsigned int low = _mm512_cmplt_epu64_mask(_mm512_load_si512(&node->pivot[0]), wanted);

	return (unsigned int)__builtin_popcount(low) + (node->pivot[8] < index);
}

#elif defined(SEARCH_VECTORS)

/* AVX2 compares signed: both sides are shifted by 2^63. All bits of a lane. */
static inline __m256i lanes_below(const unsigned char *pivots, __m256i wanted)
{
	__m256i sign = _mm256_set1_epi64x(LLONG_MIN);
	__m256i lanes = _mm256_xor_si256(_mm256_load_si256((const __m256i *)pivots), sign);

	return _mm256_cmpgt_epi64(wanted, lanes);
}

/* One bit a lane. */
static inline unsigned int below_4(const unsigned char *pivots, __m256i wanted)
{
	return (unsigned int)_mm256_movemask_pd(_mm256_castsi256_pd(lanes_below(pivots, wanted)));
}

static inline __m256i shifted(unsigned long index)
{
	return _mm256_set1_epi64x((long long)(index ^ (unsigned long)LLONG_MIN));
}

/* All lanes narrowed to two bytes each leave the vectors at once. Their order does not matter. */
static inline unsigned int count_wide(const struct mt_node *node, unsigned long index)
{
	__m256i wanted = shifted(index);
	__m256i low = _mm256_packs_epi32(lanes_below(node->bytes, wanted),
					 lanes_below(node->bytes + 32, wanted));
	__m256i high = _mm256_packs_epi32(lanes_below(node->bytes + 64, wanted),
					  lanes_below(node->bytes + 96, wanted));
	unsigned int bits = (unsigned int)_mm256_movemask_epi8(_mm256_packs_epi16(low, high));

	/* one bit of each lane, but of the last, which is no pivot */
	return (unsigned int)__builtin_popcount(bits & 0x15555555);
}

static inline unsigned int count_gaps(const struct mt_node *node, unsigned long index)
{
	__m256i wanted = shifted(index);
	unsigned int low = below_4(node->bytes, wanted) | below_4(node->bytes + 32, wanted) << 4;

	return (unsigned int)__builtin_popcount(low) + (node->pivot[8] < index);
}

#elif defined(SEARCH_PAIRS)

/*
 * Two pivots at a time; a lane that is below the index is all ones, which is -1. Each lane is one
 * load for other processors (Arm ARM, B2.2.1). The pivot without another is counted by itself.
 */
static ALWAYS_INLINE unsigned int count_pairs(const unsigned long *pivot, unsigned int count,
					      unsigned long index)
{
	uint64x2_t wanted = vdupq_n_u64(index);
	uint64x2_t even = vdupq_n_u64(0), odd = even;
	unsigned int i;

#pragma GCC unroll 8
	for (i = 0; i + 1 < count; i += 2) {
		uint64x2_t below = vcltq_u64(vld1q_u64((const uint64_t *)&pivot[i]), wanted);

		if (i & 2)
			odd = vsubq_u64(odd, below);
		else
			even = vsubq_u64(even, below);
	}
	return (unsigned int)vaddvq_u64(vaddq_u64(even, odd)) +
	       (count & 1 ? __atomic_load_n(&pivot[count - 1], __ATOMIC_RELAXED) < index : 0);
}

static inline unsigned int count_wide(const struct mt_node *node, unsigned long index)
{
	return count_pairs(node->wide.pivot, WIDE_PIVOTS, index);
}

static inline unsigned int count_gaps(const struct mt_node *node, unsigned long index)
{
	return count_pairs(node->gaps.pivot, GAPS_PIVOTS, index);
}

#else

/* Two sums, so that the additions do not wait for each other. */
static inline unsigned int count_below(const unsigned long *pivot, unsigned int count,
				       unsigned long index)
{
	unsigned int even = 0;
	unsigned int odd = 0;
	unsigned int i;

#pragma GCC unroll 16
	for (i = 0; i + 1 < count; i += 2) {
		even += __atomic_load_n(&pivot[i], __ATOMIC_RELAXED) < index;
		odd += __atomic_load_n(&pivot[i + 1], __ATOMIC_RELAXED) < index;
	}
	if (count & 1)
		even += __atomic_load_n(&pivot[count - 1], __ATOMIC_RELAXED) < index;
	return even + odd;
}

static inline unsigned int count_wide(const struct mt_node *node, unsigned long index)
{
	return count_below(node->wide.pivot, WIDE_PIVOTS, index);
}

static inline unsigned int count_gaps(const struct mt_node *node, unsigned long index)
{
	return count_below(node->gaps.pivot, GAPS_PIVOTS, index);
}

#endif

static inline unsigned int node_search(const struct mt_node *node, enum node_kind kind,
				       unsigned long index)
{
	return kind == KIND_GAPS ? count_gaps(node, index) : count_wide(node, index);
}

/*
 * node_of - enode_node() for a node of known kind: the compiler folds the tag into address offsets.
 */
static inline struct mt_node *node_of(struct maple_enode *enode, enum node_kind kind)
{
	assert(enode_kind(enode) == kind);
	return (struct mt_node *)((char *)enode - ((unsigned int)kind << 2 | 2));
}

/* search_child - the child of an inner node of @kind that covers @index. */
static inline struct maple_enode *search_child(struct maple_enode *enode, enum node_kind kind,
					       unsigned long index)
{
	struct mt_node *node = node_of(enode, kind);

	return slot_child(node, kind, node_search(node, kind, index));
}

/* The entry at @index of a leaf. False: the leaf changed meanwhile. */
static ALWAYS_INLINE bool try_entry(struct mt_node *leaf, unsigned long index, void **entry)
{
	unsigned long version = leaf_version(leaf);

	*entry = slot_load(leaf, KIND_LEAF, node_search(leaf, KIND_LEAF, index));
	return leaf_unchanged(leaf, version);
}

/* Repeats a failed try_entry() until it succeeds. Out of line: hardly any lookup needs it. */
static __attribute__((noinline, cold, unused)) void *
retry_entry(struct maple_tree *mt, struct mt_node *leaf, unsigned long index)
{
	unsigned int failed = 0;
	void *entry;

	do
		failed = retry(mt, failed);
	while (!try_entry(leaf, index, &entry));
	retry_end(mt, failed);
	return entry;
}

/*
 * search_entry - the entry at @index of a leaf of @mt, as the normal API returns it: a zero entry
 * is NULL.
 */
static inline void *search_entry(struct maple_tree *mt, struct maple_enode *enode,
				 unsigned long index)
{
	struct mt_node *leaf = node_of(enode, KIND_LEAF);
	void *entry;

	if (UNLIKELY(!try_entry(leaf, index, &entry)))
		entry = retry_entry(mt, leaf, index);
	return xa_is_zero(entry) ? NULL : entry;
}

/*
 * search_rootless - the same for a tree whose root word @root is not a node. It cannot be a zero
 * entry, which would look like a node (see entry_fits_root()).
 */
static inline void *search_rootless(void *root, unsigned long index)
{
	assert(!xa_is_zero(root));
	return index ? NULL : root;
}

#endif
