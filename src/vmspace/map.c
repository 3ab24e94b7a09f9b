/* SPDX-License-Identifier: MIT */
/* map.c - mmap: arguments, flags, placement, and the new area. */
#include <assert.h>
#include <errno.h>
#include <pthread.h>

#include "accounting.h"
#include "commit.h"
#include "edit.h"
#include "find.h"
#include "host.h"
#include "mman_names.h"
#include "ops.h"
#include "outcome.h"
#include "pkey.h"
#include "store.h"
#include "sync.h"
#include "words.h"

#define MAP_KINDS 0x0f
#define MAP_HUGE_SIZES (31 << 26) /* what MAP_HUGE_2MB and MAP_HUGE_1GB consist of */

/* Flags that MAP_SHARED_VALIDATE accepts; for MAP_SYNC see VMA_BACKING_SYNC. */
#define VALIDATED (MAP_KINDS | MAP_FIXED | MAP_ANONYMOUS | MAP_GROWSDOWN | \
		   MAP_DENYWRITE | MAP_EXECUTABLE | MAP_LOCKED | MAP_NORESERVE | MAP_POPULATE | \
		   MAP_NONBLOCK | MAP_STACK | MAP_HUGETLB | MAP_32BIT | MAP_UNINITIALIZED | \
		   MAP_HUGE_SIZES)

bool map_accountable(vma_flags_t flags)
{
	if (flags & VMA_HUGETLB)
		return false;
	return (flags & (VMA_NORESERVE | VMA_SHARED | VMA_WRITE)) == VMA_WRITE;
}

uint64_t map_new_file_id(struct vmspace *space)
{
	static uint64_t next_shared = (uint64_t)3 << 62; /* above all ids of single spaces */
	/* 32-bit machines may lack 64-bit atomics. */
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	uint64_t id;

	if (!space->pages)
		return space->next_file_id++;
	pthread_mutex_lock(&lock);
	id = next_shared++;
	pthread_mutex_unlock(&lock);
	return id;
}

static vma_flags_t call_flags(const struct vmspace *space, const struct vmspace_mmap *m, int prot)
{
	vma_flags_t flags = protect_flags(space, prot) | space->default_flags | VMA_MAYREAD |
			    VMA_MAYWRITE | VMA_MAYEXEC;

	if (m->flags & MAP_GROWSDOWN)
		flags |= VMA_GROWSDOWN;
	if (m->flags & MAP_LOCKED)
		flags |= VMA_LOCKED;
	if (m->flags & MAP_SYNC)
		flags |= VMA_SYNC;
	if ((m->flags & MAP_STACK) && space->config.pmd_size &&
	    rule_decides(space, RULE_STACK_NOHUGEPAGE))
		flags |= VMA_NOHUGEPAGE;
	return flags;
}

/* Does the file system itself look at MAP_SYNC? Overlayfs does not; the one below it may. */
static bool knows_sync(unsigned int is)
{
	return (is & VMA_BACKING_SYNC) && !(is & VMA_BACKING_MAP_ALONE);
}

/* Does MAP_SHARED_VALIDATE find only flags that the kernel and the file's file system know? */
static bool flags_known(struct vmspace *space, const struct vmspace_mmap *m)
{
	int known = VALIDATED | (knows_sync(m->backing.flags) ? MAP_SYNC : 0);

	if (m->flags & MAP_ABOVE4G && rule_decides(space, RULE_MAP_ABOVE4G))
		known |= MAP_ABOVE4G;
	return !(m->flags & ~known);
}

static long shared_file_flags(struct vmspace *space, const struct vmspace_mmap *m,
			      vma_flags_t *flags)
{
	unsigned int is = m->backing.flags;

	if ((m->flags & MAP_KINDS) == MAP_SHARED_VALIDATE && !flags_known(space, m))
		return -EOPNOTSUPP;
	if ((is & VMA_BACKING_NO_WRITE) && (*flags & VMA_WRITE))
		return -EACCES;
	*flags |= VMA_SHARED | VMA_MAYSHARE;
	if (is & VMA_BACKING_NO_WRITE)
		*flags &= ~(VMA_MAYWRITE | VMA_SHARED);
	return 0;
}

/* Sealed against writing: no shared mapping of it may become writable. */
static long seal_flags(const struct vmspace *space, const struct vmspace_mmap *m,
		       vma_flags_t *flags)
{
	if (!(m->backing.flags & VMA_BACKING_SEAL_WRITE) || !(*flags & VMA_SHARED))
		return 0;
	/* Otherwise it is the file that refuses: see ask_file(). */
	if (*flags & VMA_WRITE && (!(m->backing.flags & VMA_BACKING_SEAL_FUTURE) ||
				   rule_decides(space, RULE_MAP_SEALS_FIRST)))
		return -EPERM;
	*flags &= ~VMA_MAYWRITE;
	return 0;
}

bool map_offset_fits(const struct vmspace *space, const struct vma_backing *backing, uint64_t pgoff,
		     unsigned long length)
{
	uint64_t most = backing->flags & VMA_BACKING_ANY_OFFSET ? UINT64_MAX : INT64_MAX;

	return pgoff <= (most - length) >> space->page_shift;
}

static long file_flags(struct vmspace *space, const struct vmspace_mmap *m,
		       unsigned long length, vma_flags_t *flags)
{
	long err = 0;

	if (!(m->flags & MAP_ANONYMOUS) &&
	    !map_offset_fits(space, &m->backing, m->offset >> space->page_shift, length))
		return -EOVERFLOW;
	switch (m->flags & MAP_KINDS) {
	case MAP_SHARED:
	case MAP_SHARED_VALIDATE:
		err = shared_file_flags(space, m, flags);
		break;
	case MAP_PRIVATE:
		break;
	default:
		return -EINVAL;
	}
	if (err)
		return err;
	if (m->backing.flags & VMA_BACKING_NO_READ)
		return -EACCES;
	if (m->backing.flags & VMA_BACKING_NO_EXEC) {
		if (*flags & VMA_EXEC)
			return -EPERM;
		*flags &= ~VMA_MAYEXEC;
	}
	if (m->backing.flags & VMA_BACKING_NO_MMAP)
		return -ENODEV;
	return *flags & VMA_GROWSDOWN ? -EINVAL : seal_flags(space, m, flags);
}

static long anon_flags(const struct vmspace *space, const struct vmspace_mmap *m,
		       vma_flags_t *flags)
{
	switch (m->flags & MAP_KINDS) {
	case MAP_SHARED:
		if (*flags & VMA_GROWSDOWN)
			return -EINVAL;
		*flags |= VMA_SHARED | VMA_MAYSHARE;
		return 0;
	case MAP_DROPPABLE:
		if (!rule_decides(space, RULE_DROPPABLE) ||
		    m->flags & (MAP_LOCKED | MAP_GROWSDOWN))
			return -EINVAL;
		*flags |= VMA_DROPPABLE | VMA_NORESERVE | VMA_WIPEONFORK | VMA_DONTDUMP;
		if (!rule_decides(space, RULE_DROPPABLE_LOCKED))
			*flags &= ~VMA_LOCK_FLAGS;
		return 0;
	case MAP_PRIVATE:
		return 0;
	default:
		return -EINVAL;
	}
}

static bool is_shared(const struct vmspace_mmap *m)
{
	int kind = m->flags & MAP_KINDS;

	return kind == MAP_SHARED || kind == MAP_SHARED_VALIDATE;
}

/* Of huge pages: by MAP_HUGETLB, or by a file on hugetlbfs. */
static bool is_huge(const struct vmspace_mmap *m)
{
	return m->flags & MAP_ANONYMOUS ? m->flags & MAP_HUGETLB
					: m->backing.kind == VMA_BACKING_HUGETLB;
}

/* The size encoded by MAP_HUGE_2MB and the like, as its log2 in the upper bits. 0: the default. */
static unsigned long asked_size(const struct vmspace_mmap *m)
{
	unsigned int log = (unsigned int)m->flags >> 26;

	if (!(m->flags & MAP_ANONYMOUS))
		return m->backing.huge_size;
	return log ? 1UL << log : 0;
}

/* Of a page of the mapping, which is_huge(). 1: there are no huge pages. */
static unsigned long huge_size(const struct vmspace *space, const struct vmspace_mmap *m)
{
	unsigned long size = asked_size(m);

	if (!size)
		size = space->config.pmd_size;
	return size ? size : 1;
}

/* The backing of the mapping. NULL: private anonymous memory. */
static const struct vma_backing *backing_of(const struct vmspace_mmap *m, struct vma_backing *own)
{
	if ((m->flags & MAP_ANONYMOUS) && !is_huge(m) && !is_shared(m))
		return NULL;
	*own = m->backing;
	if (is_huge(m)) {
		own->kind = VMA_BACKING_HUGETLB;
		own->huge_size = asked_size(m);
		if (!own->name)
			own->name = "/anon_hugepage (deleted)";
		return own;
	}
	if (!(m->flags & MAP_ANONYMOUS))
		return own;
	own->kind = VMA_BACKING_SHMEM;
	if (!own->name)
		own->name = "/dev/zero (deleted)";
	return own;
}

long map_check_count(struct vmspace *space)
{
	if (space->areas > space->config.max_map_count)
		return outcome_limit(space, -ENOMEM, "more areas than max_map_count");
	return 0;
}

/* Huge pages: the length is rounded up to whole ones. 0: that overflows. */
static unsigned long rounded_length(const struct vmspace *space, const struct vmspace_mmap *m)
{
	unsigned long size;

	if (!is_huge(m))
		return space_ceil(space, m->length);
	size = huge_size(space, m);
	return (m->length + size - 1) & ~(size - 1);
}

bool map_may_be_at(const struct vmspace *space, const struct vmspace_mmap *m, unsigned long at)
{
	unsigned long length = rounded_length(space, m), size = space->config.task_size;
	unsigned long page = is_huge(m) ? huge_size(space, m) : 1;

	return space_aligned(space, at) && !(at & (page - 1)) && length && length <= size &&
	       at <= size - length;
}

/* What drivers are known to add. */
#define BY_DRIVERS (VMA_IO | VMA_PFNMAP | VMA_MIXEDMAP | VMA_DONTEXPAND | VMA_DONTDUMP | \
		    VMA_DONTCOPY | VMA_ARCH_1 | VMA_HUGEPAGE | VMA_NOHUGEPAGE)

/* Is there such a size of huge pages at all? Which of them the host has it says itself. */
static bool huge_size_valid(const struct vmspace *space, const struct vmspace_mmap *m)
{
	unsigned long size = huge_size(space, m);

	return !(size & (size - 1)) && size > space->config.page_size;
}

static long check_arguments(struct vmspace *space, const struct vmspace_mmap *m,
			    unsigned long *length)
{
	if (is_huge(m) && !huge_size_valid(space, m))
		return outcome_fail(space, -EINVAL, "there are no huge pages of that size");
	if (m->driver_flags & ~BY_DRIVERS)
		return outcome_fail(space, -EINVAL, "driver_flags are none of a driver");
	if (!space_aligned(space, m->offset))
		return -EINVAL;
	if (!(m->flags & MAP_ANONYMOUS) && m->bad_fd)
		return -EBADF;
	if (!(m->flags & MAP_ANONYMOUS) && (m->flags & MAP_HUGETLB) && !is_huge(m))
		return -EINVAL;
	if (!m->length)
		return -EINVAL;
	*length = rounded_length(space, m);
	if (!*length)
		return is_huge(m) ? -EINVAL : -ENOMEM;
	return map_check_count(space);
}

static long place(struct vmspace *space, const struct vmspace_mmap *m, unsigned long length,
		  const struct vma_backing *backing, struct hole *hole)
{
	struct find_place want = { m->addr, length, m->flags, backing, m->offset, false };
	struct vma_backing overlaid;
	long at;

	if (m->flags & MAP_ANONYMOUS)
		want.offset = 0;
	/* Overlayfs aligns nothing; the file system below it, which areas are shown to map, may. */
	if (backing && backing->flags & VMA_BACKING_MAP_ALONE) {
		overlaid = *backing;
		overlaid.flags &= ~VMA_BACKING_ALIGN_HUGE;
		want.backing = &overlaid;
	}
	at = find_place(space, &want, hole);
	if (at >= 0 && (m->flags & MAP_FIXED_NOREPLACE) &&
	    !find_hole(space, (unsigned long)at, (unsigned long)at + length, hole))
		return -EEXIST;
	return at;
}

long map_check_lock(struct vmspace *space, vma_flags_t flags, unsigned long length, bool asked)
{
	const struct vmspace_config *c = &space->config;
	long err = 0;

	if (asked && !c->lock_privileged && !c->rlimit_memlock)
		err = outcome_limit(space, -EPERM, "RLIMIT_MEMLOCK is 0");
	if (!err && !account_may_lock(space, flags, space_pages(space, length)))
		err = outcome_limit(space, -EAGAIN, "RLIMIT_MEMLOCK reached");
	return err;
}

/*
 * A new shared memory object is charged itself; the areas that map it are not. It is made when
 * there is room for the area.
 */
static long check_object(struct vmspace *space, const struct map_plan *plan)
{
	if (!plan->new_shared || (plan->flags & VMA_NORESERVE))
		return 0;
	return commit_check(space, space_pages(space, plan->length));
}

/* `unmapped` pages will be unmapped to make room; `freed` of them are committed. */
static long check_size(struct vmspace *space, const struct map_plan *plan, unsigned long unmapped,
		       unsigned long freed)
{
	unsigned long pages = space_pages(space, plan->length), more = pages - unmapped;
	const struct vmspace_config *c = &space->config;

	if (c->rlimit_as != VMSPACE_NO_LIMIT &&
	    space->total_vm + more > space_pages(space, c->rlimit_as))
		return outcome_limit(space, -ENOMEM, "RLIMIT_AS reached");
	if (!account_may_hold_data(space, plan->flags, more)) {
		long err = outcome_limit(space, -ENOMEM, "RLIMIT_DATA reached");

		if (err)
			return err;
	}
	if (!map_accountable(plan->flags))
		return 0;
	/* Otherwise Linux charges it when what is replaced is gone. */
	if (!unmapped || rule_decides(space, RULE_REPLACED_NOT_CHARGED))
		return pages > freed ? commit_check(space, pages - freed) : 0;
	return 0;
}

static bool map_populates(const struct map_plan *plan)
{
	return plan->populate || (plan->flags & VMA_LOCK_FLAGS) == VMA_LOCKED;
}

/* Reserve frames and page tables if the new area is populated at once. */
static long reserve_pages(struct vmspace *space, const struct map_plan *plan)
{
	struct vma proto = { .start = plan->at, .end = plan->at + plan->length,
			     .flags = plan->flags, .pgoff = plan->pgoff,
			     .backing = plan->backing };
	long err;

	if (!map_populates(plan))
		return 0;
	err = lock_reserve(space, &proto, plan->flags, proto.start, proto.end, 0, true);
	return err < 0 ? err : 0;
}

/* What mmap answers if what is in the way cannot be unmapped. */
static long unmap_error(const struct vmspace *space, long err)
{
	return err == -EINVAL && !rule_decides(space, RULE_MAP_UNMAP_ERROR) ? -ENOMEM : err;
}

/* Has what is in the way been cut when a mapping is refused with `err`? */
static bool refused_after_cuts(struct vmspace *space, const struct map_plan *plan, bool by_limit,
			       long err)
{
	unsigned long end = plan->at + plan->length;
	long in_the_way = unmap_check(space, plan->at, end);

	if (rule_decides(space, RULE_MAP_CUTS_FIRST))
		return err == -ENOMEM || in_the_way == err;
	return !by_limit && in_the_way && unmap_error(space, in_the_way) == err;
}

/*
 * The mapping is refused with `err`, by a limit (ENOMEM), by what is in the way, or by the host for
 * a reason of its own. Linux checks limits when it has cut what is in the way at both ends, or
 * before. If the cuts fail, the limits do not matter.
 */
static long refuse(struct vmspace *space, const struct map_plan *plan, bool free, bool by_limit,
		   long err)
{
	unsigned long end = plan->at + plan->length;
	const char *why = space->out->why;
	long cut;

	if (free || !refused_after_cuts(space, plan, by_limit, err))
		return outcome_fail(space, err, why);
	if (store_reserve_call(space, 2, 2))
		return -ENOMEM;
	cut = unmap_cut(space, plan->at, end);
	return cut ? unmap_error(space, cut) : outcome_fail(space, err, why);
}

/* Unmap what is in the way, so many areas; then the file agrees or not. */
static long take_over(struct vmspace *space, struct map_plan *plan, unsigned long areas)
{
	unsigned long end = plan->at + plan->length;
	bool free;
	long err;

	/* Stores to unmap what is in the way, and one for the new area. */
	err = store_reserve_call(space, 2 + areas / 64, 2);
	if (!err)
		err = unmap_error(space, unmap_range(space, plan->at, plan->length));
	if (err || plan->refusal)
		return err ? err : plan->refusal;
	free = find_hole(space, plan->at, end, &plan->hole);
	assert(free);
	(void)free;
	if (map_accountable(plan->flags) && !rule_decides(space, RULE_REPLACED_NOT_CHARGED))
		return commit_check(space, space_pages(space, plan->length));
	return 0;
}

/* Check the size, and unmap what is in the way. plan->hole then describes the place. */
static long make_room(struct vmspace *space, struct map_plan *plan)
{
	unsigned long end = plan->at + plan->length;
	bool free = plan->hole.start == plan->at && plan->hole.end == end;
	unsigned long unmapped = 0, freed = 0, areas = 0;
	bool by_limit;
	long err;

	free = free || find_hole(space, plan->at, end, &plan->hole);
	if (!free)
		unmapped = unmap_count(space, plan->at, end, &freed, &areas);
	err = check_size(space, plan, unmapped, freed);
	by_limit = err;
	if (!err && !plan->refusal)
		plan->refusal = check_object(space, plan);
	if (!err && !plan->refusal && space->host_error) {
		outcome_fail(space, space->host_error, "refused by the host");
		if (space->host_unmapped)
			plan->refusal = space->host_error;
		else
			err = space->host_error;
	}
	if (err)
		return refuse(space, plan, free, by_limit, err);
	if (space->pages && !plan->refusal)
		err = reserve_pages(space, plan);
	if (err)
		return err;
	return free ? plan->refusal : take_over(space, plan, areas);
}

long map_region(struct vmspace *space, struct map_plan *plan)
{
	unsigned long end = plan->at + plan->length;
	struct vma proto = { .start = plan->at, .end = end, .pgoff = plan->pgoff,
			     .backing = plan->backing, .tags.pkey = plan->pkey & VMA_PKEY_MAX,
			     .word = plan->word };
	long err;

	if ((plan->flags & VMA_SPECIAL_FLAGS) || (plan->flags & VMA_HUGETLB))
		plan->flags &= ~VMA_LOCK_FLAGS;
	err = make_room(space, plan);
	if (err)
		return err;
	if (map_accountable(plan->flags))
		plan->flags |= VMA_ACCOUNT;
	if (space->config.softdirty)
		plan->flags |= VMA_SOFTDIRTY;
	proto.flags = plan->flags;
	proto.may_have_anon = plan->flags & VMA_WRITE;
	plan->hole.by_mmap = true;
	err = edit_insert(space, &proto, plan->no_merge ? NULL : &plan->hole, NULL);
	if (err)
		return err;
	if (map_populates(plan))
		lock_populate(space, plan->at, end);
	return (long)plan->at;
}

/* Place the mapping where the host did, and correct mmap_base by that. */
static long follow_place(struct vmspace *space, const struct vmspace_request *req, long at,
			 unsigned long length, struct hole *hole)
{
	unsigned long host = (unsigned long)req->host.result;

	if (!space->host_succeeded || host == (unsigned long)at)
		return at;
	/* Linux starts this search at random: any free place below 2 GiB is possible. */
	if ((req->mmap.flags & MAP_32BIT) && at > 0 && host >= 0x40000000UL &&
	    host + length <= 0x80000000UL && find_hole(space, host, host + length, hole)) {
		space->out->placed_at_random = true;
		return (long)host;
	}
	if (at < 0 || (req->mmap.flags & (MAP_32BIT | MAP_FIXED)) ||
	    !find_correct_base(space, (unsigned long)at, host, length)) {
		space->out->differs = true;
		space->out->why = "placed elsewhere than libvmspace would";
	}
	return (long)host;
}

static long area_flags(struct vmspace *space, const struct vmspace_mmap *m,
		       const struct vma_backing *backing, unsigned long length,
		       vma_flags_t *flags)
{
	long err;

	if (((m->flags & MAP_ANONYMOUS) || !backing) && !is_huge(m))
		err = anon_flags(space, m, flags);
	else
		err = file_flags(space, m, length, flags);
	if (err)
		return err;
	if (!(m->flags & MAP_ANONYMOUS))
		*flags |= m->driver_flags;
	if ((m->flags & MAP_NORESERVE) && space->config.overcommit != 2)
		*flags |= VMA_NORESERVE;
	if (!backing && space->config.mmap_apart)
		*flags |= VMA_BY_MMAP;
	if (backing && backing->kind == VMA_BACKING_HUGETLB)
		*flags |= VMA_HUGETLB | VMA_DONTEXPAND;
	return 0;
}

/*
 * What the file itself answers, last of all: one of a file system that knows MAP_SYNC refuses it
 * where storage is not mapped itself; a sealed one is not written to; one of huge pages has none
 * that begins at the offset.
 */
static long ask_file(struct vmspace *space, const struct vmspace_mmap *m, vma_flags_t flags)
{
	const unsigned int dax = VMA_BACKING_SYNC | VMA_BACKING_DAX;

	if (m->flags & MAP_ANONYMOUS)
		return 0;
	if ((m->flags & MAP_SYNC) && (m->backing.flags & dax) == VMA_BACKING_SYNC)
		return outcome_fail(space, -EOPNOTSUPP, "the file cannot have MAP_SYNC");
	if (flags & VMA_WRITE && flags & VMA_SHARED && !(flags & VMA_MAYWRITE))
		return outcome_fail(space, -EPERM, "the file is sealed");
	if (is_huge(m) && (m->offset & (huge_size(space, m) - 1)))
		return outcome_fail(space, -EINVAL, "no huge page begins at the offset");
	return 0;
}

static int real_prot(const struct vmspace *space, const struct vmspace_mmap *m)
{
	bool no_exec = !(m->flags & MAP_ANONYMOUS) && (m->backing.flags & VMA_BACKING_NO_EXEC);

	if ((m->prot & PROT_READ) && space->config.read_implies_exec && !no_exec)
		return m->prot | PROT_EXEC;
	return m->prot;
}

long vmspace_place(struct vmspace *space, unsigned long addr, unsigned long length, int flags,
		   const struct vma_backing *backing, uint64_t offset)
{
	struct vmspace_mmap m = { .addr = addr, .length = length, .flags = flags,
				  .offset = offset };
	struct vma_backing own;
	struct hole hole;
	long at;

	if (backing)
		m.backing = *backing;
	else
		m.flags |= MAP_ANONYMOUS;
	if (is_huge(&m) && !huge_size_valid(space, &m))
		return -EINVAL;
	length = rounded_length(space, &m);
	if (!length)
		return -EINVAL;
	sync_enter(space);
	at = place(space, &m, length, backing_of(&m, &own), &hole);
	sync_leave(space);
	return at;
}

static long map_backed(struct vmspace *space, const struct vmspace_mmap *m, struct map_plan *plan,
		       struct vma_backing *own, bool has_backing)
{
	long at;

	if (!has_backing) {
		plan->pgoff = space_pages(space, plan->at);
		return map_region(space, plan);
	}
	if (m->flags & MAP_ANONYMOUS)
		own->file_id = map_new_file_id(space);
	else
		plan->pgoff = space_pages(space, m->offset);
	/* A shared mapping of /dev/zero makes such an object, too. */
	plan->new_shared = own->kind == VMA_BACKING_SHMEM;
	if ((plan->new_shared && !plan->pgoff) || own->kind == VMA_BACKING_SPECIAL)
		own->size = plan->length;
	plan->backing = backing_new(own);
	if (!plan->backing)
		return outcome_no_memory(space);
	at = map_region(space, plan);
	backing_put(plan->backing);
	return at;
}

long map_call(struct vmspace *space, struct vmspace_request *req)
{
	const struct vmspace_mmap *m = &req->mmap;
	struct vma_backing own;
	const struct vma_backing *backing = backing_of(m, &own);
	struct map_plan plan = { .word = words_of(space, req) };
	long at, followed, err = check_arguments(space, m, &plan.length);
	int prot;

	if (err)
		return err;
	prot = real_prot(space, m);
	plan.flags = call_flags(space, m, prot);
	/* Linux allocates the key of execute-only areas even if it then refuses the mapping. */
	if (prot == PROT_EXEC && rule_decides(space, RULE_KEY_BEFORE_PLACE))
		pkey_execute_only(space);
	at = place(space, m, plan.length, backing, &plan.hole);
	followed = follow_place(space, req, at, plan.length, &plan.hole);
	if (followed < 0)
		return followed;
	if (prot == PROT_EXEC)
		plan.pkey = pkey_execute_only(space);
	err = map_check_lock(space, plan.flags, plan.length, m->flags & MAP_LOCKED);
	if (!err)
		err = area_flags(space, m, backing, plan.length, &plan.flags);
	if (err)
		return err;
	plan.at = (unsigned long)followed;
	plan.refusal = ask_file(space, m, plan.flags);
	/* Linux checks for merges while the new area still counts as locked. */
	plan.no_merge = (plan.flags & VMA_DROPPABLE) && (space->default_flags & VMA_LOCKED) &&
			!rule_decides(space, RULE_DROPPABLE_LOCKED);
	plan.populate = (m->flags & (MAP_POPULATE | MAP_NONBLOCK)) == MAP_POPULATE;
	/* It cannot be locked, but is populated all the same, even with MCL_ONFAULT. */
	plan.populate |= plan.no_merge;
	/*
	 * Only after merging was tried does the area get the lower file, which its neighbours have.
	 */
	plan.no_merge |= backing && (backing->flags & VMA_BACKING_MAP_ALONE);
	err = map_backed(space, m, &plan, &own, backing != NULL);
	return err < 0 || space->out->base_learned || space->out->placed_at_random ? err : at;
}

long map_where(struct vmspace *space, const struct vmspace_mmap *m, unsigned long *length)
{
	struct vma_backing own;
	struct hole hole;

	*length = rounded_length(space, m);
	return *length ? place(space, m, *length, backing_of(m, &own), &hole) : -EINVAL;
}

void map_gather(struct vmspace *space, const struct vmspace_mmap *m)
{
	unsigned long length;
	long at = map_where(space, m, &length);

	if (at >= 0)
		host_query_anon(space, (unsigned long)at, (unsigned long)at + length);
}
