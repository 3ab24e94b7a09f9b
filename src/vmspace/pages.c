/* SPDX-License-Identifier: MIT */
/*
 * pages.c - page faults, populating pages in advance, lookups and counts.
 *
 * A fault looks at the entry with the table locked. It drops that lock for what takes time (frames
 * from the user, copies), takes it again, and installs the page only if the entry is still the one
 * it saw; otherwise it frees what it allocated and starts again. So two faults at one page end with
 * one frame.
 *
 * A page is replaced in this order: the new entry; the new translation, which ends the old one;
 * then, when nobody looks at the old frame without a lock any more, its reference is dropped.
 */
#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "pages.h"
#include "slots.h"
#include "table.h"
#include "window.h"

static unsigned int bits_of(unsigned long value)
{
	return value ? (unsigned int)sizeof(long) * 8 - (unsigned int)__builtin_clzl(value) : 0;
}

void pages_set_execute_only(struct pages *pages, const uint8_t *pkey)
{
	pages->execute_only = pkey;
}

void pages_set_slots(struct pages *pages, struct slots *slots)
{
	pages->slots = slots;
}

int pages_create(struct pages **out, const struct vmspace_memory *memory,
		 unsigned long page_size, unsigned long task_size)
{
	unsigned int shift = bits_of(page_size - 1), bits = shift - 3;
	struct pages *pages;

	*out = NULL;
	if (!memory->alloc || !memory->free || !memory->copy || (memory->map && !memory->unmap))
		return -EINVAL;
	if (page_size < 512 || task_size < page_size)
		return -EINVAL;
	pages = calloc(1, sizeof(*pages));
	if (!pages)
		return -ENOMEM;
	pages->memory = memory;
	pages->page_shift = shift;
	pages->bits = bits;
	pages->last = task_size - 1;
	pages->levels = (bits_of(task_size - 1) - shift + bits - 1) / bits;
	if (!pages->levels)
		pages->levels = 1;
	assert(pages->levels <= TABLE_LEVELS);
	*out = pages;
	return 0;
}

void pages_clear(struct pages *pages)
{
	struct pages_count count;

	pages_unmap(pages, 0, pages->last + 1, 0, 0);
	frame_put(pages->memory, (struct frame *)pages->zero);
	pages->zero = 0;
	pages_count(pages, &count);
	assert(!pages->root && !count.anon && !count.file && !count.shmem && !count.zero &&
	       !count.guards && !count.all_table_bytes);
}

void pages_destroy(struct pages *pages)
{
	if (!pages)
		return;
	pages_clear(pages);
	free(pages);
}

static bool is_shared(const struct vma *vma)
{
	return vma->flags & (VMA_SHARED | VMA_MAYSHARE);
}

/* Describe the page of an entry in vma. */
static void describe(const struct pages *pages, const struct vma *vma, uintptr_t entry,
		     struct vmspace_page *page)
{
	const struct frame *frame = entry_frame(entry);

	page->frame = 0;
	page->access = 0;
	page->kind = entry == ENTRY_GUARD ? VMSPACE_PAGE_GUARD : VMSPACE_PAGE_NONE;
	if (!entry_present(entry))
		return;
	if (entry_is_zero(entry))
		frame = (struct frame *)entry_load(&pages->zero);
	page->frame = frame->handle;
	page->kind = (enum vmspace_page_kind)frame->kind;
	if (vma->flags & VMA_EXEC)
		page->access |= VMSPACE_ACCESS_EXEC;
	if (pages->execute_only && vma_is_opaque(vma, pages->execute_only))
		return;
	if (vma->flags & VMA_ACCESS_FLAGS)
		page->access |= VMSPACE_ACCESS_READ;
	if ((entry & ENTRY_WRITABLE) && (vma->flags & VMA_WRITE))
		page->access |= VMSPACE_ACCESS_WRITE;
}

/* A fault in progress. */
struct fault {
	struct pages *pages;
	const struct vma *vma;
	unsigned long addr;          /* of the page */
	bool write;
	struct frame_reserve *reserve; /* frames are taken from it first; or NULL */
	struct table *leaf;
	uintptr_t *entry;
	uintptr_t seen;              /* the entry when it was read; referenced if to be copied */
	uintptr_t next;              /* the entry to install; its reference is ours until then */
	enum vmspace_page_source source;
};

/* The frame of zeros, allocated when first needed. NULL: no memory. */
static struct frame *zero_frame(struct pages *pages)
{
	uintptr_t found = entry_load(&pages->zero);
	uint64_t handle;
	struct frame *frame;

	if (found)
		return (struct frame *)found;
	handle = window_alloc_zeros(pages->memory);
	frame = handle ? frame_new(pages->memory, handle, VMSPACE_PAGE_ZERO) : NULL;
	if (!frame)
		return NULL;
	if (__atomic_compare_exchange_n(&pages->zero, &found, (uintptr_t)frame, false,
					__ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
		return frame;
	frame_put(pages->memory, frame);
	return (struct frame *)found;
}

/* Shared memory ends where it did when it was made; the ends of files are the user's affair. */
static bool is_beyond_memory(const struct fault *f)
{
	unsigned long page = table_mask(f->pages, 0) + 1;

	return f->vma->backing->is.kind != VMA_BACKING_FILE &&
	       vma_passes_file(f->vma, f->addr + page, page);
}

/* Ask the user for the page of the file, or other object, that is mapped. */
static enum vmspace_fault_result ask_file(const struct fault *f, struct frame **out)
{
	const struct vmspace_memory *memory = f->pages->memory;
	const struct vma *vma = f->vma;
	uint64_t index = vma->pgoff + ((f->addr - vma->start) >> f->pages->page_shift);
	enum vma_backing_kind kind = vma->backing->is.kind;
	uint64_t handle;
	int err;

	if (!memory->file_page || is_beyond_memory(f))
		return VMSPACE_FAULT_BUS;
	err = window_file_page_at(memory, &vma->backing->is, index, f->addr, &handle);
	if (err)
		return err == -ENOMEM ? VMSPACE_FAULT_NOMEM : VMSPACE_FAULT_BUS;
	*out = frame_new(memory, handle,
			 kind == VMA_BACKING_SHMEM || kind == VMA_BACKING_SYSV ? VMSPACE_PAGE_SHMEM
									      : VMSPACE_PAGE_FILE);
	return *out ? VMSPACE_FAULT_OK : VMSPACE_FAULT_NOMEM;
}

static enum vmspace_fault_result file_frame(const struct fault *f, struct frame **out)
{
	*out = f->reserve ? frame_reserve_take_file(f->reserve, f->addr) : NULL;
	return *out ? VMSPACE_FAULT_OK : ask_file(f, out);
}

/*
 * A frame from the user for the page at `addr`, of zeros if it is not to be a copy. after: the frame
 * below, where it has one that is not mapped yet. NULL: no memory.
 */
static struct frame *alloc_frame(const struct vmspace_memory *memory, unsigned long addr,
				 const struct frame *after, bool zero)
{
	uint64_t handle = window_alloc_at(memory, addr, after ? after->handle : 0, zero);

	return handle ? frame_new(memory, handle, VMSPACE_PAGE_ANON) : NULL;
}

/* An anonymous frame with the content of `from`; zeros if that is NULL. */
static struct frame *new_anon_frame(const struct fault *f, const struct frame *from)
{
	const struct vmspace_memory *memory = f->pages->memory;
	struct frame *frame = f->reserve ? frame_reserve_take_anon(f->reserve) : NULL;

	if (!frame)
		frame = alloc_frame(memory, f->addr, NULL, !from);
	if (frame && from)
		memory->copy(memory->ctx, frame->handle, from->handle);
	return frame;
}

/* Copy on write: a private page with the content of `from` (referenced), or zeros if NULL. */
static enum vmspace_fault_result copy_page(struct fault *f, struct frame *from)
{
	struct frame *frame = new_anon_frame(f, from);

	f->next = (uintptr_t)frame | ENTRY_WRITTEN;
	f->source = VMSPACE_PAGE_COPIED;
	return frame ? VMSPACE_FAULT_OK : VMSPACE_FAULT_NOMEM;
}

/* Nothing is mapped yet, in private anonymous memory. */
static enum vmspace_fault_result new_anon(struct fault *f)
{
	enum vmspace_fault_result result;

	if (!f->write) {
		f->next = ENTRY_ZERO;
		return zero_frame(f->pages) ? VMSPACE_FAULT_OK : VMSPACE_FAULT_NOMEM;
	}
	result = copy_page(f, NULL);
	f->source = VMSPACE_PAGE_NEW;
	return result;
}

/* Nothing is mapped yet, in an area with a backing; a private write copies the page at once. */
static enum vmspace_fault_result new_file(struct fault *f)
{
	struct frame *frame;
	enum vmspace_fault_result result = file_frame(f, &frame);

	if (result)
		return result;
	if (f->write && !is_shared(f->vma)) {
		result = copy_page(f, frame);
		frame_put(f->pages->memory, frame);
		return result;
	}
	f->next = (uintptr_t)frame | (f->write ? ENTRY_WRITTEN : 0);
	return VMSPACE_FAULT_OK;
}

/* Does the access need a copy of the frame that was seen? */
static bool must_copy(const struct fault *f)
{
	const struct frame *frame = entry_frame(f->seen);

	if (!f->write || !frame || (f->seen & ENTRY_WRITABLE) || is_shared(f->vma))
		return false;
	return frame->kind != VMSPACE_PAGE_ANON || !frame_exclusive(frame);
}

/*
 * Read the entry. If it serves the access, as it is or made writable, that becomes f->next;
 * otherwise f->next is 0, and a frame that has to be copied is referenced. The table is locked.
 */
static void look(struct fault *f)
{
	f->seen = entry_load(f->entry);
	f->next = 0;
	f->source = VMSPACE_PAGE_NEW;
	if (must_copy(f)) {
		frame_get(entry_frame(f->seen));
	} else if (f->seen && !(f->write && entry_is_zero(f->seen))) {
		f->next = f->seen;
		f->source = VMSPACE_PAGE_PRESENT;
		if (f->write && !(f->seen & ENTRY_WRITABLE)) {
			f->next = (f->next | ENTRY_WRITTEN) & ~ENTRY_CODE;
			f->source = VMSPACE_PAGE_REUSED;
		}
	}
}

/* Allocate the page for f->next. The table is not locked. */
static enum vmspace_fault_result allocate_page(struct fault *f)
{
	if (f->seen)
		return copy_page(f, entry_frame(f->seen));
	return f->vma->backing ? new_file(f) : new_anon(f);
}

static void change_entry(const struct fault *f, uintptr_t from, uintptr_t to)
{
	/* As it was, with the same frame. */
	bool marked = entry_frame(from) == entry_frame(to) && (from & to & ENTRY_DIRTY);

	if (from == to)
		return;
	table_count_entry(f->pages, from, -1);
	table_count_entry(f->pages, to, 1);
	if (!marked)
		table_mark_written(f->pages, to);
	entry_replace(f->entry, to);
	if (!marked)
		table_unmark_written(f->pages, from);
}

/* For assertions: does f->next serve the access, and is a page that becomes writable not shared? */
static __attribute__((unused)) bool next_is_valid(const struct fault *f)
{
	const struct frame *frame = entry_frame(f->next);

	if (!entry_present(f->next) || (f->write && !(f->next & ENTRY_WRITABLE)))
		return false;
	return (f->next & f->seen & ENTRY_WRITABLE) || !(f->next & ENTRY_WRITABLE) ||
	       frame->kind != VMSPACE_PAGE_ANON || frame_exclusive(frame) ||
	       __atomic_load_n(&frame->was_pinned, __ATOMIC_RELAXED); /* and no more since */
}

/* Set the entry to f->next and translate it; if that fails, restore it. The table is locked. */
static enum vmspace_fault_result commit(struct fault *f, struct vmspace_page *page)
{
	const struct vmspace_memory *memory = f->pages->memory;

	assert(entry_load(f->entry) == f->seen && next_is_valid(f));
	f->next |= ENTRY_ACCESSED;
	if (f->seen & ~f->next & ENTRY_CODE)
		table_code_changed(f->pages, f->addr, f->addr + table_mask(f->pages, 0) + 1);
	change_entry(f, f->seen, f->next);
	describe(f->pages, f->vma, f->next, page);
	page->addr = f->addr;
	page->source = f->source;
	if (memory->map && window_map_in(memory, f->addr, page->frame, page->access,
					 f->vma->start, f->vma->end) && !f->reserve) {
		change_entry(f, f->next, f->seen & (f->next | ~ENTRY_CODE));
		return VMSPACE_FAULT_NOMEM;
	}
	return VMSPACE_FAULT_OK;
}

/*
 * Replace what was seen by f->next, which has just been allocated, unless the entry has changed:
 * then *again is set. The table is not locked.
 */
static enum vmspace_fault_result install(struct fault *f, struct vmspace_page *page, bool *again)
{
	const struct vmspace_memory *memory = f->pages->memory;
	enum vmspace_fault_result result = VMSPACE_FAULT_OK;
	struct frame *out;

	pthread_mutex_lock(&f->leaf->lock);
	*again = entry_load(f->entry) != f->seen;
	if (!*again)
		result = commit(f, page);
	pthread_mutex_unlock(&f->leaf->lock);
	/* Drop the reference of whichever of the two is not in the entry. */
	out = entry_frame(*again || result ? f->next : f->seen);
	if (out && f->pages->slots)
		slots_wait_for_frame(f->pages->slots, out);
	frame_put(memory, out);
	return result;
}

/* f->next has to be allocated first. The table is locked on entry, and not on return. */
static enum vmspace_fault_result replace(struct fault *f, struct vmspace_page *page, bool *again)
{
	struct frame *held = entry_frame(f->seen);
	enum vmspace_fault_result result;

	pthread_mutex_unlock(&f->leaf->lock);
	result = allocate_page(f);
	if (!result)
		result = install(f, page, again);
	frame_put(f->pages->memory, held);
	return result;
}

/*
 * There is no table yet. It is installed when nothing can run out of memory any more, so that a
 * failed fault leaves no empty table behind.
 */
static enum vmspace_fault_result install_first(struct fault *f, struct vmspace_page *page,
					       bool *again)
{
	unsigned long done_to[TABLE_LEVELS] = { 0 };
	enum vmspace_fault_result result = VMSPACE_FAULT_NOMEM;

	table_cache_begin();
	if (!table_cache_fill(f->pages, f->addr, f->addr + 1, done_to))
		result = allocate_page(f);
	if (result != VMSPACE_FAULT_NOMEM)
		f->leaf = table_make(f->pages, f->addr, 0);
	table_cache_end();
	if (result)
		return result;
	f->entry = table_entry(f->pages, f->leaf, f->addr, 0);
	return install(f, page, again);
}

static enum vmspace_fault_result resolve(struct pages *pages, const struct vma *vma,
					 unsigned long addr, unsigned int access,
					 struct frame_reserve *reserve, struct vmspace_page *page)
{
	struct fault f = {
		.pages = pages, .vma = vma, .reserve = reserve,
		.addr = addr & ~table_mask(pages, 0),
		.write = access & VMSPACE_ACCESS_WRITE,
		.source = VMSPACE_PAGE_NEW,
	};
	enum vmspace_fault_result result;
	bool again = false;

	assert(vma->start <= addr && addr < vma->end && vma->end - 1 <= pages->last);
	if (!vma_permits(vma, access))
		return VMSPACE_FAULT_ACCERR;
	f.leaf = reserve ? table_make(pages, addr, 0) : table_find(pages, addr, 0);
	if (!f.leaf) {
		result = install_first(&f, page, &again);
		if (!again)
			return result;
	}
	f.entry = table_entry(pages, f.leaf, addr, 0);
	do {
		again = false;
		pthread_mutex_lock(&f.leaf->lock);
		look(&f);
		if (f.seen == ENTRY_GUARD) {
			pthread_mutex_unlock(&f.leaf->lock);
			return VMSPACE_FAULT_MAPERR;
		}
		if (!f.next) {
			result = replace(&f, page, &again);
			continue;
		}
		result = commit(&f, page);
		pthread_mutex_unlock(&f.leaf->lock);
	} while (again);
	return result;
}

enum vmspace_fault_result pages_fault(struct pages *pages, const struct vma *vma,
				      unsigned long addr, unsigned int access,
				      struct vmspace_page *page)
{
	return resolve(pages, vma, addr, access, NULL, page);
}

/* A page that is watched is not to be made writable for the sake of others. */
static bool is_watched(const struct pages *pages, unsigned long addr)
{
	struct table *leaf = table_find(pages, addr, 0);

	return leaf && (entry_load(table_entry(pages, leaf, addr, 0)) & ENTRY_CODE);
}

void pages_fault_around(struct pages *pages, const struct vma *vma, unsigned long addr,
			unsigned int access)
{
	unsigned long page = table_mask(pages, 0) + 1, unit = window_unit_size(pages->memory);
	unsigned long first = addr & ~(unit - 1);
	struct vmspace_page other;

	for (unsigned long at = first; unit && at - first < unit; at += page) {
		if (at < vma->start || at >= vma->end || (at ^ addr) < page)
			continue;
		if (!(access & VMSPACE_ACCESS_WRITE) || !is_watched(pages, at))
			resolve(pages, vma, at, access, NULL, &other);
	}
}

void pages_open_around(struct pages *pages, const struct vma *vma, unsigned long addr,
		       unsigned int access, unsigned long areas)
{
	uint64_t tried;

	if (!window_may_open(pages->memory, addr, access, areas, &tried))
		return;
	pages_fault_around(pages, vma, addr, access);
	window_tried_to_open(pages->memory, addr, access, areas, tried);
}

/*
 * The page of an entry that may be replaced while the area is read-locked: its frame is safe as
 * long as the slot says that it is looked at, if it was still there after the slot said so. False:
 * try again, as it has been replaced.
 */
static bool glance_at(const struct pages *pages, const struct vma *vma, const uintptr_t *at,
		      uintptr_t entry, struct slot *slot, struct vmspace_page *page)
{
	bool same;

	slot_look_at(slot, entry_frame(entry));
	same = __atomic_load_n(at, __ATOMIC_SEQ_CST) == entry;
	if (same)
		describe(pages, vma, entry, page);
	slot_look_away(slot);
	return same;
}

/* Does the page stay while the area is read-locked? Writes replace others by such. */
static bool stays(uintptr_t entry)
{
	return !entry_frame(entry) || (entry & ENTRY_WRITABLE);
}

bool pages_glance(struct pages *pages, const struct vma *vma, unsigned long addr,
		  unsigned int access, struct slot *slot, struct vmspace_page *page)
{
	bool write = access & VMSPACE_ACCESS_WRITE;
	const uintptr_t *at;
	struct table *leaf;
	uintptr_t entry;

	assert(vma_permits(vma, access));
	leaf = table_find(pages, addr, 0);
	if (!leaf)
		return false;
	at = table_entry(pages, leaf, addr, 0);
	do {
		entry = entry_load(at);
		if (!entry_present(entry) || !(entry & ENTRY_ACCESSED) ||
		    (write && !(entry & ENTRY_WRITABLE)))
			return false;
		if (stays(entry))
			describe(pages, vma, entry, page);
		else if (!slot)
			return false;
		else if (!glance_at(pages, vma, at, entry, slot, page))
			continue;
		break;
	} while (true);
	page->addr = addr & ~table_mask(pages, 0);
	page->source = VMSPACE_PAGE_PRESENT;
	if (pages->memory->map)
		return window_shows(pages->memory, page->addr, page->frame, page->access);
	return true;
}

enum vmspace_fault_result pages_populate(struct pages *pages, const struct vma *vma,
					 unsigned long addr, unsigned int access,
					 struct vmspace_page *page)
{
	return resolve(pages, vma, addr, access, &pages->reserve, page);
}

/* Reserve what allocate_page() will take for a page at `to`. 0, -ENOMEM, or 1: no such page. */
static int reserve_page(const struct fault *f, unsigned long to)
{
	struct frame_reserve *reserve = &f->pages->reserve;
	const struct vmspace_memory *memory = f->pages->memory;
	enum vmspace_fault_result result;
	struct frame *frame;

	if (!f->seen && f->vma->backing) {
		result = ask_file(f, &frame);
		if (result)
			return result == VMSPACE_FAULT_NOMEM ? -ENOMEM : 1;
		if (!frame_reserve_add_file(reserve, memory, to, frame))
			return -ENOMEM;
		if (!f->write || is_shared(f->vma))
			return 0;
	} else if (!f->write) {
		return zero_frame(f->pages) ? 0 : -ENOMEM;
	}
	frame = alloc_frame(memory, to, frame_reserve_last_anon(reserve), true);
	return frame && frame_reserve_add_anon(reserve, memory, frame) ? 0 : -ENOMEM;
}

int pages_reserve(struct pages *pages, const struct vma *vma, unsigned long start,
		  unsigned long end, bool write, unsigned long delta, bool fresh)
{
	unsigned long page = table_mask(pages, 0) + 1;
	struct fault f = { .pages = pages, .vma = vma, .addr = start, .write = write };
	int err = pages_reserve_tables(pages, start + delta, end + delta);

	assert(vma->start <= start && start < end && (fresh || end <= vma->end));
	for (; !err && f.addr < end; f.addr += page) {
		f.leaf = fresh ? NULL : table_find(pages, f.addr, 0);
		f.seen = f.leaf ? entry_load(table_entry(pages, f.leaf, f.addr, 0)) : 0;
		if (f.seen == ENTRY_GUARD)
			return 1;
		/* The same conditions as in look(). */
		if (must_copy(&f) || !f.seen || (write && entry_is_zero(f.seen)))
			err = reserve_page(&f, f.addr + delta);
	}
	return err;
}

struct frame *pages_lookup(struct pages *pages, const struct vma *vma, unsigned long addr,
			   struct vmspace_page *page)
{
	struct table *leaf = table_find(pages, addr, 0);
	struct frame *frame = NULL;
	uintptr_t entry;

	page->addr = addr & ~table_mask(pages, 0);
	page->source = VMSPACE_PAGE_PRESENT;
	describe(pages, vma, 0, page);
	if (!leaf)
		return NULL;
	pthread_mutex_lock(&leaf->lock);
	entry = entry_load(table_entry(pages, leaf, addr, 0));
	describe(pages, vma, entry, page);
	if (entry_frame(entry))
		frame = frame_get(entry_frame(entry));
	pthread_mutex_unlock(&leaf->lock);
	return frame;
}

void pages_peek(struct pages *pages, const struct vma *vma, unsigned long addr, struct slot *slot,
		struct vmspace_page *page)
{
	struct table *leaf = table_find(pages, addr, 0);
	const uintptr_t *at = leaf ? table_entry(pages, leaf, addr, 0) : NULL;
	uintptr_t entry;

	page->addr = addr & ~table_mask(pages, 0);
	page->source = VMSPACE_PAGE_PRESENT;
	do
		entry = at ? entry_load(at) : 0;
	while (slot && !stays(entry) && !glance_at(pages, vma, at, entry, slot, page));
	if (stays(entry))
		describe(pages, vma, entry, page);
	else if (!slot)
		pages_release(pages, pages_lookup(pages, vma, addr, page));
}

enum vmspace_fault_result pages_watch_code(struct pages *pages, const struct vma *vma,
					   unsigned long addr, struct vmspace_page *page)
{
	unsigned long start = addr & ~table_mask(pages, 0);
	struct table *leaf = table_find(pages, addr, 0);
	uintptr_t *at = leaf ? table_entry(pages, leaf, addr, 0) : NULL;
	uintptr_t entry = at ? *at : 0;

	if (!entry_present(entry))
		return VMSPACE_FAULT_MAPERR;
	page->addr = start;
	page->source = VMSPACE_PAGE_PRESENT;
	if (entry_frame(entry) && frame_is_written(entry_frame(entry))) {
		describe(pages, vma, entry, page);
		page->access |= VMSPACE_ACCESS_WRITE;
		return VMSPACE_FAULT_PINNED;
	}
	__atomic_store_n(&pages->code_watched, true, __ATOMIC_RELAXED);
	entry_store(at, (entry & ~ENTRY_WRITABLE) | ENTRY_CODE);
	if (entry & ENTRY_WRITABLE)
		pages_write_protect(pages, start, start + table_mask(pages, 0) + 1);
	describe(pages, vma, *at, page);
	return VMSPACE_FAULT_OK;
}

void pages_set_code_hook(struct pages *pages,
			 void (*changed)(void *ctx, unsigned long start, unsigned long end), void *ctx)
{
	pages->code_changed = changed;
	pages->code_ctx = ctx;
}

unsigned long pages_code_generation(const struct pages *pages)
{
	return __atomic_load_n(&pages->code_generation, __ATOMIC_ACQUIRE);
}

void pages_release(struct pages *pages, struct frame *frame)
{
	frame_put(pages->memory, frame);
}

static void begin_reserve(struct pages *pages)
{
	if (!pages->reserving)
		table_cache_begin();
	pages->reserving = true;
}

int pages_reserve_tables(struct pages *pages, unsigned long start, unsigned long end)
{
	begin_reserve(pages);
	if (start < pages->reserved_from)
		memset(pages->reserved_to, 0, sizeof(pages->reserved_to));
	pages->reserved_from = start;
	assert(start < end && !(start & table_mask(pages, 0)));
	return table_cache_fill(pages, start, end, pages->reserved_to);
}

int pages_reserve_move(struct pages *pages, unsigned long from, unsigned long to,
		       unsigned long length)
{
	struct leaf_part part = { .next = from };
	int err = 0;

	while (!err && table_next_leaf(pages, &part, from + length)) {
		unsigned long first = part.addr - from + to;
		unsigned long bytes = (unsigned long)part.count << pages->page_shift;

		err = pages_reserve_tables(pages, first, first + bytes);
	}
	return err;
}

void pages_end_reserve(struct pages *pages)
{
	if (!pages->reserving)
		return;
	pages->reserving = false;
	frame_reserve_clear(&pages->reserve, pages->memory);
	memset(pages->reserved_to, 0, sizeof(pages->reserved_to));
	pages->reserved_from = 0;
	table_cache_end();
}

static unsigned long read_count(const unsigned long *counter)
{
	return __atomic_load_n(counter, __ATOMIC_RELAXED);
}

void pages_count(const struct pages *pages, struct pages_count *count)
{
	unsigned long tables = 0, all = 0;

	for (unsigned int level = 0; level < pages->levels; level++) {
		unsigned long n = read_count(&pages->counts.tables[level]);

		all += n;
		if (level < 3 && level < pages->levels - 1)
			tables += n;
	}
	*count = (struct pages_count){
		.anon = read_count(&pages->counts.anon),
		.file = read_count(&pages->counts.file),
		.shmem = read_count(&pages->counts.shmem),
		.zero = read_count(&pages->counts.zero),
		.guards = read_count(&pages->counts.guards),
		.table_bytes = tables << pages->page_shift,
		.all_table_bytes = all << pages->page_shift,
	};
}
