/* SPDX-License-Identifier: MIT */
/* vma.c - areas, backings and names as objects: made, referenced, compared, freed. */
#include <stdlib.h>
#include <string.h>

#include "vma.h"

struct backing *backing_new(const struct vma_backing *is)
{
	struct backing *backing = calloc(1, sizeof(*backing));

	if (!backing)
		return NULL;
	backing->refs = 1;
	backing->is = *is;
	if (is->name) {
		backing->is.name = strdup(is->name);
		if (!backing->is.name) {
			free(backing);
			return NULL;
		}
	}
	return backing;
}

struct backing *backing_get(struct backing *backing)
{
	if (backing)
		backing->refs++;
	return backing;
}

void backing_put(struct backing *backing)
{
	if (!backing || --backing->refs)
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

bool backing_has_close(const struct backing *backing)
{
	if (!backing)
		return false;
	return backing->is.kind == VMA_BACKING_SYSV || backing->is.kind == VMA_BACKING_HUGETLB ||
	       (backing->is.flags & VMA_BACKING_NO_MERGE);
}

struct anon_name *anon_name_new(const char *text)
{
	size_t size = strlen(text) + 1;
	struct anon_name *name = malloc(sizeof(*name) + size);

	if (!name)
		return NULL;
	name->refs = 1;
	name->copy = NULL;
	name->next = NULL;
	memcpy(name->text, text, size);
	return name;
}

struct anon_name *anon_name_get(struct anon_name *name)
{
	if (name)
		name->refs++;
	return name;
}

void anon_name_put(struct anon_name *name)
{
	if (name && !--name->refs)
		free(name);
}

bool anon_name_same(const struct anon_name *a, const struct anon_name *b)
{
	return a == b || (a && b && !strcmp(a->text, b->text));
}

bool vma_reserve(struct vma_store *store, unsigned long count)
{
	while (store->spares < count) {
		struct vma *vma = vma_alloc(store);

		if (!vma)
			return false;
		vma->next_gone = store->spare;
		store->spare = vma;
		store->spares++;
	}
	return true;
}

static struct vma *take_spare(struct vma_store *store)
{
	struct vma *vma = store->spare;

	if (vma) {
		store->spare = vma->next_gone;
		store->spares--;
	}
	return vma;
}

void vma_unreserve(struct vma_store *store, unsigned long count)
{
	while (store->spares > count)
		vma_release(store, take_spare(store));
}

struct vma *vma_new(struct vma_store *store, const struct vma *like)
{
	struct vma *vma = vma_alloc(store);

	if (!vma)
		vma = take_spare(store);
	if (!vma)
		return NULL;
	vma_fill(vma, like);
	backing_get(vma->backing);
	anon_name_get(vma->name);
	policy_get(vma->policy);
	return vma;
}

void vma_free(struct vma_store *store, struct vma *vma)
{
	backing_put(vma->backing);
	anon_name_put(vma->name);
	policy_put(vma->policy);
	vma_release(store, vma);
}

bool vma_is_anon(const struct vma *vma)
{
	return !vma->backing;
}

bool vma_may_have_anon_vma(const struct vma *vma)
{
	if (vma->flags & (VMA_SHARED | VMA_MAYSHARE | VMA_HUGETLB))
		return false;
	return !vma->backing || vma->backing->is.kind == VMA_BACKING_FILE;
}
