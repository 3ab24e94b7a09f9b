/* SPDX-License-Identifier: MIT */
/* info.h - an area as users see it. */
#ifndef VMSPACE_INFO_H
#define VMSPACE_INFO_H

#include "inherited.h"

/* The offset that /proc/PID/maps shows. */
static inline uint64_t info_offset(const struct vmspace *space, const struct vma *vma)
{
	bool has_offset = vma->backing && vma->backing->is.kind != VMA_BACKING_SPECIAL;

	return has_offset ? vma->pgoff * space->config.page_size : 0;
}

static inline void info_fill(const struct vmspace *space, const struct vma *vma,
			     struct vma_info *info)
{
	*info = (struct vma_info){
		.start = vma->start, .end = vma->end, .flags = vma->flags,
		.offset = info_offset(space, vma), .page_offset = vma->pgoff,
		.anon_name = vma->name ? vma->name->text : NULL, .pkey = vma->tags.pkey,
		.anon_id = shown_anon_id(space, vma),
		.anon_shared = shown_anon_shared(space, vma),
		.policy = vma->policy ? vma->policy->mode : 0,
		.policy_nodes = vma->policy ? vma->policy->nodes : 0, .uffd = vma->tags.uffd,
		.word = vma->word,
	};
	if (vma->backing)
		info->backing = vma->backing->is;
}

#endif
