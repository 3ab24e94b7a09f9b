/* SPDX-License-Identifier: MIT */
/*
 * touch.c - page faults in a space with pages, by any thread at any time.
 *
 * The fast path read-locks the one area that covers the address. The slow path takes the space's
 * lock: if there is no area, or it is being changed, has to grow, or needs an anon_vma.
 */
#include <assert.h>
#include <errno.h>
#include <urcu/urcu-bp.h>

#include "anon_vma.h"
#include "fault.h"
#include "find.h"
#include "inherited.h"
#include "outcome.h"
#include "store.h"
#include "sync.h"
#include "touch.h"

/* Not a result: retry with the space's lock. */
#define NEEDS_SPACE_LOCK ((enum vmspace_fault_result)-1)

/*
 * Read-lock the area that covers addr, by *slot if that is not NULL then. NULL: take the slow path.
 */
static struct vma *lock_area(struct vmspace *space, unsigned long addr, struct slot **slot)
{
	struct vma *vma;

	*slot = NULL;
	urcu_bp_read_lock();
	vma = mtree_load(&space->tree, addr);
	if (vma && !sync_share(space, vma, slot))
		vma = NULL;
	urcu_bp_read_unlock();
	/* It may have been split or moved, or its memory reused, since it was found. */
	if (vma && (addr < vma->start || addr >= vma->end)) {
		sync_unshare(space, vma, *slot);
		vma = NULL;
	}
	return vma;
}

/* An access by a thread. */
struct touch {
	unsigned long addr;
	unsigned int access;
	struct vmspace_page *page;
	void (*use)(void *ctx, const struct vmspace_page *page); /* or NULL */
	void *ctx;
	struct frame **pin;          /* to be set; or NULL */
	struct vmspace_outcome *out; /* of a request, for events of areas; or NULL */
};

/*
 * Call t->use. A writable page stays while the area is locked, as does the frame of zeros; any
 * other may be replaced when another thread writes to it, so its frame is referenced meanwhile.
 */
static void use_page(struct vmspace *space, const struct vma *vma, const struct touch *t)
{
	struct frame *held;

	if (t->pin)
		*t->pin = pages_pin(space->pages, t->addr, t->access & VMSPACE_ACCESS_WRITE);
	if (!t->use)
		return;
	if ((t->access | t->page->access) & VMSPACE_ACCESS_WRITE ||
	    t->page->kind == VMSPACE_PAGE_ZERO) {
		t->use(t->ctx, t->page);
		return;
	}
	held = pages_lookup(space->pages, vma, t->addr, t->page);
	t->use(t->ctx, t->page);
	pages_release(space->pages, held);
}

/* Nobody's userfaultfd is to hear of it, or to miss it. */
static bool may_fault_around(const struct vma *vma)
{
	return !(vma->flags & (VMA_UFFD_MISSING | VMA_UFFD_WP | VMA_UFFD_MINOR));
}

/* slot: the calling thread has read-locked the area by it; or NULL. */
static enum vmspace_fault_result resolve(struct vmspace *space, const struct vma *vma,
					 const struct touch *t, struct slot *slot)
{
	enum vmspace_fault_result result = VMSPACE_FAULT_OK;

	if (!slot || !pages_glance(space->pages, vma, t->addr, t->access, slot, t->page)) {
		result = pages_fault(space->pages, vma, t->addr, t->access, t->page);
		if (result == VMSPACE_FAULT_OK && may_fault_around(vma))
			pages_fault_around(space->pages, vma, t->addr, t->access);
	} else if (may_fault_around(vma)) {
		/* Before a call that changes areas is over, what is found holds for its old number. */
		pages_open_around(space->pages, vma, t->addr, t->access,
				  __atomic_load_n(&space->sync->seq, __ATOMIC_ACQUIRE));
	}
	if (result == VMSPACE_FAULT_OK) {
		outcome_fault_event(space, t->page);
		use_page(space, vma, t);
	}
	return result;
}

/* Does this access, which is permitted, make the area need an anon_vma? */
static bool needs_anon_vma(const struct vmspace *space, const struct vma *vma,
			   const struct touch *t)
{
	return !shown_anon_id(space, vma) && vma_may_have_anon_vma(vma) &&
	       fault_needs_anon(space, vma, t->addr, t->access);
}

static enum vmspace_fault_result touch_fast(struct vmspace *space, const struct touch *t)
{
	enum vmspace_fault_result result;
	struct slot *slot;
	struct vma *vma = lock_area(space, t->addr, &slot);

	sync_count_fault(space, vma ? slot : NULL);
	if (!vma)
		return NEEDS_SPACE_LOCK;
	if (!fault_permitted(space, vma, t->access))
		result = VMSPACE_FAULT_ACCERR;
	else if (needs_anon_vma(space, vma, t))
		result = NEEDS_SPACE_LOCK;
	else
		result = resolve(space, vma, t, slot);
	sync_unshare(space, vma, slot);
	return result;
}

/*
 * The stack above grows down to addr: first the page, as that may run out of memory, then the area.
 */
static enum vmspace_fault_result grow(struct vmspace *space, struct vma *vma,
				      const struct touch *t)
{
	unsigned long addr = t->addr, to = space_floor(space, addr);
	enum vmspace_fault_result result;
	const struct vma *below;
	struct vma grown;

	if (store_reserve(space, STORE_STEPS, STORE_STEPS))
		return VMSPACE_FAULT_NOMEM;
	if (fault_may_grow_down(space, vma, addr) || !fault_permitted(space, vma, t->access))
		return fault_grow_down(space, vma, addr) ? VMSPACE_FAULT_MAPERR
							 : VMSPACE_FAULT_ACCERR;
	shown_fill(space, &grown, vma);
	grown.pgoff -= space_pages(space, vma->start - to);
	grown.start = to;
	/* Nobody else may be in what it grows by; in the area itself there may be others. */
	grown.end = vma->start;
	result = resolve(space, &grown, t, NULL);
	if (result == VMSPACE_FAULT_OK && !fault_grow_down(space, vma, addr))
		return VMSPACE_FAULT_OK;
	below = find_before(space, vma->start);
	pages_unmap(space->pages, to, vma->start, below ? below->end : 0, vma->start);
	return result == VMSPACE_FAULT_OK ? VMSPACE_FAULT_NOMEM : result;
}

/* There is no area, or it has to change. The space's lock is held. */
static enum vmspace_fault_result touch_slow(struct vmspace *space, struct vma *vma,
					    const struct touch *t)
{
	enum vmspace_fault_result result;

	if (!vma) {
		vma = find_first(space, t->addr);
		if (!vma || !(vma->flags & VMA_GROWSDOWN))
			return VMSPACE_FAULT_MAPERR;
		return grow(space, vma, t);
	}
	if (!fault_permitted(space, vma, t->access))
		return VMSPACE_FAULT_ACCERR;
	result = resolve(space, vma, t, NULL);
	/* Also beyond the end of a file: Linux looks for the page only afterwards. */
	if ((result == VMSPACE_FAULT_OK || result == VMSPACE_FAULT_BUS) &&
	    needs_anon_vma(space, vma, t))
		anon_vma_prepare(space, vma);
	return result;
}

/*
 * The slow path. Under the space's lock any area may be read. If this one does not have to change,
 * continue with its lock alone, so that nobody else has to wait.
 */
static enum vmspace_fault_result touch_locked(struct vmspace *space, const struct touch *t)
{
	enum vmspace_fault_result result;
	struct vma *vma;

	sync_enter(space);
	vma = find_at(space, t->addr);
	if (vma && fault_permitted(space, vma, t->access) && !needs_anon_vma(space, vma, t) &&
	    sync_read_lock(space, vma)) {
		sync_leave(space);
		result = resolve(space, vma, t, NULL);
		sync_read_unlock(space, vma);
		return result;
	}
	space->out = t->out;
	result = touch_slow(space, vma, t);
	space->out = NULL;
	sync_leave(space);
	return result;
}

/* In a space without pages: as a request. */
static enum vmspace_fault_result touch_alone(struct vmspace *space, unsigned long addr,
					     unsigned int access)
{
	struct vmspace_request req = { .op = VMSPACE_FAULT, .fault = { addr, access } };

	switch (vmspace_call(space, &req)) {
	case 0:
		return VMSPACE_FAULT_OK;
	case -EFAULT:
		return VMSPACE_FAULT_MAPERR;
	case -EACCES:
		return VMSPACE_FAULT_ACCERR;
	case -EROFS: /* a snapshot has no pages */
		return VMSPACE_FAULT_BUS;
	default:
		return VMSPACE_FAULT_NOMEM;
	}
}

static enum vmspace_fault_result touch(struct vmspace *space, const struct touch *t)
{
	enum vmspace_fault_result result;

	*t->page = (struct vmspace_page){ .addr = space_floor(space, t->addr) };
	if (!space->pages)
		return touch_alone(space, t->addr, t->access);
	result = touch_fast(space, t);
	if (result != NEEDS_SPACE_LOCK)
		return result;
	sync_count_locked(space);
	return touch_locked(space, t);
}

enum vmspace_fault_result vmspace_touch(struct vmspace *space, unsigned long addr,
					unsigned int access, struct vmspace_page *page)
{
	struct vmspace_page unwanted;
	struct touch t = { .addr = addr, .access = access, .page = page ? page : &unwanted };

	return touch(space, &t);
}

enum vmspace_fault_result vmspace_access(struct vmspace *space, unsigned long addr,
					 unsigned int access,
					 void (*use)(void *ctx, const struct vmspace_page *page),
					 void *ctx)
{
	struct vmspace_page page;
	struct touch t = { .addr = addr, .access = access, .page = &page, .use = use, .ctx = ctx };

	return touch(space, &t);
}

bool vmspace_peek(struct vmspace *space, unsigned long addr, struct vmspace_page *page)
{
	struct vmspace_page unwanted, *out = page ? page : &unwanted;
	struct slot *slot;
	struct vma *vma;

	*out = (struct vmspace_page){ .addr = space_floor(space, addr) };
	if (!space->pages)
		return false;
	vma = lock_area(space, addr, &slot);
	if (vma) {
		pages_peek(space->pages, vma, addr, slot, out);
		sync_unshare(space, vma, slot);
		return out->frame;
	}
	sync_enter(space);
	vma = find_at(space, addr);
	if (vma)
		pages_peek(space->pages, vma, addr, NULL, out);
	sync_leave(space);
	return out->frame;
}

enum vmspace_fault_result touch_pin(struct vmspace *space, unsigned long addr, unsigned int access,
				    struct frame **pin)
{
	struct vmspace_page page;
	struct touch t = { .addr = addr, .access = access, .page = &page, .pin = pin };
	enum vmspace_fault_result result;

	*pin = NULL;
	result = touch(space, &t);
	/* A stack could not grow to the page in the end. */
	if (result && *pin)
		pages_unpin(space->config.memory, *pin, access & VMSPACE_ACCESS_WRITE);
	return result;
}

long touch_call(struct vmspace *space, struct vmspace_request *req)
{
	struct vmspace_page page;
	const struct touch t = { .addr = req->fault.addr, .access = req->fault.access,
				 .page = &page, .out = &req->out };

	switch (touch(space, &t)) {
	case VMSPACE_FAULT_OK:
		return 0;
	case VMSPACE_FAULT_MAPERR:
		return -EFAULT;
	case VMSPACE_FAULT_ACCERR:
		return -EACCES;
	case VMSPACE_FAULT_BUS:
		req->out.why = "there is no such page: SIGBUS";
		return -ENXIO;
	case VMSPACE_FAULT_NOMEM:
	default:
		req->out.why = "no memory for the page";
		req->out.out_of_memory = true;
		return -ENOMEM;
	}
}

int touch_reserve(struct vmspace *space, struct vma *vma, vma_flags_t flags, unsigned long start,
		  unsigned long end, unsigned int access, unsigned long delta, bool fresh)
{
	struct vma then;
	int err;

	if (!fresh)
		sync_write_lock(space, vma);
	shown_fill(space, &then, vma);
	then.flags = flags;
	store_reserve_pages(space);
	err = pages_reserve(space->pages, &then, start, end, access & VMSPACE_ACCESS_WRITE, delta,
			    fresh);
	return err < 0 ? (int)outcome_no_memory(space) : err;
}

bool touch_meets_guard(struct vmspace *space, const struct vma *vma, unsigned long addr)
{
	struct vmspace_page page = { 0 };

	if (space->pages)
		pages_peek(space->pages, vma, addr, NULL, &page);
	return page.kind == VMSPACE_PAGE_GUARD;
}

long touch_range(struct vmspace *space, const struct vma *vma, unsigned long start,
		 unsigned long end, unsigned int access)
{
	struct vmspace_page page = { 0 };

	assert(vma->start <= start && start < end && end <= vma->end);
	assert(fault_permitted(space, vma, access));
	if (!space->pages)
		return vma_passes_file(vma, end, space->config.page_size) ? -EFAULT : 0;
	for (unsigned long addr = start; addr < end; addr += space->config.page_size) {
		switch (pages_populate(space->pages, vma, addr, access, &page)) {
		case VMSPACE_FAULT_OK:
			outcome_fault_event(space, &page);
			break;
		case VMSPACE_FAULT_NOMEM:
			return -ENOMEM;
		default:
			return -EFAULT;
		}
	}
	return 0;
}
