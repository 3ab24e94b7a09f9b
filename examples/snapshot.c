/* SPDX-License-Identifier: MIT */
/*
 * snapshot.c - copying: a monitor takes a snapshot of a process's mappings, lets it go on, and
 * then says what changed.
 */
#include <stdio.h>
#include <string.h>

#include <mapletree/maple_tree.h>

static char libc[] = "libc.so", heap[] = "[heap]", stack[] = "[stack]", plugin[] = "plugin.so";

static void print_change(char sign, unsigned long first, unsigned long last, const char *name)
{
	printf("%c %#8lx-%#8lx %s\n", sign, first, last, name);
}

/* Everything in @one that is not, with the same bounds, in @other. */
static void print_missing(struct maple_tree *one, struct maple_tree *other, char sign)
{
	MA_STATE(mas, one, 0, 0);
	MA_STATE(twin, other, 0, 0);
	void *entry;

	mas_lock(&mas);
	mas_lock(&twin);
	mas_for_each(&mas, entry, ULONG_MAX) {
		mas_set(&twin, mas.index);
		if (mas_walk(&twin) != entry || twin.index != mas.index || twin.last != mas.last)
			print_change(sign, mas.index, mas.last, entry);
	}
	mas_unlock(&twin);
	mas_unlock(&mas);
}

int main(void)
{
	struct maple_tree live = MTREE_INIT(live, MT_FLAGS_ALLOC_RANGE);
	struct maple_tree before = MTREE_INIT(before, MT_FLAGS_ALLOC_RANGE);
	DEFINE_MTREE(plain);
	int error;

	if (mtree_insert_range(&live, 0x400000, 0x4fffff, libc, GFP_KERNEL) ||
	    mtree_insert_range(&live, 0x600000, 0x60ffff, heap, GFP_KERNEL) ||
	    mtree_insert_range(&live, 0x7f0000, 0x7fffff, stack, GFP_KERNEL))
		return 1;

	/* The copy has to have the flags of the original. */
	error = mtree_dup(&live, &plain, GFP_KERNEL);
	printf("into a tree of other flags: %s\n", strerror(-error));
	if (mtree_dup(&live, &before, GFP_KERNEL))
		return 1;

	/* The process goes on: its heap grows, a plugin comes, the stack stays. */
	if (mtree_store_range(&live, 0x600000, 0x62ffff, heap, GFP_KERNEL) ||
	    mtree_store_range(&live, 0x500000, 0x50ffff, plugin, GFP_KERNEL))
		return 1;
	print_missing(&before, &live, '-');
	print_missing(&live, &before, '+');

	/* Nodes belong to each tree, the entries to us. */
	mtree_destroy(&live);
	printf("snapshot still has %s\n", (char *)mtree_load(&before, 0x7f1234));
	mtree_destroy(&before);
	return 0;
}
