/* SPDX-License-Identifier: MIT */
/* vma.c - areas and what they refer to: backings, names, policies; reference counts. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "stock.h"
#include "vma.h"

struct backing *backing_new(const struct vma_backing *is)
{
	struct backing *backing = stock_alloc(sizeof(*backing));

	if (!backing)
		return NULL;
	*backing = (struct backing){ .refs = 1, .is = *is };
	if (is->name) {
		backing->is.name = stock_strdup(is->name);
		if (!backing->is.name) {
			free(backing);
			return NULL;
		}
	}
	return backing;
}

struct backing *backing_get(struct backing *backing)
{
	if (backing) {
		assert(vma_refs(&backing->refs));
		__atomic_add_fetch(&backing->refs, 1, __ATOMIC_RELAXED);
	}
	return backing;
}

void backing_put(struct backing *backing)
{
	if (!backing)
		return;
	assert(vma_refs(&backing->refs));
	if (__atomic_sub_fetch(&backing->refs, 1, __ATOMIC_ACQ_REL))
		return;
	free((char *)backing->is.name);
	free(backing);
}

void backing_rename(struct backing *backing, const struct vma_backing *is, char *name)
{
	free((char *)backing->is.name);
	backing->is.name = name;
	backing->is.dev_major = is->dev_major;
	backing->is.dev_minor = is->dev_minor;
	backing->is.inode = is->inode;
}

static bool same_text(const char *a, const char *b)
{
	return a == b || (a && b && !strcmp(a, b));
}

bool backing_same_file(const struct backing *a, const struct backing *b)
{
	if (a == b)
		return true;
	if (!a || !b || a->is.kind != b->is.kind || a->is.kind != VMA_BACKING_FILE)
		return false;
	if (a->is.file_id || b->is.file_id)
		return a->is.file_id == b->is.file_id;
	return a->is.dev_major == b->is.dev_major && a->is.dev_minor == b->is.dev_minor &&
	       a->is.inode == b->is.inode && same_text(a->is.name, b->is.name);
}

struct anon_name *anon_name_new(const char *text)
{
	size_t size = strlen(text) + 1;
	struct anon_name *name = stock_alloc(sizeof(*name) + size);

	if (!name)
		return NULL;
	name->refs = 1;
	memcpy(name->text, text, size);
	return name;
}

struct anon_name *anon_name_get(struct anon_name *name)
{
	if (name) {
		assert(vma_refs(&name->refs));
		__atomic_add_fetch(&name->refs, 1, __ATOMIC_RELAXED);
	}
	return name;
}

void anon_name_put(struct anon_name *name)
{
	assert(!name || vma_refs(&name->refs));
	if (name && !__atomic_sub_fetch(&name->refs, 1, __ATOMIC_ACQ_REL))
		free(name);
}

bool anon_name_same(const struct anon_name *a, const struct anon_name *b)
{
	return a == b || (a && b && !strcmp(a->text, b->text));
}

struct policy *policy_get(struct policy *policy)
{
	if (policy)
		__atomic_add_fetch(&policy->refs, 1, __ATOMIC_RELAXED);
	return policy;
}

void policy_put(struct policy *policy)
{
	if (policy && !__atomic_sub_fetch(&policy->refs, 1, __ATOMIC_ACQ_REL))
		free(policy);
}

bool policy_same(const struct policy *a, const struct policy *b)
{
	return a == b || (a && b && a->mode == b->mode && a->nodes == b->nodes &&
			  a->asked == b->asked && a->home_node == b->home_node);
}

bool vma_is_valid(const struct vma *vma, unsigned long page_size)
{
	unsigned long unaligned = (vma->start | vma->end) & (page_size - 1);

	return vma->start < vma->end && !unaligned &&
	       !(vma->anon_id && (vma->flags & VMA_HUGETLB)) &&
	       (!vma->dropped || (vma->flags & VMA_MIXEDMAP)) &&
	       (!vma->anon_shared || vma->anon_id) &&
	       (!vma->anon_shift || (vma->backing && vma->anon_id)) &&
	       (!vma->tags.uffd || (vma->flags & VMA_UFFD_FLAGS)) &&
	       (!(vma->tags.uffd_moves || vma->tags.uffd_forks) || vma->tags.uffd) &&
	       (!(vma->flags & VMA_LOCKONFAULT) || (vma->flags & VMA_LOCKED)) &&
	       (!vma->backing || vma_refs(&vma->backing->refs)) &&
	       (!vma->name || vma_refs(&vma->name->refs));
}

bool vma_is_anon(const struct vma *vma)
{
	return !vma->backing;
}

bool vma_passes_file(const struct vma *vma, unsigned long end, unsigned long page_size)
{
	uint64_t size;

	if (vma->dropped)
		return true;
	if (!vma->backing || vma->backing->is.kind == VMA_BACKING_HUGETLB ||
	    vma->backing->is.kind == VMA_BACKING_SPECIAL)
		return false;
	size = vma->backing->is.size;
	return size && vma->pgoff + (end - vma->start) / page_size >
			       (size + page_size - 1) / page_size;
}

bool vma_may_have_anon_vma(const struct vma *vma)
{
	if (vma->flags & (VMA_SHARED | VMA_MAYSHARE | VMA_HUGETLB))
		return false;
	return !vma->backing || vma->backing->is.kind == VMA_BACKING_FILE;
}

unsigned long vma_huge_size(const struct backing *backing, unsigned long pmd_size)
{
	if (backing && backing->is.huge_size)
		return backing->is.huge_size;
	return pmd_size ? pmd_size : 1;
}

bool vma_may_be_cut(const struct vma *vma, unsigned long at, unsigned long pmd_size)
{
	if (!vma->backing)
		return true;
	if (!(vma->flags & VMA_HUGETLB))
		return !vma_is_kernels(vma);
	return !(at & (vma_huge_size(vma->backing, pmd_size) - 1));
}

bool vma_is_kernels(const struct vma *vma)
{
	return vma->backing && vma->backing->is.kind == VMA_BACKING_SPECIAL &&
	       !(vma->flags & VMA_HUGETLB);
}
