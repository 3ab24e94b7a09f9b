/* SPDX-License-Identifier: MIT */
/*
 * ports.c - finding and allocating free ranges: local ports for connections, blocks of ports for
 * subscribers behind one address, and aligned windows for a device.
 */
#include <stdio.h>
#include <string.h>

#include <mapletree/maple_tree.h>

#define PORT_MIN 49152
#define PORT_MAX 65535

static char ssh[] = "ssh", web[] = "web", mail[] = "mail", peer[] = "subscriber";

static void report(const char *what, int error, unsigned long start)
{
	if (error < 0)
		printf("%s: %s\n", what, strerror(-error));
	else
		printf("%s: %lu%s\n", what, start, error == 1 ? " (wrapped)" : "");
}

int main(void)
{
	struct maple_tree ports = MTREE_INIT(ports, MT_FLAGS_ALLOC_RANGE);
	struct maple_tree windows = MTREE_INIT(windows, MT_FLAGS_ALLOC_RANGE);
	struct mt_area window = {
		.min = 0x1000, .max = 0xfffff, .size = 0x300, .align = 0x400,
	};
	unsigned long start = 0, next = 0, first, last;
	int error;

	/* One after the other, so that a port just freed rests before it is used again. */
	error = mtree_alloc_cyclic(&ports, &start, ssh, PORT_MIN, PORT_MAX, &next, GFP_KERNEL);
	report("ssh", error, start);
	error = mtree_alloc_cyclic(&ports, &start, web, PORT_MIN, PORT_MAX, &next, GFP_KERNEL);
	report("web", error, start);
	mtree_erase(&ports, PORT_MIN);
	error = mtree_alloc_cyclic(&ports, &start, mail, PORT_MIN, PORT_MAX, &next, GFP_KERNEL);
	report("mail", error, start);
	next = PORT_MAX + 1;
	error = mtree_alloc_cyclic(&ports, &start, ssh, PORT_MIN, PORT_MAX, &next, GFP_KERNEL);
	report("ssh again", error, start);

	/* Blocks: from the bottom, from the top, and one that does not fit. */
	error = mtree_alloc_range(&ports, &start, peer, 1000, PORT_MIN, PORT_MAX, GFP_KERNEL);
	report("lowest 1000", error, start);
	error = mtree_alloc_rrange(&ports, &start, peer, 1000, PORT_MIN, PORT_MAX, GFP_KERNEL);
	report("highest 1000", error, start);
	error = mtree_alloc_range(&ports, &start, peer, 15000, PORT_MIN, PORT_MAX, GFP_KERNEL);
	report("15000 more", error, start);
	if (mtree_gap_around(&ports, 60000, &first, &last))
		printf("free around 60000: %lu-%lu\n", first, last);

	/* Alignment, lowest and highest fit. */
	for (int i = 0; i < 3; i++) {
		window.fit = i < 2 ? MT_FIT_LOWEST : MT_FIT_HIGHEST;
		if (mtree_alloc_area(&windows, &window, peer, GFP_KERNEL))
			return 1;
		printf("window at %#lx\n", window.start);
	}
	if (mtree_fill_gap(&windows, 0x1350, web, &first, &last, GFP_KERNEL))
		return 1;
	printf("the rest behind the first window: %#lx-%#lx\n", first, last);
	mtree_destroy(&windows);
	mtree_destroy(&ports);
	return 0;
}
