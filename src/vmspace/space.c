/* SPDX-License-Identifier: MIT */
/* space.c - creating, accounting and ending an address space; stores into its tree. */
#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#include "commit.h"
#include "pages.h"
#include "sync.h"

/* @vma is about to cover [@start, @end), too: with what it covers already, if that is beside it. */
static void note_size(struct vmspace *space, unsigned long start, unsigned long end,
		      const struct vma *vma)
{
	start = vma->start < start ? vma->start : start;
	end = vma->end > end ? vma->end : end;
	if (end - start > space->largest)
		space->largest = end - start;
}

int space_store(struct vmspace *space, unsigned long start, unsigned long end, struct vma *vma)
{
	MA_STATE(mas, &space->tree, start, end - 1);

	bool promised = space->promised;

	if (vma)
		note_size(space, start, end, vma);
	sync_attach(space, vma);
	space->stores++;
	space->promised -= promised;
	if (!mas_store_gfp(&mas, vma, GFP_KERNEL))
		return 0;
	if (!promised)
		return (int)space_no_memory(space);
	/* The same with the nodes in reserve. */
	space->reserved = 0;
	mas_set_range(&space->spare, start, end - 1);
	if (!mas_store_gfp(&space->spare, vma, GFP_NOWAIT))
		return 0;
	assert(!"space_reserve() foresaw less than the call needs");
	return (int)space_no_memory(space);
}

/* For so many stores more a reserve holds good: a tree that grows takes more for each of them. */
#define RESERVE_AHEAD 32

int space_reserve(struct vmspace *space, unsigned long stores, unsigned long areas)
{
	space->put_by = true;
	if (space->promised < stores)
		space->promised = stores;
	if (stores <= space->reserved && space->stores < space->reserved_until &&
	    areas <= space->vmas.spares)
		return 0;
	mas_set(&space->spare, 0);
	/* Two ranges come with an area; stores that bring none leave no more than there were. */
	if (mas_reserve(&space->spare, stores, 2 * (areas + RESERVE_AHEAD + SPACE_STEPS)) ||
	    !vma_reserve(&space->vmas, areas)) {
		space->promised = 0;
		return (int)space_no_memory(space);
	}
	space->reserved = stores;
	space->reserved_until = space->stores + RESERVE_AHEAD;
	return 0;
}

void space_end_reserve(struct vmspace *space)
{
	space->put_by = false;
	space->promised = 0;
	space->whole = false;
	if (space->stocked) {
		space->stocked = false;
		pages_end_stock(space->pages);
	}
	if (space->reserved <= SPACE_STEPS && space->vmas.spares <= SPACE_STEPS)
		return;
	space->reserved = 0;
	mas_destroy(&space->spare);
	vma_unreserve(&space->vmas, SPACE_STEPS);
}

static bool is_exec(vma_flags_t flags)
{
	return (flags & (VMA_EXEC | VMA_WRITE | VMA_GROWSDOWN)) == VMA_EXEC;
}

static bool is_stack(vma_flags_t flags)
{
	return flags & (VMA_GROWSDOWN | VMA_SHADOW_STACK);
}

void space_account(struct vmspace *space, vma_flags_t flags, unsigned long pages, int sign)
{
	unsigned long delta = sign < 0 ? -pages : pages;

	space->total_vm += delta;
	if (is_exec(flags))
		space->exec_vm += delta;
	else if (is_stack(flags))
		space->stack_vm += delta;
	else if (space_is_data(flags))
		space->data_vm += delta;
	if (flags & VMA_LOCKED)
		space->locked_vm += delta;
	if (flags & VMA_ACCOUNT)
		commit_charge(space, pages, sign);
}

uint64_t space_new_file_id(struct vmspace *space)
{
	static uint64_t next_shared = (uint64_t)3 << 62; /* no file_id that a space counts up to */
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* 32-bit hosts have no such atomics */
	uint64_t id;

	if (!space->pages)
		return space->next_file_id++;
	pthread_mutex_lock(&lock);
	id = next_shared++;
	pthread_mutex_unlock(&lock);
	return id;
}

void space_count_area(struct vmspace *space, const struct vma *vma, int sign)
{
	unsigned long delta = sign < 0 ? -1UL : 1;

	space->areas += delta;
	if (vma->flags & VMA_GROWSDOWN)
		space->grow_areas += delta;
	if (space->areas > space->areas_peak)
		space->areas_peak = space->areas;
}

bool space_may_expand(const struct vmspace *space, vma_flags_t flags, unsigned long pages)
{
	const struct vmspace_config *c = &space->config;

	if (c->rlimit_as != VMSPACE_NO_LIMIT &&
	    space->total_vm + pages > space_pages(space, c->rlimit_as))
		return false;
	return space_may_hold_data(space, flags, pages);
}

bool space_may_hold_data(const struct vmspace *space, vma_flags_t flags, unsigned long pages)
{
	const struct vmspace_config *c = &space->config;
	unsigned long limit = c->rlimit_data ? c->rlimit_data : c->rlimit_data_max;

	return !space_is_data(flags) || limit == VMSPACE_NO_LIMIT ||
	       space->data_vm + pages <= space_pages(space, limit);
}

bool space_may_lock(const struct vmspace *space, vma_flags_t flags, unsigned long pages)
{
	const struct vmspace_config *c = &space->config;

	if (!(flags & VMA_LOCKED) || c->lock_privileged || c->rlimit_memlock == VMSPACE_NO_LIMIT)
		return true;
	return space->locked_vm + pages <= space_pages(space, c->rlimit_memlock);
}

long space_no_memory(struct vmspace *space)
{
	if (space->out) {
		space->out->out_of_memory = true;
		space->out->why = "libvmspace has no memory left";
	}
	return -ENOMEM;
}

long space_fail(struct vmspace *space, long err, const char *why)
{
	if (space->out)
		space->out->why = why;
	return err;
}

long space_limit(struct vmspace *space, long err, const char *why)
{
	space_fail(space, err, why);
	if (!space->host_succeeded)
		return err;
	if (space->out)
		space->out->differs = true;
	return 0;
}

/* The one place that every event passes. */
static void tell(struct vmspace *space, const struct vmspace_event *event)
{
	const struct vmspace_hooks *hooks = space->config.hooks;
	struct vmspace_outcome *out = space->out;

	if (out && out->event_count < VMSPACE_EVENT_MAX)
		out->events[out->event_count++] = *event;
	else if (out)
		out->events_lost++;
	if (hooks && hooks->event)
		hooks->event(hooks->ctx, event);
}

void space_event(struct vmspace *space, enum vmspace_event_kind kind, unsigned long start,
		 unsigned long end, unsigned long at)
{
	struct vmspace_event event = { .kind = kind, .start = start, .end = end, .at = at };

	if (kind == VMSPACE_EVENT_SPLIT)
		space->splits++;
	tell(space, &event);
}

void space_merge_event(struct vmspace *space, enum vma_verdict verdict, unsigned long start,
		       unsigned long end, unsigned long at, vma_flags_t differ)
{
	struct vmspace_event event = {
		.kind = verdict == VMA_MERGED ? VMSPACE_EVENT_MERGE : VMSPACE_EVENT_NO_MERGE,
		.verdict = verdict, .start = start, .end = end, .at = at,
		.flags_differ = differ,
	};

	if (verdict == VMA_MERGED)
		space->merges++;
	tell(space, &event);
}

void space_fault_event(const struct vmspace *space, const struct vmspace_page *page)
{
	const struct vmspace_hooks *hooks = sync_hooks(space);

	if (hooks && hooks->fault)
		hooks->fault(hooks->ctx, page);
}

void space_clear(struct vmspace *space)
{
	MA_STATE(mas, &space->tree, 0, 0);
	struct vma *vma;

	mas_for_each(&mas, vma, ULONG_MAX)
		vma_free(&space->vmas, vma);
	if (space->pages)
		pages_clear(space->pages);
	mas_destroy(&space->spare);
	space->reserved = 0;
	__mt_destroy(&space->tree);
	vma_store_clear(&space->vmas);
	commit_charge(space, space->committed_vm, -1);
	space->areas = 0;
	space->grow_areas = 0;
	space->pinned_vm = 0;
	space->total_vm = space->locked_vm = space->locked_leak = 0;
	space->data_vm = space->stack_vm = space->exec_vm = 0;
	space->default_flags = 0;
	space->image = (struct vmspace_image){ 0 };
}

static bool config_sane(const struct vmspace_config *c)
{
	if (!c->page_size || (c->page_size & (c->page_size - 1)))
		return false;
	if (c->pmd_size && ((c->pmd_size & (c->pmd_size - 1)) || c->pmd_size < c->page_size))
		return false;
	if (!c->task_size || c->task_size % c->page_size || c->mmap_base % c->page_size)
		return false;
	if (c->huge_pages > c->ram_pages || c->page_size < 1024)
		return false;
	if (!c->map_window || c->map_window > c->task_size || c->mmap_base > c->task_size)
		return false;
	return c->max_map_count > 0 && c->overcommit >= 0 && c->overcommit <= 2;
}

/* A space with memory: several threads may use it. */
static int make_shareable(struct vmspace *space)
{
	int err = pages_create(&space->pages, space->config.memory, space->config.page_size,
			       space->config.task_size);

	if (!err)
		err = sync_create(space);
	space->vmas.typed = true;
	return err ? err : mt_set_in_rcu(&space->tree);
}

int vmspace_create(struct vmspace **out, const struct vmspace_config *config)
{
	struct vmspace *space;
	int err;

	*out = NULL;
	if (!config_sane(config))
		return -EINVAL;
	space = calloc(1, sizeof(*space));
	if (!space)
		return -ENOMEM;
	mt_init_flags(&space->tree, MT_FLAGS_ALLOC_RANGE | MT_FLAGS_LOCK_EXTERN);
	mas_init(&space->spare, &space->tree, 0);
	space->config = *config;
	space->page_shift = (unsigned int)__builtin_ctzl(config->page_size);
	space->mmap_base = config->mmap_base;
	space->base_guessed = !config->mmap_base;
	space->next_anon_id = 1;
	space->next_file_id = (uint64_t)1 << 63;
	space->era = 1;
	if (config->memory) {
		err = make_shareable(space);
		if (err) {
			vmspace_destroy(space);
			return err;
		}
	}
	*out = space;
	return 0;
}

void vmspace_destroy(struct vmspace *space)
{
	if (!space)
		return;
	space_clear(space);
	pages_destroy(space->pages);
	sync_destroy(space);
	free(space);
}

const struct vmspace_config *vmspace_config(const struct vmspace *space)
{
	return &space->config;
}

int vmspace_configure(struct vmspace *space, const struct vmspace_config *config)
{
	unsigned long committed;

	if (!config_sane(config) || config->page_size != space->config.page_size ||
	    config->task_size != space->config.task_size ||
	    config->memory != space->config.memory)
		return -EINVAL;
	sync_enter(space);
	if (config->mmap_base && config->mmap_base != space->config.mmap_base) {
		space->mmap_base = config->mmap_base;
		space->base_guessed = false;
	}
	/* What is committed moves to the new pool. */
	committed = space->committed_vm;
	commit_charge(space, committed, -1);
	space->config = *config;
	commit_charge(space, committed, 1);
	sync_configure(space);
	sync_leave(space);
	return 0;
}

int vmspace_pin(struct vmspace *space, unsigned long pages)
{
	const struct vmspace_config *c = &space->config;
	int err = -ENOMEM;

	sync_enter(space);
	if (space->pinned_vm + pages >= pages &&
	    (c->lock_privileged || c->rlimit_memlock == VMSPACE_NO_LIMIT ||
	     space->pinned_vm + pages <= space_pages(space, c->rlimit_memlock))) {
		space->pinned_vm += pages;
		err = 0;
	}
	sync_leave(space);
	return err;
}

int vmspace_unpin(struct vmspace *space, unsigned long pages)
{
	int err = -EINVAL;

	sync_enter(space);
	if (pages <= space->pinned_vm) {
		space->pinned_vm -= pages;
		err = 0;
	}
	sync_leave(space);
	return err;
}

void vmspace_exit(struct vmspace *space)
{
	space_clear(space);
}

/* Pages of the program's text, as VmExe has it. */
static unsigned long text_pages(const struct vmspace *space)
{
	const struct vmspace_image *i = &space->image;
	unsigned long pages = space_pages(space, space_ceil(space, i->end_code) -
						 space_floor(space, i->start_code));

	return pages < space->exec_vm ? pages : space->exec_vm;
}

static void page_stats(const struct vmspace *space, struct vmspace_stats *stats)
{
	struct pages_count count;

	if (!space->pages)
		return;
	pages_count(space->pages, &count);
	stats->anon_pages = count.anon;
	stats->file_pages = count.file;
	stats->shmem_pages = count.shmem;
	stats->zero_pages = count.zero;
	stats->table_bytes = count.table_bytes;
}

void vmspace_stats(const struct vmspace *space, struct vmspace_stats *stats)
{
	struct mt_statistics tree;

	sync_enter(space);
	mt_get_statistics((struct maple_tree *)&space->tree, &tree);
	*stats = (struct vmspace_stats){
		.areas = space->areas,
		.areas_peak = space->areas_peak,
		.total_vm = space->total_vm,
		.locked_vm = space->locked_vm,
		.data_vm = space->data_vm,
		.stack_vm = space->stack_vm,
		.exec_vm = space->exec_vm,
		.text_vm = text_pages(space),
		.lib_vm = space->exec_vm - text_pages(space),
		.pinned_vm = space->pinned_vm,
		.committed_vm = space->committed_vm,
		.commit_total = commit_total(space),
		.commit_limit = commit_limit(space),
		.brk = space->image.brk,
		.start_brk = space->image.start_brk,
		.mmap_base = space->mmap_base,
		.merges = space->merges,
		.splits = space->splits,
		.host_questions = space->host_questions,
		.tree_nodes = tree.nodes,
		.tree_bytes = tree.bytes,
		.tree_height = tree.height,
	};
	for (int op = 0; op < VMSPACE_OP_COUNT; op++)
		stats->requests[op] = space->requests[op];
	page_stats(space, stats);
	sync_sum(space, &stats->faults, &stats->faults_locked);
	stats->requests[VMSPACE_FAULT] += stats->faults;
	sync_leave(space);
}
