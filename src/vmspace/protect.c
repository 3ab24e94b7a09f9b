/* SPDX-License-Identifier: MIT */
/*
 * protect.c - mprotect and pkey_mprotect: area by area, up to the first error; pkey_alloc and
 * pkey_free.
 */
#include <errno.h>
#include <sys/mman.h>

#include "accounting.h"
#include "commit.h"
#include "edit.h"
#include "inherited.h"
#include "ops.h"
#include "outcome.h"
#include "pkey.h"

#ifndef PROT_SEM
#define PROT_SEM 0x8
#endif
#ifndef PROT_BTI
#define PROT_BTI 0x10
#endif

vma_flags_t protect_flags(const struct vmspace *space, int prot)
{
	return (prot & PROT_READ ? VMA_READ : 0) | (prot & PROT_WRITE ? VMA_WRITE : 0) |
	       (prot & PROT_EXEC ? VMA_EXEC : 0) |
	       (prot & PROT_BTI && space->config.bti ? VMA_BTI : 0);
}

bool protect_allowed(vma_flags_t flags)
{
	return !((flags & VMA_READ && !(flags & VMA_MAYREAD)) ||
		 (flags & VMA_WRITE && !(flags & VMA_MAYWRITE)) ||
		 (flags & VMA_EXEC && !(flags & VMA_MAYEXEC)));
}

/* Private areas are charged when they become writable, until they are read-only without pages. */
static vma_flags_t with_account(const struct vmspace *space, const struct vma *vma,
				vma_flags_t flags)
{
	if (flags & VMA_WRITE) {
		if (!(vma->flags & (VMA_ACCOUNT | VMA_WRITE | VMA_HUGETLB | VMA_SHARED |
				    VMA_NORESERVE)) &&
		    map_accountable(flags))
			flags |= VMA_ACCOUNT;
	} else if ((flags & VMA_ACCOUNT) && vma_is_anon(vma) && !shown_anon_id(space, vma) &&
		   rule_decides(space, RULE_PROTECT_UNCHARGES)) {
		flags &= ~VMA_ACCOUNT;
	}
	return flags;
}

/* The request, its arguments checked. */
struct change {
	unsigned long start, end;
	int prot, pkey;
	bool foreseen;               /* libvmspace predicts the host's error */
};

/* The attributes that a part of vma gets; or the error that ends the request there. */
static long new_flags(struct vmspace *space, const struct vma *vma, const struct change *c,
		      struct edit_attrs *want)
{
	int prot = c->prot;

	if ((prot & PROT_READ) && space->config.read_implies_exec && (vma->flags & VMA_MAYEXEC))
		prot |= PROT_EXEC;
	want->flags = (want->flags & ~(VMA_ACCESS_FLAGS | VMA_BTI)) | protect_flags(space, prot);
	want->tags.pkey = c->pkey >= 0 ? (unsigned int)c->pkey : pkey_protected(space, vma, c->prot);
	if (!protect_allowed(want->flags))
		return -EACCES;
	if (vma->flags & VMA_SEALED)
		return outcome_fail(space, -EPERM, "the area is sealed");
	return 0;
}

/* Would part of an area become too much data? `before`: what became data before it. */
static bool exceeds_data(const struct vmspace *space, const struct vma *vma, vma_flags_t flags,
			 unsigned long pages, unsigned long before)
{
	return account_is_data(flags) && !account_is_data(vma->flags) &&
	       account_may_expand(space, vma->flags, pages) &&
	       !account_may_hold_data(space, flags, before + pages);
}

/* Did the host stop at this area, for a reason that is not predicted? */
static bool refused(struct vmspace *space, const struct vma *vma, vma_flags_t flags,
		    const struct change *c)
{
	if (!space->host_error || c->foreseen)
		return false;
	if (space->host_error == -ENOMEM)
		return flags & ~vma->flags & VMA_ACCOUNT;
	return vma->backing != NULL;
}

static long protect_part(struct edit_span *span, const struct change *c)
{
	struct vmspace *space = span->space;
	const struct vma *vma = span->vma;
	struct edit_attrs want = edit_attrs_of(vma);
	bool was_unwritable_locked;
	long err;

	/* Linux looks for a key first, whatever the area then says. */
	if (c->pkey < 0 && c->prot == PROT_EXEC)
		pkey_execute_only(space);
	err = new_flags(space, vma, c, &want);

	if (err || (want.flags == vma->flags && want.tags.pkey == vma->tags.pkey))
		return err;
	if (exceeds_data(space, vma, want.flags, space_pages(space, span->to - span->from), 0))
		err = outcome_limit(space, -ENOMEM, "RLIMIT_DATA reached");
	if (err)
		return err;
	want.flags = with_account(space, vma, want.flags);
	if (refused(space, vma, want.flags, c))
		return outcome_fail(space, space->host_error, "refused by the host");
	if (want.flags & ~vma->flags & VMA_ACCOUNT)
		err = commit_check(space, space_pages(space, span->to - span->from));
	if (err)
		return err;
	was_unwritable_locked = (vma->flags & (VMA_WRITE | VMA_SHARED | VMA_LOCKED)) == VMA_LOCKED;
	err = edit_change(span, &want);
	if (!err && was_unwritable_locked && (want.flags & VMA_WRITE))
		lock_populate(space, span->from, span->to);
	return err;
}

/* The error predicted from the present areas. */
static long foresee(struct vmspace *space, const struct change *c)
{
	unsigned long data = 0; /* more, or with wrap-around less */
	struct edit_span span;

	edit_span_init(&span, space, c->start, c->end);
	while (edit_next(&span) && !span.hole) {
		unsigned long pages = space_pages(space, span.to - span.from);
		struct edit_attrs want = edit_attrs_of(span.vma);
		long err = new_flags(space, span.vma, c, &want);

		if (err)
			return err;
		if (exceeds_data(space, span.vma, want.flags, pages, data))
			return -ENOMEM;
		if ((want.flags != span.vma->flags || want.tags.pkey != span.vma->tags.pkey) &&
		    edit_check_cuts(space, span.vma, span.from, span.to))
			return -EINVAL;
		if ((with_account(space, span.vma, want.flags) & ~span.vma->flags & VMA_ACCOUNT) &&
		    commit_too_large(space, pages))
			return -ENOMEM;
		data += account_is_data(want.flags) ? pages : 0;
		data -= account_is_data(span.vma->flags) ? pages : 0;
	}
	return span.hole ? -ENOMEM : 0;
}

static long check_arguments(struct vmspace *space, const struct vmspace_mprotect *args,
			    const struct change *c)
{
	int grow = args->prot & (PROT_GROWSDOWN | PROT_GROWSUP);

	if (grow == (PROT_GROWSDOWN | PROT_GROWSUP) || !space_aligned(space, c->start))
		return -EINVAL;
	if (!args->length)
		return 0;
	if (c->end <= c->start)
		return -ENOMEM;
	if (c->prot & ~(PROT_READ | PROT_WRITE | PROT_EXEC | PROT_SEM |
			(space->config.bti ? PROT_BTI : 0)))
		return -EINVAL;
	if (c->pkey != -1 && !pkey_usable(space, c->pkey))
		return outcome_fail(space, -EINVAL, "the key is not allocated");
	return 0;
}

/* Check the first area; with PROT_GROWSDOWN the range is extended to its start. */
static long check_first(struct edit_span *span, const struct vmspace_mprotect *args,
			struct change *c)
{
	if (!edit_next(span))
		return -ENOMEM;
	if (args->prot & PROT_GROWSDOWN) {
		c->start = span->from = span->vma->start;
		return span->vma->flags & VMA_GROWSDOWN ? 0 : -EINVAL;
	}
	if (span->hole)
		return -ENOMEM;
	return args->prot & PROT_GROWSUP ? -EINVAL : 0;
}

/* Locked areas that become writable are populated: reserve for that. */
static long reserve_pages(struct vmspace *space, const struct change *c)
{
	struct edit_span span;
	long err = 0;

	if (!space->pages || !space->locked_vm || !(c->prot & PROT_WRITE))
		return 0;
	edit_span_init(&span, space, c->start, c->end);
	while (err >= 0 && edit_next(&span) && !span.hole) {
		struct edit_attrs want = edit_attrs_of(span.vma);

		if ((want.flags & (VMA_WRITE | VMA_SHARED | VMA_LOCKED)) != VMA_LOCKED)
			continue;
		if (new_flags(space, span.vma, c, &want))
			break;
		err = lock_reserve(space, span.vma, want.flags, span.from, span.to, 0, false);
	}
	return err < 0 ? err : 0;
}

long protect_call(struct vmspace *space, struct vmspace_request *req)
{
	const struct vmspace_mprotect *args = &req->mprotect;
	struct change c = {
		.start = args->addr, .end = args->addr + space_ceil(space, args->length),
		.prot = args->prot & ~(PROT_GROWSDOWN | PROT_GROWSUP), .pkey = args->pkey,
	};
	long err = check_arguments(space, args, &c);
	struct edit_span span;

	if (err || !args->length)
		return err;
	edit_span_init(&span, space, c.start, c.end);
	err = check_first(&span, args, &c);
	if (err)
		return err;
	span.changes = VMA_ACCESS_FLAGS | VMA_BTI | VMA_ACCOUNT;
	c.foreseen = space->host_error && foresee(space, &c) == space->host_error;
	err = reserve_pages(space, &c);
	if (err)
		return err;
	space->out->why = NULL;
	do {
		err = protect_part(&span, &c);
		if (err)
			return err;
	} while (edit_next(&span) && !span.hole);
	return span.hole ? -ENOMEM : 0;
}

#define KEY_RIGHTS 3ul /* PKEY_DISABLE_ACCESS | PKEY_DISABLE_WRITE */

long pkey_alloc_call(struct vmspace *space, struct vmspace_request *req)
{
	if (req->pkey_alloc.flags || (req->pkey_alloc.rights & ~KEY_RIGHTS))
		return -EINVAL;
	pkey_learn(space, req->host.result);
	if (space->host_error)
		return outcome_fail(space, space->host_error, "refused by the host");
	return pkey_allocate(space);
}

long pkey_free_call(struct vmspace *space, struct vmspace_request *req)
{
	if (!pkey_usable(space, req->pkey_free.pkey))
		return -EINVAL;
	if (space->host_error)
		return outcome_fail(space, space->host_error, "refused by the host");
	pkey_release(space, req->pkey_free.pkey);
	return 0;
}
