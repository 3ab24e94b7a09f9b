/* SPDX-License-Identifier: MIT */
/* exec.c - takes over the areas that a process has after exec, or at attach. */
#include <assert.h>
#include <errno.h>
#include <string.h>

#include <mapletree/vmspace_import.h>

#include "accounting.h"
#include "change.h"
#include "create.h"
#include "edit.h"
#include "find.h"
#include "inherited.h"
#include "merge.h"
#include "ops.h"
#include "pkey.h"
#include "sync.h"

static bool is_named(const struct vmspace_area *area, const char *name)
{
	return area->backing.name && !strcmp(area->backing.name, name);
}

static bool is_gate(const struct vmspace *space, const struct vmspace_area *area)
{
	return area->start >= space->config.task_size;
}

/* Why areas[i] cannot be there, after one that ends at `end`; NULL: it can. */
static const char *wrong_with(const struct vmspace *space, const struct vmspace_area *area,
			      unsigned long end)
{
	if (area->start >= area->end)
		return "an area that ends before it begins";
	if (area->start < end)
		return "an area that begins before the one above it ends";
	if (!space_aligned(space, area->start) || !space_aligned(space, area->end))
		return "an area that is not whole pages";
	if (area->pkey > VMA_PKEY_MAX)
		return "a protection key that does not exist";
	if ((area->flags & VMA_LOCK_FLAGS) == VMA_LOCKONFAULT)
		return "an area locked on fault, but not locked";
	/* The one that may be there is the kernel's own page for calls of old programs. */
	if (area->end > space->config.task_size &&
	    !(is_gate(space, area) && is_named(area, "[vsyscall]")))
		return "an area beyond the end of user space";
	return NULL;
}

size_t exec_first_bad(const struct vmspace *space, const struct vmspace_area *areas, size_t count,
		      const char **why)
{
	unsigned long end = 0;

	for (size_t i = 0; i < count; i++) {
		*why = wrong_with(space, &areas[i], end);
		if (*why)
			return i;
		end = areas[i].end;
	}
	return count;
}

static uint64_t first_pgoff(const struct vmspace *space, const struct vmspace_area *area,
			    bool anon)
{
	return anon ? space_pages(space, area->start) : area->offset / space->config.page_size;
}

/* Adjacent areas of the same file share one backing. */
static struct backing *make_backing(struct vmspace *space, const struct vmspace_area *area)
{
	struct vma *before = find_before(space, area->start);
	struct backing *made;
	bool own_file;

	made = backing_new(&area->backing);
	if (!made)
		return NULL;
	if (made->is.kind == VMA_BACKING_SPECIAL)
		made->is.size = area->end - area->start;
	own_file = made->is.kind == VMA_BACKING_SHMEM || made->is.kind == VMA_BACKING_SYSV ||
		   made->is.kind == VMA_BACKING_HUGETLB;
	if (before && before->backing && before->backing->is.kind == made->is.kind &&
	    (backing_same_file(before->backing, made) ||
	     (own_file && made->is.inode && before->backing->is.inode == made->is.inode))) {
		backing_put(made);
		return backing_get(before->backing);
	}
	if (own_file && !made->is.file_id)
		made->is.file_id = space->next_file_id++;
	return made;
}

/* `vma` is about to be inserted. An anon_vma of its own is the next: see add_area(). */
static void give_anon(const struct vmspace *space, struct vma *vma,
		      const struct vmspace_area *area)
{
	const struct vma *left;

	if (!area->has_anon || !vma_may_have_anon_vma(vma))
		return;
	left = find_left(space, vma);
	if (left && shown_anon_id(space, left) &&
	    merge_anon_compatible(left, vma, space->config.page_size)) {
		vma->anon_id = shown_anon_id(space, left);
		vma->anon_shared = shown_anon_shared(space, left);
		return;
	}
	vma->anon_id = space->next_anon_id;
	vma->anon_shared = area->fork_child;
	assert(vma_is_valid(vma, space->config.page_size));
}

static int add_area(struct vmspace *space, const struct vmspace_area *area)
{
	bool anon = area->backing.kind == VMA_BACKING_ANON || is_named(area, "[heap]") ||
		    is_named(area, "[stack]");
	struct vma proto = { .start = area->start, .end = area->end, .flags = area->flags,
			     .tags.pkey = area->pkey & VMA_PKEY_MAX, .may_have_anon = true };
	struct vma *vma;
	int err = 0;

	proto.pgoff = first_pgoff(space, area, anon);
	if (area->anon_name) {
		proto.name = anon_name_new(area->anon_name);
		if (!proto.name)
			return -ENOMEM;
	}
	if (!anon) {
		proto.backing = make_backing(space, area);
		if (!proto.backing)
			err = -ENOMEM;
	}
	if (!err) {
		give_anon(space, &proto, area);
		err = edit_insert(space, &proto, NULL, &vma);
	}
	backing_put(proto.backing);
	anon_name_put(proto.name);
	if (err)
		return err;
	space->next_anon_id += proto.anon_id == space->next_anon_id;
	pkey_take_over(space, vma);
	return 0;
}

/* Fill in what follows from the names [heap] and [stack]. */
static void complete_image(struct vmspace_image *image, const struct vmspace_area *areas,
			   size_t count)
{
	const bool brk_given = image->brk != 0;

	for (size_t i = 0; i < count; i++) {
		if (is_named(&areas[i], "[heap]")) {
			if (!image->start_brk)
				image->start_brk = areas[i].start;
			if (!brk_given)
				image->brk = areas[i].end;
		}
		if (is_named(&areas[i], "[stack]") && !image->start_stack)
			image->start_stack = areas[i].end - 1;
	}
	if (image->brk < image->start_brk)
		image->brk = image->start_brk;
}

/* vm.mmap_rnd_bits is at most 32, in pages. */
#define RANDOM_MAX (1UL << 44)

/* The highest base that exec chooses: the gap that is left for the stack depends on its limit. */
static unsigned long highest_base(const struct vmspace *space, unsigned long rlimit_stack)
{
	unsigned long window = space->config.map_window, widest = window / 6 * 5;

	return space_ceil(space, window - (rlimit_stack < widest ? rlimit_stack : widest));
}

/* The end of the highest area below `bound`, which is the base's highest place; 0: too far away. */
static unsigned long end_below(const struct vmspace *space, unsigned long bound)
{
	const struct vma *vma = find_before(space, bound);

	if (vma && vma->end > bound)
		vma = find_before(space, vma->start);
	return vma && bound - vma->end <= RANDOM_MAX ? vma->end : 0;
}

/*
 * The topmost mapping at exec is right below the base. That is the topmost one below the stack, or
 * where the stack was not limited, below a sixth of the space: the program and its heap are above
 * it then. The limit may have changed since.
 */
static unsigned long guess_top(const struct vmspace *space)
{
	const struct vma *stack = find_at(space, space->image.start_stack);
	unsigned long bound = highest_base(space, space->config.rlimit_stack);
	unsigned long base;

	if (!stack)
		return 0;
	base = end_below(space, bound < stack->start ? bound : stack->start);
	if (!base)
		base = end_below(space, stack->start);
	return base ? base : end_below(space, highest_base(space, VMSPACE_NO_LIMIT));
}

static void guess_base(struct vmspace *space)
{
	const struct vma *first;

	space->base_guessed = !space->config.mmap_base;
	space->mmap_base = space->config.mmap_base;
	if (!space->base_guessed)
		return;
	if (!space->config.mmap_bottom_up) {
		space->mmap_base = guess_top(space);
		return;
	}
	/* The first mappings at exec are the kernel's own, placed from a randomised base. */
	first = find_first(space, space->config.mmap_base_legacy);
	if (first && first->start - space->config.mmap_base_legacy <= RANDOM_MAX)
		space->mmap_base = first->start;
	space->base_guessed = false;
}

/*
 * Linux builds the stack below the highest address there is, and moves it down to its place, where
 * its pages keep their numbers. That shows when mremap() takes some away, and what it leaves has the
 * numbers of its place: it is no part of the stack any more.
 */
static void number_stack(struct vmspace *space)
{
	struct vma *vma = find_at(space, space->image.start_stack), *above;
	uint64_t moved;

	if (!vma || !(vma->flags & VMA_GROWSDOWN) || !vma_is_anon(vma))
		return;
	while ((above = find_right(space, vma)) && above->flags & VMA_GROWSDOWN)
		vma = above;
	moved = space_pages(space, space->config.task_size - vma->end);
	for (; vma && vma->flags & VMA_GROWSDOWN && vma_is_anon(vma); vma = find_left(space, vma))
		vma->pgoff += moved;
}

/* All of the new image's areas, in a space of their own. */
static int build_image(struct vmspace *fresh, const struct vmspace_area *areas, size_t count,
		       const struct vmspace_image *image)
{
	int err = 0;

	fresh->image = *image;
	fresh->vmas.expected = count;
	complete_image(&fresh->image, areas, count);
	for (size_t i = 0; i < count && !err; i++) {
		if (is_gate(fresh, &areas[i])) {
			fresh->image.vsyscall = true;
			fresh->image.vsyscall_read = areas[i].flags & VMA_READ;
		} else {
			err = add_area(fresh, &areas[i]);
		}
	}
	if (err)
		return err;
	if (image->mlock_future)
		fresh->default_flags = VMA_LOCKED |
				       (image->mlock_onfault ? VMA_LOCKONFAULT : 0);
	number_stack(fresh);
	guess_base(fresh);
	return 0;
}

int vmspace_exec(struct vmspace *space, const struct vmspace_area *areas, size_t count,
		 const struct vmspace_image *image)
{
	struct vmspace *fresh;
	const char *why;
	int err;

	if (space_is_snapshot(space))
		return -EROFS;
	if (exec_first_bad(space, areas, count, &why) < count || (image->brk && image->brk < image->start_brk))
		return -EINVAL;
	err = create_beside(&fresh, &space->config);
	if (err)
		return err;
	err = build_image(fresh, areas, count, image);
	if (!err) {
		create_clear(space);
		create_adopt(space, fresh);
		space->related = false;
	}
	vmspace_destroy(fresh);
	return err;
}

/* What is at the area's place goes as by munmap, with all that this ends. */
static int put_area(struct vmspace *space, const struct vmspace_area *area)
{
	struct vmspace_request unmap = {
		.op = VMSPACE_MUNMAP, .munmap = { area->start, area->end - area->start },
	};
	long err = vmspace_call(space, &unmap);

	/* The area is possible: what is there cannot be cut, as no part of [vdso] can. */
	if (err)
		return err == -EINVAL ? -EBUSY : (int)err;
	sync_enter(space);
	err = add_area(space, area);
	if (!err && is_named(area, "[heap]") && area->start == space->image.start_brk)
		space->image.brk = area->end;
	store_end_call(space);
	past_poll(space);
	sync_leave(space);
	return (int)err;
}

int vmspace_put_areas(struct vmspace *space, const struct vmspace_area *areas, size_t count,
		      size_t *done)
{
	const char *why;
	size_t i, bad = exec_first_bad(space, areas, count, &why);
	int err = 0;

	if (done)
		*done = bad;
	if (bad < count)
		return -EINVAL;
	if (space_is_snapshot(space))
		return -EROFS;
	for (i = 0; i < count && !err; i += !err)
		if (!is_gate(space, &areas[i]))
			err = put_area(space, &areas[i]);
	if (done)
		*done = i;
	return err;
}

/* Others may look at the backing, or have it: every area of it gets another one. */
static int replace_backing(struct vmspace *space, struct backing *old,
			   const struct vma_backing *is)
{
	MA_STATE(mas, &space->tree, 0, 0);
	struct vma_backing renamed = old->is;
	struct backing *fresh;
	unsigned long areas = 0;
	struct vma *vma;

	mas_for_each(&mas, vma, ULONG_MAX)
		areas += vma->backing == old;
	renamed.name = is->name;
	renamed.dev_major = is->dev_major;
	renamed.dev_minor = is->dev_minor;
	renamed.inode = is->inode;
	fresh = backing_new(&renamed);
	if (!fresh || store_reserve_call(space, 0, areas)) {
		backing_put(fresh);
		return -ENOMEM;
	}
	backing_get(old); /* to compare */
	mas_set(&mas, 0);
	mas_for_each(&mas, vma, ULONG_MAX) {
		struct vma *changed;

		if (vma->backing != old)
			continue;
		changed = change_begin(space, vma);
		backing_put(changed->backing);
		changed->backing = backing_get(fresh);
		change_end(space, vma, changed);
	}
	backing_put(old);
	backing_put(fresh);
	space->changes++;
	return 0;
}

static int identify(struct vmspace *space, unsigned long addr, const struct vma_backing *backing)
{
	struct vma *vma = find_at(space, addr);
	char *name = NULL;

	if (!vma || !vma->backing)
		return -ENOENT;
	if (!past_is_private(space) || space->related)
		return replace_backing(space, vma->backing, backing);
	if (backing->name) {
		name = strdup(backing->name);
		if (!name)
			return -ENOMEM;
	}
	backing_rename(vma->backing, backing, name);
	space->changes++;
	return 0;
}

int vmspace_identify(struct vmspace *space, unsigned long addr, const struct vma_backing *backing)
{
	int err;

	if (space_is_snapshot(space))
		return -EROFS;
	sync_enter(space);
	err = identify(space, addr, backing);
	store_end_call(space);
	past_poll(space);
	sync_leave(space);
	return err;
}
