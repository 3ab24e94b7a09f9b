/* SPDX-License-Identifier: MIT */
/*
 * shown.c - trees, cursors and a space for gdb to show; prints what has to be shown of each tree, as the
 * library sees it, and calls shown() when all is there.
 */
#include <mapletree/maple_tree.h>
#include <mapletree/vmspace.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

static struct maple_tree empty = MTREE_INIT(empty, 0);
static struct maple_tree lone = MTREE_INIT(lone, 0);
static struct maple_tree small = MTREE_INIT(small, MT_FLAGS_USE_RCU);
static struct maple_tree large = MTREE_INIT(large, MT_FLAGS_ALLOC_RANGE);

static void must(int error)
{
	if (error) {
		fprintf(stderr, "shown: error %d\n", error);
		exit(1);
	}
}

static void print_entries(const char *name, struct maple_tree *tree)
{
	MA_STATE(mas, tree, 0, 0);
	void *entry;

	mas_lock(&mas);
	mas_for_each(&mas, entry, ULONG_MAX) {
		printf("%s: [%#lx, %#lx] = ", name, mas.index, mas.last);
		if (xa_is_value(entry))
			printf("value %lu\n", xa_to_value(entry));
		else if (xa_is_zero(entry))
			printf("zero entry\n");
		else
			printf("%p\n", entry);
	}
	mas_unlock(&mas);
}

/* gdb stops here and looks at what is above. */
__attribute__((noinline)) static void shown(struct vmspace *space, struct ma_state *mas,
					    struct ma_state *failed)
{
	__asm__ volatile("" : : "r"(space), "r"(mas), "r"(failed) : "memory");
}

int main(void)
{
	static long object;
	struct vmspace_config config;
	struct vmspace *space;
	MA_STATE(mas, &large, 0, 0);
	MA_STATE(failed, &large, 0, 0);

	must(mtree_store(&lone, 0, &object, GFP_KERNEL));
	must(mtree_store_range(&small, 16, 31, xa_mk_value(7), GFP_KERNEL));
	must(mtree_store_range(&small, 32, ULONG_MAX, &object, GFP_KERNEL));
	must(mtree_store(&small, 20, XA_ZERO_ENTRY, GFP_KERNEL));
	for (unsigned long i = 0; i < 2000; i++)
		must(mtree_store_range(&large, i * 64, i * 64 + i % 64, xa_mk_value(i), GFP_KERNEL));
	mas_lock(&mas);
	mas_set(&mas, 640);
	mas_walk(&mas);
	mas_unlock(&mas);
	mas_lock(&failed);
	must(mas_empty_area(&failed, 0, 127, 128) == -EBUSY ? 0 : 1);
	mas_unlock(&failed);
	mas_set_range(&failed, 3, 2);
	must(mas_store_gfp(&failed, &object, GFP_KERNEL) ? 0 : 1);

	vmspace_config_init(&config);
	must(vmspace_create(&space, &config));
	for (unsigned long i = 0; i < 3; i++) {
		struct vmspace_request map = {
			.op = VMSPACE_MMAP,
			.mmap.addr = 0x10000 * (i + 1),
			.mmap.length = 0x2000,
			.mmap.prot = i == 1 ? PROT_READ : PROT_READ | PROT_WRITE,
			.mmap.flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED,
		};

		must(vmspace_call(space, &map) == (long)map.mmap.addr ? 0 : 1);
	}
	print_entries("empty", &empty);
	print_entries("lone", &lone);
	print_entries("small", &small);
	print_entries("large", &large);
	fflush(stdout);
	shown(space, &mas, &failed);
	vmspace_destroy(space);
	mtree_destroy(&large);
	mtree_destroy(&small);
	mtree_destroy(&lone);
	return 0;
}
