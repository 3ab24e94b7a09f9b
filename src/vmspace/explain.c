/* SPDX-License-Identifier: MIT */
/* explain.c - explains why two areas were not merged: merge.c's verdict in words. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "find.h"
#include "inherited.h"
#include "merge.h"
#include "rules.h"
#include "sync.h"
#include "words.h"

/* The two areas, and where the sentence goes. */
struct question {
	const struct vmspace *space;
	const struct vma *low, *high;
	struct vma_explanation *out;
};

#define SAY(q, ...) ((void)snprintf((q)->out->text, sizeof((q)->out->text), __VA_ARGS__))

static const char *kind_text(const struct vma *vma)
{
	static const char *const text[] = {
		[VMA_BACKING_ANON] = "no file", [VMA_BACKING_FILE] = "a file",
		[VMA_BACKING_SHMEM] = "shared anonymous memory",
		[VMA_BACKING_SYSV] = "System V shared memory",
		[VMA_BACKING_HUGETLB] = "huge pages",
		[VMA_BACKING_SPECIAL] = "memory of the kernel's",
	};

	if (!vma->backing)
		return text[VMA_BACKING_ANON];
	return vma->backing->is.kind == VMA_BACKING_FILE && vma->backing->is.name
		       ? vma->backing->is.name : text[vma->backing->is.kind];
}

static void say_file(const struct question *q)
{
	const struct vma_backing *a = q->low->backing ? &q->low->backing->is : NULL;
	const struct vma_backing *b = q->high->backing ? &q->high->backing->is : NULL;

	if (a && b && a->kind == b->kind && a->kind == VMA_BACKING_FILE && a->inode == b->inode &&
	    a->dev_major == b->dev_major && a->dev_minor == b->dev_minor)
		SAY(q, "both map %.100s, but each by another open() of it", kind_text(q->low));
	else if (a && b && a->kind == b->kind && a->kind != VMA_BACKING_FILE)
		SAY(q, "each maps %s of its own", kind_text(q->low));
	else
		SAY(q, "the lower maps %.100s, the upper %.100s", kind_text(q->low),
		    kind_text(q->high));
}

static void letters(vma_flags_t flags, char *buf, size_t size)
{
	size_t length = vma_flags_text(flags, buf, size);

	if (length)
		buf[length - 1] = '\0'; /* the blank after the last pair */
	else
		snprintf(buf, size, "none");
}

static void say_flags(const struct question *q)
{
	char low[128], high[128];

	letters(q->low->flags & q->out->differ, low, sizeof(low));
	letters(q->high->flags & q->out->differ, high, sizeof(high));
	SAY(q, "%s: the lower alone has %s, the upper alone %s",
	    vma_verdict_text(q->out->verdict), low, high);
}

static void say_uffd(const struct question *q)
{
	if (q->out->differ)
		say_flags(q);
	else
		SAY(q, "%s: the lower is registered with userfaultfd %u, the upper with %u",
		    vma_verdict_text(q->out->verdict), (unsigned int)q->low->tags.uffd,
		    (unsigned int)q->high->tags.uffd);
}

static unsigned long first_anon_page(const struct question *q, const struct vma *vma)
{
	return vma->start + (unsigned long)vma->anon_shift * q->space->config.page_size;
}

static void say_offset(const struct question *q)
{
	unsigned long page = q->space->config.page_size;
	unsigned long long end = q->low->pgoff + (q->low->end - q->low->start) / page;

	if (q->low->backing && end == q->high->pgoff)
		SAY(q, "mremap() moved the anonymous pages of one of them: they are numbered from "
		    "%#lx and %#lx on", first_anon_page(q, q->low), first_anon_page(q, q->high));
	else if (q->low->backing)
		SAY(q, "the lower ends at page %llu of the file, the upper begins at page %llu",
		    end, (unsigned long long)q->high->pgoff);
	else
		SAY(q, "mremap() moved one of them: their pages are numbered from %#llx and %#llx "
		    "on", (unsigned long long)q->low->pgoff * page,
		    (unsigned long long)q->high->pgoff * page);
}

static void say_name(const struct question *q)
{
	const struct anon_name *a = q->low->name, *b = q->high->name;

	if (a && b)
		SAY(q, "the lower is named %.80s, the upper %.80s", a->text, b->text);
	else
		SAY(q, "the %s is named %.80s, the other has no name", a ? "lower" : "upper",
		    a ? a->text : b->text);
}

static void say_special(const struct question *q)
{
	const struct vma *which = merge_is_special(q->low) ? q->low : q->high;

	if (!merge_is_special(which))
		SAY(q, "the file's driver is told of each area's end: none swallows another");
	else
		SAY(q, "the %s is special (device memory, the kernel's own, or not to be expanded)",
		    merge_is_special(q->low) && merge_is_special(q->high) ? "one and the other"
		    : which == q->low ? "lower" : "upper");
}

static void say_why(const struct question *q)
{
	switch (q->out->verdict) {
	case VMA_NOT_ADJACENT:
		SAY(q, "%lu pages lie between them, mapped or not",
		    space_pages(q->space, q->high->start - q->low->end));
		break;
	case VMA_DIFFERENT_FLAGS:
		say_flags(q);
		break;
	case VMA_DIFFERENT_UFFD:
		say_uffd(q);
		break;
	case VMA_DIFFERENT_FILE:
		say_file(q);
		break;
	case VMA_DIFFERENT_OFFSET:
		say_offset(q);
		break;
	case VMA_DIFFERENT_ANON_VMA:
		SAY(q, "both had pages of their own before they met: different anon_vmas");
		break;
	case VMA_ANON_VMA_SHARED:
		SAY(q, "the %s has no pages of its own, and the other's anon_vma came through fork",
		    q->low->anon_id ? "upper" : "lower");
		break;
	case VMA_ANON_VMA_NOT_TAKEN:
		SAY(q, "the %s has no pages of its own, and before Linux 6.16 takes no anon_vma in",
		    q->low->anon_id ? "upper" : "lower");
		break;
	case VMA_DIFFERENT_NAME:
		say_name(q);
		break;
	case VMA_DIFFERENT_PKEY:
		SAY(q, "the lower has protection key %u, the upper %u", (unsigned int)q->low->tags.pkey,
		    (unsigned int)q->high->tags.pkey);
		break;
	case VMA_DIFFERENT_POLICY:
		SAY(q, "mbind() gave them different memory policies (modes %#x and %#x, nodes "
		    "%#llx and %#llx)", q->low->policy ? (unsigned int)q->low->policy->mode : 0,
		    q->high->policy ? (unsigned int)q->high->policy->mode : 0,
		    q->low->policy ? (unsigned long long)q->low->policy->nodes : 0,
		    q->high->policy ? (unsigned long long)q->high->policy->nodes : 0);
		break;
	case VMA_SPECIAL:
		say_special(q);
		break;
	case VMA_KEPT_APART:
		SAY(q, "%s: the lower has the word %#llx, the upper %#llx",
		    vma_verdict_text(VMA_KEPT_APART), (unsigned long long)q->low->word,
		    (unsigned long long)q->high->word);
		break;
	default:
		SAY(q, "nothing keeps them apart: Linux did not try when the last of them changed");
		break;
	}
}

static int explain(const struct vmspace *space, unsigned long a, unsigned long b,
		   struct vma_explanation *out)
{
	struct question q = { .space = space, .out = out };
	struct vma low, high;
	unsigned long at;
	uint64_t word;

	*out = (struct vma_explanation){ .verdict = VMA_MERGE_NONE };
	if (a > b) {
		at = a;
		a = b;
		b = at;
	}
	q.low = find_at(space, a);
	q.high = find_at(space, b);
	if (!q.low || !q.high) {
		SAY(&q, "there is no area at %#lx", q.low ? b : a);
		return -ENOENT;
	}
	out->low = q.low->start;
	out->high = q.high->start;
	if (q.low == q.high) {
		out->verdict = VMA_MERGED;
		SAY(&q, "they are one area");
		return 0;
	}
	if (space_is_snapshot(space) || space->origin) {
		shown_look(space, &low, q.low);
		shown_look(space, &high, q.high);
		q.low = &low;
		q.high = &high;
	}
	out->verdict = merge_verdict(q.low, q.high, space->config.page_size, &out->differ);
	if (out->verdict == VMA_MERGED && !q.low->anon_id != !q.high->anon_id &&
	    !rule_applies(&space->config, RULE_ANON_VMA_TAKEN))
		out->verdict = VMA_ANON_VMA_NOT_TAKEN;
	if (out->verdict == VMA_MERGED)
		out->verdict = backing_has_close(q.high->backing) ? VMA_SPECIAL
			       : words_verdict(space, q.low, q.high, &word);
	if (out->verdict == VMA_MERGED)
		out->verdict = VMA_NOT_TRIED;
	if (out->verdict != VMA_DIFFERENT_FLAGS && out->verdict != VMA_DIFFERENT_UFFD)
		out->differ = 0;
	say_why(&q);
	return 0;
}

int vmspace_explain(const struct vmspace *space, unsigned long a, unsigned long b,
		    struct vma_explanation *out)
{
	int result;

	sync_enter(space);
	result = explain(space, a, b, out);
	sync_leave(space);
	return result;
}
