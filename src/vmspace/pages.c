/* SPDX-License-Identifier: MIT */
/*
 * pages.c - faults: how a page comes to be present; what is there.
 *
 * A fault decides from the entry that it sees with the table locked. What takes time (frames from
 * the user, copies) it does without that lock, then locks again and goes on only if the entry is
 * still the one it saw; otherwise it gives back what it got, and looks again. Two faults of one
 * page so end with one frame.
 *
 * The order in which a page is exchanged: the new entry; the new translation, which ends the old
 * one; then the old frame's reference is dropped.
 */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "table.h"

static unsigned int bits_of(unsigned long value)
{
	return value ? (unsigned int)sizeof(long) * 8 - (unsigned int)__builtin_clzl(value) : 0;
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

/* What the page of an entry in vma is, for whom it may concern. */
static void describe(const struct pages *pages, const struct vma *vma, uintptr_t entry,
		     struct vmspace_page *page)
{
	const struct frame *frame = entry_frame(entry);

	page->frame = 0;
	page->access = 0;
	page->kind = entry == ENTRY_GUARD ? VMSPACE_PAGE_GUARD : VMSPACE_PAGE_NONE;
	if (!entry_present(entry))
		return;
	if (entry == ENTRY_ZERO)
		frame = (struct frame *)entry_load(&pages->zero);
	page->frame = frame->handle;
	page->kind = (enum vmspace_page_kind)frame->kind;
	if (vma->flags & VMA_ACCESS_FLAGS)
		page->access |= VMSPACE_ACCESS_READ;
	if ((entry & ENTRY_WRITABLE) && (vma->flags & VMA_WRITE))
		page->access |= VMSPACE_ACCESS_WRITE;
	if (vma->flags & VMA_EXEC)
		page->access |= VMSPACE_ACCESS_EXEC;
}

/* One fault, from one look at the entry to the next. */
struct fault {
	struct pages *pages;
	const struct vma *vma;
	unsigned long addr;          /* of the page */
	bool write;
	struct stock *stock;         /* to take from first; or NULL */
	struct table *leaf;
	uintptr_t *entry;
	uintptr_t seen;              /* what the entry was; its frame is held if it is copied from */
	uintptr_t next;              /* what the entry shall be; its frame is ours until it is */
	enum vmspace_page_source source;
};

/* The frame of zeros; made when first needed. NULL: no memory. */
static struct frame *zero_frame(struct pages *pages)
{
	uintptr_t found = entry_load(&pages->zero);
	uint64_t handle;
	struct frame *frame;

	if (found)
		return (struct frame *)found;
	handle = pages->memory->alloc(pages->memory->ctx);
	frame = handle ? frame_new(pages->memory, handle, VMSPACE_PAGE_ZERO) : NULL;
	if (!frame)
		return NULL;
	if (__atomic_compare_exchange_n(&pages->zero, &found, (uintptr_t)frame, false,
					__ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
		return frame;
	frame_put(pages->memory, frame);
	return (struct frame *)found;
}

/* A frame for the page of what is mapped, from the user. */
static enum vmspace_fault_result ask_file(const struct fault *f, struct frame **out)
{
	const struct vmspace_memory *memory = f->pages->memory;
	const struct vma *vma = f->vma;
	uint64_t index = vma->pgoff + ((f->addr - vma->start) >> f->pages->page_shift);
	enum vma_backing_kind kind = vma->backing->is.kind;
	uint64_t handle;
	int err;

	if (!memory->file_page)
		return VMSPACE_FAULT_BUS;
	err = memory->file_page(memory->ctx, &vma->backing->is, index, &handle);
	if (err)
		return err == -ENOMEM ? VMSPACE_FAULT_NOMEM : VMSPACE_FAULT_BUS;
	*out = frame_new(memory, handle,
			 kind == VMA_BACKING_SHMEM || kind == VMA_BACKING_SYSV ? VMSPACE_PAGE_SHMEM
									      : VMSPACE_PAGE_FILE);
	return *out ? VMSPACE_FAULT_OK : VMSPACE_FAULT_NOMEM;
}

static enum vmspace_fault_result file_frame(const struct fault *f, struct frame **out)
{
	*out = f->stock ? stock_take_file(f->stock, f->addr) : NULL;
	return *out ? VMSPACE_FAULT_OK : ask_file(f, out);
}

/* A frame of zeros from the user; NULL: no memory. */
static struct frame *ask_own(const struct vmspace_memory *memory)
{
	uint64_t handle = memory->alloc(memory->ctx);

	return handle ? frame_new(memory, handle, VMSPACE_PAGE_ANON) : NULL;
}

/* A frame of the space's own, with the content of `from`; NULL: zeros. */
static struct frame *own_frame(const struct fault *f, const struct frame *from)
{
	const struct vmspace_memory *memory = f->pages->memory;
	struct frame *frame = f->stock ? stock_take_own(f->stock) : NULL;

	if (!frame)
		frame = ask_own(memory);
	if (frame && from)
		memory->copy(memory->ctx, frame->handle, from->handle);
	return frame;
}

/* The first write to a private page whose content is that of `from` (held; NULL: zeros). */
static enum vmspace_fault_result copy_page(struct fault *f, struct frame *from)
{
	struct frame *frame = own_frame(f, from);

	f->next = (uintptr_t)frame | ENTRY_WRITABLE;
	f->source = VMSPACE_PAGE_COPIED;
	return frame ? VMSPACE_FAULT_OK : VMSPACE_FAULT_NOMEM;
}

/* The first page of private anonymous memory. */
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

/* The first page of what is mapped; a private one that is written is a copy of it from the start. */
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
	f->next = (uintptr_t)frame | (f->write ? ENTRY_WRITABLE : 0);
	return VMSPACE_FAULT_OK;
}

/* Must the frame that was seen be copied before the access? */
static bool must_copy(const struct fault *f)
{
	const struct frame *frame = entry_frame(f->seen);

	if (!f->write || !frame || (f->seen & ENTRY_WRITABLE) || is_shared(f->vma))
		return false;
	return frame->kind != VMSPACE_PAGE_ANON || !frame_exclusive(frame);
}

/*
 * Look at the entry; if it can be what the access needs without anything new, f->next says so.
 * Otherwise f->next is 0, and a frame that must be copied is held. The table is locked.
 */
static void look(struct fault *f)
{
	f->seen = entry_load(f->entry);
	f->next = 0;
	f->source = VMSPACE_PAGE_NEW;
	if (must_copy(f)) {
		frame_get(entry_frame(f->seen));
	} else if (f->seen && !(f->write && f->seen == ENTRY_ZERO)) {
		f->next = f->seen;
		f->source = VMSPACE_PAGE_PRESENT;
		if (f->write && !(f->seen & ENTRY_WRITABLE)) {
			f->next |= ENTRY_WRITABLE;
			f->source = VMSPACE_PAGE_REUSED;
		}
	}
}

/* Get what f->next needs. The table is not locked. */
static enum vmspace_fault_result obtain(struct fault *f)
{
	if (f->seen)
		return copy_page(f, entry_frame(f->seen));
	return f->vma->backing ? new_file(f) : new_anon(f);
}

static void change_entry(const struct fault *f, uintptr_t from, uintptr_t to)
{
	if (from == to)
		return;
	table_count_entry(f->pages, from, -1);
	table_count_entry(f->pages, to, 1);
	entry_store(f->entry, to);
}

/* The entry becomes f->next, and is translated; or stays what it was. The table is locked. */
static enum vmspace_fault_result commit(struct fault *f, struct vmspace_page *page)
{
	const struct vmspace_memory *memory = f->pages->memory;

	change_entry(f, f->seen, f->next);
	describe(f->pages, f->vma, f->next, page);
	page->addr = f->addr;
	page->source = f->source;
	if (memory->map && memory->map(memory->ctx, f->addr, page->frame, page->access) && !f->stock) {
		change_entry(f, f->next, f->seen);
		return VMSPACE_FAULT_NOMEM;
	}
	return VMSPACE_FAULT_OK;
}

/*
 * f->next, which has just been obtained, comes in the place of what was seen, if that is still
 * there. The table is not locked.
 */
static enum vmspace_fault_result exchange(struct fault *f, struct vmspace_page *page, bool *again)
{
	const struct vmspace_memory *memory = f->pages->memory;
	enum vmspace_fault_result result = VMSPACE_FAULT_OK;

	pthread_mutex_lock(&f->leaf->lock);
	*again = entry_load(f->entry) != f->seen;
	if (!*again)
		result = commit(f, page);
	pthread_mutex_unlock(&f->leaf->lock);
	/* The entry's reference to the one that is not in it. */
	frame_put(memory, entry_frame(*again || result ? f->next : f->seen));
	return result;
}

/* The slow way: f->next has to be made of something new. The table is locked when it begins. */
static enum vmspace_fault_result replace(struct fault *f, struct vmspace_page *page, bool *again)
{
	struct frame *held = entry_frame(f->seen);
	enum vmspace_fault_result result;

	pthread_mutex_unlock(&f->leaf->lock);
	result = obtain(f);
	if (!result)
		result = exchange(f, page, again);
	frame_put(f->pages->memory, held);
	return result;
}

/*
 * There is no table yet: it comes when nothing can fail any more for lack of memory, so that a fault
 * leaves none behind for nothing.
 */
static enum vmspace_fault_result first_page(struct fault *f, struct vmspace_page *page, bool *again)
{
	unsigned long counted[TABLE_LEVELS] = { 0 };
	enum vmspace_fault_result result = VMSPACE_FAULT_NOMEM;

	table_keep();
	if (!table_put_by(f->pages, f->addr, f->addr + 1, counted))
		result = obtain(f);
	if (result != VMSPACE_FAULT_NOMEM)
		f->leaf = table_make(f->pages, f->addr, 0);
	table_let_go();
	if (result)
		return result;
	f->entry = table_entry(f->pages, f->leaf, f->addr, 0);
	return exchange(f, page, again);
}

static enum vmspace_fault_result resolve(struct pages *pages, const struct vma *vma,
					 unsigned long addr, unsigned int access,
					 struct stock *stock, struct vmspace_page *page)
{
	struct fault f = {
		.pages = pages, .vma = vma, .stock = stock,
		.addr = addr & ~table_mask(pages, 0),
		.write = access & VMSPACE_ACCESS_WRITE,
	};
	enum vmspace_fault_result result;
	bool again = false;

	assert(vma->start <= addr && addr < vma->end && vma->end - 1 <= pages->last);
	if (!vma_permits(vma, access))
		return VMSPACE_FAULT_ACCERR;
	f.leaf = stock ? table_make(pages, addr, 0) : table_find(pages, addr, 0);
	if (!f.leaf) {
		result = first_page(&f, page, &again);
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

enum vmspace_fault_result pages_populate(struct pages *pages, const struct vma *vma,
					 unsigned long addr, unsigned int access,
					 struct vmspace_page *page)
{
	return resolve(pages, vma, addr, access, &pages->stock, page);
}

/* Put by what obtain() will ask for. 0, -ENOMEM, or 1: there is no such page. */
static int put_by(const struct fault *f, unsigned long to)
{
	struct stock *stock = &f->pages->stock;
	const struct vmspace_memory *memory = f->pages->memory;
	enum vmspace_fault_result result;
	struct frame *frame;

	if (!f->seen && f->vma->backing) {
		result = ask_file(f, &frame);
		if (result)
			return result == VMSPACE_FAULT_NOMEM ? -ENOMEM : 1;
		if (!stock_add_file(stock, memory, to, frame))
			return -ENOMEM;
		if (!f->write || is_shared(f->vma))
			return 0;
	} else if (!f->write) {
		return zero_frame(f->pages) ? 0 : -ENOMEM;
	}
	frame = ask_own(memory);
	return frame && stock_add_own(stock, memory, frame) ? 0 : -ENOMEM;
}

int pages_stock(struct pages *pages, const struct vma *vma, unsigned long start,
		unsigned long end, bool write, unsigned long by, bool fresh)
{
	unsigned long page = table_mask(pages, 0) + 1;
	struct fault f = { .pages = pages, .vma = vma, .addr = start, .write = write };
	int err = pages_stock_tables(pages, start + by, end + by);

	for (; !err && f.addr < end; f.addr += page) {
		f.leaf = fresh ? NULL : table_find(pages, f.addr, 0);
		f.seen = f.leaf ? entry_load(table_entry(pages, f.leaf, f.addr, 0)) : 0;
		if (f.seen == ENTRY_GUARD)
			return 1;
		/* As look() decides. */
		if (must_copy(&f) || !f.seen || (write && f.seen == ENTRY_ZERO))
			err = put_by(&f, f.addr + by);
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

void pages_release(struct pages *pages, struct frame *frame)
{
	frame_put(pages->memory, frame);
}

static void begin_stock(struct pages *pages)
{
	if (!pages->stocking)
		table_keep();
	pages->stocking = true;
}

int pages_stock_tables(struct pages *pages, unsigned long start, unsigned long end)
{
	begin_stock(pages);
	if (start < pages->stocked_from)
		memset(pages->stocked_to, 0, sizeof(pages->stocked_to));
	pages->stocked_from = start;
	return table_put_by(pages, start, end, pages->stocked_to);
}

int pages_stock_move(struct pages *pages, unsigned long from, unsigned long to,
		     unsigned long length)
{
	struct leaf_part part = { .next = from };
	int err = 0;

	while (!err && table_next_leaf(pages, &part, from + length)) {
		unsigned long first = part.addr - from + to;

		err = pages_stock_tables(pages, first,
					 first + ((unsigned long)part.count << pages->page_shift));
	}
	return err;
}

void pages_end_stock(struct pages *pages)
{
	if (!pages->stocking)
		return;
	pages->stocking = false;
	stock_clear(&pages->stock, pages->memory);
	memset(pages->stocked_to, 0, sizeof(pages->stocked_to));
	pages->stocked_from = 0;
	table_let_go();
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
