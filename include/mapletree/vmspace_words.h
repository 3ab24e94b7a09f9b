/* SPDX-License-Identifier: MIT */
/*
 * vmspace_words.h - the user's side of areas: a word of the user's with each area, and a say in which
 * areas become one.
 *
 * An area has a word, of which libvmspace knows nothing: bits, a number, or (by a cast to uintptr_t)
 * a pointer. Those who never use it have 0 everywhere, and notice nothing of this.
 *
 *  - vmspace_request.word is the word of the area that MMAP, SHMAT, BRK or REMAP_FILE_PAGES makes, in
 *    spaces for which vmspace_set_word_hooks() was called (with a table that is empty but for its size,
 *    if nothing else is wanted); in others it is not looked at, and need not be set.
 *    Areas of vmspace_exec() and of texts have 0. vmspace_set_word() changes words later.
 *  - vma_info.word tells it, in every call that fills in a struct vma_info.
 *  - The parts of an area that is split have its word, as has an area that mremap moves or copies, and
 *    the child's area after a fork. An area that grows in place keeps its word.
 *  - Areas that Linux would merge become one if their words are equal; otherwise they are kept apart,
 *    with the verdict VMA_KEPT_APART. can_merge() decides differently, about both. Areas kept apart are
 *    areas like others: they count against max_map_count, and have lines of their own.
 *
 * Who keeps what a word points to counts references in change(): it is told of every step in which
 * an area with a word appears or goes, other than by a request that names its word.
 */
#ifndef MAPLETREE_VMSPACE_WORDS_H
#define MAPLETREE_VMSPACE_WORDS_H

#include <mapletree/vmspace.h>

#ifdef __cplusplus
extern "C" {
#endif

enum vmspace_word_kind {
	/*
	 * An area [start, end) becomes two, which meet at `at`: `word` is its word, `low` and `high`
	 * those of the parts (both are `word`, unless changed).
	 */
	VMSPACE_WORD_SPLIT,
	/*
	 * [start, at) and [at, end), with the words `low` and `high`, become one, whose word is `word`:
	 * what can_merge() named, or else `low`. A new area that is merged at once had the word of its
	 * request.
	 */
	VMSPACE_WORD_MERGE,
	/*
	 * mremap makes an area [start, end) of the one at `at`, whose word is `low`; the new one's is
	 * `word` (`low`, unless changed). That the old one goes is told by a DROP which follows; with
	 * MREMAP_DONTUNMAP, or an old length of 0, it stays.
	 */
	VMSPACE_WORD_MOVE,
	VMSPACE_WORD_DROP,           /* [start, end) is unmapped; its word was `word` */
	/* vmspace_set_word(): the area [start, end) had the word `low`, and gets `word`. */
	VMSPACE_WORD_SET,
	/*
	 * fork has given `child` the area [start, end), with `word`, that of the parent's (`low`).
	 * Told once for each of the child's areas when all of them are there.
	 */
	VMSPACE_WORD_FORK,
};

/* One step. Members that are not mentioned at its kind are 0. */
struct vmspace_word_change {
	enum vmspace_word_kind kind;
	unsigned long start, at, end; /* bytes */
	uint64_t low, high;           /* SPLIT: may be set */
	uint64_t word;                /* MERGE, MOVE, SET, FORK: may be set */
	struct vmspace *child;        /* FORK */
};

/*
 * Functions of the user's. Those that are NULL are not called.
 *
 * They are called in the thread that makes the request, with the space's lock held: one at a time,
 * in order. They may look at `space` by vmspace_lookup(), vmspace_next(), vmspace_prev(),
 * vmspace_intersection(), vmspace_exact(), vmspace_count_pages() and iterators; in FORK at the child
 * as well. They must make no other call with it, and not longjmp() out.
 */
struct vmspace_word_hooks {
	size_t size;                 /* sizeof(struct vmspace_word_hooks) */
	void *ctx;                   /* the first argument of the others */
	/*
	 * Linux would merge `low` and `high`, neighbours as they would be without that. May they
	 * become one? True: yes, with the word *word (low->word, unless changed). False: they are kept
	 * apart. NULL: as with equal words. The answer must follow from the arguments alone: the
	 * question may come several times, also without a merge (vmspace_explain(), a call that fails,
	 * vmspace_clone()'s copy), and where three areas become one it comes about each pair, and about
	 * the lower two together with the upper.
	 */
	bool (*can_merge)(void *ctx, const struct vmspace *space, const struct vma_info *low,
			  const struct vma_info *high, uint64_t *word);
	/*
	 * A step is about to be made, and is certain: nothing can fail between this call and the step.
	 * `space` still is as it was before the first of the steps that are told together: all
	 * that a call does in one place (the splits of an munmap() and what it drops, both merges of
	 * a new area) is told before any of it is made, so what one step makes is not in it when
	 * the next is told. What is set in *change holds.
	 */
	void (*change)(void *ctx, const struct vmspace *space, struct vmspace_word_change *change);
};

/*
 * Use `hooks`, which is copied; NULL: none, as in a new space. Areas that are there are not merged or
 * split because of that. A child of fork gets its parent's hooks, with the same ctx; vmspace_clone()'s
 * copy gets can_merge() alone. vmspace_exec(), vmspace_exit() and vmspace_destroy() tell a DROP of every
 * area first. Thread-safe in a space that is.
 * Returns 0; -EINVAL: size is 0, or larger than this version knows; -EROFS: a snapshot; -ENOMEM. On an error the hooks
 * are what they were.
 */
VMSPACE_PUBLIC int vmspace_set_word_hooks(struct vmspace *space,
					  const struct vmspace_word_hooks *hooks);

/*
 * Give all areas in [addr, addr + length) the word `word`; length is rounded up to pages, and what
 * reaches beyond is split. Areas whose word changes are merged with neighbours as in other calls that
 * change attributes. Locking: as vmspace_call(); not while a call that has begun (vmspace_begin()) is
 * under way, as its end has memory for the areas that were there.
 * Returns 0; -EROFS: a snapshot; -EINVAL: addr is not page aligned, the range wraps around, or an area
 * cannot be cut there; -ENOMEM: there is a hole in the range (the rest has been done); there would be more areas than
 * max_map_count (what comes before that has been done, as with mprotect(2)); or no memory (nothing has
 * been done).
 */
VMSPACE_PUBLIC long vmspace_set_word(struct vmspace *space, unsigned long addr,
				     unsigned long length, uint64_t word);

#ifdef __cplusplus
}
#endif
#endif /* MAPLETREE_VMSPACE_WORDS_H */
