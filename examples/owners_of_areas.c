/* SPDX-License-Identifier: MIT */
/*
 * owners_of_areas.c - who has mapped what: each area's word is a pointer to its owner, who lives as
 * long as an area, or the caller, refers to him.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#include <mapletree/vmspace_rules.h>
#include <mapletree/vmspace_words.h>

#define PAGE 4096ul
#define AT   0x10000000ul

struct owner {
	const char *name;
	long areas;
};

static struct owner *owner_of(uint64_t word)
{
	return (struct owner *)(uintptr_t)word;
}

/* An area appears or goes: its owner has one more, or one less. */
static void count(void *ctx, const struct vmspace *space, struct vmspace_word_change *change)
{
	(void)ctx;
	(void)space;
	switch (change->kind) {
	case VMSPACE_WORD_SPLIT:
	case VMSPACE_WORD_MOVE:
	case VMSPACE_WORD_FORK:
		owner_of(change->word)->areas++;
		break;
	case VMSPACE_WORD_MERGE: /* of one owner: others are kept apart */
	case VMSPACE_WORD_DROP:
		owner_of(change->word)->areas--;
		break;
	case VMSPACE_WORD_SET:
		owner_of(change->low)->areas--;
		owner_of(change->word)->areas++;
		break;
	}
}

static long map(struct vmspace *space, unsigned long page, unsigned long pages, struct owner *owner)
{
	struct vmspace_request req = { .op = VMSPACE_MMAP, .word = (uintptr_t)owner };

	req.mmap = (struct vmspace_mmap){ .addr = AT + page * PAGE, .length = pages * PAGE,
					  .prot = PROT_READ | PROT_WRITE,
					  .flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED };
	if (vmspace_call(space, &req) > 0)
		owner->areas++; /* the request's own area */
	return req.out.result;
}

static long protect(struct vmspace *space, unsigned long page, unsigned long pages, int prot)
{
	struct vmspace_request req = { .op = VMSPACE_MPROTECT };

	req.mprotect = (struct vmspace_mprotect){ AT + page * PAGE, pages * PAGE, prot, -1 };
	return vmspace_call(space, &req);
}

static void show(const struct vmspace *space, const char *when)
{
	struct vma_iterator it;
	struct vma_info info;

	printf("%s:\n", when);
	vma_iter_init(&it, space, 0);
	while (vma_iter_next(&it, &info))
		printf("  pages %2lu to %2lu  %s\n", (info.start - AT) / PAGE,
		       (info.end - AT) / PAGE - 1, owner_of(info.word)->name);
}

int main(void)
{
	const struct vmspace_word_hooks hooks = { .size = sizeof(hooks), .change = count };
	struct owner loader = { "loader", 0 }, jit = { "jit", 0 };
	struct vmspace_request fork = { .op = VMSPACE_FORK };
	struct vma_explanation why;
	struct vmspace_config config;
	struct vmspace *space;

	vmspace_config_init(&config);
	vmspace_config_kernel(&config, "6.18");
	config.page_size = PAGE;
	if (vmspace_create(&space, &config) || vmspace_set_word_hooks(space, &hooks))
		return 1;
	if (map(space, 0, 4, &loader) < 0 || map(space, 4, 4, &loader) < 0 ||
	    map(space, 8, 4, &jit) < 0)
		return 1;
	show(space, "mapped by two");
	vmspace_explain(space, AT, AT + 8 * PAGE, &why);
	printf("%.22s\n", why.text);
	if (protect(space, 2, 8, PROT_READ))
		return 1;
	show(space, "protected in the middle");
	printf("the loader has %ld areas, the jit %ld\n", loader.areas, jit.areas);
	if (vmspace_set_word(space, AT + 4 * PAGE, 8 * PAGE, (uintptr_t)&loader))
		return 1;
	show(space, "all given to the loader");
	if (vmspace_call(space, &fork))
		return 1;
	printf("with a child the loader has %ld areas, the jit %ld\n", loader.areas, jit.areas);
	vmspace_destroy(fork.fork.child);
	vmspace_destroy(space);
	printf("in the end the loader has %ld areas, the jit %ld\n", loader.areas, jit.areas);
	return loader.areas || jit.areas;
}
