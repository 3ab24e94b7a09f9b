/* SPDX-License-Identifier: MIT */
/* request.c - gathers, completes and aborts requests. */
#include <assert.h>
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "accounting.h"
#include "space_check.h"
#include "fault.h"
#include "host.h"
#include "ops.h"
#include "outcome.h"
#include "past.h"
#include "request.h"
#include "store.h"
#include "sync.h"
#include "touch.h"

typedef long (*op_fn)(struct vmspace *space, struct vmspace_request *req);

static const struct {
	const char *name;
	op_fn call;
} ops[VMSPACE_OP_COUNT] = {
	[VMSPACE_MMAP] = { "mmap", map_call },
	[VMSPACE_MUNMAP] = { "munmap", unmap_call },
	[VMSPACE_MPROTECT] = { "mprotect", protect_call },
	[VMSPACE_MREMAP] = { "mremap", remap_call },
	[VMSPACE_BRK] = { "brk", brk_call },
	[VMSPACE_MADVISE] = { "madvise", advise_call },
	[VMSPACE_MLOCK] = { "mlock", lock_call },
	[VMSPACE_MUNLOCK] = { "munlock", unlock_call },
	[VMSPACE_MLOCKALL] = { "mlockall", lock_all_call },
	[VMSPACE_MUNLOCKALL] = { "munlockall", unlock_all_call },
	[VMSPACE_SET_ANON_NAME] = { "prctl(PR_SET_VMA)", name_call },
	[VMSPACE_SHMAT] = { "shmat", shm_attach_call },
	[VMSPACE_SHMDT] = { "shmdt", shm_detach_call },
	[VMSPACE_REMAP_FILE_PAGES] = { "remap_file_pages", remap_pages_call },
	[VMSPACE_MSEAL] = { "mseal", seal_call },
	[VMSPACE_FAULT] = { "fault", fault_call },
	[VMSPACE_FORK] = { "fork", fork_call },
	[VMSPACE_MSYNC] = { "msync", sync_call },
	[VMSPACE_MINCORE] = { "mincore", incore_call },
	[VMSPACE_MBIND] = { "mbind", bind_call },
	[VMSPACE_SET_HOME_NODE] = { "set_mempolicy_home_node", home_node_call },
	[VMSPACE_PROCESS_MADVISE] = { "process_madvise", process_advise_call },
	[VMSPACE_UFFD_REGISTER] = { "ioctl(UFFDIO_REGISTER)", uffd_register_call },
	[VMSPACE_UFFD_UNREGISTER] = { "ioctl(UFFDIO_UNREGISTER)", uffd_unregister_call },
	[VMSPACE_UFFD_RELEASE] = { "close(userfaultfd)", uffd_release_call },
	[VMSPACE_PKEY_ALLOC] = { "pkey_alloc", pkey_alloc_call },
	[VMSPACE_PKEY_FREE] = { "pkey_free", pkey_free_call },
};

static bool known(enum vmspace_op op)
{
	return (unsigned int)op < VMSPACE_OP_COUNT && ops[op].call;
}

bool request_known(enum vmspace_op op)
{
	return known(op);
}

const char *vmspace_op_name(enum vmspace_op op)
{
	return known(op) ? ops[op].name : "unknown";
}

/* Rounded up to pages, as most calls do: an area that begins right after is a neighbour. */
static void query_host(struct vmspace *space, unsigned long start, unsigned long length)
{
	unsigned long end = space_ceil(space, start + length);

	if (length && end <= start)
		end = ULONG_MAX;
	host_grow_stacks(space, start, end);
	host_query_anon(space, start, end);
}

static void gather_brk(struct vmspace *space, unsigned long wanted)
{
	unsigned long now = space_ceil(space, space->image.brk), to = space_ceil(space, wanted);

	if (to < now)
		query_host(space, to, now - to);
	else
		query_host(space, now, to - now);
}

static void gather(struct vmspace *space, const struct vmspace_request *req)
{
	switch (req->op) {
	case VMSPACE_MMAP:
		map_gather(space, &req->mmap);
		break;
	case VMSPACE_MUNMAP:
		query_host(space, req->munmap.addr, req->munmap.length);
		break;
	case VMSPACE_MPROTECT:
		query_host(space, req->mprotect.addr, req->mprotect.length);
		break;
	case VMSPACE_MREMAP:
		query_host(space, req->mremap.addr, req->mremap.old_length);
		if (req->mremap.new_addr)
			query_host(space, req->mremap.new_addr, req->mremap.new_length);
		remap_gather(space, &req->mremap);
		break;
	case VMSPACE_BRK:
		gather_brk(space, req->brk.brk);
		break;
	case VMSPACE_MADVISE:
		query_host(space, req->madvise.addr, req->madvise.length);
		break;
	case VMSPACE_MLOCK:
	case VMSPACE_MUNLOCK:
		query_host(space, req->mlock.addr, req->mlock.length);
		break;
	case VMSPACE_SET_ANON_NAME:
		query_host(space, req->set_anon_name.addr, req->set_anon_name.length);
		break;
	case VMSPACE_MSEAL:
		query_host(space, req->mseal.addr, req->mseal.length);
		break;
	case VMSPACE_REMAP_FILE_PAGES:
		query_host(space, req->remap_file_pages.addr, req->remap_file_pages.size);
		break;
	case VMSPACE_MBIND:
		query_host(space, req->mbind.addr, req->mbind.length);
		break;
	case VMSPACE_SET_HOME_NODE:
		query_host(space, req->home_node.addr, req->home_node.length);
		break;
	case VMSPACE_PROCESS_MADVISE:
		for (size_t i = 0; i < req->process_madvise.count; i++)
			query_host(space, req->process_madvise.ranges[i].addr,
				   req->process_madvise.ranges[i].length);
		break;
	case VMSPACE_UFFD_REGISTER:
	case VMSPACE_UFFD_UNREGISTER:
		query_host(space, req->uffd.addr, req->uffd.length);
		break;
	case VMSPACE_MLOCKALL:
	case VMSPACE_MUNLOCKALL:
	case VMSPACE_FORK:
	case VMSPACE_UFFD_RELEASE:
		query_host(space, 0, ULONG_MAX);
		break;
	case VMSPACE_SHMAT:
		/* SHM_REMAP cuts what is there; segments merge with nothing. */
		if (req->shmat.addr)
			query_host(space, space_floor(space, req->shmat.addr), req->shmat.size);
		break;
	default: /* nothing that the others decide depends on the host */
		break;
	}
}

/* Out of line: most spaces have no host to ask. */
static __attribute__((noinline)) void gather_locked(struct vmspace *space,
						    const struct vmspace_request *req)
{
	sync_enter(space);
	gather(space, req);
	store_end_call(space);
	sync_leave(space);
}

void request_gather(struct vmspace *space, const struct vmspace_request *req)
{
	if (space->config.host.has_anon || space->config.host.stack_start) {
		gather(space, req);
		store_end_call(space);
	}
}

/* The address whose tag does not count (config.address_tags); NULL: it has none. */
static unsigned long *tagged_address(struct vmspace_request *req)
{
	switch (req->op) {
	case VMSPACE_MUNMAP: return &req->munmap.addr;
	case VMSPACE_MPROTECT: return &req->mprotect.addr;
	case VMSPACE_MREMAP: return &req->mremap.addr;
	case VMSPACE_MADVISE: return &req->madvise.addr;
	case VMSPACE_MLOCK: case VMSPACE_MUNLOCK: return &req->mlock.addr;
	case VMSPACE_MSYNC: return &req->msync.addr;
	case VMSPACE_MINCORE: return &req->mincore.addr;
	case VMSPACE_MBIND: return &req->mbind.addr;
	case VMSPACE_SET_HOME_NODE: return &req->home_node.addr;
	case VMSPACE_MSEAL: return &req->mseal.addr;
	case VMSPACE_FAULT: return &req->fault.addr;
	default: return NULL;
	}
}

/* Take the tag off the request's address, if that can have one. Returns the address as it was. */
static unsigned long untag(const struct vmspace *space, struct vmspace_request *req)
{
	unsigned long *addr = space->config.address_tags ? tagged_address(req) : NULL;
	unsigned long given = addr ? *addr : 0;

	/* Bit 55 tells the user's half of the addresses (0). In the other nothing is a tag. */
	if (addr && !((uint64_t)given >> 55 & 1))
		*addr = (unsigned long)((uint64_t)given << 8 >> 8);
	return given;
}

static void tag_again(const struct vmspace *space, struct vmspace_request *req, unsigned long given)
{
	if (space->config.address_tags && tagged_address(req))
		*tagged_address(req) = given;
}

unsigned long request_untag(const struct vmspace *space, struct vmspace_request *req)
{
	return untag(space, req);
}

void request_tag(const struct vmspace *space, struct vmspace_request *req, unsigned long given)
{
	tag_again(space, req, given);
}

static inline void gather_known(struct vmspace *space, struct vmspace_request *req)
{
	if (space->config.host.has_anon || space->config.host.stack_start) {
		unsigned long given = untag(space, req);

		gather_locked(space, req);
		tag_again(space, req, given);
	}
}

int vmspace_gather(struct vmspace *space, struct vmspace_request *req)
{
	if (!known(req->op))
		return -EINVAL;
	if (space_is_snapshot(space))
		return -EROFS;
	gather_known(space, req);
	return 0;
}

void vmspace_abort(struct vmspace *space, struct vmspace_request *req)
{
	(void)space;
	(void)req;
}

static bool is_error(long result)
{
	return result < 0 && result >= -4095;
}

static bool is_inside(const struct vmspace *space, unsigned long addr, unsigned long length)
{
	unsigned long size = space->config.task_size;

	return space_aligned(space, addr) && length && length <= size && addr <= size - length;
}

/* Can a kernel have returned this? A host's impossible result must not corrupt the areas. */
static bool is_possible(const struct vmspace *space, const struct vmspace_request *req)
{
	unsigned long at = (unsigned long)req->host.result;

	switch (req->op) {
	case VMSPACE_MMAP:
		return map_may_be_at(space, &req->mmap, at);
	case VMSPACE_SHMAT:
		return is_inside(space, at, req->shmat.size);
	case VMSPACE_MREMAP:
		return remap_may_be_at(space, &req->mremap, at);
	default:
		return true;
	}
}

/*
 * With MT_DEBUG=2 all invariants of the space, and of a child that was forked, are checked after
 * each request, in O(areas). Only faults in a space with pages are not followed by a check: they
 * run concurrently with calls, and the check would wait for those.
 */
#if defined(MT_DEBUG) && MT_DEBUG >= 2
static void debug_check(const struct vmspace *space, const struct vmspace_request *req)
{
	const char *reason = NULL;

	if (space_check(space, &reason) &&
	    (req->op != VMSPACE_FORK || !req->fork.child ||
	     vmspace_check(req->fork.child, &reason)))
		return;
	fprintf(stderr, "vmspace: after %s: %s\n", ops[req->op].name, reason);
	abort();
}
#else
static void debug_check(const struct vmspace *space, const struct vmspace_request *req)
{
	(void)space;
	(void)req;
}
#endif

/* What the host says of the request, while it is completed. */
static void hear_host(struct vmspace *space, const struct vmspace_request *req)
{
	space->host_error = is_error(req->host.result) ? req->host.result : 0;
	space->host_succeeded = !space->host_error;
	space->host_unmapped = space->host_error && req->host.unmapped;
}

static void forget_host(struct vmspace *space, struct vmspace_request *req)
{
	if (req->out.result != req->host.result) {
		req->out.differs = true;
		if (!req->out.why)
			req->out.why = "the host's result is not the predicted one";
	}
	space->host_succeeded = space->host_unmapped = false;
	space->host_error = 0;
}

static void complete(struct vmspace *space, struct vmspace_request *req)
{
	struct vmspace_outcome *out = &req->out;

	assert(!space->host_error && !space->host_succeeded && !space->host_unmapped);
	space->out = out;
	if (req->host.valid)
		hear_host(space, req);
	if (space->host_succeeded && !is_possible(space, req))
		out->result = outcome_fail(space, -EINVAL, "no kernel places a mapping there");
	else
		out->result = ops[req->op].call(space, req);
	if (req->host.valid)
		forget_host(space, req);
	store_end_call(space);
	past_poll(space);
	space->out = NULL;
	space->request_seq++;
	space->requests[req->op]++;
	assert(!space->reserve.active && account_valid(space));
	debug_check(space, req);
}

/* In a space that several threads use, with its lock. */
static void complete_locked(struct vmspace *space, struct vmspace_request *req)
{
	space->out = &req->out;
	if (!store_reserve(space, STORE_STEPS, STORE_STEPS))
		complete(space, req);
	else
		req->out.result = req->op == VMSPACE_BRK ? (long)space->image.brk : -ENOMEM;
	space->out = NULL;
}

static long refuse_snapshot(struct vmspace_request *req)
{
	req->out.why = "the space is a snapshot, which stands still: call the one it was taken of";
	return -EROFS;
}

/* In a space that several threads use, or that has snapshots, or is one. */
static __attribute__((noinline)) void complete_shared(struct vmspace *space,
						      struct vmspace_request *req)
{
	if (space_is_snapshot(space)) {
		req->out.result = refuse_snapshot(req);
		return;
	}
	if (req->op == VMSPACE_FAULT && space->pages) {
		req->out.result = touch_call(space, req);
		return;
	}
	sync_enter(space);
	complete_locked(space, req);
	sync_leave(space);
}

static inline long complete_known(struct vmspace *space, struct vmspace_request *req)
{
	struct vmspace_outcome *out = &req->out;
	unsigned long given;

	memset(out, 0, offsetof(struct vmspace_outcome, events));
	given = untag(space, req);
	if (__builtin_expect(!past_is_private(space), 0))
		complete_shared(space, req);
	else
		complete(space, req);
	tag_again(space, req, given);
	return out->result;
}

void request_complete(struct vmspace *space, struct vmspace_request *req)
{
	memset(&req->out, 0, offsetof(struct vmspace_outcome, events));
	complete_locked(space, req);
}

long vmspace_complete(struct vmspace *space, struct vmspace_request *req)
{
	if (known(req->op))
		return complete_known(space, req);
	memset(&req->out, 0, offsetof(struct vmspace_outcome, events));
	req->out.result = -EINVAL;
	return -EINVAL;
}

long vmspace_call(struct vmspace *space, struct vmspace_request *req)
{
	if (!known(req->op))
		return -EINVAL;
	gather_known(space, req);
	return complete_known(space, req);
}
