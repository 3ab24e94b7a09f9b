/* SPDX-License-Identifier: MIT */
/* Generating random calls: which one comes next. */
#include "check/generator.h"

#include <string.h>

#include "check/calls.h"
#include "check/spoil.h"

/* xorshift64*: Vigna, "An experimental exploration of Marsaglia's xorshift generators". */
static uint64_t draw(struct generator *c)
{
	c->state ^= c->state >> 12;
	c->state ^= c->state << 25;
	c->state ^= c->state >> 27;
	return c->state * 0x2545f4914f6cdd1dULL;
}

unsigned long random_below(struct generator *c, unsigned long n)
{
	return (unsigned long)((draw(c) >> 16) % n);
}

/* On arm64 signal handlers return through the vdso. */
static bool is_trampoline(const struct vma_info *info)
{
#ifdef __aarch64__
	return info->backing.name && strcmp(info->backing.name, "[vdso]") == 0;
#else
	(void)info;
	return false;
#endif
}

/* The puppet's program, which is below the heap, with the stack that it uses. */
static void reserve_own_areas(struct generator *c, const struct pair *p)
{
	struct vma_info info;
	struct vmspace_stats stats;
	unsigned long at = 0;

	c->reserved_count = 0;
	vmspace_stats(p->space, &stats);
	for (; vmspace_next(p->space, at, &info); at = info.end) {
		bool program = info.start < stats.start_brk &&
			       (info.backing.kind == VMA_BACKING_FILE || info.end <= stats.start_brk);

		if ((program || is_trampoline(&info)) && c->reserved_count < RESERVED_MAX)
			c->reserved[c->reserved_count++] = (struct span){ info.start, info.end };
	}
}

void generator_init(struct generator *c, uint64_t seed, const struct mix *mix, const struct pair *p)
{
	static const unsigned short spoil_one_in[] = { 0, 6, 30, 100 };

	*c = (struct generator){ .state = seed ? seed : 1, .mix = mix };
	c->busy_areas = random_below(c, 4) ? 20 + random_below(c, 30) : 90;
	c->arena_pages = random_below(c, 3) ? 160 : 16 + random_below(c, 32);
	c->odd_file_one_in = random_below(c, 3) ? 30 : 2;
	c->spoil_one_in = spoil_one_in[random_below(c, 4)];
	reserve_own_areas(c, p);
}

enum gen_kind generator_pick(struct generator *c, const struct pair *p)
{
	struct vmspace_stats stats;
	unsigned long total = 0, pick;
	int kind;

	vmspace_stats(p->space, &stats);
	if (stats.areas > c->busy_areas && random_below(c, 3) == 0)
		return GEN_MUNMAP;
	for (kind = 0; kind < GEN_KINDS; kind++)
		total += c->mix->weight[kind];
	pick = random_below(c, total);
	for (kind = 0; pick >= c->mix->weight[kind]; kind++)
		pick -= c->mix->weight[kind];
	return (enum gen_kind)kind;
}

/* How the arguments of each kind are drawn. */
static call_fn *const calls[GEN_KINDS] = {
	[GEN_MMAP] = call_mmap, [GEN_MMAP_FILE] = call_mmap_file,
	[GEN_MMAP_SHARED] = call_mmap_shared, [GEN_MUNMAP] = call_munmap,
	[GEN_MPROTECT] = call_mprotect, [GEN_MREMAP] = call_mremap, [GEN_BRK] = call_brk,
	[GEN_MADVISE] = call_madvise, [GEN_MLOCK] = call_mlock, [GEN_MLOCKALL] = call_mlockall,
	[GEN_FAULT] = call_fault, [GEN_SHM] = call_shm, [GEN_REMAP_PAGES] = call_remap_pages,
	[GEN_MSEAL] = call_mseal, [GEN_MSYNC] = call_msync, [GEN_MINCORE] = call_mincore,
	[GEN_POLICY] = call_policy, [GEN_PROCESS_MADVISE] = call_process_madvise,
	[GEN_NAME] = call_name, [GEN_UFFD] = call_uffd,
	[GEN_PKEY] = call_pkey,
};

void generator_fill(struct generator *c, const struct pair *p, enum gen_kind kind,
		    struct vmspace_request *req)
{
	memset(req, 0, sizeof(*req));
	calls[kind](c, p, req);
	if (c->spoil_one_in && random_below(c, c->spoil_one_in) == 0)
		spoil(c, p, req);
}
