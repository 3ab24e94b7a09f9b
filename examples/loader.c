/* SPDX-License-Identifier: MIT */
/*
 * loader.c - searching for free indexes with a cursor: a program loader takes its layout over in
 * bulk mode, places modules as high as they fit below a limit, and looks at what lies around them.
 */
#include <stdio.h>

#include <mapletree/maple_tree.h>

#define PAGE  0x1000UL
#define LIMIT 0x7fffffffUL

static const struct segment {
	const char *name;
	unsigned long first, last;
} layout[] = { /* in ascending order, as a bulk load wants them */
	{ "program", 0x400000, 0x4fffff },
	{ "heap", 0x600000, 0x6fffff },
	{ "libraries", 0x70000000, 0x77ffffff },
	{ "stack", 0x7fff0000, LIMIT },
};

#define SEGMENTS (sizeof(layout) / sizeof(layout[0]))

static struct maple_tree segments = MTREE_INIT(segments, MT_FLAGS_ALLOC_RANGE);

/* All of the layout or nothing: once the nodes are reserved no store can fail. */
static int load_layout(void)
{
	MA_STATE(mas, &segments, 0, 0);
	int error;

	mas_lock(&mas);
	error = mas_expected_entries(&mas, SEGMENTS);
	for (size_t i = 0; !error && i < SEGMENTS; i++) {
		mas_set_range(&mas, layout[i].first, layout[i].last);
		mas_store(&mas, (void *)&layout[i]);
	}
	mas_destroy(&mas);
	mas_unlock(&mas);
	return error;
}

/* Finds a place with a free page on each side and stores the module there, under one lock. */
static int place(const struct segment *module, unsigned long size)
{
	MA_STATE(mas, &segments, 0, 0);
	int error;

	mas_lock(&mas);
	error = mas_empty_area_rev(&mas, PAGE, LIMIT, size + 2 * PAGE);
	if (!error) {
		mas_set_range(&mas, mas.index + PAGE, mas.last - PAGE);
		error = mas_store_gfp(&mas, (void *)module, GFP_KERNEL);
	}
	if (!error)
		printf("%-9s %#lx-%#lx\n", module->name, mas.index, mas.last);
	mas_unlock(&mas);
	return error;
}

/* The neighbours in the order of the indexes, from wherever @index lies. */
static void show_around(unsigned long index)
{
	MA_STATE(mas, &segments, index, index);
	const struct segment *below, *here, *above;

	mas_lock(&mas);
	here = mas_walk(&mas);
	below = mas_prev(&mas, 0);
	mas_set(&mas, index);
	above = mas_next(&mas, ULONG_MAX);
	mas_unlock(&mas);
	printf("at %#lx: %s, between %s and %s\n", index, here ? here->name : "nothing",
	       below ? below->name : "nothing", above ? above->name : "nothing");
}

int main(void)
{
	static const struct segment one = { "one", 0, 0 }, two = { "two", 0, 0 };

	if (load_layout() || place(&one, 16 * PAGE) || place(&two, 0x8000000))
		return 1;
	show_around(0x7ffe0000);
	show_around(0x650000);
	if (place(&one, LIMIT))
		printf("no place for %lu pages\n", LIMIT / PAGE + 1);
	mtree_destroy(&segments);
	return 0;
}
