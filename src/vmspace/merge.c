/* SPDX-License-Identifier: MIT */
/*
 * merge.c - the merge rules of Linux, as a pure function of two neighbours.
 *
 * Two areas that touch are one if everything that decides how a page fault in them is answered
 * is equal (flags, file, key, name), if one's offsets continue the other's, and if their
 * anonymous pages can be found through one anon_vma: both have the same, or only one has one and
 * that was not inherited through fork. Soft-dirty tracking and guard marks never keep areas
 * apart.
 */
#include "merge.h"

bool merge_is_special(const struct vma *vma)
{
	return (vma->flags & VMA_SPECIAL_FLAGS) ||
	       (vma->backing && (vma->backing->is.kind == VMA_BACKING_SPECIAL ||
				 (vma->backing->is.flags & VMA_BACKING_NO_MERGE)));
}

static bool offset_continues(const struct vma *left, const struct vma *right,
			     unsigned long page_size)
{
	unsigned long bytes;

	return !__builtin_mul_overflow(right->pgoff - left->pgoff, page_size, &bytes) &&
	       bytes == left->end - left->start && left->anon_shift == right->anon_shift;
}

enum vma_verdict merge_anon_verdict(const struct vma *a, const struct vma *b)
{
	if (a->anon_id == b->anon_id)
		return VMA_MERGED;
	if (a->anon_id && b->anon_id)
		return VMA_DIFFERENT_ANON_VMA;
	return a->anon_shared || b->anon_shared ? VMA_ANON_VMA_SHARED : VMA_MERGED;
}

bool merge_conceivable(const struct vma *left, const struct vma *right, unsigned long page_size,
		       vma_flags_t changes)
{
	return left->end == right->start &&
	       !((left->flags ^ right->flags) & ~(changes | VMA_STICKY_FLAGS)) &&
	       !merge_is_special(left) && !merge_is_special(right) &&
	       backing_same_file(left->backing, right->backing) &&
	       offset_continues(left, right, page_size);
}

enum vma_verdict merge_verdict(const struct vma *left, const struct vma *right,
			       unsigned long page_size, vma_flags_t *differ)
{
	vma_flags_t flags = (left->flags ^ right->flags) & ~VMA_STICKY_FLAGS;

	if (differ)
		*differ = flags;
	if (left->end != right->start)
		return VMA_NOT_ADJACENT;
	if (merge_is_special(left) || merge_is_special(right))
		return VMA_SPECIAL;
	if (!backing_same_file(left->backing, right->backing))
		return VMA_DIFFERENT_FILE;
	if (flags & VMA_UFFD_FLAGS)
		return VMA_DIFFERENT_UFFD;
	if (flags)
		return VMA_DIFFERENT_FLAGS;
	if (left->tags.uffd != right->tags.uffd)
		return VMA_DIFFERENT_UFFD;
	if (left->tags.pkey != right->tags.pkey)
		return VMA_DIFFERENT_PKEY;
	if (!anon_name_same(left->name, right->name))
		return VMA_DIFFERENT_NAME;
	if (!policy_same(left->policy, right->policy))
		return VMA_DIFFERENT_POLICY;
	if (!offset_continues(left, right, page_size))
		return VMA_DIFFERENT_OFFSET;
	return merge_anon_verdict(left, right);
}

bool merge_anon_compatible(const struct vma *left, const struct vma *right,
			   unsigned long page_size)
{
	vma_flags_t flags = (left->flags ^ right->flags) & ~(VMA_STICKY_FLAGS | VMA_ACCESS_FLAGS);

	return left->end == right->start && !flags && left->tags.pkey == right->tags.pkey &&
	       backing_same_file(left->backing, right->backing) &&
	       policy_same(left->policy, right->policy) &&
	       offset_continues(left, right, page_size);
}

const char *vma_verdict_text(enum vma_verdict verdict)
{
	static const char *const text[VMA_VERDICT_COUNT] = {
		[VMA_MERGE_NONE] = "no neighbour",
		[VMA_MERGED] = "merged",
		[VMA_NOT_ADJACENT] = "not adjacent",
		[VMA_DIFFERENT_FLAGS] = "different flags",
		[VMA_DIFFERENT_FILE] = "different file",
		[VMA_DIFFERENT_OFFSET] = "offsets not contiguous",
		[VMA_DIFFERENT_ANON_VMA] = "different anon_vma",
		[VMA_ANON_VMA_SHARED] = "anon_vma inherited through fork",
		[VMA_DIFFERENT_NAME] = "different name",
		[VMA_DIFFERENT_UFFD] = "different userfaultfd registration",
		[VMA_DIFFERENT_PKEY] = "different protection key",
		[VMA_DIFFERENT_POLICY] = "different memory policy",
		[VMA_SPECIAL] = "special area",
		[VMA_NOT_TRIED] = "Linux does not try to merge here",
		[VMA_ANON_VMA_NOT_TAKEN] = "no anon_vma taken in",
		[VMA_KEPT_APART] = "kept apart by the user",
	};

	if ((unsigned int)verdict >= VMA_VERDICT_COUNT)
		return "unknown verdict";
	return text[verdict];
}
