/* SPDX-License-Identifier: MIT */
/*
 * protections.c - a map of intervals: the protections of a guest's pages, as an emulator keeps
 * them. Neighbours with the same protection are one range; a call changes any number of them, or
 * none.
 */
#include <stdio.h>
#include <string.h>

#include <mapletree/maple_tree.h>

#define PAGE 4096ul
enum { R = 4, W = 2, X = 1 };

static void show(struct maple_tree *prots, const char *what)
{
	MA_STATE(mas, prots, 0, 0);
	void *entry;

	printf("%s:", what);
	mas_lock(&mas);
	mas_for_each(&mas, entry, ULONG_MAX) {
		unsigned long prot = xa_to_value(entry);

		printf(" %lu-%lu:%c%c%c", mas.index / PAGE, mas.last / PAGE, prot & R ? 'r' : '-',
		       prot & W ? 'w' : '-', prot & X ? 'x' : '-');
	}
	mas_unlock(&mas);
	printf("\n");
}

/* Pages @first up to, but not including, @end. */
static int map(struct maple_tree *prots, unsigned long first, unsigned long end, unsigned int prot)
{
	return mtree_store_merge(prots, first * PAGE, end * PAGE - 1, xa_mk_value(prot), NULL,
				 GFP_KERNEL);
}

/* What is not mapped stays so, and is counted. */
static void *protected(void *old, unsigned long first, unsigned long last, void *ctx)
{
	unsigned long *holes = ctx;

	if (old)
		return xa_mk_value(xa_to_value(old) & ~(unsigned long)W);
	*holes += (last - first + 1) / PAGE;
	return NULL;
}

static void unmapped(void *old, unsigned long first, unsigned long last, void *ctx)
{
	(void)old;
	*(unsigned long *)ctx += (last - first + 1) / PAGE;
}

int main(void)
{
	struct maple_tree prots = MTREE_INIT(prots, MT_FLAGS_ALLOC_RANGE);
	struct mt_area area = { .min = 0, .max = 1024 * PAGE - 1, .size = 4 * PAGE,
				.align = 16 * PAGE, .fit = MT_FIT_LOWEST };
	unsigned long holes = 0, pages = 0;
	int error;

	error = map(&prots, 1, 4, R | X);
	if (!error)
		error = map(&prots, 4, 6, R | W);
	if (!error)
		error = map(&prots, 8, 9, R | W);
	if (error)
		goto out;
	show(&prots, "mapped");

	error = map(&prots, 6, 8, R | W); /* between two of the same: one range */
	if (error)
		goto out;
	show(&prots, "joined");

	error = mtree_update_range(&prots, 2 * PAGE, 12 * PAGE - 1, protected, &holes, NULL,
				   GFP_KERNEL);
	if (error)
		goto out;
	show(&prots, "pages 2 to 11 made read-only");
	printf("of these %lu are not mapped\n", holes);

	error = mtree_alloc_area(&prots, &area, xa_mk_value(R), GFP_KERNEL);
	if (error)
		goto out;
	printf("four pages, aligned to sixteen: %lu\n", area.start / PAGE);

	error = mtree_erase_range(&prots, 3 * PAGE, 18 * PAGE - 1, unmapped, &pages, GFP_KERNEL);
	if (error)
		goto out;
	show(&prots, "pages 3 to 17 unmapped");
	printf("%lu of them were mapped\n", pages);
out:
	if (error)
		fprintf(stderr, "protections: %s\n", strerror(-error));
	mtree_destroy(&prots);
	return error != 0;
}
