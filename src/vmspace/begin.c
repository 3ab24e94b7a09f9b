/* SPDX-License-Identifier: MIT */
/*
 * begin.c - calls that the host makes between two of ours: what they hold meanwhile, the order in
 * which they go, and the memory that their end needs.
 *
 * Areas cannot be locked for that time: the call may make areas, and lookups and faults go on. So
 * what is held are ranges, in a list that is as long as calls are under way, protected by the
 * space's lock. What a call does to areas depends on those in its range and beside it, which it may
 * merge with, and on nothing else: so calls whose ranges, widened to whole areas, do not touch
 * can be completed in any order.
 */
#include <assert.h>
#include <errno.h>
#include <linux/futex.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <mapletree/vmspace_begin.h>

#include "begin.h"
#include "edit.h"
#include "find.h"
#include "mman_names.h"
#include "ops.h"
#include "request.h"
#include "stock.h"
#include "store.h"
#include "sync.h"

#ifdef SYS_futex_time64
#define FUTEX_CALL (sizeof(time_t) > sizeof(long) ? SYS_futex_time64 : SYS_futex)
#else
#define FUTEX_CALL SYS_futex
#endif

/* Nodes are reserved for a tree that many other calls change before the end. */
#define RANGES_MEANWHILE (1ul << 14)

struct hold { unsigned long start, end; }; /* [0, ULONG_MAX): everything */

/*
 * A call that waits for its ranges or, if `granted`, holds them.
 * granted  =>  no other granted call holds a range that touches one of hold[].
 */
struct vmspace_begun {
	struct vmspace_begun *next;  /* in the order in which they came */
	struct vmspace_request *req;
	struct hold hold[2];
	unsigned int holds;
	bool granted;
	long place;                  /* of an mmap that was placed here; 0: it was not */
	unsigned long stores;        /* that the call makes, at most */
	struct reserve reserve;      /* nodes for node_stores stores */
	struct vma *areas;           /* linked by list_next */
	unsigned long area_count;
	struct stock stock;          /* names, backings, policies */
};

/* ---- ranges ---------------------------------------------------------------------------------- */

static void hold_all(struct vmspace_begun *begun)
{
	begun->hold[0] = (struct hold){ 0, ULONG_MAX };
	begun->holds = 1;
}

static bool holds_all(const struct vmspace_begun *begun)
{
	return begun->hold[0].end == ULONG_MAX;
}

/* The range, and the whole of each area in it or adjacent to it. Everything, if it wraps around. */
static void hold_range(const struct vmspace *space, struct vmspace_begun *begun,
		       unsigned long start, unsigned long length)
{
	unsigned long end = space_ceil(space, start + length);
	const struct vma *vma;

	start = space_floor(space, start);
	if (end < start || length > ULONG_MAX - space->config.page_size) {
		hold_all(begun);
		return;
	}
	vma = find_first(space, start ? start - 1 : 0);
	if (vma && vma->start < start)
		start = vma->start;
	vma = find_at(space, end);
	if (vma)
		end = vma->end;
	begun->hold[begun->holds++] = (struct hold){ start, end };
}

static void hold_mmap(struct vmspace *space, struct vmspace_begun *begun)
{
	const struct vmspace_mmap *m = &begun->req->mmap;
	unsigned long length;
	long at;

	if (m->flags & (MAP_FIXED | MAP_FIXED_NOREPLACE)) {
		/* Of huge pages, a range may be longer than what was asked for. */
		map_where(space, m, &length);
		hold_range(space, begun, m->addr, length > m->length ? length : m->length);
		return;
	}
	at = map_where(space, m, &length);
	if (at <= 0) {
		hold_all(begun);
		return;
	}
	begun->place = at;
	hold_range(space, begun, (unsigned long)at, length);
}

static void hold_mremap(const struct vmspace *space, struct vmspace_begun *begun)
{
	const struct vmspace_mremap *m = &begun->req->mremap;
	bool grows = m->new_length > m->old_length, fixed = m->flags & MREMAP_FIXED;

	if (!fixed && m->flags & MREMAP_MAYMOVE && (grows || m->flags & MREMAP_DONTUNMAP)) {
		hold_all(begun);
		return;
	}
	hold_range(space, begun, m->addr, grows ? m->new_length : m->old_length);
	if (fixed && !holds_all(begun))
		hold_range(space, begun, m->new_addr, m->new_length);
}

static void hold_brk(const struct vmspace *space, struct vmspace_begun *begun)
{
	unsigned long start = space->image.start_brk, end = space->image.brk;

	if (begun->req->brk.brk > end)
		end = begun->req->brk.brk;
	hold_range(space, begun, start, end - start);
}

/* What the call is about, as far as that is known. */
static void claim(struct vmspace *space, struct vmspace_begun *begun)
{
	const struct vmspace_request *req = begun->req;

	begun->holds = 0;
	begun->place = 0;
	switch (req->op) {
	case VMSPACE_MMAP:
		hold_mmap(space, begun);
		break;
	case VMSPACE_MREMAP:
		hold_mremap(space, begun);
		break;
	case VMSPACE_BRK:
		hold_brk(space, begun);
		break;
	case VMSPACE_MUNMAP:
		hold_range(space, begun, req->munmap.addr, req->munmap.length);
		break;
	case VMSPACE_MPROTECT:
		hold_range(space, begun, req->mprotect.addr, req->mprotect.length);
		break;
	case VMSPACE_MADVISE:
		hold_range(space, begun, req->madvise.addr, req->madvise.length);
		break;
	case VMSPACE_MLOCK: case VMSPACE_MUNLOCK:
		hold_range(space, begun, req->mlock.addr, req->mlock.length);
		break;
	case VMSPACE_SET_ANON_NAME:
		hold_range(space, begun, req->set_anon_name.addr, req->set_anon_name.length);
		break;
	case VMSPACE_REMAP_FILE_PAGES:
		hold_range(space, begun, req->remap_file_pages.addr, req->remap_file_pages.size);
		break;
	case VMSPACE_MSEAL:
		hold_range(space, begun, req->mseal.addr, req->mseal.length);
		break;
	case VMSPACE_MSYNC:
		hold_range(space, begun, req->msync.addr, req->msync.length);
		break;
	case VMSPACE_MINCORE:
		hold_range(space, begun, req->mincore.addr, req->mincore.length);
		break;
	case VMSPACE_MBIND:
		hold_range(space, begun, req->mbind.addr, req->mbind.length);
		break;
	case VMSPACE_SET_HOME_NODE:
		hold_range(space, begun, req->home_node.addr, req->home_node.length);
		break;
	case VMSPACE_UFFD_REGISTER: case VMSPACE_UFFD_UNREGISTER:
		hold_range(space, begun, req->uffd.addr, req->uffd.length);
		break;
	case VMSPACE_SHMAT:
		if (req->shmat.addr)
			hold_range(space, begun, req->shmat.addr, req->shmat.size);
		else
			hold_all(begun);
		break;
	default:
		hold_all(begun);
		break;
	}
	assert(begun->holds);
}

/* Adjacent ranges touch: areas in them may be merged. */
static bool touch(const struct vmspace_begun *a, const struct vmspace_begun *b)
{
	for (unsigned int i = 0; i < a->holds; i++)
		for (unsigned int j = 0; j < b->holds; j++)
			if (a->hold[i].start <= b->hold[j].end &&
			    b->hold[j].start <= a->hold[i].end)
				return true;
	return false;
}

/* ---- order ----------------------------------------------------------------------------------- */

static void enqueue(struct sync *sync, struct vmspace_begun *begun)
{
	struct vmspace_begun **at = &sync->begun;

	while (*at)
		at = &(*at)->next;
	*at = begun;
}

/* It holds nothing any more, and waits for nothing. */
static void dequeue(struct sync *sync, struct vmspace_begun *begun)
{
	struct vmspace_begun **at = &sync->begun;

	while (*at != begun)
		at = &(*at)->next;
	*at = begun->next;
	__atomic_add_fetch(&sync->ends, 1, __ATOMIC_RELEASE);
	if (sync->waiting)
		syscall(FUTEX_CALL, &sync->ends, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
}

/*
 * It waits for those that hold what it needs, and for those that came before it and need it, too.
 * The first of those that wait waits only for calls that are under way: so one always goes on.
 */
static bool must_wait(const struct sync *sync, const struct vmspace_begun *begun)
{
	bool earlier = true;

	for (const struct vmspace_begun *other = sync->begun; other; other = other->next) {
		if (other == begun)
			earlier = false;
		else if ((earlier || other->granted) && touch(begun, other))
			return true;
	}
	return false;
}

/* The space's lock is given up meanwhile. */
static void wait_for_end(struct vmspace *space)
{
	struct sync *sync = space->sync;
	unsigned int ends = sync->ends;
	int before = errno;

	sync->waiting++;
	sync_leave(space);
	/* If one has ended since, it returns at once; so it does for a signal. */
	syscall(FUTEX_CALL, &sync->ends, FUTEX_WAIT_PRIVATE, ends, NULL, NULL, 0);
	errno = before;
	sync_enter(space);
	sync->waiting--;
}

static void wait_until_granted(struct vmspace *space, struct vmspace_begun *begun)
{
	claim(space, begun);
	while (must_wait(space->sync, begun)) {
		wait_for_end(space);
		claim(space, begun);
	}
	begun->granted = true;
}

/* ---- memory ---------------------------------------------------------------------------------- */

/* How many areas there are from `start` on, that begin below `end`. */
static unsigned long count_areas(const struct vmspace *space, unsigned long start,
				 unsigned long end)
{
	MA_STATE(mas, (struct maple_tree *)&space->tree, start, start);
	unsigned long count = 0;

	while (start < end && mas_find(&mas, end - 1))
		count++;
	return count;
}

/* How many there are in the ranges. */
static unsigned long count_held(const struct vmspace *space, const struct vmspace_begun *begun)
{
	unsigned long count = 0;

	if (holds_all(begun))
		return space->areas;
	for (unsigned int i = 0; i < begun->holds; i++)
		count += count_areas(space, begun->hold[i].start, begun->hold[i].end);
	return count;
}

/* Each area of the source moves, as reserve_moves() in remap.c has it. */
static unsigned long count_mremap_stores(const struct vmspace *space,
					 const struct vmspace_mremap *m)
{
	unsigned long end = m->addr + m->old_length, target = m->new_addr + m->new_length, stores;

	stores = 4 * count_areas(space, m->addr, end < m->addr ? ULONG_MAX : end) + 8;
	if (m->flags & MREMAP_FIXED)
		stores += count_areas(space, m->new_addr,
				      target < m->new_addr ? ULONG_MAX : target) / 64;
	return stores;
}

/* At most so many stores does the call make: see who calls store_reserve(). */
static unsigned long count_stores(struct vmspace *space, const struct vmspace_begun *begun)
{
	const struct vmspace_request *req = begun->req;
	unsigned long areas = count_held(space, begun), stores;

	switch (req->op) {
	case VMSPACE_MMAP: case VMSPACE_MUNMAP: case VMSPACE_BRK: case VMSPACE_SHMAT:
		stores = 4 + areas / 64;
		break;
	case VMSPACE_MSYNC: case VMSPACE_MINCORE: case VMSPACE_PKEY_ALLOC: case VMSPACE_PKEY_FREE:
		stores = 0;
		break;
	case VMSPACE_MREMAP:
		stores = count_mremap_stores(space, &req->mremap);
		break;
	case VMSPACE_PROCESS_MADVISE:
		stores = 2 * req->process_madvise.count + areas;
		for (size_t i = 0; i < req->process_madvise.count; i++) {
			unsigned long more = 0;

			edit_count(space, req->process_madvise.ranges[i].addr,
				   req->process_madvise.ranges[i].addr +
				   req->process_madvise.ranges[i].length, ~(vma_flags_t)0, &stores,
				   &more);
			stores += more;
		}
		break;
	default:
		stores = 4 + areas;
		break;
	}
	return stores > STORE_STEPS ? stores : STORE_STEPS;
}

static bool reserve_areas(struct vmspace *space, struct vmspace_begun *begun, unsigned long count)
{
	while (begun->area_count < count) {
		struct vma *vma = vma_alloc(&space->vmas);

		if (!vma)
			return false;
		vma->list_next = begun->areas;
		begun->areas = vma;
		begun->area_count++;
	}
	return true;
}

static bool stock_backing(struct stock *stock, const char *name)
{
	/* Memory without a file has a name that libvmspace gives it. */
	size_t least = sizeof("/anon_hugepage (deleted)"), length = name ? strlen(name) + 1 : 0;

	return stock_add(stock, sizeof(struct backing)) &&
	       stock_add(stock, length > least ? length : least);
}

static bool stock_policies(struct stock *stock, unsigned long count)
{
	while (count--)
		if (!stock_add(stock, sizeof(struct policy)))
			return false;
	return true;
}

/* What the call allocates besides nodes and areas. */
static bool fill_stock(const struct vmspace *space, struct vmspace_begun *begun)
{
	const struct vmspace_request *req = begun->req;
	struct stock *stock = &begun->stock;
	unsigned long areas;

	switch (req->op) {
	case VMSPACE_MMAP:
		return stock_backing(stock, req->mmap.backing.name);
	case VMSPACE_SHMAT:
		return stock_backing(stock, req->shmat.backing.name);
	case VMSPACE_SET_ANON_NAME:
		return !req->set_anon_name.name ||
		       stock_add(stock, sizeof(struct anon_name) + 1 +
					strlen(req->set_anon_name.name));
	case VMSPACE_MBIND:
		return stock_policies(stock, 1);
	case VMSPACE_SET_HOME_NODE:
		areas = count_held(space, begun);
		return stock_add(stock, (areas + 1) * sizeof(struct policy *)) &&
		       stock_policies(stock, areas);
	default:
		return true;
	}
}

/*
 * Where nodes are shared with a snapshot, copies of areas take nodes, too. A snapshot that is taken
 * later sees to that itself: begin_share(). 0 or -ENOMEM.
 */
static int reserve_nodes(const struct vmspace *space, struct vmspace_begun *begun,
			 unsigned long stores)
{
	unsigned long all = stores + (space->reserve.shared ? begun->area_count : 0);

	mas_set(&begun->reserve.nodes, 0);
	if (mas_reserve(&begun->reserve.nodes, all, RANGES_MEANWHILE))
		return -ENOMEM;
	begun->stores = stores;
	begun->reserve.node_stores = all;
	begun->reserve.valid_until = ULONG_MAX;
	return 0;
}

/* 0 or -ENOMEM. */
static int reserve(struct vmspace *space, struct vmspace_begun *begun)
{
	unsigned long stores = count_stores(space, begun);
	/* With each store may go two copies of areas; and see edit_count(). */
	unsigned long areas = 3 * stores + STORE_STEPS + 8;

	if (!reserve_areas(space, begun, areas) || !fill_stock(space, begun))
		return -ENOMEM;
	return reserve_nodes(space, begun, stores);
}

int begin_share(struct vmspace *space)
{
	struct vmspace_begun *begun = space->sync ? space->sync->begun : NULL;
	int err = 0;

	for (; begun && !err; begun = begun->next)
		if (begun->area_count)
			err = reserve_nodes(space, begun, begun->stores);
	return err;
}

/* Give back what is left. The space's lock is held. */
static void unreserve(struct vmspace *space, struct vmspace_begun *begun)
{
	reserve_clear(&begun->reserve);
	while (begun->areas) {
		struct vma *vma = begun->areas;

		begun->areas = vma->list_next;
		vma_release(&space->vmas, vma);
	}
	begun->area_count = 0;
	stock_clear(&begun->stock);
}

/* The areas that were allocated become the space's spare ones. */
static void hand_over(struct vma_store *vmas, struct vmspace_begun *begun)
{
	while (begun->areas) {
		struct vma *vma = begun->areas;

		begun->areas = vma->list_next;
		vma->list_next = vmas->spare;
		vmas->spare = vma;
		vmas->spares++;
	}
	begun->area_count = 0;
}

/* Complete with what was reserved in place of what the space has reserved itself. */
static void complete(struct vmspace *space, struct vmspace_begun *begun)
{
	struct reserve own = space->reserve;

	space->reserve = begun->reserve;
	space->reserve.shared = own.shared;
	hand_over(&space->vmas, begun);
	stock_use(&begun->stock);
	request_complete(space, begun->req);
	stock_use(NULL);
	own.stores += space->reserve.stores;
	reserve_clear(&space->reserve);
	space->reserve = own;
	reserve_init(&begun->reserve, &space->tree);
	vma_unreserve(&space->vmas, RESERVE_KEEP);
}

/* ---- calls ----------------------------------------------------------------------------------- */

static bool can_begin(const struct vmspace *space, const struct vmspace_request *req)
{
	return space->sync && request_known(req->op) && req->op != VMSPACE_FAULT &&
	       req->op != VMSPACE_FORK;
}

int vmspace_begin(struct vmspace *space, struct vmspace_request *req, struct vmspace_ticket *ticket)
{
	struct vmspace_begun *begun;
	unsigned long given;
	int err;

	*ticket = (struct vmspace_ticket){ 0 };
	if (space_is_snapshot(space))
		return -EROFS;
	if (!can_begin(space, req))
		return -EINVAL;
	begun = malloc(sizeof(*begun));
	if (!begun)
		return -ENOMEM;
	*begun = (struct vmspace_begun){ .req = req };
	reserve_init(&begun->reserve, &space->tree);
	given = request_untag(space, req);
	sync_enter(space);
	enqueue(space->sync, begun);
	wait_until_granted(space, begun);
	request_gather(space, req);
	err = reserve(space, begun);
	if (err) {
		unreserve(space, begun);
		dequeue(space->sync, begun);
	}
	sync_leave(space);
	request_tag(space, req, given);
	if (err) {
		free(begun);
		return err;
	}
	if (begun->place) {
		req->mmap.addr = (unsigned long)begun->place;
		req->mmap.flags |= MAP_FIXED_NOREPLACE;
	}
	ticket->begun = begun;
	return 0;
}

static void finish(struct vmspace *space, struct vmspace_ticket *ticket, bool made)
{
	struct vmspace_begun *begun = ticket->begun;
	unsigned long given = request_untag(space, begun->req);

	assert(begun->granted);
	sync_enter(space);
	if (made)
		complete(space, begun);
	unreserve(space, begun);
	dequeue(space->sync, begun);
	sync_leave(space);
	request_tag(space, begun->req, given);
	free(begun);
	ticket->begun = NULL;
}

long vmspace_end(struct vmspace *space, struct vmspace_ticket *ticket, long result)
{
	struct vmspace_request *req = ticket->begun->req;

	req->host.valid = true;
	req->host.result = result;
	finish(space, ticket, true);
	return req->out.result;
}

void vmspace_cancel(struct vmspace *space, struct vmspace_ticket *ticket)
{
	finish(space, ticket, false);
}
