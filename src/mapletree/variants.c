/* SPDX-License-Identifier: MIT */
/*
 * variants.c - bind the functions that are compiled for several instruction sets to the variant for
 * this processor when a program starts: walks down the tree, the copy of a tree, the search for
 * gaps.
 */
#include "copy.h"
#include "finger.h"
#include "gap.h"
#include "variants.h"
#include "walk.h"

#ifdef MT_ISA_BY_ENVIRONMENT
#include <fcntl.h>
#include <stdbool.h>
#include <sys/syscall.h>
#endif

/* ---- the choice --------------------------------------------------------------------------- */

#ifdef MT_ISA_BY_ENVIRONMENT

/*
 * A build for tests lets the environment choose: MAPLETREE_ISA=scalar, avx2 or avx512, as far as
 * the processor has it. When resolvers run, the C library may not be ready; so the variable is
 * looked for in what the kernel tells of the process, by system calls of our own.
 */
static long call_system(long number, long a, long b, long c)
{
	long result;

	__asm__ volatile("syscall"
			 : "=a"(result)
			 : "a"(number), "D"(a), "S"(b), "d"(c)
			 : "rcx", "r11", "memory");
	return result;
}

#define VALUE_MAX 8

/*
 * Reads the variable's value, if there is one, cut to VALUE_MAX bytes and padded with zeros. Each
 * byte of the environment is looked at as it comes.
 */
static bool read_value(int file, char *value)
{
	static const char name[] = "MAPLETREE_ISA=";
	const unsigned int length = sizeof(name) - 1;
	unsigned int same = 0, used = 0; /* bytes of the name so far, beyond: another variable */
	bool found = false;
	char block[256];
	long count, i;

	while ((count = call_system(SYS_read, file, (long)block, sizeof(block))) > 0) {
		for (i = 0; i < count; i++) {
			if (!block[i])
				same = 0;
			else if (same < length)
				same = block[i] == name[same] ? same + 1 : length + 1;
			else if (same == length && used < VALUE_MAX)
				value[used++] = block[i];
			found |= same == length;
		}
	}
	/* Not by memset(), which compilers make of such a loop: it may not be bound yet. */
	for (; used < VALUE_MAX; used++)
		*(volatile char *)&value[used] = 0;
	return found;
}

static bool is_text(const char *value, const char *text)
{
	unsigned int i = 0;

	while (i < VALUE_MAX && value[i] == text[i] && text[i])
		i++;
	return i < VALUE_MAX && value[i] == text[i];
}

static enum isa isa_wanted(void)
{
	static const char unknown[] = "MAPLETREE_ISA is not scalar, avx2 or avx512\n";
	long file = call_system(SYS_open, (long)"/proc/self/environ", O_RDONLY | O_CLOEXEC, 0);
	char value[VALUE_MAX];
	bool found;

	if (file < 0)
		return ISA_AVX512;
	found = read_value((int)file, value);
	call_system(SYS_close, file, 0, 0);
	if (!found || is_text(value, "avx512"))
		return ISA_AVX512;
	if (is_text(value, "avx2"))
		return ISA_AVX2;
	if (!is_text(value, "scalar")) {
		call_system(SYS_write, 2, (long)unknown, sizeof(unknown) - 1);
		call_system(SYS_exit_group, 2, 0, 0);
	}
	return ISA_BASE;
}

#endif

enum isa isa_chosen(void)
{
	enum isa best = runs_avx512() ? ISA_AVX512 : runs_avx2() ? ISA_AVX2 : ISA_BASE;

#ifdef MT_ISA_BY_ENVIRONMENT
	static enum isa wanted;
	static bool known; /* resolvers run one after the other, before there are threads */

	if (!known)
		wanted = isa_wanted();
	known = true;
	if (wanted < best)
		best = wanted;
#endif
	return best;
}

/* ---- walks down the tree ------------------------------------------------------------------ */

VARIANTS(void *, lookup_load, (struct maple_tree *mt, unsigned long index))
VARIANTS(void, lookup_load_many, (struct maple_tree *mt, const unsigned long *keys,
				  void **entries, size_t count))
VARIANTS(void *, lookup_range, (struct maple_tree *mt, unsigned long index,
				unsigned long *first, unsigned long *last))
VARIANTS(void *, walk_to, (struct ma_state *mas, unsigned long index))
VARIANTS(void, walk_ahead, (struct ma_state *mas, unsigned long index, int step, bool move))
VARIANTS(unsigned long, batch_find, (unsigned long *batch, unsigned long left,
				     unsigned long prev_last, struct ma_state *mas,
				     unsigned long max))
VARIANTS(unsigned long, batch_find_rev, (unsigned long *batch, unsigned long left,
					 unsigned long prev_index, struct ma_state *mas,
					 unsigned long min))
VARIANTS(unsigned long, loop_find, (unsigned long *batch, unsigned long left,
				    struct maple_tree *mt, unsigned long index,
				    unsigned long max))
VARIANTS(struct maple_enode *, copy_tree, (const struct mt_allocator *alloc,
					   struct maple_enode *root, bool shared))
VARIANTS(unsigned long, finger_descend, (const struct maple_tree *mt, struct mt_finger *finger,
					 unsigned long index))
VARIANTS(unsigned long, leaf_find, (unsigned long step, unsigned long index))

void *mtree_load(struct maple_tree *mt, unsigned long index)
	__attribute__((ifunc("select_lookup_load")));
void mtree_load_many(struct maple_tree *mt, const unsigned long *keys, void **entries,
		     size_t count) __attribute__((ifunc("select_lookup_load_many")));
void *lookup_range(struct maple_tree *mt, unsigned long index, unsigned long *first,
		   unsigned long *last) __attribute__((ifunc("select_lookup_range")));
void *walk_to(struct ma_state *mas, unsigned long index)
	__attribute__((ifunc("select_walk_to")));
void walk_ahead(struct ma_state *mas, unsigned long index, int step, bool move)
	__attribute__((ifunc("select_walk_ahead")));
unsigned long mas_batch_find(unsigned long *batch, unsigned long left, unsigned long prev_last,
			     struct ma_state *mas, unsigned long max)
	__attribute__((ifunc("select_batch_find")));
unsigned long mas_batch_find_rev(unsigned long *batch, unsigned long left,
				 unsigned long prev_index, struct ma_state *mas,
				 unsigned long min)
	__attribute__((ifunc("select_batch_find_rev")));
unsigned long mt_loop_find(unsigned long *batch, unsigned long left, struct maple_tree *mt,
			   unsigned long index, unsigned long max)
	__attribute__((ifunc("select_loop_find")));
struct maple_enode *copy_tree(const struct mt_allocator *alloc, struct maple_enode *root,
			      bool shared)
	__attribute__((ifunc("select_copy_tree")));
unsigned long finger_descend(const struct maple_tree *mt, struct mt_finger *finger,
			     unsigned long index)
	__attribute__((ifunc("select_finger_descend")));
unsigned long leaf_find(unsigned long step, unsigned long index)
	__attribute__((ifunc("select_leaf_find")));

/* ---- gaps -------------------------------------------------------------------------------- */

VARIANTS(struct mt_place_found, gap_find,
	 (struct maple_tree *mt, const struct mt_area *want))
VARIANTS(struct mt_place_found, gap_find_lowest,
	 (struct maple_tree *mt, unsigned long min, unsigned long max, unsigned long size))
VARIANTS(struct mt_place_found, gap_find_highest,
	 (struct maple_tree *mt, unsigned long min, unsigned long max, unsigned long size))

struct mt_place_found gap_find(struct maple_tree *mt, const struct mt_area *want)
	__attribute__((ifunc("select_gap_find")));
struct mt_place_found gap_find_lowest(struct maple_tree *mt, unsigned long min,
				      unsigned long max, unsigned long size)
	__attribute__((ifunc("select_gap_find_lowest")));
struct mt_place_found gap_find_highest(struct maple_tree *mt, unsigned long min,
				       unsigned long max, unsigned long size)
	__attribute__((ifunc("select_gap_find_highest")));
